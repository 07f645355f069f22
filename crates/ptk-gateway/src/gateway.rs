//! What is served, and to whom.

use std::collections::HashMap;
use std::io;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use hyper::StatusCode;
use ptk::llm::{InMemory, Memory};
use ptk::protocol::dialects::Registry;
use ptk::protocol::format::DefinitionStyle;
use ptk::protocol::format::guard::{Guard, GuardError};
use ptk::protocol::{Formatter, PtkFormatter};
use ptk::{Approach, Mode, Model};
use tokio::sync::Semaphore;

use crate::access::{AccessPolicy, Keys};
use crate::bodies::Bodies;
use crate::capture::{Capture, Case};
use crate::failure::Failure;
use crate::hosted::HostedTools;
use crate::log::Log;
use crate::metrics::Metrics;
use crate::offer::Offers;
use crate::route::{Other, Route, Routes};
use crate::workers::Workers;

/// What one request, and all of them together, may take.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Bytes of a request.
    pub body: usize,
    /// Requests that are answered at the same time.
    pub concurrent: usize,
    /// How long one may take.
    pub time: Duration,
    /// Connections that are open at the same time. One more is answered with
    /// 503.
    pub connections: usize,
    /// How long the head of a request may take, and how long a connection may
    /// be idle.
    pub head_time: Duration,
    /// How long the body of a request may take.
    pub body_time: Duration,
    /// Bytes of all requests that are read or answered at the same time. A
    /// request that would need more is answered with 503.
    pub body_memory: usize,
    /// How long one request may compute: for its tools to be read and taught,
    /// and for a reply to be read and checked by their schemas.
    pub compute: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            body: 32 * 1024 * 1024,
            concurrent: 4096,
            time: Duration::from_secs(3600),
            connections: 8192,
            head_time: Duration::from_secs(30),
            body_time: Duration::from_secs(120),
            body_memory: 256 * 1024 * 1024,
            compute: Duration::from_secs(10),
        }
    }
}

/// The gateway: models by name, behind the APIs that clients speak.
///
/// ```
/// use ptk::Model;
/// use ptk::llm::Script;
/// use ptk_gateway::Gateway;
///
/// let gateway = Gateway::builder()
///     .model("tiny", [Model::new(Script::new(["Hello."]))])
///     .build()?;
/// # Ok::<(), ptk_gateway::BuildError>(())
/// ```
#[derive(Debug, Clone)]
pub struct Gateway {
    pub(crate) inner: Arc<Inner>,
}

impl Gateway {
    /// Puts one together.
    #[must_use]
    pub fn builder() -> GatewayBuilder {
        GatewayBuilder::default()
    }
}

#[derive(Debug)]
pub(crate) struct Inner {
    pub(crate) routes: Routes,
    pub(crate) mode: Mode,
    /// The dialect that is taught, and the only one that is read.
    pub(crate) dialect: Option<String>,
    pub(crate) dialects: Registry,
    pub(crate) memory: Arc<dyn Memory>,
    guard: Guard,
    /// By dialect, and by how tools are described.
    formatters: Mutex<HashMap<(String, DefinitionStyle), Arc<dyn Formatter>>>,
    pub(crate) offers: Offers,
    capture: Option<Capture>,
    pub(crate) metrics: Metrics,
    pub(crate) access: AccessPolicy,
    pub(crate) limits: Limits,
    pub(crate) bodies: Bodies,
    pub(crate) workers: Arc<Workers>,
    pub(crate) running: Arc<Semaphore>,
    pub(crate) log: Option<Log>,
    pub(crate) hosted: Option<HostedTools>,
}

impl Inner {
    /// What teaches a model, and shows it a conversation.
    pub(crate) fn formatter(&self, approach: &Approach) -> Result<Arc<dyn Formatter>, Failure> {
        let name = approach.only.as_deref().or(self.dialect.as_deref());
        let name = name.or(approach.best.as_deref()).unwrap_or("ptk");
        let mut formatters = self
            .formatters
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        let key = (name.to_owned(), approach.can.definitions);
        if let Some(known) = formatters.get(&key) {
            return Ok(Arc::clone(known));
        }
        let violation =
            |why: String| Failure::new(StatusCode::INTERNAL_SERVER_ERROR, "dialect", why);
        let dialect = self
            .dialects
            .get(name)
            .map_err(|error| violation(error.to_string()))?;
        let formatter = PtkFormatter::new(Arc::clone(dialect));
        let formatter = formatter.map_err(|error| violation(error.to_string()))?;
        let formatter = formatter.with_style(approach.can.definitions);
        let formatter: Arc<dyn Formatter> = Arc::new(formatter.with_guard(self.guard.clone()));
        formatters.insert(key, Arc::clone(&formatter));
        Ok(formatter)
    }

    pub(crate) fn capture<'c>(&self, case: impl FnOnce() -> Case<'c>) {
        if let Some(capture) = &self.capture {
            capture.keep(&case());
        }
    }
}

/// Why there is no gateway.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BuildError {
    /// There is nothing to serve.
    #[error("there is no model to serve")]
    NoModel,
    /// Replies cannot be kept.
    #[error("replies cannot be kept in {folder}: {error}")]
    Capture {
        /// Where they were to be kept.
        folder: String,
        /// Why not.
        error: io::Error,
    },
    /// Dialects do not fit each other.
    #[error(transparent)]
    Guard(#[from] GuardError),
}

/// Puts a [`Gateway`] together.
#[derive(Debug, Default)]
pub struct GatewayBuilder {
    routes: Routes,
    mode: Mode,
    dialect: Option<String>,
    dialects: Registry,
    memory: Option<Arc<dyn Memory>>,
    capture: Option<PathBuf>,
    access: AccessPolicy,
    limits: Limits,
    log: Option<Log>,
    hosted: Option<HostedTools>,
}

impl GatewayBuilder {
    /// Serves a model under a name. Where it fails, the others are asked, one
    /// after the other.
    #[must_use]
    pub fn model(
        mut self,
        name: impl Into<String>,
        models: impl IntoIterator<Item = Model>,
    ) -> Self {
        self.routes
            .add(name.into(), Route::new(models.into_iter().collect()));
        self
    }

    /// Whatever else is asked for is asked of these.
    #[must_use]
    pub fn any(mut self, models: impl IntoIterator<Item = Model>) -> Self {
        let route = Route::new(models.into_iter().collect());
        self.routes.set_other(Other::One(Arc::new(route)));
        self
    }

    /// Whatever else is asked for is asked of this server, which has models of
    /// these names.
    #[must_use]
    pub fn server(mut self, model: Model) -> Self {
        self.routes.set_other(Other::Server {
            model: Box::new(model),
            known: Mutex::default(),
        });
        self
    }

    /// How the models call tools, where nothing is said of one.
    #[must_use]
    pub const fn mode(mut self, mode: Mode) -> Self {
        self.mode = mode;
        self
    }

    /// The dialect that models are taught, and the only one that is read.
    #[must_use]
    pub fn dialect(mut self, name: Option<String>) -> Self {
        self.dialect = name.filter(|name| name != "auto");
        self
    }

    /// The dialects there are.
    #[must_use]
    pub fn dialects(mut self, dialects: Registry) -> Self {
        self.dialects = dialects;
        self
    }

    /// Where it is remembered what models can do.
    #[must_use]
    pub fn memory(mut self, memory: Arc<dyn Memory>) -> Self {
        self.memory = Some(memory);
        self
    }

    /// Keeps replies that had to be repaired, or could not be read, in a
    /// folder.
    #[must_use]
    pub fn capture(mut self, folder: Option<PathBuf>) -> Self {
        self.capture = folder;
        self
    }

    /// Only those with a key may ask.
    #[must_use]
    pub fn keys(mut self, keys: Option<Keys>) -> Self {
        self.access.keys = keys;
        self
    }

    /// Names of this server, beside those of this machine.
    #[must_use]
    pub fn hosts(mut self, names: impl IntoIterator<Item = String>) -> Self {
        self.access.hosts = names.into_iter().collect();
        self
    }

    /// Any name is one of this server: it is not only for this machine.
    #[must_use]
    pub fn any_host(mut self, is_so: bool) -> Self {
        self.access.any_host = is_so;
        self
    }

    /// Pages that may ask, by their origins.
    #[must_use]
    pub fn origins(mut self, origins: impl IntoIterator<Item = String>) -> Self {
        self.access.origins = origins.into_iter().collect();
        self
    }

    /// What requests may take.
    #[must_use]
    pub const fn limits(mut self, limits: Limits) -> Self {
        self.limits = limits;
        self
    }

    /// Tells of each request that has ended.
    #[must_use]
    pub fn log(mut self, log: Option<Log>) -> Self {
        self.log = log;
        self
    }

    /// Runs these tools for clients that have none.
    #[must_use]
    pub fn tools(mut self, tools: Option<HostedTools>) -> Self {
        self.hosted = tools;
        self
    }

    /// The gateway.
    ///
    /// # Errors
    ///
    /// If there is no model, or replies cannot be kept.
    pub fn build(self) -> Result<Gateway, BuildError> {
        if self.routes.is_empty() {
            return Err(BuildError::NoModel);
        }
        let capture = match self.capture {
            Some(folder) => {
                let shown = folder.display().to_string();
                let capture = Capture::open(folder);
                Some(capture.map_err(|error| BuildError::Capture {
                    folder: shown,
                    error,
                })?)
            }
            None => None,
        };
        Ok(Gateway {
            inner: Arc::new(Inner {
                routes: self.routes,
                mode: self.mode,
                dialect: self.dialect,
                guard: Guard::for_registry(&self.dialects)?,
                dialects: self.dialects,
                memory: self.memory.unwrap_or_else(|| Arc::new(InMemory::default())),
                formatters: Mutex::default(),
                offers: Offers::default(),
                capture,
                metrics: Metrics::default(),
                access: self.access,
                bodies: Bodies::new(&self.limits),
                workers: Arc::new(Workers::new(self.limits.compute)),
                running: Arc::new(Semaphore::new(
                    self.limits.concurrent.min(Semaphore::MAX_PERMITS),
                )),
                limits: self.limits,
                log: self.log,
                hosted: self.hosted,
            }),
        })
    }
}
