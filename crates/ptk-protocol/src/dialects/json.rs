//! `json`: a call as a bare JSON object or array, without any mark. Names are
//! the evidence: `{"name": …}` is a call only if it names a declared tool.

use std::ops::Range;

use serde_json::Value;
use serde_json::value::RawValue;

use super::engine::call_object::{Reading, is_call_key, read_object};
use super::engine::repair_message;
use super::engine::tolerant::guesses_last_quote;
use super::{Dialect, Trigger};
use crate::json::scan::{Scan, Scanner};
use crate::json::{End, Repaired, repair};
use crate::parse::{Findings, FoundCall, Input, MarkAt, Peek, Reader, Step, mark_at};
use crate::{Problem, ProblemCode, Span, SpanKind, Status, ToolSpec, Toolset};

/// Closing marks whose opening mark a model may have left out.
const CLOSERS: &[&str] = &["</PTK_CALL>", "</PTK_BATCH>", "</TOOL_CALL>"];

/// A bare JSON call that starts a line and stands on lines of its own.
#[derive(Debug, Clone, Copy, Default)]
pub struct Json;

impl Dialect for Json {
    fn name(&self) -> &'static str {
        "json"
    }

    fn triggers(&self, _tools: Option<&Toolset>) -> Vec<Trigger> {
        vec![Trigger::at_line_start("{"), Trigger::at_line_start("[")]
    }

    fn reader(&self, _trigger: usize) -> Box<dyn Reader> {
        Box::new(BareJson {
            scanner: Scanner::new(0),
            state: State::Undecided,
            shown: 0,
        })
    }
}

#[derive(Debug)]
enum State {
    /// It may be a call or not.
    Undecided,
    /// It starts like a call.
    Call,
    /// It is no call; the rest of the value is text, whatever it holds.
    Text,
    /// The value is whole up to `end`; what follows decides. White space was
    /// skipped up to `next`.
    Whole { end: usize, next: usize },
    /// It starts like a call and is broken; search for the end goes on here.
    Broken { fault: usize, search: usize },
}

#[derive(Debug)]
struct BareJson {
    scanner: Scanner,
    state: State,
    shown: usize,
}

impl Reader for BareJson {
    fn read(&mut self, input: &Input<'_>, out: &mut Findings) -> Step {
        loop {
            match self.state {
                State::Undecided => match starts_like_a_call(input) {
                    Some(true) => self.state = State::Call,
                    Some(false) if input.text.starts_with('[') => return Step::Reject,
                    Some(false) => match self.scanner.scan(input.text) {
                        Scan::Done(_) => self.begin_text(),
                        _ if !self.scanner.members.is_empty() => self.begin_text(),
                        Scan::More if !input.end => return Step::More,
                        Scan::More | Scan::Fault(_) => return Step::Reject,
                    },
                    None => return Step::More,
                },
                State::Text => return self.text(input, out),
                State::Call => match self.scanner.scan(input.text) {
                    Scan::More if !input.end => return Step::More,
                    Scan::Done(end) => self.state = State::Whole { end, next: end },
                    Scan::More => {
                        let fault = self.scanner.position();
                        self.state = State::Broken { fault, search: 0 };
                    }
                    Scan::Fault(fault) => self.state = State::Broken { fault, search: 0 },
                },
                State::Whole { end, next } => {
                    let next = input.skip_space(next);
                    self.state = State::Whole { end, next };
                    return whole(input, out, end, next);
                }
                State::Broken { fault, search } => {
                    let Some(end) = region_end(input, search) else {
                        let search = input.resume_at(search, REGION_LOOK_BACK);
                        self.state = State::Broken { fault, search };
                        return Step::More;
                    };
                    return broken(input, out, end);
                }
            }
        }
    }
}

impl BareJson {
    fn begin_text(&mut self) {
        self.scanner = Scanner::new(0);
        self.state = State::Text;
    }

    /// Passes the value on as text while it comes in, so that nothing inside
    /// it is taken for a call.
    fn text(&mut self, input: &Input<'_>, out: &mut Findings) -> Step {
        let scan = self.scanner.scan(input.text);
        let (end, step) = match scan {
            Scan::Done(end) | Scan::Fault(end) => (end, Step::Done(end)),
            Scan::More if input.end => (input.text.len(), Step::Done(input.text.len())),
            Scan::More => (self.scanner.position(), Step::More),
        };
        let mut end = end;
        while !input.text.is_char_boundary(end) {
            end -= 1;
        }
        out.piece(SpanKind::Text, self.shown..end);
        self.shown = end;
        match step {
            Step::Done(_) if end == 0 => Step::Reject,
            Step::Done(_) => Step::Done(end),
            other => other,
        }
    }
}

/// Whether the first key is one that a call may start with; `None` if it has
/// not come yet.
fn starts_like_a_call(input: &Input<'_>) -> Option<bool> {
    let mut at = 0;
    if input.byte(at) == Some(b'[') {
        match input.peek(at + 1) {
            Peek::Byte(b'{') => at = input.skip_space(at + 1),
            Peek::More => return None,
            _ => return Some(false),
        }
    }
    match input.peek(at + 1) {
        Peek::Byte(byte) if byte != b' ' => at = input.skip_space(at + 1),
        Peek::More => return None,
        _ => return Some(false),
    }
    let rest = input.from(at);
    let Some(quote) = rest.chars().next() else {
        return if input.end { Some(false) } else { None };
    };
    let key = match quote {
        '"' | '\'' | '“' => rest.get(quote.len_utf8()..).unwrap_or(""),
        c if c.is_alphabetic() => rest,
        _ => return Some(false),
    };
    let length = key
        .find(|c: char| !(c.is_alphanumeric() || c == '_'))
        .unwrap_or(key.len());
    if length == key.len() && !input.end {
        // No key of a call is this long.
        return if length > 32 { Some(false) } else { None };
    }
    Some(key.get(..length).is_some_and(is_call_key))
}

/// The value is whole: it is a call if it names declared tools and nothing
/// else stands on its last line.
fn whole(input: &Input<'_>, out: &mut Findings, end: usize, next: usize) -> Step {
    let line = input.slice(end..next);
    let closer = mark_at(input.from(next), CLOSERS);
    let joined = match joins(input, next) {
        None => return Step::More,
        Some(joined) => joined && !line.contains('\n'),
    };
    match closer {
        _ if joined => {}
        MarkAt::Partial if !input.end => return Step::More,
        _ if mark_at(input.from(next), input.stops) == MarkAt::Partial && !input.end => {
            return Step::More;
        }
        MarkAt::Found { .. } => {}
        MarkAt::Partial | MarkAt::None => {
            let ends_line = line.contains('\n') || next == input.text.len();
            if !ends_line && !matches!(mark_at(input.from(next), input.stops), MarkAt::Found { .. })
            {
                return as_text(out, end);
            }
        }
    }
    let marked = matches!(closer, MarkAt::Found { .. });
    let behind = match closer {
        MarkAt::Found { length, .. } => next + length,
        _ if joined => next + 1,
        MarkAt::Partial | MarkAt::None => end,
    };
    let Some(readings) = readings(input.slice(0..end), input, end) else {
        return as_text(out, end);
    };
    if !named_for_sure(&readings, input, marked) {
        return as_text(out, end);
    }
    for (position, reading) in readings.into_iter().enumerate() {
        let problems = missing_marks(&reading, end, marked);
        give(
            out,
            reading,
            0..end,
            problems,
            Status::Complete,
            position == 0,
        );
    }
    Step::Done(behind)
}

/// Whether a semicolon at `at` separates the call from the next one, or ends
/// its line; `None` if more text has to come to tell.
fn joins(input: &Input<'_>, at: usize) -> Option<bool> {
    if input.byte(at) != Some(b';') {
        return Some(false);
    }
    match input.peek(at + 1) {
        Peek::More => None,
        Peek::End | Peek::Byte(b'{') => Some(true),
        Peek::Byte(_) => {
            let next = input.skip_space(at + 1);
            Some(input.slice(at + 1..next).contains('\n'))
        }
    }
}

/// The marks that a bare call lacks: with PTK's own keys it should have had
/// both, and before a closing mark it should have had an opening one.
fn missing_marks(reading: &Reading, end: usize, closed: bool) -> Vec<Problem> {
    let mut problems = Vec::new();
    if closed || reading.own_keys {
        problems.push(note(ProblemCode::MissingOpenMark, 0..0));
    }
    if !closed && reading.own_keys {
        problems.push(note(ProblemCode::MissingCloseMark, end..end));
    }
    problems
}

/// The value is broken: it is a call if, mended, it names a declared tool.
fn broken(input: &Input<'_>, out: &mut Findings, region: usize) -> Step {
    let text = input.slice(0..region);
    let mended = repair(text);
    let Ok(mended) = mended else {
        return as_text(out, region);
    };
    let guessed = guesses_last_quote(&mended, text);
    let Repaired { json, fixes, end } = mended;
    let closer = mark_at(input.from(region), CLOSERS);
    let (behind, marked) = match closer {
        MarkAt::Found { length, .. } => (region + length, true),
        _ => (region, false),
    };
    let body = match text.rfind(['}', ']']) {
        Some(brace) if end == End::Closed => brace + 1,
        _ => text.trim_end().len(),
    };
    let Some(readings) = readings(&json, input, body) else {
        return as_text(out, region);
    };
    if !named_for_sure(&readings, input, marked) {
        return as_text(out, region);
    }
    let trailing = text.get(body..).is_some_and(|rest| !rest.trim().is_empty());
    if trailing && !marked {
        return as_text(out, region);
    }
    let repairs: Vec<Problem> = fixes
        .iter()
        .map(|fix| note(fix.code, fix.at..fix.at))
        .collect();
    for (position, reading) in readings.into_iter().enumerate() {
        let is_whole = match end {
            End::Closed => marked || !guessed,
            End::Open { depth } => marked || (depth == 1 && reading.args_closed),
            End::InString { .. } => false,
        };
        let mut problems = repairs.clone();
        problems.extend(missing_marks(&reading, body, marked));
        let status = if is_whole {
            Status::Repaired
        } else {
            problems.push(Problem::new(
                ProblemCode::Truncated,
                "The call was cut off before its arguments closed; send it again, whole",
                Span::new(0, body),
            ));
            Status::Truncated
        };
        give(out, reading, 0..body, problems, status, position == 0);
    }
    Step::Done(if marked { behind } else { body })
}

fn give(
    out: &mut Findings,
    reading: Reading,
    range: Range<usize>,
    mut problems: Vec<Problem>,
    mut status: Status,
    first: bool,
) {
    problems.extend(reading.problems);
    if status == Status::Complete && problems.iter().any(|problem| !problem.is_fault()) {
        status = Status::Repaired;
    }
    if first {
        out.piece(SpanKind::Call, range.clone());
    }
    out.start(&reading.name);
    if status != Status::Truncated {
        out.delta(&reading.args_json);
    }
    out.call(FoundCall {
        name: reading.name,
        args: reading.args,
        reasoning: reading.reasoning,
        id: reading.id,
        status,
        problems,
        open_ended: false,
        range,
    });
}

fn note(code: ProblemCode, range: Range<usize>) -> Problem {
    Problem::new(
        code,
        repair_message(code),
        Span::new(range.start, range.end),
    )
}

fn as_text(out: &mut Findings, end: usize) -> Step {
    out.piece(SpanKind::Text, 0..end);
    Step::Done(end)
}

/// Without marks only a declared name makes a call. Where no tools were
/// declared, PTK's own keys or a closing mark have to do.
fn named_for_sure(readings: &[Reading], input: &Input<'_>, marked: bool) -> bool {
    !readings.is_empty()
        && readings.iter().all(|reading| match input.tools {
            Some(tools) => tools
                .get(&reading.name)
                .is_some_and(|tool| fits(reading, tool) && !is_definition(reading, tool)),
            None => reading.own_keys || marked,
        })
}

/// Whether the arguments are a schema: this is the tool's definition, as the
/// prompt may have shown it, and no call.
fn is_definition(reading: &Reading, tool: &ToolSpec) -> bool {
    reading
        .args
        .get("type")
        .is_some_and(|kind| kind == "object")
        && reading.args.get("properties").is_some_and(Value::is_object)
        && tool.schema().property("properties").is_none()
}

/// Whether arguments that stand beside the name are the tool's: `{"name":
/// "bash", "pid": 12}` is data about a process, not a call of `bash`.
fn fits(reading: &Reading, tool: &ToolSpec) -> bool {
    let flat = reading
        .problems
        .iter()
        .any(|problem| problem.code == ProblemCode::FlatArguments);
    let declared = |name: &String| tool.properties().is_some_and(|all| all.contains_key(name));
    !flat || reading.args.as_map().keys().all(declared)
}

fn readings(json: &str, input: &Input<'_>, end: usize) -> Option<Vec<Reading>> {
    let span = Span::new(0, end);
    if json.starts_with('{') {
        return Some(vec![read_object(json, input, span).ok()?]);
    }
    let elements: Vec<&RawValue> = serde_json::from_str(json).ok()?;
    elements
        .into_iter()
        .map(|element| read_object(element.get(), input, span).ok())
        .collect()
}

/// The longest of the texts that end a region, less one.
const REGION_LOOK_BACK: usize = 16;

/// Where a broken value ends at the latest: at a closing mark, an empty line,
/// a line that starts with a tag or a fence, or the end of the reply.
fn region_end(input: &Input<'_>, search: usize) -> Option<usize> {
    let bytes = input.text.as_bytes();
    let mut at = search;
    while let Some(found) = bytes
        .get(at..)
        .and_then(|rest| memchr::memchr2(b'\n', b'<', rest))
    {
        at += found;
        if bytes.get(at) == Some(&b'<') {
            match mark_at(input.from(at), CLOSERS) {
                MarkAt::Found { .. } => return Some(at),
                MarkAt::Partial if !input.end => return None,
                MarkAt::Partial | MarkAt::None => {}
            }
        } else {
            match bytes.get(at + 1) {
                None if !input.end => return None,
                Some(b'\n' | b'<' | b'`') | None => {
                    let closer = mark_at(input.from(at + 1), CLOSERS);
                    if closer == MarkAt::Partial && !input.end {
                        return None;
                    }
                    if !matches!(closer, MarkAt::Found { .. }) {
                        return Some(at);
                    }
                }
                Some(_) => {}
            }
        }
        at += 1;
    }
    input.end.then_some(bytes.len())
}
