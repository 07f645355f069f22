//! Corrects a reply whose beginning turned out to be something else: reasoning
//! that nothing had opened, or an answer where reasoning was expected.

use super::reply::Reply;
use crate::dialects::engine::repair_message;
use crate::{ParsedCall, Piece, Problem, ProblemCode, Span, SpanKind, Status};

/// What came before the end of reasoning that nothing had opened.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Drafted {
    calls: Vec<ParsedCall>,
    pieces: Vec<Piece>,
    /// The reasoning without the marks and the calls in it.
    words: String,
    /// The length of the reasoning with them.
    length: usize,
}

impl Reply {
    /// Takes everything so far as reasoning. The calls in it are drafts, with
    /// `markup` as they were written: whole stretches, the first ones at least.
    pub(super) fn was_reasoning(&mut self, markup: Option<String>) {
        let words = std::mem::take(&mut self.text);
        let pieces = std::mem::take(&mut self.pieces);
        let Some(markup) = markup else {
            self.reasoning.push_str(&words);
            for piece in pieces {
                self.put(piece, SpanKind::Text, SpanKind::Reasoning);
            }
            return;
        };
        let (mut rest, mut rest_of_markup) = (words.as_str(), markup.as_str());
        for piece in &pieces {
            let source = match piece.kind {
                SpanKind::Text => &mut rest,
                _ => &mut rest_of_markup,
            };
            let span = Span::new(piece.start, piece.end);
            // Of long markup, only the beginning was kept.
            let Some((taken, left)) = source.split_at_checked(span.end - span.start) else {
                self.piece(SpanKind::Mark, span);
                continue;
            };
            self.reasoning.push_str(taken);
            *source = left;
            self.piece(SpanKind::Reasoning, span);
        }
        self.problems.clear();
        self.drafted = Some(Box::new(Drafted {
            calls: std::mem::take(&mut self.calls),
            pieces,
            words,
            length: self.reasoning.len(),
        }));
    }

    /// Takes the drafts in that reasoning as calls.
    pub(super) fn rescue(&mut self) {
        let Some(drafted) = self.drafted.take() else {
            return;
        };
        let Drafted {
            calls,
            pieces,
            mut words,
            length,
        } = *drafted;
        let behind = std::mem::take(&mut self.pieces);
        let end = pieces.last().map_or(0, |piece| piece.end);
        for piece in pieces {
            self.put(piece, SpanKind::Text, SpanKind::Reasoning);
        }
        for piece in behind.into_iter().filter(|piece| piece.start >= end) {
            self.piece(piece.kind, Span::new(piece.start, piece.end));
        }
        words.push_str(self.reasoning.get(length..).unwrap_or_default());
        self.reasoning = words;
        self.calls = calls;
        for call in &mut self.calls {
            let code = ProblemCode::RescuedFromReasoning;
            let note = Problem::new(code, repair_message(code), call.span);
            call.problems.push(note);
            if call.status == Status::Complete {
                call.status = Status::Repaired;
            }
        }
    }

    /// Adds a piece; one of kind `from` as one of kind `to`.
    fn put(&mut self, piece: Piece, from: SpanKind, to: SpanKind) {
        let kind = if piece.kind == from { to } else { piece.kind };
        self.piece(kind, Span::new(piece.start, piece.end));
    }
}
