//! The folder of a profile: closed to others, and used by one process.

use std::fs;
use std::io;
use std::os::unix::fs::{DirBuilderExt as _, PermissionsExt as _};
use std::path::Path;

use crate::trouble::Trouble;

/// The symlink in a profile that names the process using it: its target is the
/// host name, a dash, and the process id.
const LOCK: &str = "SingletonLock";
/// Permissions of the profile folder, which holds logins: owner only.
const PRIVATE: u32 = 0o700;

/// Whether a browser would run as root.
pub(crate) fn is_of_root() -> bool {
    rustix::process::geteuid().is_root()
}

/// Creates a profile, readable by the user only, and fails if another process
/// uses it.
pub(crate) fn claim(profile: &Path) -> Result<(), Trouble> {
    make_private(profile).map_err(|source| Trouble::Profile {
        profile: profile.to_owned(),
        source,
    })?;
    match user_of(profile) {
        None => Ok(()),
        Some(pid) => Err(Trouble::InUse {
            profile: profile.to_owned(),
            pid,
        }),
    }
}

fn make_private(folder: &Path) -> io::Result<()> {
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true).mode(PRIVATE).create(folder)?;
    fs::set_permissions(folder, fs::Permissions::from_mode(PRIVATE))
}

/// The id of the running process that uses a profile. A lock from another
/// machine is ignored here: Chromium itself decides about it.
fn user_of(profile: &Path) -> Option<u32> {
    let target = fs::read_link(profile.join(LOCK)).ok()?;
    let (host, pid) = target.to_str()?.rsplit_once('-')?;
    if rustix::system::uname().nodename().to_str().ok() != Some(host) {
        return None;
    }
    let pid: i32 = pid.parse().ok()?;
    let process = rustix::process::Pid::from_raw(pid)?;
    match rustix::process::test_kill_process(process) {
        Err(rustix::io::Errno::SRCH) => None,
        _ => u32::try_from(pid).ok(),
    }
}
