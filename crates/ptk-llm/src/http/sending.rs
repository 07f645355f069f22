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
use crate::{Capabilities, Form, LlmError, LlmErrorKind, Request};

/// Domain suffixes of hosts on this machine or in the local network.
const NEAR: [&str; 5] = [".localhost", ".local", ".lan", ".internal", ".home.arpa"];

/// How the TLS library tells that the server answered without TLS.
const NOT_TLS: &str = "InvalidContentType";
/// How the HTTP library tells that a host name does not resolve.
const NOT_RESOLVED: &str = "dns error";
/// How the HTTP library tells that the answer is not HTTP.
const NOT_HTTP: &str = "invalid HTTP version";
/// Why a request with a key was not sent.
const UNSENT_KEY: &str = "the key has characters that no key has, and was not sent";

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
    /// The variables that the key is looked for in.
    key_variables: Vec<String>,
    /// The service whose key can be stored for it.
    stored_for: Option<&'static str>,
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
        provider.key_variables = owned(service.keys);
        provider.stored_for = service.needs_key.then(|| service.account());
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
            key_variables: Vec::new(),
            stored_for: None,
            timeouts,
            capabilities: Capabilities {
                form: wire.form(),
                takes_images: wire.form() == Form::Chat,
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

    /// Sets the variables that the key is looked for in, so that an error can
    /// name them. The key of a service is not stored for another server.
    pub(super) fn key_variables(mut self, names: &[&str], stored_for: Option<&Service>) -> Self {
        self.key_variables = owned(names);
        self.stored_for = stored_for.map(Service::account);
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
        let model = request.model.as_deref().or(self.model.as_deref());
        self.not_sent(model, error)
    }

    fn not_sent(&self, model: Option<&str>, error: &reqwest::Error) -> LlmError {
        let why = told(error);
        let of_kind = |kind| LlmError::new(&self.name, model, kind);
        let is_here = |what: &str| why.contains(what);
        let failed = if error.is_timeout() {
            of_kind(LlmErrorKind::TimedOut)
        } else if error.is_connect() && is_here("certificate") {
            of_kind(LlmErrorKind::Untrusted)
        } else if error.is_connect() && is_here(NOT_TLS) {
            // The TLS library only complains about the first byte.
            return of_kind(LlmErrorKind::NotEncrypted);
        } else if error.is_connect() && is_here(NOT_RESOLVED) {
            let host = self.base.host_str().unwrap_or_default();
            let message = format!("the host name {host} does not resolve");
            return of_kind(LlmErrorKind::Unreachable)
                .message(message)
                .remedy("see whether it is written right, and whether this machine has a network");
        } else if error.is_connect() {
            of_kind(LlmErrorKind::Unreachable)
        } else if self.base.scheme() == "http" && is_here(NOT_HTTP) {
            return of_kind(LlmErrorKind::Unreadable)
                .message("it does not answer as an HTTP server does")
                .remedy("if it is one of HTTPS, write https:// in its address");
        } else {
            of_kind(LlmErrorKind::Cut)
        };
        failed.message(self.hidden(&why))
    }

    /// The error that a status and its message mean. One about the key says
    /// where that is looked for.
    fn refused(&self, model: Option<&str>, status: u16, message: String) -> LlmError {
        let mut error = LlmError::of_status(&self.name, model, status, message);
        if error.kind != LlmErrorKind::Unauthorized {
            return error;
        }
        // A password in the address, or a header of it, may be the key.
        if self.key.is_none() && status == 401 && self.base.password().is_none() {
            error.kind = LlmErrorKind::NoKey;
        }
        match self.where_to_set_a_key() {
            Some(remedy) => error.remedy(remedy),
            None => error,
        }
    }

    /// How the user gives it a key.
    fn where_to_set_a_key(&self) -> Option<String> {
        let variables = self.key_variables.join(" or ");
        if variables.is_empty() {
            return None;
        }
        let host = self.base.host_str().unwrap_or_default();
        let at_host = Service::at_host(host).filter(|_| self.stored_for.is_none());
        Some(match (self.stored_for, at_host) {
            (Some(name), _) => {
                format!("set one in {variables}, or keep one with `ptk keys set {name}`")
            }
            (None, Some(service)) => format!(
                "set one in {variables}; or use --provider {}, with the key in {} or kept with \
                 `ptk keys set {}`",
                service.name,
                service.keys.join(" or "),
                service.account()
            ),
            (None, None) => format!("set one in {variables}"),
        })
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
            ..self.refused(model, status.unwrap_or(500), message)
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
            return Err(error.message(UNSENT_KEY));
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
        Err(self.refusal(Some(model), refusal))
    }

    fn refusal(&self, model: Option<&str>, refusal: Refusal) -> LlmError {
        LlmError {
            status: Some(refusal.status),
            retry_after: refusal.retry_after,
            ..self.refused(model, refusal.meant, refusal.message)
        }
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
        self.asked(path, body).await.ok()
    }

    /// Requests information other than a reply.
    pub(super) async fn asked(&self, path: &str, body: Option<&Value>) -> Result<Value, LlmError> {
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
        let of_kind = |kind| LlmError::new(&self.name, None, kind);
        let builder = self
            .prepared(builder)
            .ok_or_else(|| of_kind(LlmErrorKind::Unauthorized).message(UNSENT_KEY))?;
        let until = Instant::now() + self.timeouts.connect;
        let late = |_| of_kind(LlmErrorKind::TimedOut);
        let sent = timeout_at(until, builder.send()).await.map_err(late)?;
        let response = sent.map_err(|error| self.not_sent(None, &error))?;
        if !response.status().is_success() {
            let refusal = Refusal::read(response, until, |text| self.hidden(text)).await;
            return Err(self.refusal(None, refusal));
        }
        let body = timeout_at(until, start_of(response, MAX_WHOLE)).await;
        let body = body.map_err(late)?;
        serde_json::from_slice(&body).map_err(|_| of_kind(LlmErrorKind::Unreadable))
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

/// The message of an error and its sources, each cause once: some libraries
/// repeat their source in their own text.
fn told(error: &reqwest::Error) -> String {
    let mut causes = Vec::new();
    let mut source: Option<&dyn std::error::Error> = Some(error);
    while let Some(error) = source {
        causes.push(error.to_string());
        source = error.source();
    }
    told_once(&causes)
}

/// These causes as one text, the outermost first.
fn told_once(causes: &[String]) -> String {
    let mut parts: Vec<&str> = Vec::new();
    for cause in causes {
        // Addresses may contain keys, and the stage of a client says nothing
        // that the kind of the error does not.
        let is_useful = !cause.contains("://") && !cause.starts_with("client error (");
        if is_useful && !parts.iter().any(|part| part.contains(cause.as_str())) {
            parts.push(cause);
        }
    }
    parts.join(": ")
}

fn owned(names: &[&str]) -> Vec<String> {
    names.iter().map(|name| (*name).to_owned()).collect()
}

#[cfg(test)]
mod tests {
    use super::told_once;

    #[test]
    fn a_cause_that_is_repeated_is_told_once() {
        let told = |causes: &[&str]| told_once(&super::owned(causes));
        let refused = "Connection refused (os error 111)";
        let repeated = format!("tcp connect error: {refused}");
        assert_eq!(
            told(&[
                "error sending request for url (http://a/?key=secret)",
                "client error (Connect)",
                &repeated,
                refused,
                refused,
            ]),
            repeated
        );
        assert_eq!(told(&["a", "b", "a"]), "a: b");
    }
}
