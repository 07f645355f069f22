//! Sending a request, and passing on what comes back.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use futures_util::stream::{self, BoxStream};
use futures_util::{FutureExt as _, StreamExt as _};
use reqwest::header::{CONTENT_TYPE, HeaderMap, RETRY_AFTER};
use reqwest::{Client, Response, Url};
use serde_json::Value;
use tokio::time::{Instant, timeout_at};

use super::events::Events;
use super::services::{Kind, Service};
use super::{
    Key, Patience, Reading, Trouble, Wire, anthropic, error_in, gemini, message_of, openai,
};
use crate::{Capabilities, Delta, Deltas, LlmError, LlmErrorKind, Provider, Request};

/// Bytes of an error, or of an answer that came as a whole.
const MAX_WHOLE: usize = 64 * 1024 * 1024;
/// Bytes of the message of an error.
const MAX_MESSAGE: usize = 2000;
/// What ends a stream of events, and is none itself.
const DONE: &str = "[DONE]";

/// A model behind HTTP.
///
/// ```
/// use ptk_llm::http::{HttpProvider, Service};
/// use ptk_llm::Provider as _;
///
/// let service = Service::named("ollama").ok_or("unknown")?;
/// let provider = HttpProvider::new(service)?.with_model("qwen3");
/// assert_eq!((provider.name(), provider.model()), ("ollama", Some("qwen3")));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct HttpProvider {
    name: String,
    base: Url,
    model: Option<String>,
    key: Option<Key>,
    patience: Patience,
    capabilities: Capabilities,
    client: Client,
    wire: Arc<dyn Wire>,
}

impl fmt::Debug for HttpProvider {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HttpProvider")
            .field("name", &self.name)
            .field("base", &self.base.as_str())
            .field("model", &self.model)
            .finish_non_exhaustive()
    }
}

/// Why a server cannot be asked.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SetupError {
    /// The address is none.
    #[error("`{address}` is no address of a server: {reason}; write it as http://HOST:PORT/v1")]
    Address {
        /// What was given.
        address: String,
        /// What is wrong with it.
        reason: String,
    },
    /// The system lets nobody connect.
    #[error("No connections can be made: {0}")]
    Client(String),
}

impl HttpProvider {
    /// The model of a service, with the key that stands in its variables.
    ///
    /// # Errors
    ///
    /// If its address is none.
    pub fn new(service: &Service) -> Result<Self, SetupError> {
        let address = service.address();
        let mut provider = Self::at(service.kind, &address)?;
        service.name.clone_into(&mut provider.name);
        provider.key = Key::of_variables(service.keys);
        provider.capabilities.has_native_tools = service.has_native_tools;
        Ok(provider)
    }

    /// A model at this address, of which nothing else is known.
    ///
    /// # Errors
    ///
    /// If the address is none.
    pub fn at(kind: Kind, address: &str) -> Result<Self, SetupError> {
        let wrong = |reason: String| SetupError::Address {
            address: address.to_owned(),
            reason,
        };
        let base = Url::parse(address).map_err(|error| wrong(error.to_string()))?;
        if !matches!(base.scheme(), "http" | "https") || base.host().is_none() {
            return Err(wrong("it is neither http nor https".to_owned()));
        }
        let patience = Patience::default();
        Ok(Self {
            name: base.host_str().unwrap_or_default().to_owned(),
            base,
            model: None,
            key: None,
            patience,
            capabilities: Capabilities::default(),
            client: client(patience)?,
            wire: match kind {
                Kind::OpenAi => Arc::new(openai::OpenAi::default()),
                Kind::OpenAiItself => Arc::new(openai::OpenAi::itself()),
                Kind::Anthropic => Arc::new(anthropic::Anthropic),
                Kind::Gemini => Arc::new(gemini::Gemini),
            },
        })
    }

    /// The same for this model.
    #[must_use]
    pub fn with_model(mut self, model: impl Into<String>) -> Self {
        self.model = Some(model.into());
        self
    }

    /// The same with this key, or without any.
    #[must_use]
    pub fn key(mut self, key: Option<Key>) -> Self {
        self.key = key;
        self
    }

    /// The same, waiting for so long.
    ///
    /// # Errors
    ///
    /// If the system lets nobody connect.
    pub fn patience(mut self, patience: Patience) -> Result<Self, SetupError> {
        self.client = client(patience)?;
        self.patience = patience;
        Ok(self)
    }

    /// The same, said to be able to do this.
    #[must_use]
    pub const fn with_capabilities(mut self, capabilities: Capabilities) -> Self {
        self.capabilities = capabilities;
        self
    }

    fn error(&self, request: &Request, kind: LlmErrorKind) -> LlmError {
        LlmError::of(self, request, kind)
    }

    /// What could not be sent or received.
    fn failed(&self, request: &Request, error: &reqwest::Error) -> LlmError {
        let kind = if error.is_timeout() {
            LlmErrorKind::TimedOut
        } else if error.is_connect() {
            LlmErrorKind::Unreachable
        } else {
            LlmErrorKind::Cut
        };
        self.error(request, kind).message(self.hidden(&told(error)))
    }

    fn hidden(&self, text: &str) -> String {
        match &self.key {
            Some(key) => key.hidden_in(text),
            None => text.to_owned(),
        }
    }

    fn trouble(&self, request: &Request, trouble: Trouble) -> LlmError {
        let Trouble::Error { status, message } = trouble;
        let model = request.model.as_deref().or(self.model.as_deref());
        let message = self.hidden(&message);
        LlmError::of_status(&self.name, model, status.unwrap_or(500), message)
    }

    /// The first answer of the server, if its status is a good one.
    async fn sent(&self, request: &Request, until: Instant) -> Result<Response, LlmError> {
        let model = request.model.as_deref().or(self.model.as_deref());
        let Some(model) = model else {
            let error = self.error(request, LlmErrorKind::NotFound);
            return Err(error.message("no model was named"));
        };
        let (path, body) = self.wire.request(request, model);
        let base = self.base.as_str().trim_end_matches('/');
        let mut builder = self.client.post(format!("{base}{path}")).json(&body);
        if let Some(key) = &self.key {
            builder = self.wire.with_key(builder, key);
        }
        let late = || self.error(request, LlmErrorKind::TimedOut);
        let first = self.soon(until);
        let sent = timeout_at(first, builder.send()).await;
        let response = sent
            .map_err(|_| late())?
            .map_err(|error| self.failed(request, &error))?;
        if response.status().is_success() {
            return Ok(response);
        }
        let status = response.status().as_u16();
        let wait = retry_after(response.headers());
        let body = timeout_at(first, whole(response, MAX_MESSAGE * 4)).await;
        let body = body.ok().and_then(Result::ok).unwrap_or_default();
        let message = self.hidden(&message_in(&body));
        let mut error = LlmError::of_status(&self.name, Some(model), status, message);
        error.retry_after = wait;
        Err(error)
    }

    /// Until when the next piece is waited for.
    fn soon(&self, until: Instant) -> Instant {
        until.min(Instant::now() + self.patience.idle)
    }
}

fn client(patience: Patience) -> Result<Client, SetupError> {
    Client::builder()
        .connect_timeout(patience.connect)
        .tcp_nodelay(true)
        // A key is not carried to somebody else.
        .redirect(reqwest::redirect::Policy::none())
        .user_agent(concat!("ptk/", env!("CARGO_PKG_VERSION")))
        .build()
        .map_err(|error| SetupError::Client(told(&error)))
}

impl Provider for HttpProvider {
    fn name(&self) -> &str {
        &self.name
    }

    fn model(&self) -> Option<&str> {
        self.model.as_deref()
    }

    fn capabilities(&self, _model: Option<&str>) -> Capabilities {
        self.capabilities
    }

    fn stream<'a>(&'a self, request: &'a Request) -> Deltas<'a> {
        let answer = async move {
            let until = Instant::now() + self.patience.whole;
            match self.sent(request, until).await {
                Ok(response) => Answer::new(self, request, response, until).deltas(),
                Err(error) => stream::iter([Err(error)]).boxed(),
            }
        };
        answer.flatten_stream().boxed()
    }
}

type Pieces = BoxStream<'static, Result<bytes::Bytes, reqwest::Error>>;

/// An answer that is coming in.
struct Answer<'a> {
    provider: &'a HttpProvider,
    request: &'a Request,
    reading: Box<dyn Reading>,
    until: Instant,
    coming: Coming,
}

enum Coming {
    Events(Pieces, Events),
    Whole(Response),
    Nothing,
}

impl<'a> Answer<'a> {
    fn new(
        provider: &'a HttpProvider,
        request: &'a Request,
        response: Response,
        until: Instant,
    ) -> Self {
        let kind = response.headers().get(CONTENT_TYPE);
        let kind = kind.and_then(|kind| kind.to_str().ok()).unwrap_or_default();
        let coming = if kind.starts_with("application/json") {
            // It does not stream.
            Coming::Whole(response)
        } else {
            Coming::Events(response.bytes_stream().boxed(), Events::default())
        };
        Self {
            reading: provider.wire.reading(),
            provider,
            request,
            until,
            coming,
        }
    }

    fn deltas(self) -> Deltas<'a> {
        let batches = stream::unfold(self, |mut answer| async move {
            let batch = answer.next().await?;
            Some((batch, answer))
        });
        batches.flat_map(stream::iter).boxed()
    }

    /// What comes next; `None` behind the end. Nothing follows an error.
    async fn next(&mut self) -> Option<Vec<Result<Delta, LlmError>>> {
        let mut deltas = Vec::new();
        let outcome = match std::mem::replace(&mut self.coming, Coming::Nothing) {
            Coming::Nothing => return None,
            Coming::Whole(response) => self.take_whole(response, &mut deltas).await,
            Coming::Events(pieces, events) => self.take_piece(pieces, events, &mut deltas).await,
        };
        let mut batch: Vec<_> = deltas.into_iter().map(Ok).collect();
        batch.extend(outcome.err().map(Err));
        Some(batch)
    }

    async fn take_whole(
        &mut self,
        response: Response,
        deltas: &mut Vec<Delta>,
    ) -> Result<(), LlmError> {
        let (provider, request) = (self.provider, self.request);
        let body = timeout_at(self.until, whole(response, MAX_WHOLE)).await;
        let body = body
            .map_err(|_| provider.error(request, LlmErrorKind::TimedOut))?
            .map_err(|error| match error {
                Unread::Failed(error) => provider.failed(request, &error),
                Unread::TooLong => provider.error(request, LlmErrorKind::TooMuch),
            })?;
        let answer: Value = serde_json::from_slice(&body).map_err(|error| {
            let error = format!("its answer is no JSON: {error}");
            provider
                .error(request, LlmErrorKind::Unreadable)
                .message(error)
        })?;
        if let Some(trouble) = error_in(&answer) {
            return Err(provider.trouble(request, trouble));
        }
        let read = self.reading.whole(&answer, deltas);
        read.map_err(|trouble| provider.trouble(request, trouble))
    }

    async fn take_piece(
        &mut self,
        mut pieces: Pieces,
        mut events: Events,
        deltas: &mut Vec<Delta>,
    ) -> Result<(), LlmError> {
        let (provider, request) = (self.provider, self.request);
        let next = timeout_at(provider.soon(self.until), pieces.next()).await;
        let next = next.map_err(|_| provider.error(request, LlmErrorKind::TimedOut))?;
        let Some(piece) = next else {
            self.reading.end(deltas);
            return Ok(());
        };
        events.push(&piece.map_err(|error| provider.failed(request, &error))?);
        while let Some(data) = events.next() {
            // What is in a piece that cannot be read is lost, so the reply is
            // not whole.
            let cut = |why: String| {
                let why = format!("a piece of it cannot be read: {why}");
                provider.error(request, LlmErrorKind::Cut).message(why)
            };
            let data = data.map_err(|error| cut(error.to_string()))?;
            let data = data.trim();
            if data == DONE {
                self.reading.end(deltas);
                return Ok(());
            }
            if data.is_empty() {
                continue;
            }
            let event: Value =
                serde_json::from_str(data).map_err(|error| cut(error.to_string()))?;
            let read = match error_in(&event) {
                Some(trouble) => Err(trouble),
                None => self.reading.event(&event, deltas),
            };
            read.map_err(|trouble| provider.trouble(request, trouble))?;
        }
        if events.held() > MAX_WHOLE {
            return Err(provider.error(request, LlmErrorKind::TooMuch));
        }
        self.coming = Coming::Events(pieces, events);
        Ok(())
    }
}

enum Unread {
    Failed(reqwest::Error),
    TooLong,
}

/// All of an answer, if it is not too long.
async fn whole(response: Response, most: usize) -> Result<Vec<u8>, Unread> {
    let mut bytes = Vec::new();
    let mut pieces = response.bytes_stream();
    while let Some(piece) = pieces.next().await {
        bytes.extend_from_slice(&piece.map_err(Unread::Failed)?);
        if bytes.len() > most {
            return Err(Unread::TooLong);
        }
    }
    Ok(bytes)
}

/// What a server says that is wrong.
fn message_in(body: &[u8]) -> String {
    let text = String::from_utf8_lossy(body);
    let answer: Option<Value> = serde_json::from_slice(body).ok();
    // Some wrap it into an array.
    let answer = answer.map(|answer| match answer {
        Value::Array(mut all) if !all.is_empty() => all.swap_remove(0),
        answer => answer,
    });
    let told = answer.as_ref().and_then(|answer| {
        let error = error_in(answer).map(|Trouble::Error { message, .. }| message);
        error.or_else(|| message_of(answer))
    });
    let told = told.unwrap_or_else(|| text.trim().to_owned());
    told.chars().take(MAX_MESSAGE).collect()
}

/// How long the server wants to be left alone.
fn retry_after(headers: &HeaderMap) -> Option<Duration> {
    let number = |name: &str| {
        let value = headers.get(name)?.to_str().ok()?;
        value
            .trim()
            .parse::<f64>()
            .ok()
            .filter(|it| it.is_finite() && *it >= 0.0)
    };
    if let Some(millis) = number("retry-after-ms") {
        return Some(Duration::from_secs_f64(millis / 1000.0));
    }
    if let Some(seconds) = number(RETRY_AFTER.as_str()) {
        return Some(Duration::from_secs_f64(seconds.min(1e9)));
    }
    let date = headers.get(RETRY_AFTER)?.to_str().ok()?;
    let until = httpdate::parse_http_date(date).ok()?;
    Some(
        until
            .duration_since(std::time::SystemTime::now())
            .unwrap_or_default(),
    )
}

/// An error with what it comes from.
fn told(error: &reqwest::Error) -> String {
    let mut parts = Vec::new();
    let mut source: Option<&dyn std::error::Error> = Some(error);
    while let Some(error) = source {
        let text = error.to_string();
        // Addresses may hold keys.
        if !text.contains("://") && !parts.contains(&text) {
            parts.push(text);
        }
        source = error.source();
    }
    parts.join(": ")
}
