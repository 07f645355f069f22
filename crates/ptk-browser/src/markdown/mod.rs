//! Reads the Markdown source of an answer back from the rendered HTML.
//!
//! Nothing is escaped: the text is what the model wrote, and an extra backslash
//! would break the calls in it.

mod element;
mod inline;
mod marks;
mod table;

use crate::tree::{Element, Node};
use element::{Whitespace, holds_blocks, is_block, longest_run, verbatim};
use inline::Inline;

/// Renders an answer as Markdown, block by block.
///
/// While an answer is being written, all but the last block are final: a page
/// renders it again with every piece, and a further line may change the block
/// that it belongs to.
pub(crate) fn blocks(nodes: &[Node]) -> Vec<String> {
    let mut writer = Blocks::default();
    writer.write(nodes, Whitespace::Folded);
    writer.finish()
}

/// The separator between blocks.
pub(crate) const BETWEEN: &str = "\n\n";

#[derive(Debug, Default)]
struct Blocks {
    done: Vec<String>,
    /// Inline content between blocks.
    open: Inline,
}

impl Blocks {
    fn write(&mut self, nodes: &[Node], whitespace: Whitespace) {
        for node in nodes {
            match node {
                Node::Text(text) => self.open.text(text, whitespace),
                Node::Element(element) if is_block(element) => {
                    self.end_line();
                    self.block(element);
                }
                // A link around paragraphs, or the like.
                Node::Element(element) if !element.start.unknown && holds_blocks(element) => {
                    self.write(&element.children, Whitespace::of(element));
                }
                Node::Element(element) => self.open.element(element),
            }
        }
    }

    fn block(&mut self, element: &Element) {
        let block = match element.tag() {
            "pre" => code(element),
            "ul" => list(element, &mut || "- ".to_owned()),
            "ol" => {
                let start = element.attribute("start").and_then(|it| it.parse().ok());
                let mut number: u64 = start.unwrap_or(1);
                let mut next = || {
                    let mark = format!("{number}. ");
                    number = number.saturating_add(1);
                    mark
                };
                list(element, &mut next)
            }
            "blockquote" => prefixed(&blocks(&element.children).join(BETWEEN), "> ", "> "),
            "table" => table::write(element),
            "hr" => "---".to_owned(),
            "h1" | "h2" | "h3" | "h4" | "h5" | "h6" => {
                let level = element.tag().trim_start_matches('h').parse().unwrap_or(1);
                let text = inline::line(&element.children, Whitespace::of(element));
                format!("{} {text}", "#".repeat(level))
            }
            _ => {
                self.write(&element.children, Whitespace::of(element));
                self.end_line();
                return;
            }
        };
        if !block.is_empty() {
            self.done.push(block);
        }
    }

    fn end_line(&mut self) {
        let next = self.open.next();
        let line = std::mem::replace(&mut self.open, next).finish();
        if !line.is_empty() {
            self.done.push(line);
        }
    }

    fn finish(mut self) -> Vec<String> {
        self.end_line();
        self.done
    }
}

/// Renders a list. Items with paragraphs are separated by blank lines.
fn list(list: &Element, mark: &mut dyn FnMut() -> String) -> String {
    let is_loose = list
        .elements()
        .any(|item| item.elements().any(|it| it.tag() == "p"));
    let between = if is_loose { BETWEEN } else { "\n" };
    let items = list.elements().map(|item| {
        let mark = mark();
        let text = blocks(&item.children).join(between);
        prefixed(&text, &mark, &" ".repeat(mark.len()))
    });
    let items: Vec<String> = items.collect();
    items.join(between)
}

/// Prefixes the first line of a text, and the others.
fn prefixed(text: &str, first: &str, others: &str) -> String {
    let mut prefixed = String::with_capacity(text.len() + first.len());
    for (number, line) in text.split('\n').enumerate() {
        if number > 0 {
            prefixed.push('\n');
        }
        let prefix = if number == 0 { first } else { others };
        // No trailing blanks on an empty line.
        prefixed.push_str(if line.is_empty() {
            prefix.trim_end()
        } else {
            prefix
        });
        prefixed.push_str(line);
    }
    prefixed
}

/// Renders a code block, byte for byte.
fn code(pre: &Element) -> String {
    // Other elements in it belong to the page, not to the model.
    let code = pre.find("code").unwrap_or(pre);
    let language = [code, pre]
        .into_iter()
        .find_map(language)
        .unwrap_or_default();
    let mut text = verbatim(&code.children);
    if text.ends_with('\n') {
        text.pop();
    }
    let fence = "`".repeat(longest_run(&text).max(2) + 1);
    if text.is_empty() {
        return format!("{fence}{language}\n{fence}");
    }
    format!("{fence}{language}\n{text}\n{fence}")
}

fn language(element: &Element) -> Option<&str> {
    let data = element
        .attribute("data-language")
        .or_else(|| element.attribute("data-lang"));
    data.or_else(|| {
        let mut classes = element.attribute("class")?.split_ascii_whitespace();
        classes.find_map(|class| {
            class
                .strip_prefix("language-")
                .or_else(|| class.strip_prefix("lang-"))
        })
    })
}
