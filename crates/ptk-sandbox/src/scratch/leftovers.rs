//! What killed processes have left, found by its name and its lock.

use std::fs::{self, File};
use std::io;
use std::path::Path;
use std::thread::JoinHandle;
use std::time::{Duration, SystemTime};

use tempfile::TempDir;

use super::{CHANCE, PREFIX};

/// How many names in the system's folder are looked at.
const MAX_LOOKED_AT: usize = 10_000;
/// How many folders are removed at once: the rest has time until next time.
const MAX_REMOVED: usize = 16;
/// How long a leftover folder is kept once it was found: what its process had
/// started ends a little later, and works below mounts that would go with the
/// folder.
const AFTERWARDS: Duration = Duration::from_secs(60);
/// The permissions of a leftover folder that was found.
const FOUND: u32 = 0o500;

/// The open folder, which is locked.
pub(super) type Lock = File;

/// Locks a folder. Says also whether another process has taken it for a
/// leftover.
pub(super) fn lock(folder: &Path) -> io::Result<(Lock, bool)> {
    let lock = File::open(folder)?;
    // On a system without locks, no process takes it away.
    let is_taken =
        matches!(lock.try_lock(), Err(fs::TryLockError::WouldBlock)) || !is_at(&lock, folder);
    Ok((lock, is_taken))
}

/// Whether this is still the folder at this path, and no link leads there.
fn is_at(folder: &File, path: &Path) -> bool {
    use std::os::unix::fs::MetadataExt as _;
    let (Ok(opened), Ok(there)) = (folder.metadata(), fs::symlink_metadata(path)) else {
        return false;
    };
    there.is_dir() && (opened.dev(), opened.ino()) == (there.dev(), there.ino())
}

/// Removes what killed processes of the same user have left, on a thread of its
/// own.
pub(super) fn sweep(own: &TempDir, lock: &Lock) -> Option<JoinHandle<()>> {
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

/// Whether it is a folder of ours by its name and its owner, and not a link.
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
