//! A live connection to a server.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use rmcp::model::{
    ClientRequest, ListPromptsRequest, ListResourcesRequest, ListToolsRequest,
    PaginatedRequestParams, ProtocolVersion, ServerCapabilities, ServerPeerInfo, ServerResult,
    SubscriptionFilter,
};
use rmcp::service::{
    ClientInitializeError, ClientLifecycleMode, ClientServiceExt as _, Peer, PeerRequestOptions,
    RoleClient, RunningService, ServiceError,
};
use rmcp::transport::StreamableHttpClientTransport;
use rmcp::transport::async_rw::AsyncRwTransport;
use rmcp::transport::auth::{AuthClient, AuthError, WWWAuthenticateParams};
use rmcp::transport::streamable_http_client::{AuthRequiredError, InsufficientScopeError};
use serde_json::Value;
use tokio_util::task::AbortOnDropHandle;

use crate::handler::{Handler, Shared};
use crate::http::{HttpClient, ListedNames};
use crate::oauth::KeptLogin;
use crate::servers::Options;
use crate::stdio::{self, MAX_MESSAGE, ServerProcess, ServerSandbox, Stderr};
use crate::tokens::TokenStore;
use crate::{McpError, ServerDeclaration, http, oauth, text};

/// How long a server has to list its tools.
const LIST: Duration = Duration::from_secs(30);
/// How many pages a list may have.
const MAX_PAGES: usize = 100;
/// How long a list may be in all, in bytes.
const MAX_LIST: usize = 16 * 1024 * 1024;
/// How many tools, prompts or resources a server may have.
pub(crate) const MAX_LISTED: usize = 2_000;
/// How many characters of an error are told.
const MAX_ERROR: usize = 500;

/// What a server can list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Listed {
    Tools,
    Prompts,
    Resources,
}

impl Listed {
    /// Its name in the protocol.
    fn name(self) -> &'static str {
        match self {
            Self::Tools => "tools",
            Self::Prompts => "prompts",
            Self::Resources => "resources",
        }
    }

    /// Whether a server says that it has some.
    fn is_offered(self, capabilities: &ServerCapabilities) -> bool {
        match self {
            Self::Tools => capabilities.tools.is_some(),
            Self::Prompts => capabilities.prompts.is_some(),
            Self::Resources => capabilities.resources.is_some(),
        }
    }

    fn request(self, params: PaginatedRequestParams) -> ClientRequest {
        match self {
            Self::Tools => ClientRequest::ListToolsRequest(ListToolsRequest::with_param(params)),
            Self::Prompts => {
                ClientRequest::ListPromptsRequest(ListPromptsRequest::with_param(params))
            }
            Self::Resources => {
                ClientRequest::ListResourcesRequest(ListResourcesRequest::with_param(params))
            }
        }
    }
}

/// A live connection to a server. Dropping it ends a server that is a program.
pub(crate) struct Connection {
    service: RunningService<RoleClient, Handler>,
    pub(crate) handler: Handler,
    process: Option<ServerProcess>,
    stderr: Stderr,
    login: LoginInUse,
    listed: ListedNames,
    /// Whether the server does not read what it is sent.
    is_stuck: AtomicBool,
    /// Whether the server has refused the login, so that another one needs another
    /// connection.
    wants_login: AtomicBool,
    /// Listens for changes of the server's tools.
    _listening: Option<AbortOnDropHandle<()>>,
}

impl Connection {
    /// Connects to a server.
    pub(crate) async fn open(
        name: &str,
        declared: &ServerDeclaration,
        options: &Options,
    ) -> Result<Self, McpError> {
        let handler = Handler {
            server: name.to_owned(),
            shared: Arc::default(),
            asker: options.asker.clone(),
        };
        let (sandbox, tokens) = (Some(&options.sandbox), options.tokens.as_ref());
        Self::open_as(&handler, declared, sandbox, tokens).await
    }

    /// Connects to a server over HTTP, without the login to it.
    pub(crate) async fn open_without_login(declared: &ServerDeclaration) -> Result<Self, McpError> {
        let handler = Handler {
            server: String::new(),
            shared: Arc::default(),
            asker: None,
        };
        Self::open_as(&handler, declared, None, None).await
    }

    async fn open_as(
        handler: &Handler,
        declared: &ServerDeclaration,
        sandbox: Option<&ServerSandbox>,
        tokens: Option<&Arc<dyn TokenStore>>,
    ) -> Result<Self, McpError> {
        let modes = [
            ClientLifecycleMode::Auto {
                preferred_versions: vec![ProtocolVersion::V_2026_07_28],
                legacy_version: Some(ProtocolVersion::V_2025_11_25),
            },
            // Some servers end where the first message is not the one that they
            // expect.
            ClientLifecycleMode::Initialize,
        ];
        let mut failed = None;
        for mode in modes {
            // What an earlier try was told counts no more.
            let handler = Handler {
                shared: Arc::default(),
                ..handler.clone()
            };
            match Self::open_in(mode, handler, declared, sandbox, tokens).await {
                Ok(connection) => return Ok(connection),
                Err(error @ McpError::Connect { .. }) if failed.is_none() => failed = Some(error),
                Err(error) => return Err(failed.unwrap_or(error)),
            }
        }
        Err(failed.unwrap_or(McpError::Cancelled))
    }

    async fn open_in(
        mode: ClientLifecycleMode,
        handler: Handler,
        declared: &ServerDeclaration,
        sandbox: Option<&ServerSandbox>,
        tokens: Option<&Arc<dyn TokenStore>>,
    ) -> Result<Self, McpError> {
        let mut login = LoginInUse::default();
        let listed = ListedNames::default();
        let (process, service) = if let (None, Some(sandbox)) = (&declared.url, sandbox) {
            let started = stdio::start(&handler.server, declared, sandbox).await?;
            let (process, output, input) = started;
            let transport = AsyncRwTransport::new_client(output, input);
            let transport = transport.with_max_line_length(MAX_MESSAGE);
            let service = handler.clone().serve_with_lifecycle(transport, mode);
            (
                Some(process),
                tokio::time::timeout(declared.ready(), service).await,
            )
        } else {
            let client = http::client(listed.clone())?;
            let served = over_http(handler.clone(), mode, client, declared, tokens, &mut login);
            let served = tokio::time::timeout(declared.ready(), served).await;
            (
                None,
                served.map_or_else(|late| Ok(Err(late)), |served| served.map(Ok))?,
            )
        };
        let stderr = process.as_ref().map(ServerProcess::stderr);
        let stderr = stderr.unwrap_or_default();
        let service = match service {
            Err(_) => {
                return Err(McpError::NotReady {
                    after: declared.ready(),
                    stderr: stderr.text(),
                });
            }
            Ok(Err(error)) => {
                // What it writes last says why it has ended.
                tokio::task::yield_now().await;
                return Err(initialize_error(&error, &stderr, &login));
            }
            Ok(Ok(service)) => service,
        };
        let listening = listening(service.peer(), &handler.shared);
        Ok(Self {
            service,
            handler,
            process,
            stderr,
            login,
            listed,
            is_stuck: AtomicBool::new(false),
            wants_login: AtomicBool::new(false),
            _listening: listening,
        })
    }

    pub(crate) fn peer(&self) -> &Peer<RoleClient> {
        self.service.peer()
    }

    /// Whether the connection is lost.
    pub(crate) fn is_closed(&self) -> bool {
        let is_stuck = self.is_stuck.load(Ordering::Acquire);
        is_stuck || self.service.is_closed() || self.peer().is_transport_closed()
    }

    /// Whether the server has refused the login.
    pub(crate) fn wants_login(&self) -> bool {
        self.wants_login.load(Ordering::Acquire)
    }

    /// Notes that the server does not read any more.
    pub(crate) fn give_up(&self) {
        self.is_stuck.store(true, Ordering::Release);
    }

    /// Notes that the tools have to be listed again.
    pub(crate) fn note_change(&self) {
        let shared = &self.handler.shared;
        shared.has_changed.store(true, Ordering::Release);
    }

    /// What the server says of itself.
    pub(crate) fn info(&self) -> Option<Arc<ServerPeerInfo>> {
        self.peer().peer_info()
    }

    /// Whether the tools have changed since this was asked last.
    pub(crate) fn take_change(&self) -> bool {
        self.handler
            .shared
            .has_changed
            .swap(false, Ordering::AcqRel)
    }

    /// Lists what the server offers, as it describes it.
    pub(crate) async fn list(&self, what: Listed) -> Result<Vec<Value>, McpError> {
        let is_offered = self
            .info()
            .is_none_or(|info| what.is_offered(&info.capabilities));
        if !is_offered {
            return Ok(Vec::new());
        }
        let listed = tokio::time::timeout(LIST, self.list_pages(what)).await;
        listed.unwrap_or(Err(McpError::TimedOut(LIST)))
    }

    /// Lists the tools of the server, as it describes them, and the names of those
    /// that cannot be called because of the headers that they want.
    pub(crate) async fn list_tools(&self) -> Result<(Vec<Value>, Vec<String>), McpError> {
        drop(self.listed.take());
        let tools = self.list(Listed::Tools).await?;
        let mut left_out = self.listed.take();
        for name in tools.iter().filter_map(|tool| tool.get("name")?.as_str()) {
            left_out.remove(name);
        }
        Ok((tools, left_out.into_iter().collect()))
    }

    async fn list_pages(&self, what: Listed) -> Result<Vec<Value>, McpError> {
        let mut all = Vec::new();
        let mut length = 0;
        let mut seen = BTreeSet::new();
        let mut cursor = None;
        for _ in 0..MAX_PAGES {
            let mut params = PaginatedRequestParams::default();
            params.cursor.clone_from(&cursor);
            let answer = self.request(what.request(params)).await?;
            let (page, next) = page(&answer, what)?;
            length += page.iter().map(|it| it.to_string().len()).sum::<usize>();
            if length > MAX_LIST {
                let what = format!(
                    "the list of its {} has more than {MAX_LIST} bytes",
                    what.name()
                );
                return Err(McpError::Protocol(what));
            }
            all.extend(page);
            all.truncate(MAX_LISTED);
            match next {
                // A cursor that comes again leads around in a circle.
                Some(next) if all.len() < MAX_LISTED && seen.insert(next.clone()) => {
                    cursor = Some(next);
                }
                _ => break,
            }
        }
        Ok(all)
    }

    /// Sends a request, and waits for the answer.
    pub(crate) async fn request(&self, request: ClientRequest) -> Result<ServerResult, McpError> {
        let options = PeerRequestOptions::with_timeout(LIST);
        let sent = self.peer().send_request_with_option(request, options).await;
        let handle = sent.map_err(|error| self.error(error))?;
        let answered = handle.await_response().await;
        answered.map_err(|error| self.error(error))
    }

    /// The failure of a request.
    pub(crate) fn error(&self, error: ServiceError) -> McpError {
        match error {
            ServiceError::McpError(error) => McpError::Refused {
                code: error.code.0,
                message: text::in_line(&error.message, MAX_ERROR),
            },
            ServiceError::Timeout { timeout } => McpError::TimedOut(timeout),
            ServiceError::Cancelled { .. } => McpError::Cancelled,
            ServiceError::TransportClosed => McpError::Closed {
                reason: "the server has ended".to_owned(),
                stderr: self.stderr.text(),
            },
            ServiceError::TransportSend(error) => {
                let Some(error) = self.login.error(&*error.error) else {
                    return McpError::Closed {
                        reason: innermost(&error),
                        stderr: self.stderr.text(),
                    };
                };
                if matches!(error, McpError::Unauthorized { .. }) {
                    self.wants_login.store(true, Ordering::Release);
                }
                error
            }
            error => McpError::Protocol(error.to_string()),
        }
    }

    /// Ends the connection, and the server if it is a program.
    pub(crate) async fn close(mut self) {
        // A server that does not take its leave is ended all the same.
        let _ = self
            .service
            .close_with_timeout(Duration::from_millis(500))
            .await;
        if let Some(process) = self.process.take() {
            process.end().await;
        }
    }
}

/// The outcome of a handshake.
type Served = Result<RunningService<RoleClient, Handler>, ClientInitializeError>;

/// The login that requests are made with.
#[derive(Debug, Default)]
struct LoginInUse {
    /// The address of the server.
    url: Option<reqwest::Url>,
    /// What the login allows.
    scopes: Vec<String>,
}

impl LoginInUse {
    /// The failure of a request that needs a login, or one that allows more.
    fn error(&self, error: &(dyn std::error::Error + 'static)) -> Option<McpError> {
        let mut cause = Some(error);
        while let Some(error) = cause {
            if let Some(wanted) = error.downcast_ref::<AuthRequiredError>() {
                let challenge = Some(wanted.www_authenticate_header.clone());
                return Some(McpError::Unauthorized { challenge });
            }
            if let Some(refused) = error.downcast_ref::<InsufficientScopeError>() {
                return Some(self.insufficient_scope(&refused.www_authenticate_header));
            }
            if let Some(AuthError::AuthorizationRequired) = error.downcast_ref() {
                return Some(McpError::Unauthorized { challenge: None });
            }
            cause = error.source();
        }
        None
    }

    /// The failure of a request that the login does not allow. A new login asks
    /// for what this one allows as well: it takes its place.
    fn insufficient_scope(&self, challenge: &str) -> McpError {
        let wanted = self.url.as_ref().and_then(|url| {
            let params = WWWAuthenticateParams::parse(challenge, url);
            params.scope
        });
        let mut scopes = self.scopes.clone();
        for scope in wanted.unwrap_or_default().split_whitespace() {
            if !scopes.iter().any(|known| known == scope) {
                scopes.push(scope.to_owned());
            }
        }
        McpError::InsufficientScope { scopes }
    }
}

/// Connects over HTTP, with the tokens of a login if there are some.
async fn over_http(
    handler: Handler,
    mode: ClientLifecycleMode,
    client: HttpClient,
    declared: &ServerDeclaration,
    tokens: Option<&Arc<dyn TokenStore>>,
    login: &mut LoginInUse,
) -> Result<Served, McpError> {
    let url = declared.url.as_deref().unwrap_or_default();
    login.url = reqwest::Url::parse(url).ok();
    let kept = match tokens {
        Some(store) if !declared.has_own_authorization() => oauth::kept_login(url, store).await?,
        _ => None,
    };
    let config = http::config(declared)?;
    Ok(if let Some(KeptLogin { manager, scopes }) = kept {
        login.scopes = scopes;
        let client = AuthClient::new(client, manager);
        let transport = StreamableHttpClientTransport::with_client(client, config);
        handler.serve_with_lifecycle(transport, mode).await
    } else {
        let transport = StreamableHttpClientTransport::with_client(client, config);
        handler.serve_with_lifecycle(transport, mode).await
    })
}

/// What a page lists, and the cursor of the next one. A page on which something
/// does not follow the protocol is taken as it is: the rest can be used.
fn page(answer: &ServerResult, what: Listed) -> Result<(Vec<Value>, Option<String>), McpError> {
    let answer =
        serde_json::to_value(answer).map_err(|error| McpError::Protocol(error.to_string()))?;
    let name = what.name();
    let list = answer.get(name).and_then(Value::as_array).cloned();
    let list = list.ok_or_else(|| {
        McpError::Protocol(format!(
            "its answer is no list of {name}: it has no `{name}`"
        ))
    })?;
    let next = answer.get("nextCursor").and_then(Value::as_str);
    Ok((list, next.map(str::to_owned)))
}

/// Listens for changes of the tools, where the revision wants that.
fn listening(peer: &Peer<RoleClient>, shared: &Arc<Shared>) -> Option<AbortOnDropHandle<()>> {
    let info = peer.peer_info()?;
    let tools = info.capabilities.tools.as_ref()?;
    if info.protocol_version.has_initialize() || tools.list_changed != Some(true) {
        return None;
    }
    let (peer, shared) = (peer.clone(), Arc::clone(shared));
    let listen = async move {
        let filter = SubscriptionFilter::builder().tools_list_changed().build();
        let Ok(mut changes) = peer.listen(filter).await else {
            return;
        };
        while let Ok(Some(_)) = changes.next().await {
            shared.has_changed.store(true, Ordering::Release);
        }
    };
    Some(AbortOnDropHandle::new(tokio::spawn(listen)))
}

/// Why a server could not be connected to.
fn initialize_error(
    error: &ClientInitializeError,
    stderr: &Stderr,
    login: &LoginInUse,
) -> McpError {
    let reason = match error {
        ClientInitializeError::ConnectionClosed(_) => "it ended before it was ready".to_owned(),
        ClientInitializeError::TransportError { error, .. } => match login.error(&*error.error) {
            Some(error) => return error,
            None => innermost(error),
        },
        ClientInitializeError::JsonRpcError(error) => {
            format!("it refused the connection: {}", error.message)
        }
        ClientInitializeError::LegacyFallbackFailed { fallback, .. } => {
            return initialize_error(fallback, stderr, login);
        }
        error => error.to_string(),
    };
    McpError::Connect {
        reason: text::in_line(&reason, MAX_ERROR),
        stderr: stderr.text(),
    }
}

/// The innermost cause of an error, which says most.
fn innermost(error: &rmcp::transport::DynamicTransportError) -> String {
    let mut cause: &dyn std::error::Error = &*error.error;
    while let Some(next) = cause.source() {
        cause = next;
    }
    text::in_line(&cause.to_string(), MAX_ERROR)
}

impl std::fmt::Debug for Connection {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Connection")
            .field("server", &self.handler.server)
            .field("process", &self.process)
            .finish_non_exhaustive()
    }
}
