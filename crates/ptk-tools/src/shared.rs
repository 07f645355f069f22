//! What all calls of one manager share.

use std::sync::{Arc, PoisonError, RwLock};

use ptk_events::Bus;
use tokio::sync::Semaphore;

use crate::in_flight::InFlight;
use crate::repeats::Repeats;
use crate::services::Services;
use crate::usage::Statistics;
use crate::{Approver, Limits, Middleware, Permissions, Registry};

/// The parts of a [`ToolManager`](crate::ToolManager), which its clones and its
/// calls have in common.
pub(crate) struct Shared {
    pub(crate) registry: RwLock<Arc<Registry>>,
    pub(crate) around_call: Vec<Arc<dyn Middleware>>,
    pub(crate) around_run: Vec<Arc<dyn Middleware>>,
    pub(crate) approver: Arc<dyn Approver>,
    pub(crate) permissions: Permissions,
    pub(crate) bus: Bus,
    pub(crate) services: Arc<Services>,
    pub(crate) repeats: Repeats,
    pub(crate) in_flight: InFlight,
    pub(crate) statistics: Statistics,
    pub(crate) limits: Limits,
    pub(crate) running: Semaphore,
}

impl Shared {
    /// The registered tools as they are now.
    pub(crate) fn registry(&self) -> Arc<Registry> {
        let registry = self.registry.read();
        Arc::clone(&registry.unwrap_or_else(PoisonError::into_inner))
    }
}
