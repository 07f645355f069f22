//! The entries of a folder.

use std::ffi::{OsStr, OsString};
use std::fmt;

use cap_fs_ext::DirEntryExt as _;
use cap_std::fs::{DirEntry, ReadDir};

use crate::error::{Attempt, PathError};
use crate::kind::Kind;
use crate::place::{Last, Place};
use crate::read::Metadata;

impl Place {
    /// The entries of a folder, in the order of the system, without `.` and
    /// `..`.
    ///
    /// # Errors
    ///
    /// If it is not a folder, leads outside, or cannot be read.
    pub fn read_dir(&self) -> Result<Entries, PathError> {
        let entries = self.within(Attempt::List, Last::Follow, |dir, path| dir.read_dir(path))?;
        Ok(Entries::new(self.clone(), entries))
    }
}

/// The entries of a folder, one by one. Made by [`Place::read_dir`].
pub struct Entries {
    folder: Place,
    entries: ReadDir,
}

impl Entries {
    pub(crate) fn new(folder: Place, entries: ReadDir) -> Self {
        Self { folder, entries }
    }
}

impl fmt::Debug for Entries {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Entries of {}", self.folder)
    }
}

impl Iterator for Entries {
    type Item = Result<Entry, PathError>;

    fn next(&mut self) -> Option<Self::Item> {
        let entry = self.entries.next()?;
        Some(
            entry
                .and_then(|entry| {
                    Ok(Entry {
                        folder: self.folder.clone(),
                        name: entry.file_name(),
                        kind: Kind::of(entry.file_type()?),
                        found: entry,
                    })
                })
                .map_err(|error| self.folder.failed(Attempt::List, error)),
        )
    }
}

/// One entry of a folder.
pub struct Entry {
    folder: Place,
    name: OsString,
    kind: Kind,
    found: DirEntry,
}

impl Entry {
    /// Its name, which need not be UTF-8.
    #[must_use]
    pub fn name(&self) -> &OsStr {
        &self.name
    }

    /// What it is. A link is a link, wherever it leads.
    #[must_use]
    pub fn kind(&self) -> Kind {
        self.kind
    }

    /// Its place in the workspace.
    #[must_use]
    pub fn place(&self) -> Place {
        self.folder.child(&self.name)
    }

    /// Its size in bytes. Asks the system; for a link, the size of the link.
    ///
    /// # Errors
    ///
    /// If it is gone, or cannot be looked at.
    pub fn size(&self) -> Result<u64, PathError> {
        self.metadata().map(|metadata| metadata.size)
    }

    /// What is known of it. Asks the system; follows no link.
    ///
    /// # Errors
    ///
    /// If it is gone, or cannot be looked at.
    pub fn metadata(&self) -> Result<Metadata, PathError> {
        match self.found.full_metadata() {
            Ok(metadata) => Ok(Metadata::of(&metadata)),
            Err(error) => Err(self.place().failed(Attempt::Inspect, error)),
        }
    }
}

impl fmt::Debug for Entry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Entry")
            .field("name", &self.name)
            .field("kind", &self.kind)
            .finish_non_exhaustive()
    }
}
