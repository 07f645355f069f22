//! Writing down what is at a path, once.

use std::collections::HashSet;
use std::ffi::CStr;
use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;
use std::sync::Arc;

use rustix::fs::{AtFlags, CWD, Dir, FileType, Mode, Stat, openat, readlinkat};
use rustix::io::Errno;

use super::Recording;
use super::aftermath::{self, Looking, nanoseconds};
use super::cover::{Cover, Covered, LOOKING, READING, RULES, split};
use super::names::Names;
use super::pack::{Aftermath, Before, Record, Writer};
use super::refused::Refused;
use super::resolve::{self, Paths, Spot, kind};
use crate::kind::Kind;
use crate::restore::Attributes;

/// Writes down what is at paths before they change.
pub(super) struct Keep {
    cover: Cover,
    refused: Refused,
    writer: Writer,
    known: HashSet<Box<[u8]>>,
    /// Folders that are not covered and were written down, in that order.
    told: Vec<Arc<[u8]>>,
    is_told: HashSet<Arc<[u8]>>,
    /// Paths whose content before the change was not kept.
    unkept: Vec<(Vec<u8>, Before)>,
    names: Names,
    /// Whether a link may have come to be on the way to a path.
    has_links: bool,
    /// Whether there was no room for something.
    is_full: bool,
    largest: u64,
    most: u64,
}

impl Keep {
    /// A recorder of changes that adds to a file of records, in which other
    /// programs of the same call may have some already.
    pub(super) fn new(recording: &Recording, pack: File) -> io::Result<Self> {
        let mut known = HashSet::new();
        let (mut told, mut unkept) = (Vec::new(), Vec::new());
        let writer = Writer::of(pack, |Record { path, before }| {
            if before == Before::Uncovered {
                told.push(path.into());
                return;
            }
            if !before.is_kept() {
                unkept.push((path.clone(), before));
            }
            known.insert(path.into());
        })?;
        Ok(Self {
            cover: Cover::new(recording),
            refused: Refused::new(recording),
            writer,
            // Of what other programs have done before, only the paths are
            // known.
            has_links: !known.is_empty(),
            known,
            is_told: told.iter().cloned().collect(),
            told,
            unkept,
            names: Names::default(),
            is_full: false,
            largest: recording.largest,
            most: recording.most,
        })
    }

    /// Looks at the roots as at what is about to change: the first access takes
    /// longer, and now nothing waits for it.
    pub(super) fn warm_up(&mut self) {
        for root in self.cover.roots() {
            let mut is_wanted = |path: &[u8]| self.wants(path);
            // Nothing is about to change.
            let _ = Paths::new(0, &mut is_wanted).at(root.clone());
            self.cover.inside(&root);
        }
    }

    /// Writes down the final state of every recorded path.
    pub(super) fn finish(&mut self) -> io::Result<()> {
        let roots = self.cover.roots();
        for root in &roots {
            // Where all of it is out of sight, nothing of it is gone.
            if aftermath::look(root)?.is_none() {
                return Err(io::ErrorKind::NotFound.into());
            }
        }
        let looking = Looking::new(&roots, self.has_links);
        let mut paths = Vec::with_capacity(self.known.len());
        for path in &self.known {
            paths.push(looking.at(path)?);
        }
        let lost = self.unkept.iter().filter(|(path, before)| {
            let node = aftermath::look(path).ok().flatten();
            !before.seems(node.as_ref())
        });
        let aftermath = Aftermath {
            uncovered: self.told.iter().map(|path| path.to_vec()).collect(),
            lost: lost.map(|(path, _)| path.clone()).collect(),
            is_full: self.is_full,
            paths,
        };
        self.writer.finish(&aftermath)
    }

    /// Files that were not written because they must not be.
    pub(super) fn refused(&self) -> Vec<String> {
        self.refused.met()
    }

    /// Whether what is at a path is written down already.
    pub(super) fn knows(&self, path: &[u8]) -> bool {
        self.known.contains(path)
    }

    /// Whether a file is to be read, should it be about to change.
    pub(super) fn wants(&mut self, path: &[u8]) -> bool {
        !self.knows(path) && self.cover.inside(split(path).0) == Covered::Yes
    }

    /// Records what is at a spot before it is changed, under all of its names.
    pub(super) fn changed(&mut self, spot: &Spot, stat: &Stat) -> Result<(), Errno> {
        if self.knows(&spot.path) {
            return Ok(());
        }
        self.goes(spot)?;
        if kind(stat) == FileType::RegularFile && stat.st_nlink > 1 {
            for path in self.names.of(&mut self.cover, stat) {
                let mut is_wanted = |path: &[u8]| !self.known.contains(path);
                let other = Paths::new(0, &mut is_wanted).at(path)?;
                let is_same =
                    |found: &Stat| (found.st_dev, found.st_ino) == (stat.st_dev, stat.st_ino);
                if let Some(other) = other.filter(|it| it.stat.as_ref().is_some_and(is_same)) {
                    self.goes(&other)?;
                }
            }
        }
        Ok(())
    }

    /// Records what is at a spot, if anything, before it is removed.
    pub(super) fn goes(&mut self, spot: &Spot) -> Result<(), Errno> {
        match &spot.stat {
            Some(stat) => self.record(spot, kind(stat)),
            None => Ok(()),
        }
    }

    /// Records that something is about to be created where nothing is.
    pub(super) fn comes(&mut self, spot: &Spot, kind: FileType) -> Result<(), Errno> {
        self.has_links |= kind == FileType::Symlink;
        self.record(spot, kind)
    }

    /// Records that what is at one path is about to replace what is at another.
    pub(super) fn moved(
        &mut self,
        (from, one): (&Spot, &Stat),
        (to, two): (&Spot, Option<&Stat>),
    ) -> Result<(), Errno> {
        // A folder may have some in it.
        self.has_links |= kind(one) != FileType::RegularFile;
        if kind(one) != FileType::Directory {
            self.goes(from)?;
            return self.record(to, kind(one));
        }
        if self.refused.holds(&from.path) {
            return Err(Errno::ACCESS);
        }
        let replaces = two.is_none_or(|two| kind(two) == FileType::Directory);
        if !replaces || (two.is_some() && !is_empty(to)?) {
            // It fails.
            return Ok(());
        }
        self.record(to, FileType::Directory)?;
        if self.is_outside(&from.path) && self.is_outside(&to.path) {
            return self.goes(from);
        }
        let names = self.whole(from)?;
        self.come_below(&to.path, &names)
    }

    /// Records that what is at two paths is about to be exchanged.
    pub(super) fn exchanged(&mut self, from: &Spot, to: &Spot) -> Result<(), Errno> {
        if self.refused.holds(&from.path) || self.refused.holds(&to.path) {
            return Err(Errno::ACCESS);
        }
        self.has_links = true;
        let names = [self.whole(from)?, self.whole(to)?];
        let [one, two] = &names;
        self.come_below(&to.path, one)?;
        self.come_below(&from.path, two)
    }

    /// Records everything at a path and below it; returns the paths below it.
    /// Only one folder is open at a time, however deep they are.
    fn whole(&mut self, spot: &Spot) -> Result<Vec<(Vec<u8>, FileType)>, Errno> {
        self.goes(spot)?;
        let mut names = Vec::new();
        let is_folder = |stat: &Stat| kind(stat) == FileType::Directory;
        let mut folders = Vec::new();
        if spot.stat.as_ref().is_some_and(is_folder) {
            folders.push(spot.path.clone());
        }
        while let Some(path) = folders.pop() {
            let folder = match resolve::open(&path, LOOKING) {
                Ok(folder) => folder,
                // It was removed meanwhile.
                Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP) => continue,
                // What cannot be looked into, or has too long a path, cannot
                // be put back either.
                Err(Errno::ACCESS | Errno::NAMETOOLONG) => {
                    self.tell(&path.into())?;
                    continue;
                }
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
                let inner = [&path, b"/".as_slice(), name].concat();
                let kind = kind(&stat);
                self.record_in(Some(&folder), &inner, Some(&stat), kind)?;
                let relative = inner.get(spot.path.len()..).unwrap_or_default();
                names.push((relative.to_vec(), kind));
                if kind == FileType::Directory {
                    folders.push(inner);
                }
            }
        }
        Ok(names)
    }

    /// Records that these are about to be created where nothing is yet.
    fn come_below(&mut self, path: &[u8], names: &[(Vec<u8>, FileType)]) -> Result<(), Errno> {
        for (name, kind) in names {
            let path = [path, name].concat();
            if self.refused.refuses(&path) {
                return Err(Errno::ACCESS);
            }
            if self.is_new(&path, *kind)? {
                self.write(&path, &Before::Missing)?;
            }
        }
        Ok(())
    }

    /// Writes down what is at a spot, if it is covered and was not yet.
    fn record(&mut self, spot: &Spot, becomes: FileType) -> Result<(), Errno> {
        if self.refused.refuses(&spot.path) {
            return Err(Errno::ACCESS);
        }
        let stat = spot.stat.as_ref();
        match (&spot.file, stat) {
            (Some(file), Some(stat)) if self.is_new(&spot.path, becomes)? => {
                self.file(Some(file), &spot.path, stat)
            }
            (Some(_), _) => Ok(()),
            (None, stat) => self.record_in(None, &spot.path, stat, becomes),
        }
    }

    /// Writes down what is at a path, by the handle of its folder if there is
    /// one.
    fn record_in(
        &mut self,
        folder: Option<&OwnedFd>,
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
            return self.write(path, &Before::Missing);
        };
        let attributes = attributes(stat);
        match kind(stat) {
            FileType::RegularFile => {
                let opened = match folder {
                    Some(folder) => openat(folder, split(path).1, READING, Mode::empty()),
                    None => resolve::open(path, READING),
                };
                match opened {
                    Ok(file) => self.file(Some(&File::from(file)), path, stat),
                    Err(Errno::ACCESS | Errno::PERM) => self.file(None, path, stat),
                    Err(error) => Err(error),
                }
            }
            FileType::Directory => self.write(path, &Before::Folder { attributes }),
            FileType::Symlink => {
                let target = match folder {
                    Some(folder) => readlinkat(folder, split(path).1, Vec::new()),
                    None => readlinkat(CWD, path, Vec::new()),
                };
                let target = target?.into_bytes();
                self.write(path, &Before::Link { attributes, target })
            }
            other => self.write(path, &Before::Special(Kind::of_entry(other).to_string())),
        }
    }

    /// Whether a path is covered and was not written down yet. From now on it
    /// is, unless that fails.
    fn is_new(&mut self, path: &[u8], kind: FileType) -> Result<bool, Errno> {
        if self.knows(path) {
            return Ok(false);
        }
        let (folder, name) = split(path);
        let mut covered = self.cover.inside(folder);
        if name == RULES {
            self.cover.hold(folder);
        }
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

    /// Writes down that something changes in a folder that is not covered.
    fn tell(&mut self, folder: &Arc<[u8]>) -> Result<(), Errno> {
        if self.is_told.insert(Arc::clone(folder)) {
            self.told.push(Arc::clone(folder));
            let written = self.writer.write(folder, &Before::Uncovered);
            return written.map_err(|error| self.errno(&error));
        }
        Ok(())
    }

    /// Writes down a file, with its content if that can be read and there is
    /// room for it.
    fn file(&mut self, file: Option<&File>, path: &[u8], stat: &Stat) -> Result<(), Errno> {
        let size = u64::try_from(stat.st_size).unwrap_or_default();
        let fits = size <= self.largest && self.writer.length().saturating_add(size) <= self.most;
        let file = file.filter(|_| fits);
        let mut before = Before::File {
            attributes: attributes(stat),
            changed: (stat.st_ctime, nanoseconds(stat.st_ctime_nsec)),
            size,
            is_kept: file.is_some(),
        };
        let is_written = match file {
            Some(mut file) => self.writer.copy(path, &before, &mut file),
            None => Ok(false),
        };
        if is_written.map_err(|error| self.errno(&error))? {
            self.known.insert(path.into());
            return Ok(());
        }
        if let Before::File { is_kept, .. } = &mut before {
            *is_kept = false;
        }
        self.write(path, &before)
    }

    fn write(&mut self, path: &[u8], before: &Before) -> Result<(), Errno> {
        let written = self.writer.write(path, before);
        written.map_err(|error| self.errno(&error))?;
        if !before.is_kept() {
            self.unkept.push((path.to_vec(), before.clone()));
        }
        self.known.insert(path.into());
        Ok(())
    }

    /// The error that a call fails with if its change could not be written
    /// down.
    fn errno(&mut self, error: &io::Error) -> Errno {
        let errno = Errno::from_io_error(error).unwrap_or(Errno::IO);
        self.is_full |= matches!(errno, Errno::NOSPC | Errno::DQUOT);
        errno
    }
}

fn look(folder: &OwnedFd, name: &CStr) -> Result<Option<Stat>, Errno> {
    match rustix::fs::statat(folder, name, AtFlags::SYMLINK_NOFOLLOW) {
        Ok(stat) => Ok(Some(stat)),
        Err(Errno::NOENT) => Ok(None),
        Err(error) => Err(error),
    }
}

fn is_empty(spot: &Spot) -> Result<bool, Errno> {
    let folder = resolve::open(&spot.path, LOOKING)?;
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
