//! Results of tools: one envelope inside, rendered as each dialect wants it.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// The result of a tool: whether it succeeded, the error if not, and the tool's
/// own fields beside them.
///
/// ```
/// use ptk_protocol::{ErrorType, ToolResult};
/// use serde_json::json;
///
/// let ok = ToolResult::success([("content", json!("hello")), ("lines", json!(1))]);
/// assert_eq!(
///     serde_json::to_value(&ok)?,
///     json!({"success": true, "error": "", "content": "hello", "lines": 1}),
/// );
///
/// let failed = ToolResult::failure(ErrorType::UserError, "File not found: a.txt")
///     .with_suggestion("List the folder to see which files there are.");
/// assert!(!failed.success);
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ToolResult {
    /// Whether the tool did what was requested.
    pub success: bool,
    /// The error message; empty on success.
    #[serde(default)]
    pub error: String,
    /// The kind of error.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error_type: Option<ErrorType>,
    /// A suggestion what to do next.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub suggestion: Option<String>,
    /// The tool's own fields.
    #[serde(flatten)]
    pub fields: Map<String, Value>,
}

impl ToolResult {
    /// Creates a success with the given fields.
    pub fn success<K: Into<String>>(fields: impl IntoIterator<Item = (K, Value)>) -> Self {
        Self {
            success: true,
            error: String::new(),
            error_type: None,
            suggestion: None,
            fields: fields
                .into_iter()
                .map(|(name, value)| (name.into(), value))
                .collect(),
        }
    }

    /// Creates a success with one value, whatever it is: `null`, `0`, `false`
    /// and `""` are data like any other.
    #[must_use]
    pub fn data(value: Value) -> Self {
        Self::success([("data", value)])
    }

    /// Creates a failure.
    pub fn failure(error_type: ErrorType, error: impl Into<String>) -> Self {
        Self {
            success: false,
            error: error.into(),
            error_type: Some(error_type),
            suggestion: None,
            fields: Map::new(),
        }
    }

    /// Sets the suggestion what to do next.
    #[must_use]
    pub fn with_suggestion(mut self, suggestion: impl Into<String>) -> Self {
        self.suggestion = Some(suggestion.into());
        self
    }

    /// The part of a success that the model is shown, as JSON text: the value
    /// itself where the tool returned one as `data` and nothing else, its
    /// fields otherwise.
    #[must_use]
    pub fn payload_json(&self) -> String {
        let json = match self.fields.get("data") {
            Some(data) if self.fields.len() == 1 => serde_json::to_string(data),
            _ => serde_json::to_string(&self.fields),
        };
        // Values of JSON can always be written.
        json.unwrap_or_default()
    }

    /// The part of a success that the model is shown, as a value.
    #[must_use]
    pub fn payload(&self) -> Value {
        match self.fields.get("data") {
            Some(data) if self.fields.len() == 1 => data.clone(),
            _ => Value::Object(self.fields.clone()),
        }
    }
}

/// The kinds of failure.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ErrorType {
    /// Wrong parameters or usage.
    ValidationError,
    /// Something the user can see and fix, such as a file that is not there.
    UserError,
    /// An internal error.
    SystemError,
    /// Access was denied.
    PermissionError,
    /// A rule that guards the machine was broken.
    SecurityError,
}

impl ErrorType {
    /// The name in JSON.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::ValidationError => "validation_error",
            Self::UserError => "user_error",
            Self::SystemError => "system_error",
            Self::PermissionError => "permission_error",
            Self::SecurityError => "security_error",
        }
    }
}
