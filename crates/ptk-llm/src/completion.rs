//! A reply as a whole, put together from its pieces.

use std::collections::BTreeMap;

use futures_util::StreamExt as _;
use serde_json::Value;

use crate::{Delta, FinishReason, LlmError, LlmErrorKind, Provider, Request, Usage};

/// The longest reply, in bytes: far more than any model writes.
pub const MAX_REPLY: usize = 16 * 1024 * 1024;

/// A whole reply of the model.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Completion {
    /// The text, not parsed: calls may be in it.
    pub text: String,
    /// The reasoning, where the server separates it.
    pub reasoning: String,
    /// The native calls, in the order in which the model made them.
    pub calls: Vec<NativeCall>,
    /// Why the model stopped.
    pub finish: FinishReason,
    /// The usage, where the server reports it.
    pub usage: Option<Usage>,
    /// What the server wants back with this reply.
    pub state: Option<Value>,
}

/// A native call, as the server gave it, unchecked.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct NativeCall {
    /// The server's id for the call.
    pub id: Option<String>,
    /// The tool's name.
    pub name: String,
    /// The arguments: JSON, if the model kept to it.
    pub arguments: String,
}

/// Puts the pieces of a reply together, however it was cut into them.
///
/// ```
/// use ptk_llm::{Assembly, Delta, FinishReason};
///
/// let mut reply = Assembly::new();
/// reply.absorb(&Delta::Text("Good ".to_owned()));
/// reply.absorb(&Delta::Text("morning".to_owned()));
/// assert!(reply.clone().finish().is_none(), "nobody said that this is all");
///
/// reply.absorb(&Delta::Finish(FinishReason::Stop));
/// assert_eq!(reply.finish().unwrap().text, "Good morning");
/// ```
#[derive(Debug, Clone, Default)]
pub struct Assembly {
    reply: Completion,
    /// The calls by index, which is the order in which the model made them.
    calls: BTreeMap<usize, NativeCall>,
    is_finished: bool,
    size: usize,
}

impl Assembly {
    /// Creates an empty assembly.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds the next piece.
    pub fn absorb(&mut self, delta: &Delta) {
        match delta {
            Delta::Text(text) => self.reply.text.push_str(self.size.count(text)),
            Delta::Reasoning(text) => self.reply.reasoning.push_str(self.size.count(text)),
            Delta::CallStart { index, id, name } => {
                let call = self.calls.entry(*index).or_default();
                call.id.clone_from(id);
                self.size.count(name).clone_into(&mut call.name);
            }
            Delta::Arguments { index, json } => {
                let call = self.calls.entry(*index).or_default();
                call.arguments.push_str(self.size.count(json));
            }
            Delta::CallEnd { .. } | Delta::Passthrough(_) => {}
            Delta::State(state) => self.reply.state = Some(state.clone()),
            Delta::Usage(usage) => self.reply.usage = Some(*usage),
            Delta::Finish(reason) => {
                self.reply.finish = reason.clone();
                self.is_finished = true;
            }
        }
    }

    /// Whether the reply is longer than [`MAX_REPLY`].
    #[must_use]
    pub fn is_too_long(&self) -> bool {
        self.size > MAX_REPLY
    }

    /// The text so far.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.reply.text
    }

    /// Whether the server said that the reply is complete.
    #[must_use]
    pub fn is_finished(&self) -> bool {
        self.is_finished
    }

    /// Whether the server withheld the rest of the reply.
    #[must_use]
    pub fn is_withheld(&self) -> bool {
        self.reply.finish == FinishReason::ContentFilter && self.calls.is_empty()
    }

    /// The reply as far as it has arrived, complete or not.
    #[must_use]
    pub fn so_far(mut self) -> Completion {
        self.reply.calls = self.calls.into_values().collect();
        self.reply
    }

    /// The whole reply; `None` if the server did not say that it is complete.
    #[must_use]
    pub fn finish(self) -> Option<Completion> {
        let is_finished = self.is_finished;
        is_finished.then(|| self.so_far())
    }
}

/// Counts what is taken in.
trait Count {
    fn count<'t>(&mut self, text: &'t str) -> &'t str;
}

impl Count for usize {
    fn count<'t>(&mut self, text: &'t str) -> &'t str {
        *self = self.saturating_add(text.len());
        text
    }
}

/// Sends a request, and waits for the whole reply.
///
/// # Errors
///
/// Those of the provider, and if the reply is cut off or far too long.
pub async fn complete(provider: &dyn Provider, request: &Request) -> Result<Completion, LlmError> {
    let mut reply = Assembly::new();
    let mut deltas = provider.stream(request);
    while let Some(delta) = deltas.next().await {
        reply.absorb(&delta?);
        if reply.is_too_long() {
            return Err(LlmError::of(provider, request, LlmErrorKind::TooMuch));
        }
    }
    let cut = || LlmError::of(provider, request, LlmErrorKind::Cut);
    reply.finish().ok_or_else(cut)
}
