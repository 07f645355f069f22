//! `ruff check --output-format json-lines`.

use serde::Deserialize;

use super::{Output, objects};
use crate::tools::get_diagnostics::diagnostic::{RawDiagnostic, Reading, Severity};

/// Violations that are errors. Ruff calls everything an error; these are what
/// its own language server calls one.
const ERRORS: [&str; 4] = ["invalid-syntax", "F821", "E902", "E999"];

#[derive(Deserialize)]
struct Violation {
    code: Option<String>,
    filename: String,
    location: RuffLocation,
    end_location: RuffLocation,
    message: String,
    fix: Option<Fix>,
}

#[derive(Deserialize)]
struct RuffLocation {
    row: u64,
    column: u64,
}

#[derive(Deserialize)]
struct Fix {
    message: Option<String>,
}

pub(in super::super) fn read(output: Output<'_>, reading: &mut Reading) {
    for violation in objects::<Violation>(output.stdout, reading) {
        let severity = match violation.code.as_deref() {
            Some(code) if !ERRORS.contains(&code) => Severity::Warning,
            _ => Severity::Error,
        };
        let fix = violation.fix.and_then(|fix| fix.message);
        let message = match fix {
            Some(fix) => format!("{}\nhelp: {fix}", violation.message),
            None => violation.message,
        };
        reading.push(RawDiagnostic {
            column: Some(violation.location.column),
            end_line: Some(violation.end_location.row),
            code: violation.code,
            ..RawDiagnostic::new(
                violation.filename,
                violation.location.row,
                severity,
                &message,
            )
        });
    }
}
