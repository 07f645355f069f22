//! The text forms in which calls are written, one file each.

use std::fmt::Debug;

use crate::{ToolCall, ToolResult};

/// A text form of tool calls: how it is written and how it is read.
pub trait Dialect: Debug + Send + Sync {
    /// The name by which it is chosen, such as `ptk`.
    fn name(&self) -> &str;

    /// How to write it, for dialects that are taught to a model.
    fn writer(&self) -> Option<&dyn Writer> {
        None
    }
}

/// How a dialect is written: calls in prompts and history, and the results.
///
/// Whatever a writer writes, the same dialect's reader reads back as the same
/// call.
pub trait Writer {
    /// What to know about the form, one short sentence a rule, for the prompt.
    fn rules(&self) -> &[&'static str];

    /// One call.
    fn call(&self, call: &ToolCall) -> String;

    /// Several calls of one reply.
    fn calls(&self, calls: &[ToolCall]) -> String {
        let calls: Vec<String> = calls.iter().map(|call| self.call(call)).collect();
        calls.join("\n")
    }

    /// Whether several calls may stand in one reply.
    fn takes_several(&self) -> bool {
        false
    }

    /// The word that introduces a result: `PTK_RESULT`.
    fn result_word(&self) -> &'static str {
        "PTK_RESULT"
    }

    /// The word that introduces an error: `PTK_ERROR`.
    fn error_word(&self) -> &'static str {
        "PTK_ERROR"
    }

    /// The result of a tool. `id` names the call where several were made.
    fn result(&self, result: &ToolResult, id: Option<&str>) -> String {
        let id = id.map(|id| format!(" {id}")).unwrap_or_default();
        if result.success {
            format!("{}{id}: {}", self.result_word(), result.payload())
        } else {
            self.error(&result.error, id.trim_start())
        }
    }

    /// An error, with the call's id or an empty string.
    fn error(&self, message: &str, id: &str) -> String {
        let space = if id.is_empty() { "" } else { " " };
        format!("{}{space}{id}: {message}", self.error_word())
    }
}
