//! Writing down what is at a path, once.

use std::collections::HashSet;
use std::ffi::CStr;
use std::fs::File;
use std::io::Read as _;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;

use rustix::fs::{AtFlags, Dir, FileType, Mode, OFlags, Stat};
use rustix::io::Errno;

use super::Recording;
use super::cover::{Cover, Covered, READING, split};
use super::names::Names;
use super::pack::{Before, Writer};
use super::resolve::{self, Direct, Last, Spot, kind};
use crate::read::Kind;
use crate::restore::Attributes;

/// Files up to this size are read before they are written, in one piece each.
const SMALL: usize = 64 * 1024;
/// Opens a folder to look into it.
pub(super) const LOOKING: OFlags = READING.union(OFlags::DIRECTORY);

/// What is written down, and what is known of it.
pub(super) struct Keep {
    cover: Cover,
    writer: Writer,
    known: HashSet<Box<[u8]>>,
    /// Folders that are not covered and were told.
    told: HashSet<Arc<[u8]>>,
    names: Names,
    largest: u64,
    most: u64,
    piece: Vec<u8>,
}

impl Keep {
    pub(super) fn new(recording: &Recording, writer: Writer) -> Self {
        Self {
            cover: Cover::new(recording),
            writer,
            known: HashSet::new(),
            told: HashSet::new(),
            names: Names::default(),
            largest: recording.largest,
            most: recording.most,
            piece: Vec::new(),
        }
    }

    /// What is there is about to be changed, under all of its names.
    pub(super) fn changed(&mut self, spot: &Spot, stat: &Stat) -> Result<(), Errno> {
        if self.known.contains(spot.path.as_slice()) {
            return Ok(());
        }
        self.goes(spot, stat)?;
        if kind(stat) == FileType::RegularFile && stat.st_nlink > 1 {
            for path in self.names.of(&mut self.cover, stat) {
                if let Direct::There(other) = resolve::direct(path, Last::Keep)?
                    && let Some(found) = &other.stat
                    && (found.st_dev, found.st_ino) == (stat.st_dev, stat.st_ino)
                {
                    self.goes(&other, found)?;
                }
            }
        }
        Ok(())
    }

    /// What is there is about to go.
    pub(super) fn goes(&mut self, spot: &Spot, stat: &Stat) -> Result<(), Errno> {
        self.record(spot.folder.as_fd(), &spot.path, Some(stat), kind(stat))
    }

    /// Something is about to come where nothing is.
    pub(super) fn comes(&mut self, spot: &Spot, kind: FileType) -> Result<(), Errno> {
        self.record(spot.folder.as_fd(), &spot.path, None, kind)
    }

    /// What is at one path is about to be at another, in place of what is
    /// there.
    pub(super) fn moved(
        &mut self,
        (from, one): (&Spot, &Stat),
        (to, two): (&Spot, Option<&Stat>),
    ) -> Result<(), Errno> {
        if kind(one) != FileType::Directory {
            self.goes(from, one)?;
            return self.record(to.folder.as_fd(), &to.path, two, kind(one));
        }
        let replaces = two.is_none_or(|two| kind(two) == FileType::Directory);
        if !replaces || (two.is_some() && !is_empty(to)?) {
            // It fails.
            return Ok(());
        }
        self.record(to.folder.as_fd(), &to.path, two, FileType::Directory)?;
        if self.is_outside(&from.path) && self.is_outside(&to.path) {
            return self.goes(from, one);
        }
        let names = self.whole(from, one)?;
        self.come_below(&to.path, &names)
    }

    /// What is at two paths is about to change places.
    pub(super) fn exchanged(
        &mut self,
        (from, one): (&Spot, &Stat),
        (to, two): (&Spot, &Stat),
    ) -> Result<(), Errno> {
        let names = [self.whole(from, one)?, self.whole(to, two)?];
        let [one, two] = &names;
        self.come_below(&to.path, one)?;
        self.come_below(&from.path, two)
    }

    /// Everything at a path and below it; gives back the paths below it.
    fn whole(&mut self, spot: &Spot, stat: &Stat) -> Result<Vec<(Vec<u8>, FileType)>, Errno> {
        self.goes(spot, stat)?;
        let mut names = Vec::new();
        if kind(stat) == FileType::Directory {
            let folder = rustix::fs::openat(&spot.folder, spot.name(), LOOKING, Mode::empty());
            self.below(folder, &spot.path, spot.path.len(), &mut names)?;
        }
        Ok(names)
    }

    fn below(
        &mut self,
        folder: Result<OwnedFd, Errno>,
        path: &[u8],
        above: usize,
        names: &mut Vec<(Vec<u8>, FileType)>,
    ) -> Result<(), Errno> {
        let folder = match folder {
            Ok(folder) => folder,
            // It was removed meanwhile.
            Err(Errno::NOENT | Errno::NOTDIR) => return Ok(()),
            Err(Errno::ACCESS) => return self.tell(&path.into()),
            Err(error) => return Err(error),
        };
        for entry in Dir::read_from(&folder)? {
            let entry = entry?;
            let name = entry.file_name().to_bytes();
            if matches!(name, b"." | b"..") {
                continue;
            }
            let Some(stat) = look(&folder, entry.file_name())? else {
                continue;
            };
            let path = [path, b"/", name].concat();
            self.record(folder.as_fd(), &path, Some(&stat), kind(&stat))?;
            names.push((path.get(above..).unwrap_or_default().to_vec(), kind(&stat)));
            if kind(&stat) == FileType::Directory {
                let inner = rustix::fs::openat(&folder, name, LOOKING, Mode::empty());
                self.below(inner, &path, above, names)?;
            }
        }
        Ok(())
    }

    /// Where nothing is yet, these are about to come.
    fn come_below(&mut self, path: &[u8], names: &[(Vec<u8>, FileType)]) -> Result<(), Errno> {
        for (name, kind) in names {
            let path = [path, name].concat();
            if self.is_new(&path, *kind)? {
                self.write(&path, &Before::Missing, &[])?;
            }
        }
        Ok(())
    }

    /// Writes down what is at a path, if it is covered and was not yet.
    fn record(
        &mut self,
        folder: impl AsFd,
        path: &[u8],
        stat: Option<&Stat>,
        becomes: FileType,
    ) -> Result<(), Errno> {
        let is_folder = stat.is_some_and(|stat| kind(stat) == FileType::Directory);
        let becomes = if is_folder {
            FileType::Directory
        } else {
            becomes
        };
        if !self.is_new(path, becomes)? {
            return Ok(());
        }
        let Some(stat) = stat else {
            return self.write(path, &Before::Missing, &[]);
        };
        let attributes = attributes(stat);
        match kind(stat) {
            FileType::RegularFile => self.file(folder, path, stat),
            FileType::Directory => self.write(path, &Before::Folder { attributes }, &[]),
            FileType::Symlink => {
                let target = rustix::fs::readlinkat(folder, split(path).1, Vec::new())?;
                let target = target.into_bytes();
                self.write(path, &Before::Link { attributes, target }, &[])
            }
            other => self.write(path, &Before::Special(named(other)), &[]),
        }
    }

    /// Whether a path is covered and was not written down yet. From now on it
    /// is, unless that fails.
    fn is_new(&mut self, path: &[u8], kind: FileType) -> Result<bool, Errno> {
        if self.known.contains(path) {
            return Ok(false);
        }
        let mut covered = self.cover.inside(split(path).0);
        if kind == FileType::Directory && covered == Covered::Yes {
            covered = self.cover.inside(path);
        }
        match covered {
            Covered::Yes => Ok(true),
            Covered::Outside => Ok(false),
            Covered::Not(folder) => {
                self.tell(&folder)?;
                Ok(false)
            }
        }
    }

    /// Whether nothing in a folder is written down.
    fn is_outside(&mut self, folder: &[u8]) -> bool {
        self.cover.inside(folder) != Covered::Yes
    }

    /// Something changes in a folder that is not covered.
    fn tell(&mut self, folder: &Arc<[u8]>) -> Result<(), Errno> {
        if self.told.insert(Arc::clone(folder)) {
            let written = self.writer.write(folder, &Before::Uncovered, &[]);
            return written.map_err(|error| errno(&error));
        }
        Ok(())
    }

    fn file(&mut self, folder: impl AsFd, path: &[u8], stat: &Stat) -> Result<(), Errno> {
        let size = u64::try_from(stat.st_size).unwrap_or_default();
        let fits = size <= self.largest && self.writer.length().saturating_add(size) <= self.most;
        let file = if fits {
            match rustix::fs::openat(folder, split(path).1, READING, Mode::empty()) {
                Ok(file) => Some(File::from(file)),
                // Who can write a file may not be able to read it.
                Err(Errno::ACCESS | Errno::PERM) => None,
                Err(error) => return Err(error),
            }
        } else {
            None
        };
        let mut before = Before::File {
            attributes: attributes(stat),
            changed: (stat.st_ctime, nanoseconds(stat.st_ctime_nsec)),
            size,
            is_kept: file.is_some(),
        };
        let is_written = match file {
            Some(file) if size <= SMALL as u64 => self.small(file, path, &before, size)?,
            Some(mut file) => {
                let copied = self.writer.copy(path, &before, &mut file);
                copied.map_err(|error| errno(&error))?
            }
            None => false,
        };
        if !is_written {
            if let Before::File { is_kept, .. } = &mut before {
                *is_kept = false;
            }
            return self.write(path, &before, &[]);
        }
        self.known.insert(path.into());
        Ok(())
    }

    /// Keeps a file that is read at once. Says whether it had its size still.
    fn small(
        &mut self,
        mut file: File,
        path: &[u8],
        before: &Before,
        size: u64,
    ) -> Result<bool, Errno> {
        let mut piece = std::mem::take(&mut self.piece);
        piece.resize(usize::try_from(size).unwrap_or_default(), 0);
        let read = file.read_exact(&mut piece);
        let written = match read {
            Ok(()) => self
                .writer
                .write(path, before, &piece)
                .map_err(|error| errno(&error)),
            Err(error) if error.kind() == std::io::ErrorKind::UnexpectedEof => {
                self.piece = piece;
                return Ok(false);
            }
            Err(error) => Err(errno(&error)),
        };
        self.piece = piece;
        written.map(|()| true)
    }

    fn write(&mut self, path: &[u8], before: &Before, content: &[u8]) -> Result<(), Errno> {
        let written = self.writer.write(path, before, content);
        written.map_err(|error| errno(&error))?;
        self.known.insert(path.into());
        Ok(())
    }
}

/// What the call fails with that could not be written down.
fn errno(error: &std::io::Error) -> Errno {
    Errno::from_io_error(error).unwrap_or(Errno::IO)
}

fn look(folder: &OwnedFd, name: &CStr) -> Result<Option<Stat>, Errno> {
    match rustix::fs::statat(folder, name, AtFlags::SYMLINK_NOFOLLOW) {
        Ok(stat) => Ok(Some(stat)),
        Err(Errno::NOENT) => Ok(None),
        Err(error) => Err(error),
    }
}

fn is_empty(spot: &Spot) -> Result<bool, Errno> {
    let folder = rustix::fs::openat(&spot.folder, spot.name(), LOOKING, Mode::empty())?;
    for entry in Dir::read_from(&folder)? {
        if !matches!(entry?.file_name().to_bytes(), b"." | b"..") {
            return Ok(false);
        }
    }
    Ok(true)
}

fn attributes(stat: &Stat) -> Attributes {
    Attributes {
        mode: stat.st_mode & 0o7777,
        modified: (stat.st_mtime, nanoseconds(stat.st_mtime_nsec)),
        owner: (stat.st_uid, stat.st_gid),
    }
}

fn named(kind: FileType) -> String {
    let kind = match kind {
        FileType::Fifo => Kind::Pipe,
        FileType::Socket => Kind::Socket,
        FileType::CharacterDevice | FileType::BlockDevice => Kind::Device,
        _ => Kind::Other,
    };
    kind.to_string()
}

fn nanoseconds(part: impl TryInto<u32>) -> u32 {
    part.try_into().unwrap_or_default()
}
