//! Finds marks: a wide scan for the bytes at which one may begin, and a tree of
//! all marks that is walked from there.

use std::fmt;
use std::num::NonZeroU32;

use aho_corasick::{Span, packed};

/// Up to here a plain loop is faster than setting up a wide search.
const SHORT: usize = 32;

/// The bytes at which a mark may begin.
pub(super) struct Needles {
    table: [bool; 256],
    /// Compares many bytes at once, where the processor can.
    wide: Option<packed::Searcher>,
}

impl Needles {
    pub(super) fn new(mut bytes: Vec<u8>) -> Self {
        bytes.sort_unstable();
        bytes.dedup();
        let mut table = [false; 256];
        for (byte, is_needle) in (0..=u8::MAX).zip(&mut table) {
            *is_needle = bytes.contains(&byte);
        }
        let wide = packed::Config::new()
            .builder()
            .extend(bytes.iter().map(std::slice::from_ref))
            .build();
        Self { table, wide }
    }

    /// The first of the bytes in `text` at or behind `from`.
    pub(super) fn find(&self, text: &[u8], from: usize) -> Option<usize> {
        let rest = text.get(from..)?;
        match &self.wide {
            Some(wide) if rest.len() > SHORT => {
                let span = Span::from(from..text.len());
                wide.find_in(text, span).map(|found| found.start())
            }
            _ => {
                let found = rest.iter().position(|byte| self.is_needle(*byte));
                found.map(|found| from + found)
            }
        }
    }

    fn is_needle(&self, byte: u8) -> bool {
        self.table.get(usize::from(byte)).copied().unwrap_or(false)
    }
}

impl fmt::Debug for Needles {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let bytes = (0..=u8::MAX).filter(|byte| self.is_needle(*byte));
        f.debug_list().entries(bytes.map(char::from)).finish()
    }
}

/// The result of walking the tree at some place of the text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Walk {
    /// The longest mark there: its number and its length.
    pub(super) longest: Option<(usize, usize)>,
    /// Whether the text ends within what may become a longer one.
    pub(super) open: bool,
}

/// All marks, letters in any case, as a tree.
#[derive(Debug)]
pub(super) struct Tree {
    nodes: Vec<TrieNode>,
    roots: Box<[Option<NodeIndex>; 256]>,
}

/// The index of a node.
type NodeIndex = NonZeroU32;

/// A node of the tree. There are hundreds of them for each grammar, so they are
/// small.
#[derive(Debug, Clone, Copy)]
struct TrieNode {
    byte: u8,
    /// The number of the mark that ends here, plus one.
    mark: Option<NonZeroU32>,
    /// The first child, and the next sibling.
    first: Option<NodeIndex>,
    next: Option<NodeIndex>,
}

impl Tree {
    /// A tree of the marks, numbered as they stand.
    pub(super) fn new<S: AsRef<str>>(marks: &[S]) -> Self {
        let mut tree = Self {
            nodes: Vec::new(),
            roots: Box::new([None; 256]),
        };
        for (number, mark) in (1..).zip(marks) {
            tree.insert(mark.as_ref().as_bytes(), NonZeroU32::new(number));
        }
        for (upper, lower) in (b'A'..=b'Z').zip(b'a'..=b'z') {
            let root = tree.root(lower);
            if let Some(place) = tree.roots.get_mut(usize::from(upper)) {
                *place = root;
            }
        }
        tree.nodes.shrink_to_fit();
        tree
    }

    fn root(&self, byte: u8) -> Option<NodeIndex> {
        self.roots.get(usize::from(byte)).copied().flatten()
    }

    fn node(&self, place: NodeIndex) -> Option<&TrieNode> {
        self.nodes.get(place.get() as usize - 1)
    }

    fn insert(&mut self, mark: &[u8], number: Option<NonZeroU32>) {
        let mut mark = mark.iter().map(u8::to_ascii_lowercase);
        let Some(first) = mark.next() else {
            return;
        };
        let Some(mut at) = self.root(first).or_else(|| self.add(first, None)) else {
            return;
        };
        if let Some(root) = self.roots.get_mut(usize::from(first)) {
            *root = Some(at);
        }
        for byte in mark {
            let child = self.child(at, byte).or_else(|| self.add(byte, Some(at)));
            let Some(child) = child else {
                return;
            };
            at = child;
        }
        if let Some(node) = self.nodes.get_mut(at.get() as usize - 1) {
            node.mark = number;
        }
    }

    /// Adds a child to a node.
    fn add(&mut self, byte: u8, behind: Option<NodeIndex>) -> Option<NodeIndex> {
        let place = NodeIndex::new(u32::try_from(self.nodes.len()).ok()? + 1)?;
        let mut next = None;
        if let Some(behind) = behind {
            let node = self.nodes.get_mut(behind.get() as usize - 1)?;
            next = node.first.replace(place);
        }
        self.nodes.push(TrieNode {
            byte,
            mark: None,
            first: None,
            next,
        });
        Some(place)
    }

    fn child(&self, at: NodeIndex, byte: u8) -> Option<NodeIndex> {
        let mut place = self.node(at)?.first;
        while let Some(here) = place {
            let node = self.node(here)?;
            if node.byte == byte {
                break;
            }
            place = node.next;
        }
        place
    }

    /// Follows the text as far as the tree goes.
    pub(super) fn walk(&self, text: &[u8]) -> Walk {
        let mut walk = Walk {
            longest: None,
            open: false,
        };
        let mut bytes = text.iter().enumerate();
        let Some(mut at) = bytes.next().and_then(|(_, first)| self.root(*first)) else {
            return walk;
        };
        let mut length = 1;
        loop {
            let Some(node) = self.node(at) else {
                return walk;
            };
            if let Some(mark) = node.mark {
                walk.longest = Some((mark.get() as usize - 1, length));
            }
            let Some((index, byte)) = bytes.next() else {
                walk.open = node.first.is_some();
                return walk;
            };
            match self.child(at, byte.to_ascii_lowercase()) {
                Some(child) => at = child,
                None => return walk,
            }
            length = index + 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_byte_of_any_mark_is_found_wherever_it_stands() {
        let needles = Needles::new(vec![b'<', b'[', b'\n']);
        let mut text = vec![b'x'; 300];
        assert_eq!(needles.find(&text, 0), None);
        for at in (0..300).rev() {
            text[at] = b'[';
            assert_eq!(needles.find(&text, 0), Some(at));
            assert_eq!(needles.find(&text, at + 1).is_some(), at < 299);
        }
    }

    #[test]
    fn many_different_bytes_are_found_too() {
        let needles = Needles::new((b'a'..=b'z').collect());
        assert_eq!(needles.find(b"0123456789 q", 0), Some(11));
    }

    #[test]
    fn the_longest_mark_counts_and_a_longer_one_may_come() {
        let tree = Tree::new(&["<a>", "<a>b", "<Tag", "["]);
        let walk = |text: &str| {
            let walk = tree.walk(text.as_bytes());
            (walk.longest, walk.open)
        };
        assert_eq!(walk("<a>bc"), (Some((1, 4)), false));
        assert_eq!(walk("<a>c"), (Some((0, 3)), false));
        assert_eq!(walk("<a>"), (Some((0, 3)), true));
        assert_eq!(walk("<tA"), (None, true));
        assert_eq!(walk("<TAG>"), (Some((2, 4)), false));
        assert_eq!(walk("x"), (None, false));
        assert_eq!(walk(""), (None, false));
    }
}
