//! What is known of the place where tools run, before any of them ran.

use std::collections::HashSet;
use std::fmt;

/// A name in the workspace.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Name {
    /// Its path, relative to the workspace, with `/` between the parts.
    pub path: String,
    /// Whether it is a folder.
    pub is_folder: bool,
}

impl Name {
    /// A file.
    pub fn file(path: impl Into<String>) -> Self {
        Self {
            path: path.into(),
            is_folder: false,
        }
    }

    /// A folder.
    pub fn folder(path: impl Into<String>) -> Self {
        Self {
            path: path.into(),
            is_folder: true,
        }
    }
}

/// Tells which names there are. Asked once a [`Guide`](super::Guide), and only
/// if a request is to be read.
pub trait Names: Send + Sync {
    /// The names, the nearest to the workspace's root first, no more than are
    /// worth knowing. What is hidden or ignored need not be among them.
    fn names(&self) -> Vec<Name>;
}

impl Names for Vec<Name> {
    fn names(&self) -> Vec<Name> {
        self.clone()
    }
}

/// What is known of the place where tools run.
pub struct Surroundings {
    pub(super) names: Box<dyn Names>,
    pub(super) writing: HashSet<String>,
}

impl Surroundings {
    /// The names that exist, and the tools that write files.
    pub fn new(
        names: impl Names + 'static,
        writing: impl IntoIterator<Item = impl Into<String>>,
    ) -> Self {
        Self {
            names: Box::new(names),
            writing: writing.into_iter().map(Into::into).collect(),
        }
    }
}

impl fmt::Debug for Surroundings {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Surroundings")
            .field("writing", &self.writing)
            .finish_non_exhaustive()
    }
}
