//! Changes in open folders, one at a time: for callers that bring many changes
//! into a workspace, and can undo all of them. No link is ever followed, and
//! nothing is synced to the disk.

use std::ffi::OsStr;
use std::io;
use std::path::Path;

use crate::folder::Folder;
use crate::rename::rename_new;
use crate::restore::Attributes;
use crate::system::{create_private_in, set_mode_in, set_time_in};
use crate::workspace::{Access, Workspace};

impl Workspace {
    /// Opens one of the roots that may be written to, to change what is in it.
    ///
    /// # Errors
    ///
    /// If there is no such root.
    pub fn folder_to_change(&self, root: &Path) -> io::Result<Folder> {
        let mut roots = self.all();
        let root = roots.find(|it| it.canonical == root && it.access == Access::ReadWrite);
        let root = root.ok_or(io::ErrorKind::PermissionDenied)?;
        Ok(Folder {
            dir: root.dir.try_clone()?,
            secrets: self.secrets().files(),
        })
    }
}

impl Folder {
    /// Gives what has a name here a second one in another folder of the same
    /// disk. Nothing may have that yet.
    ///
    /// # Errors
    ///
    /// If the name is taken, or the system does not allow it.
    pub fn link(&self, name: &OsStr, to: &Self, new: &OsStr) -> io::Result<()> {
        self.dir.hard_link(name, &to.dir, new)
    }

    /// Moves what has a name here to another folder, in place of a file or a
    /// link that may be there.
    ///
    /// # Errors
    ///
    /// If a folder is there, or on another disk.
    pub fn replace(&self, name: &OsStr, to: &Self, new: &OsStr) -> io::Result<()> {
        self.dir.rename(name, &to.dir, new)
    }

    /// Moves what has a name here to another folder, where nothing may have
    /// the new name.
    ///
    /// # Errors
    ///
    /// If the name is taken, or the folder is on another disk.
    pub fn hand_over(&self, name: &OsStr, to: &Self, new: &OsStr) -> io::Result<()> {
        rename_new(&self.dir, name, &to.dir, new)
    }

    /// Removes what is not a folder.
    ///
    /// # Errors
    ///
    /// If it may not be removed.
    pub fn remove_file(&self, name: &OsStr) -> io::Result<()> {
        self.dir.remove_file(name)
    }

    /// Removes a folder that is empty.
    ///
    /// # Errors
    ///
    /// If it is not, or may not be removed.
    pub fn remove_folder(&self, name: &OsStr) -> io::Result<()> {
        self.dir.remove_dir(name)
    }

    /// Creates a folder for its owner alone.
    ///
    /// # Errors
    ///
    /// If the name is taken, or nothing may be created.
    pub fn create_folder(&self, name: &OsStr) -> io::Result<()> {
        create_private_in(&self.dir, name)
    }

    /// Gives a file or a folder its permissions and its time.
    ///
    /// # Errors
    ///
    /// If it belongs to another user.
    pub fn set_attributes(&self, name: &OsStr, attributes: &Attributes) -> io::Result<()> {
        set_mode_in(&self.dir, name, attributes.mode)?;
        set_time_in(&self.dir, name, attributes.modified)
    }
}
