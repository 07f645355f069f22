//! How much work one look at a schema may take.

use std::cell::Cell;

/// How many schema visits one coercion may spend. Nested alternatives multiply;
/// past this, values are taken as they are.
const MAX_VISITS: u64 = 100_000;

/// How deep visits nest. References may lead in a circle.
const MAX_DEPTH: u32 = 200;

/// The rest of [`MAX_VISITS`] and [`MAX_DEPTH`].
#[derive(Debug)]
pub(crate) struct Budget {
    visits: Cell<u64>,
    depth: Cell<u32>,
}

impl Default for Budget {
    fn default() -> Self {
        Self::of(MAX_VISITS)
    }
}

impl Budget {
    /// Creates a budget of so many visits.
    pub(crate) const fn of(visits: u64) -> Self {
        Self {
            visits: Cell::new(visits),
            depth: Cell::new(MAX_DEPTH),
        }
    }

    /// Begins a visit; `false` if there is none left.
    pub(crate) fn enter(&self) -> bool {
        let depth = self.depth.get();
        if depth == 0 || !self.spend(1) {
            return false;
        }
        self.depth.set(depth - 1);
        true
    }

    /// Ends a visit that was begun.
    pub(crate) fn leave(&self) {
        self.depth.set(self.depth.get() + 1);
    }

    /// Pays for work that takes as long as so many visits; `false` if that is
    /// more than what is left.
    pub(crate) fn spend(&self, visits: u64) -> bool {
        let left = self.visits.get().checked_sub(visits);
        self.visits.set(left.unwrap_or(0));
        left.is_some()
    }
}
