//! What may stand behind a value and does not belong to it: a note, a key, the
//! rest of an array.

use super::blank::blank_end;
use super::frame::Kind;
use super::lookahead::Lookahead;
use super::quotes::QuoteFamily;

/// The longest note. What is longer is not read to its end, so that many notes
/// that never end take no longer than the text is.
const LONGEST: usize = 512;

impl Lookahead<'_> {
    /// Whether an array begins at `p`, which continues the one before it.
    pub(super) fn opens_array(&self, p: usize) -> bool {
        self.byte(p) == Some(b'[')
            && (self.is_value(p + 1) || self.byte(blank_end(self.text, p + 1)) == Some(b']'))
    }

    /// Where a note ends that stands at `p`, behind a value: at the comma or
    /// closer, or at the next key. It is in parentheses, or in an object in
    /// words, and holds no quotes.
    pub(super) fn note_end(&mut self, kind: Kind, p: usize) -> Option<usize> {
        let in_words = self.byte(p) != Some(b'(');
        if !kind.is_container() || (in_words && kind != Kind::Object) {
            return None;
        }
        let mut depth = 0_usize;
        let mut has_words = false;
        for at in p..p + LONGEST {
            let byte = self.byte(at)?;
            match byte {
                b'(' => depth += 1,
                b')' => depth = depth.checked_sub(1)?,
                b'\'' if self.is_apostrophe(at) => {}
                _ if QuoteFamily::opening(self.text, at).is_some() => {
                    let fits =
                        depth == 0 && has_words && kind == Kind::Object && self.is_sure_key(at);
                    return fits.then_some(at);
                }
                b',' | b'}' | b']' if depth == 0 => return has_words.then_some(at),
                b':' | b'=' if depth == 0 => return None,
                b'{' | b'[' | b'}' | b']' | b'\n' => return None,
                _ => has_words |= byte.is_ascii_alphabetic() || byte >= 0x80,
            }
        }
        None
    }

    /// Whether words and then a key stand at `p`: `NOTE "key": 1`.
    pub(super) fn is_noted_key(&mut self, p: usize) -> bool {
        self.note_end(Kind::Object, p)
            .is_some_and(|end| QuoteFamily::opening(self.text, end).is_some())
    }

    /// Whether the quote at `at` stands inside a word.
    pub(super) fn is_apostrophe(&self, at: usize) -> bool {
        let is_letter = |at: usize| self.byte(at).is_some_and(|b| b.is_ascii_alphanumeric());
        at.checked_sub(1).is_some_and(is_letter) && is_letter(at + 1)
    }

    /// Whether a key in quotes stands at `at`, with its colon.
    pub(super) fn is_sure_key(&mut self, at: usize) -> bool {
        let Some((quote, length)) = QuoteFamily::opening(self.text, at) else {
            return false;
        };
        let Some(end) = self.next_closing(quote, at + length) else {
            return false;
        };
        let after = end + quote.closing(self.text, end).unwrap_or(1);
        self.byte(blank_end(self.text, after)) == Some(b':')
    }
}
