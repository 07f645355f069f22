//! Results of a size that a model can take. Nothing is cut silently: the whole
//! is kept, and what is left says how to read the rest.

use ptk_protocol::ToolResult;
use serde_json::{Map, Value, json};

use crate::Outputs;

/// How long a result may be by default, in bytes of its JSON.
pub const DEFAULT_LIMIT: usize = 48 * 1024;
/// A field that is cut keeps at least this much.
const LEAST: usize = 256;

/// Cuts what is too long, the longest fields first. Gives back what it did, if
/// anything.
pub(crate) fn bound(result: &mut ToolResult, limit: usize, outputs: &Outputs) -> Option<String> {
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
    let whole = match &mut *value {
        Value::String(text) => std::mem::take(text),
        Value::Array(items) => {
            let lines: Vec<String> = items.iter().map(line).collect();
            lines.join("\n")
        }
        value => serde_json::to_string_pretty(value).unwrap_or_default(),
    };
    let kept = outputs.keep(&whole);
    let (head, tail) = ends(&whole, room);
    let missing = whole.len() - head.len() - tail.len();
    let next_line = head.lines().count() + 1;
    let how = match &kept {
        Ok(handle) => format!("read_file(path=\"{handle}\", offset={next_line})"),
        Err(_) => String::new(),
    };
    let notice = match &kept {
        Ok(_) => format!("[… {missing} bytes left out; the rest: {how} …]"),
        Err(error) => format!("[… {missing} bytes lost: they could not be kept, {error} …]"),
    };
    if let Value::Array(items) = value {
        items.truncate(head.lines().count());
        items.push(Value::String(notice));
    } else {
        *value = Value::String(format!("{head}\n{notice}\n{tail}"));
    }
    let mut cut = json!({"bytes": whole.len(), "left_out": missing});
    if let (Ok(handle), Some(cut)) = (&kept, cut.as_object_mut()) {
        cut.insert("whole".to_owned(), json!(handle));
        cut.insert("next".to_owned(), json!(how));
    }
    cut
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
        Some(line_end) if line_end > head / 2 => line_end,
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
