//! Open folders: their entries, and the way down from one to those below it,
//! through no link.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io;
use std::path::{Component, Path, PathBuf};

use bstr::ByteSlice as _;
use cap_fs_ext::{DirEntryExt as _, DirExt as _, FollowSymlinks, OpenOptionsFollowExt as _};
use cap_std::ambient_authority;
use cap_std::fs::Dir;

use crate::error::{Attempt, PathError};
use crate::kind::Kind;
use crate::node::Node;
use crate::place::{Last, Place};
use crate::read::{Metadata, reading};
use crate::secrets::SecretFiles;
use crate::system;
use crate::workspace::Workspace;

/// An open folder in a root of a workspace. Folders and files below it are
/// opened from its handle, and no link is ever followed.
#[derive(Debug)]
pub struct Folder {
    pub(crate) dir: Dir,
    /// Files that are not opened.
    pub(crate) secrets: SecretFiles,
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
            secrets: self.secrets().files(),
        })
    }
}

impl Place {
    /// Opens the folder here. Links on the way to it are followed as long as
    /// they stay in the workspace.
    ///
    /// # Errors
    ///
    /// If it is not a folder, leads outside, or must not be entered.
    pub fn folder(&self) -> Result<Folder, PathError> {
        let secrets = self.workspace().secrets().files();
        self.within(Attempt::List, Last::Follow, |dir, path| {
            Ok(Folder {
                dir: dir.open_dir(path)?,
                secrets: secrets.clone(),
            })
        })
    }
}

impl Folder {
    /// Opens a folder that no tool can reach.
    ///
    /// # Errors
    ///
    /// If there is none.
    pub fn private(path: &Path) -> io::Result<Self> {
        Ok(Self {
            dir: Dir::open_ambient_dir(path, ambient_authority())?,
            secrets: SecretFiles::default(),
        })
    }

    /// Everything in it. What goes away while it is looked at is left out.
    ///
    /// # Errors
    ///
    /// If it cannot be read.
    pub fn nodes(&self) -> io::Result<Vec<(OsString, Node)>> {
        let mut nodes = Vec::new();
        for entry in self.dir.entries()? {
            let entry = entry?;
            match entry.full_metadata() {
                Ok(metadata) => nodes.push((entry.file_name(), system::node(&metadata))),
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(error) => return Err(error),
            }
        }
        Ok(nodes)
    }

    /// The metadata of a name in the folder; `None` if there is nothing.
    ///
    /// # Errors
    ///
    /// If that cannot be found out.
    pub fn node(&self, name: &OsStr) -> io::Result<Option<Node>> {
        match self.dir.symlink_metadata(name) {
            Ok(metadata) => Ok(Some(system::node(&metadata))),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// What is known of a name in it without reading it.
    pub(crate) fn metadata(&self, name: &[u8]) -> io::Result<Metadata> {
        let metadata = self.dir.symlink_metadata(name.to_path_lossy())?;
        Ok(Metadata::of(&metadata))
    }

    /// Opens a folder in it.
    ///
    /// # Errors
    ///
    /// If there is none, or a link.
    pub fn enter(&self, name: &OsStr) -> io::Result<Self> {
        Ok(Self {
            dir: self.dir.open_dir_nofollow(name)?,
            secrets: self.secrets.clone(),
        })
    }

    /// Opens a folder at a path below it; at an empty path, itself again. No
    /// link is followed.
    ///
    /// # Errors
    ///
    /// If there is none, or a link on the way.
    pub fn go_down(&self, path: &Path) -> io::Result<Self> {
        #[cfg(target_os = "linux")]
        let dir = match kernel::below(&self.dir, path)? {
            Some(dir) => dir,
            None => kernel::readable(&self.go_down_by_names(path)?.dir)?,
        };
        #[cfg(not(target_os = "linux"))]
        let dir = self.go_down_by_names(path)?.dir;
        Ok(Self {
            dir,
            secrets: self.secrets.clone(),
        })
    }

    /// The same, name by name: where it cannot be done in one step.
    fn go_down_by_names(&self, path: &Path) -> io::Result<Self> {
        let mut folder = Self {
            dir: self.dir.try_clone()?,
            secrets: self.secrets.clone(),
        };
        for part in path.components() {
            match part {
                Component::Normal(name) => folder = folder.enter(name)?,
                Component::CurDir => {}
                _ => return Err(io::ErrorKind::PermissionDenied.into()),
            }
        }
        Ok(folder)
    }

    /// Opens a regular file in it, for reading. Never waits.
    ///
    /// # Errors
    ///
    /// If there is none, it must not be read, or it holds the user's keys.
    pub fn open(&self, name: &OsStr) -> io::Result<File> {
        Ok(self.open_sized(name)?.0)
    }

    /// The same, with the size of the file.
    pub(crate) fn open_sized(&self, name: &OsStr) -> io::Result<(File, u64)> {
        let mut options = reading();
        options.follow(FollowSymlinks::No);
        let file = self.dir.open_with(name, &options)?;
        let metadata = file.metadata()?;
        if !metadata.is_file() {
            return Err(io::Error::other("it is not a regular file"));
        }
        if self.secrets.hold_under(name, &metadata) {
            return Err(io::Error::other("it holds the user's keys"));
        }
        Ok((file.into_std(), metadata.len()))
    }

    /// The target of a link in it.
    ///
    /// # Errors
    ///
    /// If there is none.
    pub fn link_target(&self, name: &OsStr) -> io::Result<PathBuf> {
        self.dir.read_link_contents(name)
    }

    /// Reads the names in it, and the kind of each.
    #[cfg(target_os = "linux")]
    pub(crate) fn list(&self, names: &mut Names) -> io::Result<()> {
        names.clear();
        kernel::list(&self.dir, names)
    }

    /// Reads the names in it, and the kind of each.
    #[cfg(not(target_os = "linux"))]
    pub(crate) fn list(&self, names: &mut Names) -> io::Result<()> {
        names.clear();
        for entry in self.dir.entries()? {
            let entry = entry?;
            let kind = Kind::of(entry.file_type()?);
            names.push(entry.file_name().as_encoded_bytes(), kind);
        }
        Ok(())
    }
}

/// The names in a folder, in one piece of memory that is used again.
#[derive(Debug, Default)]
pub(crate) struct Names {
    bytes: Vec<u8>,
    entries: Vec<(usize, usize, Kind)>,
}

impl Names {
    fn clear(&mut self) {
        self.bytes.clear();
        self.entries.clear();
    }

    fn push(&mut self, name: &[u8], kind: Kind) {
        let start = self.bytes.len();
        self.bytes.extend_from_slice(name);
        self.entries.push((start, self.bytes.len(), kind));
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (&[u8], Kind)> {
        let name = |start: usize, end: usize| self.bytes.get(start..end).unwrap_or_default();
        self.entries
            .iter()
            .map(move |(start, end, kind)| (name(*start, *end), *kind))
    }
}

/// What Linux does in one step.
#[cfg(target_os = "linux")]
mod kernel {
    use std::io;
    use std::path::Path;

    use cap_std::fs::Dir;
    use rustix::fs::{
        AtFlags, FileType, Mode, OFlags, RawDir, ResolveFlags, openat, openat2, statat,
    };
    use rustix::io::Errno;

    use super::Names;
    use crate::kind::Kind;

    /// Room for the entries that the kernel gives at once.
    const ENTRIES: usize = 32 * 1024;
    /// Paths as long as this cannot be opened in one step.
    const TOO_LONG: usize = 4096;
    /// How often an open is repeated that a rename elsewhere got in the way of.
    const RETRIES: usize = 16;
    const FOLDER: OFlags = OFlags::RDONLY
        .union(OFlags::DIRECTORY)
        .union(OFlags::CLOEXEC);

    /// Opens a folder below another one; `None` if the path is too long for
    /// that, or the kernel, or a filter before it, does not know the call.
    pub(super) fn below(from: &Dir, path: &Path) -> io::Result<Option<Dir>> {
        if path.as_os_str().is_empty() {
            return readable(from).map(Some);
        }
        if path.as_os_str().len() >= TOO_LONG {
            return Ok(None);
        }
        let rules = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
        for _ in 0..RETRIES {
            match openat2(from, path, FOLDER, Mode::empty(), rules) {
                Err(Errno::AGAIN) => {}
                Err(Errno::NOSYS | Errno::PERM) => return Ok(None),
                // A link on the way is not a folder.
                Err(Errno::LOOP) => return Err(Errno::NOTDIR.into()),
                result => return Ok(Some(Dir::from_std_file(result?.into()))),
            }
        }
        Err(Errno::AGAIN.into())
    }

    /// Opens a folder again, for reading.
    pub(super) fn readable(folder: &Dir) -> io::Result<Dir> {
        let folder = openat(folder, ".", FOLDER, Mode::empty())?;
        Ok(Dir::from_std_file(folder.into()))
    }

    /// Reads the names in a folder that [`below`] opened.
    pub(super) fn list(folder: &Dir, names: &mut Names) -> io::Result<()> {
        let mut room = Vec::with_capacity(ENTRIES);
        let mut entries = RawDir::new(folder, room.spare_capacity_mut());
        while let Some(entry) = entries.next() {
            let entry = entry?;
            let name = entry.file_name();
            if name == c"." || name == c".." {
                continue;
            }
            let kind = match entry.file_type() {
                FileType::Unknown => statat(folder, name, AtFlags::SYMLINK_NOFOLLOW)
                    .map_or(Kind::Other, |stat| {
                        Kind::of_entry(FileType::from_raw_mode(stat.st_mode))
                    }),
                known => Kind::of_entry(known),
            };
            names.push(name.to_bytes(), kind);
        }
        Ok(())
    }
}
