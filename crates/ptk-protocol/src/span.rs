//! Positions in the reply: byte offsets, end exclusive.

use serde::{Serialize, Serializer};

/// A range of bytes of the reply, written as `[start, end]` in JSON.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, PartialOrd, Ord)]
pub struct Span {
    /// Offset of the first byte.
    pub start: usize,
    /// Offset behind the last byte.
    pub end: usize,
}

impl Span {
    /// Creates the span from `start` up to, not including, `end`.
    #[must_use]
    pub const fn new(start: usize, end: usize) -> Self {
        Self { start, end }
    }

    /// The number of bytes covered.
    #[must_use]
    pub const fn len(self) -> usize {
        self.end.saturating_sub(self.start)
    }

    /// Whether no byte is covered.
    #[must_use]
    pub const fn is_empty(self) -> bool {
        self.end <= self.start
    }
}

impl Serialize for Span {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        (self.start, self.end).serialize(serializer)
    }
}

/// The kind of a piece of the reply.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum SpanKind {
    /// Prose that the user is shown.
    Text,
    /// Reasoning of the model.
    Reasoning,
    /// The body of a tool call.
    Call,
    /// Markup around calls and reasoning: tags, fences, separators.
    Mark,
    /// Something that was meant as a call and cannot be read as one.
    Problem,
}

/// One piece of the reply. The pieces of a reply cover it in order, without
/// gap or overlap: that is the proof that no byte was lost.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Piece {
    /// The kind of the piece.
    pub kind: SpanKind,
    /// Offset of its first byte.
    pub start: usize,
    /// Offset behind its last byte.
    pub end: usize,
}
