//! Requests to a helper model, which assists the one that answers.

use serde::{Deserialize, Serialize};

use super::reply::Usage;

/// What a helper model is asked to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum HelperTask {
    /// Choose the files that the model is shown beforehand.
    ChooseFiles,
    /// Shorten the result of a call.
    Shorten,
    /// Summarize the beginning of the conversation.
    SumUp,
}

impl HelperTask {
    /// The name of the task in the log.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::ChooseFiles => "choose_files",
            Self::Shorten => "shorten",
            Self::SumUp => "sum_up",
        }
    }
}

/// A helper model is about to be asked. If it is about a call, the entry has
/// the call's id.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct HelperAsked {
    /// The task of the helper model.
    pub task: HelperTask,
    /// The provider of the model.
    pub provider: String,
    /// The name of the model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
}

/// The reply of a helper model, or why it failed. It never ends a turn: if it
/// failed, the model that answers goes on without it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct HelperReplied {
    /// The task of the helper model.
    pub task: HelperTask,
    /// The provider of the model.
    pub provider: String,
    /// The name of the model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// The text of the reply.
    #[serde(default)]
    pub text: String,
    /// The files that it chose.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<ChosenFile>,
    /// Why the helper failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// The tokens and cost of the request.
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
    /// Why the file could not be shown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// The content of the file, as far as it was shown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub content: Option<String>,
}
