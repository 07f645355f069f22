//! A response, event by event, normalised across APIs.

use std::borrow::Cow;

use ptk::llm::{FinishReason, Passthrough, Usage};
use ptk::protocol::{Arguments, Problem};
use serde::Serialize;
use serde_json::{Map, Value};

/// An event of a response.
#[derive(Debug, Clone, Copy)]
pub(crate) enum ResponseEvent<'s> {
    Text(&'s str),
    Reasoning(&'s str),
    /// A call begins. No other one is open.
    Call {
        id: &'s str,
        name: &'s str,
    },
    /// Further JSON of its arguments.
    Arguments(&'s str),
    /// The call has all its arguments: these.
    CallEnd(&'s Arguments),
    /// The call that was begun breaks off: nothing else comes of it.
    CallCut(&'s Arguments),
    /// What only the API that client and server share can express.
    Passthrough(&'s Passthrough),
}

/// How an answer ended.
#[derive(Debug, Clone, Default)]
pub(crate) struct End {
    pub(crate) finish: FinishReason,
    /// The text at which it stopped, where it is one of those that were named.
    pub(crate) stopped_at: Option<String>,
    pub(crate) usage: Usage,
    /// What was not as it should be, for programs.
    pub(crate) notes: Vec<Note>,
    /// What the model's server says of it in an API that the client speaks,
    /// too.
    pub(crate) passthrough: PassthroughEnd,
}

/// How an answer ended, in the words of the model's server.
#[derive(Debug, Clone, Default)]
pub(crate) struct PassthroughEnd {
    pub(crate) usage: Option<Value>,
    pub(crate) reason: Map<String, Value>,
}

/// Something about an answer that was not as it should be.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct Note {
    pub(crate) code: Cow<'static, str>,
    pub(crate) message: String,
    /// The model's words, where they went nowhere else.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub(crate) raw: String,
}

impl Note {
    pub(crate) fn new(code: &'static str, message: impl Into<String>) -> Self {
        Self {
            code: code.into(),
            message: message.into(),
            raw: String::new(),
        }
    }
}

impl From<&Problem> for Note {
    fn from(problem: &Problem) -> Self {
        Self::new(problem.code.as_str(), problem.message.clone())
    }
}

/// An answer as a whole.
#[derive(Debug, Clone, Default)]
pub(crate) struct Whole {
    pub(crate) parts: Vec<ResponsePart>,
    pub(crate) end: End,
}

/// A part of an answer.
#[derive(Debug, Clone)]
pub(crate) enum ResponsePart {
    Text(String),
    Reasoning(String),
    Call {
        id: String,
        name: String,
        /// The JSON, as far as it came.
        json: String,
        args: Arguments,
        /// Whether it breaks off.
        is_cut: bool,
    },
    Passthrough(Passthrough),
}

impl Whole {
    /// Takes in the next piece.
    pub(crate) fn absorb(&mut self, event: ResponseEvent<'_>) {
        match (event, self.parts.last_mut()) {
            (ResponseEvent::Text(text), Some(ResponsePart::Text(all)))
            | (ResponseEvent::Reasoning(text), Some(ResponsePart::Reasoning(all))) => {
                all.push_str(text);
            }
            (ResponseEvent::Text(text), _) => self.parts.push(ResponsePart::Text(text.to_owned())),
            (ResponseEvent::Reasoning(text), _) => {
                self.parts.push(ResponsePart::Reasoning(text.to_owned()));
            }
            (ResponseEvent::Call { id, name }, _) => self.parts.push(ResponsePart::Call {
                id: id.to_owned(),
                name: name.to_owned(),
                json: String::new(),
                args: Arguments::new(),
                is_cut: false,
            }),
            (ResponseEvent::Arguments(piece), Some(ResponsePart::Call { json, .. })) => {
                json.push_str(piece);
            }
            (ResponseEvent::CallEnd(all), Some(ResponsePart::Call { args, .. })) => {
                args.clone_from(all);
            }
            (ResponseEvent::CallCut(all), Some(ResponsePart::Call { args, is_cut, .. })) => {
                args.clone_from(all);
                *is_cut = true;
            }
            (ResponseEvent::Passthrough(passthrough), _) => self
                .parts
                .push(ResponsePart::Passthrough(passthrough.clone())),
            _ => {}
        }
    }

    /// All that was said in words.
    pub(crate) fn text(&self) -> String {
        let texts = self.parts.iter().filter_map(|part| match part {
            ResponsePart::Text(text) => Some(text.as_str()),
            _ => None,
        });
        texts.collect()
    }

    /// All that was thought.
    pub(crate) fn reasoning(&self) -> String {
        let texts = self.parts.iter().filter_map(|part| match part {
            ResponsePart::Reasoning(text) => Some(text.as_str()),
            _ => None,
        });
        texts.collect()
    }

    /// The calls: id, name and JSON.
    pub(crate) fn calls(&self) -> impl Iterator<Item = (&str, &str, &str)> {
        self.parts.iter().filter_map(|part| match part {
            ResponsePart::Call { id, name, json, .. } => {
                Some((id.as_str(), name.as_str(), json.as_str()))
            }
            _ => None,
        })
    }
}

/// A new id that begins like this.
pub(crate) fn new_id(begins: &str) -> String {
    let mut id = String::with_capacity(begins.len() + 24);
    id.push_str(begins);
    id.extend(std::iter::repeat_with(fastrand::alphanumeric).take(24));
    id
}
