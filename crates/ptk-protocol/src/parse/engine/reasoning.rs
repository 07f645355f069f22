//! Reasoning: everything up to its closing tag, and the calls drafted in it.

use super::{Back, EngineState, Work, is_run_open, run_length};
use crate::SpanKind;
use crate::dialects::TriggerPosition;
use crate::parse::frames::Frames;
use crate::parse::grammar::Drafts;
use crate::parse::hold::Held;
use crate::parse::reasoning_marks::OPENED_BY_PROMPT;
use crate::parse::table::{Hit, MessageMark, Next};
use crate::parse::trace::{Decision, Kept, Quote};

impl Work<'_, '_, '_> {
    pub(super) fn reasoning(&mut self, tag: usize, fenced: bool) -> bool {
        let text = self.text;
        let same = EngineState::Reasoning { tag, fenced };
        let hit = match self.next() {
            Next::None => {
                self.pass_words(text.len());
                self.tell(SpanKind::Reasoning, text.len());
                return self.wait(same);
            }
            Next::Partial(at) => {
                self.pass_words(at);
                self.tell(SpanKind::Reasoning, at);
                return self.wait(same);
            }
            Next::Mark(hit) => hit,
        };
        let Hit {
            start,
            end,
            meaning,
            ..
        } = hit;
        self.pass_words(start);
        // What is held back is settled before it is asked for.
        if self.machine.hold.is_some() {
            self.tell(SpanKind::Reasoning, start);
        }
        let mark = text.slice(&(start..end));
        if meaning.reasoning_end && self.grammar.frames().is_closed_by(tag, mark) {
            self.tell(SpanKind::Reasoning, start);
            self.mark(start..end);
            self.note(start..end, |_| Decision::ReasoningEnd);
            self.begin_line();
            self.machine.expects_end = false;
            return self.go(EngineState::Prose);
        }
        // The model repeats the mark with which the prompt ends.
        if tag == OPENED_BY_PROMPT
            && let Some(opened) = meaning.reasoning
            && self.machine.dropped.is_blank()
            && text.slice(&(0..start)).trim_start().is_empty()
        {
            self.tell(SpanKind::Reasoning, start);
            self.mark(start..end);
            return self.go(EngineState::Reasoning {
                tag: opened,
                fenced,
            });
        }
        let is_quoted = fenced || self.machine.line.open_ticks().is_some();
        let opens_message = matches!(meaning.message, Some(MessageMark::Open(_, place))
            if place == TriggerPosition::Anywhere || self.machine.line.is_blank());
        if !is_quoted && (opens_message || Frames::is_left_at(tag, mark)) {
            self.tell(SpanKind::Reasoning, start);
            self.note(start..start, |_| Decision::ReasoningEnd);
            self.begin_line();
            self.machine.expects_end = false;
            return self.go(EngineState::Prose);
        }
        if let Some(byte) = meaning.fence {
            let run = run_length(text.from(start), byte);
            if is_run_open(text, start + run, run) {
                self.tell(SpanKind::Reasoning, start);
                return self.wait(same);
            }
            let toggles = run >= 3 && self.machine.line.is_blank();
            self.pass_ticks(start, run, byte);
            return self.go(EngineState::Reasoning {
                tag,
                fenced: fenced != toggles,
            });
        }
        if meaning.label {
            self.pass(end);
            return self.go(same);
        }
        if meaning.closer && self.machine.hold.is_some() && self.machine.behind_call {
            self.tell(SpanKind::Reasoning, start);
            self.hold_push(Held::draft_mark(start..end));
            self.leave(end);
            return self.go(same);
        }
        let candidates = self.candidates(&hit, false);
        let is_quotation = !candidates.is_empty()
            && (self.machine.line.is_quotation() || self.quote_before().is_some());
        let quoted = is_quoted || is_quotation || self.grammar.drafts() == Drafts::Ignore;
        if candidates.is_empty() || quoted {
            if !candidates.is_empty() {
                self.note(start..end, |work| match work.grammar.drafts() {
                    Drafts::Ignore => Decision::Draft(Kept::Policy),
                    _ if fenced => Decision::Quoted(Quote::FenceInReasoning),
                    _ if work.machine.line.is_quotation() => Decision::Quoted(Quote::BlockQuote),
                    _ if is_quotation => Decision::Quoted(Quote::QuotationMarks),
                    _ => Decision::Quoted(Quote::InlineCode),
                });
            }
            self.skip_char(start);
            return self.go(same);
        }
        self.tell(SpanKind::Reasoning, start);
        self.note_tried(&hit, &candidates);
        self.begin(start, candidates, Back::Reasoning { tag })
    }
}
