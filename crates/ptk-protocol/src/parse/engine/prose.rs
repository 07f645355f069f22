//! Prose: where marks are looked for, and told from what only quotes them.

use super::{Back, Fence, Quotation, State, Work, is_run_open, run_length};
use crate::dialects::Place;
use crate::parse::grammar::{Candidate, Grammar, Meaning};
use crate::parse::hold::Item;
use crate::parse::line::Line;
use crate::{Problem, ProblemCode, Span, SpanKind};

/// The longest line that opens a fence.
const MAX_INFO: usize = 256;
/// How many bytes may be read in vain, as a multiple of the bytes passed. Past
/// that, what looks like a call and is none is no longer tried, so that the
/// work stays in proportion to the input.
const VAIN_FACTOR: usize = 16;
const VAIN_ALLOWANCE: usize = 1 << 16;

impl<'a> Work<'a, '_, '_> {
    pub(super) fn prose(&mut self) -> bool {
        let text = self.text;
        let Some((start, end, meaning)) = self.find() else {
            self.tell_rest(SpanKind::Text);
            return self.wait(State::Prose);
        };
        if let Some(longer) = self.longer_mark_before(start) {
            self.pass(longer);
            self.tell(SpanKind::Text, longer);
            return self.wait(State::Prose);
        }
        self.pass(start);
        if !text.end && self.grammar.is_partial(text.from(start)) {
            self.tell(SpanKind::Text, start);
            return self.wait(State::Prose);
        }
        if let Some(byte) = meaning.fence {
            return self.ticks_in_prose(start, byte);
        }
        let in_code = self.machine.line.open_ticks().is_some();
        let quoted = in_code || self.machine.line.is_quotation();
        if let Some(tag) = meaning.reasoning
            && !quoted
            && (self.machine.line.is_blank() || Grammar::may_open_mid_line(tag))
        {
            self.tell(SpanKind::Text, start);
            self.mark(start..end);
            self.machine.line = Line::default();
            return self.go(State::Reasoning { tag, fenced: false });
        }
        let candidates = self.candidates(meaning);
        if !candidates.is_empty() && !self.machine.line.is_quotation() {
            self.tell(SpanKind::Text, start);
            let line = self.machine.line;
            let quotation = match (line.open_ticks(), line.closing_quote()) {
                (Some(ticks), _) => Quotation::Ticks(ticks),
                (None, Some(quote)) => Quotation::Mark(quote),
                (None, None) => Quotation::None,
            };
            let marked = candidates
                .iter()
                .any(|candidate| candidate.place == Place::Anywhere);
            return self.begin(start, candidates, Back::Prose { quotation, marked });
        }
        let named = meaning.closer && self.machine.line.names_marks();
        if (meaning.closer || meaning.reasoning_end.is_some()) && !quoted && !named {
            self.tell(SpanKind::Text, start);
            self.mark(start..end);
            if meaning.closer {
                let raw = text.slice(&(start..end));
                let message = format!("{raw} closes nothing");
                let problem = Problem::new(ProblemCode::StrayMark, message, Span::new(start, end));
                self.emit(Item::Problem(problem.with_raw(raw)));
            }
            return self.go(State::Prose);
        }
        self.skip_char(start);
        self.go(State::Prose)
    }

    /// Where a longer mark may have begun whose middle is the mark at `start`:
    /// more text has to come to tell.
    pub(super) fn longer_mark_before(&self, start: usize) -> Option<usize> {
        let text = self.text;
        if text.end {
            return None;
        }
        let seen = self.machine.seen - text.base;
        let from = text.base + self.grammar.partial_from(text.all, seen);
        (from < start).then_some(from)
    }

    /// The first mark behind what was seen, in offsets of the reply.
    pub(super) fn find(&self) -> Option<(usize, usize, &'a Meaning)> {
        let base = self.text.base;
        let (start, end, meaning) = self.grammar.find(self.text.all, self.machine.seen - base)?;
        Some((base + start, base + end, meaning))
    }

    /// The dialects that may begin here, unless too much was read in vain.
    pub(super) fn candidates(&self, meaning: &Meaning) -> Vec<Candidate> {
        let blank = self.machine.line.is_blank();
        if self.machine.vain > VAIN_ALLOWANCE + VAIN_FACTOR * self.machine.seen {
            return Vec::new();
        }
        meaning
            .candidates
            .iter()
            .filter(|candidate| candidate.place == Place::Anywhere || blank)
            .copied()
            .collect()
    }

    pub(super) fn ticks_in_prose(&mut self, start: usize, byte: u8) -> bool {
        let text = self.text;
        let run = run_length(text.from(start), byte);
        if is_run_open(text, start + run, run) {
            self.tell(SpanKind::Text, start);
            return self.wait(State::Prose);
        }
        if run >= 3 && self.machine.line.may_open_fence() {
            let rest = text.from(start + run);
            let line = rest
                .as_bytes()
                .get(..rest.len().min(MAX_INFO))
                .unwrap_or_default();
            let Some(newline) = memchr::memchr(b'\n', line) else {
                if !text.end && line.len() < MAX_INFO {
                    self.tell(SpanKind::Text, start);
                    return self.wait(State::Prose);
                }
                return self.pass_ticks(start, run, byte);
            };
            let info = rest.get(..newline).unwrap_or("");
            if byte != b'`' || !info.contains('`') {
                let behind = start + run + newline + 1;
                return self.open_fence(start, behind, Fence { byte, length: run });
            }
        }
        self.pass_ticks(start, run, byte)
    }

    pub(super) fn pass_ticks(&mut self, start: usize, run: usize, byte: u8) -> bool {
        self.pass(start + run);
        if byte == b'`' {
            self.machine.line.ticks(run);
        }
        self.go(State::Prose)
    }
}
