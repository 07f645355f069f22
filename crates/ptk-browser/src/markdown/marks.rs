//! Tags in the model's text that the page took for HTML elements. Those of
//! calls are among them: `<tool_call>` is not an element that HTML knows, so
//! the page keeps it as an unknown one. So are tags in the values of a call.

use std::sync::OnceLock;

use ptk_protocol::dialects::{Claim, Pattern, Registry};

use super::element::holds_blocks;
use crate::tree::{Element, Node};

/// Elements that have no end.
const VOID: [&str; 9] = [
    "area", "br", "col", "hr", "img", "input", "link", "meta", "wbr",
];

/// Tracks which JSON strings a text has begun and ended.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Quotes {
    begun: usize,
    is_inside: bool,
    is_escaped: bool,
}

impl Quotes {
    pub(super) fn read(&mut self, text: &str) {
        for c in text.chars() {
            match c {
                _ if self.is_escaped => self.is_escaped = false,
                '\\' if self.is_inside => self.is_escaped = true,
                '"' => {
                    self.is_inside = !self.is_inside;
                    self.begun += usize::from(self.is_inside);
                }
                _ => {}
            }
        }
    }

    /// The number of the JSON string that the text is in, if it is in one.
    pub(super) fn string(self) -> Option<usize> {
        self.is_inside.then_some(self.begun)
    }
}

/// Whether an element was a tag in the model's text, not made from Markdown by
/// the page.
pub(super) fn is_source(element: &Element, quotes: Quotes) -> bool {
    if element.start.unknown {
        return true;
    }
    match element.tag() {
        // Markdown renders stars as `em` and `strong`. Some pages use the older
        // elements instead, with attributes.
        "b" | "i" | "u" => element.start.attributes.is_empty(),
        "em" | "strong" | "code" | "del" | "math" => false,
        // A link that the page made from an address contains no quotes.
        "a" => element
            .attribute("href")
            .is_some_and(|href| href.contains('"')),
        "span" => quotes.string().is_some() && element.start.attributes.is_empty(),
        // A paragraph or the like in a value.
        _ => quotes.string().is_some() && element.tag() != "input",
    }
}

/// Whether a tag contains prose, as thoughts do, and not the JSON of a call.
pub(super) fn holds_prose(element: &Element) -> bool {
    let first = element.children.iter().find_map(|node| match node {
        Node::Text(text) => text.trim_start().chars().next(),
        Node::Element(_) => Some('<'),
    });
    !matches!(first, Some('{' | '[')) && holds_blocks(element)
}

pub(super) fn opening(element: &Element) -> String {
    let mut tag = format!("<{}", name(element.tag()));
    for (name, value) in &element.start.attributes {
        tag.push(' ');
        tag.push_str(name);
        if value.is_empty() {
            continue;
        }
        // In a JSON string, quotes are escaped, and HTML takes them for a part
        // of the value.
        let is_bare = value.contains('"') && !value.contains(char::is_whitespace);
        let quote = if is_bare { "" } else { "\"" };
        tag.push_str(&format!("={quote}{value}{quote}"));
    }
    tag.push('>');
    tag
}

pub(super) fn closing(element: &Element) -> String {
    if VOID.contains(&element.tag()) {
        return String::new();
    }
    format!("</{}>", name(closed_by(element.tag())))
}

/// The name that closes a tag: `<function=read>` ends with `</function>`.
fn closed_by(tag: &str) -> &str {
    valued(tag).unwrap_or(tag)
}

/// The name of a tag with a value in it, without the value.
pub(super) fn valued(tag: &str) -> Option<&str> {
    tag.split_once('=').map(|(name, _)| name)
}

/// The name as a dialect spells it: HTML lower-cases tags.
fn name(tag: &str) -> &str {
    static NAMES: OnceLock<Vec<String>> = OnceLock::new();
    let names = NAMES.get_or_init(known);
    if names.iter().any(|name| name == tag) {
        return tag;
    }
    let known = names.iter().find(|name| name.eq_ignore_ascii_case(tag));
    known.map_or(tag, String::as_str)
}

/// The tag names of the built-in dialects, as these spell them.
fn known() -> Vec<String> {
    let registry = Registry::builtin();
    let triggers = registry.all().iter().flat_map(|dialect| dialect.triggers());
    let names = triggers.filter_map(|trigger| match trigger.pattern {
        Pattern::Mark(mark) if trigger.claim != Claim::Misspelt => {
            let name = mark.strip_prefix('<')?.trim_end_matches('>');
            Some(name.to_owned())
        }
        _ => None,
    });
    names.collect()
}
