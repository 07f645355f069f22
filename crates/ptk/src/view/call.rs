//! A call as the user sees it.

use std::time::{Duration, SystemTime};

use ptk_events::CallId;
use ptk_protocol::ToolResult;
use ptk_tools::preview::is_failure;
use serde_json::Value;

use super::Tail;

/// A call as the user sees it.
#[derive(Debug, Clone, PartialEq)]
pub struct CallView {
    /// The id of the call.
    pub id: CallId,
    /// The tool.
    pub tool: String,
    /// The arguments of the call.
    pub arguments: Value,
    /// Whether it belongs to no turn: the user has run it, not the model.
    pub by_hand: bool,
    /// The model's reason for the call.
    pub reasoning: Option<String>,
    /// What was repaired in the call.
    pub repairs: Vec<String>,
    /// The state of the call.
    pub state: CallState,
    /// When the call began.
    pub since: Option<SystemTime>,
    /// The end of its output so far. Once it has ended, all that matters stands
    /// in its result.
    pub output: Tail,
    /// The last progress message of the call.
    pub progress: Option<String>,
    /// How long the call took.
    pub duration: Option<Duration>,
    /// The result of the call.
    pub result: Option<ToolResult>,
}

/// The state of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CallState {
    /// The call has not begun.
    Waiting,
    /// The user is asked about it.
    Asked,
    /// The call runs.
    Running,
    /// The call succeeded.
    Done,
    /// The call failed, or the program that it ran did.
    Failed,
    /// It is not known whether the call has happened.
    Unknown,
}

impl CallState {
    /// Whether the call has not ended.
    #[must_use]
    pub fn is_open(self) -> bool {
        matches!(self, Self::Waiting | Self::Asked | Self::Running)
    }
}

impl CallView {
    pub(super) fn new(id: CallId, tool: &str, arguments: Value) -> Self {
        Self {
            id,
            tool: tool.to_owned(),
            arguments,
            by_hand: false,
            reasoning: None,
            repairs: Vec::new(),
            state: CallState::Waiting,
            since: None,
            output: Tail::default(),
            progress: None,
            duration: None,
            result: None,
        }
    }

    pub(super) fn begin(&mut self, ts: SystemTime) {
        self.state = CallState::Running;
        self.since = Some(ts);
    }

    pub(super) fn end(&mut self, result: &ToolResult, duration_ms: u64) {
        self.state = if is_failure(result) {
            CallState::Failed
        } else {
            CallState::Done
        };
        self.output = Tail::default();
        self.progress = None;
        self.duration = Some(Duration::from_millis(duration_ms));
        self.result = Some(result.clone());
    }
}
