//! The new text with the line breaks around it.

use super::change::Change;
use super::lines::{Pairing, without_break};

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

    /// A text with these line breaks; as it is if there is no single kind.
    pub(super) fn applied(self, new: &str) -> String {
        match self {
            Self::Crlf => new.replace("\r\n", "\n").replace('\n', "\r\n"),
            Self::Lf => new.replace("\r\n", "\n"),
            Self::None | Self::Mixed => new.to_owned(),
        }
    }
}

/// The new text with the line breaks of lines that have several kinds: each
/// line has that of the line it stays, replaces or follows. As given if no
/// line stays. `written` is the new text as it will be in the file.
pub(super) fn with_mixed_endings(lines: &str, change: &Change, written: String) -> String {
    let breaks: Vec<&str> = lines
        .split_inclusive('\n')
        .map(|line| line.get(without_break(line).len()..).unwrap_or_default())
        .collect();
    let old: Vec<&str> = change.old.split_inclusive('\n').collect();
    let new: Vec<&str> = change.new.split_inclusive('\n').collect();
    let pairing = Pairing::new(&old, &new);
    let count = written.split_inclusive('\n').count();
    if pairing.kept.is_empty() || count != new.len() {
        return written;
    }
    let mut result = String::with_capacity(written.len());
    for (at, line) in written.split_inclusive('\n').enumerate() {
        let own = breaks.get(pairing.nearest(at)).copied().unwrap_or_default();
        if own.is_empty() || !line.ends_with('\n') {
            result.push_str(line);
        } else {
            result.push_str(without_break(line));
            result.push_str(own);
        }
    }
    result
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn line_breaks_become_those_of_the_file() {
        let applied = |file: &str, new: &str| Endings::of(file).applied(new);
        assert_eq!(applied("a\r\nb\r\n", "x\ny\r\n"), "x\r\ny\r\n");
        assert_eq!(applied("a\nb\n", "x\r\ny"), "x\ny");
        assert_eq!(applied("a\r\nb\n", "x\ny"), "x\ny");
        assert_eq!(applied("a", "x\r\ny"), "x\r\ny");
    }
}
