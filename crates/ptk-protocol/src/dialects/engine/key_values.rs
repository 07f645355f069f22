//! Calls in a notation of their own, strings between marks that no text has:
//! `call:f{path:<|"|>a.txt<|"|>,limit:3}`. Read while they come in.

use std::ops::Range;

use super::botched::{botched_end, cut_end};
use super::key_value_literals::{
    KeyAt, MAX_NAME, Nesting, NestingAt, STRINGS, key_at, nested_json,
};
use super::named_values::{NamedValues, Says, Whole};
use super::quoted::Quoted;
use crate::ProblemCode;
use crate::parse::{Findings, Input, MarkAt, Peek, Reader, Refusal, Step, floor, mark_at};

/// What a call starts with, behind the opening mark.
pub(crate) const CALL: &str = "call:";

/// The marks of a family.
#[derive(Debug, Clone, Copy)]
pub(crate) struct KeyValueMarks {
    pub(crate) open: &'static str,
    pub(crate) close: &'static str,
    /// The mark before and behind a string.
    pub(crate) string: &'static str,
}

/// Reads the calls behind one opening mark.
#[derive(Debug)]
pub(crate) struct KeyValues {
    marks: KeyValueMarks,
    /// Whether the opening mark is there.
    is_marked: bool,
    /// Whether the word between the opening mark and the name is missing.
    lacks_word: bool,
    /// What closes the arguments: a brace, or a parenthesis that stands for it.
    brace: u8,
    at: usize,
    /// How far white space behind `at` was skipped.
    space: usize,
    state: KeyValueState,
    start: usize,
    values: Option<NamedValues>,
    /// Whether the call is reported while it comes in.
    live: bool,
}

#[derive(Debug)]
enum KeyValueState {
    Lead,
    Name,
    Key {
        first: bool,
    },
    Value(String),
    /// A string between these marks.
    Text {
        start: usize,
        search: usize,
        mark: &'static str,
    },
    Quoted {
        key: String,
        text: String,
        quoted: Quoted,
    },
    Nested {
        key: String,
        start: usize,
        search: Nesting,
    },
    Bare {
        key: String,
        start: usize,
        search: usize,
    },
    Next,
    After,
    Botched(usize),
}

impl KeyValues {
    /// A reader that starts at the opening mark, or at `call:` without it.
    pub(crate) fn new(marks: KeyValueMarks, is_marked: bool) -> Self {
        Self {
            marks,
            is_marked,
            lacks_word: false,
            brace: b'}',
            at: if is_marked { marks.open.len() } else { 0 },
            space: 0,
            state: KeyValueState::Lead,
            start: 0,
            values: None,
            live: is_marked,
        }
    }

    fn skip_space(&mut self, input: &Input<'_>) -> usize {
        self.space = input.skip_space(self.at.max(self.space));
        self.space
    }

    fn wait(&mut self, state: KeyValueState) -> Step {
        self.state = state;
        Step::More
    }

    fn go(&mut self, state: KeyValueState) -> Option<Step> {
        self.state = state;
        None
    }

    fn lead(&mut self, input: &Input<'_>, out: &mut Findings) -> Option<Step> {
        let at = self.skip_space(input);
        match mark_at(input.from(at), &[CALL]) {
            MarkAt::Partial if !input.end => Some(self.wait(KeyValueState::Lead)),
            MarkAt::Partial if self.is_marked => Some(without_calls(input, out)),
            MarkAt::Partial | MarkAt::None if self.is_marked => self.without_lead(input, out, at),
            MarkAt::Partial | MarkAt::None => Some(Step::Reject),
            MarkAt::Finding { length, .. } => {
                self.start = at;
                self.at = at + length;
                self.go(KeyValueState::Name)
            }
        }
    }

    /// Handles an opening mark that `call:` does not follow: its word may be
    /// missing, or the whole call.
    fn without_lead(&mut self, input: &Input<'_>, out: &mut Findings, at: usize) -> Option<Step> {
        match mark_at(input.from(at), &[":", self.marks.close]) {
            MarkAt::Partial if !input.end => Some(self.wait(KeyValueState::Lead)),
            MarkAt::Finding { index: 0, length } => {
                self.start = at;
                self.at = at + length;
                self.lacks_word = true;
                self.go(KeyValueState::Name)
            }
            MarkAt::Finding { length, .. } => {
                let message = "Nothing stands between the marks of the call";
                Some(self.unreadable(input, out, at + length, message, KeyValueState::Lead))
            }
            MarkAt::Partial | MarkAt::None => Some(Step::Reject),
        }
    }

    /// Reports that what stands between the marks, up to `end`, is not a call.
    /// In a sentence about the marks, words follow behind a space.
    fn unreadable(
        &mut self,
        input: &Input<'_>,
        out: &mut Findings,
        end: usize,
        message: &str,
        state: KeyValueState,
    ) -> Step {
        match input.byte(end) {
            None if !input.end => return self.wait(state),
            Some(b' ') => return out.refuse(Refusal::NoCallBehind),
            _ => {}
        }
        let raw = input.slice(0..end);
        out.unreadable(ProblemCode::Malformed, message.to_owned(), 0..end, raw);
        Step::Done(end)
    }

    fn name(&mut self, input: &Input<'_>, out: &mut Findings) -> Option<Step> {
        let rest = input.from(self.at);
        let window = rest.get(..floor(rest, MAX_NAME)).unwrap_or("");
        let Some(end) = window.find(['{', '<', '\n', '(']) else {
            let undecided = rest.len() < MAX_NAME;
            return match (undecided, input.end) {
                (true, false) => Some(self.wait(KeyValueState::Name)),
                (true, true) if self.is_marked => Some(without_calls(input, out)),
                _ => Some(Step::Reject),
            };
        };
        let name = window.get(..end).unwrap_or("").trim();
        let is_name = !name.is_empty() && !name.contains(char::is_whitespace);
        let opener = window.as_bytes().get(end).copied();
        let is_round = opener == Some(b'(') && self.is_marked && input.declares(name);
        let is_open = opener == Some(b'{') || is_round;
        if !is_name || !is_open {
            let word = name.split_whitespace().next().unwrap_or("");
            if !self.is_marked || (word.is_empty() && !is_open) {
                return Some(Step::Reject);
            }
            if word.is_empty() {
                return Some(self.without_name(input, out, self.at + end));
            }
            let close = self.at + end;
            return match mark_at(input.from(close), &[self.marks.close]) {
                MarkAt::Partial if !input.end => Some(self.wait(KeyValueState::Name)),
                MarkAt::Partial | MarkAt::None => Some(Step::Reject),
                MarkAt::Finding { .. } if input.declares(word) => {
                    self.values = Some(NamedValues::new(word));
                    self.go(KeyValueState::Botched(close))
                }
                MarkAt::Finding { length, .. } => {
                    let message = "The call has no arguments in braces behind its name";
                    Some(self.unreadable(input, out, close + length, message, KeyValueState::Name))
                }
            };
        }
        if !input.declares(name) && !self.is_marked {
            return Some(Step::Reject);
        }
        let mut values = NamedValues::new(name);
        if !self.is_marked {
            values.note(ProblemCode::MissingOpenMark, self.start..self.start);
        }
        if self.lacks_word {
            values.note(ProblemCode::WrongMark, self.start..self.at);
        }
        if is_round {
            self.brace = b')';
            values.note(ProblemCode::WrongMark, self.at + end..self.at + end + 1);
        }
        if self.live {
            values.send(out);
        }
        self.values = Some(values);
        self.at += end + 1;
        self.go(KeyValueState::Key { first: true })
    }

    /// Reports arguments without a tool's name before them, if the closing mark
    /// follows.
    fn without_name(&mut self, input: &Input<'_>, out: &mut Findings, at: usize) -> Step {
        let Some(end) = botched_end(input, at, &[self.marks.close]) else {
            return self.wait(KeyValueState::Name);
        };
        if !input.slice(at..end).ends_with(self.marks.close) {
            return Step::Reject;
        }
        let message = "The call names no tool before its arguments";
        self.unreadable(input, out, end, message, KeyValueState::Name)
    }

    fn key(&mut self, input: &Input<'_>, first: bool) -> Option<Step> {
        let at = self.skip_space(input);
        let rest = input.from(at);
        if rest.as_bytes().first() == Some(&self.brace) {
            self.live = true;
            self.at = at + 1;
            return self.go(KeyValueState::After);
        }
        if rest.starts_with(',') && !first {
            self.at = at + 1;
            return self.go(KeyValueState::Key { first: true });
        }
        match key_at(rest, input.end) {
            KeyAt::More => Some(self.wait(KeyValueState::Key { first })),
            KeyAt::None => self.fault(at),
            KeyAt::Finding(key, length) => {
                self.live = true;
                self.at = at + length;
                self.go(KeyValueState::Value(key))
            }
        }
    }

    fn fault(&mut self, at: usize) -> Option<Step> {
        if self.live {
            self.go(KeyValueState::Botched(at))
        } else {
            Some(Step::Reject)
        }
    }

    fn value(&mut self, input: &Input<'_>, key: String) -> Option<Step> {
        let at = self.skip_space(input);
        let rest = input.from(at);
        match mark_at(rest, STRINGS) {
            MarkAt::Partial if !input.end => return Some(self.wait(KeyValueState::Value(key))),
            MarkAt::Finding { index, length } => {
                let start = at + length;
                if let Some(values) = &mut self.values {
                    values.open(&key, Says::Text, false, input);
                }
                let mark = STRINGS.get(index).copied().unwrap_or_default();
                return self.go(KeyValueState::Text {
                    start,
                    search: start,
                    mark,
                });
            }
            MarkAt::Partial | MarkAt::None => {}
        }
        match rest.bytes().next() {
            None => Some(self.wait(KeyValueState::Value(key))),
            Some(b'"') => self.go(KeyValueState::Quoted {
                key,
                text: String::new(),
                quoted: Quoted::simple(b'"', at),
            }),
            Some(b'{' | b'[') => self.go(KeyValueState::Nested {
                key,
                start: at,
                search: Nesting::new(at),
            }),
            Some(byte) if self.ends_value(byte) => self.fault(at),
            Some(_) => self.go(KeyValueState::Bare {
                key,
                start: at,
                search: at,
            }),
        }
    }

    /// Reads a string, which ends at the first of its marks behind which the
    /// next argument or the end of the call follows; any other mark is content.
    fn text(
        &mut self,
        input: &Input<'_>,
        start: usize,
        mut search: usize,
        mark: &'static str,
    ) -> Option<Step> {
        loop {
            let found = memchr::memmem::find(
                input.text.as_bytes().get(search..).unwrap_or_default(),
                mark.as_bytes(),
            );
            let Some(found) = found else {
                search = input.text.len() - begun(input.from(search), mark);
                self.grow(input.slice(start..search));
                return Some(self.wait(KeyValueState::Text {
                    start,
                    search,
                    mark,
                }));
            };
            let end = search + found;
            let behind = end + mark.len();
            match input.peek(behind) {
                Peek::More => {
                    self.grow(input.slice(start..end));
                    return Some(self.wait(KeyValueState::Text {
                        start,
                        search: end,
                        mark,
                    }));
                }
                Peek::Byte(byte) if !self.ends_value(byte) => search = behind,
                Peek::Byte(_) | Peek::End => {
                    self.check_swallowed(input, start..end, mark);
                    if let Some(values) = &mut self.values {
                        values.close(input.slice(start..end), input);
                    }
                    self.at = behind;
                    return self.go(KeyValueState::Next);
                }
            }
        }
    }

    /// Checks for a string that holds the end of a call and then the beginning of
    /// another with a string: its own mark may be missing, and the model has to
    /// say which.
    fn check_swallowed(&mut self, input: &Input<'_>, range: Range<usize>, mark: &str) {
        let raw = input.slice(range.clone());
        let behind = raw.split_once(self.marks.close);
        let call = behind.and_then(|(_, behind)| behind.split_once(self.marks.open));
        if call.is_some_and(|(_, call)| call.contains(mark))
            && let Some(values) = &mut self.values
        {
            let message = "A string holds the end of a call and the beginning of another; \
                           where the string ends cannot be told";
            values.problem(ProblemCode::Malformed, message, range);
        }
    }

    /// Whether this byte may follow a string.
    fn ends_value(&self, byte: u8) -> bool {
        byte == self.brace || matches!(byte, b',' | b'}' | b']')
    }

    fn grow(&mut self, raw: &str) {
        if let Some(values) = &mut self.values {
            values.grow(raw);
        }
    }

    /// Reads a string as JSON writes it.
    fn quoted(
        &mut self,
        input: &Input<'_>,
        key: String,
        mut text: String,
        mut quoted: Quoted,
    ) -> Option<Step> {
        let brace = self.brace;
        let mut closes = |at| closes_quoted(input, at, brace);
        let mut append = |piece: &str| text.push_str(piece);
        match quoted.read(input.text, input.end, &mut append, &mut closes) {
            None => Some(self.wait(KeyValueState::Quoted { key, text, quoted })),
            Some(end) => {
                if let Some(values) = &mut self.values {
                    values.verbatim(&key, &text, input);
                }
                self.at = end;
                self.go(KeyValueState::Next)
            }
        }
    }

    fn nested(
        &mut self,
        input: &Input<'_>,
        key: String,
        start: usize,
        mut search: Nesting,
    ) -> Option<Step> {
        let end = match search.search(input) {
            NestingAt::More => {
                return Some(self.wait(KeyValueState::Nested { key, start, search }));
            }
            NestingAt::Fault => return self.fault(start),
            NestingAt::End(end) => end,
        };
        let raw = input.slice(start..end);
        if let Some(values) = &mut self.values {
            let schema = values.schema(&key, input);
            match nested_json(raw, schema) {
                Some(json) => values.json(&key, &json),
                None if values.mended(&key, raw) => {}
                None => return self.fault(start),
            }
        }
        self.at = end;
        self.go(KeyValueState::Next)
    }

    /// Reads a value without marks, which ends before the next argument or the
    /// call's end.
    fn bare(
        &mut self,
        input: &Input<'_>,
        key: String,
        start: usize,
        mut search: usize,
    ) -> Option<Step> {
        loop {
            let rest = input.from(search);
            let Some(found) = memchr::memchr3(b',', self.brace, b'<', rest.as_bytes()) else {
                search += rest.len();
                return Some(self.wait(KeyValueState::Bare { key, start, search }));
            };
            let end = search + found;
            if input.byte(end) == Some(b'<') {
                // Behind the marks of a call, another one may follow: the value
                // would swallow it.
                match mark_at(input.from(end), &[self.marks.close, self.marks.open]) {
                    MarkAt::Finding { .. } => return self.fault(end),
                    MarkAt::Partial if !input.end => {
                        let search = end;
                        return Some(self.wait(KeyValueState::Bare { key, start, search }));
                    }
                    MarkAt::Partial | MarkAt::None => search = end + 1,
                }
                continue;
            }
            if input.byte(end) == Some(b',') {
                let behind = input.from(end + 1);
                let window = behind.get(..floor(behind, MAX_NAME)).unwrap_or("");
                let lead = window.trim_start();
                match key_at(lead, input.end) {
                    KeyAt::More if behind.len() < MAX_NAME => {
                        return Some(self.wait(KeyValueState::Bare {
                            key,
                            start,
                            search: end,
                        }));
                    }
                    KeyAt::Finding(..) => {}
                    _ if lead.as_bytes().first() == Some(&self.brace) => {}
                    _ => {
                        search = end + 1;
                        continue;
                    }
                }
            }
            if let Some(values) = &mut self.values {
                values.plain(&key, input.slice(start..end).trim(), input);
            }
            self.at = end;
            return self.go(KeyValueState::Next);
        }
    }

    fn next(&mut self, input: &Input<'_>) -> Option<Step> {
        let at = self.skip_space(input);
        match input.byte(at) {
            None => Some(self.wait(KeyValueState::Next)),
            Some(byte) if byte == b',' || byte == self.brace => {
                self.go(KeyValueState::Key { first: false })
            }
            Some(_) => self.fault(at),
        }
    }

    /// Reads on behind the brace that closes the arguments.
    fn after(&mut self, input: &Input<'_>, out: &mut Findings) -> Option<Step> {
        let at = self.skip_space(input);
        let rest = input.from(at);
        let end = match mark_at(rest, &[self.marks.close, CALL]) {
            MarkAt::Partial if !input.end => return Some(self.wait(KeyValueState::After)),
            MarkAt::Finding { index: 0, length } => {
                self.finish(out, Whole::Yes);
                return Some(Step::Done(at + length));
            }
            MarkAt::Finding { .. } if self.is_marked => {
                self.finish(out, Whole::Yes);
                return self.go(KeyValueState::Lead);
            }
            MarkAt::Partial if self.marks.close.starts_with(rest) && !rest.is_empty() => {
                at + rest.len()
            }
            _ => self.at,
        };
        if let Some(values) = &mut self.values {
            values.note(ProblemCode::MissingCloseMark, self.at..end);
        }
        self.finish(out, Whole::Yes);
        Some(Step::Done(end))
    }

    fn botched(&mut self, input: &Input<'_>, out: &mut Findings, fault: usize) -> Step {
        let Some(end) = botched_end(input, fault, &[self.marks.close]) else {
            return self.wait(KeyValueState::Botched(fault));
        };
        if let Some(values) = &mut self.values {
            values.problem(
                ProblemCode::Malformed,
                "The arguments cannot be read; write each as name:value, with commas between",
                fault..end,
            );
        }
        self.at = end;
        self.finish(out, Whole::No);
        Step::Done(end)
    }

    fn finish(&mut self, out: &mut Findings, whole: Whole) {
        if let Some(values) = self.values.take() {
            values.finish(out, self.start..self.at, whole);
        }
    }

    fn step(&mut self, input: &Input<'_>, out: &mut Findings) -> Option<Step> {
        match std::mem::replace(&mut self.state, KeyValueState::After) {
            KeyValueState::Lead => self.lead(input, out),
            KeyValueState::Name => self.name(input, out),
            KeyValueState::Key { first } => self.key(input, first),
            KeyValueState::Value(key) => self.value(input, key),
            KeyValueState::Text {
                start,
                search,
                mark,
            } => self.text(input, start, search, mark),
            KeyValueState::Quoted { key, text, quoted } => self.quoted(input, key, text, quoted),
            KeyValueState::Nested { key, start, search } => self.nested(input, key, start, search),
            KeyValueState::Bare { key, start, search } => self.bare(input, key, start, search),
            KeyValueState::Next => self.next(input),
            KeyValueState::After => self.after(input, out),
            KeyValueState::Botched(fault) => Some(self.botched(input, out, fault)),
        }
    }
}

impl Reader for KeyValues {
    fn read(&mut self, input: &Input<'_>, out: &mut Findings) -> Step {
        let step = loop {
            if let Some(step) = self.step(input, out) {
                break step;
            }
        };
        if self.live
            && let Some(values) = &mut self.values
        {
            values.send(out);
        }
        if step == Step::More && input.end && self.live && self.values.is_some() {
            self.at = cut_end(input, self.at);
            self.finish(out, Whole::No);
            return Step::Done(self.at);
        }
        step
    }
}

/// How many bytes of the mark stand at the end of the text.
fn begun(text: &str, mark: &str) -> usize {
    let mut starts = (1..mark.len()).rev();
    let stands = |length: &usize| {
        mark.get(..*length)
            .is_some_and(|start| text.ends_with(start))
    };
    starts.find(stands).unwrap_or(0)
}

/// Handles a reply that ends behind the opening mark.
fn without_calls(input: &Input<'_>, out: &mut Findings) -> Step {
    let message = "The reply ends behind the opening mark of a call".to_owned();
    let end = input.text.len();
    out.unreadable(ProblemCode::Truncated, message, 0..end, input.text);
    Step::Done(end)
}

/// Whether a quote before `at` closes its string.
fn closes_quoted(input: &Input<'_>, at: usize, brace: u8) -> Option<bool> {
    match input.peek(at) {
        Peek::More => None,
        Peek::End => Some(true),
        Peek::Byte(byte) => Some(byte == brace || matches!(byte, b',' | b'}' | b']' | b':')),
    }
}
