//! State that tools keep for a session, by type.

use std::any::{Any, TypeId};
use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

/// The state of each tool in one session. It is dropped with the session.
#[derive(Default)]
pub(crate) struct SessionState(Mutex<HashMap<TypeId, Arc<dyn Any + Send + Sync>>>);

impl SessionState {
    /// The state of this type, created at its first use.
    pub(crate) fn get<T: Default + Send + Sync + 'static>(&self) -> Arc<T> {
        let mut states = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let state = states
            .entry(TypeId::of::<T>())
            .or_insert_with(|| Arc::new(T::default()));
        // Always of this type: it is its key.
        Arc::clone(state).downcast().unwrap_or_default()
    }
}

impl fmt::Debug for SessionState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SessionState").finish_non_exhaustive()
    }
}
