//! Messages of a request.

use ptk_protocol::{Image, Message as Said, ToolCall};
use serde_json::Value;

/// One message of a request. The role determines the content, so that every
/// message is one that providers accept.
#[derive(Debug, Clone, PartialEq)]
pub enum Message {
    /// Instructions in the course of a conversation. Those that stand before
    /// it are [`Request::system`](crate::Request::system).
    System(String),
    /// A message of the user, and all messages to a model without native tools.
    User {
        /// The text of the message.
        text: String,
        /// Images beside it. Only a model that
        /// [takes them](crate::Capabilities::takes_images) is sent some.
        images: Vec<Image>,
    },
    /// A message of the model.
    Assistant {
        /// The text of the message.
        text: String,
        /// The calls that it made through a native tool API, each with an id.
        calls: Vec<ToolCall>,
        /// The state that came as [`Delta::State`](crate::Delta::State).
        state: Option<Value>,
    },
    /// The result of a native call, or of one in text.
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

    /// A message of the user.
    pub fn user(text: impl Into<String>) -> Self {
        Self::User {
            text: text.into(),
            images: Vec::new(),
        }
    }

    /// A message of the model, without native calls.
    pub fn assistant(text: impl Into<String>) -> Self {
        Self::Assistant {
            text: text.into(),
            calls: Vec::new(),
            state: None,
        }
    }

    /// A result in text, for a model that continues one text.
    pub fn tool(text: impl Into<String>) -> Self {
        Self::Result {
            id: String::new(),
            name: String::new(),
            text: text.into(),
            is_error: false,
        }
    }

    /// The images beside the text.
    #[must_use]
    pub fn images(&self) -> &[Image] {
        match self {
            Self::User { images, .. } => images,
            _ => &[],
        }
    }

    /// The text of the message, without calls.
    #[must_use]
    pub fn text(&self) -> &str {
        match self {
            Self::System(text)
            | Self::User { text, .. }
            | Self::Assistant { text, .. }
            | Self::Result { text, .. } => text,
        }
    }
}

/// The text and the role of a message, for a conversation in text.
impl From<&Message> for Said {
    fn from(message: &Message) -> Self {
        let text = message.text();
        match message {
            Message::System(_) => Self::system(text),
            Message::User { .. } => Self::user(text),
            Message::Assistant { .. } => Self::assistant(text),
            Message::Result { .. } => Self::tool(text),
        }
    }
}
