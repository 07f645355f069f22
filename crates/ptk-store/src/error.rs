//! What can go wrong with a store, and what to do about it.

use std::io;
use std::sync::Arc;
use std::time::SystemTime;

use serde::{Deserialize, Serialize};

use crate::{SessionId, redact, time};

/// Why something was not written, or not read. Every message says what to do
/// next.
#[derive(Debug, Clone, thiserror::Error)]
#[non_exhaustive]
pub enum StoreError {
    /// There is no such file.
    #[error("There is no session database at {place}; it is made by the first session")]
    Missing {
        /// Where it should be.
        place: String,
    },
    /// The file is something else.
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
    /// What was read cannot have been written so.
    #[error(
        "The session database {place} is damaged ({detail}), and was left as it is; restore it from a backup, or move it away together with its -wal file to begin anew"
    )]
    Damaged {
        /// The file.
        place: String,
        /// What was found.
        detail: String,
    },
    /// Only what follows from the log cannot have been written so.
    #[error(
        "The index of the session database {place} is damaged ({detail}), but the log is whole, so nothing is lost; have the index made anew from it with `SqliteStore::open_rebuilding`"
    )]
    IndexDamaged {
        /// The file.
        place: String,
        /// What was found.
        detail: String,
    },
    /// A newer program made it.
    #[error(
        "The session database {place} was made by a newer ptk (schema {found}; this one knows 1 to {newest}), and was left as it is; install that ptk, or name another file"
    )]
    NewerSchema {
        /// The file.
        place: String,
        /// The schema it has.
        found: i64,
        /// The newest schema that is known here.
        newest: i64,
    },
    /// An older program made it, and it cannot be brought up to date by
    /// whoever only reads.
    #[error(
        "The session database {place} was made by an older ptk (schema {found}); start a session once, so that it is brought up to date"
    )]
    OlderSchema {
        /// The file.
        place: String,
        /// The schema it has.
        found: i64,
    },
    /// Nobody may write there.
    #[error("Cannot write to {place}: {detail}; give yourself the right to, or name another file")]
    ReadOnly {
        /// The file or folder.
        place: String,
        /// What the system said.
        detail: String,
    },
    /// It was opened to be read.
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
        /// Who writes it.
        by: Writer,
    },
    /// Another process has been writing for too long.
    #[error("Another process keeps {place} locked for too long; try again once it is done")]
    Busy {
        /// The file.
        place: String,
    },
    /// An entry that is too large.
    #[error(
        "An entry of {size} bytes is too large for the log (at most {} bytes); cut what it holds",
        redact::MAX_ENTRY
    )]
    TooLarge {
        /// Its size.
        size: usize,
    },
    /// An entry that cannot be written as JSON.
    #[error("An entry cannot be written as JSON: {reason}; leave out what it cannot hold")]
    Unwritable {
        /// Why.
        reason: String,
    },
    /// A title that is too long.
    #[error(
        "A title of {length} characters is too long (at most {}); shorten it",
        crate::MAX_TITLE
    )]
    LongTitle {
        /// How many characters it has.
        length: usize,
    },
    /// A session that cannot be forked.
    #[error("Session {session} cannot be forked: {reason}")]
    NotForked {
        /// The session.
        session: SessionId,
        /// Why, and what to do.
        reason: String,
    },
    /// A line that cannot be imported.
    #[error("Line {line} cannot be imported: {reason}; nothing of the import was kept")]
    Import {
        /// The line, counted from one.
        line: u64,
        /// Why.
        reason: String,
    },
    /// The store was closed, or its thread failed.
    #[error("The session database {place} is closed; open it again")]
    Closed {
        /// The file.
        place: String,
    },
    /// The system refused.
    #[error("Cannot {attempt} {place}: {source}; see to that, then try again")]
    Io {
        /// What was attempted.
        attempt: &'static str,
        /// The file or folder.
        place: String,
        /// What the system said.
        source: Arc<io::Error>,
    },
    /// The database refused.
    #[error("The session database {place} refused: {detail}; if that stays so, report it")]
    Database {
        /// The file.
        place: String,
        /// What it said.
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
