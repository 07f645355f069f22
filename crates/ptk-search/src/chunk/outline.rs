//! The items of an outline, and helpers that all outlines share.

use super::kind::Kind;

/// The separator between a scope and one nested in it.
pub(super) const WITHIN: &str = " > ";
/// How deep nested definitions are looked into.
pub(super) const MAX_DEPTH: usize = 32;
/// The fewest lines of a value that becomes a chunk of its own.
pub(super) const LEAST_VALUE: usize = 4;
/// The most characters of the name of a symbol or scope.
const MAX_NAME: usize = 120;

/// A definition or section that owns lines, except those of nested ones.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Item {
    /// The first and last line, from zero.
    pub(super) first: usize,
    pub(super) last: usize,
    pub(super) kind: Kind,
    pub(super) symbol: Option<String>,
    pub(super) scope: String,
}

/// Collects the comments and attributes before a definition.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Leading {
    lines: Option<(usize, usize)>,
    /// The last line of the node before.
    before: Option<usize>,
}

impl Leading {
    /// Adds a comment or an attribute, which belongs to the next definition.
    pub(super) fn add(&mut self, first: usize, last: usize) {
        // A comment after code on the same line belongs to that code.
        let is_behind = self.before.replace(last) == Some(first);
        self.lines = match self.lines {
            _ if is_behind => None,
            Some((start, end)) if end + 1 >= first => Some((start, last)),
            _ => Some((first, last)),
        };
    }

    /// Ends the collection at any other node, and returns the first line that
    /// belongs to it.
    pub(super) fn take(&mut self, first: usize, last: usize) -> usize {
        self.before = Some(last);
        let lines = self.lines.take().filter(|(_, end)| end + 1 >= first);
        lines.map_or(first, |(start, _)| start)
    }
}

/// The kind of a function: one in a type is a method.
pub(super) fn function_in(container: Option<Kind>) -> Kind {
    match container {
        None | Some(Kind::Module) => Kind::Function,
        Some(_) => Kind::Method,
    }
}

/// Whether these lines are enough for a chunk of their own.
pub(super) fn is_long(first: usize, last: usize) -> bool {
    last - first + 1 >= LEAST_VALUE
}

/// Joins a scope and one nested in it.
pub(super) fn joined(outer: &str, inner: &str) -> String {
    if outer.is_empty() {
        inner.to_owned()
    } else {
        format!("{outer}{WITHIN}{inner}")
    }
}

/// Puts a text on one line, and cuts it to [`MAX_NAME`].
pub(super) fn one_line(text: &str) -> String {
    let mut line = String::with_capacity(text.len().min(4 * MAX_NAME));
    let mut left = MAX_NAME;
    for word in text.split_whitespace() {
        let word = if line.is_empty() {
            [word, ""]
        } else {
            [" ", word]
        };
        for c in word.into_iter().flat_map(str::chars) {
            if left == 0 {
                line.push('…');
                return line;
            }
            left -= 1;
            line.push(c);
        }
    }
    line
}
