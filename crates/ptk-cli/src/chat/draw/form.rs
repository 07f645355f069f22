//! Draws the open form.

use ptk::tools::form::Field;
use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};
use ratatui::widgets::Paragraph;
use unicode_width::UnicodeWidthStr as _;

use super::super::app::{App, Focus};
use super::super::editor::Editor;
use super::super::text::{Lines, style, wrap};
use super::panel::put_cursor;
use crate::view::clean::{in_line, visible};

/// The widest title of a field.
const MAX_TITLE: usize = 24;
/// The columns before a value, beside the title.
const BESIDE: usize = 4;

/// A form in lines.
struct Sheet {
    lines: Lines,
    /// The line with the field that gets the keys, or the buttons.
    at: usize,
    /// Where values begin.
    column: usize,
}

/// The rows that the open form takes.
pub(super) fn height(app: &App, width: usize) -> usize {
    sheet(app, width).map_or(0, |sheet| sheet.lines.len())
}

/// Draws the open form.
pub(super) fn draw(frame: &mut Frame<'_>, area: Rect, app: &mut App) {
    app.forms.is_seen = false;
    let Some(sheet) = sheet(app, usize::from(area.width)) else {
        return;
    };
    let height = usize::from(area.height);
    // The line that gets the keys is visible, and what belongs to it.
    let last = sheet.lines.len().saturating_sub(height);
    let top = (sheet.at + BESIDE).saturating_sub(height).min(last);
    let row = sheet.at.saturating_sub(top);
    app.forms.is_seen = row < height;
    let seen: Lines = sheet.lines.into_iter().skip(top).take(height).collect();
    frame.render_widget(Paragraph::new(seen), area);
    let editor = app.forms.typed().get(app.forms.at());
    let (Some(editor), Focus::Form, true) = (editor, app.focus, row < height) else {
        return;
    };
    let short = |at: usize| u16::try_from(at).unwrap_or(u16::MAX);
    let column = short(sheet.column).min(area.width);
    let value = Rect {
        x: area.x + column,
        y: area.y + short(row),
        width: area.width - column,
        height: 1,
    };
    frame.render_widget(editor.area(), value);
    if app.overlay.is_none() && app.search.is_none() {
        put_cursor(frame, value, editor.area());
    }
}

/// Lays out the open form, if no question goes before it.
fn sheet(app: &App, width: usize) -> Option<Sheet> {
    let form = app
        .forms
        .first()
        .filter(|_| app.questions.first().is_none())?;
    let room = width.saturating_sub(2).max(1);
    let more = match app.forms.len() {
        1 => String::new(),
        count => format!("  ({} more)", count - 1),
    };
    let from = wrap::fitting(&in_line(&form.from), room / 2);
    let mut lines = vec![
        Line::default(),
        Line::from(vec![
            Span::styled("? ", style::WARNING),
            Span::styled(from, style::STRONG),
            Span::raw(format!(" asks{more}")),
        ]),
    ];
    let indent = |mut line: Line<'static>| {
        line.spans.insert(0, Span::raw("  "));
        line
    };
    let message = wrap::lines(&visible(form.message.trim()), style::PLAIN, room);
    lines.extend(message.into_iter().map(indent));
    let titles = form.fields.iter().map(title);
    let widest = titles.map(|title| title.width()).max().unwrap_or(0);
    let column = widest + BESIDE;
    let mut at = lines.len();
    for (number, (field, editor)) in form.fields.iter().zip(app.forms.typed()).enumerate() {
        let is_chosen = number == app.forms.at() && app.focus == Focus::Form;
        if number == app.forms.at() {
            at = lines.len();
        }
        lines.push(value(field, editor, is_chosen, (widest, width)));
        if is_chosen {
            let about = in_line(&field.description);
            let about = wrap::lines(&about, style::FAINT, room.saturating_sub(2).max(1));
            let about = about.into_iter().filter(|line| line.width() > 0);
            lines.extend(about.map(indent).map(indent));
            if let Some(error) = app.forms.error() {
                let error = wrap::lines(&format!("! {}", in_line(error)), style::WARNING, room);
                lines.extend(error.into_iter().map(indent));
            }
        }
    }
    if app.forms.at() >= form.fields.len() {
        at = lines.len();
    }
    lines.push(indent(buttons(app, form.fields.len())));
    Some(Sheet { lines, at, column })
}

/// The title of a field, as it is shown.
fn title(field: &Field) -> String {
    let mark = if field.is_required { " *" } else { "" };
    let title = wrap::fitting(&in_line(&field.title), MAX_TITLE);
    format!("{title}{mark}")
}

/// The line of a field.
fn value(
    field: &Field,
    editor: &Editor,
    is_chosen: bool,
    (widest, width): (usize, usize),
) -> Line<'static> {
    let title = title(field);
    let blank = " ".repeat(widest.saturating_sub(title.width()) + 2);
    let mark = if is_chosen { "› " } else { "  " };
    let room = width.saturating_sub(widest + BESIDE);
    let typed = match editor.text() {
        text if text.is_empty() => {
            Span::styled(wrap::fitting(&in_line(&field.wanted()), room), style::FAINT)
        }
        text => Span::raw(wrap::fitting(&in_line(&text), room)),
    };
    let own = if is_chosen {
        style::STRONG
    } else {
        style::PLAIN
    };
    Line::from(vec![
        Span::styled(mark, style::PERSON),
        Span::styled(title, own),
        Span::raw(blank),
        typed,
    ])
}

/// The buttons, and which keys there are.
fn buttons(app: &App, fields: usize) -> Line<'static> {
    if app.focus != Focus::Form {
        return Line::from(vec![
            Span::styled("[Tab]", style::WARNING),
            Span::raw(" to answer"),
        ]);
    }
    let is_here = app.forms.at() >= fields;
    let own = |is_chosen: bool| {
        if is_here && is_chosen {
            style::WARNING.patch(style::CHOSEN)
        } else {
            style::WARNING
        }
    };
    let keys = if is_here {
        "  ←→ chooses, Enter does it, ↑ goes back"
    } else {
        "  Enter goes on, ↑↓ moves, Esc leaves it for now"
    };
    Line::from(vec![
        Span::styled("[Send]", own(!app.forms.is_declining())),
        Span::raw(" "),
        Span::styled("[Decline]", own(app.forms.is_declining())),
        Span::styled(keys, style::FAINT),
    ])
}
