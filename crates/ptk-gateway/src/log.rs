//! What is said of a request when it has ended. What was asked and answered is
//! in it only where that is wanted.

use std::fmt;
use std::sync::Arc;

use ptk::events::Redaction;
use serde::Serialize;

/// Bytes of what was asked, or answered, that are written down.
const MAX_CONTENT: usize = 1024 * 1024;

/// A request that has ended.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Ended {
    /// The request's id, which its answer carries, too.
    pub id: String,
    /// How it was asked.
    pub method: String,
    /// What was asked for.
    pub path: String,
    /// The model, as the client calls it.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub model: String,
    /// The name of the key.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,
    /// The status of the answer; 499 if the client went away before its end.
    pub status: u16,
    /// How long it took.
    pub ms: u64,
    /// Whether the answer came in pieces.
    pub stream: bool,
    /// Tokens that the model was shown, as far as its server said.
    pub input_tokens: u64,
    /// Tokens that it wrote.
    pub output_tokens: u64,
    /// What went wrong, for programs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// What was asked, without secrets, if it is wanted ([`Log::contents`]).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub request: Option<String>,
    /// What was answered, likewise.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub answer: Option<String>,
}

/// Who is told of requests that have ended.
#[derive(Clone)]
pub struct Log {
    tell: Arc<dyn Fn(&Ended) + Send + Sync>,
    contents: Option<Arc<Redaction>>,
}

impl Log {
    /// This one.
    pub fn new(tell: impl Fn(&Ended) + Send + Sync + 'static) -> Self {
        Self {
            tell: Arc::new(tell),
            contents: None,
        }
    }

    /// The same with what was asked and answered, up to a megabyte each, as
    /// far as it is no secret.
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

    /// Where what is asked and answered is kept until then, if it is wanted.
    pub(crate) fn keeps(&self) -> Option<LoggedBodies> {
        self.contents.as_ref().map(|_| LoggedBodies::default())
    }
}

/// What was asked and answered.
#[derive(Debug, Default)]
pub(crate) struct LoggedBodies {
    pub(crate) request: LoggedBody,
    pub(crate) answer: LoggedBody,
}

/// The beginning of something long.
#[derive(Debug, Default)]
pub(crate) struct LoggedBody {
    bytes: Vec<u8>,
    /// How much more there was.
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
