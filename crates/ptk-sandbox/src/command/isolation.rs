//! The namespaces of a program: no processes but its own, a network with nothing
//! in it, and mounts that only it sees.
//!
//! The user's own rights suffice for it where the system lets users make
//! namespaces; root needs no namespace of users.

use std::fs;
use std::io;
use std::path::Path;

use nix::sched::{CloneFlags, unshare};
use rustix::process::{Gid, Uid, getegid, geteuid};
use rustix::thread::{
    CapabilitySet, CapabilitySets, capabilities, configure_capability_in_ambient_set,
    set_capabilities,
};

use super::policy::Policy;
use super::words::Isolated;

/// The rights that the keeper needs to set the view up, and to look into
/// programs that hide their memory.
const NEEDED: [CapabilitySet; 3] = [
    CapabilitySet::SYS_ADMIN,
    CapabilitySet::NET_ADMIN,
    CapabilitySet::SYS_PTRACE,
];

/// Why a process got no namespaces of its own.
pub(super) enum Refusal {
    /// The system does not allow it. Nothing was changed.
    Refused(io::Error),
    /// It failed half way.
    Confused(io::Error),
}

/// Leaves the namespaces of the system. What is started next is the first
/// process in a namespace of processes.
pub(super) fn leave(policy: &Policy) -> Result<Isolated, Refusal> {
    let mut flags = CloneFlags::CLONE_NEWNS | CloneFlags::CLONE_NEWPID | CloneFlags::CLONE_NEWIPC;
    flags.set(CloneFlags::CLONE_NEWNET, !policy.network);
    let (user, group) = (geteuid(), getegid());
    if !(user.is_root() && unshare(flags).is_ok()) {
        let flags = flags | CloneFlags::CLONE_NEWUSER;
        unshare(flags).map_err(|error| Refusal::Refused(error.into()))?;
        let has_layers = !policy.layers.is_empty();
        stay(user, group, has_layers).map_err(Refusal::Confused)?;
    }
    Ok(Isolated {
        processes: true,
        network: !policy.network,
        folders: false,
    })
}

/// Keeps user and group in the new namespace of users, and lets the next
/// program have the rights that are needed.
fn stay(user: Uid, group: Gid, has_layers: bool) -> io::Result<()> {
    let (user, group) = (user.as_raw(), group.as_raw());
    fs::write("/proc/self/setgroups", "deny")?;
    fs::write("/proc/self/uid_map", format!("{user} {user} 1"))?;
    fs::write("/proc/self/gid_map", format!("{group} {group} 1"))?;
    let sets = capabilities(None)?;
    // Overlayfs works in a folder that not even its owner may enter. In a
    // namespace of users, this right reaches only the user's own files.
    let of_layers = has_layers.then_some(CapabilitySet::DAC_OVERRIDE);
    let needed: CapabilitySet = NEEDED.into_iter().chain(of_layers).collect();
    set_capabilities(
        None,
        CapabilitySets {
            inheritable: sets.inheritable | needed,
            ..sets
        },
    )?;
    for right in needed.iter() {
        configure_capability_in_ambient_set(right, true)?;
    }
    Ok(())
}

/// The first kernel in which the highest number of a process belongs to the
/// namespace. Before, it was that of the whole system.
const OWN_NUMBERS: (u32, u32) = (6, 14);
/// Process numbers that are not reused at once.
const RESERVED: u64 = 300;

/// Limits how many processes there can be in the namespace that is shown in a
/// folder, such as `/proc`.
pub(super) fn limit_processes(shown: &Path, most: u64) -> io::Result<()> {
    let kernel = fs::read_to_string(shown.join("sys/kernel/osrelease"))?;
    let mut numbers = kernel.split(|sign: char| !sign.is_ascii_digit());
    let mut number = || numbers.next()?.parse().ok();
    let version = number().zip(number());
    if version.is_some_and(|version| version >= OWN_NUMBERS) {
        let highest = format!("{}", most + RESERVED);
        fs::write(shown.join("sys/kernel/pid_max"), highest)?;
    }
    Ok(())
}
