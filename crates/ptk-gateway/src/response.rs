//! A response, event by event, normalised across APIs.

use std::borrow::Cow;

use ptk_llm::{FinishReason, Passthrough, Usage};
use ptk_protocol::{Arguments, Problem, Toolset};
use serde::Serialize;
use serde_json::{Map, Value};

/// An event of a response.
#[derive(Debug, Clone, Copy)]
pub(crate) enum ResponseEvent<'s> {
    Text(&'s str),
    Reasoning(&'s str),
    /// All text and calls so far were reasoning. What was sent stays sent; a
    /// response that is not streamed is corrected.
    WasReasoning,
    /// The calls that were left out as drafts are calls after all.
    WasRescued,
    /// All reasoning so far was text, which follows once more as text.
    WasText,
    /// A call begins. No other one is open.
    Call {
        id: &'s str,
        name: &'s str,
    },
    /// Further JSON of its arguments.
    Arguments(&'s str),
    /// The end of the call, with its complete arguments.
    CallEnd(&'s Arguments),
    /// The open call breaks off: nothing else comes of it.
    CallCut(&'s Arguments),
    /// A search for tools that the gateway ran.
    Search(&'s ToolSearch),
    /// Content that only the API of client and server can express.
    Passthrough(&'s Passthrough),
}

/// A search for tools that the gateway ran for the model.
#[derive(Debug, Clone)]
pub(crate) struct ToolSearch {
    /// The id of the call.
    pub(crate) id: String,
    pub(crate) args: Arguments,
    /// The tools that were found, the best first.
    pub(crate) found: Toolset,
}

/// How an answer ended.
#[derive(Debug, Clone, Default)]
pub(crate) struct End {
    pub(crate) finish: FinishReason,
    /// The stop sequence that was reached, if the client named it.
    pub(crate) stopped_at: Option<String>,
    pub(crate) usage: Usage,
    /// Notes on problems, for programs.
    pub(crate) notes: Vec<Note>,
    /// The end in the format of the model's server, if the client speaks its
    /// API.
    pub(crate) passthrough: PassthroughEnd,
}

/// How an answer ended, in the format of the model's server.
#[derive(Debug, Clone, Default)]
pub(crate) struct PassthroughEnd {
    pub(crate) usage: Option<Value>,
    pub(crate) reason: Map<String, Value>,
}

/// A note on a problem with an answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct Note {
    pub(crate) code: Cow<'static, str>,
    pub(crate) message: String,
    /// The text of the model, where it is nowhere else.
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

/// A whole answer.
#[derive(Debug, Clone, Default)]
pub(crate) struct Whole {
    pub(crate) parts: Vec<ResponsePart>,
    pub(crate) end: End,
    /// The calls that were drafted in reasoning.
    drafted: Vec<ResponsePart>,
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
        /// Whether the call breaks off.
        is_cut: bool,
    },
    Search(ToolSearch),
    Passthrough(Passthrough),
}

impl Whole {
    /// Adds the next event.
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
            (ResponseEvent::Search(search), _) => {
                self.parts.push(ResponsePart::Search(search.clone()));
            }
            (ResponseEvent::WasReasoning, _) => self.was_reasoning(),
            (ResponseEvent::WasRescued, _) => self.parts.append(&mut self.drafted),
            (ResponseEvent::WasText, _) => {
                let is_reasoning = |part: &ResponsePart| matches!(part, ResponsePart::Reasoning(_));
                self.parts.retain(|part| !is_reasoning(part));
            }
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

    /// Makes all text so far reasoning, and leaves the calls out, which were
    /// drafted in it.
    fn was_reasoning(&mut self) {
        let parts = std::mem::take(&mut self.parts);
        for part in parts {
            match part {
                ResponsePart::Text(text) => self.absorb(ResponseEvent::Reasoning(&text)),
                call @ (ResponsePart::Call { .. } | ResponsePart::Search(_)) => {
                    self.drafted.push(call);
                }
                part => self.parts.push(part),
            }
        }
    }

    /// The whole text.
    pub(crate) fn text(&self) -> String {
        let texts = self.parts.iter().filter_map(|part| match part {
            ResponsePart::Text(text) => Some(text.as_str()),
            _ => None,
        });
        texts.collect()
    }

    /// The whole reasoning.
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

/// Creates an id with this prefix.
pub(crate) fn new_id(begins: &str) -> String {
    let mut id = String::with_capacity(begins.len() + 24);
    id.push_str(begins);
    id.extend(std::iter::repeat_with(fastrand::alphanumeric).take(24));
    id
}
