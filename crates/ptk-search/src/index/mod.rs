//! The index on disk, and how it is updated.
//!
//! Its folder holds `words/`, which is tantivy's, and `files-N`, the manifest
//! of its files. Every commit of `words/` names its N, and `files-N` is on the
//! disk before that; so a process that is killed at any time leaves the state
//! before or after a commit, never a mix.

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

/// The progress of an update.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Progress {
    /// Files processed.
    pub files: usize,
    /// Files to process.
    pub total: usize,
    /// Chunks created.
    pub chunks: usize,
    /// Bytes read.
    pub bytes: u64,
    /// Chunks embedded, which is the last step.
    pub embedded: usize,
    /// Chunks to embed.
    pub to_embed: usize,
}

/// The result of an update.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Report {
    /// Files in the index.
    pub files: usize,
    /// Chunks in the index.
    pub chunks: usize,
    /// Files that were added.
    pub added: usize,
    /// Files that were replaced.
    pub changed: usize,
    /// Files that were removed.
    pub removed: usize,
    /// Files that were unchanged.
    pub unchanged: usize,
    /// Chunks that were embedded.
    pub embedded: usize,
    /// Files that were skipped, and why.
    pub skipped: Skipped,
    /// Why the index was rebuilt, if it was.
    pub rebuilt: Option<Rebuilt>,
    /// Whether the update was cancelled. What was done is kept.
    pub is_cancelled: bool,
}

/// Why an index was rebuilt.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Rebuilt {
    /// It was built by another version.
    #[error("it was made by another version of ptk")]
    OtherVersion,
    /// It was damaged.
    #[error("it was damaged: {what}")]
    Damaged {
        /// What is wrong.
        what: String,
    },
}

/// Why an index could not be updated.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum IndexError {
    /// Another process or thread is updating it.
    #[error("The index in {} is being brought up to date by another process", folder.display())]
    Busy {
        /// The folder of the index.
        folder: PathBuf,
    },
    /// The folder cannot be created, read or written.
    #[error("Cannot use the folder of the index, {}", folder.display())]
    Folder {
        /// The folder of the index.
        folder: PathBuf,
        /// The cause.
        source: io::Error,
    },
    /// The workspace cannot be listed, so its files are unknown.
    #[error("Cannot list the files of {}: {why}", workspace.display())]
    Workspace {
        /// The workspace's folder.
        workspace: PathBuf,
        /// The cause.
        why: String,
    },
    /// The index by words failed.
    #[error("The index in {} failed", folder.display())]
    Words {
        /// The folder of the index.
        folder: PathBuf,
        /// The cause.
        source: tantivy::TantivyError,
    },
    /// The index by words is up to date, but embedding failed.
    #[error(transparent)]
    Embed(#[from] EmbedError),
    /// The index by words is up to date, but the file of vectors failed.
    #[error(transparent)]
    Vectors(#[from] VectorsError),
}

impl Index {
    /// The index of a workspace, stored in a folder. Nothing is read or written
    /// yet.
    #[must_use]
    pub fn new(folder: impl Into<PathBuf>, workspace: Workspace) -> Self {
        Self {
            folder: folder.into(),
            workspace,
            embedder: None,
        }
    }

    /// Adds a model, to index and search by meaning as well as by words.
    #[must_use]
    pub fn with_embedder(mut self, embedder: Arc<dyn Embedder>) -> Self {
        self.embedder = Some(embedder);
        self
    }

    /// The folder of the index.
    #[must_use]
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// The workspace that is indexed.
    #[must_use]
    pub fn workspace(&self) -> &Workspace {
        &self.workspace
    }

    /// The embedding model, if there is one.
    pub(crate) const fn embedder(&self) -> Option<&Arc<dyn Embedder>> {
        self.embedder.as_ref()
    }

    /// Whether the index exists on disk.
    #[must_use]
    pub fn exists(&self) -> bool {
        store::words(&self.folder).join(store::META).exists()
    }

    /// Updates the index to the current files: builds it if there is none, and
    /// reads only files that may have changed. Calls `progress` after each
    /// file, and stops soon after `cancel` is set.
    ///
    /// # Errors
    ///
    /// If another process is updating it, or the folder or the workspace cannot
    /// be used. Files that cannot be read are not an error; the report names
    /// them.
    pub fn update(
        &self,
        cancel: &AtomicBool,
        progress: &mut dyn FnMut(Progress),
    ) -> Result<Report, IndexError> {
        update::update(self, cancel, progress)
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
