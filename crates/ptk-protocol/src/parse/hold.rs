//! What the parser holds back until it is decided: a fence that may hold calls,
//! or calls drafted in reasoning.

use std::ops::Range;

use crate::{ParsedCall, Problem, SpanKind};

/// An item to emit about the reply. Offsets are those of the reply.
#[derive(Debug)]
pub(super) enum Item {
    Span(SpanKind, Range<usize>),
    Start(String),
    Delta(String),
    DeltaAt(Range<usize>),
    Call(Box<ParsedCall>),
    Problem(Problem),
}

/// A stretch that is held back, with both ways to emit it.
#[derive(Debug)]
pub(super) struct Held {
    pub(super) range: Range<usize>,
    pub(super) as_quoted: SpanKind,
    pub(super) as_calls: Vec<Item>,
}

impl Held {
    /// A stretch that is emitted the same way in any case.
    pub(super) fn plain(kind: SpanKind, range: Range<usize>) -> Self {
        Self {
            range: range.clone(),
            as_quoted: kind,
            as_calls: vec![Item::Span(kind, range)],
        }
    }

    /// A mark around calls that are drafted in reasoning.
    pub(super) fn draft_mark(range: Range<usize>) -> Self {
        Self {
            range: range.clone(),
            as_quoted: SpanKind::Reasoning,
            as_calls: vec![Item::Span(SpanKind::Mark, range)],
        }
    }

    /// Whether the stretch is markup if the calls count.
    pub(super) fn is_mark(&self) -> bool {
        matches!(self.as_calls.as_slice(), [Item::Span(SpanKind::Mark, _)])
    }

    /// A stretch of a fence that is markup if the calls in the fence count.
    pub(super) fn fence_line(range: Range<usize>) -> Self {
        Self {
            range: range.clone(),
            as_quoted: SpanKind::Text,
            as_calls: vec![Item::Span(SpanKind::Mark, range)],
        }
    }
}

/// Why something is held back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum HoldKind {
    Fence,
    Reasoning,
}

/// The stretches that are held back.
#[derive(Debug)]
pub(super) struct Hold {
    pub(super) kind: HoldKind,
    pub(super) start: usize,
    pub(super) held: Vec<Held>,
    has_calls: bool,
}

impl Hold {
    /// Holds back what comes from `start` on.
    pub(super) fn new(kind: HoldKind, start: usize) -> Self {
        Self {
            kind,
            start,
            held: Vec::new(),
            has_calls: false,
        }
    }

    /// Holds back a further stretch.
    pub(super) fn push(&mut self, held: Held) {
        self.has_calls |= has_call(&held.as_calls);
        self.held.push(held);
    }

    /// Whether a call is among what is held back.
    pub(super) fn has_calls(&self) -> bool {
        self.has_calls
    }
}

/// Whether a call is among the items.
pub(super) fn has_call(items: &[Item]) -> bool {
    items.iter().any(|item| matches!(item, Item::Call(_)))
}
