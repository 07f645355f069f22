//! Writes arguments as YAML.

use serde_json::Value;

use crate::schema::coerce_text;

/// Writes one argument, text of several lines indented by `indentation`.
pub(crate) fn write_member(key: &str, value: &Value, json: &str, indentation: &str) -> String {
    let key = if is_plain_key(key) {
        key.to_owned()
    } else {
        quoted(key)
    };
    let value = match value {
        Value::String(string) => scalar(string, indentation),
        Value::Array(_) | Value::Object(_) => escape_controls(json),
        _ => json.to_owned(),
    };
    format!("{key}: {value}")
}

fn is_plain_key(key: &str) -> bool {
    key.starts_with(|c: char| c.is_ascii_alphabetic())
        && key.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}

/// A string in the plainest form that reads back as itself.
fn scalar(text: &str, indentation: &str) -> String {
    let plain = text
        .starts_with(|c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '/' | '_'))
        && text.chars().all(|c| {
            c.is_ascii_alphanumeric() || matches!(c, ' ' | '.' | '/' | '_' | '-' | '(' | ')' | '+')
        })
        && !text.ends_with(' ')
        && coerce_text(text, None).value.is_string()
        && !matches!(text, "~" | "---" | "...");
    if plain {
        return text.to_owned();
    }
    let block = text.contains('\n')
        && !text.starts_with([' ', '\n', '\t'])
        && !text.ends_with('\n')
        && text.lines().all(|line| {
            !line.is_empty() && !line.starts_with('\t') && !line.ends_with([' ', '\t'])
        })
        && text.chars().all(|c| c == '\n' || is_printable(c));
    if block {
        let mut lines = String::from("|-");
        for line in text.lines() {
            lines.push('\n');
            lines.push_str(indentation);
            lines.push_str(line);
        }
        return lines;
    }
    quoted(text)
}

/// A reason on one line, plain where it reads back as itself.
pub(crate) fn scalar_line(text: &str) -> String {
    let plain = !text.is_empty()
        && text.trim() == text
        && !text.starts_with('"')
        && text.chars().all(is_printable);
    if plain { text.to_owned() } else { quoted(text) }
}

/// A string in double quotes; YAML reads JSON's strings, as long as
/// everything that is not printable is escaped.
fn quoted(text: &str) -> String {
    escape_controls(&Value::String(text.to_owned()).to_string())
}

fn escape_controls(json: &str) -> String {
    let mut text = String::with_capacity(json.len());
    for c in json.chars() {
        if is_printable(c) {
            text.push(c);
        } else {
            for unit in c.encode_utf16(&mut [0; 2]) {
                text.push_str(&format!("\\u{unit:04x}"));
            }
        }
    }
    text
}

fn is_printable(c: char) -> bool {
    !c.is_control()
        && !matches!(
            c,
            '\u{2028}' | '\u{2029}' | '\u{feff}' | '\u{fffe}' | '\u{ffff}'
        )
}
