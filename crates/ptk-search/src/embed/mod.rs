//! Embeds texts as vectors: texts of similar meaning have vectors of similar
//! direction.

mod rarity;
mod table;

use std::fmt;
use std::path::PathBuf;

pub use table::Table;

/// A model that embeds texts as vectors.
pub trait Embedder: fmt::Debug + Send + Sync {
    /// The id of its vectors, which changes whenever they do.
    fn id(&self) -> &str;

    /// The number of dimensions of a vector.
    fn dimensions(&self) -> usize;

    /// A vector of length 1 for each text. A text without words gets one of
    /// length 0, which is similar to nothing.
    ///
    /// # Errors
    ///
    /// If the model fails.
    fn embed(&self, texts: &[&str]) -> Result<Vec<Vec<f32>>, EmbedError>;
}

/// Why embedding failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum EmbedError {
    /// A file of the model cannot be read.
    #[error("{} cannot be read: {error}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// The cause.
        #[source]
        error: std::io::Error,
    },
    /// A file of the model is not valid.
    #[error("{} is not an embedding model: {why}; `ptk models pull` gets one", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        why: String,
    },
    /// The model failed while embedding.
    #[error("the model for embeddings failed: {0}")]
    Failed(String),
}
