//! Temporary folders beside the models, in which models are assembled. A folder
//! is removed when it is dropped; a complete model is moved to its place by one
//! rename. Folders that killed processes left behind are removed by the next
//! process that creates one.

use std::fs::{self, File, TryLockError};
use std::io;
use std::path::{Path, PathBuf};

use tempfile::TempDir;

/// The prefix of such folders.
const PREFIX: &str = ".new-";
/// The file in the folder that is locked as long as its process lives.
const ALIVE: &str = "alive";
/// The file in the library that is locked while such folders are changed.
const LOCK: &str = ".lock";
/// The subfolder that becomes a model.
const MODEL: &str = "model";
/// The name of a replaced or removed model.
const OLD: &str = "old";

/// Whether a file in the library is such a folder, or their lock.
pub(crate) fn is_own(name: &str) -> bool {
    name == LOCK || name.starts_with(PREFIX)
}

/// A temporary folder that is removed when it is dropped.
pub(crate) struct Staging {
    library: PathBuf,
    folder: TempDir,
    /// Locked as long as it is open.
    _alive: File,
}

impl Staging {
    /// Creates one, and removes those of processes that have ended.
    pub(crate) fn begin(library: &Path) -> io::Result<Self> {
        ptk_sandbox::private_folder(library)?;
        let _locked = lock(library)?;
        sweep(library)?;
        let folder = tempfile::Builder::new()
            .prefix(PREFIX)
            .tempdir_in(library)?;
        let alive = ptk_sandbox::private_file()
            .write(true)
            .create_new(true)
            .open(folder.path().join(ALIVE))?;
        alive.lock()?;
        ptk_sandbox::private_folder(&folder.path().join(MODEL))?;
        Ok(Self {
            library: library.to_owned(),
            folder,
            _alive: alive,
        })
    }

    /// The path of the temporary folder.
    pub(crate) fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// Creates a folder beside the one that becomes a model.
    pub(crate) fn aside(&self, name: &str) -> io::Result<PathBuf> {
        let path = self.folder.path().join(name);
        ptk_sandbox::private_folder(&path)?;
        Ok(path)
    }

    /// The folder that becomes a model.
    pub(crate) fn model(&self) -> PathBuf {
        self.folder.path().join(MODEL)
    }

    /// Moves the model to its place, if that is free or `is_mine` allows to
    /// replace what is there. Returns `false` if it does not.
    pub(crate) fn place(self, name: &str, is_mine: impl FnOnce() -> bool) -> io::Result<bool> {
        let _locked = lock(&self.library)?;
        let place = self.library.join(name);
        let old = self.folder.path().join(OLD);
        let is_taken = fs::symlink_metadata(&place).is_ok();
        if is_taken {
            if !is_mine() {
                return Ok(false);
            }
            fs::rename(&place, &old)?;
        }
        let placed = fs::rename(self.model(), &place);
        if placed.is_err() && is_taken {
            fs::rename(old, &place)?;
        }
        placed?;
        File::open(&self.library)?.sync_all()?;
        Ok(true)
    }

    /// Moves a model out of its place and removes it.
    pub(crate) fn take_away(self, name: &str) -> io::Result<()> {
        let _locked = lock(&self.library)?;
        let place = self.library.join(name);
        fs::rename(place, self.folder.path().join(OLD))?;
        self.folder.close()
    }
}

/// Locks the library against other processes that stage or place models.
pub(crate) fn lock(library: &Path) -> io::Result<File> {
    let mut options = ptk_sandbox::private_file();
    let file = options
        .write(true)
        .create(true)
        .truncate(false)
        .open(library.join(LOCK))?;
    file.lock()?;
    Ok(file)
}

/// Removes the folders of processes that have ended.
fn sweep(library: &Path) -> io::Result<()> {
    for found in fs::read_dir(library)? {
        let found = found?;
        if !found.file_name().to_string_lossy().starts_with(PREFIX) {
            continue;
        }
        let is_alive = match File::open(found.path().join(ALIVE)) {
            Ok(file) => matches!(file.try_lock(), Err(TryLockError::WouldBlock)),
            Err(_) => false,
        };
        if !is_alive {
            // A folder that cannot be removed does no harm.
            drop(fs::remove_dir_all(found.path()));
        }
    }
    Ok(())
}
