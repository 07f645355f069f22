//! What is at a name, to the last bit that can be put back: for callers that
//! keep what is about to change, and put it back later.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::error::{Attempt, PathError};
use crate::kind::Kind;
use crate::place::{Last, Place};
use crate::system;

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

impl Place {
    /// What is here, without following a link at the end; `None` for nothing.
    ///
    /// # Errors
    ///
    /// If a folder above it leads outside, or must not be searched.
    pub fn node(&self) -> Result<Option<Node>, PathError> {
        let node = self.within(Attempt::Inspect, Last::Keep, |dir, path| {
            Ok(system::node(&dir.symlink_metadata(path)?))
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
