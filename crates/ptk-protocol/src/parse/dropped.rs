//! The end of the text that the parser needs no more, for the rare mark whose
//! meaning depends on what stands far before it.

use std::borrow::Cow;

use super::reader::ceiling;

/// How much is kept.
pub(super) const MAX_KEPT: usize = 4096;

/// The last bytes that were dropped from the buffer.
#[derive(Debug, Default)]
pub(super) struct Dropped {
    last: String,
    /// Whether anything but white space was dropped, now or before.
    has_words: bool,
}

impl Dropped {
    /// Adds what is dropped now.
    pub(super) fn push(&mut self, text: &str) {
        self.has_words = self.has_words || !text.trim_start().is_empty();
        if text.len() >= MAX_KEPT {
            self.last.clear();
        } else if self.last.len() + text.len() > 2 * MAX_KEPT {
            self.last = last(&self.last, MAX_KEPT).to_owned();
        }
        self.last.push_str(last(text, MAX_KEPT));
    }

    /// Whether nothing but white space was ever dropped.
    pub(super) fn is_blank(&self) -> bool {
        !self.has_words
    }

    /// The last `most` bytes of what was dropped and of the text that followed it.
    pub(super) fn before<'t>(&self, text: &'t str, most: usize) -> Cow<'t, str> {
        match most.checked_sub(text.len()) {
            None | Some(0) => Cow::Borrowed(last(text, most)),
            Some(missing) => Cow::Owned(format!("{}{text}", last(&self.last, missing))),
        }
    }
}

/// The last `most` bytes of a text, or fewer, if a character is cut there.
fn last(text: &str, most: usize) -> &str {
    let from = ceiling(text, text.len().saturating_sub(most));
    text.get(from..).unwrap_or("")
}

#[cfg(test)]
mod tests {
    use super::{Dropped, MAX_KEPT};

    #[test]
    fn the_last_bytes_are_the_same_wherever_the_text_is_cut() {
        let text = "aé€\n".repeat(3 * MAX_KEPT / 7);
        for size in [1, 5, 100, MAX_KEPT, text.len()] {
            let mut dropped = Dropped::default();
            let mut rest = text.as_str();
            while let Some((first, behind)) = rest.split_at_checked(rest.ceil_char_boundary(size)) {
                if first.is_empty() {
                    break;
                }
                let whole = Dropped::default();
                let so_far = text.get(..text.len() - behind.len()).unwrap();
                for most in [1, 2, 3, 128, MAX_KEPT] {
                    assert_eq!(dropped.before(first, most), whole.before(so_far, most));
                }
                dropped.push(first);
                rest = behind;
            }
        }
    }
}
