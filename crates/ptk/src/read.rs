//! Replies of the log, parsed again, and parsed replies for the log.

use ptk_llm::{Completion, FinishReason, NativeCall};
use ptk_model::ReplyParser;
use ptk_protocol::{Outcome, Reply};
use ptk_store::{ModelReplied, ReplyOutcome, ReplyParsed};

use crate::engine::TurnConfig;

/// The correction of an empty reply.
pub(crate) const EMPTY: &str = "Your reply was empty. Call a tool, or answer in words.";

/// Parses a reply from the log.
pub(crate) fn whole(parser: &dyn ReplyParser, config: &TurnConfig, said: &ModelReplied) -> Reply {
    let calls = said.calls.iter().map(|call| NativeCall {
        id: call.id.clone(),
        name: call.name.clone(),
        arguments: call.arguments.clone(),
    });
    let finish = said.finish_reason.as_deref().map(FinishReason::from);
    let completion = Completion {
        text: said.text.clone(),
        calls: calls.collect(),
        finish: finish.unwrap_or_default(),
        ..Completion::default()
    };
    config.prompt.read(parser, &completion)
}

/// The parsed reply, for the log. An empty reply is not an answer.
pub(crate) fn parsed(reply: &Reply, said: &ModelReplied) -> ReplyParsed {
    let mut parsed = ReplyParsed::new(reply, &said.text);
    if matches!(reply.outcome(), Outcome::Text("")) {
        parsed.outcome = ReplyOutcome::Malformed;
    }
    parsed
}
