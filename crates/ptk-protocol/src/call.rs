//! Tool calls, and how reliably they were parsed.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{Arguments, Problem, Span};

/// A call of a tool, as it is run, stored and shown to the model again.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ToolCall {
    /// Identifies the call within a conversation. Models reuse and omit ids, so
    /// the program that runs calls gives them ids of its own.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// The tool's name, exactly as declared.
    pub name: String,
    /// The arguments by name.
    pub args: Arguments,
    /// The model's reason for the call, in its own words.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reasoning: Option<String>,
}

impl ToolCall {
    /// Creates a call without id and reasoning.
    pub fn new(name: impl Into<String>, args: impl Into<Arguments>) -> Self {
        Self {
            id: None,
            name: name.into(),
            args: args.into(),
            reasoning: None,
        }
    }

    /// Sets the model's reason for the call.
    #[must_use]
    pub fn with_reasoning(mut self, reasoning: impl Into<String>) -> Self {
        self.reasoning = Some(reasoning.into());
        self
    }

    /// Sets the id of the call.
    #[must_use]
    pub fn with_id(mut self, id: impl Into<String>) -> Self {
        self.id = Some(id.into());
        self
    }

    /// The call in PTK's canonical JSON form, every digit as written:
    /// `{"tool": …, "args": …, "reasoning": …}`.
    #[must_use]
    pub fn to_json_text(&self) -> String {
        let name = Value::String(self.name.clone());
        let mut json = format!(r#"{{"tool":{name},"args":{}"#, self.args.to_json());
        for (key, text) in [("reasoning", &self.reasoning), ("id", &self.id)] {
            if let Some(text) = text {
                let text = Value::String(text.clone());
                json.push_str(&format!(r#","{key}":{text}"#));
            }
        }
        json.push('}');
        json
    }
}

/// Whether a call was read as written, repaired or truncated.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Status {
    /// The call was read as it was written.
    Complete,
    /// The call was read after a repair; the problems say what and where.
    Repaired,
    /// The call was cut off before its arguments closed. Listed, never run.
    Truncated,
}

/// A call found in a reply, with everything known about it.
#[derive(Debug, Clone, PartialEq)]
pub struct ParsedCall {
    /// The call itself.
    pub call: ToolCall,
    /// Whether the call was read as written, repaired or truncated.
    pub status: Status,
    /// Repairs made and faults found.
    pub problems: Vec<Problem>,
    /// Whether nothing in the reply says that all arguments were given. The
    /// call runs all the same, unless the reply was cut off.
    pub open_ended: bool,
    /// The name of the dialect the call was written in.
    pub dialect: String,
    /// Where the call's body stands in the reply.
    pub span: Span,
}

impl ParsedCall {
    /// Whether the call may run: it is whole, and nothing about it is a fault.
    #[must_use]
    pub fn is_runnable(&self) -> bool {
        self.status != Status::Truncated && !self.problems.iter().any(Problem::is_fault)
    }

    /// The faults that keep the call from running.
    pub fn faults(&self) -> impl Iterator<Item = &Problem> {
        self.problems.iter().filter(|problem| problem.is_fault())
    }
}
