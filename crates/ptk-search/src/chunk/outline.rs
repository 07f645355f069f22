//! What an outline is made of, whoever makes it.

use super::{Kind, WITHIN};

/// Definitions within definitions are looked into so far.
pub(super) const MAX_DEPTH: usize = 32;
/// A value of fewer lines stays with what is around it.
pub(super) const LEAST_VALUE: usize = 4;
/// A longer name of a symbol or of a scope is cut.
const MAX_NAME: usize = 120;

/// What comes before a definition: the comments and attributes that belong to
/// it.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Leading {
    lines: Option<(usize, usize)>,
    /// The last line of whatever came before.
    before: Option<usize>,
}

impl Leading {
    /// A comment or an attribute: it belongs to what follows.
    pub(super) fn add(&mut self, first: usize, last: usize) {
        // A comment behind code on its line is about that.
        let is_behind = self.before.replace(last) == Some(first);
        self.lines = match self.lines {
            _ if is_behind => None,
            Some((start, end)) if end + 1 >= first => Some((start, last)),
            _ => Some((first, last)),
        };
    }

    /// Anything else. Gives back the first line of what belongs to it.
    pub(super) fn take(&mut self, first: usize, last: usize) -> usize {
        self.before = Some(last);
        let lines = self.lines.take().filter(|(_, end)| end + 1 >= first);
        lines.map_or(first, |(start, _)| start)
    }
}

/// A function in a type is a method.
pub(super) fn function_in(container: Option<Kind>) -> Kind {
    match container {
        None | Some(Kind::Module) => Kind::Function,
        Some(_) => Kind::Method,
    }
}

/// Whether something on these lines is long enough to stand by itself.
pub(super) fn is_long(first: usize, last: usize) -> bool {
    last - first + 1 >= LEAST_VALUE
}

/// A scope and the one within it.
pub(super) fn joined(outer: &str, inner: &str) -> String {
    if outer.is_empty() {
        inner.to_owned()
    } else {
        format!("{outer}{WITHIN}{inner}")
    }
}

/// A text on one line, and not too long.
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
