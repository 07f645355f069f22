//! The preview of a result that a person sees, in a few lines.

use ptk_protocol::ToolResult;
use serde_json::Value;

/// Fields that hold the content of a result; the first that exists is used.
const CONTENT: [&str; 4] = ["content", "output", "result", "data"];
/// A longer value of another field is cut.
const MAX_VALUE: usize = 50;
/// A longer line is cut.
const MAX_LINE: usize = 200;

/// The field with the exit code of a program.
const EXIT_CODE: &str = "return_code";

/// Whether a call failed, as a person sees it: also where a program ran, and
/// ended with an exit code other than zero.
///
/// ```
/// use ptk_protocol::ToolResult;
/// use serde_json::json;
///
/// let result = ToolResult::success([("output", json!("")), ("return_code", json!(3))]);
/// assert!(result.success && ptk_tools::preview::is_failure(&result));
/// ```
#[must_use]
pub fn is_failure(result: &ToolResult) -> bool {
    let code = result.fields.get(EXIT_CODE).and_then(Value::as_i64);
    !result.success || code.is_some_and(|code| code != 0)
}

/// The first lines of a result.
///
/// ```
/// use ptk_protocol::ToolResult;
/// use serde_json::json;
///
/// let result = ToolResult::success([("content", json!("one\ntwo\nthree\nfour"))]);
/// assert_eq!(ptk_tools::preview::of(&result, 2), ["one", "two", "…"]);
/// ```
#[must_use]
pub fn of(result: &ToolResult, max_lines: usize) -> Vec<String> {
    if !result.success {
        let error = std::iter::once(format!("Error: {}", result.error));
        let suggestion = result.suggestion.iter();
        let lines = error.chain(suggestion.map(|text| format!("Suggestion: {text}")));
        return bounded(lines.flat_map(|text| lines_of(&text)), max_lines);
    }
    let content = CONTENT.iter().find_map(|name| result.fields.get(*name));
    if let Some(content) = content {
        let text = match content {
            Value::String(text) => text.clone(),
            value => value.to_string(),
        };
        if !text.trim().is_empty() {
            return bounded(lines_of(&text).into_iter(), max_lines);
        }
    }
    let fields = result.fields.iter().map(|(name, value)| {
        let text = match value {
            Value::String(text) => text.clone(),
            value => value.to_string(),
        };
        format!(
            "{name}: {}",
            cut(text.lines().next().unwrap_or(""), MAX_VALUE)
        )
    });
    let lines = bounded(fields, max_lines);
    if lines.is_empty() && max_lines > 0 {
        vec!["Success".to_owned()]
    } else {
        lines
    }
}

fn lines_of(text: &str) -> Vec<String> {
    text.lines().map(|line| cut(line, MAX_LINE)).collect()
}

/// At most so many lines, and a sign if there were more.
fn bounded(mut lines: impl Iterator<Item = String>, max_lines: usize) -> Vec<String> {
    let mut shown: Vec<String> = lines.by_ref().take(max_lines).collect();
    if max_lines > 0 && lines.next().is_some() {
        shown.push("…".to_owned());
    }
    shown
}

/// At most so many characters, and a sign if there were more.
fn cut(text: &str, max: usize) -> String {
    if text.chars().nth(max).is_none() {
        return text.to_owned();
    }
    let kept: String = text.chars().take(max.saturating_sub(1)).collect();
    format!("{kept}…")
}
