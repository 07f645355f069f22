//! SARIF, which linters of many languages can write.

use serde::Deserialize;
use url::Url;

use super::Output;
use crate::tools::get_diagnostics::diagnostic::{RawDiagnostic, Reading, Severity, Unit};

#[derive(Deserialize)]
struct Log {
    runs: Vec<Run>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Run {
    tool: SarifTool,
    #[serde(default)]
    results: Vec<SarifResult>,
    column_kind: Option<String>,
}

#[derive(Deserialize)]
struct SarifTool {
    driver: Driver,
}

#[derive(Deserialize)]
struct Driver {
    name: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct SarifResult {
    rule_id: Option<String>,
    level: Option<String>,
    message: SarifText,
    #[serde(default)]
    locations: Vec<SarifLocation>,
}

#[derive(Deserialize)]
struct SarifText {
    #[serde(default)]
    text: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct SarifLocation {
    physical_location: Option<Physical>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Physical {
    artifact_location: Option<Artifact>,
    region: Option<Region>,
}

#[derive(Deserialize)]
struct Artifact {
    uri: Option<String>,
}

#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase")]
struct Region {
    start_line: Option<u64>,
    start_column: Option<u64>,
    end_line: Option<u64>,
}

pub(in super::super) fn read(output: Output<'_>, reading: &mut Reading) {
    let log: Log = match serde_json::from_slice(output.stdout) {
        Ok(log) => log,
        Err(error) => return reading.broken(format!("its SARIF cannot be read: {error}")),
    };
    for run in log.runs {
        let unit = match run.column_kind.as_deref() {
            Some("utf16CodeUnits") => Unit::Utf16,
            _ => Unit::Characters,
        };
        for finding in run.results {
            if let Some(found) = diagnostic(finding, unit) {
                let source = Some(run.tool.driver.name.clone());
                reading.push(RawDiagnostic { source, ..found });
            }
        }
    }
}

fn diagnostic(finding: SarifResult, unit: Unit) -> Option<RawDiagnostic> {
    let place = finding.locations.into_iter().next()?.physical_location?;
    let path = path(&place.artifact_location?.uri?);
    let region = place.region.unwrap_or_default();
    let level = finding.level.as_deref().unwrap_or("warning");
    let severity = Severity::named(level).unwrap_or(Severity::Warning);
    let line = region.start_line.unwrap_or(1);
    Some(RawDiagnostic {
        column: region.start_column,
        unit,
        end_line: region.end_line,
        code: finding.rule_id,
        ..RawDiagnostic::new(path, line, severity, &finding.message.text)
    })
}

/// The path of a URI, which is relative as often as not.
fn path(uri: &str) -> String {
    let absolute = Url::parse(uri).ok().and_then(|url| url.to_file_path().ok());
    if let Some(path) = absolute {
        return path.to_string_lossy().into_owned();
    }
    let plain = percent_encoding::percent_decode_str(uri).decode_utf8_lossy();
    plain.into_owned()
}
