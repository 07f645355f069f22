//! Whether files may have changed: by calls, and by commands that still run.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

/// Counts what may have changed files in a session.
#[derive(Debug, Default)]
pub(crate) struct Activity {
    mutations: AtomicU64,
    background: AtomicUsize,
}

impl Activity {
    /// How often something may have been changed.
    pub(crate) fn mutations(&self) -> u64 {
        self.mutations.load(Ordering::Acquire)
    }

    /// Counts a possible change: what was found before may not hold.
    pub(crate) fn mutated(&self) {
        self.mutations.fetch_add(1, Ordering::AcqRel);
    }

    /// Whether no command runs in the background, which could change files at
    /// any moment.
    pub(crate) fn is_still(&self) -> bool {
        self.background.load(Ordering::Acquire) == 0
    }

    /// Counts a command that runs in the background, until the guard is
    /// dropped.
    pub(crate) fn in_background(self: &Arc<Self>) -> Background {
        self.background.fetch_add(1, Ordering::AcqRel);
        Background(Arc::clone(self))
    }
}

/// A command that runs in the background.
#[derive(Debug)]
pub(crate) struct Background(Arc<Activity>);

impl Background {
    /// Counts a possible change by the command.
    pub(crate) fn mutated(&self) {
        self.0.mutated();
    }
}

impl Drop for Background {
    fn drop(&mut self) {
        self.0.background.fetch_sub(1, Ordering::AcqRel);
    }
}
