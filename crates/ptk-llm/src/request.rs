//! Requests to models.

use std::sync::Arc;

use ptk_protocol::Toolset;
use serde_json::{Map, Value};

use crate::{Constraint, Message};

/// A request to a model. What a model does not support, its provider leaves
/// out; [`Capabilities`](crate::Capabilities) say what that is.
///
/// ```
/// use ptk_llm::{Message, Request, Sampling};
///
/// let request = Request::new([Message::user("Name a prime.")])
///     .system("Answer in one word.")
///     .sampling(Sampling { temperature: Some(0.0), ..Sampling::default() })
///     .max_tokens(16);
/// assert_eq!(request.messages.len(), 1);
/// ```
#[derive(Debug, Clone, Default)]
pub struct Request {
    /// The model, where it is not the provider's own.
    pub model: Option<String>,
    /// Instructions before everything else.
    pub system: Option<String>,
    /// Example turns that the model is shown before the conversation.
    pub examples: Arc<[Message]>,
    /// The conversation.
    pub messages: Vec<Message>,
    /// Tools to be offered by the native API. A model that is taught its tools
    /// in text has none here.
    pub tools: Toolset,
    /// Whether tools are to be called.
    pub tool_choice: ToolChoice,
    /// How tokens are sampled.
    pub sampling: Sampling,
    /// Texts at which the model stops.
    pub stop: Vec<String>,
    /// The most tokens of the reply.
    pub max_tokens: Option<u32>,
    /// The format that the reply must have.
    pub format: ResponseFormat,
    /// The context window that the model is to have, in tokens, for servers
    /// that can be configured so.
    pub context_window: Option<u32>,
    /// Whether further requests are to begin with this one, so that its server
    /// should keep what it reads of it. Most servers do so by themselves;
    /// Anthropic's has to be told.
    pub prompt_cache: bool,
    /// Whether the reply is wanted at once, and not piece by piece, from
    /// servers that support it; the reply is the same in any case.
    pub whole: bool,
    /// The same request as a client wrote it, in the format of the API that the
    /// provider [speaks](crate::Provider::speaks). It is sent as it is, for the
    /// provider's own model; of the other fields, only `whole` still counts.
    pub verbatim: Option<Verbatim>,
}

/// A request as a client wrote it.
#[derive(Debug, Clone, Default)]
pub struct Verbatim {
    /// The body of the request.
    pub body: Map<String, Value>,
    /// Headers that belong to it, and mean something to that API alone.
    pub headers: Vec<(&'static str, String)>,
}

/// An API that clients write requests for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Api {
    /// OpenAI's chat completions, which most servers support.
    ChatCompletions,
    /// OpenAI's responses.
    Responses,
    /// Anthropic's messages.
    Messages,
}

/// The name under which a model calls a tool of a namespace. OpenAI's responses
/// API groups tools so, and keeps both names apart in calls.
///
/// ```
/// assert_eq!(ptk_llm::qualified_name("mcp__mail", "send"), "mcp__mail__send");
/// ```
#[must_use]
pub fn qualified_name(namespace: &str, name: &str) -> String {
    match namespace.trim_end_matches('_') {
        "" => name.to_owned(),
        namespace => format!("{namespace}__{name}"),
    }
}

/// How tokens are sampled. What is not set is up to the model's server.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Sampling {
    /// The temperature; 0 always takes the likeliest token.
    pub temperature: Option<f32>,
    /// Only the likeliest tokens that together have this probability.
    pub top_p: Option<f32>,
    /// Only so many of the likeliest tokens.
    pub top_k: Option<u32>,
    /// The same seed gives the same reply, where the server keeps to it.
    pub seed: Option<u64>,
}

/// Whether tools are to be called through the native API.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum ToolChoice {
    /// The model decides.
    #[default]
    Auto,
    /// No tool may be called, although they are listed.
    None,
    /// At least one tool must be called.
    Required,
    /// The tool of this name must be called.
    Tool(String),
}

/// The format that a reply must have.
#[derive(Debug, Clone, Default, PartialEq)]
pub enum ResponseFormat {
    /// Any text.
    #[default]
    Text,
    /// JSON.
    Json,
    /// JSON by this schema.
    Schema(Value),
    /// Text by this grammar (GBNF).
    Grammar(String),
    /// Text by this structural tag (XGrammar).
    StructuralTag(Value),
}

impl ResponseFormat {
    /// The constraint that a model needs for it.
    #[must_use]
    pub const fn constraint(&self) -> Constraint {
        match self {
            Self::Text => Constraint::None,
            Self::Json | Self::Schema(_) => Constraint::Schema,
            Self::Grammar(_) => Constraint::Grammar,
            Self::StructuralTag(_) => Constraint::StructuralTag,
        }
    }
}

impl Request {
    /// Creates a request with these messages.
    pub fn new(messages: impl IntoIterator<Item = Message>) -> Self {
        Self {
            messages: messages.into_iter().collect(),
            ..Self::default()
        }
    }

    /// Sets the model.
    #[must_use]
    pub fn model(mut self, model: impl Into<String>) -> Self {
        self.model = Some(model.into());
        self
    }

    /// Sets the system prompt.
    #[must_use]
    pub fn system(mut self, text: impl Into<String>) -> Self {
        self.system = Some(text.into());
        self
    }

    /// Sets the native tools.
    #[must_use]
    pub fn tools(mut self, tools: Toolset) -> Self {
        self.tools = tools;
        self
    }

    /// Sets how tokens are sampled.
    #[must_use]
    pub fn sampling(mut self, sampling: Sampling) -> Self {
        self.sampling = sampling;
        self
    }

    /// All messages: the examples, then the conversation.
    pub fn turns(&self) -> impl Iterator<Item = &Message> + Clone {
        self.examples.iter().chain(&self.messages)
    }

    /// Sets the most tokens of the reply.
    #[must_use]
    pub fn max_tokens(mut self, most: u32) -> Self {
        self.max_tokens = Some(most);
        self
    }
}

/// The whole request as one text.
pub(crate) fn prompt(request: &Request) -> String {
    let system = request.system.as_deref();
    let texts = system.into_iter();
    let texts = texts.chain(request.turns().map(Message::text));
    let texts: Vec<&str> = texts.filter(|text| !text.is_empty()).collect();
    texts.join("\n\n")
}
