//! `tsc --pretty false`: `file(line,column): error TS2322: message`, with more
//! of the message on lines that are indented.

use super::{Output, lines};
use crate::tools::get_diagnostics::diagnostic::{RawDiagnostic, Reading, Severity, Unit};

pub(in super::super) fn read(output: Output<'_>, reading: &mut Reading) {
    let mut last: Option<RawDiagnostic> = None;
    for text in lines(output.stdout) {
        if let (true, Some(found)) = (text.starts_with("  "), &mut last) {
            found.message.push('\n');
            found.message.push_str(&text);
            continue;
        }
        if let Some(found) = last.take() {
            reading.push(whole(found));
        }
        last = line(&text).or_else(|| without_place(&text));
    }
    if let Some(found) = last {
        reading.push(whole(found));
    }
}

/// The diagnostic with its message bounded again.
fn whole(found: RawDiagnostic) -> RawDiagnostic {
    let bounded = RawDiagnostic::new("", 1, found.severity, &found.message).message;
    RawDiagnostic {
        message: bounded,
        ..found
    }
}

fn line(text: &str) -> Option<RawDiagnostic> {
    let (place, rest) = text.split_once("): ")?;
    let (path, position) = place.rsplit_once('(')?;
    let (line, column) = position.split_once(',')?;
    let (line, column) = (line.parse().ok()?, column.parse().ok()?);
    let (severity, code, message) = said(rest)?;
    Some(RawDiagnostic {
        column: Some(column),
        unit: Unit::Utf16,
        code: Some(code.to_owned()),
        ..RawDiagnostic::new(path, line, severity, message)
    })
}

/// Reads `error TS18003: No inputs were found …`, about the whole project.
fn without_place(text: &str) -> Option<RawDiagnostic> {
    let (severity, code, message) = said(text)?;
    Some(RawDiagnostic {
        code: Some(code.to_owned()),
        ..RawDiagnostic::new("tsconfig.json", 1, severity, message)
    })
}

fn said(text: &str) -> Option<(Severity, &str, &str)> {
    let (head, message) = text.split_once(": ")?;
    let (severity, code) = head.split_once(' ')?;
    let is_code = code.strip_prefix("TS")?.parse::<u32>().is_ok();
    is_code.then_some((Severity::named(severity)?, code, message))
}
