//! One writer at a time, by a lock that the kernel frees with the process.

use std::fs::{File, TryLockError};
use std::io;
use std::path::Path;

const NAME: &str = "lock";

/// Held as long as it lives.
#[derive(Debug)]
pub(super) struct Lock {
    _file: File,
}

impl Lock {
    /// Takes the lock of a folder. `None` if another has it.
    pub(super) fn take(folder: &Path) -> io::Result<Option<Self>> {
        let file = ptk_sandbox::private_file()
            .create(true)
            .truncate(false)
            .write(true)
            .open(folder.join(NAME))?;
        match file.try_lock() {
            Ok(()) => Ok(Some(Self { _file: file })),
            Err(TryLockError::WouldBlock) => Ok(None),
            Err(TryLockError::Error(error)) => Err(error),
        }
    }
}
