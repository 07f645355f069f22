//! A place in a root: what it is called, and how an operation enters the jail.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::error::{Attempt, PathError, is_escape, shown};
use crate::workspace::{Root, Workspace};

/// What becomes of a link at the very end of a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Last {
    /// What it leads to is meant.
    Follow,
    /// The link itself is meant.
    Keep,
}

/// A path in one of the roots of a [`Workspace`], whether there is anything or
/// not. Made by [`Workspace::resolve`]; shows itself relative to the workspace
/// where it lies in the first root, absolute otherwise.
#[derive(Debug, Clone)]
pub struct Place {
    workspace: Workspace,
    root: Arc<Root>,
    /// Empty for the root itself.
    relative: PathBuf,
}

impl Place {
    pub(crate) fn new(workspace: Workspace, root: Arc<Root>, relative: PathBuf) -> Self {
        Self {
            workspace,
            root,
            relative,
        }
    }

    /// The workspace that it lies in.
    #[must_use]
    pub fn workspace(&self) -> &Workspace {
        &self.workspace
    }

    /// The root that it lies in, without links.
    #[must_use]
    pub fn root(&self) -> &Path {
        &self.root.canonical
    }

    /// The path within its root; empty for the root itself.
    #[must_use]
    pub fn relative(&self) -> &Path {
        &self.relative
    }

    /// The absolute path. For showing and comparing only: opening it leaves the
    /// jail.
    #[must_use]
    pub fn absolute(&self) -> PathBuf {
        if self.relative.as_os_str().is_empty() {
            self.root.canonical.clone()
        } else {
            self.root.canonical.join(&self.relative)
        }
    }

    pub(crate) fn opened(&self) -> &Arc<Root> {
        &self.root
    }

    /// The relative path as system calls need it.
    pub(crate) fn path(&self) -> &Path {
        if self.relative.as_os_str().is_empty() {
            Path::new(".")
        } else {
            &self.relative
        }
    }

    pub(crate) fn failed(&self, attempt: Attempt, error: io::Error) -> PathError {
        if is_escape(&error) {
            return self.outside(attempt);
        }
        PathError::from_io(attempt, self.shown(), error)
    }

    pub(crate) fn outside(&self, attempt: Attempt) -> PathError {
        PathError::Outside {
            attempt,
            path: self.shown(),
            allowed: self.workspace.allowed(),
        }
    }

    pub(crate) fn secret(&self, attempt: Attempt) -> PathError {
        PathError::Secret {
            attempt,
            path: self.shown(),
        }
    }

    /// The path as messages show it.
    pub(crate) fn shown(&self) -> String {
        shown(&self.name())
    }

    fn name(&self) -> PathBuf {
        let absolute = self.absolute();
        match absolute.strip_prefix(self.workspace.root()) {
            Ok(relative) if relative.as_os_str().is_empty() => PathBuf::from("."),
            Ok(relative) => relative.to_owned(),
            Err(_) => absolute,
        }
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.name().display().fmt(f)
    }
}

/// Two places are the same if they have the same absolute path.
impl PartialEq for Place {
    fn eq(&self, other: &Self) -> bool {
        self.absolute() == other.absolute()
    }
}

impl Eq for Place {}
