//! The file of a database: where it is, how it is created, and how it is opened
//! to be read.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rusqlite::{Connection, OpenFlags};

use super::{failure, system};
use crate::StoreError;

/// How long to wait for another process that writes.
pub(super) const PATIENCE: Duration = Duration::from_secs(10);

/// The path of a database.
#[derive(Debug)]
pub(super) struct Place {
    path: PathBuf,
}

impl Place {
    pub(super) fn new(path: &Path) -> Self {
        let path = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
        Self { path }
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// The folder with the lock files of writers.
    pub(super) fn writers(&self) -> PathBuf {
        self.beside(".writers")
    }

    fn beside(&self, ending: &str) -> PathBuf {
        let mut path = self.path.clone().into_os_string();
        path.push(ending);
        path.into()
    }

    pub(super) fn shown(&self) -> String {
        self.path.display().to_string()
    }

    /// Creates the folder and the file if they are missing, accessible only to
    /// their owner.
    pub(super) fn create(&self) -> Result<(), StoreError> {
        if let Some(folder) = self.path.parent() {
            create_folder(folder)?;
        }
        let created = system::private_file()
            .write(true)
            .create_new(true)
            .open(&self.path);
        match created {
            Ok(_) => Ok(()),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
            Err(error) => Err(failure::of_system("create", &self.path, error)),
        }
    }

    /// Makes the file accessible only to its owner, however it was created.
    pub(super) fn close_to_others(&self) {
        system::close_to_others(&self.path);
    }

    /// Whether the -wal file has changes that the file itself may not have yet.
    pub(super) fn has_changes(&self) -> bool {
        fs::metadata(self.beside("-wal")).is_ok_and(|wal| wal.len() > 0)
    }

    /// Opens a connection that cannot write. If the file `is_still`, no files
    /// are created beside it either.
    pub(super) fn open_to_read(&self, is_still: bool) -> rusqlite::Result<Connection> {
        let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let connection = if is_still {
            let address = format!("file:{}?immutable=1", address(&self.path));
            Connection::open_with_flags(address, flags | OpenFlags::SQLITE_OPEN_URI)?
        } else {
            Connection::open_with_flags(&self.path, flags)?
        };
        connection.busy_timeout(PATIENCE)?;
        Ok(connection)
    }

    /// Opens a connection that reads while others may write.
    pub(super) fn reader(&self) -> Result<Connection, StoreError> {
        let failed = |error| failure::of_database(&self.path, &error);
        let connection = self.open_to_read(false).map_err(failed)?;
        let probe: rusqlite::Result<i64> =
            connection.query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get(0));
        match probe {
            Ok(_) => Ok(connection),
            // Where no file can be created beside it, no process can be
            // writing.
            Err(_) if !self.has_changes() => self.open_to_read(true).map_err(failed),
            Err(error) => Err(failed(error)),
        }
    }

    pub(super) fn not_a_database(&self) -> StoreError {
        let place = self.shown();
        StoreError::NotADatabase { place }
    }

    pub(super) fn damaged(&self, detail: impl Into<String>) -> StoreError {
        StoreError::Damaged {
            place: self.shown(),
            detail: detail.into(),
        }
    }

    pub(super) fn closed(&self) -> StoreError {
        let place = self.shown();
        StoreError::Closed { place }
    }
}

/// Creates a folder and those above it, accessible only to their owner.
pub(super) fn create_folder(folder: &Path) -> Result<(), StoreError> {
    system::create_private_folder(folder)
        .map_err(|error| failure::of_system("create the folder", folder, error))
}

/// Percent-encodes a path for a URI.
fn address(path: &Path) -> String {
    let mut address = String::new();
    for byte in system::uri_path(path).iter() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'/' | b'.' | b'_' | b'-' => {
                address.push(char::from(*byte));
            }
            byte => address.push_str(&format!("%{byte:02X}")),
        }
    }
    address
}
