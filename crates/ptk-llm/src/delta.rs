//! What a model says, piece by piece.

use std::convert::Infallible;
use std::fmt;
use std::str::FromStr;

use serde_json::{Map, Value};

/// The next piece of a reply.
#[derive(Debug, Clone, PartialEq)]
pub enum Delta {
    /// Further text.
    Text(String),
    /// Further thoughts, where the server tells them apart.
    Reasoning(String),
    /// A native call begins. Several may be open at once.
    CallStart {
        /// Which call of the reply it is.
        index: usize,
        /// The server's id for it.
        id: Option<String>,
        /// The tool's name.
        name: String,
    },
    /// Further text of a call's arguments.
    Arguments {
        /// The call.
        index: usize,
        /// The piece.
        json: String,
    },
    /// A call has all its arguments.
    CallEnd {
        /// The call.
        index: usize,
    },
    /// Something that the server wants back, word for word, with this reply:
    /// a signature, or thoughts that nobody else can read.
    State(Value),
    /// What the request took so far. The last one counts.
    Usage(Usage),
    /// What only the server's own API has a place for. It comes where the
    /// request was written for that API
    /// ([`Request::verbatim`](crate::Request::verbatim)), and nowhere else.
    Passthrough(Passthrough),
    /// The reply is whole, and ended for this reason.
    Finish(FinishReason),
}

/// What only one API has a place for, as its server wrote it.
#[derive(Debug, Clone, PartialEq)]
pub enum Passthrough {
    /// Further fields of a chat completion, or of a chunk of it: of the answer
    /// itself, of its choice, and of what is said.
    Fields {
        /// Beside `choices`, such as `system_fingerprint`.
        answer: Map<String, Value>,
        /// Beside the message, such as `logprobs`.
        choice: Map<String, Value>,
        /// Beside the message's text, such as `annotations`.
        message: Map<String, Value>,
    },
    /// A part that is neither text nor thoughts nor a call: what tools of the
    /// server did, or thoughts that only it can read.
    Part(Value),
    /// The next part of this type has this id.
    Id {
        /// The type of the part.
        kind: String,
        /// The server's id for it.
        id: String,
    },
    /// The thoughts so far are signed so.
    Signature(String),
    /// A part of the text ends, which these sources are named for.
    Sources(Vec<Value>),
    /// What the request took, in the server's own words.
    Usage(Value),
    /// Why the reply ended, in the server's own words.
    Reason(Map<String, Value>),
}

/// Why a reply ended.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub enum FinishReason {
    /// It was at its end.
    #[default]
    Stop,
    /// Tools are to be called.
    ToolCalls,
    /// It may not be longer.
    Length,
    /// The server would not pass it on.
    ContentFilter,
    /// It went on repeating itself, and was ended here.
    Repetition,
    /// Something that only this server knows.
    Other(String),
}

impl FinishReason {
    /// The name that most APIs have for it.
    #[must_use]
    pub fn as_str(&self) -> &str {
        match self {
            Self::Stop => "stop",
            Self::ToolCalls => "tool_calls",
            Self::Length => "length",
            Self::ContentFilter => "content_filter",
            Self::Repetition => "repetition",
            Self::Other(name) => name,
        }
    }
}

impl fmt::Display for FinishReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

impl From<&str> for FinishReason {
    fn from(name: &str) -> Self {
        match name {
            "stop" => Self::Stop,
            "tool_calls" => Self::ToolCalls,
            "length" => Self::Length,
            "content_filter" => Self::ContentFilter,
            "repetition" => Self::Repetition,
            other => Self::Other(other.to_owned()),
        }
    }
}

impl FromStr for FinishReason {
    type Err = Infallible;

    fn from_str(name: &str) -> Result<Self, Self::Err> {
        Ok(Self::from(name))
    }
}

/// What a request took.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub struct Usage {
    /// Tokens that the model was shown.
    pub input_tokens: u64,
    /// How many of these it had seen before.
    pub cached_tokens: u64,
    /// Tokens that it wrote.
    pub output_tokens: u64,
    /// How many of these were thought.
    pub reasoning_tokens: u64,
}
