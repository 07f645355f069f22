//! JSON calls between marks: `<PTK_CALL>{…}</PTK_CALL>` and every family that
//! puts an object, several objects or an array of them between two marks.

use std::ops::Range;
use std::sync::Arc;

use aho_corasick::AhoCorasick;

use super::super::{Dialect, Trigger, Writer};
use super::call_object::{CallObject, Reading};
use super::repair_message;
use super::tolerant::Tolerant;
use crate::json::scan::Scan;
use crate::parse::{Findings, FoundCall, Input, MarkAt, Peek, Reader, Step, floor, mark_at};
use crate::{Problem, ProblemCode, Span, SpanKind, Status, Toolset};

/// How far behind an opening mark its closing mark is looked for where what
/// follows is no JSON: enough for a botched call, too little to swallow prose.
const BOTCHED_CALL_LIMIT: usize = 4096;

/// The longest opening line of a fence between the marks.
const MAX_FENCE_LINE: usize = 128;

/// The marks of a family. The first of each list is the right one, the others
/// are what models write instead.
#[derive(Debug)]
pub(crate) struct JsonMarks {
    pub(crate) open: Vec<String>,
    pub(crate) close: Vec<String>,
    /// Finds closing marks (by their index) and opening marks (behind those).
    pub(crate) finder: Option<AhoCorasick>,
    pub(crate) longest: usize,
}

impl JsonMarks {
    pub(crate) fn new(open: Vec<String>, close: Vec<String>) -> Self {
        let all: Vec<&String> = close.iter().chain(&open).collect();
        let longest = all.iter().map(|mark| mark.len()).max().unwrap_or(0);
        let finder = AhoCorasick::builder()
            .ascii_case_insensitive(true)
            .match_kind(aho_corasick::MatchKind::LeftmostLongest)
            .build(&all)
            .ok();
        Self {
            open,
            close,
            finder,
            longest,
        }
    }

    /// The marks of a tag, with the misspellings that models produce.
    pub(crate) fn tag(tag: &str) -> Self {
        let spaced = tag.replace('_', " ");
        let dashed = tag.replace('_', "-");
        let joined = tag.replace('_', "");
        let mut open = vec![format!("<{tag}>")];
        let mut close = vec![format!("</{tag}>")];
        for name in [tag, &spaced, &dashed, &joined] {
            for form in [
                format!("<{name}>"),
                format!("<{name} >"),
                format!("< {name}>"),
                format!("<|{name}|>"),
                format!("[{name}]"),
            ] {
                if !open.contains(&form) {
                    open.push(form);
                }
            }
            for form in [
                format!("</{name}>"),
                format!("</{name} >"),
                format!("</ {name}>"),
                format!("< /{name}>"),
                format!("<\\/{name}>"),
                format!("<|/{name}|>"),
                format!("[/{name}]"),
            ] {
                if !close.contains(&form) {
                    close.push(form);
                }
            }
        }
        Self::new(open, close)
    }
}

/// A dialect that is nothing but JSON between the tags of its own.
pub(crate) trait TaggedJson: Writer + std::fmt::Debug + Send + Sync {
    /// The dialect's name.
    fn name(&self) -> &'static str;
    /// Its tags.
    fn marks(&self) -> &Arc<JsonMarks>;
    /// The dialects that are read beside it.
    fn beside(&self) -> &'static [&'static str];
}

impl<T: TaggedJson> Dialect for T {
    fn name(&self) -> &str {
        TaggedJson::name(self)
    }

    fn triggers(&self, _tools: Option<&Toolset>) -> Vec<Trigger> {
        let marks = self.marks();
        marks.open.iter().map(Trigger::anywhere).collect()
    }

    fn reader(&self, trigger: usize) -> Box<dyn Reader> {
        Box::new(MarkedJson::new(Arc::clone(self.marks()), trigger))
    }

    fn closers(&self) -> Vec<String> {
        self.marks().close.clone()
    }

    fn also_reads(&self) -> &'static [&'static str] {
        self.beside()
    }

    fn writer(&self) -> Option<&dyn Writer> {
        Some(self)
    }
}

/// A list of calls: whether a comma stands behind the last one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct List {
    comma: Option<usize>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Lead,
    Element,
    Object,
    After,
    Tolerant,
}

/// Reads one pair of marks and the calls between them.
#[derive(Debug)]
pub(crate) struct MarkedJson {
    pub(super) marks: Arc<JsonMarks>,
    open_length: usize,
    state: State,
    at: usize,
    /// How far white space behind `at` was skipped.
    space: usize,
    pub(super) list: Option<List>,
    /// Whether an object was read, as a call or as a problem.
    told: bool,
    pub(super) object: Option<CallObject>,
    pub(super) pending: Option<FoundCall>,
    pub(super) notes: Vec<Problem>,
    pub(super) tolerant: Option<Tolerant>,
}

impl MarkedJson {
    /// A reader that starts at the opening mark of this index.
    pub(crate) fn new(marks: Arc<JsonMarks>, open: usize) -> Self {
        let open_length = marks.open.get(open).map_or(0, String::len);
        let mut reader = Self {
            marks,
            open_length,
            state: State::Lead,
            at: open_length,
            space: 0,
            list: None,
            told: false,
            object: None,
            pending: None,
            notes: Vec::new(),
            tolerant: None,
        };
        if open > 0 {
            reader.note(ProblemCode::WrongMark, 0..open_length);
        }
        reader
    }

    pub(super) fn note(&mut self, code: ProblemCode, range: Range<usize>) {
        self.notes.push(Problem::new(
            code,
            repair_message(code),
            Span::new(range.start, range.end),
        ));
    }

    /// The first byte behind `at` that is not white space. What was skipped
    /// before is not looked at again.
    fn skip_space(&mut self, input: &Input<'_>) -> usize {
        self.space = input.skip_space(self.at.max(self.space));
        self.space
    }

    fn lead(&mut self, input: &Input<'_>, out: &mut Findings) -> Option<Step> {
        let at = self.skip_space(input);
        let rest = input.from(at);
        if rest.is_empty() {
            if !input.end {
                return Some(Step::More);
            }
            let message = "The reply ends behind the opening mark of a call".to_owned();
            out.unreadable(ProblemCode::Truncated, message, 0..at, input.text);
            return Some(Step::Done(at));
        }
        match rest.as_bytes().first() {
            Some(b'{') => self.begin_object(at),
            Some(b'[') => {
                self.list = Some(List { comma: None });
                self.at = at + 1;
                self.state = State::Element;
            }
            Some(b'`') => match fence_line(rest) {
                FenceLine::Whole(length) => {
                    self.note(ProblemCode::SurroundingText, at..at + length);
                    self.at = at + length;
                }
                FenceLine::Cut if !input.end => return Some(Step::More),
                FenceLine::Cut | FenceLine::None => return self.botched(input, out, at),
            },
            _ => return self.botched(input, out, at),
        }
        None
    }

    fn begin_object(&mut self, at: usize) {
        self.object = Some(CallObject::new(at));
        self.state = State::Object;
    }

    /// An opening mark with something else than JSON behind it: another
    /// dialect's call, a call gone wrong, or merely prose about the mark.
    fn botched(&mut self, input: &Input<'_>, out: &mut Findings, at: usize) -> Option<Step> {
        match input.call_begins(at) {
            None => return Some(Step::More),
            Some(true) => return Some(Step::Skip(self.open_length)),
            Some(false) => {}
        }
        let rest = input.from(at);
        let window = rest.get(..floor(rest, BOTCHED_CALL_LIMIT)).unwrap_or("");
        let found = self
            .marks
            .finder
            .as_ref()
            .and_then(|finder| finder.find(window));
        let Some(found) = found else {
            let decided = input.end || rest.len() >= BOTCHED_CALL_LIMIT;
            return Some(if decided { Step::Reject } else { Step::More });
        };
        if found.pattern().as_usize() >= self.marks.close.len() {
            return Some(Step::Reject);
        }
        let body = window.get(..found.start()).unwrap_or("");
        if let Some(brace) = body.find('{') {
            self.note(ProblemCode::SurroundingText, at..at + brace);
            self.begin_object(at + brace);
            return None;
        }
        let names_a_tool = input
            .tools
            .is_some_and(|tools| tools.names().any(|name| body.contains(name)));
        let on_own_lines = input.slice(self.open_length..at).contains('\n');
        let looks_meant = body.trim().is_empty()
            || on_own_lines
            || names_a_tool
            || serde_json::from_str::<serde::de::IgnoredAny>(body).is_ok();
        if !looks_meant {
            return Some(Step::Reject);
        }
        let message = if body.trim().is_empty() {
            "The call is empty".to_owned()
        } else {
            "What stands between the marks is not a JSON object".to_owned()
        };
        let end = at + found.end();
        out.unreadable(ProblemCode::Malformed, message, 0..end, input.slice(0..end));
        Some(Step::Done(end))
    }

    fn element(&mut self, input: &Input<'_>, out: &mut Findings) -> Option<Step> {
        let at = self.skip_space(input);
        let comma = self.list.and_then(|list| list.comma);
        match input.byte(at) {
            None if !input.end => return Some(Step::More),
            None if self.pending.is_none() => {
                let message = "The reply ends inside a list of calls".to_owned();
                out.unreadable(ProblemCode::Truncated, message, 0..at, input.text);
                return Some(Step::Done(at));
            }
            Some(b'{') => {
                let missing = self.pending.is_some() && comma.is_none();
                self.flush(out);
                if missing {
                    self.note(ProblemCode::MissingComma, at..at);
                }
                self.list = Some(List { comma: None });
                self.begin_object(at);
            }
            Some(b',') => {
                if !self.told || comma.is_some() {
                    self.note(ProblemCode::ExtraComma, at..at + 1);
                }
                self.list = Some(List { comma: Some(at) });
                self.at = at + 1;
            }
            Some(b']') => {
                if let Some(comma) = comma {
                    self.note(ProblemCode::ExtraComma, comma..comma + 1);
                }
                if self.pending.is_none() && !self.told {
                    let message = "The list of calls is empty".to_owned();
                    let raw = input.slice(0..at + 1);
                    out.unreadable(ProblemCode::Malformed, message, 0..at + 1, raw);
                }
                self.at = at + 1;
                self.list = None;
                self.state = State::After;
            }
            Some(b'<' | b'[' | b'`') | None if self.pending.is_some() => {
                self.note(ProblemCode::MissingCloser, at..at);
                self.list = None;
                self.state = State::After;
            }
            _ => {
                self.flush(out);
                self.go_tolerant(at, at);
            }
        }
        None
    }

    fn object(&mut self, input: &Input<'_>, out: &mut Findings) -> Option<Step> {
        let object = self.object.as_mut()?;
        let start = object.start();
        match object.advance(input, out) {
            Scan::More if !input.end => return Some(Step::More),
            Scan::More => {
                let at = object.doubtful_from();
                self.go_tolerant(start, at);
            }
            Scan::Fault(at) => self.go_tolerant(start, at),
            Scan::Done(end) => {
                match object.reading(input, end) {
                    Ok(reading) => {
                        let whole = object.complete(&reading, input, out).is_some();
                        self.keep(reading, start..end, Status::Complete, Vec::new());
                        if !whole {
                            self.spoil(start..end);
                        }
                    }
                    Err(problem) => {
                        let raw = input.slice(start..end);
                        out.unreadable(problem.code, problem.message, start..end, raw);
                    }
                }
                self.object = None;
                self.at = end;
                self.told = true;
                self.state = if self.list.is_some() {
                    State::Element
                } else {
                    State::After
                };
            }
        }
        None
    }

    fn go_tolerant(&mut self, body: usize, fault: usize) {
        self.tolerant = Some(Tolerant::new(body, fault));
        self.state = State::Tolerant;
    }

    /// Looks for the closing mark behind the last call.
    fn after(&mut self, input: &Input<'_>, out: &mut Findings) -> Option<Step> {
        let at = self.skip_space(input);
        let rest = input.from(at);
        let missing = |reader: &mut Self, out: &mut Findings| {
            reader.note(ProblemCode::MissingCloseMark, reader.at..reader.at);
            reader.flush(out);
            Some(Step::Done(reader.at))
        };
        match mark_at(rest, &self.marks.close) {
            MarkAt::Found { index, length } => {
                if index > 0 {
                    self.note(ProblemCode::WrongMark, at..at + length);
                }
                self.flush(out);
                return Some(Step::Done(at + length));
            }
            MarkAt::Partial if !input.end => return Some(Step::More),
            MarkAt::Partial if !rest.is_empty() => {
                self.note(ProblemCode::MissingCloseMark, at..at + rest.len());
                self.flush(out);
                return Some(Step::Done(at + rest.len()));
            }
            MarkAt::Partial | MarkAt::None => {}
        }
        match rest.as_bytes().first() {
            Some(b'{') => {
                self.flush(out);
                self.note(ProblemCode::Joined, at..at);
                self.begin_object(at);
                None
            }
            Some(b',' | b';') => match input.peek(at + 1) {
                Peek::More => Some(Step::More),
                Peek::Byte(b'{') => {
                    self.at = at + 1;
                    None
                }
                _ => missing(self, out),
            },
            Some(b'}' | b']') => {
                self.note(ProblemCode::ExtraCloser, at..at + 1);
                self.at = at + 1;
                None
            }
            Some(b'`') => match fence_line(rest) {
                FenceLine::Cut if !input.end => Some(Step::More),
                _ if rest.starts_with("```") => {
                    let length = rest.len() - rest.trim_start_matches('`').len();
                    self.note(ProblemCode::SurroundingText, at..at + length);
                    self.at = at + length;
                    None
                }
                _ => missing(self, out),
            },
            _ => Some(self.opener_as_closer(input, out, at)),
        }
    }

    /// A model may close with the opening mark. It is the next call's if JSON
    /// follows it.
    fn opener_as_closer(&mut self, input: &Input<'_>, out: &mut Findings, at: usize) -> Step {
        match mark_at(input.from(at), &self.marks.open) {
            MarkAt::Partial if !input.end => return Step::More,
            MarkAt::Found { length, .. } => {
                let behind = input.peek(at + length);
                if behind == Peek::More {
                    return Step::More;
                }
                if !matches!(behind, Peek::Byte(b'{' | b'[' | b'`')) {
                    self.note(ProblemCode::WrongMark, at..at + length);
                    self.flush(out);
                    return Step::Done(at + length);
                }
            }
            _ => {}
        }
        self.note(ProblemCode::MissingCloseMark, self.at..self.at);
        self.flush(out);
        Step::Done(self.at)
    }

    /// Keeps a call until its closing is known, as that belongs to its status.
    pub(super) fn keep(
        &mut self,
        reading: Reading,
        range: Range<usize>,
        status: Status,
        mut problems: Vec<Problem>,
    ) {
        problems.extend(reading.problems);
        self.pending = Some(FoundCall {
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

    /// Marks the pending call as one that cannot be told right any more: what
    /// went out while it streamed contradicts what it turned out to be.
    pub(super) fn spoil(&mut self, range: Range<usize>) {
        if let Some(call) = &mut self.pending {
            call.status = Status::Truncated;
            call.problems.push(Problem::new(
                ProblemCode::Malformed,
                "The JSON of the call contradicts itself; write it again",
                Span::new(range.start, range.end),
            ));
        }
    }

    /// Hands over the pending call.
    pub(super) fn flush(&mut self, out: &mut Findings) {
        let Some(mut call) = self.pending.take() else {
            return;
        };
        call.problems.append(&mut self.notes);
        if call.status == Status::Complete
            && call.problems.iter().any(|problem| !problem.is_fault())
        {
            call.status = Status::Repaired;
        }
        out.piece(SpanKind::Call, call.range.clone());
        out.call(call);
    }
}

impl Reader for MarkedJson {
    fn read(&mut self, input: &Input<'_>, out: &mut Findings) -> Step {
        loop {
            let step = match self.state {
                State::Lead => self.lead(input, out),
                State::Element => self.element(input, out),
                State::Object => self.object(input, out),
                State::After => self.after(input, out),
                State::Tolerant => Some(self.tolerant(input, out)),
            };
            if let Some(step) = step {
                return step;
            }
        }
    }
}

enum FenceLine {
    Whole(usize),
    Cut,
    None,
}

/// The opening line of a fence at the start of `text`: three backticks or
/// more, a word at most, up to the line's end or the JSON behind it.
fn fence_line(text: &str) -> FenceLine {
    let text = text.get(..floor(text, MAX_FENCE_LINE)).unwrap_or("");
    let ticks = text.len() - text.trim_start_matches('`').len();
    let behind = text.get(ticks..).unwrap_or("");
    let full = text.len() + 3 > MAX_FENCE_LINE;
    if behind.is_empty() && !full {
        return FenceLine::Cut;
    }
    if ticks < 3 {
        return FenceLine::None;
    }
    let word = behind
        .find(|c: char| !(c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '+' | ' ')))
        .unwrap_or(behind.len());
    if word == behind.len() {
        return if full {
            FenceLine::None
        } else {
            FenceLine::Cut
        };
    }
    FenceLine::Whole(ticks + word)
}
