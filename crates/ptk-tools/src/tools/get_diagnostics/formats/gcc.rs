//! `file:line[:column]: severity: message`, as compilers have written for
//! decades.

use super::{Output, lines};
use crate::tools::get_diagnostics::diagnostic::{RawDiagnostic, Reading, Severity};

pub(in super::super) fn read(output: Output<'_>, reading: &mut Reading) {
    for stream in [output.stdout, output.stderr] {
        for text in lines(stream) {
            if let Some(found) = line(&text) {
                reading.push(found);
            }
        }
    }
}

/// Reads one line. The path may hold spaces and colons, so the first `:number:`
/// ends it.
fn line(text: &str) -> Option<RawDiagnostic> {
    let place = place(text)?;
    let (severity, message) = place.rest.split_once(": ").and_then(|(name, message)| {
        let severity = Severity::named(name)?;
        Some((severity, message))
    })?;
    let (message, code) = flag(message);
    let mut found = RawDiagnostic::new(place.path, place.line, severity, message);
    found.column = place.column;
    found.code = code.map(str::to_owned);
    Some(found)
}

/// The location that a line points to, and its message.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct SourcePosition<'a> {
    pub(super) path: &'a str,
    pub(super) line: u64,
    pub(super) column: Option<u64>,
    pub(super) rest: &'a str,
}

/// Reads `path:line[:column]: rest`.
pub(super) fn place(text: &str) -> Option<SourcePosition<'_>> {
    let mut ends = text.match_indices(':').map(|(at, _)| at);
    ends.find_map(|at| {
        let (path, rest) = text.split_at(at);
        let (line, rest) = number(rest)?;
        let (column, rest) = match number(rest) {
            Some((column, rest)) => (Some(column), rest),
            None => (None, rest),
        };
        let rest = rest.strip_prefix(':')?.trim_start();
        // A time of day is not a path.
        path.contains(char::is_alphabetic)
            .then_some(SourcePosition {
                path: path.trim_start(),
                line,
                column,
                rest,
            })
    })
}

/// Reads `:123`.
fn number(text: &str) -> Option<(u64, &str)> {
    let text = text.strip_prefix(':')?;
    let end = text
        .find(|c: char| !c.is_ascii_digit())
        .unwrap_or(text.len());
    let (digits, rest) = text.split_at(end);
    Some((digits.parse().ok()?, rest))
}

/// The flag at the end of a message: `unused variable [-Wunused-variable]`.
fn flag(message: &str) -> (&str, Option<&str>) {
    let parts = message
        .strip_suffix(']')
        .and_then(|text| text.rsplit_once(" ["));
    match parts {
        Some((text, flag)) if !flag.is_empty() && !flag.contains(' ') => (text, Some(flag)),
        _ => (message, None),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_that_are_no_diagnostics_are_passed_over() {
        for text in [
            "",
            ":",
            "make: *** [Makefile:2: check] Error 1",
            "main.c: In function 'main':",
            "In file included from a.h:3:",
            "12:30:01: error: a clock",
            "a.c:99999999999999999999: error: x",
        ] {
            assert_eq!(line(text).map(|found| found.path), None, "{text}");
        }
    }

    #[test]
    fn paths_may_hold_spaces_and_colons() {
        let found = line("a b/c:d.c:3: warning: it's odd: really [-Wodd]").unwrap();
        assert_eq!((found.path.as_str(), found.line), ("a b/c:d.c", 3));
        assert_eq!(found.message, "it's odd: really");
        assert_eq!(found.code.as_deref(), Some("-Wodd"));
    }
}
