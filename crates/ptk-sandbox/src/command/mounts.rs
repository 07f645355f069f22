//! What is mounted in this namespace, and how.

use std::ffi::OsString;
use std::fs;
use std::io;
use std::os::fd::{AsRawFd as _, OwnedFd};
use std::os::unix::ffi::OsStringExt as _;
use std::path::{Path, PathBuf};

use nix::mount::{MsFlags, mount};
use rustix::fs::{CWD, Mode, OFlags, ResolveFlags, openat2};

/// Opens a handle that stands for a location, and cannot be read.
const PLACE: OFlags = OFlags::PATH.union(OFlags::CLOEXEC);

/// Opens a place to mount from. No link is followed.
pub(super) fn handle(path: &Path) -> io::Result<OwnedFd> {
    Ok(openat2(
        CWD,
        path,
        PLACE,
        Mode::empty(),
        ResolveFlags::NO_SYMLINKS,
    )?)
}

/// A name for what a handle stands for, whatever is above it now. Mounts can be
/// those of a thread alone.
pub(super) fn by_handle(file: &OwnedFd) -> PathBuf {
    PathBuf::from(format!("/proc/thread-self/fd/{}", file.as_raw_fd()))
}

/// Keeps what is mounted from here on from other namespaces.
pub(super) fn make_private() -> io::Result<()> {
    let none = None::<&str>;
    mount(none, "/", none, MsFlags::MS_REC | MsFlags::MS_PRIVATE, none)?;
    Ok(())
}

/// Shows what a handle stands for at a second place, with all that is mounted
/// below it.
pub(super) fn bind(source: &OwnedFd, target: &Path) -> io::Result<()> {
    let (none, flags) = (None::<&str>, MsFlags::MS_BIND | MsFlags::MS_REC);
    let mounted = mount(Some(&by_handle(source)), target, none, flags, none);
    mounted.map_err(|error| with_path(target, error))
}

/// Mounts a file system of the kernel's own.
pub(super) fn mount_new(kind: &str, target: &Path, options: Option<&str>) -> io::Result<()> {
    let mut flags = MsFlags::MS_NOSUID;
    // Only there can be devices.
    flags.set(MsFlags::MS_NODEV, kind != "devpts");
    flags.set(MsFlags::MS_NOEXEC, kind != "tmpfs");
    let mounted = mount(Some("none"), target, Some(kind), flags, options);
    mounted.map_err(|error| with_path(target, error))
}

fn with_path(path: &Path, error: nix::Error) -> io::Error {
    io::Error::other(format!("{}: {error}", path.display()))
}

/// Something that is mounted, and how.
pub(super) struct Mounted {
    pub(super) path: PathBuf,
    number: u64,
    /// What it is mounted on.
    parent: u64,
    flags: MsFlags,
}

impl Mounted {
    /// Sets whether it can be written, and that no program in it gains rights.
    /// The rest of how it is mounted stays: what another user has mounted may
    /// not be loosened.
    pub(super) fn remount(&self, is_writable: bool) -> io::Result<()> {
        let mut flags = self.flags | MsFlags::MS_REMOUNT | MsFlags::MS_BIND | MsFlags::MS_NOSUID;
        flags.set(MsFlags::MS_RDONLY, !is_writable);
        let none = None::<&str>;
        let outcome = mount(none, &self.path, none, flags, none);
        outcome.map_err(|error| with_path(&self.path, error))
    }
}

/// Everything that is mounted. The mounts are not accessed, since a file server
/// may not answer.
pub(super) fn list() -> io::Result<Vec<Mounted>> {
    let table = fs::read("/proc/thread-self/mountinfo")?;
    let lines = table.split(|byte| *byte == b'\n');
    let mounted = lines.filter_map(|line| {
        let mut words = line.split(|byte| *byte == b' ');
        let mut number = || str::from_utf8(words.next()?).ok()?.parse().ok();
        let (number, parent) = (number()?, number()?);
        let mut words = words.skip(2);
        let (path, options) = (words.next()?, words.next()?);
        Some(Mounted {
            path: unescaped(path),
            number,
            parent,
            flags: flags(str::from_utf8(options).ok()?),
        })
    });
    Ok(mounted.collect())
}

/// What is mounted at a place, on top of all else there, and all that is
/// mounted on it.
pub(super) fn list_below(place: &Path) -> io::Result<Vec<Mounted>> {
    let mut all = list()?;
    let top = all.iter().rposition(|mounted| mounted.path == place);
    let top = all.swap_remove(top.ok_or(io::ErrorKind::NotFound)?);
    let mut below = vec![top];
    let mut looked_at = 0;
    while let Some(number) = below.get(looked_at).map(|mounted| mounted.number) {
        looked_at += 1;
        below.extend(all.extract_if(.., |mounted| mounted.parent == number));
    }
    Ok(below)
}

/// The flags of mount options, except for whether it can be written.
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
