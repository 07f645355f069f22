//! The HTTP APIs, a file each. An API parses its requests into a
//! [`ChatRequest`], and writes [`ResponseEvent`]s in the format of its clients.

mod chat;
mod choice;
mod content;
mod health;
mod messages;
mod models;
mod ollama;
mod openapi;
mod page;
mod responses;
mod talk;

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures_util::FutureExt as _;
use futures_util::future::try_join_all;
use hyper::header::{HeaderName, HeaderValue};
use hyper::{HeaderMap, Method, StatusCode};
use ptk_llm::Usage;
use serde_json::Value;
use tokio::time::timeout;

use crate::chat_request::ChatRequest;
use crate::exchange::Exchange;
use crate::failure::Failure;
use crate::fields::Fields;
use crate::flow::{Flow, Outbox};
use crate::gateway::Inner;
use crate::hosted::HostedTools;
use crate::response::{End, ResponseEvent, Whole};
use crate::ticket::Ticket;

const JSON: &str = "application/json";
const EVENTS: &str = "text/event-stream";

/// A request that was admitted.
pub(crate) struct Call {
    pub(crate) gateway: Arc<Inner>,
    pub(crate) ticket: Ticket,
    /// How long the answer may take.
    pub(crate) time: Duration,
    pub(crate) path: String,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Bytes,
}

/// The response to a client.
pub(crate) struct Reply {
    pub(crate) status: StatusCode,
    /// The content type of the body.
    pub(crate) content_type: &'static str,
    pub(crate) headers: Vec<(HeaderName, HeaderValue)>,
    pub(crate) retry_after: Option<Duration>,
    pub(crate) body: Body,
}

pub(crate) enum Body {
    Whole(Bytes),
    Flow(Flow),
}

impl Reply {
    pub(crate) fn whole(
        status: StatusCode,
        content_type: &'static str,
        body: impl Into<Bytes>,
    ) -> Self {
        Self {
            status,
            content_type,
            headers: Vec::new(),
            retry_after: None,
            body: Body::Whole(body.into()),
        }
    }

    pub(crate) fn json(value: &Value) -> Self {
        Self::whole(StatusCode::OK, JSON, value.to_string())
    }

    pub(crate) fn flow(content_type: &'static str, flow: Flow) -> Self {
        Self {
            body: Body::Flow(flow),
            ..Self::whole(StatusCode::OK, content_type, Bytes::new())
        }
    }
}

/// The API in whose format errors are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Style {
    OpenAi,
    Anthropic,
    Ollama,
}

impl Style {
    /// The response with an error.
    pub(crate) fn failed(self, failure: &Failure) -> Reply {
        let value = match self {
            Self::OpenAi => failure.openai(),
            Self::Anthropic => failure.anthropic(),
            Self::Ollama => failure.ollama(),
        };
        Reply {
            retry_after: failure.retry_after,
            ..Reply::whole(failure.status, JSON, value.to_string())
        }
    }
}

macro_rules! endpoints {
    ($(
        $endpoint:ident: $method:ident $path:literal, $style:ident, $access:ident, $what:literal,
        |$call:ident| $answer:expr;
    )*) => {
        /// An endpoint of the gateway.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub(crate) enum Endpoint {
            $($endpoint,)*
        }

        impl Endpoint {
            /// All endpoints.
            pub(crate) const ALL: &[Self] = &[$(Self::$endpoint,)*];

            pub(crate) const fn path(self) -> &'static str {
                match self { $(Self::$endpoint => $path,)* }
            }

            pub(crate) const fn method(self) -> Method {
                match self { $(Self::$endpoint => Method::$method,)* }
            }

            pub(crate) const fn style(self) -> Style {
                match self { $(Self::$endpoint => Style::$style,)* }
            }

            /// The description of the endpoint, for the page.
            pub(crate) const fn what(self) -> &'static str {
                match self { $(Self::$endpoint => $what,)* }
            }

            const fn access(self) -> Access {
                match self { $(Self::$endpoint => Access::$access,)* }
            }

            pub(crate) async fn answer(self, call: Call) -> Result<Reply, Failure> {
                match self {
                    $(Self::$endpoint => {
                        let $call = call;
                        $answer
                    })*
                }
            }
        }
    };
}

/// The access that an endpoint requires.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Access {
    /// A key; the request asks a model.
    Inference,
    /// A key; no model is asked.
    Metadata,
    /// No key.
    Public,
}

endpoints! {
    Page: GET "/", OpenAi, Public, "this page",
        |call| Ok(page::page(&call).await);
    Chat: POST "/v1/chat/completions", OpenAi, Inference, "OpenAI's chat completions, streamed or whole",
        |call| chat::answer(call).await;
    Responses: POST "/v1/responses", OpenAi, Inference, "OpenAI's responses, streamed or whole",
        |call| responses::answer(call).await;
    Messages: POST "/v1/messages", Anthropic, Inference, "Anthropic's messages, streamed or whole",
        |call| messages::answer(call).await;
    CountTokens: POST "/v1/messages/count_tokens", Anthropic, Metadata, "how many tokens a message would take",
        |call| messages::count(call).await;
    OllamaChat: POST "/api/chat", Ollama, Inference, "Ollama's chat, streamed or whole",
        |call| ollama::chat(call).await;
    OllamaTags: GET "/api/tags", Ollama, Metadata, "the models, for Ollama's clients",
        |call| Ok(ollama::tags(&call).await);
    OllamaShow: POST "/api/show", Ollama, Metadata, "what a model can do, for Ollama's clients",
        |call| ollama::show(&call);
    OllamaVersion: GET "/api/version", Ollama, Public, "a version, for Ollama's clients",
        |_call| Ok(ollama::version());
    Models: GET "/v1/models", OpenAi, Metadata, "the models, for OpenAI's and Anthropic's clients",
        |call| Ok(models::list(&call).await);
    Model: GET "/v1/models/{model}", OpenAi, Metadata, "one of them",
        |call| models::one(&call).await;
    Health: GET "/healthz", OpenAi, Public, "whether the gateway runs",
        |_call| Ok(health::alive());
    Ready: GET "/readyz", OpenAi, Public, "whether it can reach its models",
        |call| Ok(health::ready(&call).await);
    Metrics: GET "/metrics", OpenAi, Metadata, "what is counted, for Prometheus",
        |call| Ok(health::metrics(&call));
    OpenApi: GET "/openapi.json", OpenAi, Public, "all of this for programs, as OpenAPI 3.1",
        |_call| Ok(openapi::document());
}

impl Endpoint {
    /// Whether no key is required.
    pub(crate) fn is_public(self) -> bool {
        self.access() == Access::Public
    }

    /// Whether the endpoint asks a model.
    pub(crate) fn is_inference(self) -> bool {
        self.access() == Access::Inference
    }
}

/// The endpoint of a path. Some clients leave out the version.
pub(crate) fn find(path: &str) -> Option<Endpoint> {
    let path = path
        .strip_suffix('/')
        .filter(|path| !path.is_empty())
        .unwrap_or(path);
    let is_it = |endpoint: &&Endpoint| {
        let own = endpoint.path();
        own == path || own.strip_prefix("/v1").is_some_and(|short| short == path)
    };
    if let Some(endpoint) = Endpoint::ALL.iter().find(is_it) {
        return Some(*endpoint);
    }
    let model = path
        .strip_prefix("/v1")
        .unwrap_or(path)
        .strip_prefix("/models/");
    model.map(|_| Endpoint::Model)
}

/// The most bytes of a request that are parsed on a serving thread.
const MAX_AT_ONCE: usize = 64 * 1024;

/// Parses a request; a long one on a worker thread.
pub(crate) async fn read<T: Send + 'static>(
    call: Call,
    read: fn(&Call) -> Result<T, Failure>,
) -> Result<(Call, T), Failure> {
    if call.body.len() <= MAX_AT_ONCE {
        let request = read(&call)?;
        return Ok((call, request));
    }
    let workers = Arc::clone(&call.gateway.workers);
    workers
        .run(move || {
            let request = read(&call)?;
            Ok((call, request))
        })
        .await
}

/// Writes an answer while it streams.
pub(crate) trait Writer: Send {
    /// Writes the next event.
    fn event(&mut self, event: ResponseEvent<'_>, out: &mut Vec<u8>);

    /// Writes the end of the answer.
    fn end(&mut self, end: &End, out: &mut Vec<u8>);

    /// Writes an error that breaks off the answer.
    fn failed(&mut self, failure: &Failure, out: &mut Vec<u8>);
}

/// Streams the answers. `close` is written after the last one, with the usage
/// of all of them.
pub(crate) async fn streamed<W: Writer + 'static>(
    call: Call,
    content_type: &'static str,
    chats: Vec<(ChatRequest, W)>,
    close: impl FnOnce(&Usage, &mut Vec<u8>) + Send + 'static,
) -> Result<Reply, Failure> {
    let outbox = Outbox::default();
    let out = outbox.clone();
    let work = async move {
        let limit = call.time;
        let answers = chats.into_iter().map(|(chat, mut writer)| {
            let (out, call) = (&out, &call);
            async move {
                let mut tell =
                    |event: ResponseEvent<'_>| out.write(|bytes| writer.event(event, bytes));
                let answer = timeout(limit, one(call, &chat, true, &mut tell)).await;
                match answer.unwrap_or_else(|_| Err(late(limit))) {
                    Ok(end) => {
                        out.write(|bytes| writer.end(&end, bytes));
                        Ok(end.usage)
                    }
                    Err(failure) => Err((failure, writer)),
                }
            }
        });
        match try_join_all(answers).await {
            Ok(used) => {
                let usage = sum(used);
                out.write(|bytes| close(&usage, bytes));
                Ok(())
            }
            Err((failure, mut writer)) if out.has_begun() => {
                call.ticket.error(&failure.code);
                out.write(|bytes| writer.failed(&failure, bytes));
                Ok(())
            }
            Err((failure, _)) => Err(failure),
        }
    };
    let flow = Flow::begin(outbox, work.boxed()).await?;
    Ok(Reply::flow(content_type, flow))
}

/// The error of an answer that took too long.
pub(crate) fn late(limit: Duration) -> Failure {
    let message = format!("The answer took longer than {} s", limit.as_secs());
    Failure::new(StatusCode::GATEWAY_TIMEOUT, "timeout", message)
}

/// Collects whole answers.
pub(crate) async fn whole(call: &Call, chats: &[ChatRequest]) -> Result<Vec<Whole>, Failure> {
    let answers = chats.iter().map(|chat| async move {
        let mut whole = Whole::default();
        let end = one(call, chat, false, &mut |event| whole.absorb(event)).await?;
        whole.end = end;
        Ok(whole)
    });
    try_join_all(answers).await
}

/// Produces one answer.
async fn one(
    call: &Call,
    chat: &ChatRequest,
    is_live: bool,
    tell: &mut (dyn FnMut(ResponseEvent<'_>) + Send),
) -> Result<End, Failure> {
    let route = call.gateway.routes.get(&chat.model)?;
    let exchange = Exchange {
        gateway: &call.gateway,
        chat,
        route: &route,
        is_live,
    };
    let end = match &call.gateway.hosted {
        Some(tools) if HostedTools::are_for(chat) => exchange.run_with_tools(tools, tell).await?,
        _ if chat.contract.offer.searched().is_some() => exchange.run_with_search(tell).await?,
        _ => exchange.run(tell).await?,
    };
    call.ticket.used(&end.usage);
    Ok(end)
}

/// The usage of several answers.
pub(crate) fn sum(used: impl IntoIterator<Item = Usage>) -> Usage {
    let mut sum = Usage::default();
    for usage in used {
        // All of them have the same input, which counts once.
        sum.input_tokens = sum.input_tokens.max(usage.input_tokens);
        sum.cached_tokens = sum.cached_tokens.max(usage.cached_tokens);
        sum.cache_write_tokens = sum.cache_write_tokens.max(usage.cache_write_tokens);
        sum.output_tokens += usage.output_tokens;
        sum.reasoning_tokens += usage.reasoning_tokens;
    }
    sum
}

/// A number within bounds.
pub(crate) fn number(
    fields: &mut Fields<'_>,
    name: &str,
    least: f32,
    most: f32,
) -> Result<Option<f32>, Failure> {
    let number: Option<f32> = fields.read(name)?;
    match number {
        Some(number) if !(least..=most).contains(&number) => Err(Failure::invalid(
            name,
            format!("`{name}` is {number}; it has to be from {least} to {most}"),
        )),
        number => Ok(number),
    }
}

/// Writes a text as JSON.
pub(crate) fn quote(text: &str, out: &mut Vec<u8>) {
    // A text can always be serialised, and writing into a vector does not fail.
    let _ = serde_json::to_writer(out, text);
}

/// Writes a value as JSON.
pub(crate) fn put(value: &impl serde::Serialize, out: &mut Vec<u8>) {
    let _ = serde_json::to_writer(out, value);
}

/// Seconds since 1970.
pub(crate) fn now() -> u64 {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    since.unwrap_or_default().as_secs()
}
