//! What a model is for, and the files that it has.

use std::path::Path;

use serde::{Deserialize, Serialize};

/// What a model is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// It answers prompts.
    #[default]
    Chat,
    /// It turns texts into vectors, for search by meaning.
    Embeddings,
}

/// A file of a model.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Part {
    /// Its path in the wheel; the last component is its name in the model's
    /// folder.
    pub file: String,
    /// Its size in bytes.
    pub size: u64,
    /// Its SHA-256.
    pub sha256: String,
}

impl Part {
    /// The file's name, without folders.
    pub(crate) fn name(&self) -> Option<&Path> {
        Path::new(&self.file).file_name().map(Path::new)
    }
}

impl Kind {
    /// The kind as a word.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Chat => "chat",
            Self::Embeddings => "embeddings",
        }
    }
}
