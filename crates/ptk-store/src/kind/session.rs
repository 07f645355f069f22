//! What a session is about, and its turns.

use ptk_protocol::{ErrorCode, ErrorType, ExecutionError};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::SessionId;

/// What a session works on, and with what. When something of it changes, only
/// that is written again.
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
    /// What people call it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// The folder it works in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workspace: Option<String>,
    /// Where the model is reached.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub provider: Option<String>,
    /// The model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// The form in which the model calls tools.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dialect: Option<String>,
    /// Whatever else it was started with.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub settings: Map<String, Value>,
}

impl SessionInfo {
    /// Nothing is known.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// The same with what people call it.
    #[must_use]
    pub fn title(mut self, title: impl Into<String>) -> Self {
        self.title = Some(title.into());
        self
    }

    /// The same with the folder it works in.
    #[must_use]
    pub fn workspace(mut self, folder: impl Into<String>) -> Self {
        self.workspace = Some(folder.into());
        self
    }

    /// The same with the place where the model is reached.
    #[must_use]
    pub fn provider(mut self, provider: impl Into<String>) -> Self {
        self.provider = Some(provider.into());
        self
    }

    /// The same with the model.
    #[must_use]
    pub fn model(mut self, model: impl Into<String>) -> Self {
        self.model = Some(model.into());
        self
    }

    /// The same with the form in which the model calls tools.
    #[must_use]
    pub fn dialect(mut self, dialect: impl Into<String>) -> Self {
        self.dialect = Some(dialect.into());
        self
    }

    /// The same with a setting.
    #[must_use]
    pub fn setting(mut self, name: impl Into<String>, value: impl Into<Value>) -> Self {
        self.settings.insert(name.into(), value.into());
        self
    }

    /// Takes over what is known in `newer`, setting by setting. An empty title
    /// takes the title away.
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
    /// What the turn was begun with, for whoever resumes it.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub settings: Map<String, Value>,
}

/// Work on a prompt is over.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TurnEnded {
    /// How it came to its end.
    pub outcome: TurnOutcome,
    /// The code of what went wrong.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub code: Option<String>,
    /// What went wrong.
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
    /// It ended so.
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

    /// It failed with this.
    #[must_use]
    pub fn failed(error: &ExecutionError) -> Self {
        Self {
            code: Some(error.code.to_string()),
            message: Some(error.message.clone()),
            ..Self::new(TurnOutcome::Failed)
        }
    }
}

/// How a turn came to its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum TurnOutcome {
    /// With an answer.
    Answered,
    /// With an error.
    Failed,
    /// Somebody stopped it.
    Cancelled,
}

/// Something failed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Failure {
    /// What went wrong.
    pub message: String,
    /// Its code, for programs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub code: Option<String>,
    /// The kind of failure, if it was a tool's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error_type: Option<ErrorType>,
}

impl Failure {
    /// A failure of which only this is known.
    pub fn new(message: impl Into<String>) -> Self {
        Self {
            message: message.into(),
            code: None,
            error_type: None,
        }
    }

    /// The same failure under a code.
    #[must_use]
    pub fn with_code(mut self, code: ErrorCode) -> Self {
        self.code = Some(code.to_string());
        self
    }
}

/// A word on the side, which no model is shown.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Note {
    /// The word.
    pub text: String,
    /// More of it, for programs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub data: Option<Value>,
}

impl Note {
    /// A word.
    pub fn new(text: impl Into<String>) -> Self {
        Self {
            text: text.into(),
            data: None,
        }
    }
}

/// What was said up to an entry is told to the model in short from now on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Compacted {
    /// The short form.
    pub text: String,
    /// The number of the last entry that it stands for.
    pub through: u64,
}

/// The conversation begins anew; the log keeps what was said.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cleared {}
