//! Draws the part below the conversation: questions, the editor, completions
//! and the status.

use ptk::ContextUse;
use ratatui::Frame;
use ratatui::layout::{Position, Rect};
use ratatui::text::{Line, Span};
use ratatui::widgets::{Clear, Paragraph};
use unicode_width::UnicodeWidthStr as _;

use super::super::app::{App, Focus};
use super::super::questions::Answer;
use super::super::text::{Lines, diff, style, wrap};
use super::call;
use super::form;
use super::look::Light;
use crate::question::{Kind, Question, without_gaps};
use crate::view::clean::in_line;
use crate::view::{count, money, took};

/// The most rows of the editor.
const MAX_EDITOR: usize = 10;
/// The label before the message to the model.
const BECAUSE: &str = "No, because: ";
/// The meaning of the answer "all edits".
const EDITS: &str = "e is for all edits by write_file and edit, not for commands";
/// The most queued prompts that are shown.
const MAX_QUEUE: usize = 3;

/// The rows of each part.
pub(super) struct Heights {
    pub(super) question: u16,
    pub(super) queue: u16,
    pub(super) editor: u16,
}

/// Computes the rows of each part.
pub(super) fn heights(app: &mut App, area: Rect) -> Heights {
    let width = usize::from(area.width).saturating_sub(2).max(1);
    let rows = app.editor.rows(width, MAX_EDITOR).clamp(1, MAX_EDITOR);
    // On a small screen, the conversation keeps some room, too.
    let most = usize::from(area.height / 3).max(1);
    lay_out_question(app, width);
    let question = app.questions.first().map_or(0, |question| {
        let (beside, choices) = (beside(question, width), choices(question, app));
        let choices = wrap::wrapped(&choices, width, &[], &[]);
        let body = app
            .questions
            .body
            .as_ref()
            .map_or(0, |(_, body)| body.len());
        // An empty line and the title are above.
        let all = body + beside.len() + choices.len() + 2;
        all.min(usize::from(area.height).saturating_sub(3 + rows.min(most)))
    });
    let form = form::height(app, usize::from(area.width));
    let form = form.min(usize::from(area.height).saturating_sub(3 + rows.min(most)));
    let short = |rows: usize| u16::try_from(rows).unwrap_or(u16::MAX);
    Heights {
        // There is one of them at a time.
        question: short(question.max(form)),
        queue: short(app.queue.len().min(MAX_QUEUE)),
        editor: short(rows.min(most)),
    }
}

/// Lays out the body of the question, once for each width.
fn lay_out_question(app: &mut App, width: usize) {
    let Some(question) = app.questions.first() else {
        return;
    };
    if matches!(&app.questions.body, Some((laid, _)) if *laid == width) {
        return;
    }
    let lines: Vec<&str> = question.body.lines().collect();
    let body = without_gaps(&lines).join("\n");
    let body = if diff::is_diff(&body) {
        diff::lines(&body, width)
    } else {
        wrap::lines(&body, style::PLAIN, width)
    };
    app.questions.body = Some((width, body));
}

/// The warnings and remarks of a question.
fn beside(question: &Question, width: usize) -> Lines {
    let mut beside = Vec::new();
    for warning in &question.warnings {
        beside.extend(wrap::lines(&format!("! {warning}"), style::WARNING, width));
    }
    if let Some(folder) = &question.folder {
        beside.extend(wrap::lines(&format!("in {folder}"), style::FAINT, width));
    }
    for remark in &question.remarks {
        beside.extend(wrap::lines(remark, style::FAINT, width));
    }
    if question.has_session() {
        let rules = &question.rules;
        let kept = if question.has_always() {
            format!(
                "s and a are for {rules}; a is kept for this workspace, `ptk permissions` takes it back"
            )
        } else {
            format!("s is for {rules}")
        };
        beside.extend(wrap::lines(&kept, style::FAINT, width));
    }
    if question.is_edit {
        beside.extend(wrap::lines(EDITS, style::FAINT, width));
    }
    beside
}

fn choices(question: &Question, app: &App) -> Vec<Span<'static>> {
    if app.focus == Focus::Word {
        return vec![Span::styled(BECAUSE, style::WARNING)];
    }
    if app.focus == Focus::Editor {
        return vec![
            Span::styled("[Tab]", style::WARNING),
            Span::raw(" to answer"),
        ];
    }
    let mut spans = Vec::new();
    for answer in Answer::to(question) {
        let meaning = match (answer, question.kind) {
            (Answer::Once, Kind::Call) => "once",
            (Answer::Once, Kind::Changes) => "keep",
            (Answer::Session, _) => "session",
            (Answer::Edits, _) => "all edits",
            (Answer::Always, _) => "always",
            (Answer::No, _) => "no",
            (Answer::Because, _) => "no, because",
        };
        let own = if app.questions.picked() == Some(answer) {
            style::CHOSEN
        } else {
            style::PLAIN
        };
        let key = format!("[{}]", answer.letter());
        spans.push(Span::styled(key, style::WARNING.patch(own)));
        spans.push(Span::styled(format!(" {meaning}"), own));
        spans.push(Span::raw("  "));
    }
    let next = match app.questions.picked() {
        Some(_) => "[Enter]",
        None => "[Tab] write",
    };
    spans.push(Span::styled(next, style::FAINT));
    spans
}

/// Draws the open question. Its body has priority over its remarks.
pub(super) fn question(frame: &mut Frame<'_>, area: Rect, app: &mut App) {
    app.questions.is_seen = false;
    let Some(question) = app.questions.first() else {
        return;
    };
    let width = usize::from(area.width).saturating_sub(2).max(1);
    let choices = wrap::wrapped(&choices(question, app), width, &[], &[]);
    let mut beside = beside(question, width);
    let all = app
        .questions
        .body
        .as_ref()
        .map_or(&[][..], |(_, body)| body);
    let height = usize::from(area.height);
    // The empty line is dropped first if there is little room.
    let gap = usize::from(height > choices.len() + 4);
    let room = height.saturating_sub(choices.len() + 1 + gap);
    let for_body = all
        .len()
        .min(room.saturating_sub(beside.len()).max(room / 2).max(1));
    beside.truncate(room.saturating_sub(for_body));
    let last = all.len().saturating_sub(for_body);
    let top = app.questions.top.min(last);
    let title = title(
        question,
        app.questions.len(),
        (top, for_body, all.len()),
        width,
    );
    let mut lines = vec![Line::default(); gap];
    lines.push(title);
    let seen = all.iter().skip(top).take(for_body.min(room));
    let body: Lines = seen.cloned().collect();
    app.questions.top = top;
    app.questions.is_seen = !body.is_empty() && room > 0;
    let indent = |mut line: Line<'static>| {
        line.spans.insert(0, Span::raw("  "));
        line
    };
    lines.extend(body.into_iter().chain(beside).chain(choices).map(indent));
    frame.render_widget(Paragraph::new(lines), area);
    if app.focus == Focus::Word {
        let row = area.bottom().saturating_sub(1);
        let start = area.x + 2 + u16::try_from(BECAUSE.len()).unwrap_or(0);
        let line = Rect {
            x: start.min(area.right()),
            y: row,
            width: area.right().saturating_sub(start),
            height: 1,
        };
        frame.render_widget(app.word.area(), line);
        put_cursor(frame, line, app.word.area());
    }
}

/// The title of a question, with the visible part of its body: the first line,
/// the number of lines, and the total.
fn title(
    question: &Question,
    questions: usize,
    (top, seen, all): (usize, usize, usize),
    width: usize,
) -> Line<'static> {
    let wants = match question.kind {
        Kind::Call => "wants to ",
        Kind::Changes => "",
    };
    let mut about = format!("{wants}{}", question.purpose);
    if questions > 1 {
        about.push_str(&format!("  ({} more)", questions - 1));
    }
    let part = if seen < all {
        format!(
            "  lines {} to {} of {all}, ↑↓ PgUp PgDn",
            top + 1,
            top + seen
        )
    } else {
        String::new()
    };
    let room = width.saturating_sub(part.width() + question.tool.width() + 3);
    Line::from(vec![
        Span::styled("? ", style::WARNING),
        Span::styled(question.tool.clone(), style::STRONG),
        Span::raw(format!(" {}", wrap::fitting(&about, room))),
        Span::styled(part, style::WARNING),
    ])
}

/// Draws the queued prompts.
pub(super) fn queue(frame: &mut Frame<'_>, area: Rect, app: &App) {
    let width = usize::from(area.width);
    let waiting = app.queue.iter().take(usize::from(area.height));
    let lines: Lines = waiting
        .map(|text| {
            let text = wrap::fitting(&in_line(text), width.saturating_sub(8));
            Line::styled(format!("  next: {text}"), style::FAINT)
        })
        .collect();
    frame.render_widget(Paragraph::new(lines), area);
}

/// Draws the line above the editor, which shows short messages.
pub(super) fn rule(frame: &mut Frame<'_>, area: Rect, app: &App) {
    let width = usize::from(area.width);
    let (text, own) = match (&app.search, &app.flash) {
        (Some(search), _) => {
            let told = search.told();
            (
                format!("find: {}▏ {told}", in_line(&search.words)),
                style::STRONG,
            )
        }
        (None, Some(flash)) => (in_line(flash), style::WARNING),
        (None, None) => (String::new(), style::FAINT),
    };
    let text = wrap::fitting(&text, width.saturating_sub(4));
    let line = if text.is_empty() {
        Line::styled("─".repeat(width), style::FAINT)
    } else {
        let rest = width.saturating_sub(text.width() + 4);
        Line::from(vec![
            Span::styled("─ ", style::FAINT),
            Span::styled(text, own),
            Span::styled(format!(" {}", "─".repeat(rest + 1)), style::FAINT),
        ])
    };
    frame.render_widget(Paragraph::new(line), area);
}

/// Draws the editor.
pub(super) fn editor(frame: &mut Frame<'_>, area: Rect, app: &App) {
    let mark = Rect {
        width: 2.min(area.width),
        ..area
    };
    frame.render_widget(Paragraph::new(Span::styled("› ", style::PERSON)), mark);
    let inner = Rect {
        x: area.x + mark.width,
        width: area.width - mark.width,
        ..area
    };
    frame.render_widget(app.editor.area(), inner);
    let is_free = app.overlay.is_none() && app.search.is_none();
    if app.focus == Focus::Editor && is_free {
        put_cursor(frame, inner, app.editor.area());
    }
}

/// Puts the terminal's cursor at the position in a text.
pub(super) fn put_cursor(frame: &mut Frame<'_>, area: Rect, text: &ratatui_textarea::TextArea<'_>) {
    let cursor = text.screen_cursor();
    let (top, left) = text.scroll_offset();
    let short = |at: usize| u16::try_from(at).unwrap_or(u16::MAX);
    let column = short(cursor.col).saturating_sub(left);
    let row = short(cursor.row).saturating_sub(top);
    frame.set_cursor_position(Position {
        x: (area.x + column).min(area.right().saturating_sub(1)),
        y: (area.y + row).min(area.bottom().saturating_sub(1)),
    });
}

/// Draws the completions above the editor.
pub(super) fn offer(frame: &mut Frame<'_>, rule: Rect, app: &App) {
    let Some(offer) = &app.offer else { return };
    let most = usize::from(rule.y).min(offer.candidates.len());
    let top = (offer.chosen + 1).saturating_sub(most);
    let width = usize::from(rule.width).saturating_sub(4);
    let name = |text: &str| wrap::fitting(&in_line(text), width);
    let wide = offer
        .candidates
        .iter()
        .map(|it| name(&it.text).width())
        .max();
    let wide = wide.unwrap_or(0);
    let mut lines = Vec::new();
    for (number, candidate) in offer.candidates.iter().enumerate().skip(top).take(most) {
        let text = name(&candidate.text);
        let blank = " ".repeat(wide - text.width());
        let about = wrap::fitting(&candidate.about, width.saturating_sub(wide + 2));
        let line = Line::from(vec![
            Span::raw(format!("  {text}{blank}")),
            Span::styled(format!("  {about}"), style::FAINT),
        ]);
        lines.push(if number == offer.chosen {
            line.patch_style(style::CHOSEN)
        } else {
            line
        });
    }
    let height = u16::try_from(lines.len()).unwrap_or(0);
    let area = Rect {
        y: rule.y.saturating_sub(height),
        height,
        ..rule
    };
    frame.render_widget(Clear, area);
    frame.render_widget(Paragraph::new(lines), area);
}

/// Draws the status line.
pub(super) fn status(frame: &mut Frame<'_>, area: Rect, app: &App, light: &Light<'_>) {
    let width = usize::from(area.width);
    let (mark, doing) = doing(app, light);
    let mut right = vec![in_line(&app.status.model)];
    right.extend(app.status.context.as_ref().map(context));
    let usage = app.conversation.usage();
    if usage.cost_micros > 0 {
        right.push(money(usage.cost_micros));
    }
    right.push(in_line(&app.status.workspace));
    right.retain(|part| !part.is_empty());
    let left = format!("{mark} {doing}");
    let left = wrap::fitting(&left, width);
    let room = width.saturating_sub(left.width() + 2);
    // The least important part is dropped first if there is no room.
    while right.len() > 1 && right.join(" · ").width() > room {
        right.pop();
    }
    let right = right.join(" · ");
    let right = if right.width() > room {
        String::new()
    } else {
        right
    };
    let gap = width.saturating_sub(left.width() + right.width());
    let own = if app.is_busy() {
        style::BUSY
    } else {
        style::FAINT
    };
    let line = Line::from(vec![
        Span::styled(left, own),
        Span::raw(" ".repeat(gap)),
        Span::styled(right, style::FAINT),
    ]);
    frame.render_widget(Paragraph::new(line), area);
}

/// The tokens that a request takes, and the share of the window that is left.
fn context(used: &ContextUse) -> String {
    let tokens = format!("{} tokens", count(used.used()));
    match (used.free(), used.window) {
        (Some(free), Some(window)) => {
            let left = free.saturating_mul(100) / window.max(1);
            format!("{tokens}, {left}% left")
        }
        _ => tokens,
    }
}

/// What is running, in a few words.
fn doing(app: &App, light: &Light<'_>) -> (&'static str, String) {
    let Some(since) = app.busy_since else {
        let hint = if app.conversation.items().is_empty() {
            "Enter sends, Alt-Enter begins a line, /help tells more"
        } else {
            "ready"
        };
        return (" ", hint.to_owned());
    };
    let time = light.now.duration_since(since).unwrap_or_default();
    let time = took(std::time::Duration::from_secs(time.as_secs()));
    let time = time.trim_start_matches("0 ms");
    if app.is_asked() {
        return (
            call::wheel(light.now),
            format!("waits for your answer {time}")
                .trim_end()
                .to_owned(),
        );
    }
    let what = match app.conversation.running().count() {
        0 => app
            .status
            .remark
            .clone()
            .unwrap_or_else(|| "thinking".to_owned()),
        1 => "1 call runs".to_owned(),
        count => format!("{count} calls run"),
    };
    (
        call::wheel(light.now),
        format!("{what} {time} · Esc stops").replace("  ", " "),
    )
}
