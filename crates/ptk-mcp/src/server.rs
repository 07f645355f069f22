//! A server: connected to when it is needed, and again when it has ended.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, PoisonError, RwLock};
use std::time::{Duration, Instant};

use ptk_tools::CallContext;
use serde_json::{Map, Value};
use tokio::sync::Mutex;

use crate::connection::Connection;
use crate::listing::Listing;
use crate::servers::Options;
use crate::text::in_line;
use crate::{McpError, Offers, ServerDeclaration, exchange, offers};

/// How long a server rests after its first failure; then twice as long each
/// time.
const REST: Duration = Duration::from_secs(1);
/// How long it rests at most.
const MAX_REST: Duration = Duration::from_secs(60);
/// How long a connection has to hold until the failures before it are forgotten.
const STEADY: Duration = Duration::from_secs(60);
/// How many characters of a server's name and version are shown.
const MAX_WORD: usize = 100;

/// A configured server.
pub(crate) struct Server {
    pub(crate) name: String,
    pub(crate) declared: ServerDeclaration,
    options: Options,
    state: Mutex<State>,
    /// Its tools, as they were listed last.
    listing: RwLock<Arc<Listing>>,
    /// Whether they are others than those that are offered.
    has_others: AtomicBool,
}

/// What a server says of itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServerInfo {
    /// Its name and version.
    pub name: String,
    /// The revision of the protocol that is spoken.
    pub revision: String,
}

/// The connection, and what became of those before it.
#[derive(Default)]
struct State {
    connection: Option<Arc<Connection>>,
    opened: Option<Instant>,
    failures: u32,
    failed: Option<(Instant, McpError)>,
}

impl Server {
    pub(crate) fn new(name: String, declared: ServerDeclaration, options: Options) -> Self {
        Self {
            name,
            declared,
            options,
            state: Mutex::default(),
            listing: RwLock::default(),
            has_others: AtomicBool::new(false),
        }
    }

    /// Its tools, as they were listed last.
    pub(crate) fn listing(&self) -> Arc<Listing> {
        let listing = self.listing.read().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(&listing)
    }

    /// The connection, opened if there is none. All callers wait for the same
    /// one, and a server that fails again and again is left alone for longer
    /// and longer.
    pub(crate) async fn connect(&self) -> Result<Arc<Connection>, McpError> {
        let mut state = self.state.lock().await;
        if let Some(connection) = &state.connection {
            if connection.wants_login() {
                state.connection = None;
            } else if connection.is_closed() {
                state.lost();
            } else {
                return Ok(Arc::clone(connection));
            }
        }
        state.check_rest()?;
        match self.open().await {
            Ok(connection) => {
                let connection = Arc::new(connection);
                state.connection = Some(Arc::clone(&connection));
                state.opened = Some(Instant::now());
                Ok(connection)
            }
            Err(error) => {
                // The user may log in at any time.
                if !error.is_about_login() {
                    state.failed(error.clone());
                }
                Err(error)
            }
        }
    }

    async fn open(&self) -> Result<Connection, McpError> {
        let connection = Connection::open(&self.name, &self.declared, &self.options).await?;
        self.list(&connection).await?;
        Ok(connection)
    }

    async fn list(&self, connection: &Connection) -> Result<(), McpError> {
        let (raw, left_out) = connection.list_tools().await?;
        let is_wanted = |tool: &str| self.declared.wants(tool);
        let mut listing = Listing::new(&self.name, &raw, is_wanted);
        listing.leave_out(left_out.into_iter().filter(|tool| is_wanted(tool)));
        let mut slot = self.listing.write().unwrap_or_else(PoisonError::into_inner);
        if **slot != listing {
            *slot = Arc::new(listing);
            self.has_others.store(true, Ordering::Release);
        }
        Ok(())
    }

    /// The tools are offered as they were listed last.
    pub(crate) fn offered(&self) {
        self.has_others.store(false, Ordering::Release);
    }

    /// Lists the tools again if they may have changed, and returns whether they
    /// are others than those that are offered. A server that is not connected is
    /// not connected to: it says what is wrong when it is called.
    pub(crate) async fn refresh(&self) -> bool {
        let connection = self.state.lock().await.connection.clone();
        if let Some(connection) = connection.filter(|connection| !connection.is_closed()) {
            // What fails is tried again before the next call.
            let _ = self.list_if_changed(&connection).await;
        }
        self.has_others.swap(false, Ordering::AcqRel)
    }

    async fn list_if_changed(&self, connection: &Connection) -> Result<(), McpError> {
        if !connection.take_change() {
            return Ok(());
        }
        let listed = self.list(connection).await;
        if listed.is_err() {
            connection.note_change();
        }
        listed
    }

    /// What the server says of itself, if it is connected.
    pub(crate) async fn info(&self) -> Option<ServerInfo> {
        let connection = self.state.lock().await.connection.clone()?;
        let info = connection.info()?;
        let about = info.server_info.as_ref();
        let about = about.map(|it| format!("{} {}", it.name, it.version));
        Some(ServerInfo {
            name: in_line(&about.unwrap_or_default(), MAX_WORD),
            revision: in_line(&info.protocol_version.to_string(), MAX_WORD),
        })
    }

    /// Calls a tool, unless it is no longer what it was when it was offered.
    pub(crate) async fn call(
        &self,
        context: &CallContext,
        tool: &str,
        fingerprint: &str,
        args: Map<String, Value>,
    ) -> Result<Value, CallError> {
        let connecting = async {
            let connection = self.connect().await?;
            self.list_if_changed(&connection).await?;
            Ok::<_, McpError>(connection)
        };
        let connection = tokio::select! {
            connection = connecting => connection?,
            () = context.cancellation().cancelled() => return Err(McpError::Cancelled.into()),
        };
        let listing = self.listing();
        match listing.tools.iter().find(|it| it.name == tool) {
            None => return Err(CallError::Gone),
            Some(now) if now.fingerprint != fingerprint => return Err(CallError::Changed),
            Some(_) => {}
        }
        Ok(exchange::call(&connection, &self.declared, context, tool, args).await?)
    }

    /// Its prompts and resources. A server that cannot be asked has none.
    pub(crate) async fn offers(&self) -> Offers {
        let connection = self.state.lock().await.connection.clone();
        match connection {
            Some(connection) => offers::list(&connection, &self.name)
                .await
                .unwrap_or_default(),
            None => Offers::default(),
        }
    }

    /// Ends the connection.
    pub(crate) async fn close(&self) {
        let connection = self.state.lock().await.connection.take();
        if let Some(connection) = connection.and_then(Arc::into_inner) {
            connection.close().await;
        }
    }
}

/// Why a call has no answer.
#[derive(Debug, thiserror::Error)]
pub(crate) enum CallError {
    #[error(transparent)]
    Server(#[from] McpError),
    #[error("the server does not have this tool any more")]
    Gone,
    #[error("the server has changed this tool since it was offered")]
    Changed,
}

impl State {
    /// The connection was lost.
    fn lost(&mut self) {
        let was_steady = self
            .opened
            .take()
            .is_some_and(|opened| opened.elapsed() >= STEADY);
        self.connection = None;
        if was_steady {
            self.failures = 0;
        }
        self.failed(McpError::Closed {
            reason: "it has ended".to_owned(),
            stderr: String::new(),
        });
    }

    fn failed(&mut self, error: McpError) {
        self.failures = self.failures.saturating_add(1);
        self.failed = Some((Instant::now(), error));
    }

    /// Fails while the server rests. After its first failure it is tried again
    /// at once.
    fn check_rest(&self) -> Result<(), McpError> {
        let Some((since, error)) = self.failed.as_ref().filter(|_| self.failures > 1) else {
            return Ok(());
        };
        let factor = 2_u32.saturating_pow(self.failures - 2);
        let rest = REST.saturating_mul(factor).min(MAX_REST);
        let again = rest.saturating_sub(since.elapsed());
        if again.is_zero() {
            return Ok(());
        }
        Err(McpError::Resting {
            reason: error.to_string(),
            again,
        })
    }
}
