//! `pyright --outputjson`.

use serde::Deserialize;

use super::Output;
use crate::tools::get_diagnostics::diagnostic::{RawDiagnostic, Reading, Severity, Unit};

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct PyrightReport {
    general_diagnostics: Vec<PyrightDiagnostic>,
}

#[derive(Deserialize)]
struct PyrightDiagnostic {
    file: String,
    severity: String,
    message: String,
    range: Option<PyrightRange>,
    rule: Option<String>,
}

#[derive(Deserialize)]
struct PyrightRange {
    start: PyrightPosition,
    end: PyrightPosition,
}

/// From 0, in UTF-16.
#[derive(Deserialize)]
struct PyrightPosition {
    line: u64,
    character: u64,
}

pub(in super::super) fn read(output: Output<'_>, reading: &mut Reading) {
    // It may print other text before the JSON.
    let start = output.stdout.iter().position(|byte| *byte == b'{');
    let json = start.and_then(|start| output.stdout.get(start..));
    let report: PyrightReport = match json.map(serde_json::from_slice) {
        None => return reading.broken("it wrote no JSON"),
        Some(Err(error)) => return reading.broken(format!("its JSON cannot be read: {error}")),
        Some(Ok(report)) => report,
    };
    for item in report.general_diagnostics {
        let severity = Severity::named(&item.severity).unwrap_or(Severity::Warning);
        let start = item.range.as_ref().map(|range| &range.start);
        let line = start.map_or(1, |start| start.line.saturating_add(1));
        reading.push(RawDiagnostic {
            column: start.map(|start| start.character.saturating_add(1)),
            unit: Unit::Utf16,
            end_line: item.range.map(|range| range.end.line.saturating_add(1)),
            code: item.rule,
            ..RawDiagnostic::new(item.file, line, severity, &item.message)
        });
    }
}
