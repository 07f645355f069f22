//! Errors of the library, each with what to do about it.

use std::io;
use std::path::{Path, PathBuf};

use crate::copy::Failed;
use crate::gguf::GgufError;
use crate::name::MAX_NAME;

/// An error of the library.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LibraryError {
    /// No environment variable says where models are kept.
    #[error("no folder for models: neither PTK_MODELS nor HOME is set")]
    NoPlace,
    /// A file operation failed.
    #[error("{} cannot be {doing}: {error}{}", path.display(), advice(error))]
    Io {
        /// What was attempted.
        doing: &'static str,
        /// The file or folder.
        path: PathBuf,
        /// The operating system's error.
        error: io::Error,
    },
    /// There is no model of this name.
    #[error("model `{name}` {hint}")]
    Unknown {
        /// The name.
        name: String,
        /// What to do about it.
        hint: String,
    },
    /// The model does not answer prompts.
    #[error(
        "`{0}` is a model that finds code by its meaning, and cannot answer; `ptk models list` shows those that can"
    )]
    NoAnswers(String),
    /// There is no such file.
    #[error("file {} not found", .0.display())]
    NoFile(PathBuf),
    /// The file is not a model.
    #[error(transparent)]
    Gguf(#[from] GgufError),
    /// The name is not valid for a model.
    #[error(
        "`{0}` cannot be a model's name; take up to {MAX_NAME} letters, digits, `.`, `_` and `-`, and begin with a letter or a digit"
    )]
    BadName(String),
    /// Another model has this name.
    #[error(
        "there is another model `{name}` already, from {from}; choose another name with --name, or remove that one with `ptk models remove {name}`"
    )]
    Taken {
        /// The name.
        name: String,
        /// Where the other model came from.
        from: String,
    },
    /// A path cannot be written as JSON.
    #[error("{} is not UTF-8, and cannot be remembered; rename it, or add it with --copy", .0.display())]
    Unwritable(PathBuf),
    /// The entry of a model, or the catalogue, cannot be read.
    #[error("{} {why}", path.display())]
    Damaged {
        /// The folder or file.
        path: PathBuf,
        /// What is wrong with it.
        why: String,
    },
    /// A model's file is missing or damaged.
    #[error("the file of `{name}` {what}; {remedy}")]
    Gone {
        /// The model's name.
        name: String,
        /// What is wrong with its file.
        what: String,
        /// What to do about it.
        remedy: String,
    },
    /// Another process is pulling the model.
    #[error("`{0}` is being pulled by another ptk; stop that one first")]
    Busy(String),
    /// The operation was cancelled.
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

    pub(crate) fn damaged(path: &Path, why: impl Into<String>) -> Self {
        Self::Damaged {
            path: path.to_owned(),
            why: why.into(),
        }
    }

    /// Converts the error of a copy between these paths.
    pub(crate) fn copying(from: &Path, to: &Path) -> impl FnOnce(Failed) -> Self + use<> {
        let (from, to) = (from.to_owned(), to.to_owned());
        move |failed| match failed {
            Failed::Reading(error) => Self::io("read", &from)(error),
            Failed::Writing(error) => Self::io("written", &to)(error),
            Failed::Stopped => Self::Interrupted,
        }
    }
}
