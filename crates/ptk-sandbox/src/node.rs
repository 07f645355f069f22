//! What is at a name, to the last bit that can be put back: for callers that
//! keep what is about to change, and put it back later.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io;
#[cfg(target_os = "linux")]
use std::path::Path;
use std::path::PathBuf;

use cap_fs_ext::{DirExt as _, FollowSymlinks, OpenOptionsFollowExt as _};
use cap_std::fs::{Dir, Metadata};
use serde::{Deserialize, Serialize};

use crate::error::{Attempt, PathError};
use crate::links::Last;
use crate::place::Place;
use crate::read::{Kind, reading};
use crate::workspace::Workspace;

/// A moment, in seconds and nanoseconds since 1970.
pub type Moment = (i64, u32);

/// What the system knows of a file, a link or a folder. Links are not followed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Node {
    /// What it is.
    pub kind: Kind,
    /// The permissions, without the kind: 12 bits.
    pub mode: u32,
    /// The size in bytes.
    pub size: u64,
    /// The user and the group that it belongs to.
    pub owner: (u32, u32),
    /// When its content was last modified.
    pub modified: Moment,
    /// When anything of it was last changed. No program can set it.
    pub changed: Moment,
    /// Its number on its disk.
    pub inode: u64,
}

impl Node {
    #[cfg(unix)]
    pub(crate) fn of(metadata: &Metadata) -> Self {
        use cap_std::fs::MetadataExt as _;

        let nanoseconds = |part: i64| u32::try_from(part).unwrap_or_default();
        Self {
            kind: Kind::of(metadata.file_type()),
            mode: metadata.mode() & 0o7777,
            size: metadata.len(),
            owner: (metadata.uid(), metadata.gid()),
            modified: (metadata.mtime(), nanoseconds(metadata.mtime_nsec())),
            changed: (metadata.ctime(), nanoseconds(metadata.ctime_nsec())),
            inode: metadata.ino(),
        }
    }
}

impl Place {
    /// What is here, without following a link at the end; `None` for nothing.
    ///
    /// # Errors
    ///
    /// If a folder above it leads outside, or must not be searched.
    #[cfg(unix)]
    pub fn node(&self) -> Result<Option<Node>, PathError> {
        let node = self.within(Attempt::Inspect, Last::Keep, |dir, path| {
            Ok(Node::of(&dir.symlink_metadata(path)?))
        });
        match node {
            Ok(node) => Ok(Some(node)),
            Err(PathError::NotFound { .. } | PathError::NotAFolder { .. }) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// The target of the link here, wherever that leads.
    ///
    /// # Errors
    ///
    /// If there is no link.
    pub fn link_target(&self) -> Result<PathBuf, PathError> {
        self.within(Attempt::Inspect, Last::Keep, |dir, path| {
            dir.read_link_contents(path)
        })
    }

    /// The same place by a path without links: where a write through this one
    /// ends up.
    ///
    /// # Errors
    ///
    /// If a link leads outside, or in a circle.
    pub fn real(&self) -> Result<Self, PathError> {
        self.without_links(Attempt::Use, Last::Follow)
    }

    /// Whether no folder above it is a link, or something else than a folder.
    ///
    /// # Errors
    ///
    /// If a link above it leads outside, or in a circle.
    pub fn is_direct(&self) -> Result<bool, PathError> {
        let real = self.without_links(Attempt::Use, Last::Keep)?;
        Ok(real.absolute() == self.absolute())
    }
}

/// An open folder in a root of a workspace, gone down to name by name: no link
/// is ever followed.
#[derive(Debug)]
pub struct Folder {
    pub(crate) dir: Dir,
}

impl Workspace {
    /// Opens the first root, to look at everything in it.
    ///
    /// # Errors
    ///
    /// If the system has no handle left.
    pub fn folder(&self) -> io::Result<Folder> {
        let root = self.all().next();
        let root = root.ok_or(io::ErrorKind::NotFound)?;
        Ok(Folder {
            dir: root.dir.try_clone()?,
        })
    }
}

impl Folder {
    /// Everything in it. What goes away while it is looked at is left out.
    ///
    /// # Errors
    ///
    /// If it cannot be read.
    #[cfg(unix)]
    pub fn nodes(&self) -> io::Result<Vec<(OsString, Node)>> {
        let mut nodes = Vec::new();
        for entry in self.dir.entries()? {
            let entry = entry?;
            match entry.metadata() {
                Ok(metadata) => nodes.push((entry.file_name(), Node::of(&metadata))),
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(error) => return Err(error),
            }
        }
        Ok(nodes)
    }

    /// Opens a folder in it.
    ///
    /// # Errors
    ///
    /// If there is none, or a link.
    pub fn enter(&self, name: &OsStr) -> io::Result<Self> {
        Ok(Self {
            dir: self.dir.open_dir_nofollow(name)?,
        })
    }

    /// Opens a folder at a path below it, in one step. No link is followed.
    ///
    /// # Errors
    ///
    /// If there is none, or a link on the way.
    #[cfg(target_os = "linux")]
    pub fn go_down(&self, path: &Path) -> io::Result<Self> {
        use rustix::fs::{Mode, OFlags, ResolveFlags, openat2};

        if path.as_os_str().is_empty() {
            return Ok(Self {
                dir: self.dir.try_clone()?,
            });
        }
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS;
        let folder = openat2(&self.dir, path, flags, Mode::empty(), resolve)?;
        Ok(Self {
            dir: Dir::from_std_file(folder.into()),
        })
    }

    /// Opens a regular file in it, for reading. Never waits.
    ///
    /// # Errors
    ///
    /// If there is none, or it must not be read.
    pub fn open(&self, name: &OsStr) -> io::Result<File> {
        let mut options = reading();
        options.follow(FollowSymlinks::No);
        let file = self.dir.open_with(name, &options)?.into_std();
        if file.metadata()?.is_file() {
            Ok(file)
        } else {
            Err(io::Error::other("it is not a regular file"))
        }
    }

    /// The target of a link in it.
    ///
    /// # Errors
    ///
    /// If there is none.
    pub fn link_target(&self, name: &OsStr) -> io::Result<PathBuf> {
        self.dir.read_link_contents(name)
    }
}
