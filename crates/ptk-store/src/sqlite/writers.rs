//! Locks that say which process writes which session.
//!
//! Every process that may write holds a file in a folder beside the database
//! locked for as long as it lives, whatever ends it. The table `holders` says
//! which session belongs to which of these files. A session whose file is not
//! locked, or not there, is free.

use std::fs::{self, File, TryLockError};
use std::io::{Read as _, Write as _};
use std::path::PathBuf;

use rusqlite::{Connection, OptionalExtension as _};
use uuid::Uuid;

use super::place::{self, Place};
use super::{failure, system};
use crate::{SessionId, StoreError, Writer, time};

/// How often another name is tried, if a process that looks for leftover files
/// has locked the file.
const TRIES: usize = 20;
/// How many bytes of such a file are read at most.
const MAX_READ: u64 = 4096;

/// The lock file of this process, by which it is known as a writer.
#[derive(Debug)]
pub(super) struct Pen {
    name: String,
    path: PathBuf,
    /// The file, which is locked as long as it is open.
    _file: File,
}

impl Pen {
    /// Creates the file of this process and locks it.
    pub(super) fn take(place: &Place) -> Result<Self, StoreError> {
        let folder = place.writers();
        place::create_folder(&folder)?;
        sweep(place);
        for _ in 0..TRIES {
            let name = Uuid::now_v7().simple().to_string();
            let path = folder.join(&name);
            let failed = |error| failure::of_system("lock", &path, error);
            let mut options = system::private_file();
            options.write(true).create_new(true);
            let mut file = options.open(&path).map_err(failed)?;
            match file.try_lock() {
                Ok(()) => {}
                Err(TryLockError::WouldBlock) => continue,
                Err(TryLockError::Error(error)) => return Err(failed(error)),
            }
            // Before it was locked, it may have been removed as a leftover.
            if system::is_removed(&file.metadata().map_err(failed)?) {
                continue;
            }
            let json = serde_json::to_vec(&this_process()).unwrap_or_default();
            file.write_all(&json).map_err(failed)?;
            return Ok(Self {
                name,
                path,
                _file: file,
            });
        }
        let place = place.shown();
        Err(StoreError::Busy { place })
    }

    /// Takes a session, unless another process writes it.
    pub(super) fn hold(
        &self,
        place: &Place,
        connection: &Connection,
        session: &SessionId,
    ) -> Result<(), StoreError> {
        let failed = |error| failure::of_database(place.path(), &error);
        match named(connection, session).map_err(failed)? {
            Some(name) if name == self.name => return Ok(()),
            Some(name) => {
                if let Some(by) = alive(place, &name) {
                    let session = session.clone();
                    return Err(StoreError::Held { session, by });
                }
            }
            None => {}
        }
        connection
            .prepare_cached("INSERT OR REPLACE INTO holders (session, writer) VALUES (?1, ?2)")
            .and_then(|mut statement| statement.execute([session.as_str(), &self.name]))
            .map_err(failed)?;
        Ok(())
    }

    /// Releases a session, or all of them.
    pub(super) fn release(
        &self,
        connection: &Connection,
        session: Option<&SessionId>,
    ) -> rusqlite::Result<()> {
        connection.execute(
            "DELETE FROM holders WHERE writer = ?1 AND (?2 IS NULL OR session = ?2)",
            (&self.name, session.map(SessionId::as_str)),
        )?;
        Ok(())
    }
}

impl Drop for Pen {
    fn drop(&mut self) {
        // If it stays behind, the next process that looks removes it.
        let _ = fs::remove_file(&self.path);
    }
}

/// The process that writes a session.
pub(super) fn of(
    place: &Place,
    connection: &Connection,
    session: &SessionId,
) -> Result<Option<Writer>, StoreError> {
    let name =
        named(connection, session).map_err(|error| failure::of_database(place.path(), &error))?;
    Ok(name.and_then(|name| alive(place, &name)))
}

fn named(connection: &Connection, session: &SessionId) -> rusqlite::Result<Option<String>> {
    connection
        .prepare_cached("SELECT writer FROM holders WHERE session = ?1")?
        .query_row([session.as_str()], |row| row.get(0))
        .optional()
}

/// The process of a file, if it is alive. A leftover file is removed.
fn alive(place: &Place, name: &str) -> Option<Writer> {
    // The name comes from the database, which may be damaged.
    Uuid::try_parse(name).ok()?;
    let path = place.writers().join(name);
    let file = File::open(&path).ok()?;
    // Shared, so that two processes that look do not take each other for the
    // writer.
    if file.try_lock_shared().is_ok() {
        let _ = fs::remove_file(&path);
        return None;
    }
    let mut json = String::new();
    let _ = file.take(MAX_READ).read_to_string(&mut json);
    Some(serde_json::from_str(&json).unwrap_or_else(|_| unknown()))
}

/// Removes the files of processes that have ended.
fn sweep(place: &Place) {
    let Ok(folder) = fs::read_dir(place.writers()) else {
        return;
    };
    for file in folder.flatten() {
        if let Some(name) = file.file_name().to_str() {
            alive(place, name);
        }
    }
}

fn this_process() -> Writer {
    Writer {
        pid: std::process::id(),
        host: system::machine(),
        since: time::now(),
    }
}

/// A process that has locked its file, but not yet written who it is.
fn unknown() -> Writer {
    Writer {
        pid: 0,
        host: "an unknown machine".to_owned(),
        since: time::now(),
    }
}
