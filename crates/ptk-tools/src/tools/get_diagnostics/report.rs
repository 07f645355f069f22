//! The result: the requested diagnostics, page by page, and how the runs of the
//! checkers ended.

use std::fmt;

use ptk_protocol::ToolResult;
use serde::Serialize;
use serde_json::Value;

use super::args::{DiagnosticsArgs, SeverityFilter};
use super::check::{CheckOutcome, Checked, Status};
use super::diagnostic::{Diagnostic, Severity};
use crate::{ToolError, preview};

/// Bytes of the diagnostics of one result, so that no page is cut later.
const MAX_PAGE: usize = 32 * 1024;

/// The result of `get_diagnostics`.
#[derive(Debug, Serialize)]
pub struct Report {
    summary: String,
    diagnostics: Vec<Diagnostic>,
    errors: usize,
    warnings: usize,
    total: usize,
    checkers: Vec<Checked>,
    #[serde(skip_serializing_if = "Option::is_none")]
    next: Option<String>,
    /// How many are about files that rules forbid to see.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) not_allowed: Option<usize>,
}

impl Report {
    /// The requested page of all that was found, in order. `elsewhere` are the
    /// errors in files outside the requested scope.
    pub(super) fn new(
        mut all: Vec<Diagnostic>,
        elsewhere: usize,
        checkers: Vec<Checked>,
        args: &DiagnosticsArgs,
    ) -> Self {
        let counts = Counts::of(&all);
        match args.severity() {
            SeverityFilter::Error => all.retain(|one| one.severity == Severity::Error),
            SeverityFilter::Warning => all.retain(|one| one.severity <= Severity::Warning),
            SeverityFilter::All => {}
        }
        let total = all.len();
        let mut summary = summary(counts, total, &checkers, args);
        if elsewhere > 0 {
            let errors = counted(elsewhere, "error");
            summary.push_str(&format!("; {errors} elsewhere, which may hide others here"));
        }
        let mut size = 0;
        let page = all.into_iter().skip(args.offset()).take(args.limit());
        let diagnostics: Vec<Diagnostic> = page
            .enumerate()
            .take_while(|(index, one)| {
                size += one.file.len() + one.message.len() + one.source.len() + 120;
                *index == 0 || size <= MAX_PAGE
            })
            .map(|(_, one)| one)
            .collect();
        let end = args.offset() + diagnostics.len();
        let next = (end < total && !diagnostics.is_empty()).then(|| args.at(end));
        Self {
            summary,
            diagnostics,
            errors: counts.errors,
            warnings: counts.warnings,
            total,
            checkers,
            next,
            not_allowed: None,
        }
    }
}

/// How many diagnostics there are, of every severity.
#[derive(Debug, Clone, Copy)]
struct Counts {
    errors: usize,
    warnings: usize,
    others: usize,
}

impl Counts {
    fn of(all: &[Diagnostic]) -> Self {
        let count = |severity| all.iter().filter(|one| one.severity == severity).count();
        let (errors, warnings) = (count(Severity::Error), count(Severity::Warning));
        Self {
            errors,
            warnings,
            others: all.len() - errors - warnings,
        }
    }
}

impl fmt::Display for Counts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&counted(self.errors, "error"))?;
        write!(f, ", {}", counted(self.warnings, "warning"))?;
        if self.others > 0 {
            write!(f, ", {}", counted(self.others, "hint"))?;
        }
        Ok(())
    }
}

fn summary(counts: Counts, total: usize, checkers: &[Checked], args: &DiagnosticsArgs) -> String {
    let ran = checkers.iter().filter(|one| one.status == Status::Ok);
    let names: Vec<&str> = ran.map(|one| one.name.as_str()).collect();
    let by = match names.as_slice() {
        [] => String::new(),
        names => format!(
            " by {} ({})",
            names.join(", "),
            counted(names.len(), "checker")
        ),
    };
    let of = args.file.as_deref().map(|file| format!(" in {file}"));
    let of = of.unwrap_or_default();
    let is_clean = counts.errors + counts.warnings + counts.others == 0;
    let mut summary = match (total, args.severity()) {
        (0, SeverityFilter::Error) if !is_clean => {
            format!("No errors found{of}{by}; {counts} in all")
        }
        (0, SeverityFilter::Warning) if !is_clean => {
            format!("No errors or warnings found{of}{by}; {counts} in all")
        }
        (0, _) => format!("No problems found{of}{by}"),
        _ => format!("{counts} found{of}{by}"),
    };
    let others = checkers.iter().filter(|one| one.status != Status::Ok);
    for other in others {
        summary.push_str(match other.status {
            Status::Missing => "; not installed: ",
            _ => "; failed: ",
        });
        summary.push_str(&other.name);
    }
    summary
}

fn counted(count: usize, what: &str) -> String {
    let s = if count == 1 { "" } else { "s" };
    format!("{count} {what}{s}")
}

/// The error if all checkers failed.
pub(super) fn failure(outcomes: Vec<CheckOutcome>) -> ToolError {
    let is_late = outcomes.iter().any(|outcome| outcome.is_late);
    let all_missing = outcomes
        .iter()
        .all(|outcome| outcome.checked.status == Status::Missing);
    let checkers: Vec<Checked> = outcomes
        .into_iter()
        .map(|outcome| outcome.checked)
        .collect();
    let told = checkers.iter().map(|one| {
        let note = one.note.as_deref().unwrap_or("failed");
        match one.status {
            Status::Missing => note.to_owned(),
            _ => format!("{}: {note}", one.name),
        }
    });
    let told = told.collect::<Vec<_>>().join("; ");
    let error = if all_missing {
        ToolError::user(format!("No checker could run: {told}"))
            .suggest("Ask the user to install one of them, or to name a checker in ptk.toml: [diagnostics] command = [\"make\", \"check\"].")
            .advise("Install one of them, or name a checker in ptk.toml: [diagnostics] command = [\"make\", \"check\"].")
    } else if is_late {
        ToolError::system(format!("The check did not end in time: {told}"))
            .suggest("Try again, since much of the work may be kept; ask about one file; or ask the user for a longer `timeout` under [diagnostics] in ptk.toml.")
            .advise("Try again, since much of the work may be kept; ask about one file; or set a longer `timeout` under [diagnostics] in ptk.toml.")
            .with("timed_out", true)
    } else {
        ToolError::user(format!("The check failed: {told}"))
            .suggest("Mend what the checker complains about, such as the project's own file, and call get_diagnostics again. If it does not say enough, run it with bash.")
            .advise("Mend what the checker complains about, such as the project's own file. If it does not say enough, run it yourself.")
    };
    error.with(
        "checkers",
        serde_json::to_value(checkers).unwrap_or_default(),
    )
}

/// A preview: how many diagnostics there are, then the first of them.
pub(super) fn preview(result: &ToolResult, max_lines: usize) -> Vec<String> {
    let field = |name: &str| result.fields.get(name);
    let count = |name| {
        field(name)
            .and_then(Value::as_u64)
            .and_then(|count| usize::try_from(count).ok())
    };
    let (true, Some(errors), Some(warnings)) = (
        result.success && max_lines > 0,
        count("errors"),
        count("warnings"),
    ) else {
        return preview::of(result, max_lines);
    };
    let all = field("diagnostics")
        .and_then(Value::as_array)
        .cloned()
        .unwrap_or_default();
    if all.is_empty() {
        let summary = field("summary").and_then(Value::as_str).unwrap_or_default();
        return vec![summary.to_owned()];
    }
    let lines = all.into_iter().filter_map(|one| {
        let one: Diagnostic = serde_json::from_value(one).ok()?;
        let column = one
            .column
            .map(|column| format!(":{column}"))
            .unwrap_or_default();
        let severity = format!("{:?}", one.severity).to_lowercase();
        let message = one.message.lines().next().unwrap_or_default();
        Some(format!(
            "{}:{}{column} {severity}: {message}",
            one.file, one.line
        ))
    });
    let total = count("total").unwrap_or_default();
    let head = Counts {
        errors,
        warnings,
        others: total.saturating_sub(errors + warnings),
    };
    let head = head.to_string();
    let text = std::iter::once(head)
        .chain(lines)
        .collect::<Vec<_>>()
        .join("\n");
    let content = ToolResult::success([("content", Value::from(text))]);
    preview::of(&content, max_lines)
}
