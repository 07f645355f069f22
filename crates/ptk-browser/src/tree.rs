//! The HTML of an answer as a tree of elements and text.

use std::collections::BTreeMap;

use serde::Deserialize;

/// How deep elements may be nested. Deeper ones are flattened: a page may be
/// built to exhaust its reader.
const MAX_DEPTH: usize = 100;

/// One item of an answer, in document order, as the script reports it.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
pub(crate) enum Item {
    Text(String),
    Start(Start),
    /// The end of the element that began last.
    End(()),
}

/// The beginning of an element.
#[derive(Debug, Default, Clone, PartialEq, Eq, Deserialize)]
pub(crate) struct Start {
    pub(crate) tag: String,
    #[serde(default)]
    pub(crate) attributes: BTreeMap<String, String>,
    /// Whether HTML has no such element: it was a tag in the model's text.
    #[serde(default)]
    pub(crate) unknown: bool,
    /// Whether line breaks in it are preserved.
    #[serde(default)]
    pub(crate) pre: bool,
    /// Whether it is a block element.
    #[serde(default)]
    pub(crate) block: bool,
}

/// A text, or an element.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Node {
    Text(String),
    Element(Element),
}

/// An element and its children.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Element {
    pub(crate) start: Start,
    pub(crate) children: Vec<Node>,
}

impl Element {
    pub(crate) fn tag(&self) -> &str {
        &self.start.tag
    }

    pub(crate) fn attribute(&self, name: &str) -> Option<&str> {
        self.start.attributes.get(name).map(String::as_str)
    }

    /// The child elements.
    pub(crate) fn elements(&self) -> impl Iterator<Item = &Element> {
        self.children.iter().filter_map(|node| match node {
            Node::Element(element) => Some(element),
            Node::Text(_) => None,
        })
    }

    /// The first descendant with this tag.
    pub(crate) fn find(&self, tag: &str) -> Option<&Element> {
        self.elements().find_map(|element| {
            if element.tag() == tag {
                return Some(element);
            }
            element.find(tag)
        })
    }
}

/// Builds the tree from the items.
pub(crate) fn grow(items: Vec<Item>) -> Vec<Node> {
    let mut open = vec![Element::default()];
    // Elements that are too deep to be kept.
    let mut ignored = 0_usize;
    for item in items {
        match item {
            Item::Text(text) => add(&mut open, Node::Text(text)),
            Item::Start(_) if open.len() > MAX_DEPTH => ignored += 1,
            Item::Start(start) => open.push(Element {
                start,
                children: Vec::new(),
            }),
            Item::End(()) if ignored > 0 => ignored -= 1,
            Item::End(()) => close(&mut open),
        }
    }
    while open.len() > 1 {
        close(&mut open);
    }
    open.pop().unwrap_or_default().children
}

fn add(open: &mut [Element], node: Node) {
    if let Some(parent) = open.last_mut() {
        parent.children.push(node);
    }
}

fn close(open: &mut Vec<Element>) {
    if open.len() > 1
        && let Some(element) = open.pop()
    {
        add(open, Node::Element(element));
    }
}
