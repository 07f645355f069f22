//! Unix: modes, owners and times are kept and given back.

use std::borrow::Cow;
use std::ffi::OsStr;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt as _;
use std::path::Path;

use cap_std::fs::{Dir, DirBuilder, Metadata, OpenOptions, Permissions};
use rustix::fs::{Access, AtFlags, Gid, Timestamps, Uid, accessat, fchown, futimens, utimensat};

use crate::kind::Kind;
use crate::node::{Moment, Node};
use crate::restore::Attributes;
use crate::temporary::Visibility;

pub(crate) fn node(metadata: &Metadata) -> Node {
    use cap_std::fs::MetadataExt as _;

    let nanoseconds = |part: i64| u32::try_from(part).unwrap_or_default();
    Node {
        kind: Kind::of(metadata.file_type()),
        mode: metadata.mode() & 0o7777,
        size: metadata.len(),
        owner: (metadata.uid(), metadata.gid()),
        modified: (metadata.mtime(), nanoseconds(metadata.mtime_nsec())),
        changed: (metadata.ctime(), nanoseconds(metadata.ctime_nsec())),
        inode: metadata.ino(),
    }
}

/// Gives an open file its permissions, its owner and its time.
pub(crate) fn give(file: &File, attributes: &Attributes) -> io::Result<()> {
    use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};

    let new = file.metadata()?;
    let (user, group) = attributes.owner;
    let mut mode = attributes.mode;
    if (new.uid(), new.gid()) != attributes.owner {
        let owner = (Uid::from_raw(user), Gid::from_raw(group));
        // Only the superuser can. What runs as its owner must not run as
        // another one.
        if fchown(file, Some(owner.0), Some(owner.1)).is_err() {
            mode &= 0o777;
        }
    }
    file.set_permissions(std::fs::Permissions::from_mode(mode))?;
    futimens(file, &times(attributes.modified))?;
    Ok(())
}

pub(crate) fn create_private_in(folder: &Dir, name: &OsStr) -> io::Result<()> {
    use cap_std::fs::DirBuilderExt as _;

    let mut builder = DirBuilder::new();
    builder.mode(0o700);
    folder.create_dir_with(name, &builder)
}

pub(crate) fn set_mode_in(folder: &Dir, name: &OsStr, mode: u32) -> io::Result<()> {
    use cap_std::fs::PermissionsExt as _;

    // A link that takes its place in this instant is followed, but not out of
    // the folder.
    folder.set_permissions(name, Permissions::from_mode(mode))
}

pub(crate) fn set_time_in(folder: &Dir, name: &OsStr, modified: Moment) -> io::Result<()> {
    let flags = AtFlags::SYMLINK_NOFOLLOW;
    utimensat(folder, name, &times(modified), flags)?;
    Ok(())
}

fn times((seconds, nanoseconds): Moment) -> Timestamps {
    use rustix::fs::{Timespec, UTIME_OMIT};

    Timestamps {
        last_access: Timespec {
            tv_sec: 0,
            tv_nsec: UTIME_OMIT,
        },
        last_modification: Timespec {
            tv_sec: seconds,
            tv_nsec: nanoseconds.into(),
        },
    }
}

/// Makes a link, wherever it leads.
pub(crate) fn link(folder: &Dir, leads_to: &Path, name: &str) -> io::Result<()> {
    folder.symlink_contents(leads_to, name)
}

/// How a file is opened that must not exist yet.
pub(crate) fn writing(visibility: Visibility) -> OpenOptions {
    use cap_std::fs::OpenOptionsExt as _;

    let mut options = OpenOptions::new();
    options.write(true).create_new(true).mode(match visibility {
        Visibility::New => 0o644,
        Visibility::Private => 0o600,
    });
    options
}

pub(crate) fn may_write(folder: &Dir, name: &OsStr) -> io::Result<()> {
    let flags = AtFlags::EACCESS;
    accessat(folder, name, Access::WRITE_OK, flags)?;
    Ok(())
}

pub(crate) fn keep_permissions(file: &cap_std::fs::File, old: &Metadata) -> io::Result<()> {
    use cap_std::fs::{MetadataExt as _, PermissionsExt as _};

    let new = file.metadata()?;
    let (owner, group) = (Uid::from_raw(old.uid()), Gid::from_raw(old.gid()));
    if new.uid() != old.uid() {
        // Only the superuser can; for others the new owner is the writer.
        let _ = fchown(file, Some(owner), None);
    }
    let mut mode = old.mode() & 0o777;
    if new.gid() != old.gid() && fchown(file, None, Some(group)).is_err() {
        // What the old group could do, another one must not be able to.
        mode = mode & 0o707 | (mode & 0o007) << 3 & mode;
    }
    file.set_permissions(Permissions::from_mode(mode))
}

pub(crate) fn is_link_loop(error: &io::Error) -> bool {
    rustix::io::Errno::from_io_error(error) == Some(rustix::io::Errno::LOOP)
}

/// A path as walks and ignore files have it: bytes with `/` between names.
pub(crate) fn with_slashes(path: &Path) -> Cow<'_, [u8]> {
    Cow::Borrowed(path.as_os_str().as_encoded_bytes())
}

/// Whether two names, or paths without links, stand for the same file.
pub(crate) fn is_same_name(one: &OsStr, other: &OsStr) -> bool {
    one == other
}

/// Why a path cannot be used though it is a path: names are taken as they are.
pub(crate) fn name_problem(_root: &Path, _path: &Path) -> Option<&'static str> {
    None
}

/// Fills a buffer with what a file holds from a position on. Where the file is
/// read next stays the same.
///
/// # Errors
///
/// If the file cannot be read, or ends before.
pub fn read_exact_at(file: &File, bytes: &mut [u8], position: u64) -> io::Result<()> {
    file.read_exact_at(bytes, position)
}
