//! The types of events by name: what is written, and what filters choose by.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// The type of an event.
///
/// ```
/// use ptk_events::EventType;
///
/// assert_eq!("tool_call_end".parse(), Ok(EventType::ToolCallEnd));
/// assert_eq!(EventType::ToolCallEnd.to_string(), "tool_call_end");
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum EventType {
    /// A turn began.
    TurnBegan,
    /// A model's reply was read.
    Iteration,
    /// A model said something, and is still speaking.
    MessageChunk,
    /// A model is asked again, and what it said does not count.
    MessageRestarted,
    /// A run ended with an answer.
    #[serde(rename = "receiveMessage")]
    ReceiveMessage,
    /// The model is no longer shown how the conversation began.
    Compacted,
    /// Something that a person should know about the run.
    Note,
    /// Another model helped, or failed to.
    HelperReplied,
    /// A session asked for a call.
    ToolCallRequested,
    /// A call began.
    ToolCallStart,
    /// A person is being asked about a call.
    ToolCallHeld,
    /// A step of a call's way ended.
    ToolStep,
    /// A running tool wrote something.
    ToolOutputChunk,
    /// A call ended.
    ToolCallEnd,
    /// Something failed.
    Error,
}

impl EventType {
    /// All types there are.
    pub const ALL: &[Self] = &[
        Self::TurnBegan,
        Self::Iteration,
        Self::MessageChunk,
        Self::MessageRestarted,
        Self::ReceiveMessage,
        Self::Compacted,
        Self::Note,
        Self::HelperReplied,
        Self::ToolCallRequested,
        Self::ToolCallStart,
        Self::ToolCallHeld,
        Self::ToolStep,
        Self::ToolOutputChunk,
        Self::ToolCallEnd,
        Self::Error,
    ];

    /// The name that stands in `type`.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::TurnBegan => "turn_began",
            Self::Iteration => "iteration",
            Self::MessageChunk => "message_chunk",
            Self::MessageRestarted => "message_restarted",
            Self::ReceiveMessage => "receiveMessage",
            Self::Compacted => "compacted",
            Self::Note => "note",
            Self::HelperReplied => "helper_replied",
            Self::ToolCallRequested => "tool_call_requested",
            Self::ToolCallStart => "tool_call_start",
            Self::ToolCallHeld => "tool_call_held",
            Self::ToolStep => "tool_step",
            Self::ToolOutputChunk => "tool_output_chunk",
            Self::ToolCallEnd => "tool_call_end",
            Self::Error => "error",
        }
    }
}

impl fmt::Display for EventType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

impl FromStr for EventType {
    type Err = UnknownEventType;

    fn from_str(name: &str) -> Result<Self, Self::Err> {
        Self::ALL
            .iter()
            .copied()
            .find(|known| known.as_str() == name)
            .ok_or_else(|| UnknownEventType(name.to_owned()))
    }
}

/// No event has this type.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("no event has the type `{0}`")]
pub struct UnknownEventType(pub String);
