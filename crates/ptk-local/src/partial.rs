//! What has been fetched of a model so far: a folder of the library for each
//! model whose pull has not ended, with one file in it that grows. A pull that
//! was interrupted goes on from there. What the file holds is never believed:
//! it is read and compared before it is used.

use std::fs::{self, File, TryLockError};
use std::io::{self, Read as _, Seek as _, SeekFrom, Write};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use crate::catalogue::Part;
use crate::copy::{Progress, Step, Watch, copy, hex};
use crate::error::LibraryError;
use crate::staging;

/// What the names of such folders begin with; the rest is the model's.
pub(crate) const PREFIX: &str = ".pull-";
/// The file in one that is locked while a process pulls the model.
const LOCK: &str = "lock";
/// The file that grows, behind the SHA-256 that it is going to have.
const ENDING: &str = ".part";
/// Where its bytes are from.
const ORIGIN: &str = "origin.json";
/// No such file is longer.
const MAX_ORIGIN: u64 = 64 * 1024;

/// A model that has been fetched in part.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unfinished {
    /// The model's name.
    pub name: String,
    /// The bytes of it that are here.
    pub fetched: u64,
    /// The bytes that it has, if the server has said so.
    pub total: Option<u64>,
    /// The address that it is fetched from, if it has one.
    pub address: Option<String>,
}

/// Where the bytes of a partial file are from.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Origin {
    /// The address, without what may be secret in it.
    pub(crate) address: String,
    /// The `ETag` or date that names this state of the file.
    pub(crate) validator: Option<String>,
    /// The bytes of the whole.
    pub(crate) total: Option<u64>,
}

/// A file that grows. Its folder goes with it unless there is something in it
/// to go on from.
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

/// A place in the file to go back to.
pub(crate) struct Mark {
    digest: Sha256,
    size: u64,
}

impl Partial {
    /// Opens what has been fetched of this model, or begins anew. Nothing, if
    /// another process is at it.
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
            // What is there belongs to another model that had this name.
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

    /// The file.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// The bytes that are there.
    pub(crate) const fn size(&self) -> u64 {
        self.size
    }

    /// What they add up to, once all that was there before has been checked.
    pub(crate) fn sha256(&self) -> String {
        hex(self.digest.clone())
    }

    /// Keeps the pieces that are there and whole, and drops what is behind the
    /// last of them. Returns how many there are.
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

    /// Keeps all that is there, and adds it up.
    pub(crate) fn keep_all(&mut self, watch: &mut Watch<'_>) -> Result<(), LibraryError> {
        let there = self.size;
        let checked = self
            .rewind()
            .and_then(|()| self.check(there, there, watch).map(drop));
        self.size = there;
        checked
    }

    /// Begins to read what is there.
    fn rewind(&mut self) -> Result<(), LibraryError> {
        (self.digest, self.size) = (Sha256::new(), 0);
        self.file
            .rewind()
            .map_err(LibraryError::io("used", &self.path))
    }

    /// Reads on, adds up what is read for the whole, and returns what it adds
    /// up to by itself.
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

    /// Where the file is now.
    pub(crate) fn mark(&self) -> Mark {
        Mark {
            digest: self.digest.clone(),
            size: self.size,
        }
    }

    /// Drops what was written since.
    pub(crate) fn back_to(&mut self, mark: Mark) -> io::Result<()> {
        (self.digest, self.size) = (mark.digest, mark.size);
        self.cut()
    }

    /// Drops everything.
    pub(crate) fn clear(&mut self) -> io::Result<()> {
        (self.digest, self.size) = (Sha256::new(), 0);
        self.cut()
    }

    /// Ends the file where it is good, and goes there.
    fn cut(&mut self) -> io::Result<()> {
        self.file.set_len(self.size)?;
        self.file.seek(SeekFrom::Start(self.size)).map(drop)
    }

    /// Where its bytes are from, if that was noted.
    pub(crate) fn origin(&self) -> Option<Origin> {
        origin(&self.folder)
    }

    /// Notes where its bytes are from.
    pub(crate) fn note(&self, origin: &Origin) -> io::Result<()> {
        let text = serde_json::to_vec(origin).map_err(io::Error::other)?;
        let path = self.folder.join(ORIGIN);
        ptk_sandbox::create_private(&path)?.write_all(&text)
    }

    /// Moves the file to its place. The folder goes.
    pub(crate) fn move_to(mut self, place: &Path) -> io::Result<()> {
        self.file.sync_all()?;
        fs::rename(&self.path, place)?;
        self.size = 0;
        Ok(())
    }

    /// Removes it with its folder.
    pub(crate) fn discard(mut self) {
        self.size = 0;
    }
}

impl Drop for Partial {
    fn drop(&mut self) {
        if self.size == 0 {
            // What cannot be removed appears in the list, and does no harm.
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

/// Adds up what is written.
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

/// The models that have been fetched in part, by their names.
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

/// What came of removing what has been fetched of a model.
pub(crate) enum Removal {
    /// There was nothing.
    Nothing,
    /// So many bytes are gone.
    Done(u64),
    /// Another process is at it.
    Busy,
}

/// Removes what has been fetched of this model, unless a process is pulling it.
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

/// The bytes of the file that grows, in this folder.
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
