//! Calls, before they act and after they ended.

use ptk_events::CallId;
use ptk_protocol::{Arguments, ParsedCall, Problem, ProblemCode, Status, ToolCall, ToolResult};
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;
use serde_json::value::RawValue;

/// A call, as it was found in a reply.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LoggedCall {
    /// The id under which it is run.
    pub id: CallId,
    /// The tool's name.
    pub name: String,
    /// The arguments of the call, every digit as it was written.
    #[serde(deserialize_with = "read_arguments")]
    pub arguments: Arguments,
    /// The model's reason for the call.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reasoning: Option<String>,
    /// Whether the call was read as written, repaired or truncated.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<Status>,
    /// The form it was written in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dialect: Option<String>,
    /// Repairs made and faults found.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub problems: Vec<LoggedProblem>,
}

impl LoggedCall {
    /// A call that the parser found, to be run under this id.
    #[must_use]
    pub fn parsed(id: CallId, parsed: &ParsedCall) -> Self {
        Self {
            status: Some(parsed.status),
            dialect: Some(parsed.dialect.clone()),
            problems: parsed.problems.iter().map(LoggedProblem::from).collect(),
            ..Self::new(id, parsed.call.clone())
        }
    }

    /// Creates a call under this id.
    #[must_use]
    pub fn new(id: CallId, call: ToolCall) -> Self {
        Self {
            id,
            name: call.name,
            arguments: call.args,
            reasoning: call.reasoning,
            status: None,
            dialect: None,
            problems: Vec::new(),
        }
    }

    /// Whether the call may run: it is whole, and nothing about it is a fault.
    #[must_use]
    pub fn is_runnable(&self) -> bool {
        let is_fault = |problem: &LoggedProblem| {
            let code = ProblemCode::named(&problem.code);
            code.is_none_or(|code| code.severity().is_fault())
        };
        self.status != Some(Status::Truncated) && !self.problems.iter().any(is_fault)
    }

    /// The call as the model made it.
    #[must_use]
    pub fn to_call(&self) -> ToolCall {
        ToolCall {
            id: Some(self.id.to_string()),
            name: self.name.clone(),
            args: self.arguments.clone(),
            reasoning: self.reasoning.clone(),
        }
    }
}

/// A problem in short: its position can be found by parsing the reply again.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LoggedProblem {
    /// The kind of problem.
    pub code: String,
    /// What is wrong.
    pub message: String,
}

impl From<&Problem> for LoggedProblem {
    fn from(problem: &Problem) -> Self {
        Self {
            code: problem.code.to_string(),
            message: problem.message.clone(),
        }
    }
}

/// A tool is about to act. The call id of the entry is the call's.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CallBegan {
    /// The tool's name.
    pub tool: String,
    /// The arguments of the call.
    #[serde(deserialize_with = "read_arguments")]
    pub arguments: Arguments,
}

/// The user is asked about a call that began, and it waits: a call that has not
/// been allowed has not happened. The call id of the entry is the call's.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CallHeld {
    /// The tool's name.
    pub tool: String,
}

/// The user has allowed a call that was held: it is about to act. The call id
/// of the entry is the call's.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CallAllowed {
    /// The tool's name.
    pub tool: String,
}

/// A call was cut off because the time of its run was up. It has no end: it is
/// unknown whether it has happened. The call id of the entry is the call's.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CallCut {
    /// The tool's name.
    pub tool: String,
    /// How long it had taken, in milliseconds.
    #[serde(default)]
    pub duration_ms: u64,
    /// The result that the tool reported when it was stopped.
    pub result: ToolResult,
}

/// A call has ended. The call id of the entry is the call's.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CallEnded {
    /// The tool's name.
    pub tool: String,
    /// How long it took, in milliseconds.
    #[serde(default)]
    pub duration_ms: u64,
    /// The result of the call.
    pub result: ToolResult,
    /// The state that the tools need again when the session goes on, word for
    /// word.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub state: Option<Value>,
}

/// A person has run a tool by hand, outside all turns. The model learns of it
/// before the next prompt, if at all. The call id of the entry is the call's.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RanByHand {
    /// The tool's name.
    pub tool: String,
    /// The arguments of the call.
    #[serde(deserialize_with = "read_arguments")]
    pub arguments: Arguments,
    /// How long it took, in milliseconds.
    #[serde(default)]
    pub duration_ms: u64,
    /// The result of the call.
    pub result: ToolResult,
    /// What the model is told of it. Empty if it is told nothing.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub told: String,
}

/// Reads arguments from their text, so that no digit is lost.
pub(super) fn read_arguments<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Arguments, D::Error> {
    let json = Box::<RawValue>::deserialize(deserializer)?;
    Arguments::from_json(json.get()).map_err(serde::de::Error::custom)
}
