//! The id of a session.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize};
use uuid::Uuid;

/// The longest id, in bytes.
const MAX_LENGTH: usize = 200;

/// The id of a session: a conversation and all that came of it.
///
/// Fresh ids sort by the time they were made. A program that embeds PTK may
/// have ids of its own, so any short text is one.
///
/// ```
/// use ptk_store::SessionId;
///
/// assert!(SessionId::new() < SessionId::new());
/// assert_eq!("ptkHistory".parse::<SessionId>()?.as_str(), "ptkHistory");
/// assert!("".parse::<SessionId>().is_err());
/// # Ok::<(), ptk_store::InvalidSessionId>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(transparent)]
pub struct SessionId(
    // Every entry carries it: shared, not copied.
    Arc<str>,
);

impl SessionId {
    /// Creates a fresh id.
    #[must_use]
    pub fn new() -> Self {
        Self(format!("session_{}", Uuid::now_v7().simple()).into())
    }

    /// The id as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl Default for SessionId {
    fn default() -> Self {
        Self::new()
    }
}

impl FromStr for SessionId {
    type Err = InvalidSessionId;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let is_fit = !text.is_empty() && text.len() <= MAX_LENGTH;
        if is_fit && !text.contains(char::is_control) {
            return Ok(Self(text.into()));
        }
        let shown = text.chars().filter(|char| !char.is_control());
        Err(InvalidSessionId(shown.take(40).collect()))
    }
}

impl<'de> Deserialize<'de> for SessionId {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        text.parse().map_err(D::Error::custom)
    }
}

impl fmt::Display for SessionId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

/// The error for a text that cannot be the id of a session.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{0}` cannot be the id of a session; take 1 to {MAX_LENGTH} bytes without control characters"
)]
pub struct InvalidSessionId(String);
