//! A model that gives the replies of a file. It makes every behaviour of a loop
//! testable without a model.

mod file;
mod reply;

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use futures_util::{FutureExt as _, StreamExt as _, stream};

pub use file::ScriptError;
pub use reply::{ScriptedCall, ScriptedError, ScriptedReply, ScriptedUsage};

use crate::{Capabilities, Deltas, LlmError, LlmErrorKind, Provider, Request};

/// A model that gives one scripted reply after the other, whatever the request.
/// Clones share the position in the script.
///
/// A script is a JSON array of replies, or one reply a line. A reply is a
/// text, or an object:
///
/// | Key | |
/// |---|---|
/// | `text` | the text of the reply |
/// | `tool_calls` | native calls, `[{"id"?, "name", "arguments"?}]`; the arguments are an object, or a text that is passed on as it is |
/// | `finish_reason` | why it stops (default: `stop`, or `tool_calls` if there are calls) |
/// | `delay_ms` | how long it takes until the reply begins |
/// | `chunk` | how many characters come at once (default: all of them) |
/// | `error` | `{"status", "message"}`: the error that it fails with after its text |
///
/// ```
/// use ptk_llm::{Message, Request, Script, complete};
///
/// # tokio::runtime::Builder::new_current_thread().enable_time().build()?.block_on(async {
/// let model = Script::parse(r#"
///     {"tool_calls": [{"id": "1", "name": "read_file", "arguments": {"path": "a.txt"}}]}
///     "It says hello."
/// "#)?;
/// let request = Request::new([Message::user("What does a.txt say?")]);
/// assert_eq!(complete(&model, &request).await?.calls[0].name, "read_file");
/// assert_eq!(complete(&model, &request).await?.text, "It says hello.");
///
/// let error = complete(&model, &request).await.unwrap_err();
/// assert!(error.to_string().contains("all 2 replies of the script were given"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// # })?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone)]
pub struct Script {
    replies: Arc<Vec<ScriptedReply>>,
    given: Arc<AtomicUsize>,
    capabilities: Capabilities,
}

/// The name of the provider.
const NAME: &str = "script";

impl Script {
    /// Creates a script of these replies.
    pub fn new<R: Into<ScriptedReply>>(replies: impl IntoIterator<Item = R>) -> Self {
        let replies: Vec<ScriptedReply> = replies.into_iter().map(Into::into).collect();
        let has_calls = replies.iter().any(|reply| !reply.tool_calls.is_empty());
        Self {
            replies: Arc::new(replies),
            given: Arc::default(),
            capabilities: Capabilities {
                native_tools: Some(has_calls),
                ..Capabilities::default()
            },
        }
    }

    /// Parses a script.
    ///
    /// # Errors
    ///
    /// If the text is not a script. The error says in which line, and what to
    /// write instead.
    pub fn parse(text: &str) -> Result<Self, ScriptError> {
        file::parse(text).map(Self::new)
    }

    /// Reads a script from a file. Blocks.
    ///
    /// # Errors
    ///
    /// If the file cannot be read, or is not a script.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, ScriptError> {
        file::open(path.as_ref()).map(Self::new)
    }

    /// Sets the capabilities. Otherwise a script calls tools natively if one of
    /// its replies does.
    #[must_use]
    pub const fn with_capabilities(mut self, capabilities: Capabilities) -> Self {
        self.capabilities = capabilities;
        self
    }

    /// Skips the first replies, which were given before.
    #[must_use]
    pub fn skip(self, replies: usize) -> Self {
        self.given.fetch_add(replies, Ordering::Relaxed);
        self
    }

    /// How many requests were made.
    #[must_use]
    pub fn given(&self) -> usize {
        self.given.load(Ordering::Relaxed)
    }
}

impl Provider for Script {
    fn name(&self) -> &str {
        NAME
    }

    /// Scripts differ, but share one name.
    fn id(&self) -> Option<String> {
        None
    }

    fn capabilities(&self, _model: Option<&str>) -> Capabilities {
        self.capabilities
    }

    fn stream<'a>(&'a self, request: &'a Request) -> Deltas<'a> {
        let reply = async move {
            let at = self.given.fetch_add(1, Ordering::Relaxed);
            let Some(reply) = self.replies.get(at) else {
                let ended = format!(
                    "all {} replies of the script were given",
                    self.replies.len()
                );
                let error = LlmError::of(self, request, LlmErrorKind::ScriptEnded);
                return stream::iter(vec![Err(error.message(ended))]);
            };
            if reply.delay_ms > 0 {
                tokio::time::sleep(Duration::from_millis(reply.delay_ms)).await;
            }
            stream::iter(reply.deltas(NAME, request.model.as_deref()))
        };
        reply.flatten_stream().boxed()
    }
}
