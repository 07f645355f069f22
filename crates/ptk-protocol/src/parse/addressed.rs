//! The end of the text before a mark, as much of it as the address of a message
//! takes: `to=read_file<|message|>`.

use crate::dialects::engine::json_marks::is_name_character;
use crate::dialects::harmony::{MESSAGE, RECIPIENT};

/// The longest address that is recognised, with a quotation mark before it.
const LONGEST: usize = 128;

/// How many bytes are kept, so that few of them have to be moved.
const ROOM: usize = 2 * LONGEST;

/// The last bytes of the text: at least as many as an address takes.
#[derive(Debug, Clone, Copy)]
pub(super) struct Tail {
    bytes: [u8; ROOM],
    length: usize,
}

impl Default for Tail {
    fn default() -> Self {
        Self {
            bytes: [0; ROOM],
            length: 0,
        }
    }
}

impl Tail {
    /// Adds text at the end.
    pub(super) fn push(&mut self, text: &str) {
        let text = text.as_bytes();
        let text = text
            .get(text.len().saturating_sub(LONGEST)..)
            .unwrap_or(text);
        if self.length + text.len() > ROOM {
            let kept = self.length.min(LONGEST - text.len());
            self.bytes.copy_within(self.length - kept..self.length, 0);
            self.length = kept;
        }
        let end = self.length + text.len();
        if let Some(place) = self.bytes.get_mut(self.length..end) {
            place.copy_from_slice(text);
            self.length = end;
        }
    }

    /// The character before the address with which the text ends, if it does.
    pub(super) fn before_address(&self) -> Option<char> {
        let bytes = self
            .bytes
            .get(self.length.saturating_sub(LONGEST)..self.length)?;
        // The first character may be cut.
        let start = bytes.iter().position(|byte| byte & 0xC0 != 0x80)?;
        let text = std::str::from_utf8(bytes.get(start..)?).ok()?.trim_end();
        let text = without_end(text, MESSAGE).unwrap_or(text);
        let text = text.trim_end().trim_end_matches(is_name_character);
        without_end(text, RECIPIENT)?.chars().next_back()
    }
}

fn without_end<'t>(text: &'t str, end: &str) -> Option<&'t str> {
    let (before, last) = text.split_at_checked(text.len().checked_sub(end.len())?)?;
    last.eq_ignore_ascii_case(end).then_some(before)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_character_before_an_address_is_found_in_any_pieces() {
        let long = "é".repeat(LONGEST);
        for (text, expected) in [
            ("say \"to=read_file<|message|>", Some('"')),
            ("say “TO=functions.read_file<|Message|>\n", Some('“')),
            ("'to=read_file", Some('\'')),
            (" to=read_file<|message|>", Some(' ')),
            ("\"to=read_file<|message|>!", None),
            ("\"to read_file<|message|>", None),
        ] {
            for text in [text.to_owned(), format!("{long}{text}")] {
                let mut whole = Tail::default();
                whole.push(&text);
                assert_eq!(whole.before_address(), expected, "{text}");
                let mut pieces = Tail::default();
                for piece in text.split_inclusive(|_: char| true) {
                    pieces.push(piece);
                }
                assert_eq!(pieces.before_address(), expected, "{text}");
            }
        }
    }
}
