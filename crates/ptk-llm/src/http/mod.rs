//! Models behind HTTP: one way to send, to wait and to fail for all of them.
//! What a server wants to read and how it answers is its `Wire`, a file
//! each.

mod anthropic;
mod events;
mod gemini;
mod key;
mod openai;
mod sending;
mod services;

use std::fmt::Debug;
use std::time::Duration;

use reqwest::RequestBuilder;
use serde_json::Value;

use crate::{Delta, Message, Request};

pub use key::Key;
pub use sending::{HttpProvider, SetupError};
pub use services::{Kind, SERVICES, Service};

/// How long a server is waited for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Patience {
    /// Until there is a connection.
    pub connect: Duration,
    /// Until the next piece of a reply. Models on small machines read a long
    /// prompt for minutes before they say the first word.
    pub idle: Duration,
    /// Until a reply is whole.
    pub whole: Duration,
}

impl Default for Patience {
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
    /// The path behind the base address, and the body.
    fn request(&self, request: &Request, model: &str) -> (String, Value);

    /// The request with the key.
    fn with_key(&self, request: RequestBuilder, key: &Key) -> RequestBuilder;

    /// Reads an answer.
    fn reading(&self) -> Box<dyn Reading>;
}

/// Reads an answer, event by event or as a whole.
pub(crate) trait Reading: Send {
    /// Takes in the next event of a stream.
    fn event(&mut self, event: &Value, deltas: &mut Vec<Delta>) -> Result<(), Trouble>;

    /// Takes in an answer that came as a whole.
    fn whole(&mut self, answer: &Value, deltas: &mut Vec<Delta>) -> Result<(), Trouble>;

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
    let number = |name: &str| error.get(name).or_else(|| answer.get(name))?.as_u64();
    let status = number("code").or_else(|| number("status"));
    let named = error.get("type").and_then(Value::as_str).and_then(named);
    Some(Trouble::Error {
        status: status
            .and_then(|status| u16::try_from(status).ok())
            .or(named),
        message,
    })
}

/// The status that a name of an error stands for.
fn named(name: &str) -> Option<u16> {
    Some(match name {
        "invalid_request_error" => 400,
        "authentication_error" => 401,
        "billing_error" => 402,
        "permission_error" => 403,
        "not_found_error" => 404,
        "request_too_large" => 413,
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

/// A conversation in which two take turns: what one of them is told in several
/// messages, one behind the other, stands together. Turns without content are
/// left out.
pub(crate) fn turns(
    messages: &[Message],
    parts: fn(&Message) -> (&'static str, Vec<Value>),
) -> impl Iterator<Item = (&'static str, Vec<Value>)> {
    let mut turns: Vec<(&str, Vec<Value>)> = Vec::new();
    for (role, parts) in messages.iter().map(parts) {
        match turns.last_mut() {
            Some((last, all)) if *last == role => all.extend(parts),
            _ => turns.push((role, parts)),
        }
    }
    turns.into_iter().filter(|(_, parts)| !parts.is_empty())
}

/// A text in an answer.
pub(crate) fn text<'v>(value: &'v Value, name: &str) -> Option<&'v str> {
    value.get(name)?.as_str()
}

/// A number in an answer; 0 if there is none.
pub(crate) fn number(value: &Value, pointer: &str) -> u64 {
    value
        .pointer(pointer)
        .and_then(Value::as_u64)
        .unwrap_or_default()
}

/// Arguments as text, whether a server gives them as text or as JSON.
pub(crate) fn arguments(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Null => String::new(),
        value => value.to_string(),
    }
}
