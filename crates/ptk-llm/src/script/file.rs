//! Parses scripts; errors say which line is wrong, and what to write instead.

use std::fs::File;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde_json::Value;
use serde_json::value::RawValue;

use super::reply::{ScriptedCall, ScriptedReply};

/// The longest script, in bytes.
const MAX_SCRIPT: u64 = 64 * 1024 * 1024;
/// The format of scripts, for error messages.
const FORM: &str = r#"a script is a JSON array of replies, or one reply a line; a reply is a text, such as "Hello", or an object, such as {"text": "Hello", "chunk": 3}"#;

/// Why a script could not be read.
#[derive(Debug, Clone, thiserror::Error)]
#[non_exhaustive]
pub enum ScriptError {
    /// The file cannot be read.
    #[error("Cannot read the script {}: {source}; name a file that is there and is text", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// The error of the system.
        source: Arc<io::Error>,
    },
    /// The file is too long.
    #[error("The script {} is longer than {} MB; split it", path.display(), MAX_SCRIPT >> 20)]
    TooLong {
        /// The file.
        path: PathBuf,
    },
    /// The script has no reply.
    #[error("{}The script is empty; {FORM}", place(.path.as_deref(), None))]
    Empty {
        /// The file, if it was one.
        path: Option<PathBuf>,
    },
    /// Something in the script is not a reply.
    #[error("{}{reason}; {FORM}", place(.path.as_deref(), Some(*.line)))]
    Invalid {
        /// The file, if it was one.
        path: Option<PathBuf>,
        /// The line, counted from one.
        line: usize,
        /// What is wrong in the line.
        reason: String,
    },
}

fn place(path: Option<&Path>, line: Option<usize>) -> String {
    match (path, line) {
        (Some(path), Some(line)) => format!("{}, line {line}: ", path.display()),
        (Some(path), None) => format!("{}: ", path.display()),
        (None, Some(line)) => format!("line {line}: "),
        (None, None) => String::new(),
    }
}

impl ScriptError {
    fn within(mut self, file: &Path) -> Self {
        if let Self::Empty { path } | Self::Invalid { path, .. } = &mut self {
            *path = Some(file.to_owned());
        }
        self
    }

    fn at(line: usize, reason: impl Into<String>) -> Self {
        Self::Invalid {
            path: None,
            line,
            reason: reason.into(),
        }
    }
}

pub(super) fn open(path: &Path) -> Result<Vec<ScriptedReply>, ScriptError> {
    let unreadable = |error: io::Error| ScriptError::Unreadable {
        path: path.to_owned(),
        source: Arc::new(error),
    };
    let mut text = String::new();
    let file = File::open(path).map_err(unreadable)?;
    file.take(MAX_SCRIPT + 1)
        .read_to_string(&mut text)
        .map_err(unreadable)?;
    if text.len() as u64 > MAX_SCRIPT {
        return Err(ScriptError::TooLong {
            path: path.to_owned(),
        });
    }
    parse(&text).map_err(|error| error.within(path))
}

pub(super) fn parse(text: &str) -> Result<Vec<ScriptedReply>, ScriptError> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let replies = if text.trim_start().starts_with('[') {
        array(text)?
    } else {
        lines(text)?
    };
    if replies.is_empty() {
        return Err(ScriptError::Empty { path: None });
    }
    Ok(replies)
}

fn array(text: &str) -> Result<Vec<ScriptedReply>, ScriptError> {
    let items: Vec<&RawValue> = serde_json::from_str(text)
        .map_err(|error| ScriptError::at(error.line(), without_place(&error)))?;
    let replies = items.iter().enumerate().map(|(at, item)| {
        let before = (item.get().as_ptr() as usize).saturating_sub(text.as_ptr() as usize);
        let line = text
            .get(..before)
            .map_or(1, |text| text.matches('\n').count() + 1);
        reply(item.get()).map_err(|(behind, reason)| {
            ScriptError::at(line + behind, format!("reply {}: {reason}", at + 1))
        })
    });
    replies.collect()
}

fn lines(text: &str) -> Result<Vec<ScriptedReply>, ScriptError> {
    let lines = text.lines().enumerate();
    let said = lines.filter(|(_, line)| !line.trim().is_empty());
    said.map(|(at, line)| reply(line).map_err(|(_, reason)| ScriptError::at(at + 1, reason)))
        .collect()
}

/// Parses a reply; an error is the number of lines after its first one, and the
/// reason.
fn reply(json: &str) -> Result<ScriptedReply, (usize, String)> {
    let wrong = |error: serde_json::Error| {
        let behind = error.line().saturating_sub(1);
        (behind, without_place(&error))
    };
    match json.trim_start().as_bytes().first() {
        Some(b'"') => serde_json::from_str(json)
            .map(|text: String| text.into())
            .map_err(wrong),
        Some(b'{') => {
            let reply: ScriptedReply = serde_json::from_str(json).map_err(wrong)?;
            let is_odd = |call: &&ScriptedCall| {
                !matches!(
                    call.arguments,
                    Value::Object(_) | Value::String(_) | Value::Null
                )
            };
            match reply.tool_calls.iter().find(is_odd) {
                Some(call) => {
                    let name = &call.name;
                    let reason =
                        format!("the arguments of `{name}` are neither an object nor a text");
                    Err((0, reason))
                }
                None => Ok(reply),
            }
        }
        _ => Err((0, "this is neither a text nor an object".to_owned())),
    }
}

/// The message of a serde error, without its position.
fn without_place(error: &serde_json::Error) -> String {
    let text = error.to_string();
    match text.rfind(" at line ") {
        Some(at) => text.get(..at).unwrap_or(&text).to_owned(),
        None => text,
    }
}
