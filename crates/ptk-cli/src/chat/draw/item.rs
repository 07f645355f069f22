//! Lays out one item of the conversation.

use ptk::view::{Item, ItemKind, Said, Standing, Tone};
use ratatui::text::{Line, Span};

use super::super::text::markdown::MarkdownLayout;
use super::super::text::{Lines, style, wrap};
use super::call;
use super::look::{Look, MARGIN, indented};
use crate::view::clean::visible;

/// How many lines of a thought are shown while it is streamed.
const THOUGHT: usize = 3;
/// The layout of an item. The finished part of a growing one is reused.
#[derive(Debug, Default)]
pub(super) struct ItemLayout {
    /// The text of the model.
    markdown: MarkdownLayout,
    /// The lines of any other item.
    lines: Lines,
    is_text: bool,
    is_broken: bool,
}

impl ItemLayout {
    pub(super) fn lay_out(&mut self, item: &Item, look: &Look<'_>) {
        self.is_text = false;
        self.lines = match &item.kind {
            ItemKind::Prompt(text) => prompt(text, look.width),
            ItemKind::Text(said) => {
                self.is_text = true;
                self.is_broken = said.standing == Standing::Broken;
                let inner = look.width.saturating_sub(MARGIN).max(1);
                self.markdown.lay_out(said.text.trim_end(), inner);
                Vec::new()
            }
            ItemKind::Thought(said) => thought(said, look),
            ItemKind::Call(view) => call::lines(view, look),
            ItemKind::Notice(notice) => {
                let (mark, style) = match notice.tone {
                    Tone::Aside => ("· ", style::FAINT),
                    Tone::Error => ("✗ ", style::FAILED),
                };
                marked(mark, style, &notice.text, style, look.width)
            }
            _ => Vec::new(),
        };
    }

    /// How many lines there are.
    pub(super) fn len(&self) -> usize {
        if self.is_text {
            self.markdown.len()
        } else {
            self.lines.len()
        }
    }

    /// The lines from this one on.
    pub(super) fn from(&self, first: usize) -> impl Iterator<Item = Line<'static>> {
        let text = self.markdown.from(first).take_while(|_| self.is_text);
        let text = text.map(|line| {
            let line = indented(line.clone());
            if self.is_broken {
                line.patch_style(style::FAINT)
            } else {
                line
            }
        });
        let others = self.lines.iter().skip(first).cloned();
        text.chain(others)
    }
}

fn prompt(text: &str, width: usize) -> Lines {
    marked("› ", style::PERSON, text.trim_end(), style::STRONG, width)
}

/// Lays out a text with a mark before its first line.
fn marked(
    mark: &'static str,
    mark_style: ratatui::style::Style,
    text: &str,
    style: ratatui::style::Style,
    width: usize,
) -> Lines {
    let first = [Span::styled(mark, mark_style)];
    let rest = [Span::raw(" ".repeat(MARGIN))];
    let mut lines = Vec::new();
    for (number, line) in text.lines().enumerate() {
        let before = if number == 0 { &first } else { &rest };
        let span = Span::styled(visible(line), style);
        lines.extend(wrap::wrapped(&[span], width, before, &rest));
    }
    lines
}

/// Lays out a thought: its end while it is streamed, and a summary afterwards.
fn thought(said: &Said, look: &Look<'_>) -> Lines {
    let inner = look.width.saturating_sub(MARGIN).max(1);
    let is_over = said.standing != Standing::Streaming;
    let text = if is_over || look.is_open {
        said.text.trim()
    } else {
        ending(said.text.trim_end(), inner * (THOUGHT + 1) * 4)
    };
    let text = visible(text);
    let all = wrap::lines(&text, style::FAINT, inner);
    let mark = if look.is_chosen { "▸ " } else { "∴ " };
    if is_over && !look.is_open {
        let about = format!("thought, {} lines", all.len());
        let about = if all.len() == 1 { text } else { about };
        let about = wrap::fitting(&about, inner);
        return vec![Line::from(vec![
            Span::styled(mark, style::FAINT),
            Span::styled(about, style::FAINT),
        ])];
    }
    let skipped = if look.is_open {
        0
    } else {
        all.len().saturating_sub(THOUGHT)
    };
    let mut lines: Lines = all.into_iter().skip(skipped).map(indented).collect();
    if let Some(first) = lines.first_mut()
        && let Some(margin) = first.spans.first_mut()
    {
        *margin = Span::styled(mark, style::FAINT);
    }
    lines
}

/// The last bytes of a text, in whole characters.
fn ending(text: &str, most: usize) -> &str {
    let mut start = text.len().saturating_sub(most);
    while !text.is_char_boundary(start) {
        start += 1;
    }
    text.get(start..).unwrap_or_default()
}

/// Whether an item changes with the clock.
pub(super) fn moves(item: &Item) -> bool {
    matches!(&item.kind, ItemKind::Call(call) if call.state.is_open())
}

/// Whether an item may still grow.
pub(super) fn grows(item: &Item) -> bool {
    matches!(
        &item.kind,
        ItemKind::Text(said) | ItemKind::Thought(said) if said.standing == Standing::Streaming
    )
}

/// Whether there is an empty line between two items.
pub(super) fn needs_gap(last: &Item, item: &Item) -> bool {
    let is_work = |item: &Item| {
        matches!(
            item.kind,
            ItemKind::Call(_) | ItemKind::Thought(_) | ItemKind::Notice(_)
        )
    };
    !(is_work(last) && is_work(item))
}
