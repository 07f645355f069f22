//! A lock for one writer at a time, which the kernel frees with the process.

use std::fs::{File, TryLockError};
use std::io;
use std::path::Path;

const NAME: &str = "lock";

/// The lock, held until it is dropped.
#[derive(Debug)]
pub(super) struct Lock {
    _file: File,
}

impl Lock {
    /// Takes the lock of a folder. `None` if another process or thread has it.
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
