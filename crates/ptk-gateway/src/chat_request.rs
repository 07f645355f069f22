//! A client's request, normalised across APIs.

use std::sync::Arc;

use bytes::Bytes;
use ptk_llm::{Api, Message, Sampling, Verbatim};
use serde_json::{Map, Value};

use crate::failure::Failure;
use crate::offer::Offer;
use crate::response::Note;

/// A parsed and validated request, the same for every API.
#[derive(Debug, Clone, Default)]
pub(crate) struct ChatRequest {
    /// The model, as the client calls it.
    pub(crate) model: String,
    /// The system prompt.
    pub(crate) system: Option<String>,
    pub(crate) messages: Vec<Message>,
    pub(crate) contract: Contract,
    pub(crate) sampling: Sampling,
    pub(crate) max_tokens: Option<u32>,
    /// Sequences at which the answer stops.
    pub(crate) stop: Vec<String>,
    /// The request as it was written, for a server that speaks the same API.
    pub(crate) written: Option<OriginalRequest>,
    /// The first part of the conversation that is not text, if there is one.
    pub(crate) unsupported_content: Option<UnsupportedContent>,
    /// Notes on tools that only a server of the same API has.
    pub(crate) left_out: Vec<Note>,
    /// The deferred tools that results of the conversation made known.
    pub(crate) loaded: Vec<LoadedTools>,
}

/// The deferred tools that one result of a conversation made known.
#[derive(Debug, Clone)]
pub(crate) struct LoadedTools {
    /// The id of the call.
    pub(crate) call: String,
    /// The names of the tools.
    pub(crate) names: Vec<String>,
    /// Whether the result has a text beside them.
    pub(crate) has_text: bool,
}

/// A part of a conversation that a text-only model cannot be sent.
#[derive(Debug, Clone)]
pub(crate) struct UnsupportedContent {
    /// The path of the field that holds it.
    pub(crate) at: String,
    pub(crate) kind: String,
}

/// A request as the client sent it.
#[derive(Debug, Clone)]
pub(crate) struct OriginalRequest {
    pub(crate) api: Api,
    pub(crate) body: Bytes,
    /// Headers that mean something to that API alone.
    pub(crate) headers: Vec<(&'static str, String)>,
}

impl ChatRequest {
    /// The tools that a result made known, if it is such a result.
    pub(crate) fn loaded_by(&self, call: &str) -> Option<&LoadedTools> {
        self.loaded.iter().find(|loaded| loaded.call == call)
    }

    /// Fills in the results of searches for tools: clients keep the names.
    pub(crate) fn tell_searches(&mut self) {
        for loaded in self.loaded.iter().filter(|loaded| !loaded.has_text) {
            let is_result = |message: &&mut Message| matches!(message, Message::Result { id, text, .. } if *id == loaded.call && text.is_empty());
            let args = self.messages.iter().find_map(|message| match message {
                Message::Assistant { calls, .. } => {
                    let call = calls
                        .iter()
                        .find(|it| it.id.as_ref() == Some(&loaded.call))?;
                    Some(call.args.clone())
                }
                _ => None,
            });
            let offer = &self.contract.offer;
            let told = || offer.search_result(&args.unwrap_or_default(), &loaded.names);
            if let Some(Message::Result { text, .. }) = self.messages.iter_mut().find(is_result) {
                *text = told();
            }
        }
    }

    /// The names of the deferred tools that the model knows, in the order in
    /// which it found them. One that it called without a search is among them.
    pub(crate) fn found(&self) -> Vec<&str> {
        if self.contract.offer.deferred.is_none() {
            return Vec::new();
        }
        let mut found = Vec::new();
        for message in &self.messages {
            match message {
                Message::Assistant { calls, .. } => {
                    found.extend(calls.iter().map(|call| call.name.as_str()));
                }
                Message::Result { id, .. } => {
                    let loaded = self.loaded_by(id).into_iter();
                    found.extend(loaded.flat_map(|it| it.names.iter().map(String::as_str)));
                }
                _ => {}
            }
        }
        found
    }

    /// The request as it was written for an API, for one answer. Settings that
    /// it lacks are taken from the model's configuration.
    pub(crate) fn verbatim(
        &self,
        api: Api,
        sampling: Sampling,
        max_tokens: Option<u32>,
    ) -> Result<Option<Verbatim>, Failure> {
        let Some(written) = self.written.as_ref().filter(|it| it.api == api) else {
            return Ok(None);
        };
        let read = serde_json::from_slice::<Map<String, Value>>(&written.body);
        let mut body = read.map_err(|error| Failure::invalid("", error.to_string()))?;
        let mut fill = |name: &str, value: Option<Value>| {
            if let Some(value) = value
                && body.get(name).is_none_or(Value::is_null)
            {
                body.insert(name.to_owned(), value);
            }
        };
        fill("temperature", sampling.temperature.map(Value::from));
        fill("top_p", sampling.top_p.map(Value::from));
        match api {
            Api::ChatCompletions => {
                body.remove("n");
                if let Some(seed) = self.sampling.seed {
                    body.insert("seed".to_owned(), seed.into());
                }
            }
            Api::Responses => {
                fill("max_output_tokens", max_tokens.map(Value::from));
                // Clients could not fetch a stored or background response here.
                fill("store", Some(false.into()));
                body.remove("background");
            }
            Api::Messages => {}
        }
        Ok(Some(Verbatim {
            body,
            headers: written.headers.clone(),
        }))
    }
}

/// The contract that the answer must fulfil.
#[derive(Debug, Clone, Default)]
pub(crate) struct Contract {
    /// The tools that may be called.
    pub(crate) offer: Arc<Offer>,
    pub(crate) choice: Choice,
    /// The names of tools that may be called, where not all may.
    pub(crate) allowed: Option<Vec<String>>,
    /// Whether at most one call may be made at a time.
    pub(crate) one_call: bool,
    /// Whether calls are sent only when they are complete, because the API
    /// cannot stream them. So each can be checked and corrected first.
    pub(crate) whole_calls: bool,
    /// The format of an answer in text.
    pub(crate) format: Format,
}

/// Whether tools are called.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) enum Choice {
    #[default]
    Auto,
    None,
    Required,
    Tool(String),
}

/// The format of an answer in text.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) enum Format {
    #[default]
    Text,
    /// A JSON object.
    Json,
    /// JSON by this schema.
    Schema(Arc<Value>),
}

impl Contract {
    /// Whether a call has to be made.
    pub(crate) fn needs_call(&self) -> bool {
        matches!(self.choice, Choice::Required | Choice::Tool(_))
    }

    /// Whether a known tool may be called.
    pub(crate) fn allows(&self, name: &str) -> bool {
        let is_chosen = match &self.choice {
            Choice::Auto | Choice::Required => true,
            Choice::None => false,
            Choice::Tool(chosen) => chosen == name,
        };
        is_chosen
            && self
                .allowed
                .as_ref()
                .is_none_or(|all| all.iter().any(|it| it == name))
    }

    /// The names of the tools that the model is to be taught; `None` for all.
    pub(crate) fn taught(&self) -> Option<Vec<String>> {
        match &self.choice {
            Choice::None => Some(Vec::new()),
            Choice::Tool(name) => Some(vec![name.clone()]),
            Choice::Auto | Choice::Required => self.allowed.clone(),
        }
    }
}
