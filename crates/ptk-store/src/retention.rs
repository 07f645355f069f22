//! How long sessions are kept.

use std::time::{Duration, SystemTime};

use crate::{Listing, Overview, SessionId, Store, StoreError};

/// How many sessions are read at once.
const PAGE: usize = 200;

/// How long sessions are kept, counted from their last entry.
///
/// ```
/// use std::time::{Duration, SystemTime};
/// use ptk_store::{MemoryStore, Retention};
///
/// # tokio::runtime::Runtime::new()?.block_on(async {
/// let month = Duration::from_secs(30 * 24 * 60 * 60);
/// let retention = Retention::forever().no_older_than(month).no_more_than(1000);
/// let removed = retention.apply(&MemoryStore::new(), SystemTime::now()).await?;
/// assert!(removed.deleted.is_empty());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// # })?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Retention {
    max_age: Option<Duration>,
    max_sessions: Option<u64>,
    workspace: Option<String>,
}

/// The result of applying a retention.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Removed {
    /// The sessions that were deleted.
    pub deleted: Vec<SessionId>,
    /// The sessions that were not deleted, because another process writes them.
    pub in_use: Vec<SessionId>,
}

impl Retention {
    /// Keeps everything.
    #[must_use]
    pub fn forever() -> Self {
        Self::default()
    }

    /// Keeps no session whose last entry is older than this.
    #[must_use]
    pub fn no_older_than(mut self, age: Duration) -> Self {
        self.max_age = Some(age);
        self
    }

    /// Keeps only so many sessions, those that were last written to.
    #[must_use]
    pub fn no_more_than(mut self, sessions: u64) -> Self {
        self.max_sessions = Some(sessions);
        self
    }

    /// Keeps everything in other workspaces, and counts it for nothing.
    #[must_use]
    pub fn in_workspace(mut self, folder: impl Into<String>) -> Self {
        self.workspace = Some(folder.into());
        self
    }

    /// Returns the sessions that are not to be kept, those that were last
    /// written to first.
    ///
    /// # Errors
    ///
    /// If the store cannot be read.
    pub async fn chosen(
        &self,
        store: &dyn Store,
        now: SystemTime,
    ) -> Result<Vec<Overview>, StoreError> {
        let mut chosen = Vec::new();
        let mut seen = 0;
        let first = Listing {
            workspace: self.workspace.clone(),
            ..Listing::new(PAGE)
        };
        let mut listing = first.clone();
        loop {
            let page = store.sessions(listing).await?;
            let Some(last) = page.last() else {
                return Ok(chosen);
            };
            listing = first.clone().after(last);
            for session in page {
                seen += 1;
                let age = now.duration_since(session.updated).unwrap_or_default();
                let is_too_old = self.max_age.is_some_and(|most| age > most);
                if is_too_old || self.max_sessions.is_some_and(|most| seen > most) {
                    chosen.push(session);
                }
            }
        }
    }

    /// Deletes the sessions that are not to be kept.
    ///
    /// # Errors
    ///
    /// If the store cannot be read or written.
    pub async fn apply(&self, store: &dyn Store, now: SystemTime) -> Result<Removed, StoreError> {
        let mut removed = Removed::default();
        for session in self.chosen(store, now).await? {
            match store.delete(&session.id).await {
                Ok(_) => removed.deleted.push(session.id),
                Err(StoreError::Held { .. }) => removed.in_use.push(session.id),
                Err(error) => return Err(error),
            }
        }
        Ok(removed)
    }
}
