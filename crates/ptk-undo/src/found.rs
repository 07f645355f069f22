//! What a watch over a call has found.

use crate::journal::Change;
use crate::tree::Tree;

/// The changes that a watch has found.
#[derive(Debug, Default)]
pub(crate) struct FoundChanges {
    pub(crate) changes: Vec<Change>,
    /// Folders that were not looked at.
    pub(crate) uncovered: Vec<String>,
    /// The workspace as it is now, where that was looked at.
    pub(crate) tree: Option<Tree>,
}
