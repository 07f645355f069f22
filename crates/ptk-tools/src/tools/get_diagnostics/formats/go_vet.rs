//! `go vet -json`: an object of packages, analyzers and findings for each
//! package, one after the other, with `# package` lines in between; older
//! versions write them to the standard error. Compile errors are plain text:
//! `vet: ./main.go:3:2: undefined: x`.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::Value;

use super::{Output, gcc, lines};
use crate::tools::get_diagnostics::diagnostic::{RawDiagnostic, Reading, Severity, Unit};

#[derive(Deserialize)]
struct VetFinding {
    posn: String,
    end: Option<String>,
    message: String,
}

/// The findings of a package by analyzer; an analyzer that failed has an
/// object with an `error` instead.
type Package = BTreeMap<String, Value>;

pub(in super::super) fn read(output: Output<'_>, reading: &mut Reading) {
    for stream in [output.stdout, output.stderr] {
        let mut json = Vec::new();
        for line in stream.split_inclusive(|byte| *byte == b'\n') {
            // The objects are indented, so only their braces begin a line.
            if matches!(line.first(), Some(b'{' | b'}' | b'\t' | b' ')) {
                json.extend_from_slice(line);
            }
        }
        let objects = serde_json::Deserializer::from_slice(&json);
        for packages in objects.into_iter::<BTreeMap<String, Package>>() {
            match packages {
                Ok(packages) => packages
                    .into_values()
                    .flatten()
                    .for_each(|(analyzer, findings)| analyzed(&analyzer, findings, reading)),
                Err(error) => reading.broken(format!("its JSON cannot be read: {error}")),
            }
        }
        lines(stream)
            .filter_map(|line| told(&line))
            .for_each(|found| reading.push(found));
    }
}

fn analyzed(analyzer: &str, findings: Value, reading: &mut Reading) {
    let Ok(findings) = serde_json::from_value::<Vec<VetFinding>>(findings) else {
        return reading.broken(format!("the analyzer {analyzer} failed"));
    };
    for finding in findings {
        let place = format!("{}: ", finding.posn);
        let Some(place) = gcc::place(&place) else {
            continue;
        };
        let end = finding.end.map(|end| format!("{end}: "));
        let end = end.as_deref().and_then(gcc::place);
        reading.push(RawDiagnostic {
            column: place.column,
            unit: Unit::Bytes,
            end_line: end.map(|end| end.line),
            code: Some(analyzer.to_owned()),
            ..RawDiagnostic::new(place.path, place.line, Severity::Warning, &finding.message)
        });
    }
}

fn told(line: &str) -> Option<RawDiagnostic> {
    if line.starts_with(['{', '}', '\t', ' ', '#']) {
        return None;
    }
    let place = gcc::place(line.strip_prefix("vet: ").unwrap_or(line))?;
    Some(RawDiagnostic {
        column: place.column,
        unit: Unit::Bytes,
        ..RawDiagnostic::new(place.path, place.line, Severity::Error, place.rest)
    })
}
