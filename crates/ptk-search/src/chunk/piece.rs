//! A piece of a file, and the lines that it has there.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::kind::Kind;

/// A run of lines, counted from one, both ends included.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Lines {
    /// The first line.
    pub first: usize,
    /// The last one.
    pub last: usize,
}

impl fmt::Display for Lines {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.first, self.last)
    }
}

/// A piece of a file, with its text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Chunk<T = String> {
    /// Its lines in the file.
    pub lines: Lines,
    /// The name that is defined there.
    pub symbol: Option<String>,
    /// The kind of the chunk.
    pub kind: Kind,
    /// The enclosing scopes, outermost first: `mod tests > impl Reader`. Empty
    /// at the top of a file.
    pub scope: String,
    /// The lines themselves, without the last line break.
    pub text: T,
}

impl<T> Chunk<T> {
    /// Converts the text.
    pub(super) fn map<U>(self, change: impl FnOnce(T) -> U) -> Chunk<U> {
        Chunk {
            lines: self.lines,
            symbol: self.symbol,
            kind: self.kind,
            scope: self.scope,
            text: change(self.text),
        }
    }
}
