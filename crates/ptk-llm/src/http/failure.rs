//! Errors in the answers of servers.

use std::time::Duration;

use reqwest::header::{HeaderMap, LOCATION, RETRY_AFTER};
use reqwest::{Response, Url};
use serde_json::Value;
use tokio::time::{Instant, timeout_at};

use super::body::start_of;
use super::{Trouble, error_in, message_of, precise};

/// The most bytes of an error response. Some servers quote the whole request.
const MAX_BODY: usize = 1024 * 1024;
/// The most characters of an error message.
const MAX_MESSAGE: usize = 2000;
/// The longest wait that a server may ask for.
const LONGEST: Duration = Duration::from_secs(365 * 24 * 60 * 60);

/// An error response of a server.
#[derive(Debug)]
pub(super) struct Refusal {
    pub(super) status: u16,
    /// The status that the message stands for.
    pub(super) meant: u16,
    pub(super) message: String,
    pub(super) retry_after: Option<Duration>,
}

impl Refusal {
    /// Reads an error response, as far as it arrives in time. `hide` removes
    /// secrets.
    pub(super) async fn read(
        response: Response,
        until: Instant,
        hide: impl Fn(&str) -> String,
    ) -> Self {
        let status = response.status().as_u16();
        let retry_after = retry_after(response.headers());
        let moved = moved(response.headers(), response.url());
        let moved = moved.filter(|_| response.status().is_redirection());
        let body = timeout_at(until, start_of(response, MAX_BODY)).await;
        let body = body.unwrap_or_default();
        let (named, message) = told(&body);
        let message = moved.unwrap_or_else(|| hide(&message));
        Self {
            status,
            meant: named.filter(|named| precise(*named)).unwrap_or(status),
            message: bounded(&message),
            retry_after,
        }
    }
}

/// Cuts a message to its longest length.
pub(super) fn bounded(message: &str) -> String {
    message.chars().take(MAX_MESSAGE).collect()
}

/// The status and the message of an error response.
fn told(body: &[u8]) -> (Option<u16>, String) {
    let answer: Option<Value> = serde_json::from_slice(body).ok();
    // Some servers wrap it into an array.
    let answer = answer.map(|answer| match answer {
        Value::Array(mut all) if !all.is_empty() => all.swap_remove(0),
        answer => answer,
    });
    let error = answer.as_ref().and_then(error_in);
    if let Some(Trouble::Error { status, message }) = error {
        return (status, message);
    }
    let message = answer.as_ref().and_then(message_of);
    let text = || String::from_utf8_lossy(body).trim().to_owned();
    (None, message.unwrap_or_else(text))
}

/// The address of a redirect, without its query, which may be secret.
fn moved(headers: &HeaderMap, from: &Url) -> Option<String> {
    let to = headers.get(LOCATION)?.to_str().ok()?;
    let to = super::shown(&from.join(to).ok()?);
    Some(format!(
        "it sends on to {to}, and nothing is sent there unasked; if that is right, name that address"
    ))
}

/// How long the server asks clients to wait.
fn retry_after(headers: &HeaderMap) -> Option<Duration> {
    let number = |name: &str| {
        let value = headers.get(name)?.to_str().ok()?;
        let number: f64 = value.trim().parse().ok()?;
        (number >= 0.0).then_some(number)
    };
    let seconds = number("retry-after-ms").map(|millis| millis / 1000.0);
    if let Some(seconds) = seconds.or_else(|| number(RETRY_AFTER.as_str())) {
        let wait = Duration::try_from_secs_f64(seconds);
        return Some(wait.unwrap_or(LONGEST).min(LONGEST));
    }
    let date = headers.get(RETRY_AFTER)?.to_str().ok()?;
    let until = httpdate::parse_http_date(date).ok()?;
    let wait = until.duration_since(std::time::SystemTime::now());
    Some(wait.unwrap_or_default().min(LONGEST))
}
