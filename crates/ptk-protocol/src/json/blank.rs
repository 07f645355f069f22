//! White space, of JSON and otherwise, and comments.

/// The end of the white space at `at`, JSON's own and any other kind.
pub(super) fn blank_end(text: &str, mut at: usize) -> usize {
    let bytes = text.as_bytes();
    loop {
        match bytes.get(at) {
            Some(b' ' | b'\n' | b'\r' | b'\t') => at += 1,
            Some(&byte) if byte < 0x20 || byte == 0x7f || byte >= 0x80 => {
                match foreign_blank(text, at) {
                    Some(length) => at += length,
                    None => return at,
                }
            }
            _ => return at,
        }
    }
}

/// The length of a white space character that JSON does not have.
pub(super) fn foreign_blank(text: &str, at: usize) -> Option<usize> {
    let character = text.get(at..)?.chars().next()?;
    let blank = matches!(
        character,
        '\0'..='\u{8}'
            | '\u{b}'
            | '\u{c}'
            | '\u{e}'..='\u{1f}'
            | '\u{7f}'
            | '\u{180e}'
            | '\u{200b}'..='\u{200f}'
            | '\u{2060}'
            | '\u{feff}'
    ) || (character > '\u{7f}' && character.is_whitespace());
    blank.then(|| character.len_utf8())
}

/// Whether a comment begins at `at`. A `#` counts only where nothing is glued
/// to it on the left.
pub(super) fn is_comment(text: &str, at: usize) -> bool {
    let bytes = text.as_bytes();
    match bytes.get(at) {
        Some(b'/') => matches!(bytes.get(at + 1), Some(b'/' | b'*')),
        Some(b'#') => {
            at == 0
                || at
                    .checked_sub(1)
                    .and_then(|before| bytes.get(before))
                    .is_some_and(|byte| {
                        byte.is_ascii_whitespace()
                            || matches!(byte, b',' | b'{' | b'[' | b'}' | b']')
                    })
        }
        _ => false,
    }
}

/// Where the operand behind a `+` begins: behind white space and comments. What
/// stands further away is not looked for, so that many a `+` takes no longer
/// than the text is.
pub(super) fn operand_start(text: &str, plus: usize) -> usize {
    const FARTHEST: usize = 1024;
    let mut at = blank_end(text, plus + 1);
    while at < plus + FARTHEST && is_comment(text, at) {
        let near = text.as_bytes().get(at..).unwrap_or_default();
        let near = near.get(..FARTHEST).unwrap_or(near);
        let length = if near.starts_with(b"/*") {
            let body = near.get(2..).unwrap_or_default();
            memchr::memmem::find(body, b"*/").map(|end| end + 4)
        } else {
            memchr::memchr(b'\n', near)
        };
        match length {
            Some(length) => at = blank_end(text, at + length),
            None => return at,
        }
    }
    at
}

/// How many back-ticks stand at `at`, if they are enough for a fence.
pub(super) fn fence_length(text: &str, at: usize) -> Option<usize> {
    let bytes = text.as_bytes().get(at..)?;
    let length = bytes.iter().take_while(|&&byte| byte == b'`').count();
    (length >= 3).then_some(length)
}
