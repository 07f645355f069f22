//! Another model, which helps the one that answers.

use serde::{Deserialize, Serialize};

use super::reply::Usage;

/// What another model is asked to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum HelperTask {
    /// Choose the files that the model is shown beforehand.
    ChooseFiles,
    /// Shorten the result of a call.
    Shorten,
    /// Tell the beginning of the conversation in short.
    SumUp,
}

impl HelperTask {
    /// Its name, as it is written.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::ChooseFiles => "choose_files",
            Self::Shorten => "shorten",
            Self::SumUp => "sum_up",
        }
    }
}

/// Another model is about to be asked. Where it is about a call, the entry has
/// the call's id.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct HelperAsked {
    /// What to do.
    pub task: HelperTask,
    /// Where the model is reached.
    pub provider: String,
    /// The model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
}

/// What came of it. It never ends a turn: where it failed, the model that
/// answers goes on without.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct HelperReplied {
    /// What it was asked to do.
    pub task: HelperTask,
    /// Where the model is reached.
    pub provider: String,
    /// The model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// What it said.
    #[serde(default)]
    pub text: String,
    /// The files that it chose.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<ChosenFile>,
    /// Why nothing came of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// What it took.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub usage: Option<Usage>,
    /// How long it took, in milliseconds.
    #[serde(default)]
    pub duration_ms: u64,
}

/// A file that was chosen.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChosenFile {
    /// Its path, as it was written.
    pub path: String,
    /// Why it could not be shown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// What it held, as far as it was shown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub content: Option<String>,
}
