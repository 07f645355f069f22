//! Errors of a run, with codes that programs can rely on.

use serde::Serialize;
use serde_json::Value;

/// The error codes of the protocol.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum ErrorCode {
    /// The model named a tool that does not exist.
    ToolNotFound,
    /// The call lacks something or breaks the tool's schema.
    InvalidToolCall,
    /// The loop reached its limit of iterations.
    MaxIterationsReached,
    /// The model reached its limit of tool calls.
    MaxToolCallsReached,
    /// The model could not be reached or answered with an error.
    LlmCallFailed,
    /// The reply holds a call that cannot be parsed.
    ParseError,
    /// The model repeats itself.
    DuplicateToolCall,
    /// The answer does not fit the schema that it was asked to.
    InvalidAnswer,
}

impl ErrorCode {
    /// The code as it is written in JSON and messages.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::ToolNotFound => "TOOL_NOT_FOUND",
            Self::InvalidToolCall => "INVALID_TOOL_CALL",
            Self::MaxIterationsReached => "MAX_ITERATIONS_REACHED",
            Self::MaxToolCallsReached => "MAX_TOOL_CALLS_REACHED",
            Self::LlmCallFailed => "LLM_CALL_FAILED",
            Self::ParseError => "PARSE_ERROR",
            Self::DuplicateToolCall => "DUPLICATE_TOOL_CALL",
            Self::InvalidAnswer => "INVALID_ANSWER",
        }
    }
}

impl std::fmt::Display for ErrorCode {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.as_str())
    }
}

/// A failure of a run.
#[derive(Debug, Clone, PartialEq, Serialize, thiserror::Error)]
#[error("{message}")]
pub struct ExecutionError {
    /// What happened, why, and what to do next.
    pub message: String,
    /// The error code.
    pub code: ErrorCode,
    /// Further details about the error.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub context: Option<Value>,
}

impl ExecutionError {
    /// Creates an error without context.
    pub fn new(code: ErrorCode, message: impl Into<String>) -> Self {
        Self {
            message: message.into(),
            code,
            context: None,
        }
    }

    /// Sets the context of the error.
    #[must_use]
    pub fn with_context(mut self, context: Value) -> Self {
        self.context = Some(context);
        self
    }
}
