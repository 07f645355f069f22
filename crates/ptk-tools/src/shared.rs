//! What all calls of one manager share.

use std::sync::{Arc, PoisonError, RwLock};

use ptk_events::Bus;
use tokio::sync::Semaphore;

use crate::services::Services;
use crate::usage::Statistics;
use crate::{Approver, Conversation, Limits, Middleware, Permissions, Registry};

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
    /// The conversation of calls that name none.
    pub(crate) conversation: Conversation,
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
