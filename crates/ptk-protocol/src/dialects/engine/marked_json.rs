//! JSON calls between marks: `<PTK_CALL>{…}</PTK_CALL>` and every family that
//! puts an object, several objects or an array of them between two marks.

use std::ops::Range;
use std::sync::Arc;

use super::botched::unclosed_end;
use super::call_object::{CallObject, Called, ObjectCall, begins_arguments};
use super::json_marks::{
    CUT_IN_NAME, Head, HeadAt, JsonMarks, MAX_HEAD, ends_in_name, is_name_character, is_tool_name,
};
use super::named_values::{NamedValues, Whole};
use super::repair_message;
use super::tolerant::Tolerant;
use crate::json::scan::Scan;
use crate::parse::{
    Findings, FoundCall, Input, MarkAt, Peek, Reader, Refusal, Step, floor, mark_at,
};
use crate::{Problem, ProblemCode, Span, SpanKind, Status};

/// How far behind an opening mark its closing mark is searched where what
/// follows is not JSON: enough for a broken call, too little to swallow prose.
const BOTCHED_CALL_LIMIT: usize = 4096;

/// The longest opening line of a fence between the marks.
const MAX_FENCE_LINE: usize = 128;

/// A list of calls: whether a comma stands behind the last one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct List {
    comma: Option<usize>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum MarkedState {
    Head,
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
    /// The call whose name stands before the arguments, if it does.
    pub(super) called: Option<Called>,
    /// The name of a declared tool in the head, where the JSON repeats it.
    headed: Option<String>,
    /// Whether the call has no marks, though it may end with one.
    is_bare: bool,
    state: MarkedState,
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
        let overlap = marks.overlap;
        let mut reader = Self {
            marks,
            open_length,
            called: None,
            headed: None,
            is_bare: false,
            state: MarkedState::Head,
            at: open_length.saturating_sub(overlap),
            space: 0,
            list: None,
            told: false,
            object: None,
            pending: None,
            notes: Vec::new(),
            tolerant: None,
        };
        if open > 0 && open >= reader.marks.right {
            reader.note(ProblemCode::WrongMark, 0..open_length);
        }
        reader
    }

    /// A reader for the arguments of a known call, which start at `at`.
    pub(crate) fn arguments_of(marks: Arc<JsonMarks>, called: Called, at: usize) -> Self {
        Self {
            called: Some(called),
            ..Self::behind(marks, at)
        }
    }

    /// A reader for calls whose JSON starts at `at`, behind an opening mark that
    /// was read already.
    pub(crate) fn behind(marks: Arc<JsonMarks>, at: usize) -> Self {
        Self {
            at,
            open_length: at,
            state: MarkedState::Lead,
            ..Self::new(marks, 0)
        }
    }

    /// A reader for a call without marks that is expected where it stands.
    pub(crate) fn bare(marks: Arc<JsonMarks>) -> Self {
        Self {
            is_bare: true,
            state: MarkedState::Lead,
            ..Self::new(marks, 0)
        }
    }

    /// Reads what stands before the JSON.
    fn head(&mut self, input: &Input<'_>, out: &mut Findings) -> Option<Step> {
        let rest = input.from(self.at);
        let is_json = rest.trim_start().starts_with(['{', '[']);
        if is_json && matches!(self.marks.head, Head::Name(_)) {
            self.state = MarkedState::Lead;
            return None;
        }
        let head = match self.marks.head.read(rest, input.end) {
            HeadAt::IfDeclared(called, length) if input.declares(&called.name) => {
                HeadAt::Finding(Some(called), length)
            }
            head => head,
        };
        if let (HeadAt::Cut, Some(name)) = (&head, declared_name(rest, input)) {
            let end = input.text.len();
            NamedValues::new(name.to_owned()).finish(out, 0..end, Whole::No);
            return Some(Step::Done(end));
        }
        if head == HeadAt::Cut && ends_in_name(rest, input) {
            let end = input.text.len();
            let message = CUT_IN_NAME.to_owned();
            out.unreadable(ProblemCode::Truncated, message, 0..end, input.text);
            return Some(Step::Done(end));
        }
        match head {
            HeadAt::More => return Some(Step::More),
            HeadAt::Other | HeadAt::IfDeclared(..) => return Some(Step::Reject),
            HeadAt::None | HeadAt::Cut => {
                let at = input.skip_space(self.at);
                if self.marks.close.is_empty() {
                    // Another dialect's call may follow the same mark.
                    return Some(match input.call_begins(at) {
                        None => Step::More,
                        Some(true) if at > 0 => Step::Skip(at),
                        Some(_) => out.refuse(Refusal::NoName),
                    });
                }
                return self.botched(input, out, at);
            }
            HeadAt::Finding(called, length) => {
                if called.is_none() && length > 0 {
                    self.headed = declared_name(rest, input).map(str::to_owned);
                }
                self.called = called;
                self.at += length;
                self.state = MarkedState::Lead;
            }
        }
        None
    }

    pub(super) fn note(&mut self, code: ProblemCode, range: Range<usize>) {
        self.notes.push(Problem::new(
            code,
            repair_message(code),
            Span::new(range.start, range.end),
        ));
    }

    /// The offset of the first byte behind `at` that is not white space. What
    /// was skipped before is not examined again.
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
        if let Some(called) = &self.called {
            let ends = self.marks.close.iter().chain(&called.tail);
            let ends: Vec<&String> = ends.collect();
            match mark_at(rest, &ends) {
                MarkAt::Partial if !input.end => return Some(Step::More),
                MarkAt::Finding { .. } => {
                    let called = called.clone();
                    return self.without_arguments(out, called, at);
                }
                MarkAt::Partial | MarkAt::None => {}
            }
        }
        // Without marks, only the tool's own parameters make it a call.
        if let (true, Some(called)) = (self.marks.open.is_empty(), &self.called) {
            let tool = input.tools.and_then(|tools| tools.get(&called.name));
            match tool.map(|tool| begins_arguments(rest, tool)) {
                Some(None) if !input.end && rest.len() < MAX_HEAD => return Some(Step::More),
                Some(Some(true)) => {}
                _ => return Some(out.refuse(Refusal::NoJson)),
            }
        }
        match rest.as_bytes().first() {
            Some(b'{') => self.begin_object(at),
            // `functools[0]` is not a list of calls.
            Some(b'[') if self.marks.overlap > 0 && input.peek(at + 1) == Peek::More => {
                return Some(Step::More);
            }
            Some(b'[') if self.marks.overlap > 0 && input.peek(at + 1) != Peek::Byte(b'{') => {
                return Some(Step::Reject);
            }
            Some(b'[') if self.called.is_none() => {
                self.list = Some(List { comma: None });
                self.at = at + 1;
                self.state = MarkedState::Element;
            }
            Some(b'`') => match fence_line(rest) {
                FenceLine::Whole(length) => {
                    if !self.marks.fenced {
                        self.note(ProblemCode::SurroundingText, at..at + length);
                    }
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
        self.object = Some(match &self.called {
            Some(called) => CallObject::arguments_of(called.clone(), at),
            None if self.marks.by_key => CallObject::by_key(at),
            None => CallObject::new(at),
        });
        self.state = MarkedState::Object;
    }

    /// Handles a call whose closing mark follows its name at once.
    fn without_arguments(&mut self, out: &mut Findings, called: Called, at: usize) -> Option<Step> {
        out.start(&called.name);
        out.delta("{}");
        self.pending = Some(FoundCall {
            name: called.name,
            args: crate::Arguments::new(),
            reasoning: None,
            id: called.id,
            status: Status::Complete,
            problems: Vec::new(),
            open_ended: false,
            range: 0..at,
        });
        self.at = at;
        self.state = MarkedState::After;
        None
    }

    /// Handles an opening mark with something else than JSON behind it: another
    /// dialect's call, a broken call, or merely prose about the mark.
    fn botched(&mut self, input: &Input<'_>, out: &mut Findings, at: usize) -> Option<Step> {
        match input.call_begins(at) {
            None => return Some(Step::More),
            Some(true) if self.called.is_some() => match is_list_of_values(input, at) {
                None => return Some(Step::More),
                Some(false) => return Some(Step::Reject),
                Some(true) => {}
            },
            Some(true) => match self.is_name_alone(input, at) {
                None => return Some(Step::More),
                Some(false) => return Some(Step::Skip(at)),
                Some(true) => {}
            },
            Some(false) => {}
        }
        let rest = input.from(at);
        let window = rest.get(..floor(rest, BOTCHED_CALL_LIMIT)).unwrap_or("");
        let found = self.marks.finder().and_then(|finder| finder.find(window));
        let Some(found) = found else {
            if !input.end && rest.len() < BOTCHED_CALL_LIMIT {
                return Some(Step::More);
            }
            let name = match self.called_name() {
                // From the end of the head on.
                Some(name) => Some((name, self.at)),
                None => declared_name(rest, input).map(|name| (name, at + name.len())),
            };
            let end = name.and_then(|(name, behind)| unclosed_end(input, name, behind));
            return Some(match end {
                Some(end) => Self::unreadable_call(input, out, end),
                None => out.refuse(Refusal::NoJson),
            });
        };
        if found.pattern().as_usize() >= self.marks.close.len() {
            return Some(out.refuse(Refusal::OpensAgain));
        }
        let body = window.get(..found.start()).unwrap_or("");
        // Words behind a name on its line may belong to it: `f or g`. A single
        // one may be the language of a fence.
        let line = input.from(self.at).lines().next().unwrap_or("").trim();
        let is_apart = line.is_empty() || line.starts_with(['`', '{']) || is_tool_name(line);
        let is_name_certain = self.called.is_none() || is_apart;
        if let Some(brace) = body.find('{').filter(|_| is_name_certain) {
            self.note(ProblemCode::SurroundingText, at..at + brace);
            self.begin_object(at + brace);
            return None;
        }
        let on_own_lines = input.slice(self.open_length..at).contains('\n');
        let is_named = self.called_name().is_some_and(|name| input.declares(name));
        let looks_meant = looks_meant(body, on_own_lines, input) || is_named;
        if !looks_meant {
            return Some(out.refuse(Refusal::AboutMarks));
        }
        let end = at + found.end();
        if body.trim().is_empty() {
            let message = "The call is empty".to_owned();
            out.unreadable(ProblemCode::Malformed, message, 0..end, input.slice(0..end));
            return Some(Step::Done(end));
        }
        Some(Self::unreadable_call(input, out, end))
    }

    /// The tool's name in the head.
    fn called_name(&self) -> Option<&str> {
        let called = self.called.as_ref().map(|called| called.name.as_str());
        called.or(self.headed.as_deref())
    }

    /// Whether a declared tool's name stands at `at`, and neither JSON nor
    /// anything else in brackets behind it, before the closing mark. The name
    /// begins calls of several families. `None` if more text is needed.
    fn is_name_alone(&self, input: &Input<'_>, at: usize) -> Option<bool> {
        let rest = input.from(at);
        let Some(name) = declared_name(rest, input) else {
            return Some(false);
        };
        let window = rest.get(..floor(rest, BOTCHED_CALL_LIMIT)).unwrap_or("");
        let behind = window.get(name.len()..).unwrap_or("");
        if !behind.starts_with(char::is_whitespace) {
            return Some(false);
        }
        let finder = self.marks.finder();
        let close = finder.and_then(|finder| finder.find(behind));
        match (behind.find(['{', '[', '(']), close) {
            (Some(bracket), Some(close)) => Some(close.start() < bracket),
            (None, Some(_)) => Some(true),
            (None, None) if !input.end && rest.len() < BOTCHED_CALL_LIMIT => None,
            (_, None) => Some(false),
        }
    }

    fn unreadable_call(input: &Input<'_>, out: &mut Findings, end: usize) -> Step {
        let message = "What stands between the marks is not a JSON object".to_owned();
        out.unreadable(ProblemCode::Malformed, message, 0..end, input.slice(0..end));
        Step::Done(end)
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
                self.state = MarkedState::After;
            }
            Some(b'<' | b'[' | b'`') | None if self.pending.is_some() => {
                self.note(ProblemCode::MissingCloser, at..at);
                self.list = None;
                self.state = MarkedState::After;
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
                // By the letter, a string that never closed holds all the rest:
                // what looks like a call in it must not run.
                let at = object.doubtful_from();
                if self.marks.opens_in(input.from(at)) {
                    self.tolerant = Some(Tolerant::endless(start, input.text.len()));
                    self.state = MarkedState::Tolerant;
                } else {
                    self.go_tolerant(start, at);
                }
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
                    MarkedState::Element
                } else {
                    MarkedState::After
                };
            }
        }
        None
    }

    fn go_tolerant(&mut self, body: usize, fault: usize) {
        self.tolerant = Some(Tolerant::new(body, fault));
        self.state = MarkedState::Tolerant;
    }

    /// Examines the text between the JSON and the closing mark, or instead of
    /// it.
    fn before_close(&mut self, input: &Input<'_>, out: &mut Findings, at: usize) -> Before {
        let rest = input.from(at);
        if let Some(tail) = self.called.as_ref().and_then(|called| called.tail.as_ref()) {
            match mark_at(rest, std::slice::from_ref(tail)) {
                MarkAt::Partial if !input.end => return Before::Step(Step::More),
                MarkAt::Finding { length, .. } => {
                    self.at = at + length;
                    if let Some(called) = &mut self.called {
                        called.tail = None;
                    }
                    return Before::Passed;
                }
                MarkAt::Partial | MarkAt::None => {}
            }
        }
        if self.is_bare && !input.in_section {
            match input.closing_mark(at) {
                MarkAt::Partial if !input.end => return Before::Step(Step::More),
                MarkAt::Finding { length, .. } => {
                    if !self
                        .notes
                        .iter()
                        .any(|note| note.code == ProblemCode::MissingOpenMark)
                    {
                        self.note(ProblemCode::MissingOpenMark, 0..0);
                    }
                    self.notes
                        .retain(|note| note.code != ProblemCode::MissingCloseMark);
                    self.flush(out);
                    return Before::Step(Step::Done(at + length));
                }
                MarkAt::Partial | MarkAt::None => {}
            }
        }
        Before::Nothing
    }

    /// Looks for the closing mark behind the last call.
    fn after(&mut self, input: &Input<'_>, out: &mut Findings) -> Option<Step> {
        let at = self.skip_space(input);
        let rest = input.from(at);
        if rest.is_empty() && !input.end {
            return Some(Step::More);
        }
        let missing = |reader: &mut Self, out: &mut Findings| {
            reader.note_missing_close();
            reader.flush(out);
            Some(Step::Done(reader.at))
        };
        match self.before_close(input, out, at) {
            Before::Nothing => {}
            Before::Passed => return None,
            Before::Step(step) => return Some(step),
        }
        match input.longest_mark(at, &self.marks.close) {
            MarkAt::Finding { index, length } => {
                if self
                    .called
                    .as_ref()
                    .is_some_and(|called| called.tail.is_some())
                {
                    self.note_missing_close();
                }
                if index > 0 {
                    self.note(ProblemCode::WrongMark, at..at + length);
                }
                self.flush(out);
                return Some(Step::Done(at + length));
            }
            MarkAt::Partial if !input.end => return Some(Step::More),
            MarkAt::Partial if !rest.is_empty() => {
                if !self.marks.may_stay_open {
                    self.note(ProblemCode::MissingCloseMark, at..at + rest.len());
                }
                self.flush(out);
                return Some(Step::Done(at + rest.len()));
            }
            MarkAt::Partial | MarkAt::None => {}
        }
        match rest.as_bytes().first() {
            Some(b'{') if self.called.is_none() => {
                self.flush(out);
                if !self.marks.joined {
                    self.note(ProblemCode::Joined, at..at);
                }
                self.begin_object(at);
                None
            }
            Some(b',' | b';') if self.called.is_none() => match input.peek(at + 1) {
                Peek::More => Some(Step::More),
                Peek::Byte(b'{') => {
                    self.at = at + 1;
                    None
                }
                _ => missing(self, out),
            },
            Some(b'}' | b']') if !self.marks.may_stay_open => {
                self.note(ProblemCode::ExtraCloser, at..at + 1);
                self.at = at + 1;
                None
            }
            Some(b'`') if !self.marks.may_stay_open => match fence_line(rest) {
                FenceLine::Cut if !input.end => Some(Step::More),
                _ if rest.starts_with("```") => {
                    let length = rest.len() - rest.trim_start_matches('`').len();
                    if !self.marks.fenced {
                        self.note(ProblemCode::SurroundingText, at..at + length);
                    }
                    self.at = at + length;
                    None
                }
                _ => missing(self, out),
            },
            _ => Some(self.opener_as_closer(input, out, at)),
        }
    }

    /// Handles an opening mark where the closing one should be: the model may
    /// close with it. It is the next call's if JSON follows it.
    fn opener_as_closer(&mut self, input: &Input<'_>, out: &mut Findings, at: usize) -> Step {
        match mark_at(input.from(at), &self.marks.open) {
            _ if self.marks.may_stay_open => {}
            MarkAt::Partial if !input.end => return Step::More,
            MarkAt::Finding { length, .. } if self.called.is_none() => {
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
        self.note_missing_close();
        self.flush(out);
        Step::Done(self.at)
    }

    /// Notes that the closing mark is missing, in a family that has one.
    fn note_missing_close(&mut self) {
        if !self.marks.may_stay_open {
            self.note(ProblemCode::MissingCloseMark, self.at..self.at);
        }
    }

    /// Keeps a call until its closing is known, as that belongs to its status.
    pub(super) fn keep(
        &mut self,
        reading: ObjectCall<'_>,
        range: Range<usize>,
        status: Status,
        problems: Vec<Problem>,
    ) {
        if self.is_bare && reading.own_keys {
            self.note(ProblemCode::MissingOpenMark, 0..0);
            self.note(ProblemCode::MissingCloseMark, range.end..range.end);
        }
        self.pending = Some(reading.into_call(status, problems, range));
    }

    /// Marks the pending call as one that can no longer be reported correctly:
    /// what was sent while it streamed contradicts what it turned out to be.
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

    /// Reports the pending call.
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

/// The name of a declared tool at the start of the text.
fn declared_name<'t>(text: &'t str, input: &Input<'_>) -> Option<&'t str> {
    let text = text.trim_start();
    let name = text.split(|c| !is_name_character(c)).next()?;
    input.declares(name).then_some(name)
}

/// Whether a list begins at `at` that holds no calls, as its first item is a
/// string or a number. `None` if more text is needed to decide.
fn is_list_of_values(input: &Input<'_>, at: usize) -> Option<bool> {
    if input.byte(at) != Some(b'[') {
        return Some(false);
    }
    match input.peek(at + 1) {
        Peek::More => None,
        Peek::End => Some(false),
        Peek::Byte(byte) => Some(matches!(byte, b'"' | b']' | b'-' | b'0'..=b'9')),
    }
}

impl Reader for MarkedJson {
    fn read(&mut self, input: &Input<'_>, out: &mut Findings) -> Step {
        loop {
            let step = match self.state {
                MarkedState::Head => self.head(input, out),
                MarkedState::Lead => self.lead(input, out),
                MarkedState::Element => self.element(input, out),
                MarkedState::Object => self.object(input, out),
                MarkedState::After => self.after(input, out),
                MarkedState::Tolerant => Some(self.tolerant(input, out)),
            };
            if let Some(step) = step {
                return step;
            }
        }
    }
}

/// Whether the text between two marks was meant as a call, and not as part of a
/// sentence about them.
pub(crate) fn looks_meant(body: &str, on_own_lines: bool, input: &Input<'_>) -> bool {
    let names_a_tool = || {
        input
            .tools
            .is_some_and(|tools| tools.names().any(|name| body.contains(name)))
    };
    body.trim().is_empty()
        || on_own_lines
        || names_a_tool()
        || serde_json::from_str::<serde::de::IgnoredAny>(body).is_ok()
}

/// The result of examining the text before a closing mark.
enum Before {
    Nothing,
    Passed,
    Step(Step),
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
