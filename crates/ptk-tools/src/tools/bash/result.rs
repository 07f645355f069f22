//! The result of a command that has ended.

use std::time::Duration;

use ptk_protocol::ToolResult;
use serde_json::Value;

use super::NonZero;
use crate::process::{Captured, Ended, Exit, Reason, overwritten};
use crate::{Fields, ToolError, preview};

/// Texts of programs that wait for an answer.
const QUESTIONS: [&str; 13] = [
    "[y/n]",
    "(y/n)",
    "(yes/no",
    "password:",
    "passphrase",
    "press enter",
    "press any key",
    "eoferror",
    "eof when reading",
    "not a tty",
    "not a terminal",
    "no tty present",
    "terminal is required",
];

const LOOK: &str = "Its output and stderr say why. Mend that, then run it again.";

/// The fields of a result, or of a failure that carries them.
pub(super) fn of(
    ended: &Ended,
    limit: Duration,
    note: Option<String>,
    nonzero: NonZero,
) -> Result<Fields, ToolError> {
    let seconds = limit.as_secs_f64();
    let mut fields = fields(ended);
    let notes = note.into_iter().chain(leftovers(ended));
    let notes: Vec<String> = notes.chain(refused(ended)).collect();
    if !notes.is_empty() {
        fields.insert("note".to_owned(), notes.join(" ").into());
    }
    let error = match ended.reason {
        Reason::Finished => {
            let hint = hint(ended).or_else(|| renamed(ended)).map(Value::from);
            fields.extend(hint.map(|hint| ("hint".to_owned(), hint)));
            match (nonzero, ended.exit) {
                (NonZero::Success, _) | (_, Exit::Code(0)) => return Ok(fields),
                (NonZero::Failure, Exit::Code(code)) => {
                    ToolError::user(format!("The command failed with exit code {code}"))
                        .suggest(LOOK)
                }
                (NonZero::Failure, Exit::Signal(signal)) => {
                    ToolError::user(format!("The command was ended by signal {signal}"))
                        .suggest(LOOK)
                }
            }
        }
        Reason::TimedOut => {
            fields.insert("timed_out".to_owned(), true.into());
            ToolError::system(format!("The command timed out after {seconds} s and was ended"))
                .suggest("Its output so far is here. Give it more time with timeout (at most 600), do less at once, or start it with run_in_background=true.")
        }
        Reason::Cancelled => {
            fields.insert("cancelled".to_owned(), true.into());
            ToolError::system("The command was cancelled")
                .suggest("It did not finish. Look at what it left before you go on.")
        }
        Reason::Stopped => ToolError::system(
            "The command wanted to use the terminal, or stopped itself, and was ended",
        )
        .suggest("There is no terminal, so nothing can answer questions. Use flags such as --yes or --non-interactive, or pipe the answers in."),
        Reason::Lost => ToolError::system(
            "The process that watches over the command was killed, so how it ended is not known",
        )
        .suggest("Processes of it may still run. Look for them with ps before you go on, and do not kill the parent of a command."),
    };
    Err(ToolError {
        fields: Box::new(fields),
        ..error
    })
}

/// The fields that every command has.
fn fields(ended: &Ended) -> Fields {
    let mut fields = Fields::new();
    fields.insert("output".to_owned(), ended.stdout.text().into());
    fields.insert("stderr".to_owned(), ended.stderr.text().into());
    fields.extend(left_out(ended));
    fields.extend(exit(ended));
    fields.insert("sandbox".to_owned(), ended.protections.to_string().into());
    let duration = u64::try_from(ended.duration.as_millis()).unwrap_or(u64::MAX);
    fields.insert("duration_ms".to_owned(), duration.into());
    fields
}

/// Which output is not shown, as fields.
pub(crate) fn left_out(ended: &Ended) -> Fields {
    let streams = [("output", &ended.stdout), ("stderr", &ended.stderr)];
    let mut fields = Fields::new();
    if streams.iter().any(|(_, stream)| stream.is_cut()) {
        fields.insert("truncated".to_owned(), true.into());
    }
    let notices = streams.map(|(name, stream)| overwritten(name, stream));
    let notices: Vec<String> = notices.into_iter().flatten().collect();
    if !notices.is_empty() {
        fields.insert("notice".to_owned(), notices.join("\n").into());
    }
    fields
}

/// A note on files that it was kept from writing.
fn refused(ended: &Ended) -> Option<String> {
    let files = ended.refused.join(", ");
    (!files.is_empty()).then(|| {
        format!(
            "It was not allowed to write {files}: that takes effect later, outside the sandbox. \
             Use write_file or edit, so that the user can decide."
        )
    })
}

/// A note on what it left running.
fn leftovers(ended: &Ended) -> impl Iterator<Item = String> {
    let left = (ended.left_behind > 0).then_some(
        "It left processes running, and they were ended; use run_in_background=true for what is to go on.",
    );
    let survived = (ended.survived > 0)
        .then_some("Some of its processes could not be ended; they may belong to another user.");
    left.into_iter().chain(survived).map(str::to_owned)
}

/// How a command ended, and what it left, as fields.
pub(super) fn exit(ended: &Ended) -> Fields {
    let mut fields = Fields::new();
    match ended.exit {
        Exit::Code(code) => fields.insert("return_code".to_owned(), code.into()),
        Exit::Signal(signal) => {
            fields.insert("return_code".to_owned(), (-1).into());
            fields.insert("signal".to_owned(), signal.into())
        }
    };
    if ended.left_behind > 0 {
        fields.insert("left_behind".to_owned(), ended.left_behind.into());
    }
    if ended.survived > 0 {
        fields.insert("still_running".to_owned(), ended.survived.into());
    }
    fields
}

/// A note on a command that seems to have waited for an answer.
fn hint(ended: &Ended) -> Option<&'static str> {
    if ended.exit == Exit::Code(0) {
        return None;
    }
    let asks = [&ended.stdout, &ended.stderr].into_iter().any(|stream| {
        let text = stream.text();
        let last = text.lines().last().unwrap_or("").to_lowercase();
        let is_open = !text.ends_with('\n') && last.trim_end().ends_with(['?', ':']);
        is_open || QUESTIONS.iter().any(|question| last.contains(question))
    });
    asks.then_some("It seems to have asked for something, and got no answer: there is no input. Use flags such as --yes, or pipe the answer in.")
}

/// A note on a folder that could not be renamed. Over a layer that is not
/// possible in one step with a folder that was there before.
fn renamed(ended: &Ended) -> Option<&'static str> {
    let said = |stream: &Captured| {
        let text = stream.text();
        ["cross-device link", "EXDEV"]
            .iter()
            .any(|words| text.contains(words))
    };
    let is_it = ended.exit != Exit::Code(0) && (said(&ended.stdout) || said(&ended.stderr));
    is_it.then_some("A folder that was there before cannot be renamed in one step here. Use mv, which copies it, or cp -a and rm -r; for git, git add -A afterwards.")
}

/// A preview: the exit code, unless it is zero, then the output.
pub(super) fn preview(result: &ToolResult, max_lines: usize) -> Vec<String> {
    let code = result.fields.get("return_code").and_then(Value::as_i64);
    let Some(code) = code.filter(|_| result.success && max_lines > 0) else {
        return preview::of(result, max_lines);
    };
    let mut lines = Vec::new();
    if code != 0 {
        lines.push(format!("Exit code: {code}"));
    }
    let shown = ["output", "stderr"].into_iter().find(|name| {
        let text = result.fields.get(*name).and_then(Value::as_str);
        text.is_some_and(|text| !text.trim().is_empty())
    });
    match shown.and_then(|name| result.fields.get(name)) {
        Some(text) => {
            let content = ToolResult::success([("output", text.clone())]);
            lines.extend(preview::of(&content, max_lines - lines.len()));
        }
        None if lines.is_empty() => lines.push("No output".to_owned()),
        None => {}
    }
    lines
}
