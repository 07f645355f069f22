//! Handles broken JSON between two marks: finds where the call ends, repairs
//! it, and says how sure that is.

use serde_json::value::RawValue;

use super::call_object::{ObjectCall, read_arguments, read_keyed, read_object};
use super::marked_json::MarkedJson;
use super::repair_message;
use crate::json::{End, Repaired, repair};
use crate::parse::{Findings, Input, Peek, Step};
use crate::{Problem, ProblemCode, Span, SpanKind, Status};

/// How many marks are tried as the end of one broken call. Each try reads the
/// body again, so this bounds the work.
const MAX_TRIES: usize = 4;

/// The search for the end of a broken call.
#[derive(Debug)]
pub(crate) struct Tolerant {
    body: usize,
    search: usize,
    hard_search: usize,
    tries: usize,
    first_close: Option<(usize, usize)>,
    /// Whether the call has no end: all the rest of the reply is in a string.
    is_endless: bool,
}

impl Tolerant {
    /// A search for a call that starts at `body` and is broken at `fault`.
    pub(crate) fn new(body: usize, fault: usize) -> Self {
        Self {
            body,
            search: fault,
            hard_search: body,
            tries: 0,
            first_close: None,
            is_endless: false,
        }
    }

    /// A search for a call that starts at `body`, where the reply, which is
    /// this long, ends in a string of the call that holds another call.
    pub(crate) fn endless(body: usize, length: usize) -> Self {
        Self {
            is_endless: true,
            ..Self::new(body, length)
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum BodyEnd {
    Close { at: usize, length: usize },
    Open { at: usize },
    End { at: usize },
}

impl MarkedJson {
    pub(super) fn tolerant(&mut self, input: &Input<'_>, out: &mut Findings) -> Step {
        loop {
            let Some(search) = &self.tolerant else {
                return Step::Reject;
            };
            let body = search.body;
            let Some(stop) = self.next_stop(input, search) else {
                if let Some(search) = &mut self.tolerant {
                    let longest = input.stops.iter().map(String::len).max().unwrap_or(0);
                    search.search = input.resume_at(search.search, self.marks.longest);
                    search.hard_search = input.resume_at(search.hard_search, longest);
                }
                return Step::More;
            };
            let last = search.tries + 1 >= MAX_TRIES;
            let (at, behind) = match stop {
                BodyEnd::Close { at, length } => (at, at + length),
                BodyEnd::Open { at } | BodyEnd::End { at } => (at, at),
            };
            let repaired = repair(self.without_list_end(input.slice(body..at)));
            match (stop, repaired) {
                (_, Err(error)) => {
                    let message = format!("The call cannot be read: {error}");
                    let code = match stop {
                        BodyEnd::End { .. } => ProblemCode::Truncated,
                        BodyEnd::Close { .. } | BodyEnd::Open { .. } => ProblemCode::Malformed,
                    };
                    self.tolerant = None;
                    return self.unreadable(code, input, out, message, (body, at, behind));
                }
                // A quote behind the mark may close the string that it stands
                // in.
                (BodyEnd::Close { .. }, Ok(repaired))
                    if matches!(repaired.end, End::Open { .. })
                        && input.peek(behind) == Peek::More =>
                {
                    return Step::More;
                }
                (BodyEnd::Close { .. }, Ok(repaired))
                    if is_settled(&repaired)
                        && !(matches!(repaired.end, End::Open { .. })
                            && input.peek(behind) == Peek::Byte(b'"')) =>
                {
                    return self.accept(input, out, &repaired, at, behind, BrokenEnd::Marked);
                }
                (BodyEnd::Open { .. }, Ok(repaired))
                    if !matches!(repaired.end, End::InString { .. }) =>
                {
                    return self.accept(input, out, &repaired, at, behind, BrokenEnd::Missing);
                }
                (BodyEnd::End { .. }, Ok(repaired)) => {
                    return self.give_up(input, out, &repaired, at);
                }
                (_, Ok(repaired)) if last => return self.give_up(input, out, &repaired, at),
                (_, Ok(_)) => {
                    if let Some(search) = &mut self.tolerant {
                        search.tries += 1;
                        search.search = behind.max(at + 1);
                        if matches!(stop, BodyEnd::Close { .. }) && search.first_close.is_none() {
                            search.first_close = Some((at, behind));
                        }
                    }
                }
            }
        }
    }

    /// The text of a broken call without the bracket of the list around it.
    fn without_list_end<'t>(&self, text: &'t str) -> &'t str {
        match text.trim_end().strip_suffix(']') {
            Some(inner) if self.list.is_some() => inner,
            _ => text,
        }
    }

    fn next_stop(&self, input: &Input<'_>, search: &Tolerant) -> Option<BodyEnd> {
        let text = input.text;
        let from = search.search.min(text.len());
        let found = self
            .marks
            .finder()
            .and_then(|finder| finder.find(aho_corasick::Input::new(text).span(from..text.len())));
        // The end of the construct is searched no further than the next mark.
        let before = found.map_or(text, |found| text.get(..found.start()).unwrap_or(text));
        let hard = input
            .stops
            .iter()
            .filter_map(|stop| find_ignoring_case(before, search.hard_search, stop))
            .min();
        let end = hard.unwrap_or(text.len());
        match found.filter(|_| hard.is_none()) {
            Some(found) if found.pattern().as_usize() < self.marks.close.len() => {
                Some(BodyEnd::Close {
                    at: found.start(),
                    length: found.len(),
                })
            }
            Some(found) => Some(BodyEnd::Open { at: found.start() }),
            None if hard.is_some() || input.end => Some(BodyEnd::End { at: end }),
            None => None,
        }
    }

    /// Ends the search without a certain mark. The call ends at its first
    /// closing mark, or else here; it runs only if its arguments closed.
    fn give_up(
        &mut self,
        input: &Input<'_>,
        out: &mut Findings,
        last: &Repaired,
        at: usize,
    ) -> Step {
        let Some(search) = &self.tolerant else {
            return Step::Reject;
        };
        if search.is_endless {
            return self.accept(input, out, last, at, at, BrokenEnd::Doubtful);
        }
        if let Some((close, behind)) = search.first_close
            && let Ok(repaired) = repair(self.without_list_end(input.slice(search.body..close)))
        {
            return self.accept(input, out, &repaired, close, behind, BrokenEnd::Doubtful);
        }
        self.accept(input, out, last, at, at, BrokenEnd::Missing)
    }

    fn accept(
        &mut self,
        input: &Input<'_>,
        out: &mut Findings,
        repaired: &Repaired,
        at: usize,
        mut behind: usize,
        closing: BrokenEnd,
    ) -> Step {
        let Some(search) = self.tolerant.take() else {
            return Step::Reject;
        };
        let body = search.body;
        let text = input.slice(body..at);
        let mut end = body + text.trim_end().len();
        if closing == BrokenEnd::Missing {
            // Prose behind a value that closed is text for the user, not part
            // of the call.
            if repaired.end == End::Closed
                && repaired
                    .fixes
                    .iter()
                    .any(|fix| fix.code == ProblemCode::SurroundingText)
                && let Some(brace) = text.rfind(['}', ']'])
            {
                end = body + brace + 1;
            }
            behind = end;
        }
        let problems: Vec<Problem> = repaired
            .fixes
            .iter()
            .map(|fix| {
                let at = (body + fix.at).min(end);
                Problem::new(fix.code, repair_message(fix.code), Span::new(at, at))
            })
            .collect();
        let readings = match self.readings(&repaired.json, input, Span::new(body, end)) {
            Ok(readings) => readings,
            Err(problem) => {
                let cut = closing == BrokenEnd::Missing && repaired.end != End::Closed;
                let code = if cut {
                    ProblemCode::Truncated
                } else {
                    problem.code
                };
                return self.unreadable(code, input, out, problem.message, (body, end, behind));
            }
        };
        let last = readings.len().saturating_sub(1);
        for (position, reading) in readings.into_iter().enumerate() {
            let whole = match (repaired.end, closing) {
                (End::Closed | End::Open { .. }, BrokenEnd::Marked) => true,
                (End::Closed, BrokenEnd::Missing) => !guesses_last_quote(repaired, text),
                (End::Open { depth }, BrokenEnd::Missing) => {
                    position < last || (depth == 1 && reading.args_closed)
                }
                (_, BrokenEnd::Doubtful) | (End::InString { .. }, _) => false,
            };
            let whole = whole && !is_doubtful(repaired, closing == BrokenEnd::Marked);
            let mut problems = if position == 0 {
                problems.clone()
            } else {
                Vec::new()
            };
            let mut status = Status::Repaired;
            if !whole {
                status = Status::Truncated;
                problems.push(Problem::new(
                    ProblemCode::Truncated,
                    "The call was cut off before its arguments closed; send it again, whole",
                    Span::new(body, end),
                ));
            }
            let consistent = self.send(&reading, whole, input, out);
            self.keep(reading, body..end, status, problems);
            if !consistent || (whole && self.hides_a_mark(repaired, text)) {
                self.spoil(body..end);
            }
            if position == last
                && closing == BrokenEnd::Missing
                && whole
                && !self.marks.may_stay_open
            {
                self.note(ProblemCode::MissingCloseMark, end..end);
            }
            self.flush_sharing(out, position == 0);
        }
        Step::Done(behind)
    }

    /// The calls in the JSON that came out of a repair.
    fn readings<'t>(
        &self,
        json: &'t str,
        input: &Input<'_>,
        span: Span,
    ) -> Result<Vec<ObjectCall<'t>>, Problem> {
        if let Some(called) = &self.called {
            return Ok(vec![read_arguments(called, json, span)?]);
        }
        let read = |json: &'t str| match read_keyed(json, span) {
            Some(reading) if self.marks.by_key => Ok(reading),
            _ => read_object(json, input, span),
        };
        if !json.starts_with('[') {
            return Ok(vec![read(json)?]);
        }
        let elements: Vec<&'t RawValue> = serde_json::from_str(json)
            .map_err(|error| Problem::new(ProblemCode::Malformed, error.to_string(), span))?;
        if elements.is_empty() {
            return Err(Problem::new(
                ProblemCode::Malformed,
                "The list of calls is empty",
                span,
            ));
        }
        elements
            .into_iter()
            .map(|element| read(element.get()))
            .collect()
    }

    /// Announces a call that came out of a repair, unless it was announced
    /// while it streamed. `false` if that announcement was another call's.
    fn send(
        &mut self,
        reading: &ObjectCall<'_>,
        whole: bool,
        input: &Input<'_>,
        out: &mut Findings,
    ) -> bool {
        match self.object.take() {
            Some(object) if whole => object.complete(reading, input, out).is_some(),
            Some(object) if object.announced().is_some() => {
                object.announced() == Some(&reading.name)
            }
            _ => {
                out.start(&reading.name);
                if whole {
                    out.delta(&reading.args_json);
                }
                true
            }
        }
    }

    /// Whether a string whose quotes were guessed holds a mark: it may have
    /// swallowed another call.
    fn hides_a_mark(&self, repaired: &Repaired, text: &str) -> bool {
        let guessed = repaired
            .fixes
            .iter()
            .any(|fix| fix.code == ProblemCode::UnescapedQuote);
        guessed && {
            let finder = self.marks.finder();
            finder.is_some_and(|finder| finder.is_match(text))
        }
    }

    /// Reports the pending call. Calls that came out of one stretch of broken
    /// text share its range, which is accounted for once.
    fn flush_sharing(&mut self, out: &mut Findings, first: bool) {
        if first {
            self.flush(out);
        } else if let Some(mut call) = self.pending.take() {
            call.problems.append(&mut self.notes);
            out.call(call);
        }
    }

    fn unreadable(
        &mut self,
        code: ProblemCode,
        input: &Input<'_>,
        out: &mut Findings,
        message: String,
        (body, end, behind): (usize, usize, usize),
    ) -> Step {
        let announced = self
            .object
            .take()
            .and_then(|object| object.announced().map(str::to_owned));
        if let Some(name) = announced {
            let span = Span::new(body, end);
            out.piece(SpanKind::Call, body..end);
            out.call(crate::parse::FoundCall {
                name,
                args: crate::Arguments::new(),
                reasoning: None,
                id: None,
                status: Status::Truncated,
                problems: vec![Problem::new(code, message, span).with_raw(input.slice(body..end))],
                open_ended: false,
                range: body..end,
            });
        } else {
            self.flush(out);
            out.unreadable(code, message, body..end, input.slice(body..end));
        }
        Step::Done(behind)
    }
}

/// How the end of a broken call was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum BrokenEnd {
    /// By the call's closing mark.
    Marked,
    /// By a closing mark that may belong to a string.
    Doubtful,
    /// No closing mark was found.
    Missing,
}

/// Whether a closing mark right behind this text is surely the call's own.
/// Where quotes were guessed and brackets are missing, it may as well stand
/// inside a string.
fn is_settled(repaired: &Repaired) -> bool {
    let guessed = || {
        repaired
            .fixes
            .iter()
            .any(|fix| fix.code == ProblemCode::UnescapedQuote)
    };
    match repaired.end {
        End::Closed => true,
        End::Open { .. } => !guessed(),
        End::InString { .. } => false,
    }
}

/// Whether the text may go on in a string whose quotes were guessed: no mark
/// says where it ends, or something behind it had to be left out.
pub(crate) fn is_doubtful(repaired: &Repaired, marked: bool) -> bool {
    let has = |code| {
        repaired
            .fixes
            .iter()
            .any(|fix| fix.code == code && fix.at > 0)
    };
    has(ProblemCode::UnescapedQuote) && (!marked || has(ProblemCode::SurroundingText))
}

/// Whether the last string was closed by a guess: `"a}}` may be `"a"}}`, or a
/// text that was cut off behind two braces.
pub(crate) fn guesses_last_quote(repaired: &Repaired, text: &str) -> bool {
    repaired.fixes.last().is_some_and(|fix| {
        let tail = text.get(fix.at..).unwrap_or("");
        fix.code == ProblemCode::MissingQuotes
            && tail
                .trim_matches(['}', ']', ' ', '\t', '\r', '\n'])
                .is_empty()
    })
}

/// The offset of `needle` in `text` at or behind `from`, letters in any case.
pub(crate) fn find_ignoring_case(text: &str, from: usize, needle: &str) -> Option<usize> {
    let first = needle.as_bytes().first().copied()?;
    let bytes = text.as_bytes();
    let mut at = from;
    loop {
        let rest = bytes.get(at..)?;
        let found = memchr::memchr2(first.to_ascii_lowercase(), first.to_ascii_uppercase(), rest)?;
        at += found;
        if bytes
            .get(at..at + needle.len())
            .is_some_and(|start| start.eq_ignore_ascii_case(needle.as_bytes()))
        {
            return Some(at);
        }
        at += 1;
    }
}
