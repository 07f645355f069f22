//! A server that is reached by HTTP: its setup, and the requests that are sent to
//! it.

use std::fmt;
use std::net::IpAddr;
use std::sync::Arc;

use reqwest::header::{CONTENT_TYPE, HeaderValue};
use reqwest::{Client, RequestBuilder, Response, Url};
use serde_json::Value;
use tokio::time::{Instant, timeout_at};

use super::body::{MAX_WHOLE, start_of};
use super::completion::{Completion, Dialect};
use super::failure::{Refusal, bounded};
use super::services::{Grammar, Kind, Service};
use super::{Key, Timeouts, Trouble, Wire, anthropic, gemini, ollama, openai, responses, shown};
use crate::{Capabilities, LlmError, LlmErrorKind, Request};

/// Domain suffixes of hosts on this machine or in the local network.
const NEAR: [&str; 5] = [".localhost", ".local", ".lan", ".internal", ".home.arpa"];

/// The content type of requests.
const JSON: HeaderValue = HeaderValue::from_static("application/json");

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
    pub(super) name: String,
    kind: Kind,
    pub(super) base: Url,
    pub(super) model: Option<String>,
    key: Option<Key>,
    pub(super) timeouts: Timeouts,
    /// Capabilities that follow from its wire format.
    pub(super) capabilities: Capabilities,
    pub(super) is_hosted: bool,
    client: Client,
    wire: Arc<dyn Wire>,
}

impl fmt::Debug for HttpProvider {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HttpProvider")
            .field("name", &self.name)
            .field("base", &shown(&self.base).as_str())
            .field("model", &self.model)
            .finish_non_exhaustive()
    }
}

/// Why a provider could not be set up.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SetupError {
    /// The address is not valid.
    #[error("`{address}` is no address of a server: {reason}; write it as http://HOST:PORT/v1")]
    Address {
        /// The address that was given.
        address: String,
        /// What is wrong with the address.
        reason: String,
    },
    /// The HTTP client could not be created.
    #[error("No connections can be made: {0}")]
    Client(String),
}

impl HttpProvider {
    /// Creates a provider for a service, with the key from its variables.
    ///
    /// # Errors
    ///
    /// If its address is not valid.
    pub fn new(service: &Service) -> Result<Self, SetupError> {
        let address = service.address();
        let mut provider = Self::elsewhere(service, &address)?;
        service.name.clone_into(&mut provider.name);
        provider.key = Key::of_variables(service.keys);
        provider.is_hosted =
            service.is_hosted && address.trim().trim_end_matches('/') == service.base;
        Ok(provider)
    }

    /// Creates a provider for a server at this address that speaks the API of a
    /// service. The service's key is not used, and whether its models call
    /// tools is not known.
    ///
    /// # Errors
    ///
    /// If the address is not valid.
    pub fn elsewhere(service: &Service, address: &str) -> Result<Self, SetupError> {
        let mut provider = Self::at(service.kind, address)?;
        provider.wire = wire(service.kind, service.grammar);
        provider.capabilities.constraint = service.grammar.constraint();
        Ok(provider)
    }

    /// Creates a provider for a server at this address, of which nothing else
    /// is known.
    ///
    /// # Errors
    ///
    /// If the address is not valid.
    pub fn at(kind: Kind, address: &str) -> Result<Self, SetupError> {
        let wire = wire(kind, Grammar::Unknown);
        let base = base(&*wire, address)?;
        let timeouts = Timeouts::default();
        Ok(Self {
            name: base.host_str().unwrap_or_default().to_owned(),
            kind,
            model: None,
            key: None,
            timeouts,
            capabilities: Capabilities {
                form: wire.form(),
                ..Capabilities::default()
            },
            is_hosted: false,
            client: client(timeouts, &base)?,
            base,
            wire,
        })
    }

    /// Sets the model.
    #[must_use]
    pub fn with_model(mut self, model: impl Into<String>) -> Self {
        self.model = Some(model.into());
        self
    }

    /// Sets the key, or removes it.
    #[must_use]
    pub fn key(mut self, key: Option<Key>) -> Self {
        self.key = key;
        self
    }

    /// Sets the timeouts.
    ///
    /// # Errors
    ///
    /// If the HTTP client cannot be created.
    pub fn timeouts(mut self, timeouts: Timeouts) -> Result<Self, SetupError> {
        self.client = client(timeouts, &self.base)?;
        self.timeouts = timeouts;
        Ok(self)
    }

    /// Whether a key, if there is one, goes without encryption to a server that
    /// is neither on this machine nor in a private network.
    #[must_use]
    pub fn sends_key_in_cleartext(&self) -> bool {
        self.base.scheme() == "http" && !is_near(&self.base)
    }

    /// An error of this kind in the answer to a request.
    pub(super) fn error(&self, request: &Request, kind: LlmErrorKind) -> LlmError {
        let model = request.model.as_deref().or(self.model.as_deref());
        LlmError::new(&self.name, model, kind)
    }

    /// The error of a request that could not be sent or received.
    pub(super) fn failed(&self, request: &Request, error: &reqwest::Error) -> LlmError {
        let why = told(error);
        let kind = if error.is_timeout() {
            LlmErrorKind::TimedOut
        } else if error.is_connect() && why.contains("certificate") {
            LlmErrorKind::Untrusted
        } else if error.is_connect() {
            LlmErrorKind::Unreachable
        } else {
            LlmErrorKind::Cut
        };
        self.error(request, kind).message(self.hidden(&why))
    }

    fn hidden(&self, text: &str) -> String {
        match &self.key {
            Some(key) => key.hidden_in(text),
            None => text.to_owned(),
        }
    }

    pub(super) fn trouble(&self, request: &Request, trouble: Trouble) -> LlmError {
        let Trouble::Error { status, message } = trouble;
        let model = request.model.as_deref().or(self.model.as_deref());
        let message = bounded(&self.hidden(&message));
        LlmError {
            status,
            ..LlmError::of_status(&self.name, model, status.unwrap_or(500), message)
        }
    }

    /// Sends the request, and returns the response if its status is successful.
    pub(super) async fn sent(
        &self,
        request: &Request,
        until: Instant,
    ) -> Result<Response, LlmError> {
        let model = request.model.as_deref().or(self.model.as_deref());
        let Some(model) = model else {
            let error = self.error(request, LlmErrorKind::NotFound);
            return Err(error.message("no model was named"));
        };
        let (path, body) = self.wire.request(request, model);
        let builder = self.client.post(self.address(&path));
        let mut builder = builder.header(CONTENT_TYPE, JSON).body(body);
        for (name, value) in request.verbatim.iter().flat_map(|it| &it.headers) {
            builder = builder.header(*name, value);
        }
        let Some(builder) = self.prepared(builder) else {
            let error = self.error(request, LlmErrorKind::Unauthorized);
            return Err(error.message("the key has characters that no key has, and was not sent"));
        };
        let late = || self.error(request, LlmErrorKind::TimedOut);
        let first = self.soon(request, until);
        let sent = timeout_at(first, builder.send()).await;
        let response = sent
            .map_err(|_| late())?
            .map_err(|error| self.failed(request, &error))?;
        if response.status().is_success() {
            return Ok(response);
        }
        let refusal = Refusal::read(response, first, |text| self.hidden(text)).await;
        let error = LlmError::of_status(&self.name, Some(model), refusal.meant, refusal.message);
        Err(LlmError {
            status: Some(refusal.status),
            retry_after: refusal.retry_after,
            ..error
        })
    }

    /// The address of a path after the base; a query of the base is kept.
    fn address(&self, path: &str) -> Url {
        let (path, query) = path.split_once('?').unwrap_or((path, ""));
        let mut address = self.base.clone();
        address.set_path(&format!("{}{path}", self.path()));
        let queries = [self.base.query().unwrap_or_default(), query];
        let queries: Vec<&str> = queries.into_iter().filter(|it| !it.is_empty()).collect();
        address.set_query((!queries.is_empty()).then(|| queries.join("&")).as_deref());
        address
    }

    /// Adds headers and key to a request; `None` if the key cannot be sent.
    fn prepared(&self, mut builder: RequestBuilder) -> Option<RequestBuilder> {
        for (name, value) in self.wire.headers() {
            builder = builder.header(*name, *value);
        }
        let Some(key) = &self.key else {
            return Some(builder);
        };
        if !key.as_str().is_ascii() {
            return None;
        }
        let (name, before) = self.wire.key_header();
        let mut value = HeaderValue::from_str(&format!("{before}{}", key.as_str())).ok()?;
        value.set_sensitive(true);
        Some(builder.header(name, value))
    }

    /// Requests information other than a reply; `None` if the server does not
    /// have it.
    pub(super) async fn told(&self, path: &str, body: Option<&Value>) -> Option<Value> {
        let mut address = self.base.clone();
        if let Some((path, query)) = path.split_once('?') {
            address.set_path(path);
            address.set_query(Some(query));
        } else {
            address.set_path(path);
        }
        let builder = match body {
            Some(body) => self.client.post(address).json(body),
            None => self.client.get(address),
        };
        let builder = self.prepared(builder)?;
        let told = async {
            let response = builder.send().await.ok()?.error_for_status().ok()?;
            let body = start_of(response, MAX_WHOLE).await;
            serde_json::from_slice(&body).ok()
        };
        timeout_at(Instant::now() + self.timeouts.connect, told)
            .await
            .ok()?
    }

    /// The kind of API that the server speaks.
    pub(super) const fn kind(&self) -> Kind {
        self.kind
    }

    pub(super) fn wire(&self) -> &dyn Wire {
        &*self.wire
    }

    /// The path of the base address.
    pub(super) fn path(&self) -> &str {
        self.base.path().trim_end_matches('/')
    }

    /// The deadline of the next piece. Where there is only one, it comes when
    /// the reply is complete.
    pub(super) fn soon(&self, request: &Request, until: Instant) -> Instant {
        if request.whole {
            return until;
        }
        until.min(Instant::now() + self.timeouts.idle)
    }
}

/// Parses the base address of a server.
fn base(wire: &dyn Wire, address: &str) -> Result<Url, SetupError> {
    let wrong = |reason: String| SetupError::Address {
        address: address.to_owned(),
        reason,
    };
    let mut base = Url::parse(address.trim()).map_err(|error| wrong(error.to_string()))?;
    if !matches!(base.scheme(), "http" | "https") || base.host().is_none() {
        return Err(wrong("it is neither http nor https".to_owned()));
    }
    base.set_fragment(None);
    // Some users give the address of an endpoint, or of another API there.
    let path = base.path().trim_end_matches('/');
    let shorter = wire.tails().iter().find_map(|tail| path.strip_suffix(tail));
    if let Some(path) = shorter.map(str::to_owned) {
        base.set_path(&path);
    }
    Ok(base)
}

/// Whether a server is on this machine.
fn is_here(base: &Url) -> bool {
    let host = base.host_str().unwrap_or_default();
    let address: Option<IpAddr> = host.trim_matches(['[', ']']).parse().ok();
    match address {
        Some(address) => address.is_loopback(),
        None => host == "localhost" || host.ends_with(".localhost"),
    }
}

/// Whether a server is on this machine, or in a private network.
fn is_near(base: &Url) -> bool {
    let host = base.host_str().unwrap_or_default();
    match host.trim_matches(['[', ']']).parse() {
        Ok(IpAddr::V4(it)) => it.is_loopback() || it.is_private() || it.is_link_local(),
        Ok(IpAddr::V6(it)) => {
            it.is_loopback() || it.is_unique_local() || it.is_unicast_link_local()
        }
        Err(_) => !host.contains('.') || NEAR.iter().any(|ending| host.ends_with(ending)),
    }
}

/// The wire format of this kind of server.
fn wire(kind: Kind, grammar: Grammar) -> Arc<dyn Wire> {
    let completion = |dialect| Arc::new(Completion { dialect, grammar });
    let openai = |is_itself| Arc::new(openai::OpenAi { is_itself, grammar });
    match kind {
        Kind::OpenAi => openai(false),
        Kind::OpenAiItself => openai(true),
        Kind::OpenAiResponses => Arc::new(responses::Responses),
        Kind::Anthropic => Arc::new(anthropic::Anthropic),
        Kind::Gemini => Arc::new(gemini::Gemini),
        Kind::Ollama => Arc::new(ollama::Ollama),
        Kind::Completion => completion(Dialect::OpenAi),
        Kind::LlamaCppCompletion => completion(Dialect::LlamaCpp),
    }
}

fn client(timeouts: Timeouts, base: &Url) -> Result<Client, SetupError> {
    let mut client = ptk_http::client()
        .connect_timeout(timeouts.connect)
        .tcp_nodelay(true)
        // A key is not sent to another server.
        .redirect(reqwest::redirect::Policy::none())
        .user_agent(concat!("ptk/", env!("CARGO_PKG_VERSION")));
    if is_here(base) {
        // A proxy leads to other machines, and could not reach this one.
        client = client.no_proxy();
        if base.scheme() == "http" {
            // There is no TLS here, so loading root certificates would be
            // wasted.
            client = client.tls_certs_only([]);
        }
    }
    let client = client.build();
    client.map_err(|error| SetupError::Client(told(&error)))
}

/// The message of an error and its sources.
fn told(error: &reqwest::Error) -> String {
    let mut parts = Vec::new();
    let mut source: Option<&dyn std::error::Error> = Some(error);
    while let Some(error) = source {
        let text = error.to_string();
        // Addresses may contain keys.
        if !text.contains("://") && !parts.contains(&text) {
            parts.push(text);
        }
        source = error.source();
    }
    parts.join(": ")
}
