//! A place to make things in, until they are whole: a folder beside the models
//! that is gone when it is dropped. What is made there gets to its place by one
//! rename. A process that was killed leaves its folder behind; the next one
//! that makes one removes it.

use std::fs::{self, File, TryLockError};
use std::io;
use std::path::{Path, PathBuf};

use tempfile::TempDir;

use crate::partial;

/// What the names of such folders begin with.
const PREFIX: &str = ".new-";
/// The file in one that is locked as long as its process lives.
const ALIVE: &str = "alive";
/// The file in the library that is locked while such folders come and go.
const LOCK: &str = ".lock";
/// What becomes a model, in such a folder.
const MODEL: &str = "model";
/// What was a model.
const OLD: &str = "old";

/// Whether a file in the library is one of ours that is no model.
pub(crate) fn is_own(name: &str) -> bool {
    name == LOCK || name.starts_with(PREFIX) || name.starts_with(partial::PREFIX)
}

/// A folder that is gone when it is dropped.
pub(crate) struct Staging {
    library: PathBuf,
    folder: TempDir,
    /// Locked as long as it is open.
    _alive: File,
}

impl Staging {
    /// Makes one, and removes what processes have left that are no more.
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

    /// Where everything is.
    pub(crate) fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// A new folder beside the one that becomes a model.
    pub(crate) fn aside(&self, name: &str) -> io::Result<PathBuf> {
        let path = self.folder.path().join(name);
        ptk_sandbox::private_folder(&path)?;
        Ok(path)
    }

    /// The folder that becomes a model.
    pub(crate) fn model(&self) -> PathBuf {
        self.folder.path().join(MODEL)
    }

    /// Puts the model into its place, if that is free or `is_mine` says that
    /// what is there may go. `false` if it may not.
    pub(crate) fn place(self, name: &str, is_mine: impl FnOnce() -> bool) -> io::Result<bool> {
        let _locked = lock(&self.library)?;
        let place = self.library.join(name);
        if fs::symlink_metadata(&place).is_ok() {
            if !is_mine() {
                return Ok(false);
            }
            fs::rename(&place, self.folder.path().join(OLD))?;
        }
        fs::rename(self.model(), &place)?;
        File::open(&self.library)?.sync_all()?;
        Ok(true)
    }

    /// Takes a model out of its place. It is gone with this folder.
    pub(crate) fn take_away(self, name: &str) -> io::Result<()> {
        let _locked = lock(&self.library)?;
        let place = self.library.join(name);
        fs::rename(place, self.folder.path().join(OLD))?;
        self.folder.close()
    }
}

/// Keeps others from making such folders, and from placing models, meanwhile.
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

/// Removes the folders of processes that are no more.
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
            // What cannot be removed is in nobody's way.
            drop(fs::remove_dir_all(found.path()));
        }
    }
    Ok(())
}
