//! Results of a size that a model can take. Nothing is cut silently: the whole
//! is kept, and what is left says how to read the rest.

use std::io;

use ptk_protocol::ToolResult;
use serde_json::{Map, Value, json};

use crate::outputs::read_on;
use crate::{Outputs, ResultLimit};

/// How long a result may be by default, in bytes of its JSON.
pub const DEFAULT_LIMIT: usize = 48 * 1024;
/// A field that is cut keeps at least this much.
const LEAST: usize = 256;
/// How long an error may be, and its suggestion.
const MAX_ERROR: usize = 4 * 1024;
/// How often a result is cut again if it still has too many tokens.
const MAX_TRIES: usize = 4;

/// Cuts what is too long, in bytes or in tokens, the longest fields first.
/// Returns what it did, if anything.
pub(crate) fn bound(
    result: &mut ToolResult,
    most: usize,
    limit: Option<&ResultLimit>,
    outputs: &Outputs,
) -> Option<String> {
    let length = size(result);
    // No token has less than a byte.
    let limit = limit.filter(|limit| length as u64 > limit.tokens());
    let too_long = |result: &ToolResult, length: usize| {
        let limit = limit?;
        limit.shortened(length, limit.count(&result.fields))
    };
    let Some(mut room) = too_long(result, length.min(most)) else {
        return cut(result, most, outputs);
    };
    let whole = result.fields.clone();
    let mut told = None;
    for _ in 0..MAX_TRIES {
        told = cut(result, room, outputs);
        match too_long(result, room) {
            Some(less) if told.is_some() => room = less,
            _ => break,
        }
        result.fields.clone_from(&whole);
    }
    told.or_else(|| cut(result, room, outputs))
}

/// Cuts the fields of a result that has more tokens than the limit, and keeps
/// them whole. Returns whether something was cut.
pub fn cut_result(result: &mut ToolResult, limit: &ResultLimit, outputs: &Outputs) -> bool {
    bound(result, usize::MAX, Some(limit), outputs).is_some()
}

/// Cuts an error and its suggestion if they are too long: they may quote what
/// the model has written.
pub(crate) fn bound_error(result: &mut ToolResult, limit: Option<&ResultLimit>, outputs: &Outputs) {
    let tokens = limit.and_then(|limit| usize::try_from(limit.of_content()).ok());
    let most = tokens.map_or(MAX_ERROR, |tokens| (2 * tokens).clamp(LEAST, MAX_ERROR));
    let texts = [Some(&mut result.error), result.suggestion.as_mut()];
    for text in texts.into_iter().flatten() {
        if text.len() > most {
            cut_text(text, most, outputs);
        }
    }
}

/// The beginning of an error, for a person.
pub(crate) fn short_error(mut error: String) -> String {
    if error.len() > MAX_ERROR {
        error.truncate(floor(&error, MAX_ERROR));
        error.push('…');
    }
    error
}

/// Cuts fields, the longest first, until they fit into so many bytes.
fn cut(result: &mut ToolResult, limit: usize, outputs: &Outputs) -> Option<String> {
    let mut excess = size(result)
        .checked_sub(limit)
        .filter(|excess| *excess > 0)?;
    let mut cuts = Map::new();
    while excess > 0 {
        let longest = result
            .fields
            .iter()
            .filter(|(name, _)| !cuts.contains_key(*name))
            .max_by_key(|(_, value)| length(value))
            .map(|(name, value)| (name.clone(), length(value)));
        let Some((name, length)) = longest.filter(|(_, length)| *length > LEAST) else {
            break;
        };
        let room = length.saturating_sub(excess).max(LEAST);
        let Some(value) = result.fields.get_mut(&name) else {
            break;
        };
        let cut = shorten(value, room, outputs);
        cuts.insert(name, cut);
        excess = size(result).saturating_sub(limit);
    }
    let names: Vec<&str> = cuts.keys().map(String::as_str).collect();
    let told = format!("cut {}", names.join(", "));
    result
        .fields
        .insert("truncated".to_owned(), Value::Object(cuts));
    Some(told)
}

fn size(result: &ToolResult) -> usize {
    let fields = result.fields.iter();
    fields
        .map(|(name, value)| name.len() + length(value) + 4)
        .sum()
}

/// How long a value is in JSON, about.
fn length(value: &Value) -> usize {
    match value {
        Value::String(text) => text.len() + 2,
        Value::Array(items) => items.iter().map(|item| length(item) + 1).sum::<usize>() + 2,
        Value::Object(map) => {
            let members = map.iter().map(|(key, value)| key.len() + length(value) + 4);
            members.sum::<usize>() + 2
        }
        value => value.to_string().len(),
    }
}

/// Shortens a value to about `room` bytes, and says how to get the rest.
fn shorten(value: &mut Value, room: usize, outputs: &Outputs) -> Value {
    match value {
        Value::String(text) => cut_text(text, room, outputs).told(),
        Value::Array(items) => {
            let lines: Vec<String> = items.iter().map(line).collect();
            let whole = lines.join("\n");
            let (count, length) = fitting(&lines, room);
            let head = whole.get(..length).unwrap_or_default();
            let cut = Cut::new(&whole, head, "", outputs);
            items.truncate(count);
            items.push(Value::String(cut.notice()));
            cut.told()
        }
        value => {
            let text = serde_json::to_string_pretty(value).unwrap_or_default();
            *value = Value::String(text);
            shorten(value, room, outputs)
        }
    }
}

/// Shortens a text to about `room` bytes of its beginning and its end.
fn cut_text(text: &mut String, room: usize, outputs: &Outputs) -> Cut {
    let whole = std::mem::take(text);
    let (head, tail) = ends(&whole, room);
    let cut = Cut::new(&whole, head, tail, outputs);
    *text = format!("{}\n{}\n{tail}", head.trim_end_matches('\n'), cut.notice());
    cut
}

/// What was left out of a text, and how to read it.
struct Cut {
    bytes: usize,
    left_out: usize,
    kept: io::Result<(String, String)>,
}

impl Cut {
    /// Keeps the whole text, of which only these ends are shown.
    fn new(whole: &str, head: &str, tail: &str, outputs: &Outputs) -> Self {
        let kept = outputs.keep(whole);
        Self {
            bytes: whole.len(),
            left_out: whole.len() - head.len() - tail.len(),
            kept: kept.map(|handle| {
                let next = read_on(&handle, head.as_bytes());
                (handle, next)
            }),
        }
    }

    /// The notice of what was left out, for the reader of the text.
    fn notice(&self) -> String {
        let missing = self.left_out;
        match &self.kept {
            Ok((_, next)) => format!("[… {missing} bytes left out; the rest: {next} …]"),
            Err(error) => format!("[… {missing} bytes lost: they could not be kept, {error} …]"),
        }
    }

    /// What was left out, as JSON for programs.
    fn told(&self) -> Value {
        let mut told = json!({"bytes": self.bytes, "left_out": self.left_out});
        if let (Ok((handle, next)), Some(told)) = (&self.kept, told.as_object_mut()) {
            told.insert("whole".to_owned(), json!(handle));
            told.insert("next".to_owned(), json!(next));
        }
        told
    }
}

/// How many of the lines fit, and how many bytes they have with the line break
/// behind each.
fn fitting(lines: &[String], room: usize) -> (usize, usize) {
    let mut length = 0;
    for (at, line) in lines.iter().enumerate() {
        if length + line.len() + 1 > room {
            return (at, length);
        }
        length += line.len() + 1;
    }
    (lines.len(), length)
}

fn line(item: &Value) -> String {
    match item {
        Value::String(text) => text.clone(),
        value => value.to_string(),
    }
}

/// The beginning and the end of a text, whole lines where there are any.
fn ends(text: &str, room: usize) -> (&str, &str) {
    let head = floor(text, room / 3 * 2);
    let head = match text.get(..head).and_then(|start| start.rfind('\n')) {
        Some(line_end) if line_end > head / 2 => line_end + 1,
        _ => head,
    };
    let tail = text.len() - room / 3;
    let tail = (tail..text.len())
        .find(|at| text.is_char_boundary(*at))
        .unwrap_or(text.len());
    let tail = match text.get(tail..).and_then(|end| end.find('\n')) {
        Some(line_end) if line_end < room / 6 => tail + line_end + 1,
        _ => tail,
    };
    (
        text.get(..head).unwrap_or(""),
        text.get(tail.max(head)..).unwrap_or(""),
    )
}

/// The last boundary of a character that is not behind `at`.
pub(crate) fn floor(text: &str, mut at: usize) -> usize {
    at = at.min(text.len());
    while !text.is_char_boundary(at) {
        at -= 1;
    }
    at
}
