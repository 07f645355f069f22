//! The endpoint `/v1/messages` of Anthropic's API.

mod request;
mod search;
mod write;

use hyper::StatusCode;
use ptk_llm::Api;
use serde_json::json;
use serde_json::value::RawValue;

use self::search::SearchTool;
use self::write::{MessageInfo, MessagesWriter, message};
use super::{Call, EVENTS, JSON, Reply, streamed, whole};
use crate::chat_request::{ChatRequest, OriginalRequest};
use crate::exchange::Exchange;
use crate::failure::Failure;
use crate::fields::Fields;
use crate::hosted::HostedTools;

/// The header that requests beta features.
const BETA: &str = "anthropic-beta";

pub(super) async fn answer(call: Call) -> Result<Reply, Failure> {
    let (call, (chat, search, streams)) = super::read(call, read).await?;
    call.ticket.asked(&chat.model, streams);
    let info = MessageInfo::new(&chat, search);
    if streams {
        let writer = MessagesWriter::new(info);
        return streamed(call, EVENTS, vec![(chat, writer)], |_, _| {}).await;
    }
    let answers = whole(&call, &[chat]).await?;
    let body = answers.first().map(|answer| message(&info, answer));
    Ok(Reply::whole(StatusCode::OK, JSON, body.unwrap_or_default()))
}

/// Parses a request, how it calls the search for tools, and whether its answer
/// is streamed.
fn read(call: &Call) -> Result<(ChatRequest, SearchTool, bool), Failure> {
    let mut fields = Fields::of(&call.body)?;
    let search = SearchTool::of(fields.peek("tools").map(RawValue::get));
    let streams = fields.read("stream")?.unwrap_or(false);
    let max_tokens: u32 = fields.need("max_tokens")?;
    if max_tokens == 0 {
        return Err(Failure::invalid(
            "max_tokens",
            "`max_tokens` is 0; it has to be at least 1",
        ));
    }
    let chat = ChatRequest {
        max_tokens: Some(max_tokens),
        written: Some(written(call)),
        ..request::chat(&call.gateway, &mut fields)?
    };
    Ok((chat, search, streams))
}

/// The request as the client sent it.
fn written(call: &Call) -> OriginalRequest {
    let beta = call.headers.get(BETA).and_then(|it| it.to_str().ok());
    OriginalRequest {
        api: Api::Messages,
        body: call.body.clone(),
        headers: beta.map(|it| (BETA, it.to_owned())).into_iter().collect(),
    }
}

/// The endpoint `/v1/messages/count_tokens`: how many tokens a request takes.
///
/// It counts the text that the model would be sent: the instructions, the tools
/// in the form in which it gets them, and the conversation with its calls and
/// results. What the model's server puts around messages is not counted. It is
/// exact where the model's tokenizer is known, an estimate elsewhere.
pub(super) async fn count(call: Call) -> Result<Reply, Failure> {
    let read = |call: &Call| request::chat(&call.gateway, &mut Fields::of(&call.body)?);
    let (call, mut chat) = super::read(call, read).await?;
    chat.written = Some(written(&call));
    call.ticket.asked(&chat.model, false);
    if let Some(hosted) = call
        .gateway
        .hosted
        .as_ref()
        .filter(|_| HostedTools::are_for(&chat))
    {
        chat.contract.offer = hosted.offer();
    }
    let route = call.gateway.routes.get(&chat.model)?;
    let exchange = Exchange {
        gateway: &call.gateway,
        chat: &chat,
        route: &route,
        is_live: false,
    };
    let tokens = exchange.tokens().await?;
    Ok(Reply::json(&json!({"input_tokens": tokens})))
}
