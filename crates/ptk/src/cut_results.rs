//! Results that are longer than the window of the model allows: a smaller model
//! is shown less of them than the one before.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use ptk_events::CallId;
use ptk_protocol::ToolResult;
use ptk_store::Call;
use ptk_tools::{Outputs, ResultLimit, cut_result};

/// Cuts results, and keeps them whole. What was cut once stays as it is, since
/// servers cache what a prompt begins with.
#[derive(Debug)]
pub(crate) struct CutResults {
    outputs: Arc<Outputs>,
    cut: Mutex<HashMap<(CallId, u64), ToolResult>>,
    /// Calls whose result was cut since the last [`CutResults::take_fresh`].
    fresh: Mutex<Vec<CallId>>,
}

impl CutResults {
    pub(crate) fn new(outputs: Arc<Outputs>) -> Self {
        Self {
            outputs,
            cut: Mutex::default(),
            fresh: Mutex::default(),
        }
    }

    /// The result of a call within this limit; `None` if nothing can be cut.
    pub(crate) fn cut(&self, call: &Call, limit: &ResultLimit) -> Option<ToolResult> {
        let key = (call.id.clone(), limit.tokens());
        let mut known = self.cut.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(result) = known.get(&key) {
            return Some(result.clone());
        }
        let mut result = call.result().into_owned();
        if !cut_result(&mut result, limit, &self.outputs) {
            return None;
        }
        known.insert(key, result.clone());
        self.fresh().push(call.id.clone());
        Some(result)
    }

    /// The calls whose result was cut since this was last asked.
    pub(crate) fn take_fresh(&self) -> Vec<CallId> {
        std::mem::take(&mut *self.fresh())
    }

    fn fresh(&self) -> MutexGuard<'_, Vec<CallId>> {
        self.fresh.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
