//! What a program inherits: its three streams, and nothing else. Everything
//! else that was open in the process that started `ptk`, or in `ptk` itself,
//! stays there.

use std::fs;
use std::io;
use std::os::fd::RawFd;

/// The first descriptor behind the three streams.
pub(super) const FIRST: u32 = 3;

/// Closes all descriptors from `first` on. Only for a process that has just
/// started, and has opened none of them itself.
pub(super) fn close_from(first: u32) -> io::Result<()> {
    // Kernels before 5.9 do not know it.
    ptk_seccomp::close_from(first).or_else(|_| close_listed(first))
}

/// Closes the descriptors from `first` on that the system lists.
fn close_listed(first: u32) -> io::Result<()> {
    let listed: Vec<RawFd> = fs::read_dir("/proc/self/fd")?
        .filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok())
        .filter(|descriptor| i64::from(*descriptor) >= i64::from(first))
        .collect();
    for descriptor in listed {
        // The one by which the list was read is closed already.
        let _ = nix::unistd::close(descriptor);
    }
    Ok(())
}

/// Keeps inherited descriptors from all programs that this process starts.
/// Kernels before 5.11 cannot do that; there it is left to the helper.
pub(super) fn keep_inherited_from_children() {
    let _ = ptk_seccomp::close_on_exec_from(FIRST);
}
