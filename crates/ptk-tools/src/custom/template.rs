//! Texts with places for arguments: `--filter={filter}`.

use ptk_protocol::Arguments;
use serde_json::Value;

/// A text with places for arguments. Braces that hold no name are text, and
/// `{{name}}` is the text `{name}`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Template {
    parts: Vec<TemplatePart>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum TemplatePart {
    Text(String),
    Argument(String),
}

impl Template {
    pub(super) fn new(text: &str) -> Self {
        let mut parts = Vec::new();
        let mut plain = String::new();
        let mut rest = text;
        while let Some((before, behind)) = rest.split_once('{') {
            plain.push_str(before);
            if let Some((name, after)) = escaped(behind) {
                plain.push_str(&format!("{{{name}}}"));
                rest = after;
            } else if let Some((name, after)) = named(behind) {
                if !plain.is_empty() {
                    parts.push(TemplatePart::Text(std::mem::take(&mut plain)));
                }
                parts.push(TemplatePart::Argument(name.to_owned()));
                rest = after;
            } else {
                plain.push('{');
                rest = behind;
            }
        }
        plain.push_str(rest);
        if !plain.is_empty() {
            parts.push(TemplatePart::Text(plain));
        }
        Self { parts }
    }

    /// The names of the arguments that it has places for.
    pub(super) fn names(&self) -> impl Iterator<Item = &str> {
        self.parts.iter().filter_map(|part| match part {
            TemplatePart::Argument(name) => Some(name.as_str()),
            TemplatePart::Text(_) => None,
        })
    }

    /// The text with the arguments in their places; `None` if one of them was
    /// not given.
    pub(super) fn fill(&self, args: &Arguments, encode: impl Fn(&str) -> String) -> Option<String> {
        let mut text = String::new();
        for part in &self.parts {
            match part {
                TemplatePart::Text(plain) => text.push_str(plain),
                TemplatePart::Argument(name) => match args.get(name)? {
                    Value::Null => return None,
                    Value::String(value) => text.push_str(&encode(value)),
                    value => text.push_str(&encode(&value.to_string())),
                },
            }
        }
        Some(text)
    }

    /// Whether it begins with an argument, so that a value alone decides how the
    /// filled text begins.
    pub(super) fn begins_with_argument(&self) -> bool {
        matches!(self.parts.first(), Some(TemplatePart::Argument(_)))
    }

    /// Whether it is just this text.
    pub(super) fn is_text(&self, text: &str) -> bool {
        matches!(self.parts.as_slice(), [TemplatePart::Text(own)] if own == text)
    }

    /// For an address: the segments of its path that arguments are a part of,
    /// with the arguments as they were given.
    pub(super) fn path_segments(&self, args: &Arguments) -> Vec<String> {
        let mut segments = Vec::new();
        let mut segment = String::new();
        let mut has_argument = false;
        for part in &self.parts {
            match part {
                TemplatePart::Argument(name) => {
                    has_argument = true;
                    match args.get(name) {
                        None | Some(Value::Null) => {}
                        Some(Value::String(value)) => segment.push_str(value),
                        Some(value) => segment.push_str(&value.to_string()),
                    }
                }
                TemplatePart::Text(text) => {
                    let end = text.find(['?', '#']);
                    let path = text.get(..end.unwrap_or(text.len())).unwrap_or_default();
                    let mut pieces = path.split('/');
                    segment.push_str(pieces.next().unwrap_or_default());
                    for piece in pieces {
                        let whole = std::mem::replace(&mut segment, piece.to_owned());
                        if std::mem::take(&mut has_argument) {
                            segments.push(whole);
                        }
                    }
                    if end.is_some() {
                        break;
                    }
                }
            }
        }
        if has_argument {
            segments.push(segment);
        }
        segments
    }

    /// The text before the first place for an argument.
    pub(super) fn start(&self) -> &str {
        match self.parts.first() {
            Some(TemplatePart::Text(text)) => text,
            _ => "",
        }
    }
}

/// The name that an opening brace is followed by, and what stands behind the
/// closing one.
fn named(behind: &str) -> Option<(&str, &str)> {
    let is_part = |c: char| c.is_alphanumeric() || c == '_' || c == '-';
    let (name, after) = behind.split_once('}')?;
    (!name.is_empty() && name.chars().all(is_part)).then_some((name, after))
}

/// The name in two pairs of braces, and what stands behind them.
fn escaped(behind: &str) -> Option<(&str, &str)> {
    let (name, after) = named(behind.strip_prefix('{')?)?;
    Some((name, after.strip_prefix('}')?))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fill(template: &str, args: &str) -> Option<String> {
        let args = Arguments::from_json(args).unwrap();
        Template::new(template).fill(&args, str::to_owned)
    }

    #[test]
    fn arguments_stand_in_their_places() {
        let args = r#"{"a": "x y", "n": 3, "list": [1, 2]}"#;
        assert_eq!(fill("-{a}-{n}-", args).as_deref(), Some("-x y-3-"));
        assert_eq!(fill("{list}", args).as_deref(), Some("[1,2]"));
    }

    #[test]
    fn braces_that_hold_no_name_are_text() {
        for text in ["{", "}", "{}", "{a b}", "awk '{print $1}'", "{{"] {
            assert_eq!(fill(text, "{}").as_deref(), Some(text), "{text}");
        }
    }

    #[test]
    fn braces_are_doubled_to_be_text() {
        let args = r#"{"a": "x"}"#;
        assert_eq!(fill("{{a}}", args).as_deref(), Some("{a}"));
        assert_eq!(fill("{{{a}}}", args).as_deref(), Some("{{a}}"));
        assert_eq!(fill("{{b}} {a}", args).as_deref(), Some("{b} x"));
        assert_eq!(fill("{{a}", args).as_deref(), Some("{x"));
        assert_eq!(Template::new("{{a}}").names().count(), 0);
    }

    #[test]
    fn segments_of_a_path_hold_what_was_given() {
        let args = Arguments::from_json(r#"{"a": "x/y", "n": 3, "e": ""}"#).unwrap();
        for (template, expected) in [
            ("https://h/v1/{a}/b", vec!["x/y"]),
            ("https://h/{n}-{a}.json?x={a}#{n}", vec!["3-x/y.json"]),
            ("https://h/{e}/{n}", vec!["", "3"]),
            ("https://h/?q={a}", vec![]),
            ("https://h/v1", vec![]),
        ] {
            assert_eq!(Template::new(template).path_segments(&args), expected);
        }
    }

    #[test]
    fn a_place_without_an_argument_leaves_the_text_out() {
        assert_eq!(fill("--x={x}", "{}"), None);
        assert_eq!(fill("--x={x}", r#"{"x": null}"#), None);
    }
}
