//! How much of the model's window the results of a reply may take: each its
//! share, so that the request that shows them fits.

use std::sync::Arc;

use ptk_model::cost;
use ptk_protocol::{ErrorType, Role, ToolResult};
use ptk_store::Content;
use ptk_tools::ResultLimit;

use crate::Session;
use crate::engine::TurnConfig;
use crate::render::Renderer;

/// The least tokens that are worth a result.
const LEAST: u64 = 192;
/// How much of what is left the results of one reply may take, in hundredths.
/// The rest is for the call marks and notices around them.
const RESULTS: u64 = 90;

/// What the results of one reply may take.
pub(crate) struct ResultShare {
    /// The limit of each.
    pub(crate) limit: ResultLimit,
    /// How many calls have a result that is worth it.
    pub(crate) calls: usize,
}

impl Session {
    /// The share of each of the calls of a reply.
    pub(crate) fn result_share(&self, config: &TurnConfig, reply: u64) -> ResultShare {
        let renderer = Renderer::new(config);
        let tokens = &*config.tokens;
        let items = self.log.transcript.items();
        // Whatever else is left out, these stay.
        let prompt = items.iter().rev().find_map(|item| match &item.content {
            Content::Message(said) if said.role == Role::User => {
                Some(cost(tokens, &renderer.said(said)))
            }
            _ => None,
        });
        let calls = items.iter().find_map(|item| match &item.content {
            Content::Reply(said) if item.seq == reply => Some((
                said.calls.len(),
                tokens.count(&said.reply.text)
                    + said
                        .reply
                        .calls
                        .iter()
                        .map(|call| tokens.count(&call.arguments))
                        .sum::<u64>(),
            )),
            _ => None,
        });
        let (calls, called) = calls.unwrap_or_default();
        let kept = config.base() + prompt.unwrap_or(0) + called;
        let left = config.budget.available.saturating_sub(kept);
        let left = u64::try_from(u128::from(left) * u128::from(RESULTS) / 100).unwrap_or(left);
        let fitting = usize::try_from(left / LEAST).unwrap_or(usize::MAX);
        let calls = calls.clamp(1, fitting.max(1));
        let share = (left / calls as u64).max(LEAST);
        let counter = Arc::clone(&config.tokens);
        let limit = share.min(config.budget.of_a_result());
        ResultShare {
            limit: ResultLimit::new(limit, move |text| counter.count(text)),
            calls,
        }
    }
}

/// The result of a call that was not run, because the window has no room for
/// one more result.
pub(crate) fn no_room() -> ToolResult {
    let message =
        "This call was not run: the results of this reply already fill the context window";
    ToolResult::failure(ErrorType::ValidationError, message)
        .with_suggestion("Make it again in the next reply, with fewer calls at once.")
}
