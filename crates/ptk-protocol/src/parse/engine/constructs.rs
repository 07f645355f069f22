//! Constructs: what a dialect's reader is set to, and what becomes of it.

use std::ops::Range;

use super::{Back, Quotation, Quoted, Reading, State, Text, Work, is_run_open, run_length};
use crate::parse::grammar::{Candidate, Drafts, Grammar};
use crate::parse::hold::{Held, Hold, HoldKind, Item, has_call};
use crate::parse::line::Line;
use crate::parse::reader::{Findings, Input, Step, floor};
use crate::parse::settle::Settler;
use crate::{SpanKind, Status};

impl Work<'_, '_, '_> {
    /// Starts to read a construct.
    pub(super) fn begin(
        &mut self,
        start: usize,
        mut candidates: Vec<Candidate>,
        back: Back,
    ) -> bool {
        if candidates.is_empty() {
            return self.dismiss(start, back);
        }
        let candidate = candidates.remove(0);
        let Some(dialect) = self.grammar.dialect(candidate.dialect) else {
            return self.dismiss(start, back);
        };
        let (deferred, stops) = match back {
            Back::Prose {
                quotation: Quotation::None,
                ..
            } => (None, Vec::new()),
            Back::Prose { .. } => (Some(Vec::new()), Vec::new()),
            Back::Reasoning { tag } => {
                let live = self.grammar.drafts() == Drafts::Run;
                let stop = Grammar::reasoning_end(tag).to_owned();
                ((!live).then(Vec::new), vec![stop])
            }
            Back::Fence(fence) => {
                let close: String = std::iter::once('\n')
                    .chain(std::iter::repeat_n(char::from(fence.byte), fence.length))
                    .collect();
                (Some(Vec::new()), vec![close])
            }
        };
        let reading = Reading {
            start,
            candidates,
            reader: dialect.reader(candidate.trigger),
            settler: Settler::new(start, dialect.name()),
            findings: Findings::default(),
            deferred,
            stops,
            back,
        };
        self.go(State::Reading(Box::new(reading)))
    }

    /// What looked like a construct is none: its first character is passed and
    /// the rest is looked at anew.
    pub(super) fn dismiss(&mut self, start: usize, back: Back) -> bool {
        match back {
            Back::Prose { marked, .. } => {
                if marked {
                    self.machine.line.name_mark();
                }
                self.skip_char(start);
                self.go(State::Prose)
            }
            Back::Reasoning { tag } => {
                self.skip_char(start);
                self.go(State::Reasoning { tag, fenced: false })
            }
            Back::Fence(fence) => self.fence_is_quotation(fence),
        }
    }

    pub(super) fn reading(&mut self, mut reading: Reading) -> bool {
        let text = self.text;
        let input = Input {
            text: text.from(reading.start),
            end: text.end,
            tools: self.grammar.tools(),
            stops: &reading.stops,
            grammar: self.grammar,
        };
        let mut step = reading.reader.read(&input, &mut reading.findings);
        let mut items = Vec::new();
        let committed = reading.findings.is_committed();
        for found in reading.findings.found.drain(..) {
            reading
                .settler
                .settle(found, self.grammar.tools(), &mut items);
        }
        match &mut reading.deferred {
            Some(deferred) => deferred.append(&mut items),
            None => self.emit_all(items),
        }
        let length = input.text.len();
        if step == Step::More && text.end {
            self.machine.vain += length;
            step = if reading.settler.is_untouched() {
                Step::Reject
            } else {
                Step::Done(length)
            };
        } else if step == Step::Reject {
            self.machine.vain += reading.findings.examined.max(1);
            if committed || !reading.settler.is_untouched() {
                step = Step::Done(length);
            }
        }
        match step {
            Step::More => self.wait(State::Reading(Box::new(reading))),
            Step::Reject => self.begin(reading.start, reading.candidates, reading.back),
            Step::Skip(length) => {
                let end = reading.start + floor(input.text, length.max(1));
                self.skip_mark(reading.start..end, reading.back)
            }
            Step::Done(length) => {
                let end = reading.start + floor(input.text, length.max(1));
                self.construct_ends(reading, end)
            }
        }
    }

    pub(super) fn skip_mark(&mut self, range: Range<usize>, back: Back) -> bool {
        match back {
            Back::Fence(fence) => {
                self.hold_push(Held::fence_line(range.clone()));
                self.machine.told = range.end;
                self.machine.seen = range.end;
                self.go(State::FenceOfCalls(fence))
            }
            Back::Reasoning { tag } => {
                self.pass(range.end);
                self.go(State::Reasoning { tag, fenced: false })
            }
            Back::Prose { .. } => {
                self.mark(range);
                self.go(State::Prose)
            }
        }
    }

    pub(super) fn construct_ends(&mut self, mut reading: Reading, end: usize) -> bool {
        let range = reading.start..end;
        let mut tail = Vec::new();
        reading.settler.fill(end, &mut tail);
        let Some(mut items) = reading.deferred.take() else {
            self.emit_all(tail);
            self.leave(end);
            return match reading.back {
                Back::Reasoning { tag } => self.go(State::Reasoning { tag, fenced: false }),
                _ => self.go(State::Prose),
            };
        };
        items.append(&mut tail);
        match reading.back {
            Back::Prose { quotation, .. } => self.go(State::Quoted(Box::new(Quoted {
                search: range.end,
                range,
                items,
                quotation,
            }))),
            Back::Reasoning { tag } => {
                let whole = items.iter().any(|item| {
                    matches!(item, Item::Call(call) if call.status != Status::Truncated && self.is_declared(&call.call.name))
                });
                let held = if whole {
                    Held {
                        range,
                        as_quoted: SpanKind::Reasoning,
                        as_calls: items,
                    }
                } else {
                    Held::plain(SpanKind::Reasoning, range)
                };
                self.leave(end);
                if whole && self.machine.hold.is_none() {
                    self.machine.hold = Some(Hold {
                        kind: HoldKind::Reasoning,
                        start: held.range.start,
                        held: Vec::new(),
                    });
                }
                if self.machine.hold.is_some() {
                    self.hold_push(held);
                } else {
                    self.emit_all(held.as_calls);
                }
                self.go(State::Reasoning { tag, fenced: false })
            }
            Back::Fence(fence) => {
                let only_declared = has_call(&items)
                    && items.iter().all(|item| match item {
                        Item::Call(call) => self.is_declared(&call.call.name),
                        Item::Problem(problem) => !problem.is_fault(),
                        _ => true,
                    });
                if !only_declared {
                    return self.fence_is_quotation(fence);
                }
                self.hold_push(Held {
                    range,
                    as_quoted: SpanKind::Text,
                    as_calls: items,
                });
                self.leave(end);
                self.go(State::FenceOfCalls(fence))
            }
        }
    }

    pub(super) fn is_declared(&self, name: &str) -> bool {
        self.grammar
            .tools()
            .is_some_and(|tools| tools.contains(name))
    }

    /// Goes on behind a construct, which counts as the start of a line.
    pub(super) fn leave(&mut self, end: usize) {
        self.machine.told = end;
        self.machine.seen = end;
        self.machine.line = Line::default();
    }

    /// A construct may be quoted: by inline code that closes on the same
    /// line, or by quotation marks right around it.
    pub(super) fn quoted(&mut self, mut quoted: Quoted) -> bool {
        let text = self.text;
        let closed = match quoted.quotation {
            Quotation::None => Closes::Never,
            Quotation::Mark(mark) => match text.from(quoted.range.end).chars().next() {
                None if !text.end => Closes::Unknown,
                next if next == Some(mark) => Closes::Before(quoted.range.end),
                _ => Closes::Never,
            },
            Quotation::Ticks(count) => closing_ticks(text, &mut quoted.search, count),
        };
        match closed {
            Closes::Unknown => self.wait(State::Quoted(Box::new(quoted))),
            Closes::Never => {
                let end = quoted.range.end;
                self.emit_all(quoted.items);
                self.leave(end);
                self.go(State::Prose)
            }
            Closes::Before(behind) => {
                self.pass(behind);
                if matches!(quoted.quotation, Quotation::Ticks(_)) {
                    self.machine.line.close_ticks();
                }
                self.tell(SpanKind::Text, behind);
                self.go(State::Prose)
            }
        }
    }
}

/// Where a quotation closes.
enum Closes {
    Before(usize),
    Never,
    Unknown,
}

/// Looks for a run of exactly `count` backticks on the rest of the line.
fn closing_ticks(text: &Text<'_>, search: &mut usize, count: usize) -> Closes {
    loop {
        let rest = text.from(*search);
        let Some(found) = memchr::memchr2(b'`', b'\n', rest.as_bytes()) else {
            *search += rest.len();
            return if text.end {
                Closes::Never
            } else {
                Closes::Unknown
            };
        };
        let at = *search + found;
        if rest.as_bytes().get(found) == Some(&b'\n') {
            return Closes::Never;
        }
        let run = run_length(text.from(at), b'`');
        if is_run_open(text, at + run, run) {
            *search = at;
            return Closes::Unknown;
        }
        *search = at + run;
        if run == count {
            return Closes::Before(at + run);
        }
    }
}
