//! Copies entries into another log in batches.

use crate::{NewEntry, SessionId, Store, StoreError};

/// How many entries are read and written at once.
pub(crate) const PAGE: usize = 500;
/// A batch is written once it holds this many bytes.
const MAX_BATCH_BYTES: usize = 1024 * 1024;

/// A batch of entries that are not written yet.
pub(crate) struct Copying<'a> {
    store: &'a dyn Store,
    batch: Vec<NewEntry>,
    bytes: usize,
}

impl<'a> Copying<'a> {
    pub(crate) fn new(store: &'a dyn Store) -> Self {
        Self {
            store,
            batch: Vec::new(),
            bytes: 0,
        }
    }

    /// Adds the next entry of a session, of about this size, and writes the
    /// batch once it is large enough.
    pub(crate) async fn push(
        &mut self,
        session: &SessionId,
        entry: NewEntry,
        size: usize,
    ) -> Result<(), StoreError> {
        self.bytes += size;
        self.batch.push(entry);
        if self.batch.len() >= PAGE || self.bytes >= MAX_BATCH_BYTES {
            self.write(session).await?;
        }
        Ok(())
    }

    /// Writes the entries that are left.
    pub(crate) async fn write(&mut self, session: &SessionId) -> Result<(), StoreError> {
        let batch = self.take();
        if !batch.is_empty() {
            self.store.append(session, batch).await?;
        }
        Ok(())
    }

    /// Writes the entries that are left together with the last ones, and
    /// returns how many entries the session has now.
    pub(crate) async fn end_with(
        &mut self,
        session: &SessionId,
        last: impl IntoIterator<Item = NewEntry>,
    ) -> Result<u64, StoreError> {
        let mut batch = self.take();
        batch.extend(last);
        Ok(self.store.append(session, batch).await?.last)
    }

    fn take(&mut self) -> Vec<NewEntry> {
        self.bytes = 0;
        std::mem::take(&mut self.batch)
    }
}
