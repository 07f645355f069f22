//! Events as JSON lines, for programs.

use std::io::Write;

use anyhow::Result;
use ptk::events::{Delivery, EventKind, RequestId};
use ptk::{Execution, RunError};
use serde_json::{Value, json};

use super::View;

/// Prints events as JSON lines. The last one is `receive_message` or `error`.
#[derive(Default)]
pub(crate) struct Json {
    /// The request id of the turn that is shown.
    request: Option<RequestId>,
}

impl View for Json {
    fn event(&mut self, delivery: &Delivery, out: &mut dyn Write) -> Result<()> {
        let line = match delivery {
            Delivery::Event(event) => {
                self.request = event.correlation.request_id.or(self.request);
                // Printed at the end, with more information.
                if let EventKind::ReceiveMessage { .. } | EventKind::Error { tool: None, .. } =
                    &event.kind
                {
                    return Ok(());
                }
                serde_json::to_value(&**event)?
            }
            Delivery::Missed(missed) => {
                json!({"type": "missed", "total": missed.total, "by_type": missed.by_type})
            }
        };
        print(&line, out)
    }

    fn tick(&mut self) {}

    fn say(&mut self, text: &str, out: &mut dyn Write) -> Result<()> {
        print(&note_line(text), out)
    }

    fn left(&mut self, text: &str, out: &mut dyn Write) -> Result<()> {
        let line = json!({
            "type": "error",
            "ts": now(),
            "message": text,
            "code": RunError::Cancelled.name(),
            "cancelled": true,
        });
        print(&line, out)
    }

    fn end(&mut self, execution: &Execution, out: &mut dyn Write) -> Result<()> {
        let mut line = match &execution.error {
            None => json!({
                "type": "receive_message",
                "ts": now(),
                "message": execution.content,
            }),
            Some(error) => json!({
                "type": "error",
                "ts": now(),
                "message": error.to_string(),
                "code": error.name(),
                "cancelled": matches!(error, RunError::Cancelled),
            }),
        };
        let mut metadata = json!({
            "iterations": execution.iterations,
            "tool_calls": execution.total_tool_calls,
            "duration_ms": u64::try_from(execution.duration.as_millis()).unwrap_or(u64::MAX),
            "session_id": execution.session,
            "usage": execution.usage,
            "finish_reason": execution.finish.as_ref().map(ToString::to_string),
        });
        let snippets = execution.snippets();
        if let Some(metadata) = metadata.as_object_mut().filter(|_| !snippets.is_empty()) {
            metadata.insert("snippets".to_owned(), json!(snippets));
        }
        if let Some(line) = line.as_object_mut() {
            if let Some(request) = self.request {
                line.insert("request_id".to_owned(), json!(request));
            }
            line.insert("metadata".to_owned(), metadata);
        }
        print(&line, out)
    }
}

/// The line of a note beside a run.
pub(crate) fn note_line(text: &str) -> Value {
    json!({"type": "note", "ts": now(), "message": text})
}

/// Prints the failure of a command that prints JSON.
pub(crate) fn failure(code: &str, message: &str, out: &mut dyn Write) -> Result<()> {
    let line = json!({"type": "error", "ts": now(), "message": message, "code": code});
    print(&line, out)
}

/// Prints the first line, which names the session.
pub(crate) fn session(id: &str, is_new: bool, out: &mut dyn Write) -> Result<()> {
    let line = json!({"type": "session", "ts": now(), "session_id": id, "is_new": is_new});
    print(&line, out)
}

/// The time now, as lines have it.
pub(crate) fn now() -> String {
    humantime::format_rfc3339_millis(std::time::SystemTime::now()).to_string()
}

/// Prints a line.
pub(crate) fn print(line: &Value, out: &mut dyn Write) -> Result<()> {
    writeln!(out, "{line}")?;
    Ok(out.flush()?)
}
