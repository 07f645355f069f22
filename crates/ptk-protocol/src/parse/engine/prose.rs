//! Prose: finds marks, and distinguishes them from quoted ones.

use std::borrow::Cow;

use super::{Back, EngineState, Fence, Quotation, Work, is_run_open, run_length};
use crate::dialects::{Claim, TriggerPosition};

use crate::parse::addressed::{LONGEST_ADDRESS, before_address};
use crate::parse::brackets::is_data_open;
use crate::parse::dropped::MAX_KEPT;
use crate::parse::hold::Item;
use crate::parse::line::Continues;
use crate::parse::message_marks::USER_MESSAGES;
use crate::parse::table::{
    Candidate, Candidates, Hit, LineAt, MessageMark, Next, Stretch, is_common_tag,
};
use crate::parse::trace::{Decision, Quote};
use crate::{Problem, ProblemCode, Span, SpanKind};

/// What a mark in prose opens.
#[derive(Debug, Clone, Copy)]
enum Frame {
    /// Reasoning of this row.
    Reasoning(usize),
    /// A message to the user, of this family.
    Message(usize),
}

/// The longest line that opens a fence.
const MAX_INFO: usize = 256;
/// How many bytes may be read without finding a call, as a multiple of the
/// bytes passed. Past that, what looks like a call is no longer tried, so that
/// the work stays in proportion to the input.
const WASTE_FACTOR: usize = 16;
const WASTE_ALLOWANCE: usize = 1 << 16;

impl<'a> Work<'a, '_, '_> {
    pub(super) fn prose(&mut self) -> bool {
        if self.machine.sections > 0 && self.machine.behind_call {
            self.mark_space();
        }
        let text = self.text;
        let hit = match self.next() {
            Next::None => {
                self.pass_words(text.len());
                self.tell(SpanKind::Text, text.len());
                return self.wait(EngineState::Prose);
            }
            Next::Partial(at) => {
                self.pass_words(at);
                self.tell(SpanKind::Text, at);
                return self.wait(EngineState::Prose);
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
            self.tell(SpanKind::Text, start);
        }
        if let Some(byte) = meaning.fence {
            return self.ticks_in_prose(start, byte);
        }
        if let Some(forgery) = meaning.forgery
            && self.machine.line.is_blank()
        {
            match self.is_forged(forgery, start, end) {
                None => {
                    self.tell(SpanKind::Text, start);
                    return self.wait(EngineState::Prose);
                }
                Some(true) => return self.forge(forgery, start),
                Some(false) => {}
            }
        }
        if meaning.label {
            self.pass(end);
            return self.go(EngineState::Prose);
        }
        let quoted = self.machine.line.open_ticks().is_some() || self.machine.line.is_quotation();
        if !quoted {
            self.leave_message(start, end);
        }
        if !quoted && let Some(goes_on) = self.frame(&hit) {
            return goes_on;
        }
        if !quoted && self.machine.message.is_some() {
            if meaning.message == Some(MessageMark::Close) {
                return self.close_message(start, end);
            }
            if meaning.closer && self.machine.sections == 0 {
                // A call that is quoted in the message closes here.
                self.skip_char(start);
                return self.go(EngineState::Prose);
            }
        }
        if meaning.silent.is_some() && !quoted {
            return self.stray_mark(&hit);
        }
        let in_data = self.is_in_data(&hit);
        let candidates = self.candidates(&hit, in_data);
        if !candidates.is_empty() && !self.machine.line.is_quotation() {
            self.tell(SpanKind::Text, start);
            let line = self.machine.line;
            let marked = hit
                .candidates()
                .any(|candidate| candidate.place == TriggerPosition::Anywhere);
            let quotation = match (line.open_ticks(), self.quote_before()) {
                (Some(ticks), _) => Quotation::Ticks(ticks),
                (None, Some(quote)) => Quotation::Mark(quote),
                (None, None) if !marked && line.continues() == Continues::List => Quotation::Data,
                (None, None) => Quotation::None,
            };
            self.note_tried(&hit, &candidates);
            return self.begin(start, candidates, Back::Prose { quotation, marked });
        }
        self.note_passed(&hit, !candidates.is_empty());
        if !quoted && (meaning.closer || meaning.reasoning_end) {
            return self.stray_mark(&hit);
        }
        self.skip_char(start);
        self.go(EngineState::Prose)
    }

    /// Handles a mark that opens or ends something besides calls. `None` if this
    /// one does not.
    fn frame(&mut self, hit: &Hit<'_>) -> Option<bool> {
        let Hit { start, end, .. } = *hit;
        if hit.meaning.reasoning_end {
            match self.ends_reasoning(start, end) {
                None => {
                    self.tell(SpanKind::Text, start);
                    return Some(self.wait(EngineState::Prose));
                }
                Some(true) => return Some(self.end_unopened_reasoning(start, end)),
                Some(false) => {}
            }
        }
        let blank = self.machine.line.is_blank();
        let frame = self.frame_at(hit, blank)?;
        // In a sentence, words follow behind a space.
        Some(match self.text.from(end).bytes().next() {
            None if !blank && !self.text.end => {
                self.tell(SpanKind::Text, start);
                self.wait(EngineState::Prose)
            }
            Some(b' ') if !blank => {
                self.machine.line.name_mark();
                self.skip_char(start);
                self.go(EngineState::Prose)
            }
            _ => self.enter(frame, start, end),
        })
    }

    /// What a mark in prose opens, besides calls.
    fn frame_at(&self, hit: &Hit<'_>, blank: bool) -> Option<Frame> {
        let meaning = hit.meaning;
        match (meaning.reasoning, meaning.message) {
            (Some(tag), _) if blank || self.grammar.frames().may_open_mid_line(tag) => {
                Some(Frame::Reasoning(tag))
            }
            (_, Some(MessageMark::Open(family, place)))
                if blank || place == TriggerPosition::Anywhere =>
            {
                Some(Frame::Message(family))
            }
            _ => None,
        }
    }

    /// Enters what a mark opens in prose.
    fn enter(&mut self, frame: Frame, start: usize, end: usize) -> bool {
        self.tell(SpanKind::Text, start);
        self.mark(start..end);
        self.begin_line();
        match frame {
            Frame::Reasoning(tag) => {
                self.note(start..end, |_| Decision::Reasoning);
                self.machine.drafted = None;
                self.machine.message = None;
                self.go(EngineState::Reasoning { tag, fenced: false })
            }
            Frame::Message(family) => {
                self.note(start..end, |_| Decision::Message);
                self.machine.message = Some(family);
                self.go(EngineState::Prose)
            }
        }
    }

    /// Leaves a message to the user that has no closing mark, where a mark opens
    /// the next message.
    fn leave_message(&mut self, start: usize, end: usize) {
        let mark = self.text.slice(&(start..end));
        let message = self.machine.message.and_then(|it| USER_MESSAGES.get(it));
        if message.is_some_and(|message| message.is_left_at(mark)) {
            self.machine.message = None;
        }
    }

    fn close_message(&mut self, start: usize, end: usize) -> bool {
        self.tell(SpanKind::Text, start);
        self.mark(start..end);
        self.note(start..end, |_| Decision::Silent);
        self.begin_line();
        self.machine.message = None;
        self.go(EngineState::Prose)
    }

    /// Records which dialects a mark may belong to.
    pub(super) fn note_tried(&mut self, hit: &Hit<'_>, candidates: &Candidates) {
        self.note(hit.start..hit.end, |work| Decision::Tried {
            mark: work.text.slice(&(hit.start..hit.end)).to_owned(),
            dialects: candidates
                .clone()
                .map(|choice| work.name_of(choice.dialect))
                .collect(),
        });
    }

    /// Records why nothing was read at a mark that may open a call.
    fn note_passed(&mut self, hit: &Hit<'_>, is_candidate: bool) {
        let range = hit.start..hit.end;
        if self.machine.trace.is_none() {
            return;
        }
        if is_candidate {
            self.note(range, |_| Decision::Quoted(Quote::BlockQuote));
        } else if self.is_weary() && hit.candidates().next().is_some() {
            self.note(range, |work| Decision::GivenUp {
                mark: work.text.slice(&(hit.start..hit.end)).to_owned(),
            });
        }
    }

    /// Whether too many bytes were wasted to try anything more.
    fn is_weary(&self) -> bool {
        self.machine.wasted_bytes > WASTE_ALLOWANCE + WASTE_FACTOR * self.machine.seen
    }

    /// Handles a mark that belongs to no construct: the end of a section,
    /// markup without a meaning, or one that is too many. In the middle of a
    /// sentence it is part of the sentence.
    fn stray_mark(&mut self, hit: &Hit<'_>) -> bool {
        let Hit {
            start,
            end,
            meaning,
            ..
        } = *hit;
        let in_section = meaning.closer && self.machine.sections > 0;
        let tag_of_reasoning = meaning.reasoning_end
            && meaning.silent.is_none()
            && self
                .grammar
                .frames()
                .closes_alone(self.text.slice(&(start..end)));
        let blank = self.machine.line.is_blank();
        let named = self.machine.line.names_marks();
        let is_common = meaning.closer && is_common_tag(self.text.slice(&(start..end)));
        let stands_apart = if in_section {
            Some(true)
        } else if tag_of_reasoning {
            self.stands_apart(end)
        } else if named || (is_common && self.machine.last.is_none()) {
            Some(false)
        } else if blank {
            Some(true)
        } else if meaning.silent == Some(TriggerPosition::LineStart) {
            self.opens_message(end)
        } else {
            match self.ends_line(end) {
                // No text has a model's own token between two words.
                Some(false) if is_token(self.text.slice(&(start..end))) => self.joins_words(end),
                decided => decided,
            }
        };
        match stands_apart {
            None => {
                self.tell(SpanKind::Text, start);
                return self.wait(EngineState::Prose);
            }
            Some(false) => {
                self.note(start..end, |_| Decision::InSentence);
                self.skip_char(start);
                return self.go(EngineState::Prose);
            }
            Some(true) => {}
        }
        self.tell(SpanKind::Text, start);
        self.mark(start..end);
        if in_section {
            self.note(start..end, |_| Decision::SectionEnd);
            self.machine.sections -= 1;
            self.machine.behind_call = true;
            self.machine.last = None;
        } else if !meaning.closer {
            self.note(start..end, |_| match meaning.silent {
                Some(_) => Decision::Silent,
                None => Decision::Stray,
            });
            if meaning.silent == Some(TriggerPosition::LineStart) {
                self.begin_line();
            }
        } else if self.ends_section(hit) {
            self.note(start..end, |_| Decision::SectionEnd);
        } else {
            self.note(start..end, |_| Decision::Stray);
            let raw = self.text.slice(&(start..end));
            let message = format!("{raw} closes nothing");
            let problem = Problem::new(ProblemCode::StrayMark, message, Span::new(start, end));
            self.emit(Item::Problem(problem.with_raw(raw)));
        }
        self.go(EngineState::Prose)
    }

    /// Whether the mark ends a section whose opening mark is missing: a call
    /// precedes it, and it is not that call's own closing mark once more.
    fn ends_section(&mut self, hit: &Hit<'_>) -> bool {
        let mark = self.text.slice(&(hit.start..hit.end));
        let last = self.machine.last.take();
        let dialect = last.and_then(|last| self.grammar.dialect(last));
        hit.meaning.section_end
            && self.grammar.is_section_end(mark)
            && dialect.is_some_and(|dialect| {
                let closers = dialect.closers();
                !closers.iter().any(|close| close.eq_ignore_ascii_case(mark))
            })
    }

    /// Whether a mark that ends at `at` stands right between two words. `None` if
    /// more text is needed to decide.
    fn joins_words(&self, at: usize) -> Option<bool> {
        let is_behind_word = self.machine.line.last().is_some_and(|last| {
            last.is_alphanumeric() || matches!(last, '.' | '!' | '?' | '…' | '。')
        });
        match self.text.from(at).chars().next() {
            _ if !is_behind_word => Some(false),
            Some(next) => Some(next.is_alphanumeric()),
            None => self.text.end.then_some(false),
        }
    }

    /// Whether a header that stands within a line and ends at `at` is that of the
    /// next message: no space, quotation or bracket sets it apart from the words
    /// around it, as in a sentence about it. `None` if more text is needed to
    /// decide.
    fn opens_message(&self, at: usize) -> Option<bool> {
        let last = self.machine.line.last();
        if last.is_some_and(|c| c.is_whitespace() || "\"'“‘«`([{".contains(c)) {
            return Some(false);
        }
        match self.text.from(at).bytes().next() {
            Some(byte) => Some(!b" ,.;:!?)".contains(&byte)),
            None => self.text.end.then_some(true),
        }
    }

    /// Whether the end of the line or reply, or another tag, follows at `at`;
    /// `None` if more text is needed to decide.
    fn ends_line(&self, at: usize) -> Option<bool> {
        match self.text.from(at).bytes().next() {
            Some(byte) => Some(matches!(byte, b'\n' | b'\r' | b'<')),
            None => self.text.end.then_some(true),
        }
    }

    /// Marks the white space between the calls of a section as markup.
    fn mark_space(&mut self) {
        let rest = self.text.from(self.machine.seen);
        let space = rest.len() - rest.trim_start().len();
        if space > 0 {
            let start = self.machine.seen;
            self.mark(start..start + space);
        }
        self.machine.behind_call = space == rest.len();
    }

    /// The first mark behind what was seen, in offsets of the reply.
    pub(super) fn next(&self) -> Next<'a> {
        let text = self.text;
        let stretch = Stretch {
            all: text.all,
            end: text.end,
        };
        let from = self.machine.seen - text.base;
        let line = LineAt {
            line: &self.machine.line,
            turns: self.has_called() || self.grammar.is_transcript(),
        };
        match self.grammar.next(&stretch, from, line) {
            Next::None => Next::None,
            Next::Partial(at) => Next::Partial(text.base + at),
            Next::Mark(hit) => Next::Mark(Hit {
                start: text.base + hit.start,
                end: text.base + hit.end,
                ..hit
            }),
        }
    }

    /// The dialects that may begin here, unless too many bytes were wasted.
    /// Those that write the mark exactly so come first.
    /// `in_data`: whether prose has begun data that goes on.
    pub(super) fn candidates(&self, hit: &Hit<'_>, in_data: bool) -> Candidates {
        let blank = self.machine.line.is_blank();
        if self.is_weary() {
            return Candidates::default();
        }
        // An element of data, or an argument.
        let in_bracket = in_data || self.machine.line.continues() == Continues::Bracket;
        let quoted_dialects = match self.machine.message {
            Some(family) => self.grammar.quoted_in_message(family),
            None => &[],
        };
        let here = || {
            hit.candidates().filter(|candidate| {
                // A tool's name in a block of code is quoted.
                let in_code = candidate.mark.is_empty() && self.machine.line.is_indented();
                let is_there = match candidate.place {
                    TriggerPosition::Anywhere => true,
                    TriggerPosition::LineStart => {
                        blank && !in_code && !(in_bracket && candidate.is_data())
                    }
                    TriggerPosition::BehindProse => {
                        !blank && !in_bracket && !self.machine.line.names_marks()
                    }
                };
                is_there && !quoted_dialects.contains(&candidate.choice.dialect)
            })
        };
        let mark = self.text.slice(&(hit.start..hit.end));
        let exact =
            |candidate: &&Candidate| candidate.claim == Claim::Own && *candidate.mark == *mark;
        here()
            .filter(exact)
            .chain(here().filter(|candidate| !exact(candidate)))
            .map(|candidate| candidate.choice)
            .collect()
    }

    /// Whether a mark that may begin a value stands in data that prose has begun.
    fn is_in_data(&mut self, hit: &Hit<'_>) -> bool {
        if !hit.candidates().any(Candidate::is_data) {
            return false;
        }
        let prose = self.prose_before(hit.start, MAX_KEPT);
        let (length, is_open) = (prose.len(), is_data_open(&prose));
        self.machine.wasted_bytes += length;
        is_open
    }

    /// The quotation mark that would close the one right before this place, or
    /// before the address of the message that begins here.
    pub(super) fn quote_before(&self) -> Option<char> {
        let prose = self.prose_before(self.machine.seen, LONGEST_ADDRESS);
        match before_address(&prose).or_else(|| self.machine.line.last())? {
            '"' => Some('"'),
            '\'' => Some('\''),
            '“' => Some('”'),
            '‘' => Some('’'),
            '«' => Some('»'),
            _ => None,
        }
    }

    /// The prose before `at`, its last `most` bytes.
    fn prose_before(&self, at: usize, most: usize) -> Cow<'a, str> {
        let start = self.machine.prose_start;
        let text = self.text.slice(&(start.max(self.text.base)..at));
        self.machine
            .dropped
            .before(text, most.min(at.saturating_sub(start)))
    }

    pub(super) fn ticks_in_prose(&mut self, start: usize, byte: u8) -> bool {
        let text = self.text;
        let run = run_length(text.from(start), byte);
        if is_run_open(text, start + run, run) {
            self.tell(SpanKind::Text, start);
            return self.wait(EngineState::Prose);
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
                    return self.wait(EngineState::Prose);
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
        self.go(EngineState::Prose)
    }
}

/// Whether a mark is a token of a model, such as `<|end|>`.
fn is_token(mark: &str) -> bool {
    let inner = mark
        .strip_prefix("<|")
        .and_then(|mark| mark.strip_suffix("|>"));
    let inner = inner.or_else(|| {
        mark.strip_prefix("<｜")
            .and_then(|mark| mark.strip_suffix("｜>"))
    });
    inner.is_some_and(|inner| !inner.contains(['<', '>']))
}
