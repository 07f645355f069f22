//! Entries about a session and its turns.

use ptk_protocol::{ErrorCode, ErrorType, ExecutionError, Image};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::SessionId;

/// The most characters of a title.
pub const MAX_TITLE: usize = 200;
/// The code of turns that failed because their images were refused.
pub const IMAGES_NOT_TAKEN: &str = "IMAGES_NOT_TAKEN";

/// The workspace, model and other settings of a session. When some of them
/// change, only those are written again.
///
/// ```
/// use ptk_store::SessionInfo;
///
/// let mut info = SessionInfo::new().workspace("/home/ada/engine").model("llama-3");
/// info.change(&SessionInfo::new().title("Notes on the engine"));
/// assert_eq!(info.model.as_deref(), Some("llama-3"));
/// assert_eq!(info.title.as_deref(), Some("Notes on the engine"));
/// ```
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct SessionInfo {
    /// The title.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// The workspace folder.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workspace: Option<String>,
    /// The provider of the model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub provider: Option<String>,
    /// The name of the model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// The dialect in which the model calls tools.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dialect: Option<String>,
    /// Other settings that the session was started with.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub settings: Map<String, Value>,
}

impl SessionInfo {
    /// Creates an empty value, in which nothing is known.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets the title.
    #[must_use]
    pub fn title(mut self, title: impl Into<String>) -> Self {
        self.title = Some(title.into());
        self
    }

    /// Sets the workspace folder.
    #[must_use]
    pub fn workspace(mut self, folder: impl Into<String>) -> Self {
        self.workspace = Some(folder.into());
        self
    }

    /// Sets the provider.
    #[must_use]
    pub fn provider(mut self, provider: impl Into<String>) -> Self {
        self.provider = Some(provider.into());
        self
    }

    /// Sets the model.
    #[must_use]
    pub fn model(mut self, model: impl Into<String>) -> Self {
        self.model = Some(model.into());
        self
    }

    /// Sets the dialect in which the model calls tools.
    #[must_use]
    pub fn dialect(mut self, dialect: impl Into<String>) -> Self {
        self.dialect = Some(dialect.into());
        self
    }

    /// Sets one of the other settings.
    #[must_use]
    pub fn setting(mut self, name: impl Into<String>, value: impl Into<Value>) -> Self {
        self.settings.insert(name.into(), value.into());
        self
    }

    /// Takes over the values that `newer` has, setting by setting. An empty
    /// title removes the title.
    pub fn change(&mut self, newer: &Self) {
        let pairs = [
            (&mut self.title, &newer.title),
            (&mut self.workspace, &newer.workspace),
            (&mut self.provider, &newer.provider),
            (&mut self.model, &newer.model),
            (&mut self.dialect, &newer.dialect),
        ];
        for (old, new) in pairs {
            if new.is_some() {
                old.clone_from(new);
            }
        }
        self.title = self.title.take().filter(|title| !title.is_empty());
        for (name, value) in &newer.settings {
            self.settings.insert(name.clone(), value.clone());
        }
    }
}

/// Everything up to here was copied from another session.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Fork {
    /// The other session.
    pub session: SessionId,
    /// The number of the last entry that was copied.
    pub through: u64,
    /// How many turns these are.
    pub turns: u64,
}

/// Everything up to here was imported from a file, without its settings.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SessionImported {
    /// The number of the last entry that was imported.
    pub through: u64,
}

/// A prompt came, and work on it begins. The request id of the entry is the
/// turn's.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TurnBegan {
    /// The settings of the turn, which apply again when it is resumed.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub settings: Map<String, Value>,
}

/// Work on a prompt is over.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TurnEnded {
    /// How the turn ended.
    pub outcome: TurnOutcome,
    /// The code of the error.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub code: Option<String>,
    /// The message of the error.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// How often the model was asked.
    #[serde(default)]
    pub iterations: u32,
    /// How many calls were made.
    #[serde(default)]
    pub calls: u32,
    /// How long it took, in milliseconds.
    #[serde(default)]
    pub duration_ms: u64,
}

impl TurnEnded {
    /// Creates the end of a turn with this outcome.
    #[must_use]
    pub fn new(outcome: TurnOutcome) -> Self {
        Self {
            outcome,
            code: None,
            message: None,
            iterations: 0,
            calls: 0,
            duration_ms: 0,
        }
    }

    /// Creates the end of a turn that failed with this error.
    #[must_use]
    pub fn failed(error: &ExecutionError) -> Self {
        Self {
            code: Some(error.code.to_string()),
            message: Some(error.message.clone()),
            ..Self::new(TurnOutcome::Failed)
        }
    }

    /// Whether the turn failed because the images of its request were refused.
    #[must_use]
    pub fn has_refused_images(&self) -> bool {
        self.outcome == TurnOutcome::Failed && self.code.as_deref() == Some(IMAGES_NOT_TAKEN)
    }
}

/// How a turn ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum TurnOutcome {
    /// The turn ended with an answer.
    Answered,
    /// The turn ended with an error.
    Failed,
    /// The user stopped the turn.
    Cancelled,
}

/// An error occurred.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Failure {
    /// What went wrong.
    pub message: String,
    /// The error code, for programs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub code: Option<String>,
    /// The error type, if a tool failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error_type: Option<ErrorType>,
}

impl Failure {
    /// Creates a failure of which only the message is known.
    pub fn new(message: impl Into<String>) -> Self {
        Self {
            message: message.into(),
            code: None,
            error_type: None,
        }
    }

    /// Sets the error code.
    #[must_use]
    pub fn with_code(mut self, code: ErrorCode) -> Self {
        self.code = Some(code.to_string());
        self
    }
}

/// A note that is not shown to the model.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Note {
    /// The text of the note.
    pub text: String,
    /// Additional data, for programs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub data: Option<Value>,
}

impl Note {
    /// Creates a note without data.
    pub fn new(text: impl Into<String>) -> Self {
        Self {
            text: text.into(),
            data: None,
        }
    }
}

/// From now on, a summary replaces the conversation up to an entry.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Compacted {
    /// The text of the summary.
    pub text: String,
    /// The images of the prompt that the summary repeats, as data URLs.
    #[serde(
        default,
        skip_serializing_if = "Vec::is_empty",
        deserialize_with = "super::reply::readable_images"
    )]
    pub images: Vec<Image>,
    /// The number of the last entry that it replaces.
    pub through: u64,
}

impl Compacted {
    /// Creates a summary of everything up to an entry.
    pub fn new(text: impl Into<String>, through: u64) -> Self {
        Self {
            text: text.into(),
            images: Vec::new(),
            through,
        }
    }
}

/// The conversation was cleared; the log keeps what was said.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cleared {}

/// A value that a host keeps with the conversation. The model does not see it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ValueSet {
    /// The name of the value.
    pub key: String,
    /// The value; null removes it.
    pub value: Value,
}
