//! Models behind HTTP: sending, waiting and errors are shared by all of them.
//! What a server expects and how it answers is its `Wire`, a file each.

mod answer;
mod anthropic;
mod body;
mod completion;
mod connect;
mod events;
mod failure;
mod gemini;
mod key;
mod key_file;
#[cfg(feature = "keyring")]
mod keyring;
mod learn;
mod lines;
mod ollama;
mod ollama_host;
mod openai;
mod provider;
mod responses;
mod schema;
mod sending;
mod services;
mod usage;

use std::fmt::Debug;
use std::time::Duration;

use reqwest::Url;
use serde_json::{Map, Value};

use crate::{Api, Delta, FinishReason, Form, Message, Request};

pub use connect::{ConnectError, Connection, KEY_VARIABLE, split_address};
pub use key::Key;
pub use key_file::{KeyFile, KeyFileError};
#[cfg(feature = "keyring")]
pub use keyring::{Keyring, KeyringError};
pub use learn::is_for_embeddings;
pub use sending::{HttpProvider, SetupError};
pub use services::{Grammar, Kind, SERVICES, Service};

/// How long to wait for a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Timeouts {
    /// Until the connection is established.
    pub connect: Duration,
    /// Until the next piece of a reply. Models on small machines process a long
    /// prompt for minutes before the first token.
    pub idle: Duration,
    /// Until a reply is complete.
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

/// The wire format of a kind of server: its requests and answers.
pub(crate) trait Wire: Debug + Send + Sync {
    /// The path after the base address, and the body, which is JSON.
    fn request(&self, request: &Request, model: &str) -> (String, Vec<u8>);

    /// Suffixes that are not part of the address of such a server, though some
    /// users write them there.
    fn tails(&self) -> &'static [&'static str] {
        &[]
    }

    /// The API whose requests it takes as they are, if it has clients of its
    /// own.
    fn speaks(&self) -> Option<Api> {
        None
    }

    /// The header that holds the key, and the prefix of its value.
    fn key_header(&self) -> (&'static str, &'static str) {
        ("authorization", "Bearer ")
    }

    /// Other headers of every request.
    fn headers(&self) -> &'static [(&'static str, &'static str)] {
        &[]
    }

    /// The form in which it takes a conversation.
    fn form(&self) -> Form {
        Form::Chat
    }

    /// How a streamed answer is framed.
    fn framing(&self) -> Framing {
        Framing::Events
    }

    /// Creates the parser of the answer to a request.
    fn reading(&self, request: &Request) -> Box<dyn Reading>;
}

/// How a streamed answer is framed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Framing {
    /// Server-sent events.
    Events,
    /// JSON by the line.
    Lines,
}

/// Parses an answer, event by event or as a whole.
pub(crate) trait Reading: Send {
    /// Parses an event that holds text and nothing else, as most do. Returns
    /// `false` if it has to be parsed as a whole; then nothing was consumed.
    fn words(&mut self, _json: &str, _deltas: &mut Vec<Delta>) -> bool {
        false
    }

    /// Parses the next event of a stream.
    fn event(&mut self, event: &Value, deltas: &mut Vec<Delta>) -> Result<(), Trouble>;

    /// Parses an answer that came as a whole.
    fn whole(&mut self, answer: &Value, deltas: &mut Vec<Delta>) -> Result<(), Trouble>;

    /// Whether the reply is complete, so that nothing else is waited for.
    fn is_over(&self) -> bool {
        false
    }

    /// Whether the reason for the end has arrived, so that nothing is missing
    /// if nothing else comes.
    fn has_ended(&self) -> bool {
        self.is_over()
    }

    /// Ends the stream. If the reply is complete, its last delta says why it
    /// ended.
    fn end(&mut self, deltas: &mut Vec<Delta>);
}

/// An error in an answer with a successful status.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Trouble {
    /// The answer is an error after all.
    Error {
        status: Option<u16>,
        message: String,
    },
}

/// The error in an answer, in any of the formats of servers.
pub(crate) fn error_in(answer: &Value) -> Option<Trouble> {
    let error = answer.get("error").filter(|error| !error.is_null())?;
    let message = match error {
        Value::String(text) => text.clone(),
        error => message_of(error).unwrap_or_else(|| error.to_string()),
    };
    // Some servers write it as a text.
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

/// Whether an error name with this status is more precise than a number beside
/// it: many servers have one number for all invalid requests.
pub(crate) const fn precise(named: u16) -> bool {
    matches!(named, 401 | 402 | 404 | 413)
}

/// The status that the name of an error stands for.
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

/// Parses a reason for the end in OpenAI's format. Some servers send an empty
/// one while the reply goes on, instead of leaving it out.
pub(crate) fn finish(reason: &str) -> Result<Option<FinishReason>, Trouble> {
    Ok(Some(match reason {
        "" => return Ok(None),
        // It was not completed: the server aborted it.
        "error" | "abort" | "insufficient_system_resource" => {
            return Err(Trouble::Error {
                status: None,
                message: format!("it gave up in the middle (`{reason}`)"),
            });
        }
        // The older name, and that of other APIs.
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
    // Only addresses without a host cannot have them.
    let _ = address.set_username("");
    let _ = address.set_password(None);
}

/// An address without parts that may be secret.
pub(crate) fn shown(address: &Url) -> Url {
    let mut shown = address.clone();
    forget_password(&mut shown);
    shown.set_query(None);
    shown.set_fragment(None);
    shown
}

/// Joins the conversation into alternating turns: consecutive messages of one
/// role become one turn. Turns without content are left out.
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

/// The body of a request that a client wrote: only the model and whether the
/// answer is streamed are replaced.
pub(crate) fn forwarded(request: &Request, model: &str) -> Option<Map<String, Value>> {
    let mut body = request.verbatim.as_ref()?.body.clone();
    body.insert("model".to_owned(), model.into());
    body.insert("stream".to_owned(), (!request.whole).into());
    Some(body)
}

/// The fields of an object without those that are known or null.
pub(crate) fn others(value: &Value, known: &[&str]) -> Map<String, Value> {
    let fields = value.as_object().into_iter().flatten();
    let others = fields.filter(|(name, value)| !known.contains(&name.as_str()) && !value.is_null());
    others
        .map(|(name, value)| (name.clone(), value.clone()))
        .collect()
}

/// Writes a value as JSON.
pub(crate) fn put<T: serde::Serialize + ?Sized>(value: &T, out: &mut Vec<u8>) {
    // Writing into a vector does not fail, and these values can be serialised.
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

/// The highest number that is accepted in an answer. Sums of what servers
/// report do not overflow, and every program can read them.
const MOST: u64 = 1 << 53;

/// A number in an answer; 0 if there is none.
pub(crate) fn number(value: &Value, pointer: &str) -> u64 {
    let number = value.pointer(pointer).and_then(Value::as_u64);
    number.unwrap_or_default().min(MOST)
}

/// Arguments as JSON text, whether a server sends them as text or as JSON.
pub(crate) fn arguments(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Null => String::new(),
        value => value.to_string(),
    }
}
