//! Errors of a store, and what to do about them.

use std::io;
use std::sync::Arc;
use std::time::SystemTime;

use serde::{Deserialize, Serialize};

use crate::{MAX_ENTRY, MAX_TITLE, SessionId, time};

/// An error of a store. Every message says what to do next.
#[derive(Debug, Clone, thiserror::Error)]
#[non_exhaustive]
pub enum StoreError {
    /// The file does not exist.
    #[error("No session database at {place}; the first session creates it")]
    Missing {
        /// The path where the file should be.
        place: String,
    },
    /// The file is not a database.
    #[error(
        "{place} is not a database, so nothing was written to it; move it away, or name another file"
    )]
    NotADatabase {
        /// The file.
        place: String,
    },
    /// The file is the database of another program.
    #[error(
        "{place} is a database, but not one of ptk's, so nothing was written to it; name another file"
    )]
    Foreign {
        /// The file.
        place: String,
    },
    /// The database is damaged: what was read cannot have been written so.
    #[error(
        "The session database {place} is damaged ({detail}), and was left as it is; restore it from a backup, or move it away together with its -wal file to begin anew"
    )]
    Damaged {
        /// The file.
        place: String,
        /// The damage that was found.
        detail: String,
    },
    /// Only the index, which is derived from the log, is damaged.
    #[error(
        "The index of the session database {place} is damaged ({detail}), but the log is whole, so nothing is lost; have the index made anew from it with `SqliteStore::open_rebuilding`"
    )]
    IndexDamaged {
        /// The file.
        place: String,
        /// The damage that was found.
        detail: String,
    },
    /// The database was made by a newer version of the program.
    #[error(
        "The session database {place} was made by a newer ptk (schema {found}; this one knows 1 to {newest}), and was left as it is; install that ptk, or name another file"
    )]
    NewerSchema {
        /// The file.
        place: String,
        /// The schema of the database.
        found: i64,
        /// The newest schema that is known here.
        newest: i64,
    },
    /// The database was made by an older version of the program, and cannot be
    /// upgraded while it is open read-only.
    #[error(
        "The session database {place} was made by an older ptk (schema {found}); start a session once, so that it is brought up to date"
    )]
    OlderSchema {
        /// The file.
        place: String,
        /// The schema of the database.
        found: i64,
    },
    /// The file or folder cannot be written.
    #[error("Cannot write to {place}: {detail}; give yourself the right to, or name another file")]
    ReadOnly {
        /// The file or folder.
        place: String,
        /// The message of the system.
        detail: String,
    },
    /// The store was opened read-only.
    #[error("{place} was opened only to be read; open it for writing to change it")]
    OpenedReadOnly {
        /// The file.
        place: String,
    },
    /// The disk is full.
    #[error("The disk is full: {place} could not be written, and is as it was before; make room")]
    DiskFull {
        /// The file.
        place: String,
    },
    /// Another process writes this session.
    #[error(
        "Session {session} is being written by process {} on {} since {}; end that one, or begin another session",
        .by.pid, .by.host, time::shown(.by.since)
    )]
    Held {
        /// The session.
        session: SessionId,
        /// The process that writes the session.
        by: Writer,
    },
    /// Another process has been writing for too long.
    #[error("Another process keeps {place} locked for too long; try again once it is done")]
    Busy {
        /// The file.
        place: String,
    },
    /// An entry is too large.
    #[error(
        "An entry of {size} bytes is too large for the log (at most {MAX_ENTRY} bytes); cut what it holds"
    )]
    TooLarge {
        /// The size of the entry, in bytes.
        size: usize,
    },
    /// An entry cannot be written as JSON.
    #[error("An entry cannot be written as JSON: {reason}; leave out what it cannot hold")]
    Unwritable {
        /// The reason.
        reason: String,
    },
    /// A title is too long.
    #[error("A title of {length} characters is too long (at most {MAX_TITLE}); shorten it")]
    LongTitle {
        /// How many characters it has.
        length: usize,
    },
    /// A session cannot be forked.
    #[error("Session {session} cannot be forked: {reason}")]
    NotForked {
        /// The session.
        session: SessionId,
        /// The reason, and what to do.
        reason: String,
    },
    /// A line cannot be imported.
    #[error("Line {line} cannot be imported: {reason}; nothing of the import was kept")]
    Import {
        /// The line, counted from one.
        line: u64,
        /// The reason.
        reason: String,
    },
    /// The store was closed, or its thread failed.
    #[error("The session database {place} is closed; open it again")]
    Closed {
        /// The file.
        place: String,
    },
    /// The operating system reported an error.
    #[error("Cannot {attempt} {place}: {source}; see to that, then try again")]
    Io {
        /// The operation that failed.
        attempt: &'static str,
        /// The file or folder.
        place: String,
        /// The error of the system.
        source: Arc<io::Error>,
    },
    /// The database reported an error.
    #[error("The session database {place} refused: {detail}; if that stays so, report it")]
    Database {
        /// The file.
        place: String,
        /// The message of the database.
        detail: String,
    },
}

/// The process that writes a session.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Writer {
    /// Its process id.
    pub pid: u32,
    /// The machine it runs on.
    pub host: String,
    /// Since when it has the database open.
    #[serde(with = "time")]
    pub since: SystemTime,
}
