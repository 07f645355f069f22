//! `arrows`: `{tool => "f", args => { --path "a.txt" }}` between `[TOOL_CALL]`
//! and `[/TOOL_CALL]`, as some models write where they were taught JSON.

use super::engine::botched::{botched_end, cut_end};
use super::engine::named_values::{NamedValues, Whole};
use super::engine::quoted::Quoted;
use super::{Dialect, Trigger};
use crate::ProblemCode;
use crate::json::scan::{Scan, Scanner};
use crate::parse::{Findings, Input, MarkAt, Peek, Reader, Step, floor, mark_at};

const OPEN: &str = "[TOOL_CALL]";
const CLOSE: &[&str] = &["[/TOOL_CALL]"];

/// The longest head: the words and the tool's name.
const MAX_HEAD: usize = 512;
/// The longest name of an argument.
const MAX_NAME: usize = 256;

/// The dialect whose arguments are options of a command line, between arrows
/// and braces.
#[derive(Debug, Clone, Copy, Default)]
pub struct Arrows;

impl Dialect for Arrows {
    fn name(&self) -> &'static str {
        "arrows"
    }

    fn triggers(&self) -> Vec<Trigger> {
        vec![Trigger::anywhere(OPEN)]
    }

    fn reader(&self, _trigger: usize) -> Box<dyn Reader> {
        Box::new(ArrowsReader {
            at: OPEN.len(),
            space: 0,
            state: ArrowState::ArrowHead,
            values: None,
        })
    }

    fn closers(&self) -> Vec<String> {
        CLOSE.iter().map(|mark| (*mark).to_owned()).collect()
    }
}

#[derive(Debug)]
struct ArrowsReader {
    at: usize,
    /// How far white space behind `at` was skipped.
    space: usize,
    state: ArrowState,
    values: Option<NamedValues>,
}

#[derive(Debug)]
enum ArrowState {
    ArrowHead,
    Option,
    Value(String),
    Text(Quoted),
    Json {
        key: String,
        start: usize,
        scanner: Scanner,
    },
    Word {
        key: String,
        start: usize,
    },
    Braces(usize),
    After,
    Botched(usize),
}

impl Reader for ArrowsReader {
    fn read(&mut self, input: &Input<'_>, out: &mut Findings) -> Step {
        let step = loop {
            if let Some(step) = self.step(input, out) {
                break step;
            }
        };
        if let Some(values) = &mut self.values {
            values.send(out);
        }
        if step == Step::More && input.end && self.values.is_some() {
            let end = cut_end(input, self.at);
            self.finish(out, end, Whole::No);
            return Step::Done(end);
        }
        step
    }
}

impl ArrowsReader {
    fn step(&mut self, input: &Input<'_>, out: &mut Findings) -> Option<Step> {
        match std::mem::replace(&mut self.state, ArrowState::Option) {
            ArrowState::ArrowHead => self.head(input),
            ArrowState::Option => self.option(input),
            ArrowState::Value(key) => self.value(input, key),
            ArrowState::Text(quoted) => self.text(input, quoted),
            ArrowState::Json {
                key,
                start,
                scanner,
            } => self.json(input, key, start, scanner),
            ArrowState::Word { key, start } => self.word(input, key, start),
            ArrowState::Braces(count) => self.braces(input, count),
            ArrowState::After => Some(self.after(input, out)),
            ArrowState::Botched(fault) => Some(self.botched(input, out, fault)),
        }
    }

    fn wait(&mut self, state: ArrowState) -> Step {
        self.state = state;
        Step::More
    }

    fn go(&mut self, state: ArrowState) -> Option<Step> {
        self.state = state;
        None
    }

    fn skip_space(&mut self, input: &Input<'_>) -> usize {
        self.space = input.skip_space(self.at.max(self.space));
        self.space
    }

    fn head(&mut self, input: &Input<'_>) -> Option<Step> {
        let rest = input.from(self.at);
        let window = rest.get(..floor(rest, MAX_HEAD)).unwrap_or("");
        match read_head(window) {
            ArrowHead::More if !input.end && rest.len() < MAX_HEAD => {
                Some(self.wait(ArrowState::ArrowHead))
            }
            ArrowHead::More | ArrowHead::None => Some(Step::Reject),
            ArrowHead::Finding {
                name,
                length,
                has_args,
            } => {
                self.values = Some(NamedValues::new(name));
                self.at += length;
                self.go(if has_args {
                    ArrowState::Option
                } else {
                    ArrowState::Braces(2)
                })
            }
        }
    }

    fn option(&mut self, input: &Input<'_>) -> Option<Step> {
        let at = self.skip_space(input);
        let rest = input.from(at);
        if rest.starts_with(',') {
            self.at = at + 1;
            return self.go(ArrowState::Option);
        }
        if rest.starts_with('}') {
            self.at = at + 1;
            return self.go(ArrowState::Braces(1));
        }
        let window = rest.get(..floor(rest, MAX_NAME)).unwrap_or("");
        let name = window.trim_start_matches('-');
        let dashes = window.len() - name.len();
        let end = name.find(|c: char| c.is_whitespace() || matches!(c, '=' | '"' | '}' | '{'));
        match end {
            _ if !rest.is_empty() && dashes == 0 => self.go(ArrowState::Botched(at)),
            None if rest.len() < MAX_NAME => Some(self.wait(ArrowState::Option)),
            None | Some(0) => self.go(ArrowState::Botched(at)),
            Some(end) => {
                self.at = at + dashes + end;
                self.go(ArrowState::Value(name.get(..end).unwrap_or("").to_owned()))
            }
        }
    }

    fn value(&mut self, input: &Input<'_>, key: String) -> Option<Step> {
        let at = self.skip_space(input);
        match input.byte(at) {
            None => Some(self.wait(ArrowState::Value(key))),
            Some(b'=') if input.byte(at + 1).is_none() && !input.end => {
                Some(self.wait(ArrowState::Value(key)))
            }
            Some(b'=') => {
                self.at = at
                    + if input.byte(at + 1) == Some(b'>') {
                        2
                    } else {
                        1
                    };
                self.go(ArrowState::Value(key))
            }
            Some(b'"') => {
                if let Some(values) = &mut self.values {
                    values.open_string(&key);
                }
                self.go(ArrowState::Text(Quoted::simple(b'"', at)))
            }
            Some(b'{' | b'[') => self.go(ArrowState::Json {
                key,
                start: at,
                scanner: Scanner::new(at),
            }),
            Some(b'}') => self.go(ArrowState::Botched(at)),
            Some(_) => {
                self.at = at;
                self.go(ArrowState::Word { key, start: at })
            }
        }
    }

    /// Reads a string, which ends at the first quote behind which the next
    /// option or the end of the call follows.
    fn text(&mut self, input: &Input<'_>, mut quoted: Quoted) -> Option<Step> {
        let mut closes = |at| match input.peek(at) {
            Peek::More => None,
            Peek::End => Some(true),
            Peek::Byte(byte) => Some(matches!(byte, b'-' | b'}' | b',')),
        };
        let values = &mut self.values;
        let mut append = |piece: &str| {
            if let Some(values) = values {
                values.append(piece);
            }
        };
        match quoted.read(input.text, input.end, &mut append, &mut closes) {
            None => Some(self.wait(ArrowState::Text(quoted))),
            Some(end) => {
                if let Some(values) = &mut self.values {
                    values.close_string();
                }
                self.at = end;
                self.go(ArrowState::Option)
            }
        }
    }

    fn json(
        &mut self,
        input: &Input<'_>,
        key: String,
        start: usize,
        mut scanner: Scanner,
    ) -> Option<Step> {
        match scanner.scan(input.text) {
            Scan::More => Some(self.wait(ArrowState::Json {
                key,
                start,
                scanner,
            })),
            Scan::Fault(at) => self.go(ArrowState::Botched(at)),
            Scan::Done(end) => {
                if let Some(values) = &mut self.values {
                    values.json(&key, input.slice(start..end));
                }
                self.at = end;
                self.go(ArrowState::Option)
            }
        }
    }

    fn word(&mut self, input: &Input<'_>, key: String, start: usize) -> Option<Step> {
        let rest = input.from(self.at);
        let Some(length) = rest.find(|c: char| c.is_whitespace() || matches!(c, ',' | '}')) else {
            self.at += rest.len();
            return Some(self.wait(ArrowState::Word { key, start }));
        };
        self.at += length;
        if let Some(values) = &mut self.values {
            values.plain(&key, input.slice(start..self.at), input);
        }
        self.go(ArrowState::Option)
    }

    /// Reads the braces that close the arguments and the call: `count` have
    /// come.
    fn braces(&mut self, input: &Input<'_>, count: usize) -> Option<Step> {
        let at = self.skip_space(input);
        match input.byte(at) {
            None if !input.end => Some(self.wait(ArrowState::Braces(count))),
            Some(b'}') if count < 2 => {
                self.at = at + 1;
                self.go(ArrowState::Braces(count + 1))
            }
            _ => {
                if count < 2
                    && let Some(values) = &mut self.values
                {
                    values.note(ProblemCode::MissingCloser, at..at);
                }
                self.go(ArrowState::After)
            }
        }
    }

    fn after(&mut self, input: &Input<'_>, out: &mut Findings) -> Step {
        let at = self.skip_space(input);
        let rest = input.from(at);
        let end = match mark_at(rest, CLOSE) {
            MarkAt::Partial if !input.end => return self.wait(ArrowState::After),
            MarkAt::Finding { length, .. } => {
                self.finish(out, self.at, Whole::Yes);
                return Step::Done(at + length);
            }
            MarkAt::Partial if !rest.is_empty() => at + rest.len(),
            MarkAt::Partial | MarkAt::None => self.at,
        };
        if let Some(values) = &mut self.values {
            values.note(ProblemCode::MissingCloseMark, self.at..end);
        }
        self.finish(out, self.at, Whole::Yes);
        Step::Done(end)
    }

    fn botched(&mut self, input: &Input<'_>, out: &mut Findings, fault: usize) -> Step {
        let Some(end) = botched_end(input, fault, CLOSE) else {
            return self.wait(ArrowState::Botched(fault));
        };
        if let Some(values) = &mut self.values {
            values.problem(
                ProblemCode::Malformed,
                "The arguments cannot be read; write each as --name \"value\"",
                fault..end,
            );
        }
        self.finish(out, end, Whole::No);
        Step::Done(end)
    }

    fn finish(&mut self, out: &mut Findings, end: usize, whole: Whole) {
        if let Some(values) = self.values.take() {
            values.finish(out, OPEN.len()..end, whole);
        }
    }
}

/// The text between the opening mark and the arguments.
enum ArrowHead {
    Finding {
        name: String,
        length: usize,
        has_args: bool,
    },
    More,
    None,
}

/// Reads `{tool => "f", args => {`.
fn read_head(text: &str) -> ArrowHead {
    let mut rest = text;
    for token in ["{", "tool", "=>"] {
        match expect(rest, token) {
            Ok(behind) => rest = behind,
            Err(head) => return head,
        }
    }
    let lead = rest.trim_start();
    let Some(end) = lead.find([',', '}', '\n']) else {
        return ArrowHead::More;
    };
    let name = lead.get(..end).unwrap_or("").trim();
    let name = name.trim_matches(['"', '\'']);
    if name.is_empty() || name.contains(char::is_whitespace) {
        return ArrowHead::None;
    }
    rest = lead.get(end..).unwrap_or("");
    let found = |rest: &str, has_args| ArrowHead::Finding {
        name: name.to_owned(),
        length: text.len() - rest.len(),
        has_args,
    };
    if let Some(behind) = rest.strip_prefix('}') {
        return found(behind, false);
    }
    rest = rest.strip_prefix(',').unwrap_or(rest);
    for token in ["args", "=>", "{"] {
        match expect(rest, token) {
            Ok(behind) => rest = behind,
            Err(head) => return head,
        }
    }
    found(rest, true)
}

/// The text behind the token and the white space before it.
fn expect<'a>(text: &'a str, token: &str) -> Result<&'a str, ArrowHead> {
    let lead = text.trim_start();
    match lead.strip_prefix(token) {
        Some(behind) => Ok(behind),
        None if token.starts_with(lead) => Err(ArrowHead::More),
        None => Err(ArrowHead::None),
    }
}
