//! Converts errors of SQLite and the system into ones that say what to do.

use std::io;
use std::path::Path;

use rusqlite::ErrorCode;

use crate::StoreError;

/// Converts an error of the database.
pub(super) fn of_database(path: &Path, error: &rusqlite::Error) -> StoreError {
    let detail = error.to_string();
    let code = error.sqlite_error_code();
    let place = path.display().to_string();
    match code {
        Some(ErrorCode::NotADatabase) => StoreError::NotADatabase { place },
        Some(ErrorCode::DatabaseCorrupt) => StoreError::Damaged { place, detail },
        Some(ErrorCode::DiskFull) => StoreError::DiskFull { place },
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => StoreError::Busy { place },
        Some(ErrorCode::ReadOnly | ErrorCode::PermissionDenied | ErrorCode::CannotOpen) => {
            StoreError::ReadOnly { place, detail }
        }
        _ if is_unreadable(error) => StoreError::Damaged { place, detail },
        _ => StoreError::Database { place, detail },
    }
}

/// Whether a row holds a value that the program cannot have written.
fn is_unreadable(error: &rusqlite::Error) -> bool {
    matches!(
        error,
        rusqlite::Error::FromSqlConversionFailure(..)
            | rusqlite::Error::IntegralValueOutOfRange(..)
            | rusqlite::Error::InvalidColumnType(..)
            | rusqlite::Error::Utf8Error(..)
    )
}

/// Converts an error of the system.
pub(super) fn of_system(attempt: &'static str, path: &Path, source: io::Error) -> StoreError {
    let place = path.display().to_string();
    match source.kind() {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => StoreError::DiskFull { place },
        io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => {
            let detail = source.to_string();
            StoreError::ReadOnly { place, detail }
        }
        _ => StoreError::Io {
            attempt,
            place,
            source: source.into(),
        },
    }
}
