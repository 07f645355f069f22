//! The result of a run.

use std::collections::BTreeMap;
use std::fmt::Display;
use std::time::Duration;

use ptk_events::{CallId, ShownCode};
use ptk_llm::FinishReason;
use ptk_protocol::{Arguments, Message, ToolResult};
use ptk_store::{SessionId, Usage};
use serde::{Serialize, Serializer};

use crate::RunError;

/// The result of a run: the answer or the error, and how it came about.
#[derive(Debug, Clone, Serialize)]
pub struct Execution {
    /// Whether there is an answer.
    pub success: bool,
    /// The answer; empty if there is none.
    pub content: String,
    /// Why there is none.
    #[serde(serialize_with = "write_text", skip_serializing_if = "Option::is_none")]
    pub error: Option<RunError>,
    /// How often the model was asked.
    pub iterations: u32,
    /// The conversation as the model is shown it, the answer included.
    pub messages: Vec<Message>,
    /// The calls of the run, in the order in which they ended. Calls that could
    /// not be run are among them, with their failures.
    pub tool_calls: Vec<CallRecord>,
    /// How many calls were run.
    pub total_tool_calls: u32,
    /// How long the run took.
    #[serde(rename = "duration_ms", serialize_with = "write_milliseconds")]
    pub duration: Duration,
    /// The usage of all requests, where the models' servers report it.
    pub usage: Usage,
    /// The usage by model: the main one, and the small one if it helped. A
    /// model without a name stands under its provider's.
    pub usage_by_model: BTreeMap<String, Usage>,
    /// Why the last reply ended: an answer that ended by its length is not
    /// whole.
    #[serde(serialize_with = "write_text", skip_serializing_if = "Option::is_none")]
    pub finish: Option<FinishReason>,
    /// The limit that made it ask for the answer, if one did.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limit: Option<RunLimit>,
    /// The session it is part of.
    pub session: SessionId,
    /// Whether its turn has not ended, and can be resumed.
    pub is_open: bool,
}

/// A limit of a run's options.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum RunLimit {
    /// So many requests: [`RunOptions::max_iterations`](crate::RunOptions).
    Iterations(u32),
    /// So many calls: [`RunOptions::max_tool_calls`](crate::RunOptions).
    ToolCalls(u32),
}

impl Execution {
    /// The answer.
    ///
    /// # Errors
    ///
    /// If there is none.
    pub fn into_result(self) -> Result<String, RunError> {
        match self.error {
            None => Ok(self.content),
            Some(error) => Err(error),
        }
    }

    /// The code in the answer that says where it is from, for editors.
    #[must_use]
    pub fn snippets(&self) -> Vec<ShownCode> {
        ShownCode::of(&self.content)
    }
}

/// A call and its result.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct CallRecord {
    /// The id under which the call was run.
    pub id: CallId,
    /// The tool's name.
    pub tool: String,
    /// The arguments of the call.
    pub arguments: Arguments,
    /// The result of the call.
    pub result: ToolResult,
    /// How long the call took.
    #[serde(rename = "duration_ms", serialize_with = "write_milliseconds")]
    pub duration: Duration,
}

#[expect(clippy::ref_option, reason = "serde passes the field")]
fn write_text<T: Display, S: Serializer>(
    value: &Option<T>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    match value {
        Some(value) => serializer.collect_str(value),
        None => serializer.serialize_none(),
    }
}

fn write_milliseconds<S: Serializer>(
    duration: &Duration,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    serializer.serialize_u128(duration.as_millis())
}
