//! The types of events by name, as they are written and filtered by.

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
    /// A model's reply was parsed.
    Iteration,
    /// A part of a model's reply arrived.
    MessageChunk,
    /// A model is asked again, and its reply so far does not count.
    MessageRestarted,
    /// A run ended with an answer.
    #[serde(alias = "receiveMessage")]
    ReceiveMessage,
    /// The model is no longer shown the beginning of the conversation.
    Compacted,
    /// A note for the user about the run.
    Note,
    /// Another model helped, or failed to.
    HelperReplied,
    /// A session requested a call.
    ToolCallRequested,
    /// A call began.
    ToolCallStart,
    /// The user is being asked about a call.
    ToolCallHeld,
    /// A step of a call's pipeline ended.
    ToolStep,
    /// A running tool wrote output.
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

    /// The name in the field `type`.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::TurnBegan => "turn_began",
            Self::Iteration => "iteration",
            Self::MessageChunk => "message_chunk",
            Self::MessageRestarted => "message_restarted",
            Self::ReceiveMessage => "receive_message",
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
        // The name that was written before.
        if name == "receiveMessage" {
            return Ok(Self::ReceiveMessage);
        }
        Self::ALL
            .iter()
            .copied()
            .find(|known| known.as_str() == name)
            .ok_or_else(|| UnknownEventType(name.to_owned()))
    }
}

/// The error of an unknown event type.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("no event has the type `{0}`")]
pub struct UnknownEventType(pub String);
