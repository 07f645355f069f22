//! A diagnostic: as a checker wrote it, and as a result shows it.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

/// Diagnostics that are kept of one checker. More would not help.
const MAX_FOUND: usize = 10_000;
/// Characters of a message.
const MAX_MESSAGE: usize = 1_000;
/// Characters of the code of a diagnostic, or of the name of a checker.
const MAX_NAME: usize = 100;
/// Bytes of a path, as many as the system takes. What is longer is not a path.
const MAX_PATH: usize = 4_096;

/// The severity of a diagnostic.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// The code does not compile, or does not work.
    Error,
    /// The code should be changed.
    Warning,
    /// Information about the code.
    Info,
    /// A suggestion to improve the code.
    Hint,
}

impl Severity {
    /// The severity of a name that checkers use.
    pub(super) fn named(name: &str) -> Option<Self> {
        let name = name.trim().to_ascii_lowercase();
        match name.as_str() {
            "error" | "fatal error" | "fatal" | "error: internal compiler error" => {
                Some(Self::Error)
            }
            "warning" | "warn" => Some(Self::Warning),
            "info" | "information" | "note" | "remark" => Some(Self::Info),
            "hint" | "help" | "none" => Some(Self::Hint),
            _ => None,
        }
    }
}

/// The unit of a column.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum Unit {
    #[default]
    Characters,
    Utf16,
    Bytes,
}

/// A diagnostic as it was found. Lines and columns count from 1.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct RawDiagnostic {
    /// The path as the checker wrote it.
    pub(super) path: String,
    /// The folder that the path is relative to, or one below that folder; by
    /// default the folder in which the checker ran.
    pub(super) base: Option<PathBuf>,
    pub(super) line: u64,
    pub(super) column: Option<u64>,
    pub(super) unit: Unit,
    pub(super) end_line: Option<u64>,
    pub(super) severity: Severity,
    pub(super) message: String,
    pub(super) code: Option<String>,
    /// The source, if it is not the checker itself.
    pub(super) source: Option<String>,
}

impl RawDiagnostic {
    pub(super) fn new(
        path: impl Into<String>,
        line: u64,
        severity: Severity,
        message: &str,
    ) -> Self {
        Self {
            path: path.into(),
            base: None,
            line: line.max(1),
            column: None,
            unit: Unit::default(),
            end_line: None,
            severity,
            message: shortened(message.trim(), MAX_MESSAGE),
            code: None,
            source: None,
        }
    }
}

/// The diagnostics that were read from a checker's output.
#[derive(Debug, Default)]
pub(super) struct Reading {
    pub(super) found: Vec<RawDiagnostic>,
    /// How many diagnostics were left out, because there were too many.
    pub(super) left_out: usize,
    /// What could not be read, if anything.
    pub(super) fault: Option<String>,
}

impl Reading {
    pub(super) fn push(&mut self, found: RawDiagnostic) {
        if found.path.len() > MAX_PATH {
            return self.broken("it named a file that cannot be one");
        }
        if self.found.len() >= MAX_FOUND {
            self.left_out += 1;
            return;
        }
        let named = |name: String| shortened(&name, MAX_NAME);
        self.found.push(RawDiagnostic {
            code: found.code.map(named),
            source: found.source.map(named),
            ..found
        });
    }

    /// Remembers the first thing that could not be read.
    pub(super) fn broken(&mut self, why: impl Into<String>) {
        self.fault.get_or_insert_with(|| why.into());
    }
}

/// A diagnostic as a result shows it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Diagnostic {
    /// The path, relative to the workspace; absolute if it lies outside.
    pub file: String,
    /// From 1.
    pub line: u64,
    /// In characters, from 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub column: Option<u64>,
    /// The last line, where it is another one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub end_line: Option<u64>,
    /// The severity.
    pub severity: Severity,
    /// What is wrong.
    pub message: String,
    /// The checker's code for this kind of problem.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub code: Option<String>,
    /// The source, such as the checker.
    pub source: String,
}

/// At most so many characters, and a sign if there were more.
pub(super) fn shortened(text: &str, most: usize) -> String {
    match text.char_indices().nth(most) {
        None => text.to_owned(),
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or_default()),
    }
}
