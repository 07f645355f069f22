//! What a model is asked.

use std::sync::Arc;

use ptk_protocol::Toolset;
use serde_json::{Map, Value};

use crate::Message;

/// A request to a model. What a model cannot do, its provider leaves out;
/// [`Capabilities`](crate::Capabilities) say what that is.
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
    /// in words has none here.
    pub tools: Toolset,
    /// Whether tools are to be called.
    pub tool_choice: ToolChoice,
    /// How the next word is chosen.
    pub sampling: Sampling,
    /// Texts at which the model stops.
    pub stop: Vec<String>,
    /// The most tokens that it may write.
    pub max_tokens: Option<u32>,
    /// The form that its answer has to have.
    pub format: ResponseFormat,
    /// How many tokens the model is to be able to see and write, for servers
    /// that can be told so.
    pub context_window: Option<u32>,
    /// Whether the reply is wanted at once, and not piece by piece. Servers that
    /// can be told so are; it is the same reply in any case.
    pub whole: bool,
    /// The same request as somebody else wrote it, in the words of the API
    /// that the provider [speaks](crate::Provider::speaks). It is sent as it
    /// is, for the provider's own model; the fields above say nothing then but
    /// whether the reply is wanted at once.
    pub verbatim: Option<Verbatim>,
}

/// A request as somebody else wrote it.
#[derive(Debug, Clone, Default)]
pub struct Verbatim {
    /// The body.
    pub body: Map<String, Value>,
    /// Headers that go with it, and mean something to that API alone.
    pub headers: Vec<(&'static str, String)>,
}

/// An API that others write requests for, too.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Api {
    /// OpenAI's chat completions, which most servers understand.
    ChatCompletions,
    /// OpenAI's responses.
    Responses,
    /// Anthropic's messages.
    Messages,
}

/// How the next word is chosen. What is not said is up to the model's server.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Sampling {
    /// How daring it is; 0 always takes the likeliest.
    pub temperature: Option<f32>,
    /// Only the likeliest words that together have this probability.
    pub top_p: Option<f32>,
    /// Only so many of the likeliest words.
    pub top_k: Option<u32>,
    /// The same seed gives the same reply, where the server keeps to it.
    pub seed: Option<u64>,
}

/// Whether tools are to be called through the native API.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum ToolChoice {
    /// As the model likes.
    #[default]
    Auto,
    /// None, although they are listed.
    None,
    /// At least one.
    Required,
    /// The one of this name.
    Tool(String),
}

/// The form that an answer has to have.
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
}

impl Request {
    /// A request with these messages.
    pub fn new(messages: impl IntoIterator<Item = Message>) -> Self {
        Self {
            messages: messages.into_iter().collect(),
            ..Self::default()
        }
    }

    /// The same for this model.
    #[must_use]
    pub fn model(mut self, model: impl Into<String>) -> Self {
        self.model = Some(model.into());
        self
    }

    /// The same with instructions before everything else.
    #[must_use]
    pub fn system(mut self, text: impl Into<String>) -> Self {
        self.system = Some(text.into());
        self
    }

    /// The same with native tools.
    #[must_use]
    pub fn tools(mut self, tools: Toolset) -> Self {
        self.tools = tools;
        self
    }

    /// The same with this to say about how words are chosen.
    #[must_use]
    pub fn sampling(mut self, sampling: Sampling) -> Self {
        self.sampling = sampling;
        self
    }

    /// What is said: the examples, then the conversation.
    pub fn turns(&self) -> impl Iterator<Item = &Message> + Clone {
        self.examples.iter().chain(&self.messages)
    }

    /// The same with at most so many tokens in the reply.
    #[must_use]
    pub fn max_tokens(mut self, most: u32) -> Self {
        self.max_tokens = Some(most);
        self
    }
}

/// All that a request says, as one text.
pub(crate) fn prompt(request: &Request) -> String {
    let system = request.system.as_deref();
    let texts = system.into_iter();
    let texts = texts.chain(request.turns().map(Message::text));
    let texts: Vec<&str> = texts.filter(|text| !text.is_empty()).collect();
    texts.join("\n\n")
}
