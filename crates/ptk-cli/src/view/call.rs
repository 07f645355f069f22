//! A tool call in a line.

use serde_json::Value;

use super::clean::visible;

/// Arguments that describe a call best; the first that exists is shown.
const TELLING: [&str; 8] = [
    "command",
    "path",
    "file_path",
    "pattern",
    "query",
    "url",
    "name",
    "id",
];
/// The most characters of an argument.
const MAX: usize = 200;

/// What a call is about, without the tool's name.
pub(crate) fn about(arguments: &Value) -> String {
    let Some(members) = arguments.as_object() else {
        return String::new();
    };
    let text = |name: &&str| members.get(*name).and_then(Value::as_str);
    let telling = TELLING.iter().find_map(text);
    let first = || members.values().find_map(Value::as_str);
    match telling.or_else(first) {
        Some(text) => in_a_line(text),
        None if members.is_empty() => String::new(),
        None => in_a_line(&arguments.to_string()),
    }
}

/// Escapes a text and puts it on one line.
pub(crate) fn in_a_line(text: &str) -> String {
    let mut lines = text.trim_end().trim_start_matches('\n').lines();
    let first = lines.next().unwrap_or_default();
    let mut shown: String = visible(first).chars().take(MAX).collect();
    if shown.chars().count() == MAX || lines.next().is_some() {
        shown.push_str(" …");
    }
    shown
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_call_is_told_by_its_most_telling_argument() {
        for (arguments, expected) in [
            (json!({"timeout": 3, "command": "ls\nrm -r x"}), "ls …"),
            (json!({"path": "a\u{1b}[2Jb"}), r"a\u{1b}[2Jb"),
            (json!({"to": "Ada", "n": 1}), "Ada"),
            (json!({"n": 1}), r#"{"n":1}"#),
            (json!({}), ""),
        ] {
            assert_eq!(about(&arguments), expected);
        }
    }
}
