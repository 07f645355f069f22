//! A function as a model: the prompt is its argument, and what it returns is
//! the reply.

use std::fmt;
use std::future::Future;

use futures_util::stream;
use futures_util::{FutureExt as _, StreamExt as _};

use crate::request::prompt;
use crate::{Capabilities, Delta, Deltas, FinishReason, LlmError, LlmErrorKind, Provider, Request};

/// A function as a model, as [`provider_fn`] makes it.
#[derive(Clone)]
pub struct FunctionProvider<F> {
    name: String,
    reply: F,
}

/// Makes a model of a function that takes the whole conversation as one text
/// and returns the reply. Tools are taught and called in text.
///
/// ```
/// use ptk_llm::{Message, Request, complete, provider_fn};
///
/// # tokio::runtime::Builder::new_current_thread().build()?.block_on(async {
/// let model = provider_fn("shouting", |prompt: String| async move {
///     Ok::<_, std::io::Error>(prompt.to_uppercase())
/// });
/// let request = Request::new([Message::user("hello")]);
/// assert_eq!(complete(&model, &request).await?.text, "HELLO");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// # })?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn provider_fn<F, R, E>(name: impl Into<String>, reply: F) -> FunctionProvider<F>
where
    F: Fn(String) -> R + Send + Sync,
    R: Future<Output = Result<String, E>> + Send,
    E: fmt::Display + Send,
{
    FunctionProvider {
        name: name.into(),
        reply,
    }
}

impl<F> fmt::Debug for FunctionProvider<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FunctionProvider")
            .field("name", &self.name)
            .finish_non_exhaustive()
    }
}

impl<F, R, E> Provider for FunctionProvider<F>
where
    F: Fn(String) -> R + Send + Sync,
    R: Future<Output = Result<String, E>> + Send,
    E: fmt::Display + Send,
{
    fn name(&self) -> &str {
        &self.name
    }

    fn capabilities(&self, _model: Option<&str>) -> Capabilities {
        Capabilities::of_prompt()
    }

    fn stream<'a>(&'a self, request: &'a Request) -> Deltas<'a> {
        let reply = async move {
            let deltas = match (self.reply)(prompt(request)).await {
                Ok(text) => vec![Ok(Delta::Text(text)), Ok(Delta::Finish(FinishReason::Stop))],
                Err(error) => {
                    let failed = LlmError::of(self, request, LlmErrorKind::Failing);
                    vec![Err(failed.message(error.to_string()))]
                }
            };
            stream::iter(deltas)
        };
        reply.flatten_stream().boxed()
    }
}
