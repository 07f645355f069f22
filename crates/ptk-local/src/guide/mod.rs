//! Right calls with very small models.
//!
//! A model with some hundred million weights knows language but not
//! tools: it prefers one whatever is asked, and makes up what it calls it
//! with. So a guide reads the request itself: what it names (`slots`), which tool
//! it is like a request for (`choose`), what that tool is to be given (`fill`),
//! and which part of a result answers (`answer`). The model talks, where there
//! is nothing to call. It is not asked which of two tools is the likelier one:
//! that made calls worse rather than better.
//!
//! Everything follows from the schemas of the tools that are offered, the
//! names that exist and examples of requests. Nothing is read or run here.

mod answer;
mod choose;
mod examples;
mod fill;
mod kinds;
mod lines;
mod names;
mod parameters;
mod patterns;
mod quotes;
mod request;
mod shapes;
mod slots;
mod spans;
mod surroundings;
mod words;

use std::sync::OnceLock;

use ptk_llm::Message;
use ptk_protocol::Toolset;
use serde_json::{Map, Value};

use answer::Outcome;
use choose::Choice;
use names::NameIndex;
pub use surroundings::{Name, Names, Surroundings};

/// How much of a request is read, in bytes.
const MOST_BYTES: usize = 64 * 1024;

/// What to do next.
#[derive(Debug, Clone, PartialEq)]
pub enum Move {
    /// Call a tool. The arguments pass the validator.
    Call {
        /// Its name.
        tool: String,
        /// What it is given.
        arguments: Map<String, Value>,
    },
    /// Say this, word for word.
    Answer(String),
    /// Let the model talk; there is nothing to call.
    Talk,
}

/// Says what to do next in a conversation.
#[derive(Debug)]
pub struct Guide {
    tools: Toolset,
    surroundings: Surroundings,
    names: OnceLock<NameIndex>,
}

impl Guide {
    /// A guide to these tools.
    #[must_use]
    pub fn new(tools: &Toolset, surroundings: Surroundings) -> Self {
        Self {
            tools: tools.clone(),
            surroundings,
            names: OnceLock::new(),
        }
    }

    /// What to do next. Only what the person said last decides, and what was
    /// called since.
    #[must_use]
    pub fn next(&self, messages: &[Message]) -> Move {
        let asked = messages
            .iter()
            .rposition(|message| matches!(message, Message::User(_)));
        let Some(asked) = asked else {
            return Move::Talk;
        };
        let since = messages.get(asked + 1..).unwrap_or_default();
        let request = messages.get(asked).map(Message::text).unwrap_or_default();
        let whole = request.len();
        let request = beginning(request);
        if let Some(outcome) = outcome(request, since) {
            return Move::Answer(answer::answer(&outcome));
        }
        let choice = Choice {
            tools: &self.tools,
            surroundings: &self.surroundings,
            names: self.names(),
            examples: examples::built_in(),
        };
        // What is written must not lack its end.
        let is_cut = request.len() < whole;
        match choice.call(request) {
            Some((tool, _)) if is_cut && self.surroundings.writing.contains(&tool) => Move::Talk,
            Some((tool, arguments)) => Move::Call { tool, arguments },
            None => Move::Talk,
        }
    }

    fn names(&self) -> &NameIndex {
        self.names
            .get_or_init(|| NameIndex::new(self.surroundings.names.names()))
    }
}

/// What was called last since the request, and what came of it.
fn outcome<'a>(request: &'a str, since: &'a [Message]) -> Option<Outcome<'a>> {
    let (result, text, is_error) = since.iter().rev().find_map(|message| match message {
        Message::Result {
            id, text, is_error, ..
        } => Some((id, text, *is_error)),
        _ => None,
    })?;
    let calls = since.iter().flat_map(|message| match message {
        Message::Assistant { calls, .. } => calls.as_slice(),
        _ => &[],
    });
    let call = calls
        .into_iter()
        .find(|call| call.id.as_ref() == Some(result));
    Some(Outcome {
        request,
        arguments: call
            .map(|call| call.args.as_map().clone())
            .unwrap_or_default(),
        text,
        is_error,
    })
}

/// As much of a request as is read.
fn beginning(request: &str) -> &str {
    let mut ends = (0..=MOST_BYTES.min(request.len())).rev();
    let end = ends.find(|end| request.is_char_boundary(*end));
    request.get(..end.unwrap_or(0)).unwrap_or_default()
}
