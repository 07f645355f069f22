//! The gateway and its builder.

use std::io;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use ptk_llm::{InMemory, Memory};
use ptk_model::{Mode, Model, TeachError, Teacher};
use ptk_protocol::dialects::Registry;
use tokio::sync::Semaphore;

use crate::access::{AccessPolicy, Keys};
use crate::bodies::Bodies;
use crate::capture::{Capture, Case};
use crate::hosted::HostedTools;
use crate::limits::Limits;
use crate::log::Log;
use crate::metrics::Metrics;
use crate::offer::Offers;
use crate::route::{Other, Route, Routes};
use crate::workers::Workers;

/// The gateway: models by name, behind the APIs that clients speak.
///
/// ```
/// use ptk_model::Model;
/// use ptk_llm::Script;
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
    /// Starts to build a gateway.
    #[must_use]
    pub fn builder() -> GatewayBuilder {
        GatewayBuilder::default()
    }
}

#[derive(Debug)]
pub(crate) struct Inner {
    pub(crate) routes: Routes,
    pub(crate) mode: Mode,
    /// What teaches models their tools.
    pub(crate) teacher: Arc<Teacher>,
    pub(crate) memory: Arc<dyn Memory>,
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
    pub(crate) fn capture<'c>(&self, case: impl FnOnce() -> Case<'c>) {
        if let Some(capture) = &self.capture {
            capture.keep(&case());
        }
    }
}

/// Why a gateway could not be built.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BuildError {
    /// There is no model to serve.
    #[error("no model to serve")]
    NoModel,
    /// Replies cannot be kept.
    #[error("replies cannot be kept in {folder}: {error}")]
    Capture {
        /// The folder where they were to be kept.
        folder: String,
        /// The error of the system.
        error: io::Error,
    },
    /// A model cannot be taught in a dialect.
    #[error(transparent)]
    Dialect(#[from] TeachError),
}

/// Builds a [`Gateway`].
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
    /// Serves a model under a name. If it fails, the others are asked, one
    /// after the other.
    #[must_use]
    pub fn model(
        mut self,
        name: impl Into<String>,
        models: impl IntoIterator<Item = Model>,
    ) -> Self {
        self.routes.add(name.into(), Route::new(models));
        self
    }

    /// Sets the models that serve all other names.
    #[must_use]
    pub fn any(mut self, models: impl IntoIterator<Item = Model>) -> Self {
        let route = Route::new(models);
        self.routes.set_other(Other::One(Arc::new(route)));
        self
    }

    /// Sets the server that serves all other names, which has models of these
    /// names.
    #[must_use]
    pub fn server(mut self, model: Model) -> Self {
        self.routes.set_other(Other::Server {
            model: Box::new(model),
            known: Mutex::default(),
        });
        self
    }

    /// Sets the default mode in which models call tools.
    #[must_use]
    pub const fn mode(mut self, mode: Mode) -> Self {
        self.mode = mode;
        self
    }

    /// Sets the dialect that models are taught, and the only one that is read.
    #[must_use]
    pub fn dialect(mut self, name: Option<String>) -> Self {
        self.dialect = name.filter(|name| name != "auto");
        self
    }

    /// Sets the available dialects.
    #[must_use]
    pub fn dialects(mut self, dialects: Registry) -> Self {
        self.dialects = dialects;
        self
    }

    /// Sets where findings about models are remembered.
    #[must_use]
    pub fn memory(mut self, memory: Arc<dyn Memory>) -> Self {
        self.memory = Some(memory);
        self
    }

    /// Keeps replies that had to be repaired, or could not be parsed, in a
    /// folder.
    #[must_use]
    pub fn capture(mut self, folder: Option<PathBuf>) -> Self {
        self.capture = folder;
        self
    }

    /// Sets the keys that clients need.
    #[must_use]
    pub fn keys(mut self, keys: Option<Keys>) -> Self {
        self.access.keys = keys;
        self
    }

    /// Sets the host names of this server, beside those of this machine.
    #[must_use]
    pub fn hosts(mut self, names: impl IntoIterator<Item = String>) -> Self {
        self.access.hosts = names.into_iter().collect();
        self
    }

    /// Accepts any host name: the server is not only for this machine.
    #[must_use]
    pub fn any_host(mut self, is_so: bool) -> Self {
        self.access.any_host = is_so;
        self
    }

    /// Sets the origins whose pages may send requests.
    #[must_use]
    pub fn origins(mut self, origins: impl IntoIterator<Item = String>) -> Self {
        self.access.origins = origins.into_iter().collect();
        self
    }

    /// Sets the limits of requests.
    #[must_use]
    pub const fn limits(mut self, limits: Limits) -> Self {
        self.limits = limits;
        self
    }

    /// Sets the log of requests that have ended.
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

    /// Builds the gateway.
    ///
    /// # Errors
    ///
    /// If there is no model, or replies cannot be kept.
    pub fn build(self) -> Result<Gateway, BuildError> {
        if self.routes.is_empty() {
            return Err(BuildError::NoModel);
        }
        let teacher = Teacher::new(self.dialects, self.dialect)?;
        teacher.default_formatter()?;
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
                teacher: Arc::new(teacher),
                memory: self.memory.unwrap_or_else(|| Arc::new(InMemory::default())),
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
