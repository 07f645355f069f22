//! One item of the conversation, in lines.

use ptk::view::{Item, ItemKind, Said, Standing, Tone};
use ratatui::text::{Line, Span};

use super::super::text::markdown::Markdown;
use super::super::text::{Lines, style, wrap};
use super::{Light, call};
use crate::view::clean::visible;

/// Lines of a thought that are shown while it is thought.
const THOUGHT: usize = 3;
/// Columns before what people and models say.
const MARGIN: usize = 2;

/// How an item is to look.
pub(super) struct Look<'a> {
    pub(super) width: usize,
    pub(super) is_open: bool,
    pub(super) is_chosen: bool,
    pub(super) light: &'a Light<'a>,
}

/// What is remembered of an item that grows.
#[derive(Debug, Default)]
pub(super) struct Layout {
    markdown: Markdown,
}

impl Layout {
    pub(super) fn lines(&mut self, item: &Item, look: &Look<'_>) -> Lines {
        match &item.kind {
            ItemKind::Prompt(text) => prompt(text, look.width),
            ItemKind::Text(said) => self.text(said, look.width),
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
        }
    }

    fn text(&mut self, said: &Said, width: usize) -> Lines {
        let text = said.text.trim_end();
        let inner = width.saturating_sub(MARGIN).max(1);
        let lines = self.markdown.lines(text, inner);
        lines
            .into_iter()
            .map(|line| {
                let line = indented(line);
                match said.standing {
                    Standing::Broken => line.patch_style(style::FAINT),
                    _ => line,
                }
            })
            .collect()
    }
}

fn prompt(text: &str, width: usize) -> Lines {
    marked("› ", style::PERSON, text.trim_end(), style::STRONG, width)
}

/// A text with a sign before its first line.
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

/// What the model thinks: its end while it thinks, and then that it did.
fn thought(said: &Said, look: &Look<'_>) -> Lines {
    let inner = look.width.saturating_sub(MARGIN).max(1);
    let text = visible(said.text.trim());
    let all = wrap::lines(&text, style::FAINT, inner);
    let mark = if look.is_chosen { "▸ " } else { "∴ " };
    let is_over = said.standing != Standing::Streaming;
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

pub(super) fn indented(mut line: Line<'static>) -> Line<'static> {
    line.spans.insert(0, Span::raw(" ".repeat(MARGIN)));
    line
}

/// Whether an item looks different as time goes by.
pub(super) fn moves(item: &Item) -> bool {
    matches!(&item.kind, ItemKind::Call(call) if call.state.is_open())
}

/// Whether an empty line stands between two items.
pub(super) fn needs_gap(last: &Item, item: &Item) -> bool {
    let is_work = |item: &Item| {
        matches!(
            item.kind,
            ItemKind::Call(_) | ItemKind::Thought(_) | ItemKind::Notice(_)
        )
    };
    !(is_work(last) && is_work(item))
}
