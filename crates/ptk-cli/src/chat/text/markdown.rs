//! Lays out Markdown for a width.

use pulldown_cmark::{Alignment, CodeBlockKind, Event, HeadingLevel, Options, Parser, Tag, TagEnd};
use ratatui::style::{Modifier, Style};
use ratatui::text::{Line, Span};
use unicode_width::UnicodeWidthStr as _;

use super::code::Coloured;
use super::{Lines, style, wrap};
use crate::view::clean;

/// The fewest columns of a table's column, if the table does not fit.
const MIN_COLUMN: usize = 4;
/// The most nested frames that are drawn around a block.
const MAX_DEPTH: usize = 12;
/// The columns between two columns of a table.
const BETWEEN: usize = 3;

/// The layout of a text that may still grow. Finished blocks are laid out once.
#[derive(Debug, Default)]
pub(crate) struct MarkdownLayout {
    width: usize,
    /// The source of the finished blocks.
    done: String,
    /// The lines of the finished blocks.
    lines: Lines,
    /// The lines of the unfinished rest.
    open: Lines,
    /// The code block at the end.
    code: Coloured,
}

impl MarkdownLayout {
    /// Lays the text out in lines of this width.
    pub(crate) fn lay_out(&mut self, text: &str, width: usize) {
        if self.width != width || !text.starts_with(&self.done) {
            *self = Self {
                width,
                ..Self::default()
            };
        }
        let rest = text.get(self.done.len()..).unwrap_or_default();
        let last = last_block(rest);
        let (whole, open) = rest.split_at(last);
        if !whole.is_empty() {
            let lines = laid_out(whole, width, &mut self.code);
            if !self.lines.is_empty() && !lines.is_empty() {
                self.lines.push(Line::default());
            }
            self.lines.extend(lines);
            self.done.push_str(whole);
        }
        self.open = laid_out(open, width, &mut self.code);
        if !self.lines.is_empty() && !self.open.is_empty() {
            self.open.insert(0, Line::default());
        }
    }

    /// How many lines there are.
    pub(crate) fn len(&self) -> usize {
        self.lines.len() + self.open.len()
    }

    /// The lines from this one on.
    pub(crate) fn from(&self, first: usize) -> impl Iterator<Item = &Line<'static>> {
        let behind = first.saturating_sub(self.lines.len());
        let done = self.lines.iter().skip(first);
        done.chain(self.open.iter().skip(behind))
    }

    /// All lines of a text that does not grow.
    pub(crate) fn lines(text: &str, width: usize) -> Lines {
        let mut markdown = Self::default();
        markdown.lay_out(text, width);
        markdown.lines.append(&mut markdown.open);
        markdown.lines
    }
}

fn options() -> Options {
    Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH | Options::ENABLE_TASKLISTS
}

/// The offset of the last block that follows an empty line: further text may
/// change this block, but nothing before it.
fn last_block(text: &str) -> usize {
    let mut depth = 0_usize;
    let mut last = 0;
    for (event, range) in Parser::new_ext(text, options()).into_offset_iter() {
        if depth == 0 && !matches!(event, Event::End(_)) {
            last = line_behind_gap(text, range.start).unwrap_or(last);
        }
        match event {
            Event::Start(_) => depth += 1,
            Event::End(_) => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    last
}

/// The beginning of the line at this offset, if the line before it is empty.
fn line_behind_gap(text: &str, at: usize) -> Option<usize> {
    let before = text.get(..at)?;
    let start = before.rfind('\n')? + 1;
    let above = text.get(..start - 1)?;
    let above = above.rsplit('\n').next().unwrap_or_default();
    above.trim().is_empty().then_some(start)
}

/// Lays out a whole text.
fn laid_out(text: &str, width: usize, code: &mut Coloured) -> Lines {
    let mut layout = BlockLayout {
        width,
        lines: Vec::new(),
        inline: Vec::new(),
        styles: vec![style::PLAIN],
        frames: Vec::new(),
        code: None,
        coloured: code,
        table: None,
        link: None,
        needs_gap: false,
    };
    for event in Parser::new_ext(text, options()) {
        layout.event(event);
    }
    layout.flush();
    layout.lines
}

/// A frame around a block.
#[derive(Debug)]
enum Frame {
    Quote,
    /// A list, with the next number if it is numbered.
    List(Option<u64>),
    /// An item, with the mark for its first line, until that is written, and
    /// the indentation of the others.
    Item(Option<Span<'static>>, usize),
}

#[derive(Debug, Default)]
struct Table {
    alignments: Vec<Alignment>,
    rows: Vec<Vec<Vec<Span<'static>>>>,
}

struct BlockLayout<'a> {
    width: usize,
    lines: Lines,
    inline: Vec<Span<'static>>,
    styles: Vec<Style>,
    frames: Vec<Frame>,
    /// The language and the text of the open code block.
    code: Option<(String, String)>,
    coloured: &'a mut Coloured,
    table: Option<Table>,
    link: Option<String>,
    /// Whether an empty line precedes the next block.
    needs_gap: bool,
}

impl BlockLayout<'_> {
    fn event(&mut self, event: Event<'_>) {
        match event {
            Event::Start(tag) => self.start(tag),
            Event::End(tag) => self.end(tag),
            Event::Text(text) => match &mut self.code {
                Some((_, code)) => code.push_str(&text),
                None => self.text(&text, self.style()),
            },
            Event::Code(text) => self.text(&text, self.style().patch(style::CODE)),
            Event::InlineMath(text) | Event::DisplayMath(text) => {
                self.text(&text, self.style().patch(style::CODE));
            }
            Event::Html(text) | Event::InlineHtml(text) | Event::FootnoteReference(text) => {
                self.text(&text, self.style().patch(style::FAINT));
            }
            Event::SoftBreak => self.text(" ", self.style()),
            Event::HardBreak => self.flush(),
            Event::Rule => {
                self.gap();
                let room = self.room();
                self.line(&[Span::styled("─".repeat(room), style::FAINT)]);
                self.needs_gap = true;
            }
            Event::TaskListMarker(is_done) => {
                let mark = if is_done { "[x] " } else { "[ ] " };
                self.text(mark, style::FAINT);
            }
        }
    }

    fn start(&mut self, tag: Tag<'_>) {
        match tag {
            Tag::Paragraph => self.gap(),
            Tag::Heading { level, .. } => {
                self.gap();
                self.styles.push(style::HEADING);
                self.text(marks(level), self.style().patch(style::FAINT));
            }
            Tag::BlockQuote(_) => {
                self.gap();
                self.needs_gap = false;
                self.frames.push(Frame::Quote);
                self.styles.push(self.style().patch(style::FAINT));
            }
            Tag::CodeBlock(kind) => {
                self.flush();
                self.gap();
                let language = match kind {
                    CodeBlockKind::Fenced(language) => language.to_string(),
                    CodeBlockKind::Indented => String::new(),
                };
                self.code = Some((language, String::new()));
            }
            Tag::List(first) => {
                self.flush();
                if !matches!(self.frames.last(), Some(Frame::Item(..))) {
                    self.gap();
                }
                self.needs_gap = false;
                self.frames.push(Frame::List(first));
            }
            Tag::Item => self.item(),
            Tag::Table(alignments) => {
                self.gap();
                self.table = Some(Table {
                    alignments,
                    rows: Vec::new(),
                });
            }
            Tag::TableHead | Tag::TableRow => {
                if let Some(table) = &mut self.table {
                    table.rows.push(Vec::new());
                }
            }
            Tag::Emphasis => self.add(Modifier::ITALIC),
            Tag::Strong => self.add(Modifier::BOLD),
            Tag::Strikethrough => self.add(Modifier::CROSSED_OUT),
            Tag::Link { dest_url, .. } | Tag::Image { dest_url, .. } => {
                self.link = Some(dest_url.to_string());
                self.styles.push(self.style().patch(style::LINK));
            }
            _ => {}
        }
    }

    fn end(&mut self, tag: TagEnd) {
        match tag {
            TagEnd::Paragraph | TagEnd::HtmlBlock => {
                self.flush();
                self.needs_gap = true;
            }
            TagEnd::Heading(_) => {
                self.styles.pop();
                self.flush();
                self.needs_gap = true;
            }
            TagEnd::BlockQuote(_) => {
                self.flush();
                self.frames.pop();
                self.styles.pop();
                self.needs_gap = true;
            }
            TagEnd::CodeBlock => self.end_code(),
            TagEnd::List(_) => {
                self.frames.pop();
                self.needs_gap = true;
            }
            TagEnd::Item => {
                self.flush();
                // An empty item still gets its mark.
                if let Some(Frame::Item(Some(_), _)) = self.frames.last() {
                    self.line(&[]);
                }
                self.frames.pop();
                self.needs_gap = false;
            }
            TagEnd::TableCell => {
                let cell = std::mem::take(&mut self.inline);
                let row = self.table.as_mut().and_then(|table| table.rows.last_mut());
                if let Some(row) = row {
                    row.push(cell);
                }
            }
            TagEnd::Table => self.end_table(),
            TagEnd::Emphasis | TagEnd::Strong | TagEnd::Strikethrough => {
                self.styles.pop();
            }
            TagEnd::Link | TagEnd::Image => {
                self.styles.pop();
                self.end_link();
            }
            _ => {}
        }
    }

    fn item(&mut self) {
        self.needs_gap = false;
        let mark = match self.frames.last_mut() {
            Some(Frame::List(Some(number))) => {
                let mark = format!("{number}. ");
                *number += 1;
                mark
            }
            _ => "• ".to_owned(),
        };
        let indent = mark.width();
        let mark = Span::styled(mark, style::FAINT);
        self.frames.push(Frame::Item(Some(mark), indent));
    }

    fn style(&self) -> Style {
        self.styles.last().copied().unwrap_or(style::PLAIN)
    }

    fn add(&mut self, modifier: Modifier) {
        self.styles.push(self.style().add_modifier(modifier));
    }

    fn text(&mut self, text: &str, style: Style) {
        let mut shown = String::new();
        for c in text.chars() {
            clean::push_prose(&mut shown, if c == '\n' { ' ' } else { c });
        }
        if !shown.is_empty() {
            self.inline.push(Span::styled(shown, style));
        }
    }

    /// Adds the address of a link, if its text does not show it.
    fn end_link(&mut self) {
        let Some(address) = self.link.take() else {
            return;
        };
        let said = self.inline.last().map(|span| span.content.to_string());
        let is_said =
            said.is_some_and(|said| said == address || format!("mailto:{said}") == address);
        if !is_said && !address.is_empty() {
            self.text(&format!(" ({address})"), style::FAINT);
        }
    }

    /// Adds an empty line between blocks.
    fn gap(&mut self) {
        if std::mem::take(&mut self.needs_gap) && !self.lines.is_empty() {
            let (_, rest) = self.prefixes();
            let blank = rest.iter().all(|span| span.content.trim().is_empty());
            let line = if blank {
                Line::default()
            } else {
                Line::from(rest)
            };
            self.lines.push(line);
        }
    }

    /// The prefixes of the next line, and of those that follow.
    fn prefixes(&mut self) -> (Vec<Span<'static>>, Vec<Span<'static>>) {
        let mut first = Vec::new();
        let mut rest = Vec::new();
        // Deeper nesting is not drawn.
        for frame in self.frames.iter_mut().take(MAX_DEPTH) {
            match frame {
                Frame::Quote => {
                    let bar = Span::styled("│ ", style::FAINT);
                    first.push(bar.clone());
                    rest.push(bar);
                }
                Frame::List(_) => {}
                Frame::Item(mark, indent) => {
                    let blank = Span::raw(" ".repeat(*indent));
                    first.push(mark.clone().unwrap_or_else(|| blank.clone()));
                    rest.push(blank);
                }
            }
        }
        (first, rest)
    }

    /// The same for a line that is written now, which uses up the marks.
    fn take_prefixes(&mut self) -> (Vec<Span<'static>>, Vec<Span<'static>>) {
        let prefixes = self.prefixes();
        for frame in &mut self.frames {
            if let Frame::Item(mark, _) = frame {
                *mark = None;
            }
        }
        prefixes
    }

    /// The columns that are left for the content.
    fn room(&mut self) -> usize {
        let (_, rest) = self.prefixes();
        let used: usize = rest.iter().map(Span::width).sum();
        self.width.saturating_sub(used).max(1)
    }

    fn flush(&mut self) {
        if !self.inline.is_empty() {
            let spans = std::mem::take(&mut self.inline);
            self.line(&spans);
        }
    }

    fn line(&mut self, spans: &[Span<'static>]) {
        let (first, rest) = self.take_prefixes();
        let lines = wrap::wrapped(spans, self.width, &first, &rest);
        self.lines.extend(lines);
    }

    fn end_code(&mut self) {
        let Some((language, code)) = self.code.take() else {
            return;
        };
        if language == "diff" || language == "patch" {
            for line in super::diff::lines(&code, self.room()) {
                self.line(&line.spans);
            }
        } else {
            for row in self.coloured.rows(&language, &code) {
                let mut spans = vec![Span::raw("  ")];
                spans.extend(row);
                self.line(&spans);
            }
        }
        self.needs_gap = true;
    }

    fn end_table(&mut self) {
        let Some(table) = self.table.take() else {
            return;
        };
        let room = self.room();
        for row in table.laid_out(room) {
            self.line(&row);
        }
        self.needs_gap = true;
    }
}

fn marks(level: HeadingLevel) -> &'static str {
    match level {
        HeadingLevel::H1 => "# ",
        HeadingLevel::H2 => "## ",
        HeadingLevel::H3 => "### ",
        HeadingLevel::H4 => "#### ",
        HeadingLevel::H5 => "##### ",
        HeadingLevel::H6 => "###### ",
    }
}

impl Table {
    /// The lines of the table, within this width if possible.
    fn laid_out(&self, width: usize) -> Vec<Vec<Span<'static>>> {
        let columns = self.rows.iter().map(Vec::len).max().unwrap_or(0);
        let widths = self.widths(columns, width);
        let mut lines = Vec::new();
        for (number, row) in self.rows.iter().enumerate() {
            let cells: Vec<Lines> = widths
                .iter()
                .enumerate()
                .map(|(at, width)| {
                    let cell = row.get(at).map_or(&[][..], Vec::as_slice);
                    wrap::wrapped(cell, *width, &[], &[])
                })
                .collect();
            let height = cells.iter().map(Vec::len).max().unwrap_or(0);
            for line in 0..height {
                let mut spans = Vec::new();
                for (at, (cell, width)) in cells.iter().zip(&widths).enumerate() {
                    if at > 0 {
                        spans.push(Span::styled(" │ ", style::FAINT));
                    }
                    let content = cell.get(line).cloned().unwrap_or_default();
                    let alignment = self.alignments.get(at).copied();
                    spans.extend(aligned(content, *width, alignment, number == 0));
                }
                lines.push(spans);
            }
            if number == 0 {
                let rule: Vec<String> = widths.iter().map(|width| "─".repeat(*width)).collect();
                lines.push(vec![Span::styled(rule.join("─┼─"), style::FAINT)]);
            }
        }
        lines
    }

    /// The width of each column: what it needs, or its share of the available
    /// width.
    fn widths(&self, columns: usize, width: usize) -> Vec<usize> {
        let needed = |at: usize| {
            let cells = self.rows.iter().filter_map(|row| row.get(at));
            let wide = cells.map(|cell| cell.iter().map(Span::width).sum::<usize>());
            wide.max().unwrap_or(0).max(1)
        };
        let widths: Vec<usize> = (0..columns).map(needed).collect();
        let room = width.saturating_sub(BETWEEN * columns.saturating_sub(1));
        let most = most(&widths, room).max(MIN_COLUMN);
        widths.into_iter().map(|width| width.min(most)).collect()
    }
}

/// The widest that a column may be so that all fit: only the wide ones shrink.
fn most(widths: &[usize], room: usize) -> usize {
    let mut sorted = widths.to_vec();
    sorted.sort_unstable();
    let mut left = room;
    for (at, width) in sorted.iter().enumerate() {
        let share = left / (sorted.len() - at);
        if *width > share {
            return share;
        }
        left -= width;
    }
    usize::MAX
}

fn aligned(
    content: Line<'static>,
    width: usize,
    alignment: Option<Alignment>,
    is_head: bool,
) -> Vec<Span<'static>> {
    let room = width.saturating_sub(content.width());
    let before = match alignment {
        Some(Alignment::Right) => room,
        Some(Alignment::Center) => room / 2,
        _ => 0,
    };
    let mut spans = vec![Span::raw(" ".repeat(before))];
    spans.extend(content.spans.into_iter().map(|span| {
        if is_head {
            span.patch_style(style::STRONG)
        } else {
            span
        }
    }));
    spans.push(Span::raw(" ".repeat(room - before)));
    spans
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(text: &str, width: usize) -> String {
        let lines = MarkdownLayout::lines(text, width);
        let lines: Vec<String> = lines
            .iter()
            .map(|line| line.to_string().trim_end().to_owned())
            .collect();
        lines.join("\n")
    }

    const TEXT: &str = "# Title\n\nA *short* paragraph with `code`, a [link](https://a.example) \
        and **weight** that goes on.\n\n- one\n- two\n  1. deep\n  2. deeper with more words than fit\n\
        - [x] done\n\n> quoted\n> words\n\n```rust\nfn main() {}\n\nlet x;\n```\n\n| Name | Size |\n|---|--:|\n\
        | a | 1 |\n| a longer name | 200 |\n\n---\n\nEnd.";

    #[test]
    fn everything_is_laid_out() {
        insta::assert_snapshot!(shown(TEXT, 40));
    }

    #[test]
    fn it_fits_however_narrow_it_is() {
        for width in 12..80 {
            for line in MarkdownLayout::lines(TEXT, width) {
                assert!(line.width() <= width, "{width}: {line}");
            }
        }
    }

    #[test]
    fn a_text_that_grows_ends_as_if_it_had_come_at_once() {
        let mut growing = MarkdownLayout::default();
        for end in (0..=TEXT.len()).filter(|end| TEXT.is_char_boundary(*end)) {
            growing.lay_out(TEXT.get(..end).unwrap(), 40);
        }
        let grown: Lines = growing.from(0).cloned().collect();
        assert_eq!(grown, MarkdownLayout::lines(TEXT, 40));
        assert_eq!(growing.len(), grown.len());
        for first in 0..grown.len() {
            assert_eq!(growing.from(first).next(), grown.get(first));
        }
        let words = |lines: &Lines| lines.iter().map(ToString::to_string).collect::<Vec<_>>();
        let whole = laid_out(TEXT, 40, &mut Coloured::default());
        assert_eq!(words(&grown), words(&whole));
    }

    /// Layouts that would take long are limited.
    #[test]
    fn nothing_takes_long_however_odd_it_is() {
        let deep = format!("{}{}", ">".repeat(3000), "word ".repeat(300));
        for line in MarkdownLayout::lines(&deep, 40) {
            assert!(line.width() <= 40, "{line}");
        }
        let cells = "a long cell |".repeat(300);
        let table = format!("|{cells}\n|{}\n|{cells}\n", "---|".repeat(300));
        MarkdownLayout::lines(&table, 80);
    }

    #[test]
    fn what_a_terminal_would_obey_is_seen() {
        let text = shown("a \u{1b}[2J b\n\n```\n\u{1b}]0;x\u{7}\n```", 60);
        assert!(!text.contains('\u{1b}'), "{text:?}");
        assert!(text.contains(r"\u{1b}[2J"), "{text}");
    }
}
