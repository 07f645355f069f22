//! The log of requests that have ended. It holds their content only where that
//! is configured.

use std::fmt;
use std::sync::Arc;

use ptk_events::Redaction;
use serde::Serialize;

/// The most bytes of a request, or of its answer, that are logged.
const MAX_CONTENT: usize = 1024 * 1024;

/// A request that has ended.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Ended {
    /// The request's id, which its answer carries, too.
    pub id: String,
    /// The HTTP method.
    pub method: String,
    /// The path of the request.
    pub path: String,
    /// The model, as the client calls it.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub model: String,
    /// The name of the key.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,
    /// The status of the answer; 499 if the client went away before its end.
    pub status: u16,
    /// How long the request took, in milliseconds.
    pub ms: u64,
    /// Whether the answer was streamed.
    pub stream: bool,
    /// Tokens of the input, as far as the model's server reported them.
    pub input_tokens: u64,
    /// How many of these were read from a cache.
    #[serde(skip_serializing_if = "is_zero")]
    pub cached_tokens: u64,
    /// How many of these were written to a cache.
    #[serde(skip_serializing_if = "is_zero")]
    pub cache_write_tokens: u64,
    /// Tokens of the output.
    pub output_tokens: u64,
    /// The code of the error, if there was one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// The request, without secrets, if that is configured ([`Log::contents`]).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub request: Option<String>,
    /// The answer, without secrets, if that is configured.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub answer: Option<String>,
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde wants it so")]
fn is_zero(number: &u64) -> bool {
    *number == 0
}

/// A callback for requests that have ended.
#[derive(Clone)]
pub struct Log {
    tell: Arc<dyn Fn(&Ended) + Send + Sync>,
    contents: Option<Arc<Redaction>>,
}

impl Log {
    /// Creates a log with this callback.
    pub fn new(tell: impl Fn(&Ended) + Send + Sync + 'static) -> Self {
        Self {
            tell: Arc::new(tell),
            contents: None,
        }
    }

    /// Includes requests and answers, up to a megabyte each, without secrets.
    #[must_use]
    pub fn contents(mut self, is_wanted: bool) -> Self {
        self.contents = is_wanted.then(|| Arc::new(Redaction::secrets()));
        self
    }

    pub(crate) fn tell(&self, ended: &mut Ended, contents: Option<LoggedBodies>) {
        if let (Some(redaction), Some(contents)) = (&self.contents, contents) {
            ended.request = Some(redaction.apply(&contents.request.text()).into());
            ended.answer = Some(redaction.apply(&contents.answer.text()).into());
        }
        (self.tell)(ended);
    }

    /// The buffers for request and answer, if they are to be logged.
    pub(crate) fn keeps(&self) -> Option<LoggedBodies> {
        self.contents.as_ref().map(|_| LoggedBodies::default())
    }
}

/// The request and the answer, for the log.
#[derive(Debug, Default)]
pub(crate) struct LoggedBodies {
    pub(crate) request: LoggedBody,
    pub(crate) answer: LoggedBody,
}

/// The beginning of a long body.
#[derive(Debug, Default)]
pub(crate) struct LoggedBody {
    bytes: Vec<u8>,
    /// How many more bytes there were.
    more: usize,
}

impl LoggedBody {
    pub(crate) fn add(&mut self, bytes: &[u8]) {
        let room = MAX_CONTENT - self.bytes.len();
        let (kept, more) = bytes.split_at(room.min(bytes.len()));
        self.bytes.extend_from_slice(kept);
        self.more += more.len();
    }

    fn text(&self) -> String {
        let mut text = String::from_utf8_lossy(&self.bytes).into_owned();
        if self.more > 0 {
            text.push_str(&format!("… ({} bytes more)", self.more));
        }
        text
    }
}

impl fmt::Debug for Log {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Log")
    }
}
