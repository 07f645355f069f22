//! What an element of the page is to Markdown: a block or not, with or without
//! line breaks, and its text.

use crate::tree::{Element, Node};

/// Whether line breaks in a text are preserved.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Whitespace {
    Folded,
    Kept,
}

impl Whitespace {
    /// Whether those of an element are preserved.
    pub(super) fn of(element: &Element) -> Self {
        if element.start.pre {
            Self::Kept
        } else {
            Self::Folded
        }
    }
}

/// Whether an element is a block.
pub(super) fn is_block(element: &Element) -> bool {
    match element.tag() {
        "p" | "div" | "ul" | "ol" | "li" | "dl" | "blockquote" | "pre" | "table" | "h1" | "h2"
        | "h3" | "h4" | "h5" | "h6" | "hr" => true,
        "a" | "b" | "br" | "code" | "del" | "em" | "i" | "img" | "input" | "kbd" | "math" | "s"
        | "samp" | "span" | "strong" | "sub" | "sup" => false,
        _ => !element.start.unknown && element.start.block,
    }
}

/// Whether an element contains a block.
pub(super) fn holds_blocks(element: &Element) -> bool {
    let mut elements = element.elements().filter(|it| it.tag() != "math");
    elements.any(|it| is_block(it) || holds_blocks(it))
}

/// The text content, unchanged.
pub(super) fn verbatim(nodes: &[Node]) -> String {
    let mut text = String::new();
    for node in nodes {
        match node {
            Node::Text(it) => text.push_str(it),
            Node::Element(element) if element.tag() == "br" => text.push('\n'),
            Node::Element(element) => {
                let is_line = element.start.block && !text.is_empty() && !text.ends_with('\n');
                if is_line {
                    text.push('\n');
                }
                text.push_str(&verbatim(&element.children));
            }
        }
    }
    text
}

/// The longest run of backticks.
pub(super) fn longest_run(text: &str) -> usize {
    text.split(|c| c != '`').map(str::len).max().unwrap_or(0)
}
