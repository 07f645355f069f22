//! The rights of a program: none that only root has, but for those over the
//! user's files, and no way to get more.

use std::io;

use nix::sys::resource::{Resource, getrlimit, setrlimit};
use rustix::process::geteuid;
use rustix::thread::{
    CapabilitySet, CapabilitySets, capabilities, capability_is_in_bounding_set,
    clear_ambient_capability_set, remove_capability_from_bounding_set, set_capabilities,
    set_no_new_privs,
};

use super::policy::Limits;

/// The rights that root uses for files of users, and installers for their own.
const OF_ROOT: [CapabilitySet; 7] = [
    CapabilitySet::CHOWN,
    CapabilitySet::DAC_OVERRIDE,
    CapabilitySet::FOWNER,
    CapabilitySet::FSETID,
    CapabilitySet::SETGID,
    CapabilitySet::SETUID,
    CapabilitySet::KILL,
];

/// Gives up all other rights, for this process and what it becomes.
pub(super) fn give_up() -> io::Result<()> {
    set_no_new_privs(true)?;
    clear_ambient_capability_set()?;
    let kept: CapabilitySet = if geteuid().is_root() {
        OF_ROOT.into_iter().collect()
    } else {
        CapabilitySet::empty()
    };
    let kept = kept & capabilities(None)?.permitted;
    for right in CapabilitySet::all().iter() {
        if !kept.contains(right) && capability_is_in_bounding_set(right).unwrap_or(false) {
            // A process that may not do this has no rights to give up.
            let _ = remove_capability_from_bounding_set(right);
        }
    }
    set_capabilities(
        None,
        CapabilitySets {
            effective: kept,
            permitted: kept,
            inheritable: CapabilitySet::empty(),
        },
    )?;
    Ok(())
}

/// Limits what this process and those below it can use.
pub(super) fn limit(limits: Limits) -> Result<(), String> {
    for (resource, limit) in [
        (Resource::RLIMIT_DATA, limits.memory),
        (Resource::RLIMIT_NPROC, limits.processes),
        (Resource::RLIMIT_FSIZE, limits.file_size),
        (Resource::RLIMIT_CORE, 0),
    ] {
        let limit = getrlimit(resource).map_or(limit, |(_, hard)| limit.min(hard));
        setrlimit(resource, limit, limit).map_err(|error| format!("{resource:?}: {error}"))?;
    }
    Ok(())
}
