//! Output: what is emitted, what is held back, and how a hold is settled.

use std::borrow::Cow;
use std::ops::Range;

use super::{EngineState, Work};
use crate::dialects::engine::repair_message;
use crate::parse::event::Event;
use crate::parse::grammar::Drafts;
use crate::parse::hold::{Held, Hold, HoldKind, Item, has_call};
use crate::parse::line::Line;
use crate::parse::trace::{Decision, Kept, Quote};
use crate::{Piece, Problem, ProblemCode, Span, SpanKind, Status};

impl Work<'_, '_, '_> {
    /// Moves on to `at`, keeping track of lines.
    pub(super) fn pass(&mut self, at: usize) {
        let range = self.machine.seen..at;
        self.machine.line.pass(self.text.slice(&range));
        self.machine.seen = at;
    }

    /// Starts a line behind something that is not prose.
    pub(super) fn begin_line(&mut self) {
        self.machine.line = Line::default();
        self.machine.prose_start = self.machine.seen;
    }

    /// Moves on to `at` in prose or reasoning: words end what is behind a call.
    pub(super) fn pass_words(&mut self, at: usize) {
        let range = self.machine.seen..at;
        if self.machine.behind_call && !self.text.slice(&range).trim_start().is_empty() {
            self.machine.behind_call = false;
        }
        self.pass(at);
    }

    pub(super) fn skip_char(&mut self, at: usize) {
        let length = self.text.from(at).chars().next().map_or(1, char::len_utf8);
        self.pass_words(at + length);
    }

    /// Emits everything up to `end` as `kind`.
    pub(super) fn tell(&mut self, kind: SpanKind, end: usize) {
        let range = self.machine.told..end;
        if !range.is_empty() {
            self.machine.told = end;
            self.machine.has_said |=
                kind == SpanKind::Text && !self.text.slice(&range).trim_start().is_empty();
            self.emit(Item::Span(kind, range));
        }
    }

    /// Emits a mark, which does not count as part of its line.
    pub(super) fn mark(&mut self, range: Range<usize>) {
        self.machine.told = range.end;
        self.machine.seen = range.end;
        self.emit(Item::Span(SpanKind::Mark, range));
    }

    pub(super) fn emit_all(&mut self, items: Vec<Item>) {
        for item in items {
            self.emit(item);
        }
    }

    /// Emits an item, or holds it back behind what is held already. Anything
    /// but white space behind a hold settles that it was a quotation.
    pub(super) fn emit(&mut self, item: Item) {
        if let Some(hold) = &self.machine.hold {
            let passive = match &item {
                Item::Span(SpanKind::Text, range) => self.text.slice(range).trim().is_empty(),
                Item::Span(SpanKind::Reasoning | SpanKind::Mark, _) => {
                    hold.kind == HoldKind::Reasoning
                }
                _ => false,
            };
            if let Item::Span(kind, range) = &item
                && passive
            {
                let held = Held::plain(*kind, range.clone());
                self.hold_push(held);
                return;
            }
            self.resolve_as_quoted(Kept::AnswerFollows, Quote::EarlyFence);
        }
        self.send(item);
    }

    pub(super) fn hold_push(&mut self, held: Held) {
        if let Some(hold) = &mut self.machine.hold {
            hold.push(held);
        }
    }

    /// Settles that what is held is not a call: for the reason `kept` if it was
    /// drafted in reasoning, for `quote` if it stands in a fence.
    pub(super) fn resolve_as_quoted(&mut self, kept: Kept, quote: Quote) {
        if let Some(hold) = self.machine.hold.take() {
            self.note_hold(
                &hold,
                match hold.kind {
                    HoldKind::Fence => Decision::Quoted(quote),
                    HoldKind::Reasoning => Decision::Draft(kept),
                },
            );
            for held in hold.held {
                self.send(Item::Span(held.as_quoted, held.range));
            }
        }
    }

    pub(super) fn resolve_as_calls(&mut self) {
        let Some(hold) = self.machine.hold.take() else {
            return;
        };
        let (code, decision) = match hold.kind {
            HoldKind::Fence => (ProblemCode::Fence, Decision::FenceCalls),
            HoldKind::Reasoning => (ProblemCode::RescuedFromReasoning, Decision::Rescued),
        };
        self.note_hold(&hold, decision);
        for item in hold.held.into_iter().flat_map(|held| held.as_calls) {
            match item {
                Item::Call(mut call) => {
                    let problem = Problem::new(code, repair_message(code), call.span);
                    call.problems.push(problem);
                    if call.status == Status::Complete {
                        call.status = Status::Repaired;
                    }
                    self.send(Item::Call(call));
                }
                other => self.send(other),
            }
        }
    }

    /// Records how a hold was settled: for the fence, or for each draft.
    fn note_hold(&mut self, hold: &Hold, decision: Decision) {
        if self.machine.trace.is_none() {
            return;
        }
        if hold.kind == HoldKind::Fence {
            // White space behind the fence is not part of it.
            let mut stretches = hold.held.iter().rev();
            let last = stretches.find(|held| held.is_mark() || has_call(&held.as_calls));
            let end = last.map_or(hold.start, |held| held.range.end);
            return self.note(hold.start..end, |_| decision);
        }
        let drafts = hold.held.iter().filter(|held| has_call(&held.as_calls));
        for draft in drafts {
            self.note(draft.range.clone(), |_| decision.clone());
        }
    }

    /// Settles what is still held when the reply has ended.
    pub(super) fn conclude(&mut self) {
        let kept = match &self.machine.hold {
            Some(hold) if hold.kind == HoldKind::Reasoning => {
                let open = matches!(self.machine.state, EngineState::Reasoning { .. });
                if self.grammar.drafts() != Drafts::Rescue || !hold.has_calls() {
                    Some(Kept::Policy)
                } else if self.machine.calls > 0 {
                    // A model that has called already meant that call, not its draft.
                    Some(Kept::CalledBefore)
                } else if open && self.goes_on_behind_drafts(hold) {
                    Some(Kept::ThoughtOn)
                } else {
                    None
                }
            }
            Some(hold) => (!hold.has_calls()).then_some(Kept::Policy),
            None => return,
        };
        match kept {
            None => self.resolve_as_calls(),
            Some(kept) => self.resolve_as_quoted(kept, Quote::MixedFence),
        }
    }

    /// Whether the model went on thinking behind its last draft.
    fn goes_on_behind_drafts(&self, hold: &Hold) -> bool {
        hold.held
            .iter()
            .rev()
            .take_while(|held| !has_call(&held.as_calls))
            .any(|held| !held.is_mark() && !self.text.slice(&held.range).trim().is_empty())
    }

    pub(super) fn send(&mut self, item: Item) {
        if let Item::Span(kind, range) = &item {
            self.keep_drafted(*kind, range);
        }
        let event = match item {
            Item::Span(SpanKind::Text, range) => Event::Text {
                text: Cow::Borrowed(self.text.slice(&range)),
                span: Span::new(range.start, range.end),
            },
            Item::Span(SpanKind::Reasoning, range) => Event::Reasoning {
                text: Cow::Borrowed(self.text.slice(&range)),
                span: Span::new(range.start, range.end),
            },
            Item::Span(kind, range) => Event::Piece(Piece {
                kind,
                start: range.start,
                end: range.end,
            }),
            Item::Start(name) => {
                self.machine.calls += 1;
                Event::CallStart {
                    index: self.machine.calls - 1,
                    name,
                }
            }
            Item::DeltaAt(range) => Event::ArgumentsDelta {
                index: self.machine.calls.saturating_sub(1),
                json: Cow::Borrowed(self.text.slice(&range)),
            },
            Item::Delta(json) => Event::ArgumentsDelta {
                index: self.machine.calls.saturating_sub(1),
                json: Cow::Owned(json),
            },
            Item::Call(call) => Event::CallEnd {
                index: self.machine.calls.saturating_sub(1),
                call,
            },
            Item::Problem(problem) => Event::Problem(problem),
        };
        (self.sink)(event);
    }
}
