//! The one connection that writes, and its operations.

use std::collections::HashMap;
use std::sync::Arc;

use rusqlite::config::DbConfig;
use rusqlite::{Connection, OpenFlags, TransactionBehavior};
use tokio::sync::oneshot;

use super::inspection::{Found, is_sound};
use super::place::{PATIENCE, Place};
use super::schema;
use super::writers::Pen;
use super::{derived, failure, rows};
use crate::redact::Prepared;
use crate::store::already_there;
use crate::words::SPOKEN;
use crate::{Appended, Beginning, Overview, SessionId, StoreError};

/// How many overviews are kept in memory. Others are read again.
const MAX_KNOWN: usize = 1000;
/// About how many bytes the -wal file may hold before they are moved into the
/// database file.
const MAX_UNSETTLED: usize = 4 * 1024 * 1024;
/// About how many bytes a transaction adds to the -wal file beside its entries:
/// the pages that it changes a little.
const TRANSACTION: usize = 16 * 1024;
/// How many pages a deletion gives back to the system.
const MAX_FREED_PAGES: i64 = 100_000;

/// Entries to append to one session, and where to send the result.
#[derive(Debug)]
pub(super) struct Append {
    pub(super) session: SessionId,
    pub(super) entries: Vec<Prepared>,
    pub(super) done: oneshot::Sender<Result<Appended, StoreError>>,
}

/// Writes the log.
#[derive(Debug)]
pub(super) struct Ledger {
    place: Arc<Place>,
    connection: Connection,
    pen: Pen,
    /// The overviews of the sessions that this process writes.
    known: HashMap<SessionId, Overview>,
    /// The damage that was found; then nothing more is written.
    damage: Option<StoreError>,
    /// About how many bytes were written since the last checkpoint.
    unsettled: usize,
}

impl Ledger {
    pub(super) fn open(place: Arc<Place>, found: Found) -> Result<Self, StoreError> {
        let mut connection =
            connect(&place, found).map_err(|error| failure::of_database(place.path(), &error))?;
        if found == Found::DamagedIndex {
            derived::discard(&mut connection)
                .map_err(|error| failure::of_database(place.path(), &error))?;
        }
        schema::migrate(&place, &mut connection)?;
        let pen = Pen::take(&place)?;
        Ok(Self {
            place,
            connection,
            pen,
            known: HashMap::new(),
            damage: None,
            unsettled: 0,
        })
    }

    /// Appends everything in one transaction. If that fails, each append is
    /// tried by itself, so that none fails because of another one's entries.
    pub(super) fn append(&mut self, batch: Vec<Append>) {
        let is_one = batch.len() == 1;
        let result = self.guarded(|ledger| ledger.try_append(&batch));
        match result {
            Ok(outcomes) => {
                for (append, outcome) in batch.into_iter().zip(outcomes) {
                    // Dropped first, so that the caller can use the entries
                    // without a copy.
                    drop(append.entries);
                    // The caller may have stopped waiting.
                    let _ = append.done.send(outcome);
                }
            }
            Err(error) if is_one => {
                for append in batch {
                    let _ = append.done.send(Err(error.clone()));
                }
            }
            Err(_) => {
                for append in batch {
                    self.append(vec![append]);
                }
            }
        }
    }

    /// Runs `work` unless damage was found before, and remembers new damage.
    fn guarded<T>(
        &mut self,
        work: impl FnOnce(&mut Self) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        if let Some(damage) = &self.damage {
            return Err(damage.clone());
        }
        let result = work(self).map_err(|error| self.place.blame(&self.connection, error));
        if let Err(error) = &result {
            // The overviews may count entries that were not written.
            self.known.clear();
            let is_damage = matches!(
                error,
                StoreError::Damaged { .. } | StoreError::IndexDamaged { .. }
            );
            if is_damage {
                tracing::warn!(%error, "nothing more is written to the log");
                self.damage = Some(error.clone());
                // Closing would move the -wal file into the database file.
                let _ = self
                    .connection
                    .set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true);
            }
        }
        result
    }

    fn try_append(
        &mut self,
        batch: &[Append],
    ) -> Result<Vec<Result<Appended, StoreError>>, StoreError> {
        let place = &*self.place;
        let failed = |error| failure::of_database(place.path(), &error);
        let transaction = self
            .connection
            .transaction_with_behavior(TransactionBehavior::Immediate)
            .map_err(failed)?;
        // A newer program may have changed the tables since they were opened.
        schema::known(place, schema::version(&transaction).map_err(failed)?)?;
        let mut outcomes = Vec::with_capacity(batch.len());
        let mut touched: Vec<&SessionId> = Vec::new();
        for append in batch {
            let session = &append.session;
            if !self.known.contains_key(session) {
                match self.pen.hold(place, &transaction, session) {
                    Ok(()) => {}
                    Err(held @ StoreError::Held { .. }) => {
                        outcomes.push(Err(held));
                        continue;
                    }
                    Err(error) => return Err(error),
                }
                if self.known.len() >= MAX_KNOWN {
                    // The overviews of this batch are not written yet.
                    self.known.retain(|known, _| touched.contains(&known));
                }
                let overview = overview(place, &transaction, session)?;
                self.known.insert(session.clone(), overview);
            }
            let Some(overview) = self.known.get_mut(session) else {
                continue;
            };
            let first = overview.entries + 1;
            for entry in &append.entries {
                insert(&transaction, overview, entry).map_err(failed)?;
            }
            let last = overview.entries;
            outcomes.push(Ok(Appended { first, last }));
            if last >= first && !touched.contains(&session) {
                touched.push(session);
            }
        }
        for session in touched {
            if let Some(overview) = self.known.get(session) {
                derived::put(&transaction, overview).map_err(failed)?;
            }
        }
        transaction.commit().map_err(failed)?;
        let entries = batch.iter().flat_map(|append| &append.entries);
        let bytes: usize = entries.map(|entry| entry.body.json().len()).sum();
        self.unsettled += TRANSACTION + bytes;
        Ok(outcomes)
    }

    /// Begins a session with the first entries of another one and these behind
    /// them.
    pub(super) fn copy(
        &mut self,
        beginning: &Beginning,
        into: &SessionId,
        behind: &[Prepared],
    ) -> Result<Appended, StoreError> {
        self.guarded(|ledger| ledger.try_copy(beginning, into, behind))
    }

    fn try_copy(
        &mut self,
        beginning: &Beginning,
        into: &SessionId,
        behind: &[Prepared],
    ) -> Result<Appended, StoreError> {
        let place = &*self.place;
        let failed = |error| failure::of_database(place.path(), &error);
        let transaction = self
            .connection
            .transaction_with_behavior(TransactionBehavior::Immediate)
            .map_err(failed)?;
        schema::known(place, schema::version(&transaction).map_err(failed)?)?;
        self.pen.hold(place, &transaction, into)?;
        let mut copy = overview(place, &transaction, into)?;
        if copy.entries > 0 {
            return Err(already_there(&beginning.session, into));
        }
        let mut bytes = 0;
        rows::beginning(place, &transaction, beginning, |entry| {
            bytes += entry.size();
            insert(&transaction, &mut copy, &entry.into()).map_err(failed)
        })?;
        for entry in behind {
            insert(&transaction, &mut copy, entry).map_err(failed)?;
        }
        derived::put(&transaction, &copy).map_err(failed)?;
        transaction.commit().map_err(failed)?;
        self.unsettled += TRANSACTION + bytes;
        let last = copy.entries;
        self.known.insert(into.clone(), copy);
        Ok(Appended { first: 1, last })
    }

    /// Removes a session, also from free pages and the -wal file.
    pub(super) fn delete(&mut self, session: &SessionId) -> Result<bool, StoreError> {
        self.guarded(|ledger| ledger.try_delete(session))
    }

    fn try_delete(&mut self, session: &SessionId) -> Result<bool, StoreError> {
        let place = &*self.place;
        let failed = |error| failure::of_database(place.path(), &error);
        let transaction = self
            .connection
            .transaction_with_behavior(TransactionBehavior::Immediate)
            .map_err(failed)?;
        schema::known(place, schema::version(&transaction).map_err(failed)?)?;
        self.pen.hold(place, &transaction, session)?;
        derived::forget(&transaction, session).map_err(failed)?;
        let count = transaction
            .execute("DELETE FROM log WHERE session = ?1", [session.as_str()])
            .map_err(failed)?;
        self.pen
            .release(&transaction, Some(session))
            .map_err(failed)?;
        transaction.commit().map_err(failed)?;
        self.known.remove(session);
        if count > 0 {
            self.tidy();
        }
        Ok(count > 0)
    }

    /// Frees space, and removes what was deleted from the -wal file. While
    /// others read, that is left for later.
    fn tidy(&self) {
        let vacuum = format!("PRAGMA incremental_vacuum({MAX_FREED_PAGES})");
        for pragma in [vacuum.as_str(), "PRAGMA wal_checkpoint(TRUNCATE)"] {
            let done = self.connection.prepare(pragma).and_then(|mut statement| {
                let mut rows = statement.query([])?;
                while rows.next()?.is_some() {}
                Ok(())
            });
            if let Err(error) = done {
                tracing::debug!(%error, pragma, "room was not given back");
            }
        }
    }

    /// Runs a checkpoint once enough was written. It delays no append, as it
    /// runs after the entries were acknowledged.
    pub(super) fn settle(&mut self) {
        if self.unsettled < MAX_UNSETTLED || self.damage.is_some() {
            return;
        }
        self.unsettled = 0;
        let moved = self
            .connection
            .query_row("PRAGMA wal_checkpoint(PASSIVE)", [], |_| Ok(()));
        if let Err(error) = moved {
            tracing::debug!(%error, "the -wal file grows on");
        }
    }

    /// Rebuilds all derived data, which repairs damage to it, and to nothing
    /// else.
    pub(super) fn rebuild(&mut self) -> Result<(), StoreError> {
        if !matches!(self.damage, Some(StoreError::IndexDamaged { .. })) {
            match self.guarded(Self::try_rebuild) {
                Err(StoreError::IndexDamaged { .. }) => {}
                rebuilt => return rebuilt,
            }
        }
        self.damage = None;
        self.guarded(|ledger| {
            derived::discard(&mut ledger.connection)
                .map_err(|error| failure::of_database(ledger.place.path(), &error))?;
            ledger.try_rebuild()
        })?;
        self.connection
            .set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, false)
            .map_err(|error| failure::of_database(self.place.path(), &error))?;
        Ok(())
    }

    fn try_rebuild(&mut self) -> Result<(), StoreError> {
        let place = &*self.place;
        let failed = |error| failure::of_database(place.path(), &error);
        let transaction = self
            .connection
            .transaction_with_behavior(TransactionBehavior::Immediate)
            .map_err(failed)?;
        schema::known(place, schema::version(&transaction).map_err(failed)?)?;
        derived::rebuild(place, &transaction)?;
        // Where the old index was damaged, pages of the log may have gone with
        // it.
        if !is_sound(&transaction, "log") {
            return Err(place.damaged("the index took pages of the log"));
        }
        transaction.commit().map_err(failed)?;
        self.known.clear();
        self.unsettled = MAX_UNSETTLED;
        Ok(())
    }

    /// Releases a session.
    pub(super) fn release(&mut self, session: &SessionId) -> Result<(), StoreError> {
        self.known.remove(session);
        let place = Arc::clone(&self.place);
        self.pen
            .release(&self.connection, Some(session))
            .map_err(|error| failure::of_database(place.path(), &error))
    }
}

impl Drop for Ledger {
    fn drop(&mut self) {
        if self.damage.is_none() {
            // Otherwise other processes notice by the unlocked file.
            let _ = self.pen.release(&self.connection, None);
        }
    }
}

/// Inserts the next entry of a session.
fn insert(
    connection: &Connection,
    overview: &mut Overview,
    entry: &Prepared,
) -> rusqlite::Result<()> {
    let seq = overview.entries + 1;
    let position = rows::insert(connection, &overview.id, seq, entry)?;
    if SPOKEN.contains(&entry.body.kind()) {
        derived::index(connection, position)?;
    }
    overview.absorb(seq, crate::time::from_millis(entry.ts), &entry.kind);
    Ok(())
}

/// The overview of a session. If the stored one disagrees with the log, it is
/// computed from the log.
fn overview(
    place: &Place,
    connection: &Connection,
    session: &SessionId,
) -> Result<Overview, StoreError> {
    let last: i64 = connection
        .prepare_cached("SELECT coalesce(max(seq), 0) FROM log WHERE session = ?1")
        .and_then(|mut statement| statement.query_row([session.as_str()], |row| row.get(0)))
        .map_err(|error| failure::of_database(place.path(), &error))?;
    let written = derived::get(place, connection, session)?;
    match written {
        Some(overview) if i64::try_from(overview.entries) == Ok(last) => return Ok(overview),
        None if last == 0 => {}
        _ => tracing::warn!(%session, "the overview did not agree with the log"),
    }
    let mut overview = Overview::new(session.clone());
    let whole = Beginning {
        session: session.clone(),
        through: last.unsigned_abs(),
    };
    rows::beginning(place, connection, &whole, |entry| {
        overview.absorb(entry.seq, entry.ts, &entry.kind());
        Ok(())
    })?;
    Ok(overview)
}

fn connect(place: &Place, found: Found) -> rusqlite::Result<Connection> {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(place.path(), flags)?;
    connection.busy_timeout(PATIENCE)?;
    if found == Found::Nothing {
        // Works only before the first table is created.
        connection.pragma_update(None, "auto_vacuum", "INCREMENTAL")?;
    }
    let mode: String =
        connection.pragma_update_and_check(None, "journal_mode", "WAL", |row| row.get(0))?;
    if mode != "wal" {
        tracing::warn!(mode, "the log is written without a WAL, which is slower");
    }
    // What was committed survives the end of this process, which is promised. A
    // loss of power may take the last entries, but never the database.
    connection.pragma_update(None, "synchronous", "NORMAL")?;
    connection.pragma_update(None, "wal_autocheckpoint", 0)?;
    // Overwrites what is deleted.
    connection.pragma_update(None, "secure_delete", "ON")?;
    // Does not trust what a damaged or forged file says of itself.
    connection.pragma_update(None, "cell_size_check", "ON")?;
    connection.pragma_update(None, "trusted_schema", "OFF")?;
    Ok(connection)
}
