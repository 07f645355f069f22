//! What Unix and Windows do differently.

use std::fs::Metadata;
use std::io;

/// Whether too many files are open, here or in the whole system.
#[cfg(unix)]
pub(crate) fn is_out_of_files(error: &io::Error) -> bool {
    use rustix::io::Errno;

    let full = [Errno::MFILE, Errno::NFILE].map(Errno::raw_os_error);
    error
        .raw_os_error()
        .is_some_and(|said| full.contains(&said))
}

/// Whether too many files are open.
#[cfg(windows)]
pub(crate) fn is_out_of_files(error: &io::Error) -> bool {
    /// The number of this error, `ERROR_TOO_MANY_OPEN_FILES`.
    const TOO_MANY: i32 = 4;

    error.raw_os_error() == Some(TOO_MANY)
}

/// Whether any execute permission of a file is set.
#[cfg(unix)]
pub(crate) fn may_run(metadata: &Metadata) -> bool {
    use std::os::unix::fs::PermissionsExt as _;

    metadata.permissions().mode() & 0o111 != 0
}

/// Whether any execute permission of a file is set. Files have none for
/// that.
#[cfg(windows)]
pub(crate) fn may_run(_metadata: &Metadata) -> bool {
    true
}
