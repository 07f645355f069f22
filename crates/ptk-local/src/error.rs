//! Why the library cannot do something, and what to do about it.

use std::io;
use std::path::{Path, PathBuf};

use crate::copy::Failed;
use crate::gguf::GgufError;
use crate::library::MAX_NAME;

/// Why the library cannot do something.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LibraryError {
    /// Nothing says where models are.
    #[error("there is no place for models: neither PTK_MODELS nor HOME is set")]
    NoPlace,
    /// The system would not.
    #[error("{} cannot be {doing}: {error}{}", path.display(), advice(error))]
    Io {
        /// What was tried.
        doing: &'static str,
        /// With which file or folder.
        path: PathBuf,
        /// What the system said.
        error: io::Error,
    },
    /// There is no such model.
    #[error("there is no model `{name}`{hint}")]
    Unknown {
        /// What was asked for.
        name: String,
        /// What to do.
        hint: String,
    },
    /// The model is there for something else.
    #[error(
        "`{0}` is a model that finds code by its meaning, and cannot answer; `ptk models list` shows those that can"
    )]
    NoAnswers(String),
    /// There is no such file.
    #[error("there is no file {}", .0.display())]
    NoFile(PathBuf),
    /// The file is no model.
    #[error(transparent)]
    Gguf(#[from] GgufError),
    /// A name that no model can have.
    #[error(
        "`{0}` cannot be a model's name; take up to {MAX_NAME} letters, digits, `.`, `_` and `-`, and begin with a letter or a digit"
    )]
    BadName(String),
    /// Another model has the name.
    #[error(
        "there is another model `{name}` already, from {from}; choose another name with --name, or remove that one with `ptk models remove {name}`"
    )]
    Taken {
        /// The name.
        name: String,
        /// Where the other one is from.
        from: String,
    },
    /// A path that cannot be written down.
    #[error("{} is not UTF-8, and cannot be remembered; rename it, or add it with --copy", .0.display())]
    Unwritable(PathBuf),
    /// What is known of a model cannot be read.
    #[error("{} {why}", path.display())]
    Damaged {
        /// The folder or file.
        path: PathBuf,
        /// What is the matter with it.
        why: String,
    },
    /// A model's file is not what it was.
    #[error("the file of `{name}` {what}; {remedy}")]
    Gone {
        /// The model.
        name: String,
        /// What became of it.
        what: String,
        /// What to do.
        remedy: String,
    },
    /// Another process pulls the model.
    #[error("`{0}` is being pulled by another ptk; stop that one first")]
    Busy(String),
    /// Somebody stopped it.
    #[error("interrupted")]
    Interrupted,
}

/// What to do about a folder that cannot be used.
fn advice(error: &io::Error) -> &'static str {
    match error.kind() {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
            "; make room, or name a folder on another disk with PTK_MODELS"
        }
        io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => {
            "; name a folder that you may write to with PTK_MODELS"
        }
        _ => "",
    }
}

impl LibraryError {
    pub(crate) fn io(doing: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Self + use<> {
        let path = path.to_owned();
        move |error| Self::Io { doing, path, error }
    }

    /// The error of a copy between these.
    pub(crate) fn copying(from: &Path, to: &Path) -> impl FnOnce(Failed) -> Self + use<> {
        let (from, to) = (from.to_owned(), to.to_owned());
        move |failed| match failed {
            Failed::Reading(error) => Self::io("read", &from)(error),
            Failed::Writing(error) => Self::io("written", &to)(error),
            Failed::Stopped => Self::Interrupted,
        }
    }
}
