//! What rustc and cargo write as JSON, an object a line.

use std::path::{Path, PathBuf};

use serde::Deserialize;

use super::{Output, objects};
use crate::tools::get_diagnostics::diagnostic::{RawDiagnostic, Reading, Severity};

/// Characters of notes and helps that are shown with a message.
const MAX_HELP: usize = 300;
/// Macros within macros that are looked through.
const MAX_EXPANSIONS: usize = 16;

/// A line of cargo's, which wraps rustc's, or one of rustc's itself.
#[derive(Deserialize)]
#[serde(untagged)]
enum CargoLine {
    Cargo {
        manifest_path: PathBuf,
        target: Target,
        message: Told,
    },
    Rustc(Told),
    Other {},
}

#[derive(Deserialize)]
struct Target {
    src_path: String,
}

#[derive(Deserialize)]
struct Told {
    message: String,
    level: String,
    code: Option<Code>,
    spans: Vec<Span>,
    #[serde(default)]
    children: Vec<Child>,
}

#[derive(Deserialize)]
struct Code {
    code: String,
}

#[derive(Deserialize)]
struct Child {
    message: String,
    level: String,
}

#[derive(Deserialize)]
struct Span {
    file_name: String,
    line_start: u64,
    line_end: u64,
    column_start: u64,
    is_primary: bool,
    label: Option<String>,
    expansion: Option<Box<Expansion>>,
}

#[derive(Deserialize)]
struct Expansion {
    span: Span,
}

pub(in super::super) fn read(output: Output<'_>, reading: &mut Reading) {
    for line in objects::<CargoLine>(output.stdout, reading) {
        let (message, base, whole) = match line {
            CargoLine::Cargo {
                manifest_path,
                target,
                message,
            } => {
                let base = manifest_path.parent().map(Path::to_owned);
                (message, base, Some(target.src_path))
            }
            CargoLine::Rustc(message) => (message, None, None),
            CargoLine::Other {} => continue,
        };
        if let Some(mut found) = diagnostic(message, whole) {
            found.base = base;
            reading.push(found);
        }
    }
}

/// The diagnostic of a message; `whole` is the file to name where the message
/// has no place.
fn diagnostic(message: Told, whole: Option<String>) -> Option<RawDiagnostic> {
    let level = message.level.split(':').next().unwrap_or_default();
    // `failure-note` and the like say how to learn more.
    let severity = Severity::named(level)?;
    let mut spans = message.spans.into_iter();
    let primary = spans.find(|span| span.is_primary);
    let mut text = message.message;
    let label = primary.as_ref().and_then(|span| span.label.clone());
    if let Some(label) = label.filter(|label| !label.is_empty() && !text.contains(label.as_str())) {
        text.push_str(": ");
        text.push_str(&label);
    }
    let mut room = MAX_HELP;
    for child in message.children {
        let is_default =
            child.message.contains(" on by default") || child.message.contains("` implied by `");
        let length = child.message.chars().count();
        if is_default || child.message.is_empty() || length > room {
            continue;
        }
        room -= length;
        text.push_str(&format!("\n{}: {}", child.level, child.message));
    }
    let code = message.code.map(|code| code.code);
    let Some(span) = primary.map(written) else {
        let is_summary = text.starts_with("aborting due to") || text.ends_with(" emitted");
        return whole.filter(|_| !is_summary).map(|path| RawDiagnostic {
            code,
            ..RawDiagnostic::new(path, 1, severity, &text)
        });
    };
    Some(RawDiagnostic {
        column: Some(span.column_start),
        end_line: Some(span.line_end),
        code,
        ..RawDiagnostic::new(span.file_name, span.line_start, severity, &text)
    })
}

/// The place in the code: for a macro of another crate, where it is used.
fn written(mut span: Span) -> Span {
    for _ in 0..MAX_EXPANSIONS {
        let is_own = !span.file_name.starts_with(['/', '<']);
        match span.expansion.take() {
            Some(expansion) if !is_own => span = expansion.span,
            _ => break,
        }
    }
    span
}
