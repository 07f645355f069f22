//! Constructs: what a dialect's reader reads, and how its result is used.

use std::ops::Range;

use super::{
    Back, EngineState, OpenConstruct, Quotation, QuotedConstruct, QuotedMark, Text, Work,
    is_run_open, run_length,
};
use crate::dialects::NO_KEYS;
use crate::parse::grammar::Drafts;
use crate::parse::hold::{Held, Hold, HoldKind, Item, has_call};
use crate::parse::reader::{Finding, Findings, Input, Step, floor};
use crate::parse::settle::Settler;
use crate::parse::table::Candidates;
use crate::parse::trace::{Decision, Quote, Refusal};
use crate::{Problem, ProblemCode, SpanKind, Status};

impl Work<'_, '_, '_> {
    /// Starts to read a construct.
    pub(super) fn begin(&mut self, start: usize, mut candidates: Candidates, back: Back) -> bool {
        let Some(candidate) = candidates.next() else {
            return self.dismiss(start, back);
        };
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
                ((!live).then(Vec::new), self.grammar.frames().ends_of(tag))
            }
            Back::Fence(fence) => {
                let close: String = std::iter::once('\n')
                    .chain(std::iter::repeat_n(char::from(fence.byte), fence.length))
                    .collect();
                (Some(Vec::new()), vec![close])
            }
        };
        let reading = OpenConstruct {
            start,
            dialect: candidate.dialect,
            candidates,
            reader: dialect.reader(candidate.trigger),
            settler: Settler::new(start, dialect),
            findings: Findings::default(),
            tells: false,
            deferred,
            stops,
            back,
        };
        self.go(EngineState::Reading(Box::new(reading)))
    }

    /// Handles something that looked like a construct and is not one: its first
    /// character is passed and the rest is examined again.
    pub(super) fn dismiss(&mut self, start: usize, back: Back) -> bool {
        self.note(start..start, |_| Decision::NoCall);
        match back {
            Back::Prose { marked, .. } => {
                if marked {
                    self.machine.line.name_mark();
                }
                self.skip_char(start);
                self.go(EngineState::Prose)
            }
            Back::Reasoning { tag } => {
                self.skip_char(start);
                self.go(EngineState::Reasoning { tag, fenced: false })
            }
            Back::Fence(fence) => self.fence_is_quotation(fence),
        }
    }

    pub(super) fn reading(&mut self, mut reading: Box<OpenConstruct>) -> bool {
        let text = self.text;
        let line = self.machine.line;
        let dialect = self.grammar.dialect(reading.dialect);
        let input = Input {
            text: text.from(reading.start),
            end: text.end,
            tools: self.grammar.tools(),
            stops: &reading.stops,
            sure: self.grammar.expects(reading.dialect) && reading.is_in_prose(),
            in_section: self.machine.sections > 0,
            line: &line,
            keys: dialect.map_or(&NO_KEYS, |dialect| dialect.keys()),
            grammar: self.grammar,
        };
        let mut step = reading.reader.read(&input, &mut reading.findings);
        let committed = reading.findings.is_committed();
        for found in reading.findings.found.drain(..) {
            reading.tells |= matches!(found, Finding::Call(_) | Finding::Problem(_));
            let deferred = &mut reading.deferred;
            let mut tell = |item| match deferred {
                Some(deferred) => deferred.push(item),
                None => self.emit(item),
            };
            reading.settler.settle(found, &input, &mut tell);
        }
        let length = input.text.len();
        if step == Step::More && text.end {
            self.machine.wasted_bytes += length;
            step = if reading.settler.is_untouched() {
                reading.findings.refusal = Some(Refusal::CutOff);
                Step::Reject
            } else {
                Step::Done(length)
            };
        } else if step == Step::Reject {
            self.machine.wasted_bytes += reading.findings.examined.max(1);
            if committed || !reading.settler.is_untouched() {
                step = Step::Done(length);
            }
        }
        match step {
            Step::More => self.wait(EngineState::Reading(reading)),
            Step::Reject => {
                let refusal = reading.findings.refusal.unwrap_or(Refusal::OtherForm);
                self.note(reading.start..reading.start, |work| Decision::Refused {
                    dialect: work.name_of(reading.dialect),
                    refusal,
                });
                self.begin(reading.start, reading.candidates, reading.back)
            }
            Step::Skip(length) => {
                let end = reading.start + floor(input.text, length.max(1));
                self.note(reading.start..end, |work| Decision::Section {
                    dialect: work.name_of(reading.dialect),
                });
                self.skip_mark(reading.start..end, reading.back)
            }
            Step::Done(length) => {
                let end = reading.start + floor(input.text, length.max(1));
                self.construct_ends(*reading, end)
            }
        }
    }

    /// Continues behind a mark that stands around calls.
    pub(super) fn skip_mark(&mut self, range: Range<usize>, back: Back) -> bool {
        match back {
            Back::Fence(fence) => {
                self.hold_push(Held::fence_line(range.clone()));
                self.machine.told = range.end;
                self.machine.seen = range.end;
                self.go(EngineState::FenceOfCalls(fence))
            }
            Back::Reasoning { tag } => {
                let end = range.end;
                self.hold_draft(Held::draft_mark(range));
                self.leave(end);
                self.go(EngineState::Reasoning { tag, fenced: false })
            }
            Back::Prose {
                quotation: Quotation::None,
                ..
            } => {
                self.mark(range);
                self.begin_line();
                self.machine.sections += 1;
                self.machine.behind_call = true;
                self.go(EngineState::Prose)
            }
            Back::Prose { quotation, .. } => {
                self.go(EngineState::QuotedMark(Box::new(QuotedMark {
                    search: range.end,
                    range,
                    quotation,
                })))
            }
        }
    }

    /// Handles a mark around calls that may be quoted together with them.
    pub(super) fn quoted_mark(&mut self, mut quoted: QuotedMark) -> bool {
        let text = self.text;
        let closed = match quoted.quotation {
            Quotation::None | Quotation::Data => Closes::Never,
            Quotation::Ticks(count) => closing_ticks(text, &mut quoted.search, count),
            Quotation::Mark(mark) => self.closing_quote(&quoted.range, &mut quoted.search, mark),
        };
        match closed {
            Closes::Unknown => self.wait(EngineState::QuotedMark(Box::new(quoted))),
            Closes::Never => {
                self.machine.wasted_bytes += quoted.search - quoted.range.end;
                let quotation = Quotation::None;
                let marked = true;
                self.skip_mark(quoted.range, Back::Prose { quotation, marked })
            }
            Closes::Before(behind) => self.is_quoted(quoted.range.start, behind, quoted.quotation),
        }
    }

    /// Looks for the quotation mark that closes a quotation of calls: it
    /// stands right behind a closing mark.
    fn closing_quote(&self, range: &Range<usize>, search: &mut usize, quote: char) -> Closes {
        let text = self.text;
        loop {
            let rest = text.from(*search);
            let Some(found) = rest.find(quote) else {
                let decided = text.end || text.len() - range.start > MAX_QUOTATION;
                *search = text.len();
                return if decided {
                    Closes::Never
                } else {
                    Closes::Unknown
                };
            };
            let at = *search + found;
            *search = at + quote.len_utf8();
            if at - range.start > MAX_QUOTATION {
                return Closes::Never;
            }
            if self.grammar.ends_with_closer(text.slice(&(range.end..at))) {
                return Closes::Before(at);
            }
        }
    }

    /// Handles everything up to `behind` as part of a quotation, and so of the
    /// prose.
    fn is_quoted(&mut self, start: usize, behind: usize, quotation: Quotation) -> bool {
        self.note(start..behind, |_| {
            Decision::Quoted(match quotation {
                Quotation::Ticks(_) => Quote::InlineCode,
                Quotation::Mark(_) | Quotation::None => Quote::QuotationMarks,
                Quotation::Data => Quote::Data,
            })
        });
        self.pass(behind);
        if matches!(quotation, Quotation::Ticks(_)) {
            self.machine.line.close_ticks();
        }
        self.tell(SpanKind::Text, behind);
        self.go(EngineState::Prose)
    }

    pub(super) fn construct_ends(&mut self, mut reading: OpenConstruct, end: usize) -> bool {
        let range = reading.start..end;
        self.machine.last = Some(reading.dialect);
        self.note(range.clone(), |work| {
            let dialect = work.name_of(reading.dialect);
            if reading.tells {
                Decision::Read { dialect }
            } else {
                Decision::Passed { dialect }
            }
        });
        let tail = reading.settler.fill(end);
        let Some(mut items) = reading.deferred.take() else {
            if let Some(tail) = tail {
                self.emit(tail);
            }
            if reading.tells {
                self.leave(end);
            } else {
                self.leave_as_prose(end);
            }
            return match reading.back {
                Back::Reasoning { tag } => self.go(EngineState::Reasoning { tag, fenced: false }),
                _ => self.go(EngineState::Prose),
            };
        };
        items.extend(tail);
        match reading.back {
            Back::Prose { quotation, .. } => {
                let search = match quotation {
                    Quotation::Ticks(count) => self.search_for_ticks(&range, &items, count),
                    _ => range.end,
                };
                self.go(EngineState::Quoted(Box::new(QuotedConstruct {
                    range,
                    items,
                    quotation,
                    search,
                })))
            }
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
                if !whole {
                    self.note(held.range.clone(), |_| Decision::NoDraft);
                }
                self.leave(end);
                if !whole {
                    self.machine.wasted_bytes += held.range.len();
                }
                if whole {
                    self.hold_draft(held);
                } else if self.machine.hold.is_some() {
                    self.hold_push(held);
                } else {
                    self.emit_all(held.as_calls);
                }
                self.go(EngineState::Reasoning { tag, fenced: false })
            }
            Back::Fence(fence) => {
                let only_declared = has_call(&items)
                    && items.iter().all(|item| match item {
                        Item::Call(call) => self.is_declared(&call.call.name),
                        Item::Problem(problem) => !problem.is_fault(),
                        _ => true,
                    });
                if !only_declared {
                    self.machine.wasted_bytes += range.len();
                    return self.fence_is_quotation(fence);
                }
                self.hold_push(Held {
                    range,
                    as_quoted: SpanKind::Text,
                    as_calls: items,
                });
                self.leave(end);
                self.go(EngineState::FenceOfCalls(fence))
            }
        }
    }

    /// From where on the backticks are searched that close the quotation which a
    /// construct may stand in.
    fn search_for_ticks(&self, range: &Range<usize>, items: &[Item], count: usize) -> usize {
        let construct = self.text.slice(range);
        let is_closed = self.grammar.ends_with_closer(construct.trim_end());
        if items.iter().any(|item| is_whole_call(item, is_closed)) {
            return range.end - ticks_at_end(construct, range, items);
        }
        // It may as well be the beginning of a call, quoted: the inline code ends
        // before the call does, and on the construct's first line.
        let mut search = range.start;
        let is_on_first_line = !construct.contains('\n')
            || matches!(
                closing_ticks(self.text, &mut search, count),
                Closes::Before(_)
            );
        if is_on_first_line {
            range.start
        } else {
            range.end
        }
    }

    /// Holds back what may be a call drafted in reasoning, or a mark around it.
    fn hold_draft(&mut self, draft: Held) {
        let start = draft.range.start;
        let hold = &mut self.machine.hold;
        hold.get_or_insert_with(|| Hold::new(HoldKind::Reasoning, start))
            .push(draft);
    }

    pub(super) fn is_declared(&self, name: &str) -> bool {
        self.grammar
            .tools()
            .is_some_and(|tools| tools.contains(name))
    }

    /// Continues behind a construct, which counts as the start of a line.
    pub(super) fn leave(&mut self, end: usize) {
        self.machine.told = end;
        self.machine.seen = end;
        self.begin_line();
        self.machine.behind_call = true;
    }

    /// Continues behind something that looked like a construct, and is prose.
    fn leave_as_prose(&mut self, end: usize) {
        self.pass_words(end);
        self.machine.told = end;
    }

    /// Handles a construct that may be quoted: by inline code that closes on
    /// the same line, or by quotation marks right around it.
    pub(super) fn quoted(&mut self, mut quoted: QuotedConstruct) -> bool {
        let text = self.text;
        let closed = match quoted.quotation {
            Quotation::None => Closes::Never,
            Quotation::Mark(mark) => match text.from(quoted.range.end).chars().next() {
                None if !text.end => Closes::Unknown,
                next if next == Some(mark) => Closes::Before(quoted.range.end),
                _ => Closes::Never,
            },
            Quotation::Ticks(count) => closing_ticks(text, &mut quoted.search, count),
            Quotation::Data => goes_on_as_data(text, &quoted.range, &mut quoted.search),
        };
        match closed {
            Closes::Unknown => self.wait(EngineState::Quoted(Box::new(quoted))),
            Closes::Never => {
                let end = quoted.range.end;
                let is_finding = |item: &Item| matches!(item, Item::Call(_) | Item::Problem(_));
                let tells = quoted.items.iter().any(is_finding);
                self.emit_all(quoted.items);
                if tells {
                    self.leave(end);
                } else {
                    self.leave_as_prose(end);
                }
                self.go(EngineState::Prose)
            }
            Closes::Before(behind) => {
                if behind < quoted.range.end {
                    self.machine.wasted_bytes += quoted.range.len();
                }
                self.is_quoted(quoted.range.start, behind, quoted.quotation)
            }
        }
    }
}

/// The longest quotation of several calls between quotation marks.
const MAX_QUOTATION: usize = 4096;

/// Whether an item is a call that nothing is missing of, or no more than a closing
/// bracket where the construct has its closing mark.
fn is_whole_call(item: &Item, is_closed: bool) -> bool {
    let Item::Call(call) = item else {
        return false;
    };
    let is_missing = |problem: &Problem| problem.code == ProblemCode::MissingCloser;
    call.status != Status::Truncated && (is_closed || !call.problems.iter().any(is_missing))
}

/// How many bytes at the end of a construct are backticks behind its last call,
/// on the same line, and white space: a reader takes them for a fence around the
/// JSON, but they may close the quotation that the construct stands in.
fn ticks_at_end(construct: &str, range: &Range<usize>, items: &[Item]) -> usize {
    let last = items.iter().rev().find_map(|item| match item {
        Item::Call(call) => Some(call.span.end),
        _ => None,
    });
    let call_length = last.unwrap_or(range.end).saturating_sub(range.start);
    let behind = construct.get(call_length..).unwrap_or("");
    let visible = behind.trim_end();
    let before = visible.trim_end_matches('`');
    if before.contains('\n') || before.len() == visible.len() {
        return 0;
    }
    behind.len() - before.len()
}

/// Where a quotation closes.
enum Closes {
    Before(usize),
    Never,
    Unknown,
}

/// Whether a comma or a closing bracket follows, as behind an element of data.
fn goes_on_as_data(text: &Text<'_>, range: &Range<usize>, search: &mut usize) -> Closes {
    let rest = text.from(*search);
    let visible = rest.trim_start();
    *search += rest.len() - visible.len();
    match visible.bytes().next() {
        None if !text.end => Closes::Unknown,
        Some(b',' | b']' | b'}' | b')') => Closes::Before(range.end),
        _ => Closes::Never,
    }
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
