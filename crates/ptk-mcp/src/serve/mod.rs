//! PTK's tools as a server of the Model Context Protocol.
//!
//! [`McpServer`] offers the tools of a [`ToolManager`] to MCP clients, over
//! [streams](McpServer::serve_streams) such as stdin and stdout, or over
//! [HTTP](McpServer::serve_http). Each call passes the whole pipeline of its
//! manager, so that rules, sandbox, undo and limits hold as for a model of PTK's
//! own. The revisions 2025-11-25 and 2026-07-28 are spoken, and those before that
//! begin with `initialize`.
//!
//! ```
//! use ptk_mcp::serve::{ClientApprover, McpServer};
//! use ptk_sandbox::Workspace;
//! use ptk_tools::{Registry, ToolManager, Typed, tools::ReadFile};
//!
//! let mut registry = Registry::new();
//! registry.register(Typed::new(ReadFile))?;
//! let manager = ToolManager::builder(Workspace::open(std::env::temp_dir())?)
//!     .tools(registry)
//!     .approver(ClientApprover)
//!     .build();
//! let server = McpServer::builder(manager).build()?;
//! # let _ = server;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! | Module | Purpose |
//! |---|---|
//! | `connection` | one client's requests: [`rmcp::ServerHandler`] |
//! | `catalogue` | tools as clients see them |
//! | `call` | one call: its progress, its questions, its result |
//! | `approval`, `open_questions` | questions about calls, passed on to the client's user |
//! | `conversations` | the conversations of clients that have no session |
//! | `resources` | what clients can read besides calling tools |
//! | `parse_reply`, `repair_json` | the tools `parse` and `repair` |
//! | `http` | connections, access and sessions over HTTP |

mod approval;
mod call;
mod catalogue;
mod connection;
mod conversations;
mod http;
mod open_questions;
mod parse_reply;
mod repair_json;
mod resources;

use std::sync::Arc;

use ptk_tools::{RegistryError, Tool, ToolManager, Typed, TypedTool as _};
use rmcp::model::Implementation;
use rmcp::service::{QuitReason, ServerInitializeError, serve_server_with_ct};
use rmcp::transport::async_rw::AsyncRwTransport;
use serde_json::Value;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;

use self::catalogue::Catalogue;
use self::connection::Connection;
use self::conversations::Conversations;
use self::open_questions::OpenQuestions;

pub use approval::ClientApprover;
pub use http::{AccessToken, HTTP_PATH, HttpLimits, HttpOptions, InvalidToken};
pub use parse_reply::ParseReply;
pub use repair_json::RepairJson;
pub use resources::{ResourceError, ResourceItem, ResourcePage, ResourceSource, ResourceText};

/// The most bytes of one message, which is a line of a stream or the body of a
/// request.
pub const MAX_MESSAGE: usize = 16 * 1024 * 1024;
/// The most calls that run or wait at the same time, of all clients together.
const MAX_CALLS: usize = 256;

/// Why a server could not be built.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BuildError {
    /// A tool cannot be offered.
    #[error(transparent)]
    Tool(#[from] RegistryError),
    /// An offered tool does not exist.
    #[error("there is no tool `{0}` to offer")]
    UnknownTool(String),
}

/// Why a connection ended before its client closed it.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ServeError {
    /// The client did not begin as the protocol wants.
    #[error("the client did not begin a session: {0}")]
    Begin(Box<ServerInitializeError>),
    /// The connection broke down.
    #[error("the connection broke down: {0}")]
    Broken(tokio::task::JoinError),
}

/// Builds an [`McpServer`].
pub struct McpServerBuilder {
    manager: ToolManager,
    offered: Option<Vec<String>>,
    added: Vec<String>,
    output_schemas: Vec<(String, Value)>,
    resources: Option<Arc<dyn ResourceSource>>,
    instructions: Option<String>,
}

impl McpServerBuilder {
    /// Sets which of the manager's tools are offered, by name. By default all
    /// of them are.
    #[must_use]
    pub fn offer(mut self, names: impl IntoIterator<Item = String>) -> Self {
        self.offered = Some(names.into_iter().collect());
        self
    }

    /// Adds a tool to those of the manager, and offers it.
    ///
    /// # Errors
    ///
    /// If it is not fit for a model, or its name is taken.
    pub fn tool(mut self, tool: impl Tool + 'static) -> Result<Self, BuildError> {
        self.added.push(tool.spec().name.clone());
        self.manager.register(tool)?;
        Ok(self)
    }

    /// Adds the tool `parse`.
    ///
    /// # Errors
    ///
    /// If there is a tool of this name.
    pub fn parse_reply(self, tool: ParseReply) -> Result<Self, BuildError> {
        let added = self.output_schema(ParseReply::NAME, parse_reply::output_schema());
        added.tool(Typed::new(tool))
    }

    /// Adds the tool `repair`.
    ///
    /// # Errors
    ///
    /// If there is a tool of this name.
    pub fn repair_json(self) -> Result<Self, BuildError> {
        let added = self.output_schema(RepairJson::NAME, repair_json::output_schema());
        added.tool(Typed::new(RepairJson))
    }

    /// Sets the JSON Schema of a tool's results: what it gives beside `success`,
    /// `error`, `error_type` and `suggestion`.
    #[must_use]
    pub fn output_schema(mut self, tool: impl Into<String>, schema: Value) -> Self {
        self.output_schemas.push((tool.into(), schema));
        self
    }

    /// Sets the resources that clients can read.
    #[must_use]
    pub fn resources(mut self, source: impl ResourceSource + 'static) -> Self {
        self.resources = Some(Arc::new(source));
        self
    }

    /// Sets how to use the tools, for the client's model.
    #[must_use]
    pub fn instructions(mut self, text: impl Into<String>) -> Self {
        self.instructions = Some(text.into());
        self
    }

    /// Builds the server.
    ///
    /// # Errors
    ///
    /// If an offered tool does not exist.
    pub fn build(self) -> Result<McpServer, BuildError> {
        let registry = self.manager.registry();
        let names = match self.offered {
            Some(offered) => offered.into_iter().chain(self.added).collect(),
            None => registry.toolset().names().map(str::to_owned).collect(),
        };
        let catalogue = Catalogue::new(&registry, names, &self.output_schemas)?;
        Ok(McpServer {
            shared: Arc::new(Shared {
                manager: self.manager,
                catalogue,
                resources: self.resources,
                instructions: self.instructions,
                questions: OpenQuestions::default(),
                conversations: Conversations::default(),
                calls: Arc::new(Semaphore::new(MAX_CALLS)),
            }),
        })
    }
}

/// A server of the Model Context Protocol. Cheap to clone; clones are the same
/// server.
#[derive(Clone)]
pub struct McpServer {
    shared: Arc<Shared>,
}

/// What all connections of a server have in common.
struct Shared {
    manager: ToolManager,
    catalogue: Catalogue,
    resources: Option<Arc<dyn ResourceSource>>,
    instructions: Option<String>,
    questions: OpenQuestions,
    conversations: Conversations,
    /// One permit for each call that runs.
    calls: Arc<Semaphore>,
}

impl McpServer {
    /// Begins a server that offers tools of this manager. Where its approver is
    /// a [`ClientApprover`], clients are asked about calls that no rule decides.
    #[must_use]
    pub fn builder(manager: ToolManager) -> McpServerBuilder {
        McpServerBuilder {
            manager,
            offered: None,
            added: Vec::new(),
            output_schemas: Vec::new(),
            resources: None,
            instructions: None,
        }
    }

    /// Serves one client over a pair of streams, a message a line, until it
    /// closes its end or `end` is cancelled. A line longer than [`MAX_MESSAGE`]
    /// is left out.
    ///
    /// # Errors
    ///
    /// If the client does not speak the protocol.
    pub async fn serve_streams<R, W>(
        &self,
        read: R,
        write: W,
        end: &CancellationToken,
    ) -> Result<(), ServeError>
    where
        R: AsyncRead + Send + Unpin + 'static,
        W: AsyncWrite + Send + Unpin + 'static,
    {
        let transport = AsyncRwTransport::new(read, write).with_max_line_length(MAX_MESSAGE);
        let connection = Connection::new(Arc::clone(&self.shared));
        let serving = serve_server_with_ct(connection, transport, end.child_token()).await;
        let serving = match serving {
            Ok(serving) => serving,
            Err(ServerInitializeError::ConnectionClosed(_) | ServerInitializeError::Cancelled) => {
                return Ok(());
            }
            Err(error) => return Err(ServeError::Begin(Box::new(error))),
        };
        match serving.waiting().await {
            Ok(QuitReason::JoinError(error)) | Err(error) => Err(ServeError::Broken(error)),
            Ok(_) => {
                self.finish_calls().await;
                Ok(())
            }
        }
    }

    /// Waits until the calls that were cancelled have cleaned up.
    async fn finish_calls(&self) {
        let all = self.shared.calls.acquire_many(max_calls());
        drop(tokio::time::timeout(call::CLEAN_UP, all).await);
    }
}

/// [`MAX_CALLS`] as the number of permits.
fn max_calls() -> u32 {
    u32::try_from(MAX_CALLS).unwrap_or(u32::MAX)
}

/// The name and version that a server introduces itself with.
fn implementation() -> Implementation {
    Implementation::new("ptk", env!("CARGO_PKG_VERSION"))
        .with_title("PTK")
        .with_description("Tools for files, commands and code, with rules, a sandbox and undo")
}
