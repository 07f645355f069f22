//! Reasoning that the prompt has opened: a closing mark is the first sign of it.

use std::ops::Range;

use super::{EngineState, Work};
use crate::SpanKind;
use crate::parse::event::{Event, Reclassified};
use crate::parse::grammar::Drafts;
use crate::parse::reader::floor;
use crate::parse::trace::Decision;

/// How much markup at the beginning of a reply is kept, in case that it turns out
/// to be part of reasoning. What is behind that is not part of its text.
const MAX_DRAFTED: usize = 1 << 14;
/// Characters right before a closing mark that quote it.
const OPENS_QUOTATION: &str = "\"'`“‘«([{<";
/// Characters right behind a closing mark that make it a word of a sentence.
const GOES_ON: &str = ")]}>\"'`”’».,;:!?";
/// How much white space behind a closing mark is examined.
const MAX_SPACES: usize = 64;

/// The marks and calls at the beginning of a reply: whole stretches, as many as
/// have room.
#[derive(Debug, Default)]
pub(super) struct Drafted {
    markup: String,
    is_full: bool,
}

impl Drafted {
    fn keep(&mut self, stretch: &str) {
        self.is_full |= self.markup.len() + stretch.len() > MAX_DRAFTED;
        if !self.is_full {
            self.markup.push_str(stretch);
        }
    }
}

impl Work<'_, '_, '_> {
    /// Whether a mark in prose ends reasoning that nothing has opened; `None` if
    /// more text is needed to decide.
    pub(super) fn ends_reasoning(&self, start: usize, end: usize) -> Option<bool> {
        let mark = self.text.slice(&(start..end));
        let may_end = self.machine.drafted.is_some()
            && self.machine.hold.is_none()
            && self.grammar.frames().closes_alone(mark);
        if may_end {
            self.stands_apart(end)
        } else {
            Some(false)
        }
    }

    /// Whether the closing mark of reasoning that ends at `end` is more than a
    /// word of a sentence; `None` if more text is needed to decide.
    pub(super) fn stands_apart(&self, end: usize) -> Option<bool> {
        let line = &self.machine.line;
        let Some(before) = line.last().filter(|_| !line.is_blank()) else {
            return Some(true);
        };
        if OPENS_QUOTATION.contains(before) {
            return Some(false);
        }
        let rest = self.text.from(end);
        let near = rest.get(..floor(rest, MAX_SPACES)).unwrap_or("");
        let behind = near.trim_start_matches([' ', '\t', '\r']);
        let next = match behind.chars().next() {
            None if rest.len() < MAX_SPACES && !self.text.end => return None,
            next => next.filter(|next| *next != '\n'),
        };
        let Some(next) = next else {
            // Words that stand apart from the mark may be about it: that takes
            // more where it would undo a call.
            return Some(!before.is_whitespace() || self.machine.calls == 0);
        };
        let ends_sentence = || matches!(before, '.' | '!' | '?' | '…' | '。');
        let has_space = behind.len() < near.len();
        Some(if before.is_whitespace() || GOES_ON.contains(next) {
            false
        } else if line.names_marks() {
            next == '<'
        } else {
            !has_space || ends_sentence()
        })
    }

    /// Ends reasoning that nothing has opened: everything so far is part of it.
    pub(super) fn end_unopened_reasoning(&mut self, start: usize, end: usize) -> bool {
        self.tell(SpanKind::Text, start);
        let drafted = self.machine.drafted.take().unwrap_or_default().markup;
        let is_first = self.machine.has_said || self.machine.calls > 0 || !drafted.is_empty();
        if is_first {
            let runs = self.grammar.drafts() == Drafts::Run;
            let markup = (!runs).then_some(drafted);
            self.machine.unopened = (!runs).then_some(self.machine.calls);
            (self.sink)(Event::Reclassified(Reclassified::Reasoning { markup }));
        }
        self.note(0..end, |_| Decision::Thought);
        self.mark(start..end);
        self.begin_line();
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
        if kind != SpanKind::Text {
            drafted.keep(self.text.slice(range));
        }
    }

    /// Settles what is held back when the reply has ended, and what began it.
    pub(super) fn settle_end(&mut self) {
        self.conclude();
        let is_last = self.machine.unopened == Some(self.machine.calls) && !self.machine.has_said;
        let rescues = self.grammar.drafts() == Drafts::Rescue && self.machine.calls > 0;
        if is_last && rescues {
            (self.sink)(Event::Reclassified(Reclassified::Rescued));
        }
    }
}
