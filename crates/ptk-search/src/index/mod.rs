//! The index on disk: what is in it, and bringing it up to date.
//!
//! A folder of its own holds `words/`, which is tantivy's, and `files-N`, which
//! says which files are in it. Every commit of `words/` names its N, and
//! `files-N` is on the disk before that; so a process that is killed at any
//! moment leaves an earlier or a later state, but a whole one.

mod lock;
mod manifest;
mod meaning;
mod store;
mod update;

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use ptk_sandbox::Workspace;

use crate::dense::VectorsError;
use crate::embed::{EmbedError, Embedder};
use crate::search::{SearchError, Searcher};
use crate::walk::Skipped;

pub(crate) use manifest::Manifest;
pub(crate) use store::{generation, open_words};

/// The index of a workspace, in a folder.
#[derive(Debug, Clone)]
pub struct Index {
    folder: PathBuf,
    workspace: Workspace,
    embedder: Option<Arc<dyn Embedder>>,
}

/// How far an update has come.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Progress {
    /// Files that were looked at.
    pub files: usize,
    /// Files that have to be looked at.
    pub total: usize,
    /// Chunks that were made of them.
    pub chunks: usize,
    /// Bytes that were read.
    pub bytes: u64,
    /// Chunks that were embedded, which comes last.
    pub embedded: usize,
    /// Chunks that have to be embedded.
    pub to_embed: usize,
}

/// What came of an update.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Report {
    /// Files in the index.
    pub files: usize,
    /// Chunks in the index.
    pub chunks: usize,
    /// Files that are new in it.
    pub added: usize,
    /// Files whose content was replaced.
    pub changed: usize,
    /// Files that were taken out of it.
    pub removed: usize,
    /// Files that were as they are.
    pub unchanged: usize,
    /// Chunks that were embedded.
    pub embedded: usize,
    /// Files that are not in the index, and why.
    pub skipped: Skipped,
    /// Why everything was built anew, if there was something before.
    pub rebuilt: Option<Rebuilt>,
    /// Whether it was stopped before its end. What was done is kept.
    pub is_cancelled: bool,
}

/// Why an index was built anew.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Rebuilt {
    /// It was made by another version.
    #[error("it was made by another version of ptk")]
    OtherVersion,
    /// Something in it is not as it was written.
    #[error("it was damaged: {what}")]
    Damaged {
        /// What is wrong.
        what: String,
    },
}

/// Why there is no index, or none that is up to date.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum IndexError {
    /// Another process, or another thread, is at it.
    #[error("The index in {} is being brought up to date by another process", folder.display())]
    Busy {
        /// Where it is.
        folder: PathBuf,
    },
    /// The folder cannot be made, read or written.
    #[error("Cannot use the folder of the index, {}", folder.display())]
    Folder {
        /// Where it is.
        folder: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// The workspace cannot be listed, so that nothing is known of its files.
    #[error("Cannot list the files of {}: {why}", workspace.display())]
    Workspace {
        /// Where it is.
        workspace: PathBuf,
        /// Why.
        why: String,
    },
    /// The index itself failed.
    #[error("The index in {} failed", folder.display())]
    Words {
        /// Where it is.
        folder: PathBuf,
        /// Why.
        source: tantivy::TantivyError,
    },
    /// The words are up to date, but the meaning is not: the model failed.
    #[error(transparent)]
    Embed(#[from] EmbedError),
    /// The words are up to date, but the meaning is not: its file failed.
    #[error(transparent)]
    Vectors(#[from] VectorsError),
}

impl Index {
    /// The index of a workspace that is kept in a folder. Touches neither.
    #[must_use]
    pub fn new(folder: impl Into<PathBuf>, workspace: Workspace) -> Self {
        Self {
            folder: folder.into(),
            workspace,
            embedder: None,
        }
    }

    /// Indexes and searches by meaning as well, with this model. Without one,
    /// by words alone.
    #[must_use]
    pub fn with_embedder(mut self, embedder: Arc<dyn Embedder>) -> Self {
        self.embedder = Some(embedder);
        self
    }

    /// The folder that it is kept in.
    #[must_use]
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// The workspace that it is of.
    #[must_use]
    pub fn workspace(&self) -> &Workspace {
        &self.workspace
    }

    /// The model that it goes by, if any.
    pub(crate) const fn embedder(&self) -> Option<&Arc<dyn Embedder>> {
        self.embedder.as_ref()
    }

    /// Whether there is something to search.
    #[must_use]
    pub fn exists(&self) -> bool {
        store::words(&self.folder).join(store::META).exists()
    }

    /// Brings the index up to date with the files: makes it if there is none,
    /// and reads no more files than it must. Tells `progress` after each file,
    /// and stops soon after `cancel` is set.
    ///
    /// # Errors
    ///
    /// If another process is at it, or the folder or the workspace cannot be
    /// used. Files that cannot be read are no error; the report has them.
    pub fn update(
        &self,
        cancel: &AtomicBool,
        progress: &mut dyn FnMut(Progress),
    ) -> Result<Report, IndexError> {
        update::update(self, cancel, progress)
    }

    /// Opens the index for searching. Never waits for an update: it sees what
    /// was last committed.
    ///
    /// # Errors
    ///
    /// If there is none, or it cannot be read.
    pub fn searcher(&self) -> Result<Searcher, SearchError> {
        Searcher::open(self)
    }

    fn words_failed(&self, source: tantivy::TantivyError) -> IndexError {
        IndexError::Words {
            folder: self.folder.clone(),
            source,
        }
    }

    fn folder_failed(&self, source: io::Error) -> IndexError {
        IndexError::Folder {
            folder: self.folder.clone(),
            source,
        }
    }
}
