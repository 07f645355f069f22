//! A call as a person sees it.

use std::time::{Duration, SystemTime};

use ptk_events::CallId;
use ptk_protocol::ToolResult;
use serde_json::Value;

use super::Tail;

/// A call.
#[derive(Debug, Clone, PartialEq)]
pub struct CallView {
    /// Its id.
    pub id: CallId,
    /// The tool.
    pub tool: String,
    /// What it works on.
    pub arguments: Value,
    /// Whether it belongs to no turn: a person has run it, not the model.
    pub by_hand: bool,
    /// Why the model wants it.
    pub reasoning: Option<String>,
    /// What was mended in it.
    pub repairs: Vec<String>,
    /// How far it is.
    pub state: CallState,
    /// When it began.
    pub since: Option<SystemTime>,
    /// The end of what it has written so far. Once it has ended, all that
    /// matters stands in its result.
    pub output: Tail,
    /// How far it says that it is.
    pub progress: Option<String>,
    /// How long it took.
    pub duration: Option<Duration>,
    /// What it gave back.
    pub result: Option<ToolResult>,
}

/// How far a call is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CallState {
    /// It has not begun.
    Waiting,
    /// Somebody is asked about it.
    Asked,
    /// It runs.
    Running,
    /// It did what was asked.
    Done,
    /// It did not.
    Failed,
    /// Nobody knows whether it has happened.
    Unknown,
}

impl CallState {
    /// Whether its end is still to come.
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
        self.state = if result.success {
            CallState::Done
        } else {
            CallState::Failed
        };
        self.output = Tail::default();
        self.progress = None;
        self.duration = Some(Duration::from_millis(duration_ms));
        self.result = Some(result.clone());
    }
}
