//! Partly fetched models: the library has a folder for each unfinished pull,
//! with one file that grows. An interrupted pull is resumed from it. The file's
//! content is not trusted: it is hashed before it is used.

use std::fs::{self, File, TryLockError};
use std::io::{self, Read as _, Seek as _, SeekFrom, Write};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use crate::copy::{Progress, Step, Watch, copy, hex};
use crate::error::LibraryError;
use crate::model::Part;
use crate::staging;

/// The prefix of such folders; the model's name follows.
const PREFIX: &str = ".pull-";
/// The file in the folder that is locked while a process pulls the model.
const LOCK: &str = "lock";
/// The extension of the partial file; its name is the expected SHA-256.
const ENDING: &str = ".part";
/// The file that records where the bytes came from.
const ORIGIN: &str = "origin.json";
/// The most bytes of that file.
const MAX_ORIGIN: u64 = 64 * 1024;

/// Whether a file in the library is such a folder.
pub(crate) fn is_own(name: &str) -> bool {
    name.starts_with(PREFIX)
}

/// A model that has been fetched in part.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unfinished {
    /// The model's name.
    pub name: String,
    /// The bytes fetched so far.
    pub fetched: u64,
    /// The size of the model in bytes, if the server has said so.
    pub total: Option<u64>,
    /// The address that it is fetched from, if any.
    pub address: Option<String>,
}

/// Where the bytes of a partial file came from.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Origin {
    /// The address, without its secret parts.
    pub(crate) address: String,
    /// The `ETag` or date that identifies this version of the file.
    pub(crate) validator: Option<String>,
    /// The size of the whole file in bytes.
    pub(crate) total: Option<u64>,
}

/// A partial file. Dropping an empty one removes its folder.
pub(crate) struct Partial {
    library: PathBuf,
    folder: PathBuf,
    path: PathBuf,
    file: File,
    digest: Sha256,
    size: u64,
    /// Locked as long as it is open.
    _lock: File,
}

/// A position in the file to go back to.
pub(crate) struct Mark {
    digest: Sha256,
    size: u64,
}

impl Partial {
    /// Opens the partial file of this model, or creates it; `None` if another
    /// process holds it.
    pub(crate) fn claim(library: &Path, name: &str, sha256: &str) -> io::Result<Option<Self>> {
        let _locked = staging::lock(library)?;
        let folder = library.join(format!("{PREFIX}{name}"));
        Self::open(library, folder, sha256)
    }

    /// The same in a private folder, which is removed with its owner.
    pub(crate) fn private(folder: PathBuf, sha256: &str) -> io::Result<Option<Self>> {
        let library = folder.clone();
        Self::open(&library, folder, sha256)
    }

    fn open(library: &Path, folder: PathBuf, sha256: &str) -> io::Result<Option<Self>> {
        ptk_sandbox::private_folder(&folder)?;
        let Some(lock) = try_lock(&folder)? else {
            return Ok(None);
        };
        let path = folder.join(format!("{sha256}{ENDING}"));
        if !path.is_file() {
            // The files belong to another model that had this name.
            for found in fs::read_dir(&folder)? {
                let found = found?;
                if found.file_name() != LOCK {
                    fs::remove_file(found.path())?;
                }
            }
        }
        let file = ptk_sandbox::private_file()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .open(&path)?;
        let size = file.metadata()?.len();
        Ok(Some(Self {
            library: library.to_owned(),
            folder,
            path,
            file,
            digest: Sha256::new(),
            size,
            _lock: lock,
        }))
    }

    /// The path of the partial file.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// The bytes fetched so far.
    pub(crate) const fn size(&self) -> u64 {
        self.size
    }

    /// The SHA-256 so far, once the bytes from earlier pulls have been checked.
    pub(crate) fn sha256(&self) -> String {
        hex(self.digest.clone())
    }

    /// Keeps the leading pieces that are complete and valid, and drops the
    /// rest. Returns how many there are.
    pub(crate) fn keep_pieces(
        &mut self,
        pieces: &[Part],
        watch: &mut Watch<'_>,
    ) -> Result<usize, LibraryError> {
        let there = self.size;
        let kept = self.count_pieces(pieces, watch);
        if kept.is_err() {
            self.size = there;
        }
        kept
    }

    fn count_pieces(
        &mut self,
        pieces: &[Part],
        watch: &mut Watch<'_>,
    ) -> Result<usize, LibraryError> {
        let there = self.size;
        self.rewind()?;
        let mut count = 0;
        for piece in pieces {
            if self.size.saturating_add(piece.size) > there {
                break;
            }
            let before = self.mark();
            if self.check(piece.size, there, watch)? != piece.sha256 {
                self.back_to(before)
                    .map_err(LibraryError::io("used", &self.path))?;
                return Ok(count);
            }
            count += 1;
        }
        self.cut().map_err(LibraryError::io("used", &self.path))?;
        Ok(count)
    }

    /// Keeps everything, and hashes it.
    pub(crate) fn keep_all(&mut self, watch: &mut Watch<'_>) -> Result<(), LibraryError> {
        let there = self.size;
        let checked = self
            .rewind()
            .and_then(|()| self.check(there, there, watch).map(drop));
        self.size = there;
        checked
    }

    /// Starts reading the file from its beginning.
    fn rewind(&mut self) -> Result<(), LibraryError> {
        (self.digest, self.size) = (Sha256::new(), 0);
        self.file
            .rewind()
            .map_err(LibraryError::io("used", &self.path))
    }

    /// Reads a piece, adds it to the SHA-256 of the whole, and returns its own
    /// SHA-256.
    fn check(
        &mut self,
        size: u64,
        there: u64,
        watch: &mut Watch<'_>,
    ) -> Result<String, LibraryError> {
        let (stop, before) = (watch.stop, self.size);
        let tell = &mut *watch.tell;
        let tell = &mut |progress: Progress| {
            tell(Progress {
                done: before.saturating_add(progress.done),
                total: there,
                ..progress
            });
        };
        let mut piece = (&mut self.file).take(size);
        let mut whole = Adding(&mut self.digest);
        let watch = &mut Watch { stop, tell };
        let sum = copy(&mut piece, &mut whole, Step::Checking, size, watch);
        let sum = sum.map_err(LibraryError::copying(&self.path, &self.path))?;
        self.size += sum.size;
        Ok(sum.sha256)
    }

    /// The current position.
    pub(crate) fn mark(&self) -> Mark {
        Mark {
            digest: self.digest.clone(),
            size: self.size,
        }
    }

    /// Drops everything after this position.
    pub(crate) fn back_to(&mut self, mark: Mark) -> io::Result<()> {
        (self.digest, self.size) = (mark.digest, mark.size);
        self.cut()
    }

    /// Drops everything.
    pub(crate) fn clear(&mut self) -> io::Result<()> {
        (self.digest, self.size) = (Sha256::new(), 0);
        self.cut()
    }

    /// Truncates the file to its valid size.
    fn cut(&mut self) -> io::Result<()> {
        self.file.set_len(self.size)?;
        self.file.seek(SeekFrom::Start(self.size)).map(drop)
    }

    /// Where its bytes came from, if recorded.
    pub(crate) fn origin(&self) -> Option<Origin> {
        origin(&self.folder)
    }

    /// Records where its bytes came from.
    pub(crate) fn note(&self, origin: &Origin) -> io::Result<()> {
        let text = serde_json::to_vec(origin).map_err(io::Error::other)?;
        let path = self.folder.join(ORIGIN);
        ptk_sandbox::create_private(&path)?.write_all(&text)
    }

    /// Moves the file to its place, and removes the folder.
    pub(crate) fn move_to(mut self, place: &Path) -> io::Result<()> {
        self.file.sync_all()?;
        fs::rename(&self.path, place)?;
        self.size = 0;
        Ok(())
    }

    /// Removes the file and its folder.
    pub(crate) fn discard(mut self) {
        self.size = 0;
    }
}

impl Drop for Partial {
    fn drop(&mut self) {
        if self.size == 0 {
            // A folder that cannot be removed is listed, and does no harm.
            let _locked = staging::lock(&self.library);
            drop(fs::remove_dir_all(&self.folder));
        }
    }
}

impl Write for Partial {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.file.write(bytes)?;
        self.digest.update(bytes.get(..written).unwrap_or_default());
        self.size += written as u64;
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

/// A writer that hashes what is written.
struct Adding<'a>(&'a mut Sha256);

impl Write for Adding<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.update(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// The partly fetched models, sorted by name.
pub(crate) fn list(library: &Path) -> io::Result<Vec<Unfinished>> {
    let found = match fs::read_dir(library) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        found => found?,
    };
    let mut list = Vec::new();
    for found in found {
        let found = found?;
        let folder = found.file_name();
        if let Some(name) = folder.to_str().and_then(|it| it.strip_prefix(PREFIX)) {
            let (origin, fetched) = (origin(&found.path()), fetched(&found.path()));
            if fetched == 0 {
                continue;
            }
            list.push(Unfinished {
                name: name.to_owned(),
                fetched,
                total: origin.as_ref().and_then(|origin| origin.total),
                address: origin.map(|origin| origin.address),
            });
        }
    }
    list.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(list)
}

/// The result of removing a partial file.
pub(crate) enum Removal {
    /// There was none.
    Nothing,
    /// This many bytes were removed.
    Done(u64),
    /// Another process is pulling the model.
    Busy,
}

/// Removes what was fetched of this model, unless a process is pulling it.
pub(crate) fn remove(library: &Path, name: &str) -> io::Result<Removal> {
    let folder = library.join(format!("{PREFIX}{name}"));
    if !folder.is_dir() {
        return Ok(Removal::Nothing);
    }
    let _locked = staging::lock(library)?;
    let Some(_lock) = try_lock(&folder)? else {
        return Ok(Removal::Busy);
    };
    let size = fetched(&folder);
    fs::remove_dir_all(&folder)?;
    Ok(match size {
        0 => Removal::Nothing,
        size => Removal::Done(size),
    })
}

fn try_lock(folder: &Path) -> io::Result<Option<File>> {
    let mut options = ptk_sandbox::private_file();
    let lock = options
        .write(true)
        .create(true)
        .truncate(false)
        .open(folder.join(LOCK))?;
    match lock.try_lock() {
        Ok(()) => Ok(Some(lock)),
        Err(TryLockError::WouldBlock) => Ok(None),
        Err(TryLockError::Error(error)) => Err(error),
    }
}

/// The size of the partial file in this folder.
fn fetched(folder: &Path) -> u64 {
    let found = fs::read_dir(folder).into_iter().flatten().flatten();
    let files = found.filter(|it| it.file_name().to_string_lossy().ends_with(ENDING));
    let sizes = files.filter_map(|it| Some(it.metadata().ok()?.len()));
    sizes.sum()
}

fn origin(folder: &Path) -> Option<Origin> {
    let mut bytes = Vec::new();
    let file = File::open(folder.join(ORIGIN)).ok()?;
    file.take(MAX_ORIGIN).read_to_end(&mut bytes).ok()?;
    serde_json::from_slice(&bytes).ok()
}
