//! Draws the overlays: pages and lists.

use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};
use ratatui::widgets::{Block, Clear, Paragraph};
use unicode_width::UnicodeWidthStr as _;

use super::super::app::App;
use super::super::overlay::{List, Overlay, Page};
use super::super::text::markdown::MarkdownLayout;
use super::super::text::{Lines, style, wrap};
use crate::view::clean::in_line;

pub(super) fn draw(frame: &mut Frame<'_>, area: Rect, app: &mut App) {
    match &mut app.overlay {
        Some(Overlay::Page(it)) => page(frame, area, it),
        Some(Overlay::List(it)) => list(frame, area, it),
        None => {}
    }
}

fn framed(frame: &mut Frame<'_>, area: Rect, title: &str, keys: &str) -> Rect {
    frame.render_widget(Clear, area);
    let block = Block::bordered()
        .border_style(style::FAINT)
        .title(Span::styled(format!(" {} ", in_line(title)), style::STRONG))
        .title_bottom(Span::styled(format!(" {keys} "), style::FAINT));
    let inner = block.inner(area);
    frame.render_widget(block, area);
    inner
}

fn page(frame: &mut Frame<'_>, area: Rect, page: &mut Page) {
    let inner = framed(frame, area, &page.title, "↑↓ PgUp PgDn · Esc closes");
    let is_laid = matches!(&page.lines, Some((width, _)) if *width == inner.width);
    if !is_laid {
        let lines = MarkdownLayout::lines(&page.text, usize::from(inner.width));
        page.lines = Some((inner.width, lines));
    }
    let lines = page.lines.as_ref().map_or(&[][..], |(_, lines)| lines);
    let height = usize::from(inner.height);
    page.top = page.top.min(lines.len().saturating_sub(height));
    let seen: Lines = lines.iter().skip(page.top).take(height).cloned().collect();
    frame.render_widget(Paragraph::new(seen), inner);
}

fn list(frame: &mut Frame<'_>, area: Rect, list: &mut List) {
    let keys = "type to find · ↑↓ · Enter chooses · Esc closes";
    let inner = framed(frame, area, &list.title, keys);
    let width = usize::from(inner.width);
    let entries = list.entries();
    let chosen = list.chosen.min(entries.len().saturating_sub(1));
    let height = usize::from(inner.height).saturating_sub(1).max(1);
    let top = (chosen + 1).saturating_sub(height);
    let mut lines = vec![Line::from(vec![
        Span::styled("› ", style::PERSON),
        Span::raw(wrap::fitting(
            &in_line(&list.filter),
            width.saturating_sub(3),
        )),
        Span::styled("▏", style::FAINT),
    ])];
    if entries.is_empty() {
        lines.push(Line::styled("Nothing fits.", style::FAINT));
    }
    for (number, entry) in entries.iter().enumerate().skip(top).take(height) {
        let name = wrap::fitting(&in_line(&entry.name), width);
        let room = width.saturating_sub(name.width() + 2);
        let about = wrap::fitting(&in_line(&entry.about), room);
        let line = Line::from(vec![
            Span::raw(name),
            Span::styled(format!("  {about}"), style::FAINT),
        ]);
        lines.push(if number == chosen {
            line.patch_style(style::CHOSEN)
        } else {
            line
        });
    }
    list.chosen = chosen;
    frame.render_widget(Paragraph::new(lines), inner);
}
