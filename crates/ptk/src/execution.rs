//! What came of a run.

use std::collections::BTreeMap;
use std::time::Duration;

use ptk_events::{CallId, ShownCode};
use ptk_llm::FinishReason;
use ptk_protocol::{Arguments, Message, ToolResult};
use ptk_store::{SessionId, Usage};

use crate::RunError;

/// What came of a run: the answer or the error, and how it came to it.
#[derive(Debug, Clone)]
pub struct Execution {
    /// Whether there is an answer.
    pub success: bool,
    /// The answer; empty if there is none.
    pub content: String,
    /// Why there is none.
    pub error: Option<RunError>,
    /// How often the model was asked.
    pub iterations: u32,
    /// The conversation, the answer included, as the model is told it.
    pub messages: Vec<Message>,
    /// The calls of the run, in the order in which they ended. What could not
    /// be run is among them, with its failure.
    pub tool_calls: Vec<CallRecord>,
    /// How many calls were run.
    pub total_tool_calls: u32,
    /// How long it took.
    pub duration: Duration,
    /// What all requests took, where the models' servers say so.
    pub usage: Usage,
    /// The same by model: the one that answers, and the small one if it helped.
    /// A model without a name stands under its provider's.
    pub usage_by_model: BTreeMap<String, Usage>,
    /// Why the last reply ended: an answer that ended by its length is not
    /// whole.
    pub finish: Option<FinishReason>,
    /// The session it is part of.
    pub session: SessionId,
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

/// A call, and what came of it.
#[derive(Debug, Clone, PartialEq)]
pub struct CallRecord {
    /// The id under which it was run.
    pub id: CallId,
    /// The tool's name.
    pub tool: String,
    /// What it worked on.
    pub arguments: Arguments,
    /// What it gave back.
    pub result: ToolResult,
    /// How long it took.
    pub duration: Duration,
}
