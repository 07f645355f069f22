//! Writing: a new content takes the place of the old one at once, or not at
//! all.

use std::io::{self, Write as _};

use cap_fs_ext::{FollowSymlinks, MetadataExt, OpenOptionsFollowExt as _};
use cap_std::fs::{File, Metadata};

use crate::error::{Attempt, PathError};
use crate::fingerprint::{Fingerprint, Stamp};
use crate::kind::Kind;
use crate::place::{Last, Place};
use crate::read::reading;
use crate::system::{keep_permissions, may_write};
use crate::target::{Target, sync_folder};
use crate::temporary::{Temporary, Visibility};

/// What a writer believes to be at the place it writes to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Expect {
    /// A file or nothing, it does not matter: what is there is lost.
    Anything,
    /// Nothing. A file that appears up to the last moment is not overwritten.
    Missing,
    /// A file of this content. It is read right before it is replaced; a write
    /// in the instant between is not noticed.
    Unchanged(Fingerprint),
}

/// The result of a write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Written {
    /// Whether there was no file before.
    pub created: bool,
    /// How many names the file had before. The others keep the old content.
    pub names: u64,
    /// The content.
    pub fingerprint: Fingerprint,
    /// For a cheap check whether it is still there.
    pub stamp: Stamp,
    /// Whether the folder is known to remember the new file after a loss of
    /// power. Some file systems cannot promise that. The content itself always
    /// reaches the disk first.
    pub durable: bool,
}

impl Place {
    /// Writes a whole file: a reader sees the old content or the new one, never
    /// a part, and a failure leaves the old file as it was.
    ///
    /// The content goes to a temporary file in the same folder (see
    /// [`is_temporary_name`](crate::is_temporary_name)), which then takes the
    /// name. So another name of the old file, a hard link, keeps the old
    /// content. A symbolic link stays one and what it leads to is replaced, if
    /// that is in the workspace.
    ///
    /// The permissions of the old file are kept, and its owner and group as far
    /// as the system allows; not the bits that run it as its owner or group,
    /// nor extended attributes. A file that may not be written to is refused,
    /// even where its folder would allow to replace it; so is one that no user
    /// may write to, even if the writer is the superuser.
    ///
    /// # Errors
    ///
    /// If `expect` does not hold, the place is not a regular file, leads
    /// outside, may not be written to, or there is no space.
    pub fn replace(&self, bytes: &[u8], expect: Expect) -> Result<Written, PathError> {
        let failed = |error| self.failed(Attempt::Write, error);
        let target = self.target(Attempt::Write, Last::Follow)?;
        let old = self.replaceable(&target)?;
        match (expect, &old) {
            (Expect::Missing, Some(_)) => return Err(self.exists_already()),
            (Expect::Unchanged(_), None) => return Err(self.changed()),
            (_, Some(old)) if old.permissions().readonly() => {
                return Err(PathError::ReadOnlyFile {
                    attempt: Attempt::Write,
                    path: self.shown(),
                });
            }
            (_, Some(_)) => may_write(&target.folder, &target.name).map_err(failed)?,
            (_, None) => {}
        }

        let visibility = match old {
            Some(_) => Visibility::Private,
            None => Visibility::New,
        };
        let mut new = Temporary::create(&target.folder, visibility).map_err(failed)?;
        let stamp = fill(&mut new.file, bytes, old.as_ref()).map_err(failed)?;
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

        Ok(Written {
            created: old.is_none(),
            names: old.as_ref().map_or(0, MetadataExt::nlink),
            fingerprint: Fingerprint::of(bytes),
            stamp,
            durable: sync_folder(&target.folder).is_ok(),
        })
    }

    /// Removes a file, or a link itself. Folders are refused.
    ///
    /// # Errors
    ///
    /// If there is none, it is a folder, or may not be removed.
    pub fn remove_file(&self) -> Result<(), PathError> {
        let attempt = Attempt::Remove;
        let target = self.target(attempt, Last::Keep)?;
        let metadata = target.folder.symlink_metadata(&target.name);
        if metadata.is_ok_and(|metadata| metadata.is_dir()) {
            return Err(PathError::IsAFolder {
                attempt,
                path: self.shown(),
            });
        }
        target
            .folder
            .remove_file(&target.name)
            .map_err(|error| self.failed(attempt, error))?;
        let _ = sync_folder(&target.folder);
        Ok(())
    }

    /// The file that is to be replaced, `None` if there is none.
    fn replaceable(&self, target: &Target) -> Result<Option<Metadata>, PathError> {
        let old = match target.folder.symlink_metadata(&target.name) {
            Ok(old) => old,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(self.failed(Attempt::Write, error)),
        };
        match Kind::of(old.file_type()) {
            Kind::File => {}
            kind => return Err(kind.refused(Attempt::Write, self.shown())),
        }
        Ok(Some(old))
    }

    fn exists_already(&self) -> PathError {
        PathError::AlreadyExists {
            attempt: Attempt::Write,
            path: self.shown(),
        }
    }

    pub(crate) fn changed(&self) -> PathError {
        PathError::Changed {
            attempt: Attempt::Write,
            path: self.shown(),
        }
    }
}

impl Target {
    /// The fingerprint of what is there now; `None` if that is not a file.
    pub(crate) fn fingerprint(&self) -> io::Result<Option<Fingerprint>> {
        let mut options = reading();
        options.follow(FollowSymlinks::No);
        let file = match self.folder.open_with(&self.name, &options) {
            Ok(file) => file.into_std(),
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(error),
        };
        if !file.metadata()?.is_file() {
            return Ok(None);
        }
        Fingerprint::read(&file).map(Some)
    }
}

/// Writes the content, with the permissions of the old file, down to the disk.
fn fill(file: &mut File, bytes: &[u8], old: Option<&Metadata>) -> io::Result<Stamp> {
    file.write_all(bytes)?;
    if let Some(old) = old {
        keep_permissions(file, old)?;
    }
    file.sync_all()?;
    Ok(Stamp::of_metadata(&file.metadata()?))
}
