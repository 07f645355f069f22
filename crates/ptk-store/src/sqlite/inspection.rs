//! Checks of a database: what is there before anything is written to it, and how
//! far damage goes.

use std::fs::{self, File};
use std::io::{self, Read as _};

use rusqlite::Connection;

use super::place::Place;
use super::schema::{self, APPLICATION};
use super::{failure, rows};
use crate::{SessionId, StoreError};

/// The first bytes of every SQLite database.
const MAGIC: &[u8] = b"SQLite format 3\0";
/// The length of the header.
const HEADER: usize = 100;
/// A database of at most so many bytes is checked whenever it is opened. With a
/// larger one, that would take noticeable time.
const CHECKED_ON_OPEN: u64 = 4 * 1024 * 1024;

/// How much of a database has to be undamaged to be opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Wanted {
    /// All of the database.
    Whole,
    /// Only the log: what is derived from it will be rebuilt.
    Log,
}

/// The result of checking a database.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Found {
    /// There is no file, or a database without content.
    Nothing,
    /// There is a database with this known schema.
    Schema(i64),
    /// There is a database of which only the log is undamaged.
    DamagedIndex,
}

impl Place {
    /// Checks what is there, and changes nothing.
    pub(super) fn look(&self, wanted: Wanted) -> Result<Found, StoreError> {
        let length = match fs::metadata(self.path()) {
            Ok(file) if file.is_file() => file.len(),
            Ok(_) => return Err(self.not_a_database()),
            Err(error) if error.kind() == io::ErrorKind::NotFound => 0,
            Err(error) => return Err(failure::of_system("look at", self.path(), error)),
        };
        if length == 0 {
            // SQLite would throw the -wal file away.
            return if self.has_changes() {
                Err(self.damaged("it is empty, but its -wal file is not"))
            } else {
                Ok(Found::Nothing)
            };
        }
        let page = self.look_at_header()?;
        let is_still = !self.has_changes();
        if is_still && !length.is_multiple_of(page) {
            return Err(self.damaged("it ends within a page"));
        }
        let found = self.look_inside(wanted, length, is_still);
        match found {
            // Another process may have begun to write while the file was read
            // as immutable.
            Err(
                StoreError::Damaged { .. }
                | StoreError::IndexDamaged { .. }
                | StoreError::Foreign { .. },
            ) if self.has_changes() => self.look_inside(wanted, length, false),
            found => found,
        }
    }

    /// Checks the header, and returns the page size.
    fn look_at_header(&self) -> Result<u64, StoreError> {
        let failed = |error| failure::of_system("read", self.path(), error);
        let file = File::open(self.path()).map_err(failed)?;
        let mut header = Vec::with_capacity(HEADER);
        file.take(HEADER as u64)
            .read_to_end(&mut header)
            .map_err(failed)?;
        if !header.starts_with(MAGIC) {
            return Err(self.not_a_database());
        }
        if header.len() < HEADER {
            return Err(self.damaged("it ends within its header"));
        }
        match header.get(16..18) {
            Some([0, 1]) => Ok(65536),
            Some([high, low]) if [*high, *low] != [0, 0] => {
                Ok(u64::from(u16::from_be_bytes([*high, *low])))
            }
            _ => Err(self.damaged("its header makes no sense")),
        }
    }

    /// Checks the content with SQLite.
    fn look_inside(
        &self,
        wanted: Wanted,
        length: u64,
        is_still: bool,
    ) -> Result<Found, StoreError> {
        let failed = |error| failure::of_database(self.path(), &error);
        let connection = self.open_to_read(is_still).map_err(failed)?;
        // In one transaction: another process may be creating the tables.
        let moment = connection.unchecked_transaction().map_err(failed)?;
        let number = |pragma: &str| connection.pragma_query_value(None, pragma, |row| row.get(0));
        let application: i64 = number("application_id").map_err(failed)?;
        let version: i64 = number("user_version").map_err(failed)?;
        let tables: i64 = connection
            .query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get(0))
            .map_err(failed)?;
        if tables == 0 && (application == 0 || application == APPLICATION) {
            return Ok(Found::Nothing);
        }
        if application != APPLICATION || version < 1 {
            return Err(StoreError::Foreign {
                place: self.shown(),
            });
        }
        drop(moment);
        schema::known(self, version)?;
        if length <= CHECKED_ON_OPEN {
            let said =
                connection.pragma_query_value(None, "quick_check", |row| row.get::<_, String>(0));
            let damage = match said {
                Ok(said) => (said != "ok").then(|| self.damaged(said.trim())),
                Err(error) => Some(failed(error)),
            };
            match damage.map(|damage| self.blame(&connection, damage)) {
                Some(StoreError::IndexDamaged { .. }) if wanted == Wanted::Log => {
                    return Ok(Found::DamagedIndex);
                }
                Some(damage) => return Err(damage),
                None => {}
            }
        }
        Ok(Found::Schema(version))
    }

    /// Turns damage into damage of the index if the log itself is whole.
    pub(super) fn blame(&self, connection: &Connection, error: StoreError) -> StoreError {
        match error {
            StoreError::Damaged { place, detail } if self.is_log_whole(connection) => {
                StoreError::IndexDamaged { place, detail }
            }
            error => error,
        }
    }

    fn is_log_whole(&self, connection: &Connection) -> bool {
        let mut tables = ["log", "holders"].into_iter();
        if !tables.all(|table| is_sound(connection, table)) {
            return false;
        }
        let mut last: Option<(SessionId, u64)> = None;
        let mut has_gap = false;
        let read = rows::each(self, connection, |entry| {
            let known = last.take().filter(|(session, _)| *session == entry.session);
            has_gap |= entry.seq != known.map_or(0, |(_, seq)| seq) + 1;
            last = Some((entry.session, entry.seq));
            Ok(())
        });
        read.is_ok() && !has_gap
    }
}

/// Whether SQLite finds nothing wrong with a table and its indexes.
pub(super) fn is_sound(connection: &Connection, table: &str) -> bool {
    let check = format!("PRAGMA integrity_check({table})");
    let said = connection.query_row(&check, [], |row| row.get::<_, String>(0));
    said.is_ok_and(|said| said == "ok")
}
