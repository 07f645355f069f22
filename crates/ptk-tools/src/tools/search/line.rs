//! Lines of a length that a model can take.

use std::borrow::Cow;

use crate::tools::text::Text;

/// How many bytes of a line are shown.
const MAX_LINE: usize = 400;
/// How many of them stand before the match.
const BEFORE: usize = 120;

/// The line as text, and whether it is all of it. A long one keeps what stands
/// around the match, and says how much is missing on each side.
pub(crate) fn cut(line: &[u8], found_at: impl FnOnce() -> usize) -> (String, bool) {
    if line.len() <= MAX_LINE {
        return (text(line).into_owned(), true);
    }
    let start = match found_at() {
        near if near <= BEFORE => 0,
        far => boundary(line, (far - BEFORE).min(line.len() - MAX_LINE)),
    };
    let end = boundary(line, start + MAX_LINE);
    let mut shown = String::with_capacity(MAX_LINE + 64);
    if start > 0 {
        shown.push_str(&format!("[… {start} bytes …]"));
    }
    shown.push_str(&text(line.get(start..end).unwrap_or_default()));
    if end < line.len() {
        shown.push_str(&format!("[… {} bytes …]", line.len() - end));
    }
    (shown, false)
}

/// The line as text. In a file that was decoded as a whole it is UTF-8; in
/// others the encoding is guessed from the line alone.
fn text(line: &[u8]) -> Cow<'_, str> {
    match std::str::from_utf8(line) {
        Ok(text) => Cow::Borrowed(text),
        Err(_) => Cow::Owned(Text::decode(line.to_vec()).content),
    }
}

/// The nearest place at or before `at` where a character begins.
fn boundary(line: &[u8], at: usize) -> usize {
    let begins = |at: &usize| line.get(*at).is_none_or(|byte| byte & 0xC0 != 0x80);
    (at.saturating_sub(3)..=at.min(line.len()))
        .rev()
        .find(begins)
        .unwrap_or(at)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_short_line_stays_whole() {
        assert_eq!(cut(b"short", || 0), ("short".to_owned(), true));
    }

    #[test]
    fn a_long_line_keeps_what_stands_around_the_match() {
        let line = format!("{}needle{}", "é".repeat(500), "x".repeat(1_000));
        let (text, is_whole) = cut(line.as_bytes(), || 1_000);
        assert!(!is_whole);
        assert!(text.starts_with("[… 880 bytes …]éé"), "{text}");
        assert!(text.contains("éneedlex"), "{text}");
        assert!(text.ends_with("x[… 726 bytes …]"), "{text}");
        assert!(!text.contains('\u{FFFD}'), "{text}");
    }

    #[test]
    fn the_match_at_the_end_of_a_long_line_is_shown() {
        let line = format!("{}needle", "x".repeat(1_000));
        let (text, _) = cut(line.as_bytes(), || 1_000);
        assert!(text.ends_with("xneedle"), "{text}");
    }
}
