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
use rmcp::transport::auth::AuthClient;
use rmcp::transport::streamable_http_client::AuthRequiredError;
use serde_json::Value;
use tokio_util::task::AbortOnDropHandle;

use crate::handler::{Handler, Shared};
use crate::servers::Options;
use crate::stdio::{self, MAX_MESSAGE, ServerProcess, Stderr};
use crate::{McpError, ServerDeclaration, http, oauth, text};

/// How long a server has to list its tools.
const LIST: Duration = Duration::from_secs(30);
/// How many pages a list may have.
const MAX_PAGES: usize = 100;
/// How long a list may be in all, in bytes.
const MAX_LIST: usize = 16 * 1024 * 1024;
/// How many tools, prompts or resources a server may have.
const MAX_LISTED: usize = 2_000;
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
    /// Whether the server does not read what it is sent.
    is_stuck: AtomicBool,
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
            match Self::open_in(mode, name, declared, options).await {
                Ok(connection) => return Ok(connection),
                Err(error @ McpError::Connect { .. }) if failed.is_none() => failed = Some(error),
                Err(error) => return Err(failed.unwrap_or(error)),
            }
        }
        Err(failed.unwrap_or(McpError::Cancelled))
    }

    async fn open_in(
        mode: ClientLifecycleMode,
        name: &str,
        declared: &ServerDeclaration,
        options: &Options,
    ) -> Result<Self, McpError> {
        let handler = Handler {
            server: name.to_owned(),
            shared: Arc::new(Shared::default()),
            asker: options.asker.clone(),
        };
        let (process, service) = if declared.url.is_some() {
            let served = over_http(handler.clone(), mode, declared, options);
            let served = tokio::time::timeout(declared.ready(), served).await;
            (
                None,
                served.map_or_else(|late| Ok(Err(late)), |served| served.map(Ok))?,
            )
        } else {
            let started = stdio::start(name, declared, &options.sandbox).await?;
            let (process, output, input) = started;
            let transport = AsyncRwTransport::new_client(output, input);
            let transport = transport.with_max_line_length(MAX_MESSAGE);
            let service = handler.clone().serve_with_lifecycle(transport, mode);
            (
                Some(process),
                tokio::time::timeout(declared.ready(), service).await,
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
                return Err(initialize_error(&error, &stderr));
            }
            Ok(Ok(service)) => service,
        };
        let listening = listening(service.peer(), &handler.shared);
        Ok(Self {
            service,
            handler,
            process,
            stderr,
            is_stuck: AtomicBool::new(false),
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
            ServiceError::TransportSend(error) if wants_login(&*error.error) => {
                McpError::Unauthorized
            }
            ServiceError::TransportSend(error) => McpError::Closed {
                reason: innermost(&error),
                stderr: self.stderr.text(),
            },
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

/// Connects over HTTP, with the tokens of a login if there are some.
async fn over_http(
    handler: Handler,
    mode: ClientLifecycleMode,
    declared: &ServerDeclaration,
    options: &Options,
) -> Result<Served, McpError> {
    let url = declared.url.as_deref().unwrap_or_default();
    let manager = match &options.tokens {
        Some(store) if !declared.has_own_authorization() => oauth::manager(url, store).await?,
        _ => None,
    };
    let (client, config) = (http::client()?, http::config(declared)?);
    Ok(if let Some(manager) = manager {
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
fn initialize_error(error: &ClientInitializeError, stderr: &Stderr) -> McpError {
    if error.is_authorization_required() {
        return McpError::Unauthorized;
    }
    let reason = match error {
        ClientInitializeError::ConnectionClosed(_) => "it ended before it was ready".to_owned(),
        ClientInitializeError::TransportError { error, .. } => innermost(error),
        ClientInitializeError::JsonRpcError(error) => {
            format!("it refused the connection: {}", error.message)
        }
        ClientInitializeError::LegacyFallbackFailed { fallback, .. } => {
            return initialize_error(fallback, stderr);
        }
        error => error.to_string(),
    };
    McpError::Connect {
        reason: text::in_line(&reason, MAX_ERROR),
        stderr: stderr.text(),
    }
}

/// Whether a request has failed because it needs a login.
fn wants_login(error: &(dyn std::error::Error + 'static)) -> bool {
    let mut cause = Some(error);
    while let Some(error) = cause {
        if error.is::<AuthRequiredError>() {
            return true;
        }
        cause = error.source();
    }
    false
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
