//! Windows: a file has one bit of permissions, "read-only", and no owner that
//! can be given back. Links are not made: only an administrator may.

use std::borrow::Cow;
use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, Seek as _, SeekFrom};
use std::os::windows::fs::FileExt as _;
use std::path::Path;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use cap_fs_ext::{DirExt as _, MetadataExt as _, SystemTimeSpec};
use cap_std::fs::{Dir, Metadata, OpenOptions};

use super::names;
use crate::kind::Kind;
use crate::node::{Moment, Node};
use crate::restore::Attributes;
use crate::temporary::Visibility;

/// What is wrong with a path that is spelled differently on the disk.
const MISSPELLED: &str =
    "on the disk one of its names has other letters; write each as its folder lists it";

/// The modes that stand for a file that can be written, and for one that is
/// read-only.
const WRITABLE: u32 = 0o600;
const READ_ONLY: u32 = 0o400;
/// The bit that tells them apart.
const WRITE: u32 = 0o200;

pub(crate) fn node(metadata: &Metadata) -> Node {
    let modified = metadata.modified().ok().map(|time| time.into_std());
    let modified = modified.map_or((0, 0), moment);
    Node {
        kind: Kind::of(metadata.file_type()),
        mode: if metadata.permissions().readonly() {
            READ_ONLY
        } else {
            WRITABLE
        },
        size: metadata.len(),
        owner: (0, 0),
        modified,
        // The standard library does not give the time of the last change.
        changed: modified,
        inode: metadata.ino(),
    }
}

fn moment(time: SystemTime) -> Moment {
    let since = time.duration_since(UNIX_EPOCH).unwrap_or_default();
    let seconds = i64::try_from(since.as_secs()).unwrap_or(i64::MAX);
    (seconds, since.subsec_nanos())
}

fn time((seconds, nanoseconds): Moment) -> io::Result<SystemTime> {
    let since = Duration::new(u64::try_from(seconds).unwrap_or_default(), nanoseconds);
    UNIX_EPOCH
        .checked_add(since)
        .ok_or_else(|| io::ErrorKind::InvalidInput.into())
}

/// Gives an open file its time, and makes it read-only if it was.
pub(crate) fn give(file: &File, attributes: &Attributes) -> io::Result<()> {
    file.set_modified(time(attributes.modified)?)?;
    let mut permissions = file.metadata()?.permissions();
    permissions.set_readonly(attributes.mode & WRITE == 0);
    file.set_permissions(permissions)
}

/// The folder inherits the access list of the one that it lies in.
pub(crate) fn create_private_in(folder: &Dir, name: &OsStr) -> io::Result<()> {
    folder.create_dir(name)
}

pub(crate) fn set_mode_in(folder: &Dir, name: &OsStr, mode: u32) -> io::Result<()> {
    let metadata = folder.symlink_metadata(name)?;
    // The bit means something else for folders.
    if metadata.is_dir() {
        return Ok(());
    }
    let mut permissions = metadata.permissions();
    permissions.set_readonly(mode & WRITE == 0);
    folder.set_permissions(name, permissions)
}

pub(crate) fn set_time_in(folder: &Dir, name: &OsStr, modified: Moment) -> io::Result<()> {
    let time = cap_std::time::SystemTime::from_std(time(modified)?);
    folder.set_symlink_times(name, None, Some(SystemTimeSpec::Absolute(time)))
}

/// Fails: whether a link is one to a file or to a folder is not kept, and most
/// users may not make any.
pub(crate) fn link(_folder: &Dir, _leads_to: &Path, _name: &str) -> io::Result<()> {
    Err(io::Error::new(
        io::ErrorKind::Unsupported,
        "PTK makes no symbolic links on Windows",
    ))
}

/// How a file is opened that must not exist yet. It inherits the access list of
/// its folder.
pub(crate) fn writing(_visibility: Visibility) -> OpenOptions {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    options
}

/// Opens the file for writing, since only the system knows its access list.
pub(crate) fn may_write(folder: &Dir, name: &OsStr) -> io::Result<()> {
    folder
        .open_with(name, OpenOptions::new().write(true))
        .map(drop)
}

/// A file that is replaced is not read-only, and has no other permissions that
/// can be kept here.
pub(crate) fn keep_permissions(_file: &cap_std::fs::File, _old: &Metadata) -> io::Result<()> {
    Ok(())
}

pub(crate) fn is_link_loop(_error: &io::Error) -> bool {
    false
}

/// A path as walks and ignore files have it: bytes with `/` between names.
pub(crate) fn with_slashes(path: &Path) -> Cow<'_, [u8]> {
    let bytes = path.as_os_str().as_encoded_bytes();
    let slash = |byte: &u8| if *byte == b'\\' { b'/' } else { *byte };
    Cow::Owned(bytes.iter().map(slash).collect())
}

/// Whether two names, or paths without links, stand for the same file: in
/// whatever letters.
pub(crate) fn is_same_name(one: &OsStr, other: &OsStr) -> bool {
    one.to_string_lossy().to_lowercase() == other.to_string_lossy().to_lowercase()
}

/// Why a path in a root cannot be used: one of its names stands for something
/// else, or is spelled differently on the disk. Rules and secrets are compared
/// with names, so each file must have one name only.
pub(crate) fn name_problem(root: &Path, path: &Path) -> Option<&'static str> {
    let below = path.strip_prefix(root).ok()?;
    let problem = below
        .iter()
        .find_map(|name| names::problem(&name.to_string_lossy()));
    problem.or_else(|| names::is_misspelled(root, below).then_some(MISSPELLED))
}

/// Fills a buffer with what a file holds from a position on. Where the file is
/// read next stays the same.
///
/// # Errors
///
/// If the file cannot be read, or ends before.
pub fn read_exact_at(mut file: &File, bytes: &mut [u8], position: u64) -> io::Result<()> {
    let before = file.stream_position()?;
    let mut done = 0;
    while let Some(rest) = bytes.get_mut(done..).filter(|rest| !rest.is_empty()) {
        match file.seek_read(rest, position + done as u64)? {
            0 => return Err(io::ErrorKind::UnexpectedEof.into()),
            read => done += read,
        }
    }
    // Reading at a position moves it.
    file.seek(SeekFrom::Start(before))?;
    Ok(())
}
