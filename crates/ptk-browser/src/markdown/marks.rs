//! Tags that stood in the text, and that the page took for elements. The marks
//! of calls are among them: `<tool_call>` is no element that HTML knows, so the
//! page holds it as an unknown one. So are tags in the values of a call.

use std::sync::OnceLock;

use ptk_protocol::dialects::{Claim, Pattern, Registry};

use super::holds_blocks;
use crate::tree::{Element, Node};

/// Elements that have no end.
const VOID: [&str; 9] = [
    "area", "br", "col", "hr", "img", "input", "link", "meta", "wbr",
];

/// Which strings of JSON a text has begun and ended.
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

    /// The string that the text is in, if it is in one.
    pub(super) fn string(self) -> Option<usize> {
        self.is_inside.then_some(self.begun)
    }
}

/// Whether an element was written as a tag, and not made by the page of
/// Markdown.
pub(super) fn is_source(element: &Element, quotes: Quotes) -> bool {
    if element.start.unknown {
        return true;
    }
    match element.tag() {
        // Markdown makes `em` and `strong` of stars. Some pages have the older
        // ones instead, and attributes on them.
        "b" | "i" | "u" => element.start.attributes.is_empty(),
        "em" | "strong" | "code" | "del" | "math" => false,
        // A link that the page made of an address has no quotes in it.
        "a" => element
            .attribute("href")
            .is_some_and(|href| href.contains('"')),
        "span" => quotes.string().is_some() && element.start.attributes.is_empty(),
        // A paragraph, or the like, in a value.
        _ => quotes.string().is_some() && element.tag() != "input",
    }
}

/// Whether there is prose between marks, as with thoughts, and not the JSON of
/// a call.
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
        // In a string of JSON, quotes are escaped, and HTML takes them for a
        // part of the value.
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

/// What a mark with a value in its name ends with: `<function=read>` ends with
/// `</function>`.
fn closed_by(tag: &str) -> &str {
    valued(tag).unwrap_or(tag)
}

/// The name of a mark with a value in its name.
pub(super) fn valued(tag: &str) -> Option<&str> {
    tag.split_once('=').map(|(name, _)| name)
}

/// The name as a dialect writes it: HTML knows no capitals.
fn name(tag: &str) -> &str {
    static NAMES: OnceLock<Vec<String>> = OnceLock::new();
    let names = NAMES.get_or_init(known);
    if names.iter().any(|name| name == tag) {
        return tag;
    }
    let known = names.iter().find(|name| name.eq_ignore_ascii_case(tag));
    known.map_or(tag, String::as_str)
}

/// The names in the marks of the dialects that PTK knows, as these write them.
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
