//! Reasoning that the prompt has opened: a closing mark is the first sign of it.

use std::ops::Range;

use super::{EngineState, Work};
use crate::SpanKind;
use crate::parse::event::{Event, Reclassified};
use crate::parse::grammar::{Drafts, Opening};
use crate::parse::line::Line;
use crate::parse::trace::Decision;

/// Up to this length, calls and marks at the beginning of a reply may turn out
/// to be drafts. Longer ones are calls.
const MAX_DRAFTED: usize = 1 << 14;

impl Work<'_, '_, '_> {
    /// Whether a mark in prose may end reasoning that nothing has opened.
    pub(super) fn may_end_reasoning(&self, is_end: bool, start: usize, end: usize) -> bool {
        is_end
            && self.machine.drafted.is_some()
            && self.machine.hold.is_none()
            && !self.machine.line.names_marks()
            && self
                .grammar
                .frames()
                .closes_alone(self.text.slice(&(start..end)))
    }

    /// Ends reasoning that nothing has opened: everything so far is part of it.
    pub(super) fn end_unopened_reasoning(&mut self, start: usize, end: usize) -> bool {
        self.tell(SpanKind::Text, start);
        let drafted = self.machine.drafted.take().unwrap_or_default();
        let is_first = self.machine.has_said || self.machine.calls > 0 || !drafted.is_empty();
        if is_first {
            let runs = self.grammar.drafts() == Drafts::Run;
            let markup = (!runs).then_some(drafted);
            self.machine.unopened = (!runs).then_some(self.machine.calls);
            (self.sink)(Event::Reclassified(Reclassified::Reasoning { markup }));
        }
        self.note(0..end, |_| Decision::Thought);
        self.mark(start..end);
        self.machine.line = Line::default();
        self.machine.has_said = false;
        self.machine.sections = 0;
        self.machine.message = None;
        self.go(EngineState::Prose)
    }

    /// Keeps what is emitted beside text, as long as it may be part of such
    /// reasoning.
    pub(super) fn keep_drafted(&mut self, kind: SpanKind, range: &Range<usize>) {
        let Some(drafted) = &mut self.machine.drafted else {
            return;
        };
        if kind == SpanKind::Text {
            return;
        }
        if drafted.len() + range.len() > MAX_DRAFTED {
            self.machine.drafted = None;
        } else {
            drafted.push_str(self.text.slice(range));
        }
    }

    /// Settles what is held back when the reply has ended, and what began it.
    pub(super) fn settle_end(&mut self) {
        let is_open = matches!(self.machine.state, EngineState::Reasoning { .. });
        let was_expected = self.grammar.opening() == Opening::Likely;
        if was_expected && is_open && !self.machine.has_closed {
            self.machine.state = EngineState::Prose;
            self.conclude();
            self.note(0..0, |_| Decision::NoThought);
            (self.sink)(Event::Reclassified(Reclassified::Text));
            return;
        }
        self.conclude();
        let is_last = self.machine.unopened == Some(self.machine.calls) && !self.machine.has_said;
        let rescues = self.grammar.drafts() == Drafts::Rescue && self.machine.calls > 0;
        if is_last && rescues {
            (self.sink)(Event::Reclassified(Reclassified::Rescued));
        }
    }
}
