//! The folder for temporary files. It is removed with its workspace. What a
//! killed process has left is marked when the next process starts, and removed
//! when one starts a minute later; on Windows it stays.

#[cfg(unix)]
mod leftovers;
#[cfg(windows)]
#[path = "windows.rs"]
mod leftovers;

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::thread::JoinHandle;

use tempfile::TempDir;

use leftovers::{Lock, lock, sweep};

/// What the names of such folders begin with.
const PREFIX: &str = "ptk-";
/// How many random characters stand at the end of such a name.
const CHANCE: usize = 6;
/// How often a new one is tried: another process may take it for a leftover.
const TRIES: usize = 8;

/// The temporary folders of this process that still exist.
static OPEN: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());

/// Removes the temporary folders of this process that were not dropped.
///
/// A program calls it last: what a thread holds when the process ends is never
/// dropped, and neither is anything after [`exit`](std::process::exit).
pub fn remove_temporary_folders() {
    // Locked to the end, so that no other thread removes the same one meanwhile.
    let mut open = OPEN.lock().unwrap_or_else(PoisonError::into_inner);
    for folder in open.drain(..) {
        // What cannot be removed goes when another process begins.
        let _ = fs::remove_dir_all(folder);
    }
}

/// A folder of this process, locked for as long as it is used: the lock goes
/// with the process, whatever ends it.
#[derive(Debug)]
pub struct Scratch {
    folder: TempDir,
    _lock: Lock,
    sweeping: Option<JoinHandle<()>>,
}

impl Scratch {
    /// Makes a new temporary folder.
    ///
    /// # Errors
    ///
    /// If the system's folder for temporary files cannot be written.
    pub fn new() -> io::Result<Self> {
        let prefix = format!("{PREFIX}{}-", std::process::id());
        let mut tries = 0;
        loop {
            let folder = tempfile::Builder::new()
                .prefix(&prefix)
                .rand_bytes(CHANCE)
                .tempdir()?;
            let (lock, is_taken) = lock(folder.path())?;
            tries += 1;
            if is_taken && tries < TRIES {
                continue;
            }
            let sweeping = sweep(&folder, &lock);
            let path = folder.path().to_owned();
            OPEN.lock()
                .unwrap_or_else(PoisonError::into_inner)
                .push(path);
            return Ok(Self {
                folder,
                _lock: lock,
                sweeping,
            });
        }
    }

    /// The path of the folder.
    #[must_use]
    pub fn path(&self) -> &Path {
        self.folder.path()
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        if let Some(sweeping) = self.sweeping.take() {
            let _ = sweeping.join();
        }
        let path = self.folder.path();
        let mut open = OPEN.lock().unwrap_or_else(PoisonError::into_inner);
        // It is forgotten only when it is gone: a confined thread may drop it,
        // and cannot remove anything.
        let _ = fs::remove_dir_all(path);
        if fs::symlink_metadata(path).is_err() {
            open.retain(|known| known != path);
        }
    }
}
