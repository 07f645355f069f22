//! The new text as the file would have written it: what the edit leaves alone
//! keeps the characters of the file, and line breaks are those around it.

use std::ops::Range;
use std::time::Duration;

use similar::{DiffOp, TextDiff};

use super::change::Change;
use super::view::View;

/// A long text is compared coarsely rather than long.
const MAX_TIME: Duration = Duration::from_millis(200);

/// The new text where the words that it shares with the old one are as in the
/// file. `at` is where the old text was found in the view of the file.
pub(super) fn carried(
    text: &str,
    view: &View,
    at: usize,
    wanted: &View,
    change: &Change,
) -> String {
    let diff = TextDiff::configure()
        .timeout(MAX_TIME)
        .diff_words(&change.old, &change.new);
    let mut result = String::new();
    let mut at_old = 0;
    for op in diff.ops() {
        let old_words = op.old_range().map_while(|word| diff.old_slice(word));
        let start = at_old;
        at_old += old_words.map(str::len).sum::<usize>();
        let kept = match op {
            DiffOp::Equal { .. } => in_file(text, view, at, wanted, &(start..at_old)),
            _ => None,
        };
        match kept {
            Some(kept) => result.push_str(kept),
            None => result.extend(op.new_range().map_while(|word| diff.new_slice(word))),
        }
    }
    result
}

/// What stands in the file for a part of the old text.
fn in_file<'t>(
    text: &'t str,
    view: &View,
    at: usize,
    wanted: &View,
    part: &Range<usize>,
) -> Option<&'t str> {
    let part = wanted.part(part)?;
    wanted.original(part.clone())?;
    text.get(view.original(at + part.start..at + part.end)?)
}

/// The line breaks of a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Endings {
    /// There are none.
    None,
    Lf,
    Crlf,
    Mixed,
}

impl Endings {
    pub(super) fn of(text: &str) -> Self {
        let lines = memchr::memchr_iter(b'\n', text.as_bytes()).count();
        match memchr::memmem::find_iter(text.as_bytes(), "\r\n").count() {
            0 if lines == 0 => Self::None,
            0 => Self::Lf,
            crlf if crlf == lines => Self::Crlf,
            _ => Self::Mixed,
        }
    }

    /// The new text with the line breaks of what it replaces, or of the whole
    /// file, which has these, where that has none.
    pub(super) fn applied(self, replaced: &str, new: &str) -> String {
        match (Self::of(replaced), self) {
            (Self::Crlf, _) | (Self::None, Self::Crlf) => {
                new.replace("\r\n", "\n").replace('\n', "\r\n")
            }
            (Self::Lf, _) => new.replace("\r\n", "\n"),
            _ => new.to_owned(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn line_breaks_are_those_of_what_is_replaced() {
        let applied =
            |file: &str, replaced: &str, new: &str| Endings::of(file).applied(replaced, new);
        assert_eq!(applied("a\r\nb\r\n", "a", "x\ny"), "x\r\ny");
        assert_eq!(applied("a\r\nb\nc\n", "b\nc", "x\ny"), "x\ny");
        assert_eq!(applied("a\r\nb\n", "a", "x\ny"), "x\ny");
        assert_eq!(applied("a\nb\n", "a\nb", "x\r\ny"), "x\ny");
    }
}
