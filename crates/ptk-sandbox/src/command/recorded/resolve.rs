//! Where a path leads that another process gave to the system: what it says in
//! that process' memory, from that process' folder, through links as the
//! system would follow them for it.

use std::io::IoSliceMut;
use std::os::fd::OwnedFd;

use nix::sys::uio::{RemoteIoVec, process_vm_readv};
use nix::unistd::Pid;
use rustix::fs::{AtFlags, CWD, FileType, Mode, OFlags, ResolveFlags, Stat, statat};
use rustix::io::Errno;

use super::cover::split;

/// Bytes of a path with its end, and of what is read of a memory at once: more
/// could lie behind the end of what there is.
const PAGE: usize = 4096;
/// Links that the system follows one after another.
const MAX_LINKS: usize = 40;
/// A place, for whatever is looked for in it.
const FOLDER: OFlags = OFlags::PATH.union(OFlags::DIRECTORY).union(OFlags::CLOEXEC);

/// Whether a link at the end of a path is followed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Last {
    Follow,
    Keep,
}

/// Where a path leads, whether there is anything or not.
#[derive(Debug)]
pub(super) struct Spot {
    pub(super) folder: OwnedFd,
    /// Absolute, and without links.
    pub(super) path: Vec<u8>,
    /// What is there; `None` for nothing.
    pub(super) stat: Option<Stat>,
}

impl Spot {
    pub(super) fn name(&self) -> &[u8] {
        split(&self.path).1
    }
}

/// Reads a text of a thread's memory, without the zero at its end.
pub(super) fn text(thread: u32, address: u64, text: &mut Vec<u8>) -> Result<(), Errno> {
    text.clear();
    let mut address = usize::try_from(address).map_err(|_| Errno::FAULT)?;
    while text.len() < PAGE {
        let known = text.len();
        // Not past the end of a page, unless there is more of the text.
        text.resize(known + PAGE - address % PAGE, 0);
        let new = text.get_mut(known..).unwrap_or_default();
        let read = read(thread, address, new)?;
        text.truncate(known + read);
        let end = text.iter().skip(known).position(|byte| *byte == 0);
        if let Some(end) = end {
            text.truncate(known + end);
            return Ok(());
        }
        address += read;
    }
    Err(Errno::NAMETOOLONG)
}

/// Reads bytes of a thread's memory; says how many there were.
pub(super) fn read(thread: u32, address: usize, bytes: &mut [u8]) -> Result<usize, Errno> {
    let pid = Pid::from_raw(thread.cast_signed());
    let len = bytes.len();
    let remote = [RemoteIoVec { base: address, len }];
    let mut local = [IoSliceMut::new(bytes)];
    match process_vm_readv(pid, &mut local, &remote) {
        Ok(0) => Err(Errno::FAULT),
        Ok(read) => Ok(read),
        Err(error) => Err(Errno::from_raw_os_error(error as i32)),
    }
}

/// Where a path leads. `None` if the call fails anyway, since there is no such
/// folder, or concerns nothing that has a path.
pub(super) fn spot(
    thread: u32,
    folder: i32,
    path: &[u8],
    last: Last,
) -> Result<Option<Spot>, Errno> {
    let mut whole = Vec::with_capacity(256);
    if !path.starts_with(b"/") {
        let Some(base) = base(thread, folder)? else {
            return Ok(None);
        };
        whole = base;
    }
    if append(&mut whole, path) {
        match direct(whole, last)? {
            Direct::There(spot) => return Ok(Some(spot)),
            Direct::Nowhere => return Ok(None),
            Direct::Behind => {}
        }
    }
    let mut whole = match path {
        [b'/', ..] => Vec::new(),
        _ => base(thread, folder)?.unwrap_or_default(),
    };
    whole.push(b'/');
    whole.extend_from_slice(path);
    let Some(real) = followed(thread, &whole, last)? else {
        return Ok(None);
    };
    match direct(real, Last::Keep)? {
        Direct::There(spot) => Ok(Some(spot)),
        Direct::Nowhere => Ok(None),
        // Links that others swap at this moment are not followed any further.
        Direct::Behind => Err(Errno::LOOP),
    }
}

/// What stands behind a handle of a thread, if that has a path.
pub(super) fn behind(thread: u32, handle: i32) -> Result<Option<Spot>, Errno> {
    let path = base(thread, handle)?.filter(|path| path.len() > 1);
    let Some(path) = path else {
        return Ok(None);
    };
    match direct(path, Last::Keep)? {
        Direct::There(spot) => Ok(Some(spot)),
        Direct::Nowhere | Direct::Behind => Ok(None),
    }
}

/// The path of a folder that a thread has a handle of.
fn base(thread: u32, folder: i32) -> Result<Option<Vec<u8>>, Errno> {
    let link = if folder == libc::AT_FDCWD {
        format!("/proc/{thread}/cwd")
    } else {
        format!("/proc/{thread}/fd/{folder}")
    };
    match rustix::fs::readlink(link, Vec::with_capacity(PAGE)) {
        Ok(path) => Ok(Some(path.into_bytes()).filter(|path| path.starts_with(b"/"))),
        // There is no such handle.
        Err(Errno::NOENT) => Ok(None),
        Err(error) => Err(error),
    }
}

/// Puts a path behind another; says whether that was as simple as it sounds.
fn append(whole: &mut Vec<u8>, path: &[u8]) -> bool {
    if whole == b"/" {
        whole.clear();
    }
    for name in path.split(|byte| *byte == b'/') {
        match name {
            b"" | b"." => {}
            b".." => return false,
            name => {
                whole.push(b'/');
                whole.extend_from_slice(name);
            }
        }
    }
    !whole.is_empty()
}

/// Where a path leads, as far as no link has to be followed.
pub(super) enum Direct {
    There(Spot),
    /// There is no such folder.
    Nowhere,
    /// There is a link.
    Behind,
}

pub(super) fn direct(path: Vec<u8>, last: Last) -> Result<Direct, Errno> {
    let resolve = ResolveFlags::NO_SYMLINKS;
    let folder = rustix::fs::openat2(CWD, split(&path).0, FOLDER, Mode::empty(), resolve);
    let folder = match folder {
        Ok(folder) => folder,
        Err(Errno::LOOP) => return Ok(Direct::Behind),
        Err(Errno::NOENT | Errno::NOTDIR | Errno::ACCESS) => return Ok(Direct::Nowhere),
        Err(error) => return Err(error),
    };
    let stat = match statat(&folder, split(&path).1, AtFlags::SYMLINK_NOFOLLOW) {
        Ok(stat) => Some(stat),
        Err(Errno::NOENT) => None,
        Err(error) => return Err(error),
    };
    let is_link = |stat: &Stat| kind(stat) == FileType::Symlink;
    if last == Last::Follow && stat.as_ref().is_some_and(is_link) {
        return Ok(Direct::Behind);
    }
    Ok(Direct::There(Spot { folder, path, stat }))
}

pub(super) fn kind(stat: &Stat) -> FileType {
    FileType::from_raw_mode(stat.st_mode)
}

/// A path without links. What stands for the caller itself stands for that
/// thread.
fn followed(thread: u32, path: &[u8], last: Last) -> Result<Option<Vec<u8>>, Errno> {
    let mut rest: Vec<Vec<u8>> = names(path);
    let mut real = Vec::new();
    let mut links = 0;
    while let Some(name) = rest.pop() {
        if name == b".." {
            let folder = split(&real).0.len();
            real.truncate(if folder == 1 { 0 } else { folder });
            continue;
        }
        if real == b"/proc" && (name == b"self" || name == b"thread-self") {
            real.extend_from_slice(format!("/{thread}").as_bytes());
            if name == b"thread-self" {
                real.extend_from_slice(format!("/task/{thread}").as_bytes());
            }
            continue;
        }
        let known = real.len();
        real.push(b'/');
        real.extend_from_slice(&name);
        if rest.is_empty() && last == Last::Keep {
            break;
        }
        let target = match rustix::fs::readlink(real.as_slice(), Vec::new()) {
            Ok(target) => target.into_bytes(),
            // It is no link, or the call fails, or makes it.
            Err(Errno::INVAL | Errno::NOENT | Errno::NOTDIR | Errno::ACCESS) => continue,
            Err(error) => return Err(error),
        };
        links += 1;
        let is_of_process = real.starts_with(b"/proc/") && !target.starts_with(b"/");
        if links > MAX_LINKS || (is_of_process && target.contains(&b':')) {
            // In a circle, or to what has no path: a pipe, a socket.
            return Ok(None);
        }
        real.truncate(if target.starts_with(b"/") { 0 } else { known });
        rest.extend(names(&target));
    }
    Ok(Some(real).filter(|real| !real.is_empty()))
}

/// The names of a path, the first one last.
fn names(path: &[u8]) -> Vec<Vec<u8>> {
    let names = path.split(|byte| *byte == b'/');
    let names = names.filter(|name| !name.is_empty() && *name != b".");
    names.rev().map(<[u8]>::to_vec).collect()
}
