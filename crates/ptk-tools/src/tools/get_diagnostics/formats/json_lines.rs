//! An object a line, with the names that results have. The easiest to write
//! for a script of one's own.

use serde::Deserialize;

use super::{Output, objects};
use crate::tools::get_diagnostics::diagnostic::{RawDiagnostic, Reading, Severity};

#[derive(Deserialize)]
struct Object {
    file: String,
    line: u64,
    column: Option<u64>,
    end_line: Option<u64>,
    #[serde(default = "error")]
    severity: Severity,
    message: String,
    code: Option<String>,
    source: Option<String>,
}

const fn error() -> Severity {
    Severity::Error
}

pub(in super::super) fn read(output: Output<'_>, reading: &mut Reading) {
    for one in objects::<Object>(output.stdout, reading) {
        reading.push(RawDiagnostic {
            column: one.column,
            end_line: one.end_line,
            code: one.code,
            source: one.source,
            ..RawDiagnostic::new(one.file, one.line, one.severity, &one.message)
        });
    }
}
