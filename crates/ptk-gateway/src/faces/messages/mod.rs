//! `/v1/messages`, as Anthropic's API has it.

mod request;
mod write;

use hyper::StatusCode;
use ptk::llm::Api;
use serde_json::json;

use self::write::{Events, Manner, message};
use super::{Call, EVENTS, JSON, Reply, streamed, whole};
use crate::ask::{Ask, Written};
use crate::exchange::Exchange;
use crate::failure::Failure;
use crate::fields::Fields;
use crate::hosted::HostedTools;

/// The header that asks for what is new.
const BETA: &str = "anthropic-beta";

pub(super) async fn answer(call: Call) -> Result<Reply, Failure> {
    let (call, (ask, streams)) = super::read(call, read).await?;
    call.ticket.asked(&ask.model, streams);
    let manner = Manner::new(&ask.model);
    if streams {
        let writer = Events::new(manner);
        return streamed(call, EVENTS, vec![(ask, writer)], |_, _| {}).await;
    }
    let answers = whole(&call, &[ask]).await?;
    let body = answers.first().map(|answer| message(&manner, answer));
    Ok(Reply::whole(StatusCode::OK, JSON, body.unwrap_or_default()))
}

/// A request, and whether its answer is to come in pieces.
fn read(call: &Call) -> Result<(Ask, bool), Failure> {
    let mut fields = Fields::of(&call.body)?;
    let streams = fields.read("stream")?.unwrap_or(false);
    let max_tokens: u32 = fields.need("max_tokens")?;
    if max_tokens == 0 {
        return Err(Failure::invalid(
            "max_tokens",
            "`max_tokens` is 0; it has to be at least 1",
        ));
    }
    let ask = Ask {
        max_tokens: Some(max_tokens),
        written: Some(written(call)),
        ..request::ask(&call.gateway, &mut fields)?
    };
    Ok((ask, streams))
}

/// The request as it was written.
fn written(call: &Call) -> Written {
    let beta = call.headers.get(BETA).and_then(|it| it.to_str().ok());
    Written {
        api: Api::Messages,
        body: call.body.clone(),
        headers: beta.map(|it| (BETA, it.to_owned())).into_iter().collect(),
    }
}

/// `/v1/messages/count_tokens`: how many tokens the model would be shown.
///
/// Counted is all that it would be told in words: the instructions, the tools
/// as it is taught them or as they are sent to it, and the conversation with
/// its calls and results. What the model's server puts around messages is not.
/// It is exact where the model's tokenizer is known, an estimate elsewhere.
pub(super) async fn count(call: Call) -> Result<Reply, Failure> {
    let read = |call: &Call| request::ask(&call.gateway, &mut Fields::of(&call.body)?);
    let (call, mut ask) = super::read(call, read).await?;
    ask.written = Some(written(&call));
    call.ticket.asked(&ask.model, false);
    if let Some(hosted) = call
        .gateway
        .hosted
        .as_ref()
        .filter(|_| HostedTools::are_for(&ask))
    {
        ask.contract.offer = hosted.offer();
    }
    let route = call.gateway.routes.get(&ask.model)?;
    let exchange = Exchange {
        gateway: &call.gateway,
        ask: &ask,
        route: &route,
        is_live: false,
    };
    let tokens = exchange.tokens().await?;
    Ok(Reply::json(&json!({"input_tokens": tokens})))
}
