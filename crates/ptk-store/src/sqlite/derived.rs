//! The data derived from the log: the overviews of sessions, and the full-text
//! index. Both can be rebuilt from the log at any time.

use rusqlite::{Connection, OptionalExtension as _, TransactionBehavior, params};

use super::place::Place;
use super::{failure, rows};
use crate::words::SPOKEN;
use crate::{Overview, SessionId, StoreError, time};

/// Removing one message costs about as much as rewriting so many.
const SHARE: i64 = 25;

const DROP: &str = "
DROP TABLE IF EXISTS spoken_words;
DROP VIEW IF EXISTS spoken;
DROP TABLE IF EXISTS sessions;
";

/// The tables and the full-text index, which takes its texts from the view.
const CREATE: &str = "
CREATE TABLE sessions (
    session TEXT PRIMARY KEY,
    updated INTEGER NOT NULL,
    workspace TEXT,
    overview TEXT NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX sessions_by_time ON sessions (updated, session);
CREATE INDEX sessions_by_workspace ON sessions (workspace, updated, session);

CREATE VIEW spoken AS
SELECT position, session,
    CASE WHEN json_valid(body) THEN
        coalesce(json_extract(body, '$.text'), json_extract(body, '$.title'))
    END AS text
FROM log WHERE kind IN (SPOKEN);

CREATE VIRTUAL TABLE spoken_words USING fts5(
    text, content='spoken', content_rowid='position',
    tokenize='unicode61 remove_diacritics 2'
);
INSERT INTO spoken_words (spoken_words, rank) VALUES ('secure-delete', 1);
";

/// Whether all derived tables exist.
pub(super) fn are_there(connection: &Connection) -> rusqlite::Result<bool> {
    let count: i64 = connection.query_row(
        "SELECT count(*) FROM sqlite_schema WHERE name IN
         ('sessions', 'sessions_by_time', 'sessions_by_workspace', 'spoken', 'spoken_words')",
        [],
        |row| row.get(0),
    )?;
    Ok(count == 5)
}

/// Removes all derived data without reading it: it may be damaged, and then it
/// is unknown which pages belong to it. Their space is freed when everything
/// else is copied.
pub(super) fn discard(connection: &mut Connection) -> rusqlite::Result<()> {
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    let schema: i64 = transaction.pragma_query_value(None, "schema_version", |row| row.get(0))?;
    transaction.pragma_update(None, "writable_schema", true)?;
    transaction.execute(
        "DELETE FROM sqlite_schema WHERE tbl_name = 'sessions'
         OR tbl_name = 'spoken' OR tbl_name GLOB 'spoken_words*'",
        [],
    )?;
    transaction.pragma_update(None, "schema_version", schema + 1)?;
    transaction.commit()?;
    connection.pragma_update(None, "writable_schema", "RESET")?;
    connection.execute_batch("VACUUM")
}

/// Rebuilds all derived data. The caller holds a transaction.
pub(super) fn rebuild(place: &Place, connection: &Connection) -> Result<(), StoreError> {
    let failed = |error| failure::of_database(place.path(), &error);
    let kinds: Vec<String> = SPOKEN.iter().map(|kind| format!("'{kind}'")).collect();
    let create = CREATE.replace("SPOKEN", &kinds.join(", "));
    connection.execute_batch(DROP).map_err(failed)?;
    connection.execute_batch(&create).map_err(failed)?;
    let mut overview: Option<Overview> = None;
    let keep =
        |overview: Option<Overview>| overview.map_or(Ok(()), |overview| put(connection, &overview));
    rows::each(place, connection, |entry| {
        if overview
            .as_ref()
            .is_none_or(|known| known.id != entry.session)
        {
            keep(overview.take()).map_err(failed)?;
        }
        let known = overview.get_or_insert_with(|| Overview::new(entry.session.clone()));
        known.absorb(entry.seq, entry.ts, &entry.kind());
        Ok(())
    })?;
    keep(overview).map_err(failed)?;
    connection
        .execute_batch("INSERT INTO spoken_words (spoken_words) VALUES ('rebuild')")
        .map_err(failed)
}

/// Stores the overview of a session.
pub(super) fn put(connection: &Connection, overview: &Overview) -> rusqlite::Result<()> {
    let json = serde_json::to_string(overview)
        .map_err(|error| rusqlite::Error::ToSqlConversionFailure(Box::new(error)))?;
    connection
        .prepare_cached(
            "INSERT INTO sessions (session, updated, workspace, overview) VALUES (?1, ?2, ?3, ?4)
             ON CONFLICT (session) DO UPDATE SET
             updated = excluded.updated, workspace = excluded.workspace, overview = excluded.overview",
        )?
        .execute(params![
            overview.id.as_str(),
            time::to_millis(overview.updated),
            overview.info.workspace,
            json
        ])?;
    Ok(())
}

/// Reads the stored overview of a session.
pub(super) fn get(
    place: &Place,
    connection: &Connection,
    session: &SessionId,
) -> Result<Option<Overview>, StoreError> {
    let failed = |error| failure::of_database(place.path(), &error);
    let json: Option<String> = connection
        .prepare_cached("SELECT overview FROM sessions WHERE session = ?1")
        .map_err(failed)?
        .query_row([session.as_str()], |row| row.get(0))
        .optional()
        .map_err(failed)?;
    json.map(|json| read(place, &json)).transpose()
}

/// Parses an overview from its JSON.
pub(super) fn read(place: &Place, json: &str) -> Result<Overview, StoreError> {
    serde_json::from_str(json).map_err(|error| StoreError::IndexDamaged {
        place: place.shown(),
        detail: format!("the overview of a session: {error}"),
    })
}

/// Adds the text of an entry to the index.
pub(super) fn index(connection: &Connection, position: i64) -> rusqlite::Result<()> {
    connection
        .prepare_cached(
            "INSERT INTO spoken_words (rowid, text)
             SELECT position, text FROM spoken WHERE position = ?1",
        )?
        .execute([position])?;
    Ok(())
}

/// Removes a session from all derived data, before its entries are removed.
pub(super) fn forget(connection: &Connection, session: &SessionId) -> rusqlite::Result<()> {
    // Words are removed from the index one by one, or all at once by rewriting
    // it, whichever is less work.
    let spoken: i64 = connection.query_row(
        "SELECT count(*) FROM spoken WHERE session = ?1",
        [session.as_str()],
        |row| row.get(0),
    )?;
    let all: i64 = connection.query_row("SELECT max(position) FROM log", [], |row| {
        Ok(row.get::<_, Option<i64>>(0)?.unwrap_or_default())
    })?;
    let is_much = spoken.saturating_mul(SHARE) > all;
    if is_much {
        command(connection, "'secure-delete', 0")?;
    }
    connection.execute(
        "INSERT INTO spoken_words (spoken_words, rowid, text)
         SELECT 'delete', position, text FROM spoken WHERE session = ?1",
        [session.as_str()],
    )?;
    if is_much {
        command(connection, "'optimize', NULL")?;
        command(connection, "'secure-delete', 1")?;
    }
    connection.execute(
        "DELETE FROM sessions WHERE session = ?1",
        [session.as_str()],
    )?;
    Ok(())
}

/// Sends a command to the full-text index.
fn command(connection: &Connection, command: &str) -> rusqlite::Result<()> {
    connection.execute_batch(&format!(
        "INSERT INTO spoken_words (spoken_words, rank) VALUES ({command})"
    ))
}
