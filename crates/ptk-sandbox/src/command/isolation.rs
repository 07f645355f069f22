//! A view of the system of the program's own, by namespaces: no processes but
//! its own, a network with nothing in it, temporary folders and a home that
//! nobody else uses.
//!
//! The user's own rights suffice for it where the system lets users make
//! namespaces; root needs no namespace of users.

use std::ffi::OsString;
use std::fs;
use std::io;
use std::os::fd::{AsRawFd as _, OwnedFd};
use std::os::unix::ffi::OsStringExt as _;
use std::path::{Path, PathBuf};

use nix::mount::{MsFlags, mount};
use nix::sched::{CloneFlags, unshare};
use rustix::fs::{FileType, Mode, OFlags, StatVfs, StatVfsMountFlags, fstatvfs};
use rustix::process::{Gid, Uid, getegid, geteuid};
use rustix::thread::{
    CapabilitySet, CapabilitySets, capabilities, configure_capability_in_ambient_set,
    set_capabilities,
};

use super::policy::Policy;
use super::words::Isolated;

/// Folders that programs share, and in which services have their sockets.
const SHARED: [&str; 4] = ["/run", "/tmp", "/var/tmp", "/dev/shm"];
/// Those of them that a program may use as it likes, once they are its own.
pub(super) const WRITABLE: [&str; 3] = ["/tmp", "/var/tmp", "/dev/shm"];
/// What may be filled of a folder that is kept in memory.
const IN_MEMORY: &str = "mode=0755,size=256m";
/// The rights that the keeper needs to set the view up, and to look into
/// programs that hide their memory.
const NEEDED: [CapabilitySet; 3] = [
    CapabilitySet::SYS_ADMIN,
    CapabilitySet::NET_ADMIN,
    CapabilitySet::SYS_PTRACE,
];

/// Why there is no view of its own.
pub(super) enum Refusal {
    /// The system does not allow it. All is as before.
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
        stay(user, group).map_err(Refusal::Confused)?;
    }
    Ok(Isolated {
        processes: true,
        network: !policy.network,
        folders: false,
    })
}

/// Stays who it was in the new namespace of users, and lets the next program
/// have the rights that are needed.
fn stay(user: Uid, group: Gid) -> io::Result<()> {
    let (user, group) = (user.as_raw(), group.as_raw());
    fs::write("/proc/self/setgroups", "deny")?;
    fs::write("/proc/self/uid_map", format!("{user} {user} 1"))?;
    fs::write("/proc/self/gid_map", format!("{group} {group} 1"))?;
    let sets = capabilities(None)?;
    let needed = NEEDED.into_iter().collect();
    set_capabilities(
        None,
        CapabilitySets {
            inheritable: sets.inheritable | needed,
            ..sets
        },
    )?;
    for right in NEEDED {
        configure_capability_in_ambient_set(right, true)?;
    }
    Ok(())
}

/// Something that is to be found again below a folder that is put in the place
/// of another.
struct Kept {
    path: PathBuf,
    file: OwnedFd,
    is_folder: bool,
    is_writable: bool,
}

/// A handle that stands for a place, and cannot be read.
pub(super) const PLACE: OFlags = OFlags::PATH.union(OFlags::CLOEXEC);

/// A name for what a handle stands for, whatever is above it now. Mounts can be
/// those of a thread alone.
pub(super) fn by_handle(file: &OwnedFd) -> PathBuf {
    PathBuf::from(format!("/proc/thread-self/fd/{}", file.as_raw_fd()))
}

/// Makes everything read-only but for what may be written, puts folders of its
/// own in the places of those that others use, and keeps in them what the
/// policy allows.
pub(super) fn own_folders(policy: &Policy) -> io::Result<()> {
    let none = None::<&str>;
    part_from_others()?;
    let folder = std::env::current_dir();
    let hidden = hidden(policy);
    let kept = kept(policy, &hidden);
    let temporary = policy.temporary.as_ref();
    let temporary = temporary.map(|path| rustix::fs::open(path, PLACE, Mode::empty()));
    let temporary = temporary.transpose()?;
    for mounted in mounts()? {
        remount(&mounted.path, mounted.flags, false)?;
    }
    for path in &hidden {
        match &temporary {
            Some(temporary) if path.ends_with("tmp") => {
                let source = by_handle(temporary);
                mount(Some(&source), path, none, MsFlags::MS_BIND, none)?;
                allow_writing_to(path, true)?;
            }
            _ => {
                let harmless = MsFlags::MS_NOSUID | MsFlags::MS_NODEV;
                mount(Some("none"), path, Some("tmpfs"), harmless, Some(IN_MEMORY))?;
            }
        }
    }
    for kept in kept {
        put_back(&kept)?;
    }
    for path in policy.layers.iter().flat_map(|layer| &layer.through) {
        allow_writing_to(path, true)?;
    }
    // Behind those, for it may lie in one of them.
    for path in &policy.guarded {
        guard(path, &policy.write)?;
    }
    // From here on it shows the program's own processes.
    let harmless = MsFlags::MS_NOSUID | MsFlags::MS_NODEV | MsFlags::MS_NOEXEC;
    mount(Some("none"), "/proc", Some("proc"), harmless, none)?;
    // The same name, but what is there now.
    let folder = folder?;
    let own = policy
        .temporary
        .as_ref()
        .and_then(|it| folder.strip_prefix(it).ok());
    std::env::set_current_dir(own.map_or_else(|| folder.clone(), |it| Path::new("/tmp").join(it)))
}

/// What is mounted from here on, others do not see.
pub(super) fn part_from_others() -> io::Result<()> {
    let none = None::<&str>;
    mount(none, "/", none, MsFlags::MS_REC | MsFlags::MS_PRIVATE, none)?;
    Ok(())
}

/// Something that is mounted, and how.
pub(super) struct Mounted {
    pub(super) path: PathBuf,
    flags: MsFlags,
}

/// All that is mounted. It is not looked at, for a file server may not answer.
pub(super) fn mounts() -> io::Result<Vec<Mounted>> {
    let table = fs::read("/proc/thread-self/mountinfo")?;
    let lines = table.split(|byte| *byte == b'\n');
    let mounted = lines.filter_map(|line| {
        let mut words = line.split(|byte| *byte == b' ').skip(4);
        let (path, options) = (words.next()?, words.next()?);
        Some(Mounted {
            path: unescaped(path),
            flags: flags(str::from_utf8(options).ok()?),
        })
    });
    Ok(mounted.collect())
}

/// How something is mounted, but for whether it can be written.
fn flags(options: &str) -> MsFlags {
    let known = options.split(',').map(|option| match option {
        "nosuid" => MsFlags::MS_NOSUID,
        "nodev" => MsFlags::MS_NODEV,
        "noexec" => MsFlags::MS_NOEXEC,
        "noatime" => MsFlags::MS_NOATIME,
        "nodiratime" => MsFlags::MS_NODIRATIME,
        "relatime" => MsFlags::MS_RELATIME,
        _ => MsFlags::empty(),
    });
    let flags: MsFlags = known.collect();
    if flags.intersects(MsFlags::MS_NOATIME | MsFlags::MS_RELATIME) {
        flags
    } else {
        flags | MsFlags::MS_STRICTATIME
    }
}

/// The path with the signs that the table writes as three octal digits.
fn unescaped(place: &[u8]) -> PathBuf {
    let mut path = Vec::new();
    let mut rest = place;
    while let Some((byte, behind)) = rest.split_first() {
        let digits = behind.get(..3).and_then(|it| str::from_utf8(it).ok());
        let sign = digits.and_then(|digits| u8::from_str_radix(digits, 8).ok());
        let sign = sign.filter(|_| *byte == b'\\');
        path.push(sign.unwrap_or(*byte));
        let length = if sign.is_some() { 3 } else { 0 };
        rest = behind.get(length..).unwrap_or_default();
    }
    PathBuf::from(OsString::from_vec(path))
}

/// Says whether what is mounted at a place can be written. The rest of how it
/// is mounted stays, for it may not be taken from what somebody else mounted.
fn remount(path: &Path, flags: MsFlags, is_writable: bool) -> io::Result<()> {
    let mut flags = flags | MsFlags::MS_REMOUNT | MsFlags::MS_BIND;
    flags.set(MsFlags::MS_RDONLY, !is_writable);
    let outcome = mount(None::<&str>, path, None::<&str>, flags, None::<&str>);
    outcome.map_err(|error| io::Error::other(format!("{}: {error}", path.display())))
}

/// The same for what was just mounted.
fn allow_writing_to(path: &Path, is_writable: bool) -> io::Result<()> {
    let newest = mounts()?
        .into_iter()
        .rfind(|mounted| mounted.path == path)
        .ok_or(io::ErrorKind::NotFound)?;
    remount(path, newest.flags, is_writable)
}

/// What is replaced: not what is allowed whole, nor what lies in another of
/// them.
fn hidden(policy: &Policy) -> Vec<PathBuf> {
    let shared = SHARED.iter().map(PathBuf::from);
    // Whoever may use the network needs to know its names.
    let shared = shared.filter(|path| !policy.network || path != Path::new("/run"));
    let all = shared.chain(policy.home.clone());
    let is_in = |path: &Path, folders: &[PathBuf]| folders.iter().any(|it| path.starts_with(it));
    all.fold(Vec::new(), |mut hidden, path| {
        let is_there = path.is_dir() && !path.is_symlink();
        if is_there && !is_in(&path, &policy.write) && !is_in(&path, &hidden) {
            hidden.push(path);
        }
        hidden
    })
}

fn kept(policy: &Policy, hidden: &[PathBuf]) -> Vec<Kept> {
    let is_in = |path: &Path, folders: &[PathBuf]| folders.iter().any(|it| path.starts_with(it));
    // What can be written comes last, for it may lie in what can be read.
    let read = policy
        .read
        .iter()
        .filter(|path| !is_in(path, &policy.write));
    let read = read.map(|path| (path, false));
    let read = read.filter(|(path, _)| is_in(path, hidden));
    let write = policy.write.iter().map(|path| (path, true));
    let all = read.chain(write);
    all.filter_map(|(path, is_writable)| {
        let file = rustix::fs::open(path, PLACE, Mode::empty()).ok()?;
        let stat = rustix::fs::fstat(&file).ok()?;
        Some(Kept {
            path: path.clone(),
            is_folder: FileType::from_raw_mode(stat.st_mode) == FileType::Directory,
            // What could not be written before cannot be made so.
            is_writable: is_writable && !fstatvfs(&file).is_ok_and(|it| is_read_only(&it)),
            file,
        })
    })
    .collect()
}

fn is_read_only(system: &StatVfs) -> bool {
    system.f_flag.contains(StatVfsMountFlags::RDONLY)
}

/// A place to mount it at.
fn make(kept: &Kept) -> io::Result<()> {
    if kept.is_folder {
        return fs::create_dir_all(&kept.path);
    }
    kept.path.parent().map_or(Ok(()), fs::create_dir_all)?;
    fs::write(&kept.path, "")
}

fn put_back(kept: &Kept) -> io::Result<()> {
    if !kept.path.exists() {
        make(kept)?;
    }
    let (none, source) = (None::<&str>, by_handle(&kept.file));
    let flags = MsFlags::MS_BIND | MsFlags::MS_REC;
    mount(Some(&source), &kept.path, none, flags, none)?;
    allow_writing_to(&kept.path, kept.is_writable)
}

/// Keeps something as it is. The folders above it stay where they are, for
/// else another could be put in the place of one.
fn guard(path: &Path, roots: &[PathBuf]) -> io::Result<()> {
    let none = None::<&str>;
    let is_below = |folder: &&Path| {
        roots
            .iter()
            .any(|it| folder.starts_with(it) && *folder != it)
    };
    let mut folders: Vec<&Path> = path.ancestors().take_while(is_below).collect();
    folders.reverse();
    for folder in folders {
        let flags = MsFlags::MS_BIND | MsFlags::MS_REC;
        let mounted = mount(Some(folder), folder, none, flags, none);
        mounted.map_err(|error| {
            io::Error::other(format!("{} is not guarded: {error}", folder.display()))
        })?;
    }
    allow_writing_to(path, false)
}

/// The first kernel in which the highest number of a process belongs to the
/// namespace. Before, it was that of the whole system.
const OWN_NUMBERS: (u32, u32) = (6, 14);
/// Numbers that are not given again at once.
const RESERVED: u64 = 300;

/// Limits how many processes there can be in the namespace.
pub(super) fn limit_processes(most: u64) -> io::Result<()> {
    let kernel = fs::read_to_string("/proc/sys/kernel/osrelease")?;
    let mut numbers = kernel.split(|sign: char| !sign.is_ascii_digit());
    let mut number = || numbers.next()?.parse().ok();
    let version = number().zip(number());
    if version.is_some_and(|version| version >= OWN_NUMBERS) {
        fs::write("/proc/sys/kernel/pid_max", format!("{}", most + RESERVED))?;
    }
    Ok(())
}
