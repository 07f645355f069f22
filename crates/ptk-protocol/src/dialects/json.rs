//! `json`: a call as a bare JSON object or array, without any mark. Names are
//! the evidence: `{"name": …}` is a call only if it names a declared tool.

use std::ops::Range;
use std::sync::{Arc, LazyLock};

use serde_json::Value;
use serde_json::value::RawValue;

use super::engine::call_object::{ObjectCall, begins_call, is_call_key, read_object};
use super::engine::json_marks::JsonMarks;
use super::engine::marked_json::MarkedJson;
use super::engine::repair_message;
use super::engine::tolerant::{guesses_last_quote, is_doubtful};
use super::unopened::{self, STARTS, Unopened};
use super::{Dialect, Trigger};
use crate::json::scan::{Scan, Scanner};
use crate::json::{End, Repaired, repair};
use crate::parse::{Findings, Input, MarkAt, Peek, Reader, Step, mark_at};
use crate::{Problem, ProblemCode, Span, SpanKind, Status, ToolSpec};

/// The marks of a bare call: none.
static NO_MARKS: LazyLock<Arc<JsonMarks>> = LazyLock::new(|| {
    Arc::new(JsonMarks {
        joined: true,
        ..JsonMarks::exact(&[], &[])
    })
});

/// The dialect of bare JSON calls that start a line and stand on lines of their
/// own.
#[derive(Debug, Clone, Copy, Default)]
pub struct Json;

impl Dialect for Json {
    fn name(&self) -> &'static str {
        "json"
    }

    fn aliases(&self) -> Vec<&str> {
        vec!["xlam"]
    }

    fn triggers(&self) -> Vec<Trigger> {
        let mut triggers = vec![Trigger::at_line_start("{"), Trigger::at_line_start("[")];
        triggers.extend(unopened::triggers());
        triggers
    }

    fn also_reads(&self) -> Vec<String> {
        // xLAM puts its lists between their marks as well.
        vec!["hermes".to_owned(), "mistral".to_owned()]
    }

    fn reader(&self, trigger: usize) -> Box<dyn Reader> {
        if trigger > 1 {
            return Box::new(Unopened::default());
        }
        Box::new(BareJson {
            scanner: Scanner::new(0),
            state: BareState::Undecided,
            shown: 0,
            is_known: false,
        })
    }
}

#[derive(Debug)]
enum BareState {
    /// The value may be a call or not.
    Undecided,
    /// The value starts like a call.
    Call,
    /// The value is a call, where one is expected: it is sent as it comes in.
    Expected(Box<MarkedJson>),
    /// The value is not a call; the rest of it is text, whatever it holds.
    Text,
    /// The value is whole up to `end`; what follows decides. White space was
    /// skipped up to `next`.
    Whole { end: usize, next: usize },
    /// The value starts like a call and is broken; the search for its end
    /// continues here.
    Broken(Region),
}

#[derive(Debug)]
struct BareJson {
    scanner: Scanner,
    state: BareState,
    shown: usize,
    /// Whether it was examined as a call that is expected.
    is_known: bool,
}

impl Reader for BareJson {
    fn read(&mut self, input: &Input<'_>, out: &mut Findings) -> Step {
        loop {
            match &mut self.state {
                BareState::Undecided => match starts_like_a_call(input) {
                    Some(true) => {
                        self.scanner = Scanner::new(Self::object_start(input));
                        self.state = BareState::Call;
                    }
                    Some(false) if input.text.starts_with('[') => return Step::Reject,
                    Some(false) => match self.scanner.scan(input.text) {
                        Scan::Done(_) => self.begin_text(),
                        _ if !self.scanner.members.is_empty() => self.begin_text(),
                        Scan::More if !input.end => return Step::More,
                        Scan::More | Scan::Fault(_) => return Step::Reject,
                    },
                    None => return Step::More,
                },
                BareState::Text => return self.text(input, out),
                BareState::Expected(reader) => return reader.read(input, out),
                BareState::Call if input.sure && !self.is_known => {
                    let scan = self.scanner.scan(input.text);
                    self.is_known = scan != Scan::More || input.end;
                    if begins_call(&self.scanner.members, input) {
                        let reader = MarkedJson::bare(Arc::clone(&NO_MARKS));
                        self.state = BareState::Expected(Box::new(reader));
                    } else if self.is_known {
                        self.scanner = Scanner::new(0);
                    } else {
                        return Step::More;
                    }
                }
                BareState::Call if !self.is_known => {
                    self.is_known = true;
                    self.scanner = Scanner::new(0);
                }
                BareState::Call => match self.scanner.scan(input.text) {
                    Scan::More if !input.end => return Step::More,
                    Scan::Done(end) => self.state = BareState::Whole { end, next: end },
                    Scan::More | Scan::Fault(_) => {
                        self.state = BareState::Broken(Region::default());
                    }
                },
                BareState::Whole { end, next } => {
                    let (end, next) = (*end, input.skip_space(*next));
                    self.state = BareState::Whole { end, next };
                    return whole(input, out, end, next);
                }
                BareState::Broken(region) => {
                    return match region.end(input) {
                        Some(end) => broken(input, out, end),
                        None => Step::More,
                    };
                }
            }
        }
    }
}

impl BareJson {
    /// Where the first object starts, in a list or not.
    fn object_start(input: &Input<'_>) -> usize {
        match input.byte(0) {
            Some(b'[') => input.skip_space(1),
            _ => 0,
        }
    }

    fn begin_text(&mut self) {
        self.scanner = Scanner::new(0);
        self.state = BareState::Text;
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

/// Handles a whole value: it is a call if it names declared tools and nothing
/// else stands on its last line.
fn whole(input: &Input<'_>, out: &mut Findings, end: usize, next: usize) -> Step {
    let line = input.slice(end..next);
    let closer = input.closing_mark(next);
    let joined = match joins(input, next) {
        None => return Step::More,
        // On a line below only a semicolon and another call.
        Some(joined) => joined.filter(|length| {
            !line.contains('\n') || (*length > 0 && input.peek(next + 1) == Peek::Byte(b'{'))
        }),
    };
    match closer {
        _ if joined.is_some() => {}
        MarkAt::Partial if !input.end => return Step::More,
        _ if mark_at(input.from(next), input.stops) == MarkAt::Partial && !input.end => {
            return Step::More;
        }
        MarkAt::Finding { .. } => {}
        MarkAt::Partial | MarkAt::None => {
            let ends_line =
                line.contains('\n') || next == input.text.len() || input.is_silent(next);
            if !ends_line
                && !matches!(
                    mark_at(input.from(next), input.stops),
                    MarkAt::Finding { .. }
                )
            {
                return as_text(out, end);
            }
        }
    }
    let marked = matches!(closer, MarkAt::Finding { .. });
    let behind = match closer {
        // The mark of a section is not this call's own.
        MarkAt::Finding { .. } if input.in_section => end,
        MarkAt::Finding { length, .. } => next + length,
        MarkAt::Partial | MarkAt::None => joined.map_or(end, |length| next + length),
    };
    let Some(readings) = readings(input.slice(0..end), input, end) else {
        return as_text(out, end);
    };
    if !named_for_sure(&readings, input, marked) {
        return as_text(out, end);
    }
    for (position, reading) in readings.into_iter().enumerate() {
        let problems = missing_marks(&reading, end, marked, input);
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

/// How many bytes at `at` join the call with the next one: none, or a semicolon,
/// which may also end the line. The inner `None` if nothing does, the outer if
/// more text is needed to decide.
#[expect(clippy::option_option, reason = "both are questions of their own")]
fn joins(input: &Input<'_>, at: usize) -> Option<Option<usize>> {
    if input.byte(at) != Some(b';') {
        return match mark_at(input.from(at), &STARTS) {
            MarkAt::Partial if !input.end && input.byte(at).is_some() => None,
            MarkAt::Finding { .. } => Some(Some(0)),
            MarkAt::Partial | MarkAt::None => Some(None),
        };
    }
    let is_joined = match input.peek(at + 1) {
        Peek::More => return None,
        Peek::End | Peek::Byte(b'{') => true,
        Peek::Byte(_) => {
            let next = input.skip_space(at + 1);
            input.slice(at + 1..next).contains('\n')
        }
    };
    Some(is_joined.then_some(1))
}

/// The marks that a bare call lacks: with PTK's own keys it should have had
/// both, and before a closing mark it should have had an opening one.
fn missing_marks(
    reading: &ObjectCall<'_>,
    end: usize,
    closed: bool,
    input: &Input<'_>,
) -> Vec<Problem> {
    let mut problems = Vec::new();
    if input.in_section {
        return problems;
    }
    if closed || reading.own_keys {
        problems.push(note(ProblemCode::MissingOpenMark, 0..0));
    }
    if !closed && reading.own_keys {
        problems.push(note(ProblemCode::MissingCloseMark, end..end));
    }
    problems
}

/// Handles a list that the end of the reply cut off: its elements are calls as
/// far as they are whole, and the last one is a call that was cut off.
fn cut_list(input: &Input<'_>, out: &mut Findings) -> Option<Step> {
    let text = input.text;
    let mut at = input.skip_space(1);
    let mut whole = Vec::new();
    while let Scan::Done(end) = Scanner::new(at).scan(text) {
        let span = Span::new(at, end);
        whole.push((
            read_object(input.slice(at..end), input, span).ok()?,
            at..end,
        ));
        at = input.skip_space(end);
        if input.byte(at) != Some(b',') {
            break;
        }
        at = input.skip_space(at + 1);
    }
    let is_call = |(reading, _): &(ObjectCall<'_>, Range<usize>)| is_named(reading, input, false);
    if whole.is_empty() || input.byte(at) != Some(b'{') || !whole.iter().all(is_call) {
        return None;
    }
    for (reading, range) in whole {
        give(out, reading, range, Vec::new(), Status::Complete, true);
    }
    let end = text.len();
    let message = "The reply ends inside a list of calls; send the last one again, whole";
    out.unreadable(
        ProblemCode::Truncated,
        message.to_owned(),
        at..end,
        input.from(at),
    );
    Some(Step::Done(end))
}

/// Handles a broken value: it is a call if, repaired, it names a declared tool.
fn broken(input: &Input<'_>, out: &mut Findings, region: usize) -> Step {
    let text = input.slice(0..region);
    if input.end
        && region == input.text.len()
        && text.starts_with('[')
        && let Some(step) = cut_list(input, out)
    {
        return step;
    }
    let mended = repair(text);
    let Ok(mended) = mended else {
        return as_text(out, region);
    };
    let guessed = guesses_last_quote(&mended, text);
    let closing_mark = matches!(input.closing_mark(region), MarkAt::Finding { .. });
    let doubtful = is_doubtful(&mended, closing_mark);
    let Repaired { json, fixes, end } = mended;
    let closer = input.closing_mark(region);
    let (behind, marked) = match closer {
        MarkAt::Finding { .. } if input.in_section => (region, true),
        MarkAt::Finding { length, .. } => (region + length, true),
        _ => (region, false),
    };
    let behind_value = fixes
        .iter()
        .find(|fix| fix.code == ProblemCode::SurroundingText && fix.at > 0)
        .map_or(text.len(), |fix| fix.at);
    let body = match text
        .get(..behind_value)
        .and_then(|text| text.rfind(['}', ']']))
    {
        Some(brace) if end == End::Closed => brace + 1,
        _ => text.trim_end().len(),
    };
    let Some(readings) = readings(&json, input, body) else {
        return as_text(out, region);
    };
    if !named_for_sure(&readings, input, marked) {
        return as_text(out, region);
    }
    let rest = text.get(body..).unwrap_or("");
    let own_line = rest.trim_start_matches([' ', '\t', '\r']).starts_with('\n');
    if !rest.trim().is_empty() && !marked && !own_line {
        return as_text(out, region);
    }
    let mut repairs: Vec<Problem> = fixes
        .iter()
        .filter(|fix| fix.code != ProblemCode::SurroundingText || fix.at < body || marked)
        .map(|fix| note(fix.code, fix.at..fix.at))
        .collect();
    // Of several calls the first lists all repairs, the others one of each
    // kind.
    let mut kinds: Vec<Problem> = Vec::new();
    for repair in &repairs {
        if kinds.iter().all(|kind| kind.code != repair.code) {
            kinds.push(repair.clone());
        }
    }
    for (position, reading) in readings.into_iter().enumerate() {
        let is_whole = match end {
            End::Closed => marked || !guessed,
            End::Open { depth } => marked || (depth == 1 && reading.args_closed),
            End::InString { .. } => false,
        };
        let is_whole = is_whole && !doubtful;
        let mut problems = std::mem::replace(&mut repairs, kinds.clone());
        problems.extend(missing_marks(&reading, body, marked, input));
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

/// Reports a call.
pub(super) fn give(
    out: &mut Findings,
    reading: ObjectCall<'_>,
    range: Range<usize>,
    problems: Vec<Problem>,
    status: Status,
    first: bool,
) {
    if first {
        out.piece(SpanKind::Call, range.clone());
    }
    out.start(&reading.name);
    if status != Status::Truncated {
        out.delta(&reading.args_json);
    }
    let mut call = reading.into_call(status, problems, range);
    let is_repaired = call.problems.iter().any(|problem| !problem.is_fault());
    if status == Status::Complete && is_repaired {
        call.status = Status::Repaired;
    }
    out.call(call);
}

/// A note about a repair.
pub(super) fn note(code: ProblemCode, range: Range<usize>) -> Problem {
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

/// Whether all names are certain. Without marks only a declared name makes a
/// call. Where no tools were declared, PTK's own keys or a closing mark have to
/// do.
pub(super) fn named_for_sure(readings: &[ObjectCall<'_>], input: &Input<'_>, marked: bool) -> bool {
    !readings.is_empty()
        && readings
            .iter()
            .all(|reading| is_named(reading, input, marked))
}

fn is_named(reading: &ObjectCall<'_>, input: &Input<'_>, marked: bool) -> bool {
    match input.tools {
        Some(tools) => tools
            .get(&reading.name)
            .is_some_and(|tool| fits(reading, tool) && !is_definition(reading, tool)),
        None => reading.own_keys || marked,
    }
}

/// Whether the arguments are a schema: this is the tool's definition, as the
/// prompt may have shown it, and not a call.
fn is_definition(reading: &ObjectCall<'_>, tool: &ToolSpec) -> bool {
    reading
        .args
        .get("type")
        .is_some_and(|kind| kind == "object")
        && reading.args.get("properties").is_some_and(Value::is_object)
        && tool.schema().property("properties").is_none()
}

/// Whether arguments that stand beside the name are the tool's: `{"name":
/// "bash", "pid": 12}` is data about a process, not a call of `bash`.
fn fits(reading: &ObjectCall<'_>, tool: &ToolSpec) -> bool {
    let flat = reading
        .problems
        .iter()
        .any(|problem| problem.code == ProblemCode::FlatArguments);
    let declared = |name: &String| tool.properties().is_some_and(|all| all.contains_key(name));
    !flat || reading.args.as_map().keys().all(declared)
}

/// The calls in JSON that is an object, or a list of them.
pub(super) fn readings<'t>(
    json: &'t str,
    input: &Input<'_>,
    end: usize,
) -> Option<Vec<ObjectCall<'t>>> {
    let span = Span::new(0, end);
    if json.starts_with('{') {
        return Some(vec![read_object(json, input, span).ok()?]);
    }
    let elements: Vec<&'t RawValue> = serde_json::from_str(json).ok()?;
    elements
        .into_iter()
        .map(|element| read_object(element.get(), input, span).ok())
        .collect()
}

/// Finds the end of a broken value, as far as its quotes and brackets can be
/// recognized.
#[derive(Debug, Default)]
struct Region {
    at: usize,
    depth: usize,
    quote: Option<u8>,
    /// The last byte that is not white space.
    last: u8,
}

impl Region {
    /// Where the value ends at the latest: where its brackets close and nothing
    /// else stands on the line; at a closing mark outside strings; at an empty
    /// line; at a line that starts with a tag or a fence; or at the end of the
    /// reply. `None` if more text has to come.
    fn end(&mut self, input: &Input<'_>) -> Option<usize> {
        let bytes = input.text.as_bytes();
        while let Some(&byte) = bytes.get(self.at) {
            match (byte, self.quote) {
                (b'\n', _) => match line_ends_region(input, self.at) {
                    Some(true) => return Some(self.at),
                    Some(false) => {}
                    None => return None,
                },
                (b'\\', Some(_)) => {
                    if self.at + 1 >= bytes.len() && !input.end {
                        return None;
                    }
                    self.at += 1;
                }
                (byte, Some(quote)) if byte == quote => self.quote = None,
                (b'<', None) => match input.closing_mark(self.at) {
                    MarkAt::Finding { .. } => return Some(self.at),
                    MarkAt::Partial if !input.end => return None,
                    MarkAt::Partial | MarkAt::None => {}
                },
                // Elsewhere it is an apostrophe.
                (b'\'', None) if matches!(self.last, b'{' | b'[' | b',' | b':') => {
                    self.quote = Some(byte);
                }
                (b'"', None) => self.quote = Some(byte),
                (b'{' | b'[', None) => self.depth += 1,
                (b'}' | b']', None) => {
                    self.depth = self.depth.saturating_sub(1);
                    if self.depth == 0 {
                        match ends_line(input, self.at + 1) {
                            LineEnd::At(end) => return Some(end),
                            LineEnd::None => {}
                            LineEnd::More => return None,
                        }
                    }
                }
                _ => {}
            }
            if !byte.is_ascii_whitespace() {
                self.last = byte;
            }
            self.at += 1;
        }
        input.end.then_some(bytes.len())
    }
}

/// Whether the line break at `at` ends a broken value; `None` if more text is
/// needed to decide.
fn line_ends_region(input: &Input<'_>, at: usize) -> Option<bool> {
    match input.byte(at + 1) {
        None if !input.end => None,
        Some(b'\n' | b'<' | b'`') | None => match input.closing_mark(at + 1) {
            MarkAt::Partial if !input.end => None,
            MarkAt::Finding { .. } => Some(false),
            MarkAt::Partial | MarkAt::None => Some(true),
        },
        Some(_) => Some(false),
    }
}

/// Where a value ends that closes before `at`, if nothing else stands on its
/// line: there, or before the closing mark that follows.
fn ends_line(input: &Input<'_>, at: usize) -> LineEnd {
    let rest = input.from(at);
    let line = rest.trim_start_matches([' ', '\t', '\r']);
    match line.bytes().next() {
        None if !input.end => return LineEnd::More,
        None => return LineEnd::At(input.text.len()),
        Some(b'\n') => {}
        Some(_) => return LineEnd::None,
    }
    let next = input.skip_space(at);
    match input.closing_mark(next) {
        MarkAt::Partial if !input.end => LineEnd::More,
        MarkAt::Finding { .. } => LineEnd::At(next),
        MarkAt::Partial | MarkAt::None => LineEnd::At(at),
    }
}

/// Whether a value ends its line.
enum LineEnd {
    /// The value ends its line, at this offset.
    At(usize),
    /// Something else stands on the line.
    None,
    /// More text is needed to decide.
    More,
}
