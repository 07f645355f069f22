//! Draws a tool call: in a line, or expanded.

use std::time::{Duration, SystemTime};

use ptk::protocol::ToolResult;
use ptk::tools::preview;
use ptk::view::{CallState, CallView};
use ratatui::style::Style;
use ratatui::text::{Line, Span};
use serde_json::Value;
use unicode_width::UnicodeWidthStr as _;

use super::super::text::code::Coloured;
use super::super::text::{Lines, diff, style, wrap};
use super::look::{Look, indented};
use crate::view::clean::{in_line, visible};
use crate::view::{about, in_a_line, took};

const WHEEL: [&str; 10] = ["⠋", "⠙", "⠹", "⠸", "⠼", "⠴", "⠦", "⠧", "⠇", "⠏"];
/// The time between two steps of the spinner, in milliseconds.
const STEP: u128 = 100;
/// How many lines of a running call's output are shown.
const LIVE: usize = 8;
/// The most lines of a result that are shown.
const MAX_LINES: usize = 400;
/// The most characters of an argument that are shown.
const MAX_ARGUMENT: usize = 4000;
/// How many lines of a result are considered for the preview.
const PREVIEW: usize = 3;
/// The fewest columns for a result beside the call.
const ROOM: usize = 6;
/// Fields with the main content; the first that exists is shown.
const CONTENT: [&str; 6] = ["content", "output", "matches", "files", "snippets", "diff"];

pub(super) fn lines(call: &CallView, look: &Look<'_>) -> Lines {
    let mut lines = vec![head(call, look)];
    if look.is_open {
        let width = look.width.saturating_sub(4).max(1);
        lines.extend(body(call, width).into_iter().map(indented).map(indented));
    }
    lines
}

/// The spinner's current character.
pub(super) fn wheel(now: SystemTime) -> &'static str {
    let since = now
        .duration_since(SystemTime::UNIX_EPOCH)
        .unwrap_or_default();
    let step = usize::try_from(since.as_millis() / STEP % 10).unwrap_or(0);
    WHEEL.get(step).copied().unwrap_or("…")
}

fn head(call: &CallView, look: &Look<'_>) -> Line<'static> {
    let shows_itself = call.state == CallState::Running && look.light.shows_itself(&call.tool);
    let (mark, mark_style) = if shows_itself {
        ("▪", style::BUSY)
    } else {
        mark(call.state, look.light.now)
    };
    let mark = if look.is_chosen { "▸" } else { mark };
    let tool = in_line(&call.tool);
    let about = about(&call.arguments);
    let time = if shows_itself {
        String::new()
    } else {
        time(call, look.light.now)
    };
    let mut spans = vec![
        Span::styled(format!("{mark} "), mark_style),
        Span::styled(tool.clone(), style::STRONG),
    ];
    let time_width = if time.is_empty() { 0 } else { time.width() + 2 };
    let room = look.width.saturating_sub(2 + tool.width() + 1 + time_width);
    let beside = if shows_itself {
        Vec::new()
    } else {
        beside(call, look)
    };
    // The result is visible, too, however long the call is.
    let most = match beside.first() {
        Some((text, _)) => room.saturating_sub(text.width().min(room / 2) + 2),
        None => room,
    };
    let about = wrap::fitting(&about, most);
    let mut left = room.saturating_sub(about.width());
    if !about.is_empty() {
        spans.push(Span::raw(format!(" {about}")));
    }
    if !time.is_empty() {
        spans.push(Span::styled(format!("  {time}"), style::FAINT));
    }
    for (text, style) in beside {
        if left < ROOM {
            break;
        }
        let text = wrap::fitting(&format!("  {text}"), left);
        left = left.saturating_sub(text.width());
        spans.push(Span::styled(text, style));
    }
    Line::from(spans)
}

fn mark(state: CallState, now: SystemTime) -> (&'static str, Style) {
    match state {
        CallState::Waiting => ("·", style::FAINT),
        CallState::Asked => ("?", style::WARNING),
        CallState::Running => (wheel(now), style::BUSY),
        CallState::Done => ("✓", style::DONE),
        CallState::Failed => ("✗", style::FAILED),
        CallState::Unknown => ("?", style::FAILED),
    }
}

fn time(call: &CallView, now: SystemTime) -> String {
    match (call.duration, call.since) {
        (Some(duration), _) => took(duration),
        (None, Some(since)) if call.state == CallState::Running => {
            let seconds = now.duration_since(since).unwrap_or_default().as_secs();
            if seconds == 0 {
                String::new()
            } else {
                took(Duration::from_secs(seconds))
            }
        }
        _ => String::new(),
    }
}

/// The text after the call in its line: its current output, or its result.
fn beside(call: &CallView, look: &Look<'_>) -> Vec<(String, Style)> {
    let mut beside = Vec::new();
    if !call.repairs.is_empty() {
        beside.push(("mended".to_owned(), style::FAINT));
    }
    match call.state {
        CallState::Asked => beside.push(("waits for you".to_owned(), style::WARNING)),
        CallState::Unknown => {
            beside.push(("may or may not have happened".to_owned(), style::FAILED));
        }
        _ if look.is_open => {}
        CallState::Running => {
            let line = call.output.last_line().map(in_a_line);
            let line = line.or_else(|| call.progress.as_deref().map(in_a_line));
            beside.extend(line.map(|line| (format!("│ {line}"), style::FAINT)));
        }
        CallState::Done => {
            let line = call
                .result
                .as_ref()
                .map(|result| preview_of(call, result, look));
            let line = line.filter(|line| !line.is_empty());
            beside.extend(line.map(|line| (format!("│ {line}"), style::FAINT)));
        }
        CallState::Failed => {
            let error = call.result.as_ref().map(|result| error_of(call, result));
            beside.extend(error.map(|error| (format!("│ {error}"), style::FAILED)));
        }
        CallState::Waiting => {}
    }
    beside
}

/// The result in a line.
fn preview_of(call: &CallView, result: &ToolResult, look: &Look<'_>) -> String {
    let lines = match look.light.tool(&call.tool) {
        Some(tool) => tool.preview(result, PREVIEW),
        None => preview::of(result, PREVIEW),
    };
    // Success is shown by the mark already, and a bracket is of no use.
    let is_telling =
        |line: &&String| !line.starts_with('✓') && line.chars().any(char::is_alphanumeric);
    let telling = lines.iter().find(is_telling);
    let telling = telling.or(lines.first());
    telling.map(|line| in_a_line(line)).unwrap_or_default()
}

/// The error, without the call, which is shown before it.
fn error_of(call: &CallView, result: &ToolResult) -> String {
    let error = result.error.as_str();
    let told = error
        .starts_with(&format!("{}(", call.tool))
        .then(|| error.split_once("): "));
    in_a_line(told.flatten().map_or(error, |(_, message)| message))
}

/// All details of the call.
fn body(call: &CallView, width: usize) -> Lines {
    let mut lines = Vec::new();
    if let Some(why) = &call.reasoning {
        labelled("why", why, width, &mut lines);
    }
    arguments(&call.arguments, width, &mut lines);
    for repair in &call.repairs {
        labelled("mended", repair, width, &mut lines);
    }
    if let Some(result) = &call.result {
        of_result(call, result, width, &mut lines);
        return lines;
    }
    if let Some(progress) = &call.progress {
        labelled("progress", progress.trim(), width, &mut lines);
    }
    let last: Vec<&str> = call.output.text().lines().rev().take(LIVE).collect();
    for line in last.into_iter().rev() {
        let line = wrap::fitting(&in_a_line(line), width);
        lines.push(Line::styled(line, style::FAINT));
    }
    lines
}

fn labelled(label: &str, text: &str, width: usize, lines: &mut Lines) {
    let first = [Span::styled(format!("{label}: "), style::FAINT)];
    let rest = [Span::raw("  ")];
    let shown: String = text.chars().take(MAX_ARGUMENT).collect();
    for (number, line) in visible(&shown).lines().enumerate() {
        let before: &[Span<'static>] = if number == 0 { &first } else { &rest };
        lines.extend(wrap::wrapped(&[Span::raw(line)], width, before, &rest));
    }
    if shown.len() < text.len() {
        lines.push(Line::styled("  … /inspect shows all of it", style::FAINT));
    }
}

fn arguments(arguments: &Value, width: usize, lines: &mut Lines) {
    let Some(members) = arguments.as_object() else {
        return;
    };
    for (name, value) in members {
        match value {
            Value::String(text) => labelled(&in_line(name), text, width, lines),
            value => labelled(&in_line(name), &value.to_string(), width, lines),
        }
    }
}

fn of_result(call: &CallView, result: &ToolResult, width: usize, lines: &mut Lines) {
    if !result.success {
        let style = style::FAILED;
        lines.extend(wrap::lines(&visible(&result.error), style, width));
        if let Some(suggestion) = &result.suggestion {
            lines.extend(wrap::lines(&visible(suggestion), style::FAINT, width));
        }
    }
    let content = CONTENT.iter().find_map(|name| result.fields.get(*name));
    let shown = match content {
        Some(Value::String(text)) if diff::is_diff(text) => diff::lines(text, width),
        Some(Value::String(text)) => coloured(call, text, width),
        Some(Value::Array(items)) if items.iter().all(Value::is_string) => {
            let items: Vec<&str> = items.iter().filter_map(Value::as_str).collect();
            wrap::lines(&visible(&items.join("\n")), style::PLAIN, width)
        }
        _ if !result.fields.is_empty() => {
            let fields = serde_json::to_string_pretty(&result.fields).unwrap_or_default();
            wrap::lines(&visible(&fields), style::PLAIN, width)
        }
        _ => Vec::new(),
    };
    let more = shown.len().saturating_sub(MAX_LINES);
    lines.extend(shown.into_iter().take(MAX_LINES));
    if more > 0 {
        let text = format!("… {more} more lines; /inspect shows them");
        lines.push(Line::from(Span::styled(text, style::FAINT)));
    }
    let code = result.fields.get("return_code").and_then(Value::as_i64);
    if let Some(code) = code.filter(|code| *code != 0) {
        labelled("exit code", &code.to_string(), width, lines);
    }
    for name in ["stderr", "note", "notice", "hint", "undo"] {
        if let Some(text) = result.fields.get(name).and_then(Value::as_str)
            && !text.trim().is_empty()
        {
            labelled(name, text.trim_end(), width, lines);
        }
    }
}

/// The content of a file, with syntax highlighting.
fn coloured(call: &CallView, text: &str, width: usize) -> Lines {
    let path = call.arguments.get("path").and_then(Value::as_str);
    let end = path
        .and_then(|path| path.rsplit_once('.'))
        .map(|(_, end)| end);
    let Some(language) = end else {
        return wrap::lines(&visible(text), style::PLAIN, width);
    };
    let mut text = text.to_owned();
    if !text.ends_with('\n') {
        text.push('\n');
    }
    let rows = Coloured::default().rows(language, &text);
    rows.iter()
        .flat_map(|row| wrap::wrapped(row, width, &[], &[]))
        .collect()
}
