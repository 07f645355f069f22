//! Entries on their way into another log, some at a time.

use crate::{NewEntry, SessionId, Store, StoreError};

/// Entries that are read and written at once.
pub(crate) const PAGE: usize = 500;
/// No more entries are written at once after so many bytes.
const MAX_BATCH_BYTES: usize = 1024 * 1024;

/// Entries that are not written yet.
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

    /// Takes the next entry of a session, of about this size, and writes what
    /// has come together once it is much.
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

    /// Writes what is left.
    pub(crate) async fn write(&mut self, session: &SessionId) -> Result<(), StoreError> {
        let batch = self.take();
        if !batch.is_empty() {
            self.store.append(session, batch).await?;
        }
        Ok(())
    }

    /// Writes what is left together with the last entries, and says how many
    /// there are now.
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
