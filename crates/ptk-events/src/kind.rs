//! What can happen: the kinds of events and the values they carry.

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
        /// What was asked.
        prompt: String,
    },
    /// A model's reply was read.
    Iteration {
        /// Which one of the run it is, counted from one.
        iteration: u32,
        /// What it is: `text`, `tool_call` or `malformed`.
        #[serde(rename = "callType")]
        call_type: String,
    },
    /// A model said something, and is still speaking.
    MessageChunk {
        /// What kind of words they are.
        part: MessagePart,
        /// The words.
        chunk: String,
    },
    /// What a model has said since its last reply does not count: it broke
    /// off, and the model is asked again.
    MessageRestarted {
        /// Why.
        reason: String,
    },
    /// A run ended with an answer.
    #[serde(rename = "receiveMessage")]
    ReceiveMessage {
        /// The answer.
        message: String,
        /// What it took.
        metadata: RunMetadata,
    },
    /// The conversation no longer fits: from now on the model is not shown how
    /// it began.
    Compacted {
        /// What stands in its place.
        way: CompactionWay,
        /// How many messages are left out, where that is known.
        #[serde(default)]
        messages: Option<usize>,
    },
    /// Something that a person should know about the run.
    Note {
        /// What it is.
        message: String,
    },
    /// Another model helped the one that answers, or failed to.
    HelperReplied {
        /// What it was asked to do: `choose_files`, `shorten` or `sum_up`.
        task: String,
        /// The model, or where it is reached.
        model: String,
        /// The files that it chose.
        #[serde(default)]
        files: Vec<String>,
        /// Why nothing came of it.
        #[serde(default)]
        error: Option<String>,
        /// How long it took, in milliseconds.
        duration_ms: u64,
    },
    /// A session asked for a call, whether it runs or not.
    ToolCallRequested {
        /// The tool's name.
        tool: String,
        /// What it was asked to work on.
        arguments: Value,
        /// Why the model wants it.
        #[serde(default)]
        reasoning: Option<String>,
        /// What was mended in the call, for a person.
        #[serde(default)]
        repairs: Vec<String>,
    },
    /// A call began.
    ToolCallStart {
        /// The tool's name.
        tool: String,
        /// What it works on.
        arguments: Value,
    },
    /// A person is being asked about a call. What follows tells how they
    /// decided: the step [`Permission`](Step::Permission), or, where they look
    /// at what the call has changed, its end.
    ToolCallHeld {
        /// The tool's name.
        tool: String,
    },
    /// A step of a call's way ended.
    ToolStep(ToolStep),
    /// A running tool wrote something.
    ToolOutputChunk {
        /// Where it wrote.
        stream: OutputStream,
        /// What it wrote.
        chunk: String,
    },
    /// A call ended. There is exactly one for each start, whatever happened.
    ToolCallEnd {
        /// The tool's name.
        tool: String,
        /// Whether the tool did what was asked.
        success: bool,
        /// How long the call took, in milliseconds.
        duration_ms: u64,
        /// What the tool gave back.
        result: ToolResult,
    },
    /// Something failed. If it was a call, its end follows.
    Error {
        /// The name of the tool that failed.
        #[serde(default)]
        tool: Option<String>,
        /// What went wrong.
        message: String,
        /// The kind of failure.
        #[serde(default)]
        error_type: Option<ErrorType>,
    },
}

impl EventKind {
    /// The type under which it is written and subscribed to.
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

/// What a model's words are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum MessagePart {
    /// Prose, for a person.
    Text,
    /// Thoughts.
    Reasoning,
}

/// What stands in the place of a conversation's beginning.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum CompactionWay {
    /// A word that it was left out.
    Dropped,
    /// A summary.
    Summarised,
}

/// What a run took.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RunMetadata {
    /// How often the model was asked.
    pub iterations: u32,
    /// How many calls were run.
    pub tool_calls: u32,
    /// The code in the answer that says where it is from.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub snippets: Vec<ShownCode>,
}

/// Code in an answer, for editors: where it is from, and what is wrong with
/// what is said about that.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ShownCode {
    /// The file.
    pub path: String,
    /// Its first line there, counted from one.
    pub start: u64,
    /// Its last line.
    pub end: u64,
    /// What is wrong.
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

/// How one step of a call's way went.
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
    /// Which step.
    pub step: Step,
    /// How it ended.
    pub outcome: StepOutcome,
    /// More about it, for a person.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub detail: Option<String>,
    /// How long it took, in microseconds.
    pub duration_us: u64,
}

impl ToolStep {
    /// A step that ended so after this time.
    #[must_use]
    pub fn new(step: Step, outcome: StepOutcome, took: Duration) -> Self {
        Self {
            step,
            outcome,
            detail: None,
            duration_us: u64::try_from(took.as_micros()).unwrap_or(u64::MAX),
        }
    }

    /// The same step with a word about it.
    #[must_use]
    pub fn with_detail(mut self, detail: impl Into<String>) -> Self {
        self.detail = Some(detail.into());
        self
    }
}

/// The steps of a call's way, in order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Step {
    /// Find the tool by its name.
    Find,
    /// Check and coerce the arguments.
    Validate,
    /// See whether the same call was made before.
    Repeat,
    /// See whether the call is allowed.
    Permission,
    /// Keep what is about to be overwritten.
    PreImage,
    /// Run the tool again, which failed for a passing reason.
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
    /// The step had the result itself, so the tool need not run.
    Answered,
    /// The call goes no further.
    Refused,
}

/// Where a running tool wrote.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum OutputStream {
    /// Standard output.
    Stdout,
    /// Standard error.
    Stderr,
    /// Word of how far it is.
    Progress,
}
