//! Tags with attributes, and the entities of XML, read leniently.

use std::borrow::Cow;
use std::ops::Range;

use crate::parse::{Input, MarkAt, mark_at};

/// A start tag longer than this is none.
const MAX_TAG: usize = 2048;

/// A start tag in the text.
pub(crate) struct StartTag {
    pub(crate) range: Range<usize>,
    pub(crate) closed: bool,
}

/// What stands where a start tag may be.
pub(crate) enum Tag {
    Found(StartTag),
    More,
    Cut,
    None,
}

/// The start tag at `at`, up to a `>` that is not inside quotes.
pub(crate) fn start_tag(input: &Input<'_>, at: usize, name: &str) -> Tag {
    let rest = input.from(at);
    match mark_at(rest, &[name]) {
        MarkAt::Partial if !input.end => return Tag::More,
        MarkAt::Partial | MarkAt::None => return Tag::None,
        MarkAt::Found { .. } => {}
    }
    let mut quote = None;
    for (offset, byte) in rest.bytes().enumerate().skip(name.len()) {
        match (byte, quote) {
            _ if offset > MAX_TAG => return Tag::None,
            (b'"' | b'\'', None) => quote = Some(byte),
            (byte, Some(open)) if byte == open => quote = None,
            (b'>', None) => {
                let closed = rest.as_bytes().get(offset.saturating_sub(1)) == Some(&b'/');
                return Tag::Found(StartTag {
                    range: at..at + offset + 1,
                    closed,
                });
            }
            (b'<', None) => return Tag::None,
            _ => {}
        }
    }
    if input.end { Tag::Cut } else { Tag::More }
}

impl StartTag {
    /// The value of an attribute, entities decoded.
    pub(crate) fn attribute(&self, input: &Input<'_>, name: &str) -> Option<String> {
        let mut rest = input.slice(self.range.clone());
        rest = rest.get(rest.find(char::is_whitespace)?..)?;
        loop {
            rest = rest.trim_start();
            let equals = rest.find('=')?;
            let key = rest.get(..equals)?.trim();
            rest = rest.get(equals + 1..)?.trim_start();
            let (value, behind) =
                if let Some(quote) = rest.chars().next().filter(|c| matches!(c, '"' | '\'')) {
                    let inner = rest.get(1..)?;
                    let end = inner.find(quote)?;
                    (inner.get(..end)?, inner.get(end + 1..)?)
                } else {
                    let end = rest.find(|c: char| c.is_whitespace() || matches!(c, '>' | '/'))?;
                    (rest.get(..end)?, rest.get(end..)?)
                };
            if key.eq_ignore_ascii_case(name) {
                return Some(decode(value).into_owned());
            }
            rest = behind;
        }
    }
}

/// Drops the line breaks that set a value off from its tags.
pub(crate) fn trim_lines(value: &str) -> &str {
    let Some(inner) = value
        .strip_prefix('\n')
        .or_else(|| value.strip_prefix("\r\n"))
    else {
        return value;
    };
    let trimmed = inner.trim_end_matches([' ', '\t']);
    match trimmed.strip_suffix('\n') {
        Some(body) => body.strip_suffix('\r').unwrap_or(body),
        None => inner,
    }
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
