//! Calls as Python expressions, one behind the other: in a list, between
//! marks, or both.

use std::ops::Range;
use std::sync::Arc;

use super::botched::{CloseAt, botched_end, closing_mark_behind, cut_end};
use super::named_values::{NamedValues, Whole};
use super::python::{Leniency, Progress, PythonCall};
use crate::ProblemCode;
use crate::parse::{Findings, Input, MarkAt, Reader, Refusal, Step, floor, mark_at};

/// The longest name of a tool.
const MAX_NAME: usize = 256;
/// The longest comment behind a call.
const MAX_COMMENT: usize = 4096;

const NO_CALL: &str = "What stands here between the marks is not a call; \
                       write each as name(argument=value)";

/// The marks around the calls.
#[derive(Debug, Clone, Copy)]
pub(crate) struct PythonMarks {
    /// The opening mark; empty where the list itself is all there is, so that
    /// a declared tool's name is needed as evidence.
    pub(crate) open: &'static str,
    /// The closing mark.
    pub(crate) close: &'static [&'static str],
    /// Whether the closing mark may be left out.
    pub(crate) may_stay_open: bool,
}

/// The marks around one construct: the length of the one that opens it, and
/// those that close it.
#[derive(Debug)]
struct CallListMarks {
    open: usize,
    close: Arc<[String]>,
    may_stay_open: bool,
}

/// Reads the calls between one pair of marks.
#[derive(Debug)]
pub(crate) struct PythonCalls {
    marks: CallListMarks,
    at: usize,
    /// How far white space behind `at` was skipped.
    space: usize,
    /// How far the end of the line was searched.
    searched: usize,
    /// Where the closing mark stands, once it was looked for.
    closing: Option<usize>,
    state: CallListState,
    is_list: bool,
    /// Whether the calls are reported while they come in.
    live: bool,
    call: Option<(PythonCall, usize)>,
    /// Calls that are whole and not reported yet.
    whole: Vec<(NamedValues, Range<usize>)>,
    is_first: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum CallListState {
    Lead,
    Name,
    Call,
    Between {
        comma: bool,
    },
    /// A comment starts at this offset, behind a call or behind its comma.
    Comment {
        at: usize,
        comma: bool,
    },
    /// At this offset stands neither a call nor the end of the list.
    Other {
        at: usize,
    },
    After,
    Botched(usize),
}

impl PythonCalls {
    /// A reader that starts at the opening mark.
    pub(crate) fn new(marks: PythonMarks) -> Self {
        let close = marks.close.iter().map(|mark| (*mark).to_owned()).collect();
        Self::behind(marks.open.len(), close, marks.may_stay_open)
    }

    /// A reader that starts at an opening mark of this length.
    pub(crate) fn behind(open: usize, close: Arc<[String]>, may_stay_open: bool) -> Self {
        Self {
            marks: CallListMarks {
                open,
                close,
                may_stay_open,
            },
            at: open,
            space: 0,
            searched: 0,
            closing: None,
            state: CallListState::Lead,
            is_list: false,
            live: open > 0,
            call: None,
            whole: Vec::new(),
            is_first: true,
        }
    }

    fn skip_space(&mut self, input: &Input<'_>) -> usize {
        self.space = input.skip_space(self.at.max(self.space));
        self.space
    }

    fn go(&mut self, state: CallListState) -> Option<Step> {
        self.state = state;
        None
    }

    fn lead(&mut self, input: &Input<'_>, out: &mut Findings) -> Option<Step> {
        let at = self.skip_space(input);
        match input.from(at).chars().next() {
            None if !input.end => Some(Step::More),
            None => Some(self.without_calls(input, out)),
            Some('[') if !self.is_list => {
                self.is_list = true;
                self.at = at + 1;
                None
            }
            Some(c) if is_name(c) && (self.is_list || self.marks.open > 0) => {
                self.at = at;
                self.go(CallListState::Name)
            }
            Some(_) => Some(out.refuse(Refusal::NoCallBehind)),
        }
    }

    /// Handles a reply that ends behind the opening mark.
    fn without_calls(&self, input: &Input<'_>, out: &mut Findings) -> Step {
        if self.marks.open == 0 {
            return Step::Reject;
        }
        let message = "The reply ends behind the opening mark of a call".to_owned();
        let end = input.text.len();
        out.unreadable(ProblemCode::Truncated, message, 0..end, input.text);
        Step::Done(end)
    }

    /// Handles a reply that ends in the name of a further call.
    fn cut_in_name(&mut self, input: &Input<'_>, out: &mut Findings) -> Step {
        self.flush(out);
        let message = "The reply ends inside a list of calls".to_owned();
        let range = self.at..input.text.len();
        let raw = input.slice(range.clone());
        out.unreadable(ProblemCode::Truncated, message, range.clone(), raw);
        Step::Done(range.end)
    }

    fn name(&mut self, input: &Input<'_>, out: &mut Findings) -> Option<Step> {
        let rest = input.from(self.at);
        let window = rest.get(..floor(rest, MAX_NAME)).unwrap_or("");
        let Some(length) = window.find(|c: char| !is_name(c)) else {
            let undecided = rest.len() < MAX_NAME;
            return match (undecided, input.end) {
                (true, false) => Some(Step::More),
                (true, true) if self.is_first => Some(self.without_calls(input, out)),
                (true, true) if self.is_list && self.marks.open > 0 => {
                    Some(self.cut_in_name(input, out))
                }
                _ => self.no_call(out),
            };
        };
        let name = window.get(..length).unwrap_or("");
        let is_evident = !self.is_first || self.marks.open > 0 || input.declares(name);
        if window.as_bytes().get(length) != Some(&b'(') || !is_evident {
            return self.no_call(out);
        }
        let leniency = if self.marks.open > 0 {
            Leniency::Mend
        } else {
            Leniency::Strict
        };
        if self.live {
            self.flush(out);
        }
        let start = self.at;
        self.at += length + 1;
        let mut call = PythonCall::new(name, self.at, leniency);
        if self.live {
            call.values().send(out);
        }
        self.call = Some((call, start));
        self.is_first = false;
        self.go(CallListState::Call)
    }

    /// Handles a missing call where one was expected.
    fn no_call(&mut self, out: &mut Findings) -> Option<Step> {
        if self.is_first {
            out.examined(self.at);
            return Some(out.refuse(Refusal::NoCallBehind));
        }
        self.go(CallListState::Other { at: self.at })
    }

    fn call(&mut self, input: &Input<'_>, out: &mut Findings) -> Option<Step> {
        let (call, start) = self.call.as_mut()?;
        let progress = call.read(input);
        let beginning = call.beginning();
        self.live |= input.sure && self.whole.is_empty() && beginning.is_certain();
        if self.live {
            call.values().send(out);
        }
        match progress {
            Progress::More if !input.end => Some(Step::More),
            Progress::More => Some(self.cut(input, out)),
            Progress::Done(end) => {
                let range = *start..end;
                if let Some((call, _)) = self.call.take() {
                    self.whole.push((call.into_values(), range));
                }
                self.at = end;
                self.go(CallListState::Between { comma: false })
            }
            Progress::Fault(at) if self.live => self.go(CallListState::Botched(at)),
            Progress::Fault(at) => {
                out.examined(at);
                Some(out.refuse(Refusal::NoLiteral))
            }
        }
    }

    /// Handles a reply that ends inside a call.
    fn cut(&mut self, input: &Input<'_>, out: &mut Findings) -> Step {
        let Some((call, start)) = self.call.take() else {
            return Step::Reject;
        };
        let end = cut_end(input, call.argument_start());
        let meant = !self.whole.is_empty() || call.beginning().looks_meant();
        if !self.live && (!meant || end < input.text.len()) {
            out.examined(input.text.len());
            return out.refuse(Refusal::CutOff);
        }
        self.flush(out);
        call.into_values().finish(out, start..end, Whole::No);
        Step::Done(end)
    }

    fn between(&mut self, input: &Input<'_>, comma: bool) -> Option<Step> {
        let at = self.skip_space(input);
        match input.from(at).chars().next() {
            None if !input.end => Some(Step::More),
            Some(',') if !comma => {
                self.at = at + 1;
                self.go(CallListState::Between { comma: true })
            }
            Some(']') if self.is_list => {
                self.at = at + 1;
                self.go(CallListState::After)
            }
            Some(c) if is_name(c) && (comma || !self.is_list || self.live) => {
                if self.is_list && !comma {
                    self.note(ProblemCode::MissingComma, at..at);
                }
                self.at = at;
                self.go(CallListState::Name)
            }
            None if !self.is_list => self.go(CallListState::After),
            None => {
                self.note(ProblemCode::MissingCloser, at..at);
                self.go(CallListState::After)
            }
            Some('#') if !self.marks.close.is_empty() => {
                self.go(CallListState::Comment { at, comma })
            }
            Some(_) => self.go(CallListState::Other { at }),
        }
    }

    /// Where the closing mark stands, if only calls and what cannot be read
    /// stand before it.
    fn closing_mark(&mut self, input: &Input<'_>, at: usize) -> CloseAt {
        if let Some(close) = self.closing.filter(|close| at <= *close) {
            return CloseAt::Finding(close);
        }
        let found = closing_mark_behind(input, at, &self.marks.close);
        if let CloseAt::Finding(close) = found {
            self.closing = Some(close);
        }
        found
    }

    /// Passes over a comment, up to the end of its line or the closing mark.
    fn comment(
        &mut self,
        input: &Input<'_>,
        out: &mut Findings,
        at: usize,
        comma: bool,
    ) -> Option<Step> {
        let rest = input.from(at);
        let window = rest.get(..floor(rest, MAX_COMMENT)).unwrap_or("");
        let newline = window.find('\n');
        let line = window.get(..newline.unwrap_or(window.len())).unwrap_or("");
        let marks = self.marks.close.iter();
        let close = marks.filter_map(|mark| line.find(mark.as_str())).min();
        let Some(length) = close.or(newline) else {
            if !input.end && rest.len() < MAX_COMMENT {
                return Some(Step::More);
            }
            return self.list_stays_open(out);
        };
        let comment = line.get(..length).unwrap_or("");
        if input
            .stops
            .iter()
            .any(|stop| comment.contains(stop.as_str()))
        {
            return self.list_stays_open(out);
        }
        for (mark, _) in comment.match_indices(['<', '[']) {
            match input.is_marked(at + mark) {
                None if !input.end => return Some(Step::More),
                Some(false) if !input.is_silent(at + mark) => {}
                _ => return self.list_stays_open(out),
            }
        }
        self.at = at + length;
        if close.is_none() {
            return self.go(CallListState::Between { comma });
        }
        if self.is_list {
            self.note(ProblemCode::MissingCloser, self.at..self.at);
        }
        self.go(CallListState::After)
    }

    /// Handles something else where a call or the end of the list should be. Up
    /// to the closing mark it was meant as a call, and cannot be read.
    fn other(&mut self, input: &Input<'_>, out: &mut Findings, at: usize) -> Option<Step> {
        if self.marks.open == 0 || self.marks.close.is_empty() {
            return self.list_stays_open(out);
        }
        let close = match self.closing_mark(input, at) {
            CloseAt::More => return Some(Step::More),
            CloseAt::Finding(close) if at < close => close,
            CloseAt::Finding(_) | CloseAt::None => return self.list_stays_open(out),
        };
        let end = next_call(input, at..close).unwrap_or(close);
        let (message, raw) = (NO_CALL.to_owned(), input.slice(at..end));
        self.flush(out);
        out.unreadable(ProblemCode::Malformed, message, at..end, raw);
        self.at = end;
        self.go(if end < close {
            CallListState::Name
        } else {
            CallListState::After
        })
    }

    /// Handles a list of calls that does not close before something else
    /// follows.
    fn list_stays_open(&mut self, out: &mut Findings) -> Option<Step> {
        if self.is_list && !self.live {
            out.examined(self.at);
            return Some(Step::Reject);
        }
        if let Some((_, range)) = self.whole.last() {
            self.at = range.end;
        }
        if self.is_list {
            self.note(ProblemCode::MissingCloser, self.at..self.at);
        }
        self.go(CallListState::After)
    }

    fn after(&mut self, input: &Input<'_>, out: &mut Findings) -> Step {
        if self.marks.open == 0 {
            return self.after_list(input, out);
        }
        let at = self.skip_space(input);
        let rest = input.from(at);
        let end = match mark_at(rest, &self.marks.close) {
            MarkAt::Finding { length, .. } => {
                self.flush(out);
                return Step::Done(at + length);
            }
            MarkAt::Partial if !input.end => return Step::More,
            MarkAt::Partial if !rest.is_empty() => at + rest.len(),
            MarkAt::Partial | MarkAt::None => self.at,
        };
        if !self.marks.may_stay_open {
            self.note(ProblemCode::MissingCloseMark, self.at..end);
        }
        self.flush(out);
        Step::Done(end)
    }

    /// Handles the end of a list, which stands alone on its lines if it has no
    /// marks, unless it was expected.
    fn after_list(&mut self, input: &Input<'_>, out: &mut Findings) -> Step {
        if !self.live && !input.sure {
            let line = match input.line_end(self.at, &mut self.searched) {
                Some(end) => input.slice(self.at..end),
                None if input.end => input.from(self.at),
                None => return Step::More,
            };
            if !input.is_blank(line) {
                out.examined(self.at + line.len());
                return out.refuse(Refusal::WordsBehind);
            }
        }
        self.flush(out);
        Step::Done(self.at)
    }

    fn botched(&mut self, input: &Input<'_>, out: &mut Findings, fault: usize) -> Step {
        let Some(end) = botched_end(input, fault, &self.marks.close) else {
            return Step::More;
        };
        self.flush(out);
        if let Some((call, start)) = self.call.take() {
            let mut values = call.into_values();
            values.problem(
                ProblemCode::Malformed,
                "An argument is not a literal; write each as name=value, strings in quotes",
                fault..end,
            );
            values.finish(out, start..end, Whole::No);
        }
        Step::Done(end)
    }

    fn note(&mut self, code: ProblemCode, range: Range<usize>) {
        if let Some((values, _)) = self.whole.last_mut() {
            values.note(code, range);
        }
    }

    /// Reports the calls that are whole.
    fn flush(&mut self, out: &mut Findings) {
        for (values, range) in self.whole.drain(..) {
            values.finish(out, range, Whole::Yes);
        }
    }
}

impl Reader for PythonCalls {
    fn read(&mut self, input: &Input<'_>, out: &mut Findings) -> Step {
        loop {
            let step = match self.state {
                CallListState::Lead => self.lead(input, out),
                CallListState::Name => self.name(input, out),
                CallListState::Call => self.call(input, out),
                CallListState::Between { comma } => self.between(input, comma),
                CallListState::Comment { at, comma } => self.comment(input, out, at, comma),
                CallListState::Other { at } => self.other(input, out, at),
                CallListState::After => Some(self.after(input, out)),
                CallListState::Botched(fault) => Some(self.botched(input, out, fault)),
            };
            if let Some(step) = step {
                return step;
            }
        }
    }
}

/// The first line in the range, but for its own first, that begins with a call
/// of a declared tool.
fn next_call(input: &Input<'_>, range: Range<usize>) -> Option<usize> {
    let text = input.slice(range.clone());
    let lines = text.match_indices('\n').map(|(at, _)| at + 1);
    let mut starts = lines.map(|at| {
        let line = text.get(at..).unwrap_or("");
        at + (line.len() - line.trim_start_matches([' ', '\t']).len())
    });
    let start = starts.find(|start| {
        let line = text.get(*start..).unwrap_or("");
        let end = line.find(|c| !is_name(c)).unwrap_or(line.len());
        let (name, behind) = line.split_at_checked(end).unwrap_or((line, ""));
        behind.starts_with('(') && input.declares(name)
    });
    start.map(|start| range.start + start)
}

fn is_name(c: char) -> bool {
    c.is_alphanumeric() || matches!(c, '_' | '.' | '-')
}
