//! The kinds of events and the values they carry.

use std::time::Duration;

use ptk_protocol::{ErrorType, ToolResult, snippet};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::EventType;

/// What happened.
///
/// It is written as part of its [`Event`](crate::Event).
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
#[non_exhaustive]
pub enum EventKind {
    /// A turn began.
    TurnBegan {
        /// The prompt of the user.
        prompt: String,
    },
    /// A model's reply was parsed.
    Iteration {
        /// The number of the reply in the run, counted from one.
        iteration: u32,
        /// The kind of the reply: `text`, `tool_call` or `malformed`.
        #[serde(alias = "callType")]
        call_type: String,
    },
    /// A part of a model's reply arrived.
    MessageChunk {
        /// Whether it is text or reasoning.
        part: MessagePart,
        /// The text of the part.
        chunk: String,
    },
    /// What a model has sent since its last reply does not count: it broke off,
    /// and the model is asked again.
    MessageRestarted {
        /// Why the reply broke off.
        reason: String,
    },
    /// A run ended with an answer.
    #[serde(alias = "receiveMessage")]
    ReceiveMessage {
        /// The answer.
        message: String,
        /// The iterations and calls of the run.
        metadata: RunMetadata,
    },
    /// From now on the model is not shown the beginning of the conversation: it
    /// no longer fits, or the user wants room.
    Compacted {
        /// What stands in its place.
        way: CompactionWay,
        /// How many messages are left out, where that is known.
        #[serde(default)]
        messages: Option<usize>,
    },
    /// A note for the user about the run.
    Note {
        /// The text of the note.
        message: String,
    },
    /// A helper model replied, or failed.
    HelperReplied {
        /// The task of the helper: `choose_files`, `shorten` or `sum_up`.
        task: String,
        /// The name of the model or its provider.
        model: String,
        /// The files that it chose.
        #[serde(default)]
        files: Vec<String>,
        /// Why the helper failed.
        #[serde(default)]
        error: Option<String>,
        /// How long it took, in milliseconds.
        duration_ms: u64,
    },
    /// A session requested a call, whether it runs or not.
    #[serde(alias = "toolCall")]
    ToolCallRequested {
        /// The tool's name.
        tool: String,
        /// The arguments of the call.
        #[serde(alias = "args")]
        arguments: Value,
        /// The model's reason for the call.
        #[serde(default)]
        reasoning: Option<String>,
        /// What was repaired in the call, for the user.
        #[serde(default)]
        repairs: Vec<String>,
    },
    /// A call began.
    ToolCallStart {
        /// The tool's name.
        tool: String,
        /// The arguments of the call.
        arguments: Value,
    },
    /// The user is being asked about a call. What follows shows the decision:
    /// the step [`Permission`](Step::Permission), or, where the user reviews
    /// what the call has changed, its end.
    ToolCallHeld {
        /// The tool's name.
        tool: String,
    },
    /// A step of a call's pipeline ended.
    ToolStep(ToolStep),
    /// A running tool wrote output.
    ToolOutputChunk {
        /// The stream that it wrote to.
        stream: OutputStream,
        /// The output.
        chunk: String,
    },
    /// A call ended. There is exactly one for each start, whatever happened.
    ToolCallEnd {
        /// The tool's name.
        tool: String,
        /// Whether the call succeeded.
        success: bool,
        /// How long the call took, in milliseconds.
        duration_ms: u64,
        /// The result of the call.
        result: ToolResult,
    },
    /// Something failed. If it was a call, its end follows.
    Error {
        /// The name of the tool that failed.
        #[serde(default)]
        tool: Option<String>,
        /// The message of the error.
        message: String,
        /// The kind of failure.
        #[serde(default)]
        error_type: Option<ErrorType>,
    },
}

impl EventKind {
    /// The event type, as it is written and subscribed to.
    #[must_use]
    pub fn name(&self) -> EventType {
        match self {
            Self::TurnBegan { .. } => EventType::TurnBegan,
            Self::Iteration { .. } => EventType::Iteration,
            Self::MessageChunk { .. } => EventType::MessageChunk,
            Self::MessageRestarted { .. } => EventType::MessageRestarted,
            Self::ReceiveMessage { .. } => EventType::ReceiveMessage,
            Self::Compacted { .. } => EventType::Compacted,
            Self::Note { .. } => EventType::Note,
            Self::HelperReplied { .. } => EventType::HelperReplied,
            Self::ToolCallRequested { .. } => EventType::ToolCallRequested,
            Self::ToolCallStart { .. } => EventType::ToolCallStart,
            Self::ToolCallHeld { .. } => EventType::ToolCallHeld,
            Self::ToolStep(_) => EventType::ToolStep,
            Self::ToolOutputChunk { .. } => EventType::ToolOutputChunk,
            Self::ToolCallEnd { .. } => EventType::ToolCallEnd,
            Self::Error { .. } => EventType::Error,
        }
    }
}

/// The parts of a model's reply.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum MessagePart {
    /// Prose, for the user.
    Text,
    /// Reasoning of the model.
    Reasoning,
}

/// What stands in the place of a conversation's beginning.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum CompactionWay {
    /// A notice that it was left out.
    Dropped,
    /// A summary.
    Summarised,
}

/// How many iterations and calls a run had.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunMetadata {
    /// How often the model was asked.
    pub iterations: u32,
    /// How many calls were run.
    #[serde(alias = "toolCalls")]
    pub tool_calls: u32,
    /// The snippets of code in the answer that name their source.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub snippets: Vec<ShownCode>,
}

/// Code in an answer, for editors: its source, and what is wrong with the
/// claims about it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ShownCode {
    /// The path of the file.
    pub path: String,
    /// The first line in the file, counted from one.
    pub start: u64,
    /// The last line in the file.
    pub end: u64,
    /// What is wrong with the claims about it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub problems: Vec<String>,
}

impl ShownCode {
    /// All code of an answer in the
    /// [snippet format](ptk_protocol::snippet).
    #[must_use]
    pub fn of(answer: &str) -> Vec<Self> {
        let found = snippet::read(answer).into_iter();
        found
            .map(|found| Self {
                start: found.snippet.start,
                end: found.stated_end,
                problems: found.problems.iter().map(ToString::to_string).collect(),
                path: found.snippet.path,
            })
            .collect()
    }
}

/// How one step of a call's pipeline ended.
///
/// ```
/// use std::time::Duration;
/// use ptk_events::{Step, StepOutcome, ToolStep};
///
/// let step = ToolStep::new(Step::Permission, StepOutcome::Refused, Duration::from_micros(12))
///     .with_detail("`rm` is not allowed here");
/// assert_eq!(step.duration_us, 12);
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolStep {
    /// The step that ended.
    pub step: Step,
    /// How it ended.
    pub outcome: StepOutcome,
    /// Details for the user.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub detail: Option<String>,
    /// How long it took, in microseconds.
    pub duration_us: u64,
}

impl ToolStep {
    /// Creates a step with its outcome and duration.
    #[must_use]
    pub fn new(step: Step, outcome: StepOutcome, took: Duration) -> Self {
        Self {
            step,
            outcome,
            detail: None,
            duration_us: u64::try_from(took.as_micros()).unwrap_or(u64::MAX),
        }
    }

    /// Adds details to the step.
    #[must_use]
    pub fn with_detail(mut self, detail: impl Into<String>) -> Self {
        self.detail = Some(detail.into());
        self
    }
}

/// The steps of a call's pipeline, in order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Step {
    /// Find the tool by its name.
    Find,
    /// Check and coerce the arguments.
    Validate,
    /// Check whether the same call was made before.
    Repeat,
    /// Check whether the call is allowed.
    Permission,
    /// Keep what is about to be overwritten.
    PreImage,
    /// Run the tool again after a transient failure.
    Retry,
    /// Run the tool.
    Run,
    /// Cut the output to its limit.
    Bound,
    /// Note which files were touched.
    Track,
    /// Write the call to the log.
    Record,
}

/// How a step ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum StepOutcome {
    /// The call goes on to the next step.
    Passed,
    /// The step had the result already, so the tool need not run.
    Answered,
    /// The call goes no further.
    Refused,
}

/// The stream that a running tool wrote to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum OutputStream {
    /// Standard output.
    Stdout,
    /// Standard error.
    Stderr,
    /// A message about the progress.
    Progress,
}
