//! The answer, taken from the result of a call.
//!
//! Whatever value is given stands in the result; only counts and a few words
//! around are our own.

mod lines;
mod passage;
mod question;
mod table;

use ptk_protocol::json;
use serde_json::{Map, Value};

use question::Question;

/// How many entries of a list are told.
const MOST_ENTRIES: usize = 60;

/// Where a result that was too long for the window was cut. JSON has no such
/// line break.
const CUT: &str = "\n… ";

/// How much of a text is told, in letters.
const MOST_LETTERS: usize = 4_000;

/// How much of a text that was written is told again, in letters.
const MOST_WRITTEN: usize = 400;

/// What was called, and what came of it.
#[derive(Debug, Clone)]
pub(super) struct Outcome<'a> {
    /// What the person asked for.
    pub(super) request: &'a str,
    /// What the tool was given.
    pub(super) arguments: Map<String, Value>,
    /// What it gave back.
    pub(super) text: &'a str,
    /// Whether it failed.
    pub(super) is_error: bool,
}

/// The answer to a request, in the light of a result.
pub(super) fn answer(outcome: &Outcome<'_>) -> String {
    let Some(fields) = fields(outcome.text) else {
        return told_text(outcome, outcome.text);
    };
    if outcome.is_error || fields.get("ok") == Some(&Value::Bool(false)) {
        return failure(&fields);
    }
    if let Some(content) = fields.get("content").and_then(Value::as_str) {
        return told_text(outcome, content);
    }
    for list in ["matches", "files", "entries", "results"] {
        if let Some(Value::Array(entries)) = fields.get(list) {
            return listing(outcome, list, entries, &fields);
        }
    }
    if let Some(Value::Object(counts)) = fields.get("counts") {
        let lines = counts
            .iter()
            .map(|(path, count)| format!("{path}: {count}"));
        return bounded(&lines.collect::<Vec<_>>().join("\n"));
    }
    if let Some(path) = fields.get("path").and_then(Value::as_str) {
        return written(outcome, path, &fields);
    }
    if let Some(output) = fields.get("output").and_then(Value::as_str) {
        return printed(output, &fields);
    }
    bounded(&all_fields(&fields))
}

/// The fields of a result. Of one that was too long for the window, those
/// before the part that was left out: what comes behind it stands in lines
/// that nobody has counted.
fn fields(text: &str) -> Option<Map<String, Value>> {
    if let Ok(Value::Object(fields)) = serde_json::from_str(text) {
        return Some(fields);
    }
    let (head, _) = text.split_once(CUT)?;
    let head = json::repair(head).ok()?;
    let fields = serde_json::from_str::<Value>(&head.json).ok()?;
    fields.as_object().cloned()
}

/// What went wrong, and what to do about it.
fn failure(fields: &Map<String, Value>) -> String {
    let text = |name: &str| fields.get(name).and_then(Value::as_str).unwrap_or_default();
    let error = text("error");
    // `read_file(path="a.txt"): File not found: a.txt` says the call first.
    let plain = match error.split_once("): ") {
        Some((call, plain)) if call.contains('(') => plain,
        _ => error,
    };
    let plain = if plain.is_empty() {
        "The call failed."
    } else {
        plain
    };
    bounded(&format!("{plain}\n{}", text("suggestion")))
}

/// The part of a text that answers the question, or all of it.
fn told_text(outcome: &Outcome<'_>, text: &str) -> String {
    if text.trim().is_empty() {
        return "It is empty.".to_owned();
    }
    let question = Question::new(outcome.request, &outcome.arguments);
    let path = outcome.arguments.get("path").and_then(Value::as_str);
    let found = table::answer(&question, text).or_else(|| passage::answer(&question, text, path));
    bounded(&found.unwrap_or_else(|| text.to_owned()))
}

/// What a search or a list gave.
fn listing(
    outcome: &Outcome<'_>,
    list: &str,
    entries: &[Value],
    fields: &Map<String, Value>,
) -> String {
    let sought = sought(&outcome.arguments);
    if entries.is_empty() {
        let note = fields
            .get("note")
            .and_then(Value::as_str)
            .unwrap_or_default();
        let note = note.split_once(". ").map_or(note, |(first, _)| first);
        let note = note.trim_end_matches('.');
        return match sought {
            Some(sought) => format!("No, {sought} was not found. {note}."),
            None => "No, nothing is there: it is empty.".to_owned(),
        };
    }
    let total = fields.get("total").and_then(Value::as_u64);
    let total = total.unwrap_or(entries.len() as u64);
    let what = match (list, total) {
        ("matches", 1) => "line".to_owned(),
        ("matches", _) => "lines".to_owned(),
        (_, 1) => "entry".to_owned(),
        _ => "entries".to_owned(),
    };
    let mut told: Vec<String> = entries.iter().take(MOST_ENTRIES).map(plain).collect();
    let untold = usize::try_from(total)
        .unwrap_or(usize::MAX)
        .saturating_sub(told.len());
    if untold > 0 {
        told.push(format!("… and {untold} more"));
    }
    let lead = match sought {
        Some(sought) if list == "matches" => format!("{total} {what} with {sought}:"),
        Some(sought) => format!("{total} {what} for {sought}:"),
        None => format!("{total} {what}:"),
    };
    bounded(&format!("{lead}\n{}", told.join("\n")))
}

/// What was looked for, and where.
fn sought(arguments: &Map<String, Value>) -> Option<String> {
    let text = |name: &str| arguments.get(name).and_then(Value::as_str);
    let what = ["pattern", "query", "glob"].into_iter().find_map(text)?;
    let place = ["path", "directory"].into_iter().find_map(text);
    Some(match place.filter(|place| *place != ".") {
        Some(place) => format!("`{what}` in {place}"),
        None => format!("`{what}`"),
    })
}

/// What was written where.
fn written(outcome: &Outcome<'_>, path: &str, fields: &Map<String, Value>) -> String {
    if let Some(diff) = fields.get("diff").and_then(Value::as_str) {
        return bounded(&format!("Changed {path}:\n{diff}"));
    }
    let verb = match fields.get("created").and_then(Value::as_bool) {
        Some(true) => "Created",
        _ => "Wrote",
    };
    let content = outcome.arguments.get("content").and_then(Value::as_str);
    match content.filter(|content| content.chars().count() <= MOST_WRITTEN) {
        Some(content) => format!("{verb} {path}:\n{content}"),
        None => format!("{verb} {path}."),
    }
}

/// What a command printed.
fn printed(output: &str, fields: &Map<String, Value>) -> String {
    let errors = fields
        .get("stderr")
        .and_then(Value::as_str)
        .unwrap_or_default();
    let code = fields
        .get("return_code")
        .and_then(Value::as_i64)
        .unwrap_or(0);
    let mut told = format!("{}\n{}", output.trim_end(), errors.trim_end())
        .trim()
        .to_owned();
    if code != 0 {
        told.push_str(&format!("\nExit code {code}."));
    }
    if told.trim().is_empty() {
        return "Done; it printed nothing.".to_owned();
    }
    bounded(told.trim())
}

fn all_fields(fields: &Map<String, Value>) -> String {
    let told = fields.iter().filter(|(name, _)| *name != "ok");
    let told: Vec<String> = told
        .map(|(name, value)| format!("{name}: {}", plain(value)))
        .collect();
    if told.is_empty() {
        return "Done.".to_owned();
    }
    told.join("\n")
}

fn plain(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

fn bounded(text: &str) -> String {
    let text = text.trim_end();
    match text.char_indices().nth(MOST_LETTERS) {
        Some((end, _)) => format!("{}\n…", text.get(..end).unwrap_or_default()),
        None => text.to_owned(),
    }
}
