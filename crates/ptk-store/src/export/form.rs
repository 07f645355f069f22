//! The form of an export in Markdown: what of a session is shown, and in which
//! blocks.

use ptk_protocol::ToolResult;

/// Characters shown of what a tool was given, and of what it gave back.
const MAX_SHOWN: usize = 4000;

/// Whether the export shows the model's thoughts.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Thoughts {
    /// Shows only what the model said.
    #[default]
    LeftOut,
    /// Shows the model's thoughts, too, and why it made calls.
    Shown,
}

/// A remark of the exporter, as a block quote.
pub(super) fn remark(what: &str, text: &str) -> String {
    let quoted = text.trim_end().replace('\n', "\n> ");
    format!("\n> **{what}:** {quoted}\n")
}

/// The result of a call: a text as text, everything else as JSON.
pub(super) fn result(result: &ToolResult) -> String {
    let payload = result.payload();
    match payload.as_str() {
        Some(text) => fenced("text", text),
        None => fenced("json", &payload.to_string()),
    }
}

pub(super) fn fenced(language: &str, text: &str) -> String {
    let shown: String = text.chars().take(MAX_SHOWN).collect();
    let missing = text.len() - shown.len();
    let fence = "`".repeat(longest_run(&shown).max(2) + 1);
    let shown = shown.trim_end_matches('\n');
    let mut text = format!("\n{fence}{language}\n{shown}\n{fence}\n");
    if missing > 0 {
        text.push_str(&format!("\n({missing} more bytes are in the log.)\n"));
    }
    text
}

/// The longest run of backticks in a text.
fn longest_run(text: &str) -> usize {
    let runs = text.split(|char| char != '`').map(str::len);
    runs.max().unwrap_or(0)
}

pub(super) fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}
