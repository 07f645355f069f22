//! What is said of a request when it has ended. Nothing of what was asked or
//! answered is in it.

use std::fmt;
use std::sync::Arc;

use serde::Serialize;

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
}

/// Who is told of requests that have ended.
#[derive(Clone)]
pub struct Log(Arc<dyn Fn(&Ended) + Send + Sync>);

impl Log {
    /// This one.
    pub fn new(tell: impl Fn(&Ended) + Send + Sync + 'static) -> Self {
        Self(Arc::new(tell))
    }

    pub(crate) fn tell(&self, ended: &Ended) {
        (self.0)(ended);
    }
}

impl fmt::Debug for Log {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Log")
    }
}
