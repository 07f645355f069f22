//! The pieces of a model's reply.

use std::convert::Infallible;
use std::fmt;
use std::str::FromStr;

use serde_json::{Map, Value};

/// The next piece of a reply.
#[derive(Debug, Clone, PartialEq)]
pub enum Delta {
    /// Further text.
    Text(String),
    /// Further reasoning, where the server separates it.
    Reasoning(String),
    /// A native call begins. Several may be open at once.
    CallStart {
        /// The index of the call in the reply.
        index: usize,
        /// The server's id for the call.
        id: Option<String>,
        /// The tool's name.
        name: String,
    },
    /// Further text of a call's arguments.
    Arguments {
        /// The index of the call.
        index: usize,
        /// The piece.
        json: String,
    },
    /// A call has all its arguments.
    CallEnd {
        /// The index of the call.
        index: usize,
    },
    /// State that the server wants back, word for word, with this reply: a
    /// signature, or reasoning that only the server can read.
    State(Value),
    /// The usage of the request so far. The last one counts.
    Usage(Usage),
    /// Content that only the server's own API has a field for. It comes only
    /// where the request was written for that API
    /// ([`Request::verbatim`](crate::Request::verbatim)).
    Passthrough(Passthrough),
    /// The end of a complete reply, and its reason.
    Finish(FinishReason),
}

/// Content that only one API has a field for, as its server wrote it.
#[derive(Debug, Clone, PartialEq)]
pub enum Passthrough {
    /// Further fields of a chat completion, or of a chunk of it: of the answer
    /// itself, of its choice, and of its message.
    Fields {
        /// Fields beside `choices`, such as `system_fingerprint`.
        answer: Map<String, Value>,
        /// Fields beside the message, such as `logprobs`.
        choice: Map<String, Value>,
        /// Fields beside the message's text, such as `annotations`.
        message: Map<String, Value>,
    },
    /// A part that is neither text nor reasoning nor a call: what tools of the
    /// server did, or reasoning that only it can read.
    Part(Value),
    /// The id of the next part of this type.
    Id {
        /// The type of the part.
        kind: String,
        /// The server's id for the part.
        id: String,
    },
    /// The signature of the reasoning so far.
    Signature(String),
    /// The sources of the part of the text that ends here.
    Sources(Vec<Value>),
    /// The usage in the server's own format.
    Usage(Value),
    /// Why the reply ended, in the server's own format.
    Reason(Map<String, Value>),
}

/// Why a reply ended.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub enum FinishReason {
    /// The model completed its reply.
    #[default]
    Stop,
    /// Tools are to be called.
    ToolCalls,
    /// The reply ran into its token limit.
    Length,
    /// The server withheld the rest.
    ContentFilter,
    /// The reply kept repeating itself, and was ended here.
    Repetition,
    /// A reason that only this server knows.
    Other(String),
}

impl FinishReason {
    /// The name that most APIs have for the reason.
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

/// The usage of a request, in tokens. It means the same for all servers: the
/// input is the whole prompt, whatever of it was cached.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub struct Usage {
    /// Tokens that the model was shown.
    pub input_tokens: u64,
    /// How many of these were read from a cache.
    pub cached_tokens: u64,
    /// How many of these were written to a cache, where that is paid for. None
    /// of them was read from it.
    pub cache_write_tokens: u64,
    /// Tokens that the model wrote.
    pub output_tokens: u64,
    /// How many of these were reasoning.
    pub reasoning_tokens: u64,
}
