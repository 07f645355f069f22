//! Where something is written: the handle of a folder, and a name in it.
//!
//! The path of the folder is without links, and is gone down name by name,
//! each opened from the one before and refused if it has become a link. So
//! what was found out about the path holds for what is opened.

use std::ffi::OsString;
use std::io;
use std::path::Component;

use cap_fs_ext::DirExt as _;
use cap_std::fs::Dir;

use crate::error::{Attempt, PathError};
use crate::place::{Last, Place};
use crate::workspace::Access;

/// A name in an open folder that may be written to.
pub(crate) struct Target {
    pub(crate) folder: Dir,
    pub(crate) name: OsString,
}

/// What to do about folders that do not exist.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Missing {
    Fail,
    Create,
}

impl Place {
    /// Opens the folder that the place lies in, if it may be written to.
    pub(crate) fn target(&self, attempt: Attempt, last: Last) -> Result<Target, PathError> {
        self.enter(attempt, last, Missing::Fail)
    }

    /// Creates the folders above the place, as far as they are missing.
    ///
    /// # Errors
    ///
    /// If one of them is a file, leads outside, or cannot be created.
    pub fn create_parents(&self) -> Result<(), PathError> {
        if self.relative().as_os_str().is_empty() {
            return Ok(());
        }
        self.enter(Attempt::CreateParents, Last::Follow, Missing::Create)
            .map(drop)
    }

    fn enter(&self, attempt: Attempt, last: Last, missing: Missing) -> Result<Target, PathError> {
        let real = self.without_links(attempt, last)?;
        if real.opened().access == Access::ReadOnly {
            return Err(PathError::ReadOnlyRoot {
                attempt,
                path: self.shown(),
                root: real.root().to_owned(),
            });
        }
        let mut names = real.relative().components();
        let Some(Component::Normal(name)) = names.next_back() else {
            return Err(PathError::IsAFolder {
                attempt,
                path: self.shown(),
            });
        };
        let folder = real
            .opened()
            .dir
            .try_clone()
            .and_then(|root| names.try_fold(root, |folder, name| step(&folder, name, missing)))
            .map_err(|error| self.failed(attempt, error))?;
        let secrets = self.workspace().secrets();
        let there = folder.symlink_metadata(name);
        if there.is_ok_and(|there| secrets.files().hold(&there)) || secrets.are_at(&real.absolute())
        {
            return Err(self.secret(attempt));
        }
        Ok(Target {
            folder,
            name: name.to_owned(),
        })
    }
}

fn step(folder: &Dir, name: Component<'_>, missing: Missing) -> io::Result<Dir> {
    match folder.open_dir_nofollow(name) {
        Err(error) if error.kind() == io::ErrorKind::NotFound && missing == Missing::Create => {
            match folder.create_dir(name) {
                // Another process was faster, with the same intent.
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                created => {
                    created?;
                    // A folder that is lost with the power is created again by
                    // the next write.
                    let _ = sync_folder(folder);
                }
            }
            folder.open_dir_nofollow(name)
        }
        opened => opened,
    }
}

/// Syncs the names in a folder to the disk.
pub(crate) fn sync_folder(folder: &Dir) -> io::Result<()> {
    // The handle itself only stands for a path and cannot be synced.
    folder.open(".")?.sync_all()
}
