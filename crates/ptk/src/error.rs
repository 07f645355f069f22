//! Errors of runs.

use std::time::Duration;

use ptk_llm::{LlmError, LlmErrorKind};
use ptk_model::TeachError;
use ptk_protocol::{ErrorCode, ExecutionError};
use ptk_store::{IMAGES_NOT_TAKEN, SessionId, StoreError};

/// Why a run ended without an answer. Every message says what to do next.
#[derive(Debug, Clone, thiserror::Error)]
#[non_exhaustive]
pub enum RunError {
    /// The model did not come to an answer.
    #[error(transparent)]
    Failed(#[from] ExecutionError),
    /// The model gave no reply.
    #[error(transparent)]
    Llm(#[from] LlmError),
    /// The run was cancelled.
    #[error("The run was cancelled; ask again to go on")]
    Cancelled,
    /// The run took too long.
    #[error("The run took longer than {}; resume it, or allow it more time", shown(.0))]
    TimedOut(Duration),
    /// A hook stopped the run.
    #[error("The run was stopped: {0}")]
    Stopped(String),
    /// A tool was named that does not exist.
    #[error("Unknown tool: {name}; there are: {}", known.join(", "))]
    UnknownTool {
        /// The name.
        name: String,
        /// The tools there are.
        known: Vec<String>,
    },
    /// The prompt has images, and the model takes none.
    #[error("{0} takes no images; leave them out, or choose a model that does")]
    NoImages(String),
    /// The dialect is not known.
    #[error(transparent)]
    Dialect(#[from] TeachError),
    /// The log could not be written, so nothing further was done.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// Another writer appended to the session during the run.
    #[error("Session {0} was written by another process during the run; run one at a time")]
    Interleaved(SessionId),
    /// The session has no open turn.
    #[error("Session {0} has no open turn; give it a prompt")]
    NoTurn(SessionId),
}

/// The duration in seconds, or in milliseconds if it is not whole.
fn shown(time: &Duration) -> String {
    if time.subsec_millis() == 0 {
        format!("{} s", time.as_secs())
    } else {
        format!("{} ms", time.as_millis())
    }
}

impl RunError {
    pub(crate) fn failed(code: ErrorCode, message: impl Into<String>) -> Self {
        Self::Failed(ExecutionError::new(code, message))
    }

    /// The code of the error, for programs: that of the failure, or one for
    /// what else ended the run.
    ///
    /// ```
    /// use std::time::Duration;
    ///
    /// use ptk::RunError;
    ///
    /// assert_eq!(RunError::TimedOut(Duration::from_secs(60)).name(), "TIMED_OUT");
    /// ```
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            Self::Cancelled => "CANCELLED",
            Self::TimedOut(_) => "TIMED_OUT",
            Self::Stopped(_) => "STOPPED",
            Self::Dialect(_) => "DIALECT_NOT_TAUGHT",
            Self::NoImages(_) => IMAGES_NOT_TAKEN,
            Self::Llm(error) if error.kind == LlmErrorKind::Images => IMAGES_NOT_TAKEN,
            Self::Store(_) => "STORE_FAILED",
            Self::Interleaved(_) => "SESSION_IN_USE",
            Self::NoTurn(_) => "NO_OPEN_TURN",
            Self::Failed(_) | Self::Llm(_) | Self::UnknownTool { .. } => {
                self.code().map_or("FAILED", ErrorCode::as_str)
            }
        }
    }

    /// The code of the failure; `None` if it was not the model's.
    #[must_use]
    pub fn code(&self) -> Option<ErrorCode> {
        match self {
            Self::Failed(error) => Some(error.code),
            Self::Llm(_) => Some(ErrorCode::LlmCallFailed),
            Self::UnknownTool { .. } => Some(ErrorCode::ToolNotFound),
            _ => None,
        }
    }
}
