//! Tags with attributes, and the entities of XML, read leniently.

use std::borrow::Cow;

/// The longest tag.
const MAX_TAG: usize = 2048;

/// The position of a tag's end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TagEnd {
    /// The tag ends at this offset.
    At(usize),
    /// The tag ends behind the text at hand.
    Open,
    /// The text is not a tag.
    None,
}

/// Finds where a tag ends: at the first `end` that is not inside quotes.
pub(crate) fn tag_end(tag: &str, end: &str) -> TagEnd {
    let mut quote = None;
    let mut before = 0;
    for (at, byte) in tag.bytes().enumerate() {
        match (byte, quote) {
            _ if at > MAX_TAG => return TagEnd::None,
            (b'"' | b'\'', None) if before == b'=' => quote = Some(byte),
            (byte, Some(open)) if byte == open && ends_attribute(tag.get(at + 1..), end) => {
                quote = None;
            }
            (_, None) if tag.get(at..).is_some_and(|rest| rest.starts_with(end)) => {
                return TagEnd::At(at);
            }
            (b'<', None) if !tag.get(at..).is_some_and(|rest| end.starts_with(rest)) => {
                return TagEnd::None;
            }
            _ => {}
        }
        before = byte;
    }
    TagEnd::Open
}

/// Whether what follows a quote shows that it ends an attribute, and is not
/// part of it.
fn ends_attribute(rest: Option<&str>, end: &str) -> bool {
    rest.is_none_or(|rest| {
        rest.is_empty()
            || rest.starts_with(|c: char| c.is_whitespace() || matches!(c, '/' | '>' | '<'))
            || rest.starts_with(end)
    })
}

/// The value of an attribute of a tag, entities decoded.
pub(crate) fn attribute(tag: &str, name: &str) -> Option<String> {
    let mut rest = tag;
    loop {
        rest = rest.trim_start();
        let equals = rest.find('=')?;
        let key = rest.get(..equals)?.trim();
        // Byte-level tokenizers show a space as this letter.
        let is_space = |c: char| c.is_whitespace() || c == 'Ġ';
        let key = key.rsplit(is_space).next().unwrap_or(key);
        rest = rest.get(equals + 1..)?.trim_start();
        let (value, behind) =
            if let Some(quote) = rest.chars().next().filter(|c| matches!(c, '"' | '\'')) {
                let inner = rest.get(1..)?;
                let end = inner
                    .match_indices(quote)
                    .map(|(at, _)| at)
                    .find(|at| ends_attribute(inner.get(at + 1..), ">"))?;
                (inner.get(..end)?, inner.get(end + 1..)?)
            } else {
                let end = rest
                    .find(|c: char| c.is_whitespace() || matches!(c, '>' | '/'))
                    .unwrap_or(rest.len());
                (rest.get(..end)?, rest.get(end..)?)
            };
        if key.eq_ignore_ascii_case(name) {
            return Some(decode(value).into_owned());
        }
        rest = behind;
    }
}

/// Drops the line breaks that set a value off from its tags.
pub(crate) fn trim_lines(value: &str) -> &str {
    let Some(inner) = behind_line_break(value) else {
        return value;
    };
    let trimmed = inner.trim_end_matches([' ', '\t']);
    match trimmed.strip_suffix('\n') {
        Some(body) => body.strip_suffix('\r').unwrap_or(body),
        None => inner,
    }
}

/// The text behind the line break that follows an opening tag.
pub(crate) fn behind_line_break(value: &str) -> Option<&str> {
    let rest = value.trim_start_matches([' ', '\t']);
    rest.strip_prefix('\n')
        .or_else(|| rest.strip_prefix("\r\n"))
}

/// Decodes the entities of XML; whatever else has an `&` stays as it is.
pub(crate) fn decode(text: &str) -> Cow<'_, str> {
    let Some(first) = text.find('&') else {
        return Cow::Borrowed(text);
    };
    let mut decoded = String::with_capacity(text.len());
    decoded.push_str(text.get(..first).unwrap_or(""));
    let mut rest = text.get(first..).unwrap_or("");
    while let Some(at) = rest.find('&') {
        decoded.push_str(rest.get(..at).unwrap_or(""));
        rest = rest.get(at..).unwrap_or("");
        let entity = rest
            .get(..rest.len().min(12))
            .or_else(|| rest.get(..rest.char_indices().nth(8).map_or(rest.len(), |(at, _)| at)))
            .and_then(|start| start.find(';'))
            .and_then(|end| rest.get(1..end));
        let c = entity.and_then(|entity| match entity {
            "amp" => Some('&'),
            "lt" => Some('<'),
            "gt" => Some('>'),
            "quot" => Some('"'),
            "apos" => Some('\''),
            _ => {
                let number = entity.strip_prefix('#')?;
                match number.strip_prefix(['x', 'X']) {
                    Some(hex) => u32::from_str_radix(hex, 16).ok(),
                    None => number.parse().ok(),
                }
                .and_then(char::from_u32)
            }
        });
        let length = if let (Some(c), Some(entity)) = (c, entity) {
            decoded.push(c);
            entity.len() + 2
        } else {
            decoded.push('&');
            1
        };
        rest = rest.get(length..).unwrap_or("");
    }
    decoded.push_str(rest);
    Cow::Owned(decoded)
}
