//! Where a path leads that another process gave to the system: read from the
//! memory of that process, relative to its folder, through links as the system
//! would follow them for it.

use std::fs::File;
use std::io::IoSliceMut;
use std::os::fd::OwnedFd;

use nix::sys::uio::{RemoteIoVec, process_vm_readv};
use nix::unistd::Pid;
use rustix::fs::{CWD, FileType, Mode, OFlags, ResolveFlags, Stat, lstat, openat2};
use rustix::io::Errno;

use super::cover::{READING, split};

/// Bytes of a path with its end.
const LONGEST: usize = 4096;
/// So many bytes of a memory are read at once, and none behind the next multiple
/// of it: there may be no more.
const PIECE: usize = 256;
/// Links that the system follows one after another.
const MAX_LINKS: usize = 40;
/// Opens a location, whatever is there.
pub(super) const PLACE: OFlags = OFlags::PATH.union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);
const FOLDER: OFlags = PLACE.union(OFlags::DIRECTORY);

/// Whether a link at the end of a path is followed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Last {
    Follow,
    Keep,
}

/// Where a path leads, whether there is anything or not.
#[derive(Debug)]
pub(super) struct Spot {
    /// Absolute, and without links.
    pub(super) path: Vec<u8>,
    /// What is there; `None` for nothing.
    pub(super) stat: Option<Stat>,
    /// The file that is there, opened for reading, if that was wanted.
    pub(super) file: Option<File>,
}

/// Reads a text of a thread's memory, without the zero at its end.
pub(super) fn text(thread: u32, address: u64, text: &mut Vec<u8>) -> Result<(), Errno> {
    text.clear();
    let mut address = usize::try_from(address).map_err(|_| Errno::FAULT)?;
    while text.len() < LONGEST {
        let known = text.len();
        text.resize(known + PIECE - address % PIECE, 0);
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

/// Reads bytes of a thread's memory; returns how many there were.
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

/// Where the paths of one call lead.
pub(super) struct Paths<'a> {
    thread: u32,
    /// Whether the file at a path is to be opened for reading.
    is_wanted: &'a mut dyn FnMut(&[u8]) -> bool,
    /// Where the folder of a handle is, which most paths of a call share.
    base: Option<(i32, Option<Vec<u8>>)>,
    /// A folder above which there is no link.
    sure: Vec<u8>,
}

impl<'a> Paths<'a> {
    pub(super) fn new(thread: u32, is_wanted: &'a mut dyn FnMut(&[u8]) -> bool) -> Self {
        Self {
            thread,
            is_wanted,
            base: None,
            sure: Vec::new(),
        }
    }

    /// Where a path leads. `None` if the call fails anyway, since there is no
    /// such folder, or concerns nothing that has a path.
    pub(super) fn spot(
        &mut self,
        folder: i32,
        path: &[u8],
        last: Last,
    ) -> Result<Option<Spot>, Errno> {
        let mut whole = Vec::with_capacity(256);
        if !path.starts_with(b"/") {
            let Some(base) = self.base(folder)? else {
                return Ok(None);
            };
            whole.extend_from_slice(base);
        }
        let above = whole.len();
        if append(&mut whole, path) {
            match self.direct(whole, last)? {
                Direct::There(spot) => return Ok(Some(spot)),
                Direct::Nowhere => return Ok(None),
                Direct::Behind(known) => whole = known,
            }
        }
        whole.truncate(above);
        whole.push(b'/');
        whole.extend_from_slice(path);
        let Some(real) = followed(self.thread, &whole, last)? else {
            return Ok(None);
        };
        match self.direct(real, Last::Keep)? {
            Direct::There(spot) => Ok(Some(spot)),
            Direct::Nowhere => Ok(None),
            // Links that others swap at this moment are not followed any further.
            Direct::Behind(_) => Err(Errno::LOOP),
        }
    }

    /// What is at a path that leads through no link.
    pub(super) fn at(&mut self, path: Vec<u8>) -> Result<Option<Spot>, Errno> {
        match self.direct(path, Last::Keep)? {
            Direct::There(spot) => Ok(Some(spot)),
            Direct::Nowhere | Direct::Behind(_) => Ok(None),
        }
    }

    /// The path of a folder that the thread has a handle of.
    fn base(&mut self, folder: i32) -> Result<Option<&[u8]>, Errno> {
        let known = self.base.take().filter(|(of, _)| *of == folder);
        let base = match known {
            Some((_, base)) => base,
            None => behind(self.thread, folder)?,
        };
        Ok(self.base.insert((folder, base)).1.as_deref())
    }

    fn direct(&mut self, path: Vec<u8>, last: Last) -> Result<Direct, Errno> {
        let stat = match lstat(path.as_slice()) {
            Ok(stat) => Some(stat),
            // Through a link, perhaps, that leads elsewhere for the caller.
            Err(Errno::NOENT | Errno::NOTDIR | Errno::ACCESS | Errno::LOOP) => None,
            Err(error) => return Err(error),
        };
        let kind = stat.as_ref().map(kind);
        if last == Last::Follow && kind == Some(FileType::Symlink) {
            return Ok(Direct::Behind(path));
        }
        let mut file = None;
        if kind == Some(FileType::RegularFile) && (self.is_wanted)(&path) {
            file = match open(&path, READING) {
                Ok(file) => Some(File::from(file)),
                Err(Errno::LOOP) => return Ok(Direct::Behind(path)),
                // A user who can write a file may not be able to read it.
                Err(Errno::ACCESS | Errno::PERM) => None,
                Err(error) => return Err(error),
            };
        }
        let folder = split(&path).0;
        if file.is_none() && self.sure != folder {
            match open(folder, FOLDER) {
                Ok(_) => {}
                Err(Errno::LOOP) => return Ok(Direct::Behind(path)),
                Err(Errno::NOENT | Errno::NOTDIR | Errno::ACCESS) => return Ok(Direct::Nowhere),
                Err(error) => return Err(error),
            }
        }
        self.sure.clear();
        self.sure.extend_from_slice(folder);
        Ok(Direct::There(Spot { path, stat, file }))
    }
}

/// Opens what is at a path that leads through no link.
pub(super) fn open(path: &[u8], flags: OFlags) -> Result<OwnedFd, Errno> {
    openat2(CWD, path, flags, Mode::empty(), ResolveFlags::NO_SYMLINKS)
}

/// The path of what a thread has a handle of, if that has one.
pub(super) fn behind(thread: u32, handle: i32) -> Result<Option<Vec<u8>>, Errno> {
    let link = if handle == libc::AT_FDCWD {
        format!("/proc/{thread}/cwd")
    } else {
        format!("/proc/{thread}/fd/{handle}")
    };
    match rustix::fs::readlink(link, Vec::with_capacity(PIECE)) {
        Ok(path) => Ok(Some(path.into_bytes()).filter(|path| path.starts_with(b"/"))),
        // There is no such handle.
        Err(Errno::NOENT) => Ok(None),
        Err(error) => Err(error),
    }
}

/// Appends a path to another; `false` if it has `..` or the result is empty.
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
enum Direct {
    There(Spot),
    /// There is no such folder.
    Nowhere,
    /// There is a link in this path.
    Behind(Vec<u8>),
}

pub(super) fn kind(stat: &Stat) -> FileType {
    FileType::from_raw_mode(stat.st_mode)
}

/// A path without links. Names that stand for the caller, such as `/proc/self`,
/// stand for that thread.
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
            // It is not a link, or the call fails, or creates it.
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
