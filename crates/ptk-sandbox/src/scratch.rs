//! The folder for temporary files. It is removed with its workspace. What a
//! killed process has left is marked when the next process starts, and removed
//! when one starts a minute later.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::thread::JoinHandle;
#[cfg(unix)]
use std::time::{Duration, SystemTime};

use tempfile::TempDir;

/// What the names of such folders begin with.
const PREFIX: &str = "ptk-";
/// How many random characters stand at the end of such a name.
const CHANCE: usize = 6;
/// How often a new one is tried: another process may take it for a leftover.
const TRIES: usize = 8;
/// How many names in the system's folder are looked at.
const MAX_LOOKED_AT: usize = 10_000;
/// How many folders are removed at once: the rest has time until next time.
const MAX_REMOVED: usize = 16;
/// How long a leftover folder is kept once it was found: what its process had
/// started ends a little later, and works below mounts that would go with the
/// folder.
#[cfg(unix)]
const AFTERWARDS: Duration = Duration::from_secs(60);
/// The permissions of a leftover folder that was found.
#[cfg(unix)]
const FOUND: u32 = 0o500;

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
    _lock: File,
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
            let lock = File::open(folder.path())?;
            tries += 1;
            // On a system without locks, no process takes it away.
            let is_taken = matches!(lock.try_lock(), Err(fs::TryLockError::WouldBlock))
                || !is_at(&lock, folder.path());
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

/// Whether this is still the folder at this path, and no link leads there.
#[cfg(unix)]
fn is_at(folder: &File, path: &Path) -> bool {
    use std::os::unix::fs::MetadataExt as _;
    let (Ok(opened), Ok(there)) = (folder.metadata(), fs::symlink_metadata(path)) else {
        return false;
    };
    there.is_dir() && (opened.dev(), opened.ino()) == (there.dev(), there.ino())
}

#[cfg(not(unix))]
fn is_at(_folder: &File, _path: &Path) -> bool {
    true
}

/// Removes what killed processes of the same user have left, on a thread of its
/// own.
#[cfg(unix)]
fn sweep(own: &TempDir, lock: &File) -> Option<JoinHandle<()>> {
    use std::os::unix::fs::MetadataExt as _;
    let place = own.path().parent()?.to_owned();
    let user = lock.metadata().ok()?.uid();
    let sweeping = std::thread::Builder::new().name("sweep".to_owned());
    let left = move || {
        let names = fs::read_dir(place).into_iter().flatten().flatten();
        let paths = names.take(MAX_LOOKED_AT).map(|entry| entry.path());
        paths
            .filter(move |path| is_left(path, user))
            .take(MAX_REMOVED)
    };
    sweeping
        .spawn(move || left().for_each(|path| remove(&path)))
        .ok()
}

#[cfg(not(unix))]
fn sweep(_own: &TempDir, _lock: &File) -> Option<JoinHandle<()>> {
    None
}

/// Whether it is a folder of ours by its name and its owner, and not a link.
#[cfg(unix)]
fn is_left(path: &Path, user: u32) -> bool {
    use std::os::unix::fs::MetadataExt as _;
    let name = path.file_name().and_then(|name| name.to_str());
    let Some((process, chance)) = name
        .and_then(|name| name.strip_prefix(PREFIX))
        .and_then(|rest| rest.split_once('-'))
    else {
        return false;
    };
    let is_named = !process.is_empty()
        && process.bytes().all(|byte| byte.is_ascii_digit())
        && chance.len() == CHANCE
        && chance.bytes().all(|byte| byte.is_ascii_alphanumeric());
    let is_own = |found: fs::Metadata| found.is_dir() && found.uid() == user;
    is_named && fs::symlink_metadata(path).is_ok_and(is_own)
}

/// Removes a folder, unless a process uses it, or it was not found before.
#[cfg(unix)]
fn remove(path: &Path) {
    use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
    let Ok(folder) = File::open(path) else { return };
    if folder.try_lock().is_err() || !is_at(&folder, path) {
        return;
    }
    let Ok(found) = folder.metadata() else { return };
    let may = |mode: u32| folder.set_permissions(fs::Permissions::from_mode(mode));
    if found.mode() & 0o777 != FOUND {
        // What cannot be marked stays.
        let _ = folder
            .set_modified(SystemTime::now())
            .and_then(|()| may(FOUND));
        return;
    }
    let age = found.modified().ok().and_then(|found| found.elapsed().ok());
    if age.is_some_and(|age| age >= AFTERWARDS) {
        // What cannot be removed now stays until next time.
        let _ = may(0o700).and_then(|()| fs::remove_dir_all(path));
    }
}
