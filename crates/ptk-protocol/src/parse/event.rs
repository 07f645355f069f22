//! What the parser says while a reply arrives.

use std::borrow::Cow;

use crate::{ParsedCall, Piece, Problem, Span};

/// One thing that became known about the reply.
#[derive(Debug, Clone, PartialEq)]
pub enum Event<'a> {
    /// Prose for the person.
    Text {
        /// The words.
        text: Cow<'a, str>,
        /// Where they stand.
        span: Span,
    },
    /// The model thinking aloud.
    Reasoning {
        /// The words.
        text: Cow<'a, str>,
        /// Where they stand.
        span: Span,
    },
    /// A stretch of the reply that is neither: markup, the body of a call, or
    /// a problem.
    Piece(Piece),
    /// A call begins; its name is known.
    CallStart {
        /// Counts the calls of the reply from zero.
        index: usize,
        /// The tool's name.
        name: String,
    },
    /// Further text of the call's arguments: put together, the fragments of a
    /// call that is not truncated are the JSON of its arguments.
    ArgumentsDelta {
        /// The call.
        index: usize,
        /// The fragment.
        json: Cow<'a, str>,
    },
    /// A call has ended.
    CallEnd {
        /// The call.
        index: usize,
        /// All about it.
        call: Box<ParsedCall>,
    },
    /// Something was not as it should be and belongs to no call.
    Problem(Problem),
}

impl Event<'_> {
    /// The same event, owning its text.
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
        }
    }
}
