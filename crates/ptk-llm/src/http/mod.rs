//! Models behind HTTP: one way to send, to wait and to fail for all of them.
//! What a server wants to read and how it answers is its `Wire`, a file
//! each.

mod answer;
mod anthropic;
mod completion;
mod events;
mod failure;
mod gemini;
mod key;
mod keyring;
mod learn;
mod lines;
mod ollama;
mod openai;
mod responses;
mod schema;
mod sending;
mod services;

use std::fmt::Debug;
use std::time::Duration;

use reqwest::Url;
use serde_json::{Map, Value};

use crate::{Delta, FinishReason, Form, Message, Request};

pub use key::Key;
pub use keyring::{Keyring, KeyringError};
pub use sending::{HttpProvider, SetupError};
pub use services::{Grammar, Kind, SERVICES, Service};

/// How long a server is waited for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Timeouts {
    /// Until there is a connection.
    pub connect: Duration,
    /// Until the next piece of a reply. Models on small machines read a long
    /// prompt for minutes before they say the first word.
    pub idle: Duration,
    /// Until a reply is whole.
    pub whole: Duration,
}

impl Default for Timeouts {
    fn default() -> Self {
        Self {
            connect: Duration::from_secs(10),
            idle: Duration::from_secs(300),
            whole: Duration::from_secs(3600),
        }
    }
}

/// What a kind of server wants to read, and how it answers.
pub(crate) trait Wire: Debug + Send + Sync {
    /// The path behind the base address, and the body, which is JSON.
    fn request(&self, request: &Request, model: &str) -> (String, Vec<u8>);

    /// The header that holds the key, and what stands before it there.
    fn key_header(&self) -> (&'static str, &'static str) {
        ("authorization", "Bearer ")
    }

    /// What else it wants to be told with every request.
    fn headers(&self) -> &'static [(&'static str, &'static str)] {
        &[]
    }

    /// What it takes a conversation as.
    fn form(&self) -> Form {
        Form::Chat
    }

    /// What an answer that streams is cut into.
    fn framing(&self) -> Framing {
        Framing::Events
    }

    /// Reads the answer to a request.
    fn reading(&self, request: &Request) -> Box<dyn Reading>;
}

/// What an answer that streams is cut into.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Framing {
    /// Server-sent events.
    Events,
    /// JSON by the line.
    Lines,
}

/// Reads an answer, event by event or as a whole.
pub(crate) trait Reading: Send {
    /// Takes in an event that holds a few words and nothing else, as most do.
    /// `false` if it has to be read as a whole; then nothing was taken.
    fn words(&mut self, _json: &str, _deltas: &mut Vec<Delta>) -> bool {
        false
    }

    /// Takes in the next event of a stream.
    fn event(&mut self, event: &Value, deltas: &mut Vec<Delta>) -> Result<(), Trouble>;

    /// Takes in an answer that came as a whole.
    fn whole(&mut self, answer: &Value, deltas: &mut Vec<Delta>) -> Result<(), Trouble>;

    /// Whether the reply is over, so that nothing else is waited for.
    fn is_over(&self) -> bool {
        false
    }

    /// Whether it was said why the reply ended, so that nothing is missing if
    /// nothing else comes.
    fn has_ended(&self) -> bool {
        self.is_over()
    }

    /// The stream has ended. If the reply has, its last delta says why.
    fn end(&mut self, deltas: &mut Vec<Delta>);
}

/// What is wrong with an answer that came with a good status.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Trouble {
    /// It is an error after all.
    Error {
        status: Option<u16>,
        message: String,
    },
}

/// The error in an answer, in whichever form servers write it.
pub(crate) fn error_in(answer: &Value) -> Option<Trouble> {
    let error = answer.get("error").filter(|error| !error.is_null())?;
    let message = match error {
        Value::String(text) => text.clone(),
        error => message_of(error).unwrap_or_else(|| error.to_string()),
    };
    // Some write it as a text.
    let number = |name: &str| match error.get(name).or_else(|| answer.get(name))? {
        Value::String(text) => text.parse().ok(),
        value => value.as_u64(),
    };
    let status = number("code").or_else(|| number("status"));
    let status = status.and_then(|status| u16::try_from(status).ok());
    let mut words = ["code", "type"].into_iter();
    let named = words.find_map(|word| text(error, word).and_then(named_status));
    Some(Trouble::Error {
        status: named.filter(|named| precise(*named)).or(status).or(named),
        message,
    })
}

/// Whether a name that stands for this status says more than a number beside
/// it: many servers have one number for all that is wrong with a request.
pub(crate) const fn precise(named: u16) -> bool {
    matches!(named, 401 | 402 | 404 | 413)
}

/// The status that a name of an error stands for.
pub(crate) fn named_status(name: &str) -> Option<u16> {
    Some(match name {
        "invalid_request_error" | "invalid_prompt" => 400,
        "authentication_error" | "invalid_api_key" => 401,
        "billing_error" | "insufficient_quota" => 402,
        "permission_error" => 403,
        "not_found_error" | "model_not_found" => 404,
        "request_too_large" | "context_length_exceeded" | "exceed_context_size_error" => 413,
        "rate_limit_error" | "rate_limit_exceeded" => 429,
        "api_error" | "server_error" => 500,
        "timeout_error" => 504,
        "overloaded_error" => 529,
        _ => return None,
    })
}

fn message_of(error: &Value) -> Option<String> {
    let text = |name: &str| Some(error.get(name)?.as_str()?.to_owned());
    text("message").or_else(|| text("detail"))
}

/// Why a reply ended, in the words of those that speak as OpenAI does. Some say
/// nothing for as long as it goes on, instead of leaving it out.
pub(crate) fn finish(reason: &str) -> Result<Option<FinishReason>, Trouble> {
    Ok(Some(match reason {
        "" => return Ok(None),
        // It did not end: somebody ended it.
        "error" | "abort" | "insufficient_system_resource" => {
            return Err(Trouble::Error {
                status: None,
                message: format!("it gave up in the middle (`{reason}`)"),
            });
        }
        // The older name, and that of others.
        "function_call" | "tool_use" => FinishReason::ToolCalls,
        "eos" | "eos_token" | "end_turn" | "stop_sequence" => FinishReason::Stop,
        "max_tokens" | "model_length" => FinishReason::Length,
        reason => FinishReason::from(reason),
    }))
}

/// An address without the user and password in it, if there are any.
#[must_use]
pub fn without_password(address: &str) -> String {
    match Url::parse(address) {
        Ok(mut url) if !url.username().is_empty() || url.password().is_some() => {
            forget_password(&mut url);
            url.into()
        }
        _ => address.to_owned(),
    }
}

fn forget_password(address: &mut Url) {
    // Only addresses without a host have no place for these.
    let _ = address.set_username("");
    let _ = address.set_password(None);
}

/// An address without what may be secret in it.
pub(crate) fn shown(address: &Url) -> Url {
    let mut shown = address.clone();
    forget_password(&mut shown);
    shown.set_query(None);
    shown.set_fragment(None);
    shown
}

/// A conversation in which two take turns: what one of them is told in several
/// messages, one behind the other, stands together. Turns without content are
/// left out.
pub(crate) fn turns<'m>(
    messages: impl Iterator<Item = &'m Message>,
    parts: fn(&Message) -> (&'static str, Vec<Value>),
) -> impl Iterator<Item = (&'static str, Vec<Value>)> {
    let mut turns: Vec<(&str, Vec<Value>)> = Vec::new();
    for (role, parts) in messages.map(parts) {
        match turns.last_mut() {
            Some((last, all)) if *last == role => all.extend(parts),
            _ => turns.push((role, parts)),
        }
    }
    turns.into_iter().filter(|(_, parts)| !parts.is_empty())
}

/// A request that somebody else wrote: only the model, and how the answer
/// comes, is for whoever sends it.
pub(crate) fn forwarded(request: &Request, model: &str) -> Option<Map<String, Value>> {
    let mut body = request.verbatim.as_ref()?.body.clone();
    body.insert("model".to_owned(), model.into());
    body.insert("stream".to_owned(), (!request.whole).into());
    Some(body)
}

/// The fields of an object but those that are known, and those that say
/// nothing.
pub(crate) fn others(value: &Value, known: &[&str]) -> Map<String, Value> {
    let fields = value.as_object().into_iter().flatten();
    let others = fields.filter(|(name, value)| !known.contains(&name.as_str()) && !value.is_null());
    others
        .map(|(name, value)| (name.clone(), value.clone()))
        .collect()
}

/// Writes a value as JSON.
pub(crate) fn put<T: serde::Serialize + ?Sized>(value: &T, out: &mut Vec<u8>) {
    // A vector takes whatever is written, and these values can be.
    let _ = serde_json::to_writer(out, value);
}

/// A value as JSON.
pub(crate) fn json_bytes(value: &Value) -> Vec<u8> {
    let mut out = Vec::new();
    put(value, &mut out);
    out
}

/// A text in an answer.
pub(crate) fn text<'v>(value: &'v Value, name: &str) -> Option<&'v str> {
    value.get(name)?.as_str()
}

/// The most that a number in an answer counts for. Sums of what servers claim
/// stay numbers, and every program can read them.
const MOST: u64 = 1 << 53;

/// A number in an answer; 0 if there is none.
pub(crate) fn number(value: &Value, pointer: &str) -> u64 {
    let number = value.pointer(pointer).and_then(Value::as_u64);
    number.unwrap_or_default().min(MOST)
}

/// Arguments as text, whether a server gives them as text or as JSON.
pub(crate) fn arguments(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Null => String::new(),
        value => value.to_string(),
    }
}
