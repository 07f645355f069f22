//! Escapes text for JSON strings.

/// Appends `text`, escaped, to `json`.
pub(crate) fn escape_into(json: &mut String, text: &str) {
    let mut rest = text;
    while let Some(at) = rest.bytes().position(needs_escape) {
        let (plain, behind) = rest.split_at_checked(at).unwrap_or((rest, ""));
        json.push_str(plain);
        let mut chars = behind.chars();
        match chars.next() {
            Some('"') => json.push_str("\\\""),
            Some('\\') => json.push_str("\\\\"),
            Some('\n') => json.push_str("\\n"),
            Some('\r') => json.push_str("\\r"),
            Some('\t') => json.push_str("\\t"),
            Some('\u{8}') => json.push_str("\\b"),
            Some('\u{c}') => json.push_str("\\f"),
            Some(control) => json.push_str(&format!("\\u{:04x}", u32::from(control))),
            None => {}
        }
        rest = chars.as_str();
    }
    json.push_str(rest);
}

/// The text as a JSON string.
pub(crate) fn quote(text: &str) -> String {
    let mut json = String::with_capacity(text.len() + 2);
    json.push('"');
    escape_into(&mut json, text);
    json.push('"');
    json
}

const fn needs_escape(byte: u8) -> bool {
    byte < 0x20 || matches!(byte, b'"' | b'\\')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_escaped_reads_back() {
        let all: String = (0..0x100).filter_map(char::from_u32).collect();
        for text in ["", "plain", "a\"b\\c\n\r\t", "é😀\u{2028}", &all] {
            let json = quote(text);
            assert_eq!(serde_json::from_str::<String>(&json).unwrap(), text);
            assert_eq!(json, serde_json::Value::from(text).to_string());
        }
    }
}
