//! What can go wrong with a path, and what to do about it.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

use thiserror::Error;

use crate::kind::Kind;
use crate::system::is_link_loop;

/// A message shows at most this many characters of a path: it may go to a
/// model, and a path may be as long as its writer likes.
const SHOWN_CHARS: usize = 240;

/// A folder that cannot be a root.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum WorkspaceError {
    /// There is no such folder.
    #[error("Cannot open the workspace {path}: there is no such folder", path = shown(.path))]
    NotFound {
        /// The folder as it was given.
        path: PathBuf,
    },
    /// It is something else than a folder.
    #[error("Cannot open the workspace {path}: it is not a folder", path = shown(.path))]
    NotAFolder {
        /// The folder as it was given.
        path: PathBuf,
    },
    /// An error of the system.
    #[error("Cannot open the workspace {path}: {source}", path = shown(.path))]
    Io {
        /// The folder as it was given.
        path: PathBuf,
        /// The error of the system.
        source: io::Error,
    },
}

/// What was to be done with a path. It reads on from "Cannot".
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Attempt {
    /// Understand the path.
    Use,
    /// Read a file.
    Read,
    /// Look at size, kind and times.
    Inspect,
    /// List a folder.
    List,
    /// Write a file.
    Write,
    /// Create the folders above a file.
    CreateParents,
    /// Remove a file.
    Remove,
    /// Give it another name.
    Rename,
}

impl fmt::Display for Attempt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Use => "use",
            Self::Read => "read",
            Self::Inspect => "inspect",
            Self::List => "list",
            Self::Write => "write",
            Self::CreateParents => "create the folders of",
            Self::Remove => "remove",
            Self::Rename => "rename",
        })
    }
}

/// Who or what an error concerns.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ErrorKind {
    /// Something that the caller can mend, such as a file that is not there.
    User,
    /// Access was denied.
    Permission,
    /// The path would have left the workspace.
    Security,
    /// The machine failed: a full disk, a fault of a device.
    System,
}

/// Why nothing was done with a path. Every message says what was attempted on
/// which path, [`PathError::hint`] what to do next.
#[derive(Debug, Error)]
#[non_exhaustive]
#[allow(
    missing_docs,
    reason = "the fields are the same everywhere: what was attempted, and the path as shown"
)]
pub enum PathError {
    /// There is nothing of that name.
    #[error("Cannot {attempt} {path}: there is no such file or folder")]
    NotFound { attempt: Attempt, path: String },
    /// It is a pipe, a socket, a device: nothing that has a content.
    #[error("Cannot {attempt} {path}: it is {kind}, not a regular file")]
    NotAFile {
        attempt: Attempt,
        path: String,
        kind: Kind,
    },
    /// A file was wanted.
    #[error("Cannot {attempt} {path}: it is a folder")]
    IsAFolder { attempt: Attempt, path: String },
    /// A folder was wanted, at the end of the path or within it.
    #[error("Cannot {attempt} {path}: it, or a part of its path, is not a folder")]
    NotAFolder { attempt: Attempt, path: String },
    /// The path has a component `..`.
    #[error("Path traversal not allowed")]
    Traversal { path: String },
    /// The path, or a link in it, leads out of all roots.
    #[error("Cannot {attempt} {path}: it leads outside the allowed folders ({allowed})", allowed = list(.allowed))]
    Outside {
        attempt: Attempt,
        path: String,
        allowed: Vec<PathBuf>,
    },
    /// Links that lead to each other, or too many of them.
    #[error("Cannot {attempt} {path}: too many links, or links in a circle")]
    LinkLoop { attempt: Attempt, path: String },
    /// The system denied access.
    #[error("Cannot {attempt} {path}: permission denied")]
    PermissionDenied { attempt: Attempt, path: String },
    /// The file holds the user's keys.
    #[error("Cannot {attempt} {path}: it holds the user's keys, which are closed to tools")]
    Secret { attempt: Attempt, path: String },
    /// The file is write-protected for all users, though it could be replaced.
    #[error("Cannot {attempt} {path}: it is read-only")]
    ReadOnlyFile { attempt: Attempt, path: String },
    /// The root was opened for reading only.
    #[error("Cannot {attempt} {path}: {root} is read-only here", root = shown(.root))]
    ReadOnlyRoot {
        attempt: Attempt,
        path: String,
        root: PathBuf,
    },
    /// A root, or a folder that holds one, stays where it is.
    #[error("Cannot {attempt} {path}: it is, or holds, a folder that is opened as a root")]
    RootItself { attempt: Attempt, path: String },
    /// The file is not what the writer believed it to be.
    #[error("Cannot {attempt} {path}: its content is not what was last seen")]
    Changed { attempt: Attempt, path: String },
    /// Something is there already.
    #[error("Cannot {attempt} {path}: it exists already")]
    AlreadyExists { attempt: Attempt, path: String },
    /// The path, or a name in it, is longer than the system takes.
    #[error("Cannot {attempt} {path}: the path or a name in it is too long")]
    TooLong { attempt: Attempt, path: String },
    /// No file can have this name.
    #[error("Cannot use the path \"{path}\": {reason}")]
    InvalidName { path: String, reason: &'static str },
    /// The disk, the quota or the largest size of a file is exhausted.
    #[error("Cannot {attempt} {path}: no space left")]
    NoSpace { attempt: Attempt, path: String },
    /// Any other error of the system.
    #[error("Cannot {attempt} {path}: {source}")]
    Io {
        attempt: Attempt,
        path: String,
        source: io::Error,
    },
}

impl PathError {
    /// Who or what the error concerns.
    #[must_use]
    pub fn kind(&self) -> ErrorKind {
        match self {
            Self::NotFound { .. }
            | Self::NotAFile { .. }
            | Self::IsAFolder { .. }
            | Self::NotAFolder { .. }
            | Self::LinkLoop { .. }
            | Self::RootItself { .. }
            | Self::Changed { .. }
            | Self::AlreadyExists { .. }
            | Self::TooLong { .. }
            | Self::InvalidName { .. } => ErrorKind::User,
            Self::PermissionDenied { .. }
            | Self::ReadOnlyFile { .. }
            | Self::ReadOnlyRoot { .. } => ErrorKind::Permission,
            Self::Traversal { .. } | Self::Outside { .. } | Self::Secret { .. } => {
                ErrorKind::Security
            }
            Self::NoSpace { .. } | Self::Io { .. } => ErrorKind::System,
        }
    }

    /// What to do next, as a sentence; `None` where there is nothing to advise.
    #[must_use]
    pub fn hint(&self) -> Option<String> {
        let hint = match self {
            Self::NotFound {
                attempt: Attempt::Write,
                ..
            } => "Create the folders above it first.",
            Self::NotFound { .. } => "List the folder above it to see what there is.",
            Self::NotAFile { .. } => "Choose a regular file.",
            Self::IsAFolder {
                attempt: Attempt::Read,
                ..
            } => "List the folder, or give the path of a file in it.",
            Self::IsAFolder { .. } => "Give the path of a file.",
            Self::NotAFolder { .. } => "Check each part of the path; one of them is a file.",
            Self::Traversal { .. } => {
                "Write the path without `..`, relative to the workspace or absolute."
            }
            Self::Outside { allowed, .. } => {
                return Some(format!("Use a path in {}.", list(allowed)));
            }
            Self::LinkLoop { .. } => "Give the path of the file itself, without links.",
            Self::PermissionDenied { .. } => {
                "Ask the user to change the permissions, or choose another path."
            }
            Self::Secret { .. } => "Go on without it; the user's keys are not needed.",
            Self::ReadOnlyFile { .. } => {
                "If it is meant to change, make it writable first (chmod u+w)."
            }
            Self::ReadOnlyRoot { .. } => "Write to a path in the workspace instead.",
            Self::RootItself { .. } => "Choose a file or folder within it.",
            Self::Changed { .. } => "Read the file again, then repeat the change on what it says.",
            Self::AlreadyExists { .. } => "Read what is there, or choose another name.",
            Self::TooLong { .. } => "Choose a shorter name; 255 bytes is the usual limit.",
            Self::InvalidName { .. } => "Write the path relative to the workspace, or absolute.",
            Self::NoSpace { .. } => "Nothing was changed. Free some space, then try again.",
            Self::Io { .. } => return None,
        };
        Some(hint.to_owned())
    }

    /// The same error for another attempt: to write a file, it may have to be
    /// read first.
    #[must_use]
    pub fn while_attempting(mut self, what: Attempt) -> Self {
        match &mut self {
            Self::NotFound { attempt, .. }
            | Self::NotAFile { attempt, .. }
            | Self::IsAFolder { attempt, .. }
            | Self::NotAFolder { attempt, .. }
            | Self::Outside { attempt, .. }
            | Self::LinkLoop { attempt, .. }
            | Self::PermissionDenied { attempt, .. }
            | Self::Secret { attempt, .. }
            | Self::ReadOnlyFile { attempt, .. }
            | Self::ReadOnlyRoot { attempt, .. }
            | Self::RootItself { attempt, .. }
            | Self::Changed { attempt, .. }
            | Self::AlreadyExists { attempt, .. }
            | Self::TooLong { attempt, .. }
            | Self::NoSpace { attempt, .. }
            | Self::Io { attempt, .. } => *attempt = what,
            Self::Traversal { .. } | Self::InvalidName { .. } => {}
        }
        self
    }

    /// The error for an error of the system, except that a path led outside.
    pub(crate) fn from_io(attempt: Attempt, path: String, error: io::Error) -> Self {
        if is_link_loop(&error) {
            return Self::LinkLoop { attempt, path };
        }
        match error.kind() {
            io::ErrorKind::NotFound => Self::NotFound { attempt, path },
            io::ErrorKind::NotADirectory => Self::NotAFolder { attempt, path },
            io::ErrorKind::IsADirectory => Self::IsAFolder { attempt, path },
            io::ErrorKind::AlreadyExists => Self::AlreadyExists { attempt, path },
            io::ErrorKind::InvalidFilename => Self::TooLong { attempt, path },
            io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => {
                Self::PermissionDenied { attempt, path }
            }
            io::ErrorKind::StorageFull
            | io::ErrorKind::QuotaExceeded
            | io::ErrorKind::FileTooLarge => Self::NoSpace { attempt, path },
            _ => Self::Io {
                attempt,
                path,
                source: error,
            },
        }
    }
}

/// Whether the jail refused, rather than the system: such an error was made in
/// this process and has no number of the system.
pub(crate) fn is_escape(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::PermissionDenied && error.raw_os_error().is_none()
}

/// A path as a message shows it: on one line, and not endless.
pub(crate) fn shown(path: &Path) -> String {
    shown_text(&path.to_string_lossy())
}

pub(crate) fn shown_text(path: &str) -> String {
    let mut line = String::with_capacity(path.len().min(SHOWN_CHARS));
    let length = path.chars().count();
    for (at, char) in path.chars().enumerate() {
        if length > SHOWN_CHARS && at == SHOWN_CHARS / 2 {
            line.push('…');
        }
        if length > SHOWN_CHARS && at >= SHOWN_CHARS / 2 && at < length - SHOWN_CHARS / 2 {
            continue;
        }
        if char.is_control() {
            line.extend(char.escape_default());
        } else {
            line.push(char);
        }
    }
    line
}

fn list(paths: &[PathBuf]) -> String {
    let paths: Vec<_> = paths.iter().map(|path| shown(path)).collect();
    paths.join(", ")
}
