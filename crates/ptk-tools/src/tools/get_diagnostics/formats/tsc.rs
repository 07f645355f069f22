//! `tsc --pretty false`: `file(line,column): error TS2322: message`, with more
//! of the message on lines that are indented.

use super::{Output, lines};
use crate::tools::get_diagnostics::diagnostic::{Found, Reading, Severity, Unit};

pub(in super::super) fn read(output: Output<'_>, reading: &mut Reading) {
    let mut last: Option<Found> = None;
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
fn whole(found: Found) -> Found {
    let bounded = Found::new("", 1, found.severity, &found.message).message;
    Found {
        message: bounded,
        ..found
    }
}

fn line(text: &str) -> Option<Found> {
    let (place, rest) = text.split_once("): ")?;
    let (path, position) = place.rsplit_once('(')?;
    let (line, column) = position.split_once(',')?;
    let (line, column) = (line.parse().ok()?, column.parse().ok()?);
    let (severity, code, message) = said(rest)?;
    Some(Found {
        column: Some(column),
        unit: Unit::Utf16,
        code: Some(code.to_owned()),
        ..Found::new(path, line, severity, message)
    })
}

/// Reads `error TS18003: No inputs were found …`, about the whole project.
fn without_place(text: &str) -> Option<Found> {
    let (severity, code, message) = said(text)?;
    Some(Found {
        code: Some(code.to_owned()),
        ..Found::new("tsconfig.json", 1, severity, message)
    })
}

fn said(text: &str) -> Option<(Severity, &str, &str)> {
    let (head, message) = text.split_once(": ")?;
    let (severity, code) = head.split_once(' ')?;
    let is_code = code.strip_prefix("TS")?.parse::<u32>().is_ok();
    is_code.then_some((Severity::named(severity)?, code, message))
}
