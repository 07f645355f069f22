//! Messages, requests to the model, and what it said.

use ptk_events::CallId;
use ptk_protocol::{Image, Message, Outcome, Reply, Role};
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;

use super::call::{LoggedCall, LoggedProblem};

/// A message of the conversation that is not a reply to a request: a prompt of
/// the user, instructions, or a message that another program passes on from an
/// earlier conversation.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LoggedMessage {
    /// The role of the author.
    pub role: Role,
    /// The text of the message.
    pub text: String,
    /// Images beside the text, as data URLs.
    #[serde(
        default,
        skip_serializing_if = "Vec::is_empty",
        deserialize_with = "readable_images"
    )]
    pub images: Vec<Image>,
    /// Calls that were made through a native tool API.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub calls: Vec<LoggedCall>,
    /// The call that a tool message answers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answers: Option<String>,
}

/// Reads images. One that cannot be read is left out: the message is worth more
/// than its image.
pub(super) fn readable_images<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Vec<Image>, D::Error> {
    let urls = Vec::<Value>::deserialize(deserializer)?;
    let images = urls.iter().filter_map(|url| Image::from_url(url.as_str()?));
    Ok(images.collect())
}

impl From<Message> for LoggedMessage {
    fn from(message: Message) -> Self {
        let calls = message.tool_calls.into_iter().map(|call| {
            let id = call.id.as_deref().map(CallId::from).unwrap_or_default();
            LoggedCall::new(id, call)
        });
        Self {
            role: message.role,
            text: message.content,
            images: message.images,
            calls: calls.collect(),
            answers: message.tool_call_id,
        }
    }
}

impl LoggedMessage {
    /// The message as it was given.
    #[must_use]
    pub fn to_message(&self) -> Message {
        Message {
            role: self.role,
            content: self.text.clone(),
            images: self.images.clone(),
            tool_calls: self.calls.iter().map(LoggedCall::to_call).collect(),
            tool_call_id: self.answers.clone(),
        }
    }
}

/// A request to the model is about to be sent.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RequestBegan {
    /// Which request of the turn it is, counted from one.
    pub iteration: u32,
    /// The provider of the model, where it differs from the session's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub provider: Option<String>,
    /// The model, where that differs from the session's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// How many messages it is shown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub messages: Option<u64>,
}

/// The model's reply, as it came.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct ModelReplied {
    /// The text, including calls, unparsed.
    pub text: String,
    /// The model's reasoning, where the provider separates it.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub reasoning: String,
    /// Calls through a native tool API, unparsed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub calls: Vec<NativeCall>,
    /// Why the model stopped.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub finish_reason: Option<String>,
    /// The tokens and cost of the request.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub usage: Option<Usage>,
    /// State that the model's server needs back with the reply, word for word.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub state: Option<Value>,
    /// How long it took, in milliseconds.
    #[serde(default)]
    pub duration_ms: u64,
}

impl ModelReplied {
    /// Creates a reply of which only the text is known.
    pub fn new(text: impl Into<String>) -> Self {
        Self {
            text: text.into(),
            ..Self::default()
        }
    }
}

/// An incomplete reply: it broke off, the user stopped it, or its server
/// withheld it. People may have seen it; it does not count as an answer, and
/// nothing in it is run.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReplyBroken {
    /// The text, as far as it came.
    pub text: String,
    /// The model's reasoning, where the provider separates it.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub reasoning: String,
    /// Calls through a native tool API, as far as they came.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub calls: Vec<NativeCall>,
    /// Why the reply is incomplete.
    pub reason: String,
    /// The tokens and cost of the request.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub usage: Option<Usage>,
    /// How long it took, in milliseconds.
    #[serde(default)]
    pub duration_ms: u64,
}

/// A call through a native tool API, as the provider gave it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct NativeCall {
    /// The provider's id for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// The tool's name.
    pub name: String,
    /// The arguments: JSON, if the model kept to it.
    pub arguments: String,
}

/// The tokens and cost of requests.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Usage {
    /// Tokens that the model was shown.
    #[serde(default)]
    pub input_tokens: u64,
    /// How many of these were read from a cache.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub cached_tokens: u64,
    /// How many of these were written to a cache, where that is paid for.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub cache_write_tokens: u64,
    /// Tokens that it wrote.
    #[serde(default)]
    pub output_tokens: u64,
    /// How many of these were reasoning.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub reasoning_tokens: u64,
    /// The price, in millionths of a US dollar.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub cost_micros: u64,
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde wants it so")]
fn is_zero(number: &u64) -> bool {
    *number == 0
}

impl Usage {
    /// How much of the input was cached, to stand behind its number; empty if
    /// nothing was.
    #[must_use]
    pub fn cached_part(&self) -> String {
        match (self.cached_tokens, self.cache_write_tokens) {
            (0, 0) => String::new(),
            (read, 0) => format!(" ({read} cached)"),
            (read, written) => format!(" ({read} cached, {written} written to the cache)"),
        }
    }

    /// Adds the usage of another request.
    pub fn add(&mut self, other: Self) {
        for (sum, more) in [
            (&mut self.input_tokens, other.input_tokens),
            (&mut self.cached_tokens, other.cached_tokens),
            (&mut self.cache_write_tokens, other.cache_write_tokens),
            (&mut self.output_tokens, other.output_tokens),
            (&mut self.reasoning_tokens, other.reasoning_tokens),
            (&mut self.cost_micros, other.cost_micros),
        ] {
            *sum = sum.saturating_add(more);
        }
    }
}

/// The result of parsing a reply.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ReplyParsed {
    /// What it means for the loop.
    pub outcome: ReplyOutcome,
    /// The prose, which a person is shown.
    pub text: String,
    /// The calls, in the order in which the model wrote them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub calls: Vec<LoggedCall>,
    /// The problems that do not belong to a call.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub problems: Vec<LoggedProblem>,
    /// The reasoning that stood in the text, if any.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub reasoning: String,
    /// The reply as the model is shown it later, without its reasoning and what
    /// it made up. `None` if it had neither.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub told: Option<String>,
}

impl ReplyParsed {
    /// Converts the parser's result for this text. Models reuse and omit ids,
    /// so each call gets a fresh one.
    #[must_use]
    pub fn new(reply: &Reply, text: &str) -> Self {
        let calls = reply.calls.iter();
        Self {
            outcome: match reply.outcome() {
                Outcome::Text(_) => ReplyOutcome::Text,
                Outcome::Calls(_) => ReplyOutcome::Calls,
                Outcome::Malformed(_) => ReplyOutcome::Malformed,
            },
            text: reply.text.clone(),
            calls: calls
                .map(|call| LoggedCall::parsed(CallId::new(), call))
                .collect(),
            problems: reply.problems.iter().map(LoggedProblem::from).collect(),
            reasoning: reply.reasoning.clone(),
            told: reply.for_history(text),
        }
    }
}

/// What a reply means for the loop.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ReplyOutcome {
    /// An answer in words.
    Text,
    /// Calls to make.
    Calls,
    /// A call was meant, and is unreadable or cut off.
    Malformed,
}

/// A reply could not be used, and the model is sent the reason.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReplyRejected {
    /// The message to the model.
    pub text: String,
    /// How many replies in a row were rejected, this one included.
    #[serde(default)]
    pub attempt: u32,
}
