//! Folders and files as a walk opens them: beneath one folder, through no link.

use std::fs::File;
use std::io;
use std::time::SystemTime;

use bstr::ByteSlice as _;
use ptk_sandbox::{Kind, PathError, Place};

#[cfg(target_os = "linux")]
use super::kernel;

/// The folder that a walk begins in.
///
/// On Linux its handle is all that the walk starts from, and the kernel refuses
/// every path beneath it that has a link in it. Elsewhere, and where a filter of
/// system calls forbids that, everything goes through the workspace's own jail,
/// which is slower.
#[derive(Debug)]
pub(crate) enum Jail {
    #[cfg(target_os = "linux")]
    Kernel(kernel::Start),
    Place(Place),
}

/// A folder that is open.
#[derive(Debug)]
pub(crate) enum Folder {
    #[cfg(target_os = "linux")]
    Kernel(kernel::FolderHandle),
    Place(Place),
}

/// The entries of a folder, in one piece of memory that is used again.
#[derive(Debug, Default)]
pub(crate) struct Listing {
    names: Vec<u8>,
    entries: Vec<(usize, usize, Kind)>,
}

impl Listing {
    pub(super) fn clear(&mut self) {
        self.names.clear();
        self.entries.clear();
    }

    pub(super) fn push(&mut self, name: &[u8], kind: Kind) {
        let start = self.names.len();
        self.names.extend_from_slice(name);
        self.entries.push((start, self.names.len(), kind));
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (&[u8], Kind)> {
        let name = |start: usize, end: usize| self.names.get(start..end).unwrap_or_default();
        self.entries
            .iter()
            .map(move |(start, end, kind)| (name(*start, *end), *kind))
    }
}

impl Jail {
    /// The folder at this place. Opens it on the thread that is to walk, after
    /// that was confined.
    pub(crate) fn new(place: &Place) -> Self {
        #[cfg(target_os = "linux")]
        if let Ok(start) = kernel::Start::open(place) {
            return Self::Kernel(start);
        }
        Self::Place(place.clone())
    }

    /// Opens a folder and reads its entries. The path is relative, and ends
    /// with `/` unless it is empty.
    pub(crate) fn folder(&self, path: &[u8], listing: &mut Listing) -> io::Result<Folder> {
        listing.clear();
        match self {
            #[cfg(target_os = "linux")]
            Self::Kernel(start) => start.folder(path, listing).map(Folder::Kernel),
            Self::Place(place) => {
                let place = beneath(place, path)?;
                for entry in place.read_dir().map_err(io_error)? {
                    let entry = entry.map_err(io_error)?;
                    listing.push(entry.name().as_encoded_bytes(), entry.kind());
                }
                Ok(Folder::Place(place))
            }
        }
    }

    /// Opens a regular file by its relative path, and returns how long it is.
    pub(crate) fn open(&self, path: &[u8]) -> io::Result<(File, u64)> {
        match self {
            #[cfg(target_os = "linux")]
            Self::Kernel(start) => start.open_beneath(path),
            Self::Place(place) => open(&beneath(place, path)?),
        }
    }
}

impl Folder {
    /// Opens a regular file in it, and returns how long it is. Never waits: a
    /// pipe is refused.
    pub(crate) fn open(&self, name: &[u8]) -> io::Result<(File, u64)> {
        match self {
            #[cfg(target_os = "linux")]
            Self::Kernel(folder) => folder.open(name),
            Self::Place(place) => open(&beneath(place, name)?),
        }
    }

    /// The text of `.git/info/exclude`, if it has one.
    pub(crate) fn exclude(&self) -> Option<Vec<u8>> {
        let file = match self {
            #[cfg(target_os = "linux")]
            Self::Kernel(folder) => folder.open_beneath(b".git/info/exclude").ok()?.0,
            Self::Place(place) => beneath(place, b".git/info/exclude").ok()?.open().ok()?,
        };
        super::rules::text(file).ok()
    }

    /// When a file in it was last modified.
    pub(crate) fn modified(&self, name: &[u8]) -> io::Result<SystemTime> {
        match self {
            #[cfg(target_os = "linux")]
            Self::Kernel(folder) => folder.modified(name),
            Self::Place(place) => {
                let metadata = beneath(place, name)?.symlink_metadata().map_err(io_error)?;
                Ok(metadata.modified.unwrap_or(SystemTime::UNIX_EPOCH))
            }
        }
    }
}

/// Opens a regular file, and returns how long it is.
pub(crate) fn open(place: &Place) -> io::Result<(File, u64)> {
    let file = place.open().map_err(io_error)?;
    let size = file.metadata()?.len();
    Ok((file, size))
}

fn beneath(place: &Place, path: &[u8]) -> io::Result<Place> {
    let path = path.to_str().map_err(io::Error::other)?;
    let absolute = place.absolute().join(path.trim_end_matches('/'));
    let absolute = absolute.to_str().ok_or_else(|| {
        io::Error::new(
            io::ErrorKind::InvalidFilename,
            "the name is not valid UTF-8",
        )
    })?;
    place.workspace().resolve(absolute).map_err(io_error)
}

fn io_error(error: PathError) -> io::Error {
    let kind = match &error {
        PathError::NotFound { .. } => io::ErrorKind::NotFound,
        PathError::PermissionDenied { .. } => io::ErrorKind::PermissionDenied,
        _ => io::ErrorKind::Other,
    };
    io::Error::new(kind, error)
}
