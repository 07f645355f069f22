//! Code fences: quotations, but for one that ends the reply and holds nothing
//! but calls.

use super::{Back, EngineState, Fence, Work, is_run_open, run_length};
use crate::SpanKind;
use crate::parse::grammar::Fences;
use crate::parse::hold::{Held, Hold, HoldKind};
use crate::parse::reader::floor;
use crate::parse::table::{Candidates, Hit, Next, Stretch};
use crate::parse::trace::{Decision, Kept, Quote};

/// The longest line that closes a fence.
const MAX_CLOSING: usize = 256;

impl Work<'_, '_, '_> {
    pub(super) fn open_fence(&mut self, start: usize, behind: usize, fence: Fence) -> bool {
        self.tell(SpanKind::Text, start);
        if self.grammar.fences() == Fences::Quote {
            self.pass(behind);
            self.tell(SpanKind::Text, behind);
            self.note(start..behind, |_| Decision::Quoted(Quote::Fence));
            return self.go(EngineState::Fence(fence));
        }
        if matches!(&self.machine.hold, Some(hold) if hold.kind == HoldKind::Reasoning) {
            self.resolve_as_quoted(Kept::AnswerFollows, Quote::EarlyFence);
        }
        let hold = &mut self.machine.hold;
        hold.get_or_insert_with(|| Hold::new(HoldKind::Fence, start))
            .push(Held::fence_line(start..behind));
        self.pass(behind);
        self.machine.told = behind;
        self.go(EngineState::FenceOfCalls(fence))
    }

    /// Reads a fence that is a quotation: everything up to the closing line is
    /// text.
    pub(super) fn fence(&mut self, fence: Fence) -> bool {
        let text = self.text;
        let mut at = self.machine.seen;
        loop {
            let rest = text.from(at);
            let Some(found) = memchr::memchr(fence.byte, rest.as_bytes()) else {
                self.pass(text.len());
                self.tell(SpanKind::Text, text.len());
                return self.wait(EngineState::Fence(fence));
            };
            let start = at + found;
            self.pass(start);
            match self.closing_line(start, fence) {
                Closing::Unknown => {
                    self.tell(SpanKind::Text, start);
                    return self.wait(EngineState::Fence(fence));
                }
                Closing::Yes(behind) => {
                    self.pass(behind);
                    self.tell(SpanKind::Text, behind);
                    return self.go(EngineState::Prose);
                }
                Closing::No => {
                    at = start + run_length(text.from(start), fence.byte);
                    self.pass(at);
                }
            }
        }
    }

    /// Whether the line at `start` closes the fence.
    fn closing_line(&self, start: usize, fence: Fence) -> Closing {
        let text = self.text;
        let run = run_length(text.from(start), fence.byte);
        if is_run_open(text, start + run, run) {
            return Closing::Unknown;
        }
        if run < fence.length || !self.machine.line.is_blank() {
            return Closing::No;
        }
        let rest = text.from(start + run);
        let rest = rest.get(..floor(rest, MAX_CLOSING)).unwrap_or("");
        let full = rest.len() + 4 > MAX_CLOSING;
        let line = match memchr::memchr(b'\n', rest.as_bytes()) {
            Some(newline) => rest.get(..newline).unwrap_or(""),
            None => rest,
        };
        if !line.trim().is_empty() || (full && line.len() == rest.len()) {
            Closing::No
        } else if line.len() == rest.len() && !text.end {
            Closing::Unknown
        } else {
            Closing::Yes(start + run)
        }
    }

    pub(super) fn fence_of_calls(&mut self, fence: Fence) -> bool {
        let text = self.text;
        let rest = text.from(self.machine.seen);
        let start = self.machine.seen + (rest.len() - rest.trim_start().len());
        if start > self.machine.seen {
            let space = self.machine.seen..start;
            self.hold_push(Held::fence_line(space));
            self.pass(start);
            self.machine.told = start;
        }
        let rest = text.from(start);
        if rest.is_empty() {
            if text.end && !self.machine.hold.as_ref().is_some_and(Hold::has_calls) {
                self.resolve_as_quoted(Kept::Policy, Quote::MixedFence);
            }
            return self.wait(EngineState::FenceOfCalls(fence));
        }
        if rest.as_bytes().first() == Some(&fence.byte) {
            match self.closing_line(start, fence) {
                Closing::Unknown => return self.wait(EngineState::FenceOfCalls(fence)),
                Closing::Yes(behind) => {
                    if !self.machine.hold.as_ref().is_some_and(Hold::has_calls) {
                        return self.fence_is_quotation(fence);
                    }
                    self.hold_push(Held::fence_line(start..behind));
                    self.pass(behind);
                    self.machine.told = behind;
                    return self.go(EngineState::Prose);
                }
                Closing::No => {}
            }
        }
        let stretch = Stretch {
            all: rest,
            end: text.end,
        };
        let candidates = match self.grammar.mark_at(&stretch, 0) {
            Next::Partial(_) => return self.wait(EngineState::FenceOfCalls(fence)),
            Next::None => Candidates::default(),
            Next::Mark(hit) => {
                let end = start + hit.end;
                let has_calls = self.machine.hold.as_ref().is_some_and(Hold::has_calls);
                // Behind words, the fence may show how a conversation goes.
                if let Some(forgery) = hit.meaning.forgery
                    && has_calls
                    && !self.machine.has_said
                {
                    match self.is_forged(forgery, start, end) {
                        None => return self.wait(EngineState::FenceOfCalls(fence)),
                        Some(true) => return self.forge(forgery, start),
                        Some(false) => {}
                    }
                }
                let hit = Hit { start, end, ..hit };
                let candidates = self.candidates(&hit, false);
                if candidates.is_empty() && hit.meaning.closer && has_calls {
                    // The end of a section.
                    self.hold_push(Held::fence_line(start..end));
                    self.machine.told = end;
                    self.machine.seen = end;
                    return self.go(EngineState::FenceOfCalls(fence));
                }
                if !candidates.is_empty() {
                    self.note_tried(&hit, &candidates);
                }
                candidates
            }
        };
        if candidates.is_empty() {
            return self.fence_is_quotation(fence);
        }
        self.begin(start, candidates, Back::Fence(fence))
    }

    /// Handles a fence that holds something else than calls.
    pub(super) fn fence_is_quotation(&mut self, fence: Fence) -> bool {
        self.resolve_as_quoted(Kept::AnswerFollows, Quote::MixedFence);
        self.go(EngineState::Fence(fence))
    }
}

/// Whether a line closes a fence.
enum Closing {
    Yes(usize),
    No,
    Unknown,
}
