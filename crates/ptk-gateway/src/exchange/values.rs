//! Arguments on their way to a client: each value is coerced by its schema, and
//! passed on as soon as it is certain. A text is sent letter by letter; what
//! may have to be coerced waits until it is complete.

use ptk_protocol::schema::{self, Schema};
use ptk_protocol::{Arguments, Toolset};
use serde_json::Value;

/// Types of values that may be coerced inside of lists and objects.
const COERCED: [&str; 3] = ["integer", "number", "boolean"];
/// Keywords that may stand for any schema.
const BRANCHING: [&str; 3] = ["$ref", "anyOf", "oneOf"];
/// How many parts of a schema are checked before a value waits in any case.
const MAX_LOOKED_AT: u32 = 500;

/// Whether a value by this schema may have to be coerced somewhere inside.
fn mentions_coercion(schema: &Value, left: &mut u32) -> bool {
    let Some(fewer) = left.checked_sub(1) else {
        return true;
    };
    *left = fewer;
    match schema {
        Value::String(text) => COERCED.contains(&text.as_str()),
        Value::Array(items) => items.iter().any(|item| mentions_coercion(item, left)),
        Value::Object(members) => members.iter().any(|(name, member)| {
            BRANCHING.contains(&name.as_str()) || mentions_coercion(member, left)
        }),
        _ => false,
    }
}

/// The arguments of one call.
#[derive(Debug)]
pub(super) struct Values {
    tools: Toolset,
    tool: String,
    place: Place,
    /// How many brackets are open.
    depth: u32,
    in_string: bool,
    is_escaped: bool,
    /// The name of the parameter, as JSON.
    key: Vec<u8>,
    /// The value, while it is held back.
    held: Option<String>,
    has_changed: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    Name,
    Colon,
    Begin,
    Value,
}

impl Values {
    pub(super) fn new(tools: &Toolset, tool: &str) -> Self {
        Self {
            tools: tools.clone(),
            tool: tool.to_owned(),
            place: Place::Name,
            depth: 0,
            in_string: false,
            is_escaped: false,
            key: Vec::new(),
            held: None,
            has_changed: false,
        }
    }

    /// Whether something was coerced.
    pub(super) fn has_changed(&self) -> bool {
        self.has_changed
    }

    /// The part that is still held back.
    pub(super) fn rest(&mut self) -> String {
        self.held.take().unwrap_or_default()
    }

    /// Adds further JSON, and writes what is certain.
    pub(super) fn push(&mut self, json: &str, out: &mut String) {
        let mut start = 0;
        for (at, byte) in json.bytes().enumerate() {
            if self.place == Place::Begin && !byte.is_ascii_whitespace() {
                self.place = Place::Value;
                if self.may_change(byte) {
                    out.push_str(json.get(start..at).unwrap_or_default());
                    self.held = Some(String::new());
                    start = at;
                }
            }
            let ends = self.place == Place::Value
                && self.depth == 1
                && !self.in_string
                && matches!(byte, b',' | b'}');
            if ends {
                if let Some(mut held) = self.held.take() {
                    held.push_str(json.get(start..at).unwrap_or_default());
                    self.settle(&held, out);
                    start = at;
                }
                self.place = Place::Name;
            }
            self.parsed(byte);
        }
        let rest = json.get(start..).unwrap_or_default();
        match &mut self.held {
            Some(held) => held.push_str(rest),
            None => out.push_str(rest),
        }
    }

    /// Tracks the position in the JSON.
    fn parsed(&mut self, byte: u8) {
        let is_name = self.place == Place::Name;
        if self.in_string {
            if is_name {
                self.key.push(byte);
            }
            match byte {
                _ if self.is_escaped => self.is_escaped = false,
                b'\\' => self.is_escaped = true,
                b'"' => {
                    self.in_string = false;
                    if is_name {
                        self.place = Place::Colon;
                    }
                }
                _ => {}
            }
            return;
        }
        match byte {
            b'"' => {
                self.in_string = true;
                if is_name {
                    self.key.clear();
                    self.key.push(byte);
                }
            }
            b':' if self.place == Place::Colon => self.place = Place::Begin,
            b'{' | b'[' => self.depth += 1,
            b'}' | b']' => self.depth = self.depth.saturating_sub(1),
            _ => {}
        }
    }

    fn name(&self) -> Option<String> {
        serde_json::from_slice(&self.key).ok()
    }

    /// Whether a value that begins with this byte may have to be coerced.
    fn may_change(&self, first: u8) -> bool {
        let spec = self.tools.get(&self.tool).zip(self.name());
        let Some((spec, name)) = spec else {
            return false;
        };
        let Some(schema) = Schema::new(&spec.parameters).property(&name) else {
            return false;
        };
        let node = schema.resolved().node();
        match first {
            b'"' => node.get("type").and_then(Value::as_str) != Some("string"),
            b'{' | b'[' => {
                let mut left = MAX_LOOKED_AT;
                mentions_coercion(node, &mut left)
            }
            _ => true,
        }
    }

    /// Writes a complete value.
    fn settle(&mut self, value: &str, out: &mut String) {
        match self.coerced(value) {
            Some(coerced) => {
                self.has_changed = true;
                out.push_str(&coerced);
            }
            None => out.push_str(value),
        }
    }

    /// The value coerced by its schema; `None` if it stays as it is.
    fn coerced(&self, value: &str) -> Option<String> {
        let key = std::str::from_utf8(&self.key).ok()?;
        let args = Arguments::from_json(&format!("{{{key}:{value}}}")).ok()?;
        let (args, coercions) = schema::coerced(&self.tools, &self.tool, args);
        if coercions.is_empty() {
            return None;
        }
        let json = args.to_json();
        let begins = format!("{{{}:", Value::from(self.name()?));
        let value = json.strip_prefix(&begins)?.strip_suffix('}')?;
        Some(value.to_owned())
    }
}

#[cfg(test)]
mod tests {
    use ptk_protocol::ToolSpec;
    use serde_json::json;

    use super::*;

    fn passed(json: &str, size: usize) -> (String, bool) {
        let tool = ToolSpec::new(
            "t",
            "",
            json!({"type": "object", "properties": {
                "n": {"type": "integer"},
                "s": {"type": "string"},
                "l": {"type": "array", "items": {"type": "integer"}},
                "b": {"type": "boolean"},
            }}),
        );
        let mut values = Values::new(&Toolset::new([tool]).unwrap(), "t");
        let mut out = String::new();
        let letters: Vec<char> = json.chars().collect();
        for piece in letters.chunks(size) {
            values.push(&piece.iter().collect::<String>(), &mut out);
        }
        out.push_str(&values.rest());
        (out, values.has_changed())
    }

    #[test]
    fn values_become_what_their_schema_says_however_they_are_cut() {
        let json = r#"{"n": "3", "s": "a, \"b\"} é", "l": ["1", 2], "b": "true", "x": {"n": "3"}}"#;
        let right = r#"{"n": 3, "s": "a, \"b\"} é", "l": [1,2], "b": true, "x": {"n": "3"}}"#;
        for size in 1..=json.len() {
            assert_eq!(passed(json, size), (right.to_owned(), true), "{size}");
        }
    }

    #[test]
    fn what_is_right_stays_as_it_is() {
        for json in [
            r#"{ "n" : 3 , "s":"" }"#,
            "{}",
            r#"{"n": 123456789012345678901234567890}"#,
        ] {
            for size in 1..=json.len() {
                assert_eq!(passed(json, size), (json.to_owned(), false), "{size}");
            }
        }
    }

    #[test]
    fn a_text_goes_out_while_it_comes_in() {
        let tool = ToolSpec::new("t", "", json!({"properties": {"s": {"type": "string"}}}));
        let mut values = Values::new(&Toolset::new([tool]).unwrap(), "t");
        let mut out = String::new();
        values.push(r#"{"s": "one two"#, &mut out);
        assert_eq!(out, r#"{"s": "one two"#);
    }
}
