//! Putting back what was there: files, links and folders with their
//! permissions and times. No link at the end of a path is followed.

use std::io::{self, Read};
use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::error::{Attempt, PathError};
use crate::kind::Kind;
use crate::node::{Moment, Node};
use crate::place::{Last, Place};
use crate::system::{create_private_in, give, set_mode_in, set_time_in};
use crate::target::sync_folder;
use crate::temporary::{Temporary, Visibility};
use crate::write::Expect;

/// What a file, a link or a folder has beside its content.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Attributes {
    /// The permissions: 12 bits.
    pub mode: u32,
    /// When its content was last modified.
    pub modified: Moment,
    /// The user and the group. Given back where the system allows.
    pub owner: (u32, u32),
}

impl Place {
    /// Puts a file here, in one step, in place of a file, a link or nothing.
    ///
    /// # Errors
    ///
    /// If `expect` does not hold, a folder is here, the content cannot be read,
    /// or there is no space.
    pub fn restore_file(
        &self,
        content: &mut impl Read,
        attributes: &Attributes,
        expect: Expect,
    ) -> Result<(), PathError> {
        let failed = |error| self.failed(Attempt::Write, error);
        let target = self.target(Attempt::Write, Last::Keep)?;
        let mut new = Temporary::create(&target.folder, Visibility::Private).map_err(failed)?;
        io::copy(content, &mut new.file).map_err(failed)?;
        let file = new.file.try_clone().map_err(failed)?.into_std();
        give(&file, attributes).map_err(failed)?;
        file.sync_all().map_err(failed)?;
        match expect {
            Expect::Anything => new.take_place_of(&target.name),
            Expect::Missing => new.take_new_name(&target.name),
            Expect::Unchanged(seen) => {
                if target.fingerprint().map_err(failed)? != Some(seen) {
                    return Err(self.changed());
                }
                new.take_place_of(&target.name)
            }
        }
        .map_err(failed)?;
        let _ = sync_folder(&target.folder);
        Ok(())
    }

    /// Puts a link here, in one step, in place of a file, a link or nothing.
    ///
    /// # Errors
    ///
    /// If a folder is here, or it may not be written to.
    pub fn restore_link(&self, leads_to: &Path, attributes: &Attributes) -> Result<(), PathError> {
        let failed = |error| self.failed(Attempt::Write, error);
        let target = self.target(Attempt::Write, Last::Keep)?;
        let new = Temporary::link(&target.folder, leads_to).map_err(failed)?;
        new.take_place_of(&target.name).map_err(failed)?;
        set_time_in(&target.folder, &target.name, attributes.modified).map_err(failed)?;
        let _ = sync_folder(&target.folder);
        Ok(())
    }

    /// Creates a folder for its owner alone, until [`Place::set_attributes`]
    /// changes that.
    ///
    /// # Errors
    ///
    /// If something is here already, or it may not be written to.
    pub fn create_folder(&self) -> Result<(), PathError> {
        let target = self.target(Attempt::Write, Last::Keep)?;
        create_private_in(&target.folder, &target.name)
            .map_err(|error| self.failed(Attempt::Write, error))?;
        let _ = sync_folder(&target.folder);
        Ok(())
    }

    /// Removes a folder that is empty.
    ///
    /// # Errors
    ///
    /// If it is not, or may not be removed.
    pub fn remove_folder(&self) -> Result<(), PathError> {
        let target = self.target(Attempt::Remove, Last::Keep)?;
        let removed = target.folder.remove_dir(&target.name);
        removed.map_err(|error| self.failed(Attempt::Remove, error))?;
        let _ = sync_folder(&target.folder);
        Ok(())
    }

    /// Gives a file or a folder its permissions and its time back.
    ///
    /// # Errors
    ///
    /// If there is neither, or it belongs to another user.
    pub fn set_attributes(&self, attributes: &Attributes) -> Result<(), PathError> {
        let failed = |error| self.failed(Attempt::Write, error);
        let target = self.target(Attempt::Write, Last::Keep)?;
        let metadata = target.folder.symlink_metadata(&target.name);
        let kind = Kind::of(metadata.map_err(failed)?.file_type());
        if !matches!(kind, Kind::File | Kind::Folder) {
            return Err(kind.refused(Attempt::Write, self.shown()));
        }
        set_mode_in(&target.folder, &target.name, attributes.mode).map_err(failed)?;
        set_time_in(&target.folder, &target.name, attributes.modified).map_err(failed)
    }
}

impl From<&Node> for Attributes {
    fn from(node: &Node) -> Self {
        Self {
            mode: node.mode,
            modified: node.modified,
            owner: node.owner,
        }
    }
}
