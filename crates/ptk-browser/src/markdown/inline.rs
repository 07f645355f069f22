//! Inline content: text, emphasis, code, links.

use super::element::{Whitespace, is_block, longest_run, verbatim};
use super::marks::{self, Quotes};
use super::{BETWEEN, Blocks, blocks};
use crate::tree::{Element, Node};

/// Text that is being assembled.
#[derive(Debug, Default)]
pub(super) struct Inline {
    text: String,
    quotes: Quotes,
    /// Whether a checkbox was the last thing.
    is_behind_box: bool,
    /// Tags whose end is missing. The page repeats them wherever it can.
    endless: Vec<String>,
    /// Tags with a value in their name that are still open, outermost first.
    open: Vec<Mark>,
    /// Closing tags that are still to be written.
    ends: Vec<String>,
}

/// A tag with a value in its name, such as `<parameter=path>`. HTML drops its
/// end, because `</parameter>` has another name.
#[derive(Debug)]
struct Mark {
    name: String,
    end: String,
}

/// Renders inline nodes, without surrounding whitespace.
pub(super) fn line(nodes: &[Node], whitespace: Whitespace) -> String {
    let mut inline = Inline::default();
    inline.nodes(nodes, whitespace);
    inline.finish()
}

impl Inline {
    pub(super) fn finish(mut self) -> String {
        self.write_ends();
        self.text.trim().to_owned()
    }

    /// An empty text for the next line, with the same unclosed tags.
    pub(super) fn next(&self) -> Self {
        Self {
            endless: self.endless.clone(),
            ..Self::default()
        }
    }

    fn push(&mut self, text: &str) {
        self.write_ends();
        self.quotes.read(text);
        self.text.push_str(text);
    }

    fn nodes(&mut self, nodes: &[Node], whitespace: Whitespace) {
        for node in nodes {
            match node {
                Node::Text(text) => self.text(text, whitespace),
                Node::Element(element) => self.element(element),
            }
        }
    }

    /// Adds text. Blanks within a line are the model's; those around a line
    /// break are the page's.
    pub(super) fn text(&mut self, text: &str, whitespace: Whitespace) {
        if whitespace == Whitespace::Kept {
            self.push(text);
            return;
        }
        let is_behind_box = std::mem::take(&mut self.is_behind_box);
        let text = if is_behind_box {
            text.trim_start()
        } else {
            text
        };
        for (number, line) in text.split('\n').enumerate() {
            if number == 0 {
                self.push(line);
                continue;
            }
            self.break_line();
            self.push(line.trim_start_matches([' ', '\t', '\r']));
        }
    }

    /// Starts a new line, unless one was just started.
    fn break_line(&mut self) {
        let length = self.text.trim_end_matches([' ', '\t', '\r']).len();
        self.text.truncate(length);
        if !self.text.is_empty() && !self.text.ends_with('\n') {
            self.text.push('\n');
        }
    }

    pub(super) fn element(&mut self, element: &Element) {
        self.write_ends();
        if self.endless.iter().any(|tag| tag == element.tag()) {
            self.nodes(&element.children, Whitespace::of(element));
            return;
        }
        if marks::is_source(element, self.quotes) {
            self.tag(element);
            return;
        }
        match element.tag() {
            "em" | "i" => self.emphasis(element, 1),
            "strong" | "b" => self.emphasis(element, 2),
            "del" | "s" | "strike" => self.around(element, "~~"),
            "code" | "kbd" | "samp" | "tt" => self.push(&code(element)),
            "a" => self.link(element),
            "img" => {
                let (alt, src) = (element.attribute("alt"), element.attribute("src"));
                let (alt, src) = (alt.unwrap_or_default(), src.unwrap_or_default());
                self.push(&format!("![{alt}]({src})"));
            }
            "br" => self.break_line(),
            "input" if element.attribute("type") == Some("checkbox") => {
                let is_checked = element.attribute("checked") == Some("true");
                self.push(if is_checked { "[x] " } else { "[ ] " });
                self.is_behind_box = true;
            }
            "math" => self.formula(element),
            _ if is_block(element) => {
                let mut inner = Blocks::default();
                inner.write(&element.children, Whitespace::of(element));
                self.break_line();
                self.push(&inner.finish().join("\n"));
            }
            _ => self.nodes(&element.children, Whitespace::of(element)),
        }
    }

    /// Writes a tag that was part of the text, and its content. If its end was
    /// missing, the page has closed it with its parent: a closing tag that
    /// would be in another JSON string than the opening one was not there.
    fn tag(&mut self, element: &Element) {
        let valued = marks::valued(element.tag());
        if let Some(name) = valued {
            // A tag is never nested in one of its own name: that one has ended.
            let same = self.open.iter().position(|mark| mark.name == name);
            self.end_marks(same.unwrap_or(self.open.len()));
            self.write_ends();
        }
        let outer = self.open.len();
        self.text.push_str(&marks::opening(element));
        self.open.extend(valued.map(|name| Mark {
            name: name.to_owned(),
            end: marks::closing(element),
        }));
        let quotes = self.quotes;
        let begun = quotes.string();
        if marks::holds_prose(element) {
            let inner = blocks(&element.children).join(BETWEEN);
            self.push(&format!("\n{inner}\n"));
        } else {
            // Line breaks between tags and values are the model's.
            self.nodes(&element.children, Whitespace::Kept);
        }
        if begun.is_none() && element.start.unknown {
            // A quote in a value does not begin a JSON string around the tag.
            self.quotes = quotes;
        }
        if valued.is_some() {
            self.end_marks(outer);
        } else if self.quotes.string() == begun {
            self.write_ends();
            self.text.push_str(&marks::closing(element));
        } else if !element.start.unknown {
            self.endless.push(element.tag().to_owned());
        }
    }

    /// Closes all tags from this one on.
    fn end_marks(&mut self, first: usize) {
        let ended = self.open.drain(first.min(self.open.len())..);
        self.ends.extend(ended.rev().map(|mark| mark.end));
    }

    /// Writes pending closing tags where they were: the page has merged the
    /// line breaks around them, and one follows each tag.
    fn write_ends(&mut self) {
        if self.ends.is_empty() {
            return;
        }
        let ends = std::mem::take(&mut self.ends);
        let blanks = self.text.trim_end_matches([' ', '\t', '\r', '\n']).len();
        let blanks = self.text.split_off(blanks);
        let breaks: Vec<usize> = blanks.match_indices('\n').map(|(at, _)| at).collect();
        let first = breaks.len().saturating_sub(ends.len());
        let places = breaks.iter().skip(first).copied();
        let places = places.chain(std::iter::repeat(blanks.len()));
        let mut from = 0;
        for (end, at) in ends.iter().zip(places) {
            self.text.push_str(blanks.get(from..at).unwrap_or_default());
            self.text.push_str(end);
            from = at;
        }
        self.text.push_str(blanks.get(from..).unwrap_or_default());
    }

    /// Writes emphasis of either kind. The page does not show which mark was
    /// used. Underscores are likelier right after a quote or in a path:
    /// `"__init__.py"` is a name, and stars would spoil it.
    fn emphasis(&mut self, element: &Element, times: usize) {
        let is_word = match element.children.as_slice() {
            [Node::Text(text)] => text.chars().all(|c| c.is_ascii_alphanumeric() || c == '_'),
            _ => false,
        };
        let is_name = is_word && self.text.ends_with(['"', '\'', '/', '\\']);
        let mark = if is_name { "_" } else { "*" };
        self.around(element, &mark.repeat(times));
    }

    /// Puts marks around the content of an element, inside its outer
    /// whitespace.
    fn around(&mut self, element: &Element, mark: &str) {
        let start = self.text.len();
        self.nodes(&element.children, Whitespace::of(element));
        // A line break may have removed blanks before the start.
        let inner = self.text.split_off(start.min(self.text.len()));
        let trimmed = inner.trim();
        if trimmed.is_empty() {
            self.text.push_str(&inner);
            return;
        }
        let before = inner.len() - inner.trim_start().len();
        let (blanks, rest) = inner.split_at_checked(before).unwrap_or(("", &inner));
        let after = rest.get(trimmed.len()..).unwrap_or_default();
        let text = format!("{blanks}{mark}{trimmed}{mark}{after}");
        self.text.push_str(&text);
    }

    fn link(&mut self, element: &Element) {
        let text = line(&element.children, Whitespace::of(element));
        match element.attribute("href") {
            None => self.push(&text),
            // It was written as a bare address.
            Some(href) if href == text || href.strip_prefix("mailto:") == Some(&text) => {
                self.push(&text);
            }
            Some(href) => self.push(&format!("[{text}]({href})")),
        }
    }

    /// Writes a formula as its TeX source.
    fn formula(&mut self, element: &Element) {
        match element.find("annotation") {
            Some(source) => {
                let source = verbatim(&source.children);
                self.push(&format!("${}$", source.trim()));
            }
            None => self.push(&blocks(&element.children).join(" ")),
        }
    }
}

/// Inline code.
fn code(element: &Element) -> String {
    let text = verbatim(&element.children);
    let fence = "`".repeat(if text.contains('`') {
        longest_run(&text) + 1
    } else {
        1
    });
    let is_padded = text.starts_with(' ') && text.ends_with(' ') && !text.trim().is_empty();
    let is_edgy = text.starts_with('`') || text.ends_with('`') || is_padded;
    let blank = if is_edgy { " " } else { "" };
    format!("{fence}{blank}{text}{blank}{fence}")
}
