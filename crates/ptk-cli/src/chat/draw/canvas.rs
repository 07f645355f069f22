//! The conversation in lines, and which of them are visible.

use std::collections::{HashMap, HashSet};
use std::time::{Duration, Instant};

use ptk::view::Conversation;
use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};
use ratatui::widgets::Paragraph;

use super::super::app::App;
use super::super::text::{Lines, style};
use super::item;
use super::look::{Light, Look};

/// An item is laid out again only after this many times its layout time.
const PAUSE: u32 = 4;

/// The conversation in lines. Unchanged items are not laid out again.
#[derive(Debug, Default)]
pub(crate) struct Canvas {
    width: usize,
    /// The number of visible lines.
    height: usize,
    /// The items, in order.
    order: Vec<Placed>,
    laid: HashMap<u64, Laid>,
    /// The first visible line; `None` follows the end.
    top: Option<Anchor>,
    /// A line to scroll to.
    wanted: Option<Anchor>,
    /// The area of the conversation on the screen.
    area: Rect,
    /// The item in each row of the area.
    rows: Vec<Option<u64>>,
}

/// A line of an item.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Anchor {
    id: u64,
    line: usize,
}

/// The position of an item.
#[derive(Debug, Clone, Copy)]
struct Placed {
    id: u64,
    /// The number of lines before it.
    before: usize,
    /// The number of its lines.
    height: usize,
}

/// The layout of an item.
#[derive(Debug, Default)]
struct Laid {
    revision: u64,
    is_open: bool,
    is_chosen: bool,
    layout: item::ItemLayout,
    /// When it was laid out, and how long that took.
    at: Option<(Instant, Duration)>,
}

impl Laid {
    /// Whether it is too early to lay it out again: a growing item that takes
    /// long is not laid out all the time.
    fn is_early(&self) -> bool {
        let early = |(at, took): (Instant, Duration)| at.elapsed() < took * PAUSE;
        self.at.is_some_and(early)
    }
}

impl Canvas {
    /// The number of lines that a page scrolls.
    pub(crate) fn page(&self) -> usize {
        self.height.saturating_sub(2).max(1)
    }

    fn total(&self) -> usize {
        self.order
            .last()
            .map_or(0, |last| last.before + last.height)
    }

    /// The first visible line, counted from the beginning.
    fn first(&self) -> usize {
        let last = self.total().saturating_sub(self.height);
        let at = self.top.and_then(|anchor| self.line_of(anchor));
        at.map_or(last, |at| at.min(last))
    }

    fn line_of(&self, anchor: Anchor) -> Option<usize> {
        let placed = self.order.iter().find(|it| it.id == anchor.id)?;
        Some(placed.before + anchor.line.min(placed.height.saturating_sub(1)))
    }

    fn anchor(&self, line: usize) -> Option<Anchor> {
        let at = self.order.partition_point(|it| it.before <= line);
        let placed = self.order.get(at.checked_sub(1)?)?;
        Some(Anchor {
            id: placed.id,
            line: line - placed.before,
        })
    }

    pub(crate) fn scroll_up(&mut self, lines: usize) {
        let first = self.first().saturating_sub(lines);
        self.top = self.anchor(first);
    }

    pub(crate) fn scroll_down(&mut self, lines: usize) {
        let first = self.first().saturating_add(lines);
        let last = self.total().saturating_sub(self.height);
        // At the end, new lines stay visible.
        self.top = if first >= last {
            None
        } else {
            self.anchor(first)
        };
    }

    /// The number of lines below the visible ones.
    fn below(&self) -> usize {
        self.total().saturating_sub(self.first() + self.height)
    }

    /// Scrolls a line into view.
    pub(crate) fn reveal(&mut self, id: u64, line: usize) {
        self.wanted = Some(Anchor { id, line });
    }

    fn go_where_wanted(&mut self) {
        let Some(line) = self.wanted.take().and_then(|anchor| self.line_of(anchor)) else {
            return;
        };
        let first = self.first();
        if line < first || line >= first + self.height {
            let top = line.saturating_sub(self.height / 3);
            let last = self.total().saturating_sub(self.height);
            self.top = if top >= last { None } else { self.anchor(top) };
        }
    }

    /// The item in this row of the screen.
    pub(crate) fn item_at(&self, row: u16) -> Option<u64> {
        let row = row.checked_sub(self.area.y)?;
        self.rows.get(usize::from(row)).copied().flatten()
    }

    /// The lines that contain these words, which are in lower case.
    pub(crate) fn lines_with(&self, words: &str) -> Vec<(u64, usize)> {
        let mut found = Vec::new();
        for placed in &self.order {
            let Some(laid) = self.laid.get(&placed.id) else {
                continue;
            };
            let gap = placed.height.saturating_sub(laid.layout.len());
            for (number, line) in laid.layout.from(0).enumerate() {
                if line.to_string().to_lowercase().contains(words) {
                    found.push((placed.id, gap + number));
                }
            }
        }
        found
    }

    /// Lays out the items that have changed.
    fn lay_out(
        &mut self,
        conversation: &Conversation,
        open: &HashSet<u64>,
        chosen: Option<u64>,
        light: &Light<'_>,
    ) {
        self.order.clear();
        let mut before = 0;
        let mut last = None;
        for item in conversation.items() {
            let laid = self.laid.entry(item.id).or_default();
            let (is_open, is_chosen) = (open.contains(&item.id), chosen == Some(item.id));
            let looks_same = (laid.is_open, laid.is_chosen) == (is_open, is_chosen);
            let is_same = laid.revision == item.revision && looks_same;
            let may_wait = looks_same && item::grows(item) && laid.is_early();
            if !(is_same || may_wait) || item::moves(item) {
                let start = Instant::now();
                let look = Look {
                    width: self.width,
                    is_open,
                    is_chosen,
                    light,
                };
                laid.layout.lay_out(item, &look);
                laid.at = Some((start, start.elapsed()));
                laid.revision = item.revision;
                laid.is_open = is_open;
                laid.is_chosen = is_chosen;
            }
            let gap = usize::from(last.is_some_and(|last| item::needs_gap(last, item)));
            let height = laid.layout.len() + gap;
            self.order.push(Placed {
                id: item.id,
                before,
                height,
            });
            before += height;
            last = Some(item);
        }
        // Layouts of removed items are dropped.
        if self.laid.len() > self.order.len() {
            let there: HashSet<u64> = self.order.iter().map(|it| it.id).collect();
            self.laid.retain(|id, _| there.contains(id));
        }
    }

    /// The visible lines, with the items they belong to.
    fn seen(&self) -> Vec<(Option<u64>, Line<'static>)> {
        let first = self.first();
        let mut seen = Vec::new();
        let start = self
            .order
            .partition_point(|it| it.before + it.height <= first);
        for placed in self.order.iter().skip(start) {
            let Some(laid) = self.laid.get(&placed.id) else {
                continue;
            };
            let gap = placed.height.saturating_sub(laid.layout.len());
            let skipped = first.saturating_sub(placed.before);
            let blank = std::iter::repeat_n((None, Line::default()), gap.saturating_sub(skipped));
            let lines = laid.layout.from(skipped.saturating_sub(gap));
            let lines = blank.chain(lines.map(|line| (Some(placed.id), line)));
            seen.extend(lines.take(self.height - seen.len().min(self.height)));
            if seen.len() >= self.height {
                break;
            }
        }
        seen.truncate(self.height);
        seen
    }
}

/// Draws the visible part of the conversation.
pub(super) fn draw(frame: &mut Frame<'_>, area: Rect, app: &mut App, light: &Light<'_>) {
    let width = usize::from(area.width);
    let canvas = &mut app.canvas;
    if canvas.width != width {
        canvas.laid.clear();
        canvas.width = width;
    }
    canvas.height = usize::from(area.height);
    canvas.area = area;
    canvas.lay_out(&app.conversation, &app.open, app.chosen, light);
    if let Some(search) = &mut app.search {
        search.look(canvas);
    }
    canvas.go_where_wanted();
    let words = app
        .search
        .as_ref()
        .map(|search| search.words.to_lowercase());
    let seen = canvas.seen();
    canvas.rows = seen.iter().map(|(id, _)| *id).collect();
    let lines: Lines = seen
        .into_iter()
        .map(|(_, line)| match words.as_deref() {
            Some(words) if !words.is_empty() => marked(line, words),
            _ => line,
        })
        .collect();
    frame.render_widget(Paragraph::new(lines), area);
    let below = canvas.below();
    if below > 0 {
        let text = format!(" ↓ {below} more ");
        let wide = u16::try_from(text.chars().count()).unwrap_or(u16::MAX);
        if wide < area.width {
            let corner = Rect {
                x: area.right() - wide,
                y: area.bottom().saturating_sub(1),
                width: wide,
                height: 1,
            };
            frame.render_widget(Paragraph::new(Span::styled(text, style::CHOSEN)), corner);
        }
    }
}

/// Highlights the words in a line.
fn marked(line: Line<'static>, words: &str) -> Line<'static> {
    let text = line.to_string();
    let small = text.to_lowercase();
    // If lower case changes the length, the offsets would not match.
    if small.len() != text.len() {
        return line;
    }
    let mut marks: Vec<(usize, usize)> = Vec::new();
    let mut from = 0;
    while let Some(at) = small.get(from..).and_then(|rest| rest.find(words)) {
        marks.push((from + at, from + at + words.len()));
        from += at + words.len();
    }
    if marks.is_empty() {
        return line;
    }
    let mut spans = Vec::new();
    let mut at = 0;
    for span in line.spans {
        let mut rest = span.content.as_ref();
        while !rest.is_empty() {
            let mark = marks.iter().find(|(_, end)| *end > at);
            let (is_marked, end) = match mark {
                Some((start, end)) if *start <= at => (true, *end),
                Some((start, _)) => (false, *start),
                None => (false, usize::MAX),
            };
            let length = (end - at).min(rest.len());
            let Some((part, others)) = rest.split_at_checked(length) else {
                break;
            };
            let own = if is_marked {
                span.style.patch(style::FOUND)
            } else {
                span.style
            };
            spans.push(Span::styled(part.to_owned(), own));
            at += length;
            rest = others;
        }
    }
    Line::from(spans)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_marked_across_styles() {
        let line = Line::from(vec![
            Span::raw("one tw"),
            Span::styled("o three", style::STRONG),
        ]);
        let marked = marked(line, "two");
        assert_eq!(marked.to_string(), "one two three");
        let found: String = marked
            .spans
            .iter()
            .filter(|span| span.style.bg == style::FOUND.bg)
            .map(|span| span.content.as_ref())
            .collect();
        assert_eq!(found, "two");
    }
}
