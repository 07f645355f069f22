//! The messages of the protocol that are used, with the fields that are used.

use std::path::{Path, PathBuf};

use serde::Deserialize;
use serde_json::{Value, json};
use url::Url;

use crate::tools::get_diagnostics::diagnostic::{RawDiagnostic, Reading, Severity, Unit};

/// A file that is sent to the server.
#[derive(Debug)]
pub(super) struct Document {
    pub(super) path: PathBuf,
    pub(super) language: String,
    pub(super) text: String,
}

/// The diagnostics of a file that a server sends by itself.
#[derive(Debug, Deserialize)]
pub(super) struct Published {
    pub(super) uri: String,
    pub(super) diagnostics: Vec<LspDiagnostic>,
}

/// The response to a request for the diagnostics of a file.
#[derive(Debug, Deserialize)]
pub(super) struct Pulled {
    #[serde(default)]
    pub(super) items: Vec<LspDiagnostic>,
}

#[derive(Debug, Deserialize)]
pub(super) struct LspDiagnostic {
    range: LspRange,
    severity: Option<u8>,
    code: Option<Value>,
    source: Option<String>,
    message: Value,
}

#[derive(Debug, Deserialize)]
struct LspRange {
    start: LspPosition,
    end: LspPosition,
}

/// From 0, in UTF-16.
#[derive(Debug, Deserialize)]
struct LspPosition {
    line: u64,
    character: u64,
}

impl LspDiagnostic {
    /// Adds the diagnostic, as one of this file, to what was read.
    pub(super) fn read(self, path: &Path, reading: &mut Reading) {
        let severity = match self.severity {
            Some(2) => Severity::Warning,
            Some(3) => Severity::Info,
            Some(4) => Severity::Hint,
            _ => Severity::Error,
        };
        let text = |value: Value| match value {
            Value::String(text) => text,
            Value::Object(mut marked) => {
                let text = marked.remove("value").unwrap_or_default();
                text.as_str().unwrap_or_default().to_owned()
            }
            value => value.to_string(),
        };
        let line = self.range.start.line.saturating_add(1);
        let message = text(self.message);
        reading.push(RawDiagnostic {
            column: Some(self.range.start.character.saturating_add(1)),
            unit: Unit::Utf16,
            end_line: Some(self.range.end.line.saturating_add(1)),
            code: self.code.filter(|code| !code.is_null()).map(text),
            source: self.source,
            ..RawDiagnostic::new(path.to_string_lossy(), line, severity, &message)
        });
    }
}

/// The parameters of `initialize`.
pub(super) fn initialize(folders: &Value) -> Value {
    let root = folders.pointer("/0/uri").cloned().unwrap_or_default();
    json!({
        "processId": std::process::id(),
        "clientInfo": {"name": "ptk", "version": env!("CARGO_PKG_VERSION")},
        "rootUri": root,
        "workspaceFolders": folders,
        "capabilities": {
            "general": {"positionEncodings": ["utf-16"]},
            "textDocument": {
                "synchronization": {},
                "publishDiagnostics": {},
                "diagnostic": {"relatedDocumentSupport": false},
            },
            "window": {"workDoneProgress": true},
            "workspace": {"configuration": true, "workspaceFolders": true},
        },
    })
}

/// The parameters of `textDocument/didOpen`.
pub(super) fn opened(document: &Document) -> Value {
    json!({"textDocument": {
        "uri": uri(&document.path),
        "languageId": document.language,
        "version": 1,
        "text": document.text,
    }})
}

pub(super) fn uri(path: &Path) -> String {
    Url::from_file_path(path)
        .map(String::from)
        .unwrap_or_default()
}

pub(super) fn path(uri: &str) -> Option<PathBuf> {
    Url::parse(uri).ok()?.to_file_path().ok()
}
