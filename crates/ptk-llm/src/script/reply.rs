//! One reply of a script, and the pieces in which it comes.

use std::num::NonZeroUsize;

use serde::Deserialize;
use serde_json::Value;

use crate::{Delta, FinishReason, LlmError, Usage};

/// The scripted reply to one request.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ScriptedReply {
    /// The text.
    #[serde(default)]
    pub text: String,
    /// Native calls.
    #[serde(default)]
    pub tool_calls: Vec<ScriptedCall>,
    /// Why the reply ends.
    #[serde(default)]
    pub finish_reason: Option<String>,
    /// How long it takes until the reply begins, in milliseconds.
    #[serde(default)]
    pub delay_ms: u64,
    /// How many characters come at once.
    #[serde(default)]
    pub chunk: Option<NonZeroUsize>,
    /// The usage that it reports.
    #[serde(default)]
    pub usage: Option<ScriptedUsage>,
    /// The error that it fails with after its text.
    #[serde(default)]
    pub error: Option<ScriptedError>,
}

/// A native call of a scripted reply.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ScriptedCall {
    /// The id.
    #[serde(default)]
    pub id: Option<String>,
    /// The tool's name.
    pub name: String,
    /// An object; or a text, which is passed on as it is.
    #[serde(default)]
    pub arguments: Value,
}

/// The usage that a scripted reply reports, in tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ScriptedUsage {
    /// Tokens of the input.
    pub input_tokens: u64,
    /// How many of these were read from a cache.
    #[serde(default)]
    pub cached_tokens: u64,
    /// How many of these were written to a cache.
    #[serde(default)]
    pub cache_write_tokens: u64,
    /// Tokens of the output.
    pub output_tokens: u64,
}

/// The error of a scripted reply.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ScriptedError {
    /// The HTTP status of the error.
    pub status: u16,
    /// The message of the error.
    #[serde(default)]
    pub message: String,
}

impl From<&str> for ScriptedReply {
    fn from(text: &str) -> Self {
        Self::from(text.to_owned())
    }
}

impl From<String> for ScriptedReply {
    fn from(text: String) -> Self {
        Self {
            text,
            ..Self::default()
        }
    }
}

impl ScriptedReply {
    /// The pieces of the reply.
    pub(super) fn deltas(
        &self,
        provider: &str,
        model: Option<&str>,
    ) -> Vec<Result<Delta, LlmError>> {
        let mut deltas: Vec<Delta> = pieces(&self.text, self.chunk).map(Delta::Text).collect();
        for (index, call) in self.tool_calls.iter().enumerate() {
            let (id, name) = (call.id.clone(), call.name.clone());
            deltas.push(Delta::CallStart { index, id, name });
            let arguments = match &call.arguments {
                Value::String(text) => text.clone(),
                Value::Null => String::new(),
                value => value.to_string(),
            };
            let arguments = pieces(&arguments, self.chunk);
            deltas.extend(arguments.map(|json| Delta::Arguments { index, json }));
            deltas.push(Delta::CallEnd { index });
        }
        deltas.extend(self.usage.map(|usage| {
            Delta::Usage(Usage {
                input_tokens: usage.input_tokens,
                cached_tokens: usage.cached_tokens,
                cache_write_tokens: usage.cache_write_tokens,
                output_tokens: usage.output_tokens,
                ..Usage::default()
            })
        }));
        let mut deltas: Vec<_> = deltas.into_iter().map(Ok).collect();
        deltas.push(match &self.error {
            Some(error) => {
                let message = error.message.as_str();
                Err(LlmError::of_status(provider, model, error.status, message))
            }
            None => Ok(Delta::Finish(self.finish())),
        });
        deltas
    }

    fn finish(&self) -> FinishReason {
        match &self.finish_reason {
            Some(reason) => FinishReason::from(reason.as_str()),
            None if self.tool_calls.is_empty() => FinishReason::Stop,
            None => FinishReason::ToolCalls,
        }
    }
}

/// The text in pieces of so many characters.
fn pieces(text: &str, size: Option<NonZeroUsize>) -> impl Iterator<Item = String> {
    let size = size.map_or(usize::MAX, NonZeroUsize::get);
    let mut rest = text;
    std::iter::from_fn(move || {
        let end = rest
            .char_indices()
            .nth(size)
            .map_or(rest.len(), |(at, _)| at);
        let (piece, behind) = rest.split_at_checked(end)?;
        rest = behind;
        (!piece.is_empty()).then(|| piece.to_owned())
    })
}
