//! The arguments of a call.

use schemars::JsonSchema;
use serde::Deserialize;

/// Diagnostics of one result by default.
const DEFAULT_LIMIT: usize = 100;
/// Diagnostics of one result at most.
const MAX_LIMIT: usize = 1_000;

/// Arguments of `get_diagnostics`.
#[derive(Debug, Deserialize, JsonSchema)]
pub struct DiagnosticsArgs {
    /// Only what is wrong in this file or folder, for example "src/main.rs"; the whole workspace if not given
    #[serde(default)]
    pub(super) file: Option<String>,
    /// "error": only errors; "warning": errors and warnings; "all" if not given
    #[serde(default)]
    severity: Option<SeverityFilter>,
    /// How many to show; 100 if not given, at most 1000
    #[serde(default)]
    #[schemars(range(min = 1))]
    limit: Option<usize>,
    /// How many to pass over, for the next page
    #[serde(default)]
    offset: Option<usize>,
}

/// Which diagnostics are wanted: these and what is worse.
// Without words on each, so that the schema is a plain list of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(super) enum SeverityFilter {
    Error,
    Warning,
    All,
}

impl DiagnosticsArgs {
    pub(super) fn severity(&self) -> SeverityFilter {
        self.severity.unwrap_or(SeverityFilter::All)
    }

    pub(super) fn limit(&self) -> usize {
        self.limit.unwrap_or(DEFAULT_LIMIT).clamp(1, MAX_LIMIT)
    }

    pub(super) fn offset(&self) -> usize {
        self.offset.unwrap_or_default()
    }

    /// The same call from an offset on, as text.
    pub(super) fn at(&self, offset: usize) -> String {
        let mut parts = Vec::new();
        let file = self.file.iter();
        parts.extend(file.map(|file| format!("file={}", serde_json::Value::from(file.as_str()))));
        parts.extend(match self.severity() {
            SeverityFilter::Error => Some("severity=\"error\"".to_owned()),
            SeverityFilter::Warning => Some("severity=\"warning\"".to_owned()),
            SeverityFilter::All => None,
        });
        parts.extend(self.limit.map(|_| format!("limit={}", self.limit())));
        parts.push(format!("offset={offset}"));
        format!("get_diagnostics({})", parts.join(", "))
    }
}
