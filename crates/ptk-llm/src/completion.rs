//! A reply as a whole, put together from its pieces.

use std::collections::BTreeMap;

use futures_util::StreamExt as _;
use serde_json::Value;

use crate::{Delta, FinishReason, LlmError, LlmErrorKind, Provider, Request, Usage};

/// The longest reply, in bytes: far more than any model writes.
pub const MAX_REPLY: usize = 16 * 1024 * 1024;

/// What the model said.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Completion {
    /// The text, unread: calls may be in it.
    pub text: String,
    /// What it thought, where the server tells it apart.
    pub reasoning: String,
    /// The native calls, in the order in which the model made them.
    pub calls: Vec<NativeCall>,
    /// Why it stopped.
    pub finish: FinishReason,
    /// What it took, where the server says so.
    pub usage: Option<Usage>,
    /// What the server wants back with this reply.
    pub state: Option<Value>,
}

/// A native call, as the server gave it. Nothing of it is checked.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct NativeCall {
    /// The server's id for it.
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
    /// By index, which is the order in which the model made them.
    calls: BTreeMap<usize, NativeCall>,
    is_finished: bool,
    size: usize,
}

impl Assembly {
    /// Nothing yet.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Takes in the next piece.
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

    /// Whether it is longer than [`MAX_REPLY`].
    #[must_use]
    pub fn is_too_long(&self) -> bool {
        self.size > MAX_REPLY
    }

    /// Whether somebody said that it is whole.
    #[must_use]
    pub fn is_finished(&self) -> bool {
        self.is_finished
    }

    /// Whether the model's server withheld what would have come.
    #[must_use]
    pub fn is_withheld(&self) -> bool {
        self.reply.finish == FinishReason::ContentFilter && self.calls.is_empty()
    }

    /// What there is of it, whole or not.
    #[must_use]
    pub fn so_far(mut self) -> Completion {
        self.reply.calls = self.calls.into_values().collect();
        self.reply
    }

    /// The whole reply; `None` if nobody said that it is whole.
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

/// Asks, and waits for the whole reply.
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
