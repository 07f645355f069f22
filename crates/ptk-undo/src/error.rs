//! Errors of undo: why something is not kept, or not undone.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

use ptk_sandbox::PathError;

/// How many conflicts a message lists.
const MAX_TOLD: usize = 20;

/// Paths that a note names.
const MAX_NAMED: usize = 5;

/// Why something is not kept, or not undone.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum UndoError {
    /// There is no folder to keep it in.
    #[error("No folder for the undo store: neither PTK_STATE nor HOME is set")]
    NoFolder,
    /// The store would lie in the workspace, where tools could change it.
    #[error("What undo keeps would lie in the workspace, at {folder}, where tools can change it")]
    Inside {
        /// The folder.
        folder: PathBuf,
    },
    /// The store cannot be used.
    #[error("What undo keeps cannot be read or written at {folder}: {error}")]
    Store {
        /// The folder.
        folder: PathBuf,
        /// The error of the system.
        error: io::Error,
    },
    /// A file of the workspace cannot be read or written.
    #[error(transparent)]
    Path(#[from] PathError),
    /// The workspace cannot be looked at.
    #[error("The workspace cannot be looked at: {0}")]
    Workspace(io::Error),
    /// Nothing to undo.
    #[error("There is nothing to undo in this workspace")]
    Nothing,
    /// No such call, turn or session has changed files.
    #[error("No {what} {id} has changed files in this workspace")]
    Unknown {
        /// A call, a turn or a session.
        what: &'static str,
        /// Its id.
        id: String,
    },
    /// Another undo has undone it already.
    #[error("{call} is undone already, by {by}")]
    Already {
        /// The call.
        call: String,
        /// The undo.
        by: String,
    },
    /// What the call changed was not kept.
    #[error("{tool} ({call}) cannot be undone: {why}")]
    NotKept {
        /// The call.
        call: String,
        /// Its tool.
        tool: String,
        /// The reason.
        why: String,
    },
    /// Changes that were made since would be lost.
    #[error("Nothing was undone, because it would lose what others have done since:{}", told(.0))]
    Conflicts(Vec<Conflict>),
}

/// A path that is not what the call left.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Conflict {
    /// The path.
    pub path: PathBuf,
    /// Why it is left alone.
    pub why: ConflictReason,
}

/// Why a path is left alone.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum ConflictReason {
    /// A later call has changed it.
    Call(String),
    /// Another program or a person has changed it.
    Other,
    /// Another program or a person has put files into it.
    Occupied,
    /// What was there before was not kept.
    NotKept,
    /// It cannot be put back, for this reason.
    Failed(String),
}

impl fmt::Display for ConflictReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Call(call) => write!(f, "changed since by {call}; undo that first"),
            Self::Other => f.write_str(
                "changed since by another program or a person; move it away, or leave it alone with --keep-others",
            ),
            Self::Occupied => f.write_str(
                "others have put files into it; move them away, or leave it alone with --keep-others",
            ),
            Self::NotKept => f.write_str(
                "what was there before could not be kept; leave it alone with --keep-others",
            ),
            Self::Failed(why) => f.write_str(why),
        }
    }
}

fn told(conflicts: &[Conflict]) -> String {
    let mut told = String::new();
    for Conflict { path, why } in conflicts.iter().take(MAX_TOLD) {
        told.push_str(&format!("\n  {}: {why}", path.display()));
    }
    let more = conflicts.len().saturating_sub(MAX_TOLD);
    if more > 0 {
        told.push_str(&format!("\n  and {more} more"));
    }
    told
}

impl UndoError {
    pub(crate) fn store(folder: &Path, error: io::Error) -> Self {
        Self::Store {
            folder: folder.to_owned(),
            error,
        }
    }
}

/// The first few of these names, and how many more there are.
pub(crate) fn named(names: impl ExactSizeIterator<Item = String>) -> String {
    let more = names.len().saturating_sub(MAX_NAMED);
    let mut told = names.take(MAX_NAMED).collect::<Vec<_>>().join(", ");
    if more > 0 {
        told.push_str(&format!(" and {more} more"));
    }
    told
}
