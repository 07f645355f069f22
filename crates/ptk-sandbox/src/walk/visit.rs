//! What a walk sees, and the visitors that look at it.

use std::borrow::Cow;
use std::ffi::OsStr;
use std::fs::File;
use std::io;
use std::path::PathBuf;

use bstr::ByteSlice as _;

use crate::folder::Folder;
use crate::kind::Kind;
use crate::node::Node;
use crate::read::Metadata;

/// Looks at what a walk finds; one for each thread.
///
/// Paths are relative to the folder that the walk begins in.
pub trait Visitor: Send {
    /// Whether a visit is work worth sharing among threads, such as reading the
    /// file.
    const IS_WORK: bool;

    /// Whether a file is of interest. Called before the ignore rules are asked,
    /// because it is cheap.
    fn wants(&self, _path: &[u8]) -> bool {
        true
    }

    /// Whether the walk enters a folder, and finds it at all.
    fn enters(&mut self, _path: &[u8], is_ignored: bool) -> bool {
        !is_ignored
    }

    /// The walk opened a folder. Unless a visit is work, the visits of what is
    /// directly in it follow.
    fn opened(&mut self, _path: &[u8]) {}

    /// Visits what was found.
    fn visit(&mut self, found: &WalkEntry<'_>);

    /// The walk left something out.
    fn left_out(&mut self, _what: LeftOut<'_>) {}
}

/// What a walk left out, and why.
#[derive(Debug)]
#[non_exhaustive]
pub enum LeftOut<'a> {
    /// A file or a folder, by the ignore rules.
    Ignored,
    /// A file or a folder whose name begins with a dot.
    Hidden,
    /// A link, a pipe or whatever else is neither a file nor a folder.
    NotAFile(Kind),
    /// A folder that cannot be opened or read.
    Unreadable {
        /// Its path as it is shown; empty for the workspace itself.
        path: &'a [u8],
        /// Why.
        error: io::Error,
    },
}

/// An entry that a walk found.
#[derive(Debug)]
pub struct WalkEntry<'a> {
    pub(super) folder: &'a Folder,
    pub(super) name: &'a [u8],
    pub(super) absolute: &'a [u8],
    /// Where the path relative to the beginning begins in the absolute one.
    pub(super) relative: usize,
    /// Where the shown part of the absolute path begins.
    pub(super) shown: usize,
    pub(super) kind: Kind,
}

impl WalkEntry<'_> {
    /// What it is. A link is a link, wherever it leads.
    #[must_use]
    pub fn kind(&self) -> Kind {
        self.kind
    }

    /// Its name.
    #[must_use]
    pub fn name(&self) -> &[u8] {
        self.name
    }

    /// The path relative to the folder that the walk begins in.
    #[must_use]
    pub fn path(&self) -> &[u8] {
        self.absolute.get(self.relative..).unwrap_or_default()
    }

    /// The path as people and models know it: relative to the workspace where
    /// it lies in its first root, absolute otherwise.
    #[must_use]
    pub fn shown(&self) -> &[u8] {
        self.absolute.get(self.shown..).unwrap_or_default()
    }

    /// Opens it, if it is a regular file, and returns how long it is. Never
    /// waits: a pipe is refused.
    ///
    /// # Errors
    ///
    /// If it is gone, not a regular file, or must not be read.
    pub fn open(&self) -> io::Result<(File, u64)> {
        self.folder.open_sized(&self.os_name())
    }

    /// What is known of it without reading it.
    ///
    /// # Errors
    ///
    /// If it is gone, or cannot be looked at.
    pub fn metadata(&self) -> io::Result<Metadata> {
        self.folder.metadata(self.name)
    }

    /// What the system knows of it; `None` if it is gone.
    ///
    /// # Errors
    ///
    /// If that cannot be found out.
    pub fn node(&self) -> io::Result<Option<Node>> {
        self.folder.node(&self.os_name())
    }

    /// Where it leads, if it is a link.
    ///
    /// # Errors
    ///
    /// If it is not a link.
    pub fn link_target(&self) -> io::Result<PathBuf> {
        self.folder.link_target(&self.os_name())
    }

    fn os_name(&self) -> Cow<'_, OsStr> {
        self.name.to_os_str_lossy()
    }
}
