//! Giving a file another name without taking that name from anything.

use std::ffi::OsStr;
use std::io;

use cap_std::fs::Dir;

use crate::error::{Attempt, PathError};
use crate::place::{Last, Place};
use crate::target::sync_folder;

impl Place {
    /// Moves a file, a link or a folder to another place. Nothing may be there
    /// yet, and the folder above it must exist.
    ///
    /// # Errors
    ///
    /// If there is nothing to move, something is at the other place, either
    /// leads outside or may not be written to, or they are on different disks.
    pub fn rename_to(&self, to: &Self) -> Result<(), PathError> {
        let attempt = Attempt::Rename;
        let real = self.without_links(attempt, Last::Keep)?;
        if self
            .workspace()
            .roots()
            .any(|(root, _)| root.starts_with(real.absolute()))
        {
            return Err(PathError::RootItself {
                attempt,
                path: self.shown(),
            });
        }
        let source = self.target(attempt, Last::Keep)?;
        source
            .folder
            .symlink_metadata(&source.name)
            .map_err(|error| self.failed(attempt, error))?;
        let target = to.target(attempt, Last::Keep)?;
        rename_new(&source.folder, &source.name, &target.folder, &target.name)
            .map_err(|error| to.failed(attempt, error))?;
        // Moved is moved; that a loss of power may undo it is not a failure.
        let _ = sync_folder(&target.folder);
        let _ = sync_folder(&source.folder);
        Ok(())
    }
}

/// Renames, unless something has the new name already.
#[cfg(target_os = "linux")]
pub(crate) fn rename_new(
    from_folder: &Dir,
    from: &OsStr,
    to_folder: &Dir,
    to: &OsStr,
) -> io::Result<()> {
    use rustix::fs::{RenameFlags, renameat_with};
    use rustix::io::Errno;

    // Both names are single ones, and the last one of a path is never followed
    // here: the jail holds.
    match renameat_with(from_folder, from, to_folder, to, RenameFlags::NOREPLACE) {
        // Not every file system can, and not every kernel.
        Err(Errno::INVAL | Errno::NOSYS | Errno::OPNOTSUPP) => {
            link_then_remove(from_folder, from, to_folder, to)
        }
        result => Ok(result?),
    }
}

#[cfg(not(target_os = "linux"))]
pub(crate) use link_then_remove as rename_new;

/// Gives a file a second name, which fails if that is taken, and then removes
/// the first one. Folders cannot have two names, but taking the place of
/// another folder is possible for them only if that one is empty.
pub(crate) fn link_then_remove(
    from_folder: &Dir,
    from: &OsStr,
    to_folder: &Dir,
    to: &OsStr,
) -> io::Result<()> {
    if from_folder.symlink_metadata(from)?.is_dir() {
        return from_folder.rename(from, to_folder, to);
    }
    from_folder.hard_link(from, to_folder, to)?;
    from_folder.remove_file(from)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_help_of_the_kernel_a_taken_name_is_not_taken_away() {
        let folder = tempfile::tempdir().unwrap();
        let dir = Dir::open_ambient_dir(folder.path(), cap_std::ambient_authority()).unwrap();
        dir.write("new", "new").unwrap();
        dir.write("old", "old").unwrap();

        let taken = link_then_remove(&dir, "new".as_ref(), &dir, "old".as_ref()).unwrap_err();
        assert_eq!(taken.kind(), io::ErrorKind::AlreadyExists);
        assert_eq!(dir.read_to_string("old").unwrap(), "old");
        assert_eq!(dir.read_to_string("new").unwrap(), "new");

        link_then_remove(&dir, "new".as_ref(), &dir, "free".as_ref()).unwrap();
        assert_eq!(dir.read_to_string("free").unwrap(), "new");
        assert!(!dir.exists("new"));
    }
}
