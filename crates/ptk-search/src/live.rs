//! An index that is updated as the files of its workspace change.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use crate::search::SearchError;
use crate::watch::Watcher;
use crate::{Hit, Index, IndexError, Progress, Query, Searcher, State};

/// How long to wait for further changes before they are reported.
const QUIET: Duration = Duration::from_millis(100);

/// An index that follows its workspace: it is updated before a search if files
/// have changed since the last one.
#[derive(Debug)]
pub struct Live {
    index: Index,
    /// Whether files may have changed.
    is_stale: Arc<AtomicBool>,
    open: Mutex<Open>,
}

#[derive(Debug, Default)]
struct Open {
    searcher: Option<Arc<Searcher>>,
    /// `None` if changes cannot be watched: then every search checks for them.
    watcher: Option<Watcher>,
    was_tried: bool,
}

/// Why a search failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LiveError {
    /// The index cannot be updated.
    #[error(transparent)]
    Index(#[from] IndexError),
    /// The index cannot be searched.
    #[error(transparent)]
    Search(#[from] SearchError),
    /// The search was cancelled before there was an index.
    #[error("It was stopped before the index was made")]
    Cancelled,
}

impl Live {
    /// Creates an index that is updated from the first search on.
    #[must_use]
    pub fn new(index: Index) -> Self {
        Self {
            index,
            is_stale: Arc::new(AtomicBool::new(true)),
            open: Mutex::default(),
        }
    }

    /// Searches the files as they are now. Calls `progress` while indexing, and
    /// stops soon after `cancel` is set.
    ///
    /// # Errors
    ///
    /// If the index cannot be built or searched. While another process updates
    /// it, it is searched as it is.
    pub fn search(
        &self,
        query: &Query,
        cancel: &AtomicBool,
        progress: &mut dyn FnMut(Progress),
    ) -> Result<Vec<Hit>, LiveError> {
        let hits = self.searcher(cancel, progress)?.search(query)?;
        if hits.iter().all(|hit| hit.state == State::Current) {
            return Ok(hits);
        }
        // Changes that were not reported yet, or made while another process was
        // updating the index.
        self.is_stale.store(true, Ordering::Release);
        Ok(self.searcher(cancel, progress)?.search(query)?)
    }

    /// The current index, opened for searching.
    ///
    /// # Errors
    ///
    /// As for [`search`](Self::search).
    pub fn searcher(
        &self,
        cancel: &AtomicBool,
        progress: &mut dyn FnMut(Progress),
    ) -> Result<Arc<Searcher>, LiveError> {
        let mut open = self.open();
        if !open.was_tried {
            open.was_tried = true;
            // Before the first update, so that no change is missed.
            open.watcher = self.watch();
        }
        let is_stale = self.is_stale.swap(false, Ordering::AcqRel);
        if is_stale || open.watcher.is_none() {
            self.update(cancel, progress).inspect_err(|_| {
                self.is_stale.store(true, Ordering::Release);
            })?;
        }
        if let Some(searcher) = &open.searcher {
            return Ok(Arc::clone(searcher));
        }
        let searcher = Arc::new(self.index.searcher()?);
        open.searcher = Some(Arc::clone(&searcher));
        Ok(searcher)
    }

    fn update(
        &self,
        cancel: &AtomicBool,
        progress: &mut dyn FnMut(Progress),
    ) -> Result<(), LiveError> {
        match self.index.update(cancel, progress) {
            Ok(report) if !report.is_cancelled => Ok(()),
            Ok(_) => Err(LiveError::Cancelled),
            Err(IndexError::Busy { .. }) if self.index.exists() => {
                self.is_stale.store(true, Ordering::Release);
                Ok(())
            }
            Err(error) => Err(error.into()),
        }
    }

    fn watch(&self) -> Option<Watcher> {
        let is_stale = Arc::clone(&self.is_stale);
        let watcher = Watcher::new(
            self.index.workspace(),
            self.index.folder(),
            QUIET,
            move |_| is_stale.store(true, Ordering::Release),
        );
        watcher
            .inspect_err(|error| tracing::debug!(%error, "changes are looked for at each search"))
            .ok()
    }

    fn open(&self) -> MutexGuard<'_, Open> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
