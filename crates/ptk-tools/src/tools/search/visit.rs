//! What a walk sees, and the visitors that look at it.

use std::fs::File;
use std::io;
use std::time::SystemTime;

use ptk_sandbox::Kind;

use super::jail::Folder;
use super::tally::Tally;

/// What a walk sees.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Sight {
    /// Names that begin with a dot, too.
    pub(crate) hidden: bool,
    /// How deep: one for the entries of the folder itself.
    pub(crate) depth: usize,
    /// Folders, links and whatever else has a name, too.
    pub(crate) everything: bool,
}

/// Looks at what a walk finds; one for each thread.
pub(crate) trait Visitor: Send {
    /// Whether a visit is work worth sharing among threads.
    const IS_WORK: bool;

    /// Whether a file of this path, relative to the walk's beginning, is of
    /// interest. Called first, because it is cheap.
    fn wants(&self, relative: &[u8]) -> bool;

    /// Visits what was found.
    fn visit(&mut self, found: &WalkEntry<'_>, tally: &mut Tally);
}

/// An entry that a walk found.
#[derive(Debug)]
pub(crate) struct WalkEntry<'a> {
    pub(super) folder: &'a Folder,
    pub(super) name: &'a [u8],
    pub(super) absolute: &'a [u8],
    /// Where the shown part of the absolute path begins.
    pub(super) shown: usize,
    pub(crate) kind: Kind,
}

impl WalkEntry<'_> {
    /// The path as the model knows it: relative to the workspace where it lies
    /// in its first root.
    pub(crate) fn shown(&self) -> &[u8] {
        self.absolute.get(self.shown..).unwrap_or_default()
    }

    /// Opens it, if it is a regular file, and returns how long it is.
    pub(crate) fn open(&self) -> io::Result<(File, u64)> {
        self.folder.open(self.name)
    }

    /// When it was last modified.
    pub(crate) fn modified(&self) -> io::Result<SystemTime> {
        self.folder.modified(self.name)
    }
}
