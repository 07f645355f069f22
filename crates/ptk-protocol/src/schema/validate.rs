//! Validates a call: its shape alone, or its shape, name and arguments.

use serde_json::Value;

use super::{Fault, check};
use crate::{Arguments, ErrorCode, ProblemCode, ToolCall, Toolset};

/// The verdict on a call.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Validation {
    /// The faults of the call.
    pub faults: Vec<Fault>,
}

impl Validation {
    /// Whether the call has no faults.
    #[must_use]
    pub fn is_valid(&self) -> bool {
        self.faults.is_empty()
    }

    /// The faults, in the protocol's phrasing.
    #[must_use]
    pub fn error(&self) -> Option<String> {
        let phrases: Vec<&str> = self
            .faults
            .iter()
            .map(|fault| fault.phrase.as_str())
            .collect();
        (!phrases.is_empty()).then(|| phrases.join("; "))
    }

    /// The error code that a run would fail with.
    #[must_use]
    pub fn code(&self) -> Option<ErrorCode> {
        let unknown = |fault: &Fault| fault.code == ProblemCode::UnknownTool;
        match self.faults.as_slice() {
            [] => None,
            faults if faults.iter().any(unknown) => Some(ErrorCode::ToolNotFound),
            _ => Some(ErrorCode::InvalidToolCall),
        }
    }
}

/// Checks the shape of a call in PTK's JSON form: `{"tool": …, "args": {…}}`.
///
/// ```
/// use ptk_protocol::schema::validate;
/// use serde_json::json;
///
/// assert!(validate(&json!({"tool": "read_file", "args": {}})).is_valid());
/// let wrong = validate(&json!({"tool": "read_file", "args": []}));
/// assert_eq!(wrong.error().as_deref(), Some("args cannot be an array"));
/// ```
#[must_use]
pub fn validate(call: &Value) -> Validation {
    Validation {
        faults: shape(call.get("tool"), call.get("args")),
    }
}

/// Checks a call in PTK's JSON form: its shape, then its name and arguments.
#[must_use]
pub fn validate_json_call(call: &Value, tools: &Toolset) -> Validation {
    let structural = validate(call);
    match (call.get("tool"), call.get("args")) {
        (Some(Value::String(name)), Some(Value::Object(args))) if structural.is_valid() => {
            let faults = check(tools, name, Arguments::from(args.clone())).faults;
            Validation { faults }
        }
        _ => structural,
    }
}

/// Checks a call: its shape, its name and its arguments.
/// Arguments that can be coerced are right.
#[must_use]
pub fn validate_call(call: &ToolCall, tools: &Toolset) -> Validation {
    let name = Value::from(call.name.as_str());
    let mut faults = shape(Some(&name), Some(&Value::Object(serde_json::Map::new())));
    if faults.is_empty() {
        faults = check(tools, &call.name, call.args.clone()).faults;
    }
    Validation { faults }
}

fn shape(name: Option<&Value>, args: Option<&Value>) -> Vec<Fault> {
    let mut faults = Vec::new();
    if !matches!(name, Some(Value::String(name)) if !name.trim().is_empty()) {
        faults.push(Fault::new(
            ProblemCode::MissingToolName,
            "Missing or invalid tool name",
        ));
    }
    match args {
        Some(Value::Object(_)) => {}
        Some(Value::Array(_)) => faults.push(Fault::new(
            ProblemCode::InvalidArguments,
            "args cannot be an array",
        )),
        _ => faults.push(Fault::new(
            ProblemCode::InvalidArguments,
            "Missing or invalid args",
        )),
    }
    faults
}
