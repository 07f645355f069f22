//! Failures of tools: what happened, of which kind, and what to do next.

use std::io;

use ptk_protocol::{ErrorType, ToolResult};
use ptk_sandbox::{ErrorKind, PathError};
use rustix::io::Errno;
use serde_json::Value;

use crate::Fields;
use crate::retries::TRANSIENT;

/// Why a tool did not do what was asked.
///
/// The message says what happened to what; the suggestion says what the model
/// can do now. Fields carry what was done nevertheless, such as the output of
/// a command that was stopped.
///
/// ```
/// use ptk_tools::ToolError;
///
/// let error = ToolError::user("File not found: a.txt")
///     .suggest("Use list_files to see which files there are.");
/// let result = error.into_result();
/// assert!(!result.success);
/// ```
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[error("{message}")]
pub struct ToolError {
    /// The kind of failure.
    pub error_type: ErrorType,
    /// What happened, to what.
    pub message: String,
    /// What the model can do next.
    pub suggestion: Option<String>,
    /// What a person can do, where that differs.
    pub advice: Option<String>,
    /// Further fields of the result, such as partial output.
    pub fields: Box<Fields>,
}

impl ToolError {
    /// A failure of this kind.
    pub fn new(error_type: ErrorType, message: impl Into<String>) -> Self {
        Self {
            error_type,
            message: message.into(),
            suggestion: None,
            advice: None,
            fields: Box::default(),
        }
    }

    /// Wrong arguments or usage.
    pub fn validation(message: impl Into<String>) -> Self {
        Self::new(ErrorType::ValidationError, message)
    }

    /// An error that the user can see and fix, such as a missing file.
    pub fn user(message: impl Into<String>) -> Self {
        Self::new(ErrorType::UserError, message)
    }

    /// An internal error.
    pub fn system(message: impl Into<String>) -> Self {
        Self::new(ErrorType::SystemError, message)
    }

    /// An error of permission: the call was not approved, or the system refuses
    /// it.
    pub fn permission(message: impl Into<String>) -> Self {
        Self::new(ErrorType::PermissionError, message)
    }

    /// A violation of a rule that guards the machine.
    pub fn security(message: impl Into<String>) -> Self {
        Self::new(ErrorType::SecurityError, message)
    }

    /// The same failure with a suggestion of what to do next.
    #[must_use]
    pub fn suggest(mut self, suggestion: impl Into<String>) -> Self {
        self.suggestion = Some(suggestion.into());
        self
    }

    /// The same failure with advice for a person, who has other ways than the
    /// model.
    #[must_use]
    pub fn advise(mut self, advice: impl Into<String>) -> Self {
        self.advice = Some(advice.into());
        self
    }

    /// The same failure with a field.
    #[must_use]
    pub fn with(mut self, name: impl Into<String>, value: impl Into<Value>) -> Self {
        self.fields.insert(name.into(), value.into());
        self
    }

    /// The same failure, marked as transient: a tool that only reads is run
    /// again.
    #[must_use]
    pub fn transient(self) -> Self {
        self.with(TRANSIENT, true)
    }

    /// The result that goes to the model and to subscribers.
    #[must_use]
    pub fn into_result(self) -> ToolResult {
        ToolResult {
            success: false,
            error: self.message,
            error_type: Some(self.error_type),
            suggestion: self.suggestion,
            fields: *self.fields,
        }
    }
}

impl From<PathError> for ToolError {
    fn from(error: PathError) -> Self {
        let error_type = match error.kind() {
            ErrorKind::User => ErrorType::UserError,
            ErrorKind::Permission => ErrorType::PermissionError,
            ErrorKind::Security => ErrorType::SecurityError,
            ErrorKind::System => ErrorType::SystemError,
        };
        let message = match &error {
            PathError::NotFound { path, .. } => format!("File not found: {path}"),
            PathError::IsAFolder { path, .. } => format!("Not a file: {path} is a folder"),
            error => error.to_string(),
        };
        let mut told = Self::new(error_type, message);
        if let PathError::Io { source, .. } = &error
            && may_pass(source)
        {
            told = told.transient();
        }
        match error.hint() {
            Some(_) if matches!(error, PathError::ReadOnlyFile { .. }) => told
                .suggest("If it is meant to change, make it writable first: chmod u+w with bash."),
            Some(hint) => told.suggest(hint),
            None => told,
        }
    }
}

/// Whether a retry in a moment may succeed.
fn may_pass(error: &io::Error) -> bool {
    let kind = error.kind();
    let is_busy = matches!(
        kind,
        io::ErrorKind::Interrupted
            | io::ErrorKind::WouldBlock
            | io::ErrorKind::ResourceBusy
            | io::ErrorKind::StaleNetworkFileHandle
            | io::ErrorKind::TimedOut
    );
    // Too many open files, here or in the whole system.
    let full = [Errno::MFILE, Errno::NFILE].map(Errno::raw_os_error);
    is_busy
        || error
            .raw_os_error()
            .is_some_and(|said| full.contains(&said))
}
