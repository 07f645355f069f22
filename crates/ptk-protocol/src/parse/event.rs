//! Events that the parser emits while a reply arrives.

use std::borrow::Cow;

use crate::{ParsedCall, Piece, Problem, Span};

/// An event of the parser: something that became known about the reply.
#[derive(Debug, Clone, PartialEq)]
pub enum Event<'a> {
    /// Prose for the user.
    Text {
        /// The text.
        text: Cow<'a, str>,
        /// The span of the text.
        span: Span,
    },
    /// Reasoning of the model.
    Reasoning {
        /// The text.
        text: Cow<'a, str>,
        /// The span of the text.
        span: Span,
    },
    /// A stretch of the reply that is neither prose nor reasoning: markup, the
    /// body of a call, or a problem.
    Piece(Piece),
    /// A call begins; its name is known.
    CallStart {
        /// The index of the call in the reply, counted from zero.
        index: usize,
        /// The tool's name.
        name: String,
    },
    /// Further text of the call's arguments: put together, the fragments of a
    /// call that is not truncated are the JSON of its arguments.
    ArgumentsDelta {
        /// The index of the call.
        index: usize,
        /// The fragment.
        json: Cow<'a, str>,
    },
    /// A call has ended.
    CallEnd {
        /// The index of the call.
        index: usize,
        /// The call, with everything known about it.
        call: Box<ParsedCall>,
    },
    /// A problem that does not belong to a call.
    Problem(Problem),
    /// What came so far turns out to be something else.
    Reclassified(Reclassified),
}

/// What the beginning of a reply turns out to be. It has been emitted already:
/// [`Reply::absorb`](crate::Reply::absorb) corrects it, and so must whatever else
/// keeps it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reclassified {
    /// Everything so far is reasoning, which the prompt had opened: its closing
    /// mark has come.
    Reasoning {
        /// The marks and the calls so far, as they were written; they are part
        /// of the reasoning. `None` if calls in reasoning are calls like any
        /// other.
        markup: Option<String>,
    },
    /// Nothing but white space followed that reasoning, so the calls that were
    /// drafted in it are calls.
    Rescued,
    /// The reply was expected to begin with reasoning, which never ended. No event
    /// so far counts: all of it follows once more, as it is read without
    /// reasoning.
    Text,
}

impl Event<'_> {
    /// Converts into an event that owns its text.
    #[must_use]
    pub fn into_owned(self) -> Event<'static> {
        match self {
            Event::Text { text, span } => Event::Text {
                text: Cow::Owned(text.into_owned()),
                span,
            },
            Event::Reasoning { text, span } => Event::Reasoning {
                text: Cow::Owned(text.into_owned()),
                span,
            },
            Event::Piece(piece) => Event::Piece(piece),
            Event::CallStart { index, name } => Event::CallStart { index, name },
            Event::ArgumentsDelta { index, json } => Event::ArgumentsDelta {
                index,
                json: Cow::Owned(json.into_owned()),
            },
            Event::CallEnd { index, call } => Event::CallEnd { index, call },
            Event::Problem(problem) => Event::Problem(problem),
            Event::Reclassified(what) => Event::Reclassified(what),
        }
    }
}
