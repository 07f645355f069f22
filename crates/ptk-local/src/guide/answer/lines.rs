//! A text as lines that know what stands above them.

use super::question::parts;
use crate::guide::words::fold;

/// How many lines of a text are looked at.
const MOST_LINES: usize = 5_000;

/// A line of a text, or lines of one paragraph.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Line<'a> {
    /// Its number, counted from 1.
    pub(super) number: usize,
    /// As it is written, without the space around.
    pub(super) text: &'a str,
    /// The stems of its words.
    pub(super) stems: Vec<String>,
    /// The stems of what stands before `=` or `:`, if it is a pair.
    pub(super) key: Vec<String>,
    /// What it is.
    pub(super) shape: Shape,
    /// The lines that it belongs to, by position: headings and what it is
    /// indented under.
    pub(super) above: Vec<usize>,
    /// Lines without a blank one between have the same.
    pub(super) block: usize,
}

/// What a line is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Shape {
    /// The head of what follows, and how deep: `# A`, `[a]`.
    Heading(usize),
    /// A name for the lines that follow: `a:`.
    Label,
    /// An item of a list.
    Item,
    /// A name and its value.
    Pair,
    /// A row of a table.
    Row,
    /// Words.
    Words,
    /// Brackets only.
    Nothing,
}

/// The lines of a text.
pub(super) fn lines(text: &str) -> Vec<Line<'_>> {
    let mut found: Vec<Line<'_>> = Vec::new();
    let mut headings: Vec<(usize, usize)> = Vec::new();
    let mut indented: Vec<(usize, usize)> = Vec::new();
    let mut block = 0;
    for (at, raw) in text.lines().enumerate().take(MOST_LINES) {
        let trimmed = raw.trim();
        if trimmed.is_empty() {
            block += 1;
            continue;
        }
        let indent = raw.len() - raw.trim_start().len();
        let shape = shape(trimmed);
        if let Shape::Heading(depth) = shape {
            headings.retain(|(other, _)| *other < depth);
            indented.clear();
            block += 1;
        }
        indented.retain(|(other, _)| *other < indent);
        let above = headings
            .iter()
            .chain(&indented)
            .map(|(_, line)| *line)
            .collect();
        let position = found.len();
        let (key, _) = pair(trimmed).unwrap_or_default();
        found.push(Line {
            number: at + 1,
            text: trimmed,
            stems: parts(&fold(trimmed)),
            key: parts(&fold(key)),
            shape,
            above,
            block,
        });
        match shape {
            Shape::Heading(depth) => headings.push((depth, position)),
            _ => indented.push((indent, position)),
        }
    }
    found
}

fn shape(line: &str) -> Shape {
    if !line.chars().any(char::is_alphanumeric) {
        return Shape::Nothing;
    }
    if line.starts_with('|') {
        return Shape::Row;
    }
    if line.starts_with('#') && line.trim_start_matches('#').starts_with(' ') {
        return Shape::Heading(line.chars().take_while(|letter| *letter == '#').count());
    }
    if line.starts_with('[') && line.ends_with(']') && !line.contains(',') {
        return Shape::Heading(1 + line.matches('.').count());
    }
    if line.starts_with(['-', '*', '+', '•']) || numbered(line) {
        return Shape::Item;
    }
    if line.trim_end_matches(['{', '[', ' ']).ends_with(':') {
        return Shape::Label;
    }
    if pair(line).is_some() {
        return Shape::Pair;
    }
    Shape::Words
}

/// "1. something".
fn numbered(line: &str) -> bool {
    let rest = line.trim_start_matches(|letter: char| letter.is_ascii_digit());
    rest.len() < line.len() && (rest.starts_with(". ") || rest.starts_with(") "))
}

/// A short name and its value.
fn pair(line: &str) -> Option<(&str, &str)> {
    let line = line.trim_start_matches(['-', '*', ' ']);
    let at = line.find([':', '='])?;
    let (key, value) = (line.get(..at)?, line.get(at + 1..)?);
    let is_short = key.split_whitespace().count() <= 4 && key.len() <= 50;
    (is_short && !key.trim().is_empty() && !value.starts_with("//")).then_some((key, value))
}
