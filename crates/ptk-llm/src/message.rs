//! Messages as a model is shown them.

use ptk_protocol::{Message as Said, ToolCall};
use serde_json::Value;

/// One message of a request. Who speaks decides what can be said, so that no
/// message can be one that no provider would take.
#[derive(Debug, Clone, PartialEq)]
pub enum Message {
    /// Instructions in the course of a conversation. Those that stand before
    /// it are [`Request::system`](crate::Request::system).
    System(String),
    /// What the person says, and whatever a model without native tools is
    /// told.
    User(String),
    /// What the model said.
    Assistant {
        /// Its words.
        text: String,
        /// The calls that it made through a native tool API, each with an id.
        calls: Vec<ToolCall>,
        /// What came as [`Delta::State`](crate::Delta::State).
        state: Option<Value>,
    },
    /// The result of a native call, or of one in words.
    Result {
        /// The native call's id.
        id: String,
        /// The tool's name.
        name: String,
        /// The result, as the model is to read it.
        text: String,
        /// Whether the call failed.
        is_error: bool,
    },
}

impl Message {
    /// Instructions in the course of a conversation.
    pub fn system(text: impl Into<String>) -> Self {
        Self::System(text.into())
    }

    /// What the person says.
    pub fn user(text: impl Into<String>) -> Self {
        Self::User(text.into())
    }

    /// What the model said, without native calls.
    pub fn assistant(text: impl Into<String>) -> Self {
        Self::Assistant {
            text: text.into(),
            calls: Vec::new(),
            state: None,
        }
    }

    /// What a tool says in words, for a model that goes on with one text.
    pub fn tool(text: impl Into<String>) -> Self {
        Self::Result {
            id: String::new(),
            name: String::new(),
            text: text.into(),
            is_error: false,
        }
    }

    /// The words, without calls.
    #[must_use]
    pub fn text(&self) -> &str {
        match self {
            Self::System(text)
            | Self::User(text)
            | Self::Assistant { text, .. }
            | Self::Result { text, .. } => text,
        }
    }
}

/// The words of a message and who says them, for a conversation in text.
impl From<&Message> for Said {
    fn from(message: &Message) -> Self {
        let text = message.text();
        match message {
            Message::System(_) => Self::system(text),
            Message::User(_) => Self::user(text),
            Message::Assistant { .. } => Self::assistant(text),
            Message::Result { .. } => Self::tool(text),
        }
    }
}
