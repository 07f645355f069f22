//! Contents, kept by their hash: what is the same is kept once.

use std::fs::{self, File};
use std::io::{self, Read, Seek as _, SeekFrom, Write as _};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use crate::packs::Packs;
use crate::state::Content;
use crate::system;

/// Bytes that are copied at once.
const PIECE: usize = 128 * 1024;
/// Up to so many new files are synced to the disk one by one; with more, the
/// whole disk is synced.
const MAX_SINGLE_SYNCS: usize = 16;

/// The folder with the contents, and the packs with others.
#[derive(Debug)]
pub(crate) struct Contents {
    folder: PathBuf,
    pub(crate) packs: Packs,
}

/// Contents on their way to the disk. They have their names only once they are
/// there, so that a loss of power leaves no wrong content under a right name.
#[derive(Debug)]
pub(crate) struct Batch<'contents> {
    contents: &'contents Contents,
    new: Mutex<Vec<(PathBuf, PathBuf)>>,
    bytes: AtomicU64,
}

impl Contents {
    pub(crate) fn at(folder: PathBuf, packs: Packs) -> Self {
        Self { folder, packs }
    }

    pub(crate) fn folder(&self) -> &Path {
        &self.folder
    }

    fn path(&self, content: &Content) -> PathBuf {
        self.folder.join(content.name())
    }

    /// Whether a content is in the folder, and stays there as long as it is
    /// needed.
    pub(crate) fn has(&self, content: &Content) -> bool {
        fs::metadata(self.path(content)).is_ok_and(|kept| kept.len() == content.size)
    }

    /// Whether a content can be opened.
    pub(crate) fn can_open(&self, content: &Content) -> bool {
        self.has(content) || self.packs.find(content).is_some()
    }

    pub(crate) fn batch(&self) -> Batch<'_> {
        Batch {
            contents: self,
            new: Mutex::default(),
            bytes: AtomicU64::new(0),
        }
    }

    /// Opens a content, if it is still what its name says.
    pub(crate) fn open(&self, content: &Content) -> io::Result<io::Take<File>> {
        let (mut file, start) = match File::open(self.path(content)) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                let (pack, start) = self.packs.find(content).ok_or(error)?;
                (File::open(pack)?, start)
            }
            file => (file?, 0),
        };
        let is_whole = start > 0 || file.metadata()?.len() == content.size;
        file.seek(SeekFrom::Start(start))?;
        let mut hasher = blake3::Hasher::new();
        hasher.update_reader((&mut file).take(content.size))?;
        if !is_whole || *hasher.finalize().as_bytes() != content.hash {
            let what = format!("the content {} is damaged", content.name());
            return Err(io::Error::other(what));
        }
        file.seek(SeekFrom::Start(start))?;
        Ok(file.take(content.size))
    }
}

impl Batch<'_> {
    /// Keeps what an open file holds, up to the size that it has now.
    pub(crate) fn keep(&self, file: &mut File) -> io::Result<Content> {
        let known = Content::from(ptk_sandbox::Fingerprint::read(file)?);
        if self.contents.has(&known) {
            return Ok(known);
        }
        file.rewind()?;
        let mut new = tempfile::NamedTempFile::new_in(&self.contents.folder)?;
        let content = if shares_blocks(file, new.as_file()) {
            Content::from(ptk_sandbox::Fingerprint::read(new.as_file())?)
        } else {
            copy(file, new.as_file_mut(), known.size)?
        };
        let name = self.contents.path(&content);
        let (_, path) = new.keep().map_err(|error| error.error)?;
        self.bytes.fetch_add(content.size, Ordering::Relaxed);
        let mut all = self.new.lock().unwrap_or_else(PoisonError::into_inner);
        all.push((path, name));
        Ok(content)
    }

    /// Brings everything to the disk, and gives it its name. Returns how many
    /// bytes were added.
    pub(crate) fn finish(self) -> io::Result<u64> {
        let mut all = self.new.lock().unwrap_or_else(PoisonError::into_inner);
        if all.is_empty() {
            return Ok(0);
        }
        if all.len() > MAX_SINGLE_SYNCS {
            sync_disk(&self.contents.folder, &all)?;
        } else {
            sync_each(&all)?;
        }
        for (path, name) in &*all {
            fs::rename(path, name)?;
        }
        all.clear();
        system::sync_folder(&self.contents.folder)?;
        Ok(self.bytes.load(Ordering::Relaxed))
    }
}

impl Drop for Batch<'_> {
    fn drop(&mut self) {
        let all = self.new.lock().unwrap_or_else(PoisonError::into_inner);
        for (path, _) in &*all {
            // What stays is swept with the next collection.
            let _ = fs::remove_file(path);
        }
    }
}

/// Copies up to `size` bytes, and returns their size and hash.
fn copy(from: &mut File, to: &mut File, size: u64) -> io::Result<Content> {
    let mut from = from.take(size);
    let mut hasher = blake3::Hasher::new();
    let mut piece = vec![0; PIECE];
    loop {
        let read = from.read(&mut piece)?;
        let bytes = piece.get(..read).unwrap_or_default();
        if bytes.is_empty() {
            break;
        }
        hasher.update(bytes);
        to.write_all(bytes)?;
    }
    Ok(Content {
        hash: *hasher.finalize().as_bytes(),
        size: hasher.count(),
    })
}

/// Whether a new file could be made to share the blocks of another one, as some
/// file systems can.
#[cfg(target_os = "linux")]
fn shares_blocks(file: &File, new: &File) -> bool {
    rustix::fs::ioctl_ficlone(new, file).is_ok()
}

#[cfg(not(target_os = "linux"))]
fn shares_blocks(_file: &File, _new: &File) -> bool {
    false
}

/// Syncs the whole disk, with all these files.
#[cfg(target_os = "linux")]
fn sync_disk(folder: &Path, _files: &[(PathBuf, PathBuf)]) -> io::Result<()> {
    Ok(rustix::fs::syncfs(File::open(folder)?)?)
}

#[cfg(not(target_os = "linux"))]
fn sync_disk(_folder: &Path, files: &[(PathBuf, PathBuf)]) -> io::Result<()> {
    sync_each(files)
}

fn sync_each(files: &[(PathBuf, PathBuf)]) -> io::Result<()> {
    for (path, _) in files {
        // Windows syncs only what is open for writing.
        File::options().write(true).open(path)?.sync_data()?;
    }
    Ok(())
}
