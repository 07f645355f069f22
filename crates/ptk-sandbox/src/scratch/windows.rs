//! Folders cannot be locked on Windows, so nothing is taken for a leftover.

use std::io;
use std::path::Path;
use std::thread::JoinHandle;

use tempfile::TempDir;

pub(super) type Lock = ();

#[expect(
    clippy::unnecessary_wraps,
    reason = "the same function can fail on other systems"
)]
pub(super) fn lock(_folder: &Path) -> io::Result<(Lock, bool)> {
    Ok(((), false))
}

pub(super) fn sweep(_own: &TempDir, _lock: &Lock) -> Option<JoinHandle<()>> {
    None
}
