//! Texts as vectors: texts that mean something alike have vectors that point
//! the same way.

mod rarity;
mod table;

use std::fmt;
use std::path::PathBuf;

pub use table::Table;

/// Makes vectors of texts.
pub trait Embedder: fmt::Debug + Send + Sync {
    /// What its vectors are known by. It changes whenever they do.
    fn id(&self) -> &str;

    /// How many numbers a vector has.
    fn dimensions(&self) -> usize;

    /// A vector for each text, of length 1. A text without words gets one of
    /// length 0, which is near to nothing.
    ///
    /// # Errors
    ///
    /// If the model fails.
    fn embed(&self, texts: &[&str]) -> Result<Vec<Vec<f32>>, EmbedError>;
}

/// Why there are no vectors.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum EmbedError {
    /// A file of the model cannot be read.
    #[error("{} cannot be read: {error}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// Why not.
        #[source]
        error: std::io::Error,
    },
    /// A file of the model is not what it should be.
    #[error("{} is no model for embeddings: {why}; `ptk models pull` gets one", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        why: String,
    },
    /// The model failed at its work.
    #[error("the model for embeddings failed: {0}")]
    Failed(String),
}
