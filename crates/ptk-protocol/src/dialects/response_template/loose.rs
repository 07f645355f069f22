//! JSON with strings between marks of their own and keys without quotes, put
//! into JSON's form.

use super::form::Loose;
use crate::json::quote;

/// Rewrites a body in one pass. What it does not know stays as it is, for the
/// repair of JSON.
pub(super) fn to_json(notation: &Loose, body: &str) -> String {
    let mut json = String::with_capacity(body.len() + 16);
    let mut rest = body;
    // Whether a key may stand here: behind a brace or a comma.
    let mut key_may_follow = false;
    while let Some(c) = rest.chars().next() {
        let string = notation.strings.iter().find_map(|(open, close)| {
            let behind = rest.strip_prefix(open.as_str())?;
            let end = behind.find(close.as_str())?;
            Some((behind.get(..end)?, behind.get(end + close.len()..)?))
        });
        if let Some((text, behind)) = string {
            json.push_str(&quote(text));
            rest = behind;
            key_may_follow = false;
            continue;
        }
        if c == '"' {
            let end = quoted_end(rest);
            let (text, behind) = rest.split_at_checked(end).unwrap_or((rest, ""));
            json.push_str(text);
            rest = behind;
            key_may_follow = false;
            continue;
        }
        if key_may_follow && notation.bare_keys {
            let end = rest
                .find(|c: char| !is_key_character(c))
                .unwrap_or(rest.len());
            let (key, behind) = rest.split_at_checked(end).unwrap_or((rest, ""));
            if !key.is_empty() {
                let is_key = behind.trim_start().starts_with(':');
                json.push_str(&if is_key { quote(key) } else { key.to_owned() });
                rest = behind;
                key_may_follow = false;
                continue;
            }
        }
        json.push(c);
        key_may_follow = matches!(c, '{' | ',') || (key_may_follow && c.is_whitespace());
        rest = rest.get(c.len_utf8()..).unwrap_or_default();
    }
    json
}

fn is_key_character(c: char) -> bool {
    c.is_alphanumeric() || matches!(c, '_' | '-' | '.' | '$')
}

/// The length of a string in JSON's form, or of all the text if it never ends.
fn quoted_end(text: &str) -> usize {
    let mut is_escaped = true;
    for (at, c) in text.char_indices() {
        match c {
            _ if is_escaped => is_escaped = false,
            '\\' => is_escaped = true,
            '"' => return at + 1,
            _ => {}
        }
    }
    text.len()
}
