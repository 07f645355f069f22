//! Unix.

use std::fs::{self, File, Metadata, Permissions};
use std::io;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::Path;

use ptk_sandbox::Moment;
use rustix::io::Errno;
use rustix::process::{Pid, test_kill_process};

/// The permission that an owner needs to read a file.
const READABLE: u32 = 0o400;

/// Why changes cannot be laid over a workspace. Where the system has no layers,
/// that is found out when a command is started.
pub(crate) const NO_LAYERS: Option<&str> = None;

/// Where a folder is mounted, and on which disk. Files can be moved between
/// folders only where both are the same.
#[cfg(target_os = "linux")]
pub(crate) fn disk(path: &Path) -> io::Result<(u64, (u32, u32))> {
    use rustix::fs::{AtFlags, CWD, StatxFlags, statx};

    let wanted = StatxFlags::BASIC_STATS | StatxFlags::MNT_ID;
    let found = statx(CWD, path, AtFlags::empty(), wanted)?;
    Ok((found.stx_mnt_id, (found.stx_dev_major, found.stx_dev_minor)))
}

/// There are no layers elsewhere.
#[cfg(not(target_os = "linux"))]
pub(crate) fn disk(path: &Path) -> io::Result<u64> {
    Ok(fs::metadata(path)?.dev())
}

/// When anything of a file was last changed.
pub(crate) fn changed(metadata: &Metadata) -> Moment {
    let nanoseconds = u32::try_from(metadata.ctime_nsec()).unwrap_or_default();
    (metadata.ctime(), nanoseconds)
}

/// Whether a file has more than one name.
pub(crate) fn has_other_names(metadata: &Metadata) -> bool {
    metadata.nlink() > 1
}

/// Lets the owner read a file that he may not.
pub(crate) fn make_readable(path: &Path, metadata: &Metadata) -> io::Result<()> {
    if metadata.mode() & READABLE == READABLE {
        return Ok(());
    }
    fs::set_permissions(path, Permissions::from_mode(0o600))
}

/// Sets the permissions of a folder.
pub(crate) fn set_mode(folder: &Path, mode: u32) -> io::Result<()> {
    fs::set_permissions(folder, Permissions::from_mode(mode))
}

/// Brings the names in a folder to the disk.
pub(crate) fn sync_folder(folder: &Path) -> io::Result<()> {
    File::open(folder)?.sync_all()
}

/// Whether there is a process of this number.
pub(crate) fn is_process(number: u32) -> bool {
    let process = i32::try_from(number).ok().and_then(Pid::from_raw);
    process.is_some_and(|process| test_kill_process(process) != Err(Errno::SRCH))
}
