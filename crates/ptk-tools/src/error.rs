//! Failures of tools: what happened, of which kind, and what to do next.

use std::io;

use ptk_protocol::{ErrorType, ToolResult};
use ptk_sandbox::{ErrorKind, PathError};
use ptk_undo::UndoError;
use serde_json::{Map, Value};

use crate::bound::short_error;
use crate::system;

/// The fields of a result.
pub type Fields = Map<String, Value>;

/// The field that marks a failure as transient.
pub(crate) const TRANSIENT: &str = "transient";

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

    /// The refusal of a call whose changes cannot be kept.
    pub(crate) fn cannot_keep(tool: &str, error: &UndoError) -> Self {
        let message = format!("{tool} was not run, because it could not be undone: {error}");
        let way = match error {
            UndoError::NoFolder | UndoError::Inside { .. } => {
                "set PTK_STATE to a folder outside the workspace"
            }
            _ => "free some space, or make the folder writable",
        };
        let advice = format!(
            "To go on, {way}. To run calls that cannot be undone, write `[undo]` and `enabled = false` in ptk.toml."
        );
        Self::system(message)
            .suggest(format!("Nothing was changed. Tell the user. {advice}"))
            .advise(format!("Nothing was changed. {advice}"))
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

impl From<String> for ToolError {
    fn from(message: String) -> Self {
        Self::user(message)
    }
}

impl From<&str> for ToolError {
    fn from(message: &str) -> Self {
        Self::user(message)
    }
}

impl From<io::Error> for ToolError {
    fn from(error: io::Error) -> Self {
        let told = Self::system(error.to_string());
        if may_pass(&error) {
            return told.transient();
        }
        told
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
    is_busy || system::is_out_of_files(error)
}

/// A failure as a person sees it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failure {
    /// What happened. The call, which a person has made or seen, is not part
    /// of it.
    pub message: String,
    /// What to do about it. It may name other tools.
    pub advice: Option<String>,
}

impl Failure {
    /// The failure of a tool, or of a step before it.
    pub(crate) fn of_error(error: &ToolError) -> Self {
        Self {
            message: error.message.clone(),
            advice: error.advice.clone(),
        }
    }

    /// The failure of a result, given the last failure that a tool has
    /// reported.
    pub(crate) fn of(result: &ToolResult, told: Option<Self>) -> Option<Self> {
        // A layer may have answered instead.
        let told = told.filter(|told| result.error.ends_with(&told.message));
        let Self { message, advice } = told.unwrap_or_else(|| Self {
            message: result.error.clone(),
            advice: None,
        });
        let advice = advice.or_else(|| match result.error_type {
            // The suggestion is not to try again, which does not concern a
            // person.
            Some(ErrorType::PermissionError | ErrorType::SecurityError) => None,
            _ => result.suggestion.clone(),
        });
        let message = short_error(message);
        (!result.success).then_some(Self { message, advice })
    }
}
