//! Reasoning: everything up to its closing tag, and the calls drafted in it.

use super::{Back, State, Work, is_run_open, run_length};
use crate::SpanKind;
use crate::parse::grammar::Drafts;
use crate::parse::line::Line;

impl Work<'_, '_, '_> {
    pub(super) fn reasoning(&mut self, tag: usize, fenced: bool) -> bool {
        let text = self.text;
        let same = State::Reasoning { tag, fenced };
        let Some((start, end, meaning)) = self.find() else {
            self.tell_rest(SpanKind::Reasoning);
            return self.wait(same);
        };
        if let Some(longer) = self.longer_mark_before(start) {
            self.pass(longer);
            self.tell(SpanKind::Reasoning, longer);
            return self.wait(same);
        }
        self.pass(start);
        if !text.end && self.grammar.is_partial(text.from(start)) {
            self.tell(SpanKind::Reasoning, start);
            return self.wait(same);
        }
        if meaning.reasoning_end == Some(tag) {
            self.tell(SpanKind::Reasoning, start);
            self.mark(start..end);
            self.machine.line = Line::default();
            return self.go(State::Prose);
        }
        if let Some(byte) = meaning.fence {
            let run = run_length(text.from(start), byte);
            if is_run_open(text, start + run, run) {
                self.tell(SpanKind::Reasoning, start);
                return self.wait(same);
            }
            let toggles = run >= 3 && self.machine.line.is_blank();
            self.pass_ticks(start, run, byte);
            return self.go(State::Reasoning {
                tag,
                fenced: fenced != toggles,
            });
        }
        let candidates = self.candidates(meaning);
        let quoted = fenced
            || self.machine.line.open_ticks().is_some()
            || self.grammar.drafts() == Drafts::Ignore;
        if candidates.is_empty() || quoted {
            self.skip_char(start);
            return self.go(same);
        }
        self.tell(SpanKind::Reasoning, start);
        self.begin(start, candidates, Back::Reasoning { tag })
    }
}
