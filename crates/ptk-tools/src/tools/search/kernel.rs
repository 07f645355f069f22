//! The walk's jail as Linux keeps it: `openat2` with no link on the way.

use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;
use std::time::{Duration, SystemTime};

use ptk_sandbox::{Kind, Place};
use rustix::fs::{
    AtFlags, CWD, FileType, Mode, OFlags, RawDir, ResolveFlags, fstat, openat, openat2, statat,
};
use rustix::io::Errno;

use super::jail::Listing;

/// Room for the entries that the kernel gives at once.
const ENTRIES: usize = 32 * 1024;
/// How often an open is repeated that a rename elsewhere got in the way of.
const RETRIES: usize = 16;
/// How files are opened: no link, and no wait for the other end of a pipe.
const FILE: OFlags = OFlags::RDONLY
    .union(OFlags::NOFOLLOW)
    .union(OFlags::NONBLOCK)
    .union(OFlags::NOCTTY)
    .union(OFlags::CLOEXEC);

/// The handle of the folder that a walk begins in.
#[derive(Debug)]
pub(crate) struct Start(OwnedFd);

/// The handle of a folder beneath it.
#[derive(Debug)]
pub(crate) struct FolderHandle(OwnedFd);

impl Start {
    /// Opens the folder. Links on the way to it are followed as long as they
    /// stay in its root, since the caller named it.
    pub(super) fn open(place: &Place) -> io::Result<Self> {
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let root = openat(CWD, place.root(), flags, Mode::empty())?;
        let path = place.relative();
        if path.as_os_str().is_empty() {
            // Checks that the kernel, or a filter before it, knows the call.
            return Ok(Self(enter(&root, b".", ResolveFlags::BENEATH)?));
        }
        let path = path.as_os_str().as_encoded_bytes();
        Ok(Self(enter(&root, path, ResolveFlags::BENEATH)?))
    }

    pub(super) fn folder(&self, path: &[u8], listing: &mut Listing) -> io::Result<FolderHandle> {
        let path = if path.is_empty() { b"." } else { path };
        let rules = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS;
        let handle = enter(&self.0, path, rules)?;
        let mut room = Vec::with_capacity(ENTRIES);
        let mut entries = RawDir::new(&handle, room.spare_capacity_mut());
        while let Some(entry) = entries.next() {
            let entry = entry?;
            let name = entry.file_name();
            if name == c"." || name == c".." {
                continue;
            }
            let kind = match entry.file_type() {
                FileType::Unknown => statat(&handle, name, AtFlags::SYMLINK_NOFOLLOW)
                    .map_or(Kind::Other, |stat| {
                        kind(FileType::from_raw_mode(stat.st_mode))
                    }),
                known => kind(known),
            };
            listing.push(name.to_bytes(), kind);
        }
        Ok(FolderHandle(handle))
    }

    pub(super) fn open_beneath(&self, path: &[u8]) -> io::Result<(File, u64)> {
        open_beneath(&self.0, path)
    }
}

impl FolderHandle {
    pub(super) fn open(&self, name: &[u8]) -> io::Result<(File, u64)> {
        regular(openat(&self.0, name, FILE, Mode::empty())?)
    }

    pub(super) fn open_beneath(&self, path: &[u8]) -> io::Result<(File, u64)> {
        open_beneath(&self.0, path)
    }

    pub(super) fn modified(&self, name: &[u8]) -> io::Result<SystemTime> {
        let stat = statat(&self.0, name, AtFlags::SYMLINK_NOFOLLOW)?;
        let nanos = Duration::from_nanos(stat.st_mtime_nsec);
        let seconds = Duration::from_secs(stat.st_mtime.unsigned_abs());
        let time = if stat.st_mtime < 0 {
            SystemTime::UNIX_EPOCH.checked_sub(seconds)
        } else {
            SystemTime::UNIX_EPOCH.checked_add(seconds)
        };
        let time = time.and_then(|time| time.checked_add(nanos));
        Ok(time.unwrap_or(SystemTime::UNIX_EPOCH))
    }
}

fn open_beneath(folder: &OwnedFd, path: &[u8]) -> io::Result<(File, u64)> {
    let rules = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS;
    regular(openat2(folder, path, FILE, Mode::empty(), rules)?)
}

/// A regular file, as the file may have been replaced since it was listed.
fn regular(handle: OwnedFd) -> io::Result<(File, u64)> {
    let stat = fstat(&handle)?;
    if FileType::from_raw_mode(stat.st_mode) != FileType::RegularFile {
        return Err(io::Error::other("it is not a regular file"));
    }
    Ok((File::from(handle), stat.st_size.try_into().unwrap_or(0)))
}

fn enter(from: &OwnedFd, path: &[u8], rules: ResolveFlags) -> io::Result<OwnedFd> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let rules = rules | ResolveFlags::NO_MAGICLINKS;
    for _ in 0..RETRIES {
        match openat2(from, path, flags, Mode::empty(), rules) {
            Err(Errno::AGAIN) => {}
            result => return Ok(result?),
        }
    }
    Err(Errno::AGAIN.into())
}

fn kind(file_type: FileType) -> Kind {
    match file_type {
        FileType::RegularFile => Kind::File,
        FileType::Directory => Kind::Folder,
        FileType::Symlink => Kind::Link,
        FileType::Fifo => Kind::Pipe,
        FileType::Socket => Kind::Socket,
        FileType::CharacterDevice | FileType::BlockDevice => Kind::Device,
        FileType::Unknown => Kind::Other,
    }
}
