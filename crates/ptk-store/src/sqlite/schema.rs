//! The tables, and how those of older databases become those of today.
//!
//! Schema 1 is the log and who writes it. Schema 2 adds what is derived from
//! the log: the overviews, and the full-text index. Schema 3 adds titles to the
//! index. A further schema is a further step; derived data need not be migrated
//! there, only rebuilt.

use rusqlite::{Connection, TransactionBehavior};

use super::place::Place;
use super::{derived, failure};
use crate::StoreError;

/// The application id of PTK's session databases.
pub(super) const APPLICATION: i64 = 0x5054_4b53;
/// The schema that is written.
pub(super) const NEWEST: i64 = 3;

/// The log. Rows are never changed, only appended, and removed with their
/// session; `digest` tells whether a row is as it was written.
const LOG: &str = "
CREATE TABLE log (
    position INTEGER PRIMARY KEY,
    session TEXT NOT NULL,
    seq INTEGER NOT NULL,
    ts INTEGER NOT NULL,
    kind TEXT NOT NULL,
    version INTEGER NOT NULL,
    request_id TEXT,
    parent_id TEXT,
    call_id TEXT,
    body TEXT NOT NULL,
    digest INTEGER NOT NULL,
    UNIQUE (session, seq)
) STRICT;

CREATE TRIGGER log_is_only_appended_to BEFORE UPDATE ON log
BEGIN SELECT RAISE(ABORT, 'the log is only appended to'); END;

CREATE TABLE holders (
    session TEXT PRIMARY KEY,
    writer TEXT NOT NULL
) STRICT, WITHOUT ROWID;
";

/// Fails if this program does not know the schema.
pub(super) fn known(place: &Place, version: i64) -> Result<(), StoreError> {
    if version > NEWEST {
        return Err(StoreError::NewerSchema {
            place: place.shown(),
            found: version,
            newest: NEWEST,
        });
    }
    Ok(())
}

/// The schema of a database.
pub(super) fn version(connection: &Connection) -> rusqlite::Result<i64> {
    connection
        .prepare_cached("PRAGMA user_version")?
        .query_row([], |row| row.get(0))
}

/// Brings the tables up to date, all at once or not at all.
pub(super) fn migrate(place: &Place, connection: &mut Connection) -> Result<(), StoreError> {
    let failed = |error| failure::of_database(place.path(), &error);
    if version(connection).map_err(failed)? == NEWEST
        && derived::are_there(connection).map_err(failed)?
    {
        return Ok(());
    }
    let transaction = connection
        .transaction_with_behavior(TransactionBehavior::Immediate)
        .map_err(failed)?;
    // Another process may have been faster.
    let from = version(&transaction).map_err(failed)?;
    known(place, from)?;
    if from < 1 {
        transaction.execute_batch(LOG).map_err(failed)?;
    }
    if from < NEWEST || !derived::are_there(&transaction).map_err(failed)? {
        derived::rebuild(place, &transaction)?;
    }
    for (pragma, value) in [("application_id", APPLICATION), ("user_version", NEWEST)] {
        transaction
            .pragma_update(None, pragma, value)
            .map_err(failed)?;
    }
    transaction.commit().map_err(failed)
}
