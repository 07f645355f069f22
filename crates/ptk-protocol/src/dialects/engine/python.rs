//! A call as a Python expression: `f(path="a.txt", limit=3)`, read while it
//! comes in.

use std::collections::HashSet;

use super::literals::{
    Braces, BracketFinder, Search, holds_expression, is_format_prefix, is_string_prefix,
    json_as_python, python_literal, python_word,
};
use super::named_values::NamedValues;
use super::quoted::{InnerQuotes, QuoteAt, Quoted};
use crate::parse::{Input, MarkAt, Peek};
use crate::{ProblemCode, ToolCall};

/// How far the arguments of a call have been read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Progress {
    /// The arguments go on behind the text seen so far.
    More,
    /// The closing parenthesis stands before this offset.
    Done(usize),
    /// What stands at this offset is not an argument.
    Fault(usize),
}

/// The kind of the first argument of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Beginning {
    /// The first argument has not come yet.
    Unknown,
    /// The call has no arguments.
    Empty,
    /// The first argument has a declared parameter's name.
    Parameter,
    /// The first argument has another name.
    Name,
    /// The first argument is a value without a name.
    Value,
}

impl Beginning {
    /// Whether only a call of the tool begins so.
    pub(crate) fn is_certain(self) -> bool {
        matches!(self, Self::Empty | Self::Parameter)
    }

    /// Whether a call that is cut off behind it counts as meant.
    pub(crate) fn looks_meant(self) -> bool {
        matches!(self, Self::Parameter | Self::Name)
    }
}

/// How arguments that are not literals are treated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Leniency {
    /// They are not arguments: it may be code or prose.
    Strict,
    /// They are repaired, as marks around the call show that it is one.
    Mend,
}

/// Reads the arguments of one call.
#[derive(Debug)]
pub(crate) struct PythonCall {
    values: NamedValues,
    at: usize,
    state: PythonState,
    leniency: Leniency,
    beginning: Beginning,
    given: HashSet<String>,
    /// Whether a quote inside a string was noted already.
    has_unescaped: bool,
    /// How many parameters were passed over in matching by position.
    passed_over: usize,
}

/// The argument whose value is read.
#[derive(Debug, Clone)]
enum Key {
    Named(String),
    /// The value has no name, and no parameter is left to match it with.
    Nobody,
    /// The value is `**{…}`, with several arguments at once.
    Spread,
}

/// The f-string that comes in: where it starts, and its braces.
#[derive(Debug, Clone, Copy)]
struct FormatText {
    start: usize,
    braces: Braces,
}

#[derive(Debug)]
enum PythonState {
    Argument,
    Name {
        start: usize,
    },
    NameEnd {
        start: usize,
        end: usize,
    },
    Value(Key),
    Word {
        key: Key,
        start: usize,
    },
    Bare {
        key: Key,
        start: usize,
    },
    Text {
        key: Key,
        quoted: Quoted,
        inner: InnerQuotes,
        format: Option<FormatText>,
    },
    AfterText(Key),
    Nested {
        key: Key,
        start: usize,
        search: BracketFinder,
    },
    After,
}

impl PythonCall {
    /// A call of `name` whose arguments start at `at`, behind the parenthesis.
    pub(crate) fn new(name: &str, at: usize, leniency: Leniency) -> Self {
        Self {
            values: NamedValues::new(name),
            at,
            state: PythonState::Argument,
            leniency,
            beginning: Beginning::Unknown,
            given: HashSet::new(),
            has_unescaped: false,
            passed_over: 0,
        }
    }

    /// What the arguments begin with.
    pub(crate) fn beginning(&self) -> Beginning {
        self.beginning
    }

    /// Where the argument that is coming in starts.
    pub(crate) fn argument_start(&self) -> usize {
        self.at
    }

    /// The arguments so far.
    pub(crate) fn values(&mut self) -> &mut NamedValues {
        &mut self.values
    }

    /// Converts into the arguments.
    pub(crate) fn into_values(self) -> NamedValues {
        self.values
    }

    /// Reads on in the arguments.
    pub(crate) fn read(&mut self, input: &Input<'_>) -> Progress {
        loop {
            let step = match std::mem::replace(&mut self.state, PythonState::After) {
                PythonState::Argument => self.argument(input),
                PythonState::Name { start } => self.name(input, start),
                PythonState::NameEnd { start, end } => self.name_end(input, start, end),
                PythonState::Value(key) => self.value(input, key),
                PythonState::Word { key, start } => self.word(input, key, start),
                PythonState::Bare { key, start } => self.bare(input, key, start),
                PythonState::Text {
                    key,
                    quoted,
                    inner,
                    format,
                } => self.text(input, key, quoted, inner, format),
                PythonState::AfterText(key) => self.after_text(input, key),
                PythonState::Nested { key, start, search } => {
                    self.nested(input, key, start, search)
                }
                PythonState::After => self.after(input),
            };
            if let Some(progress) = step {
                return progress;
            }
        }
    }

    fn wait(&mut self, state: PythonState) -> Progress {
        self.state = state;
        Progress::More
    }

    fn go(&mut self, state: PythonState) -> Option<Progress> {
        self.state = state;
        None
    }

    fn begins(&mut self, beginning: Beginning) {
        if self.beginning == Beginning::Unknown {
            self.beginning = beginning;
        }
    }

    fn argument(&mut self, input: &Input<'_>) -> Option<Progress> {
        self.at = input.skip_space(self.at);
        let rest = input.from(self.at);
        match rest.chars().next() {
            None => Some(self.wait(PythonState::Argument)),
            Some(')') => {
                self.begins(Beginning::Empty);
                Some(Progress::Done(self.at + 1))
            }
            Some('*') if rest.len() < 2 => Some(self.wait(PythonState::Argument)),
            Some('*') if rest.starts_with("**") => {
                self.begins(Beginning::Value);
                self.at += 2;
                self.go(PythonState::Value(Key::Spread))
            }
            Some(c) if c.is_alphanumeric() || c == '_' => {
                self.go(PythonState::Name { start: self.at })
            }
            Some(_) => self.positional(input, self.at),
        }
    }

    /// Reads a value without a name, which is matched with the parameters in
    /// the order in which they are declared.
    fn positional(&mut self, input: &Input<'_>, start: usize) -> Option<Progress> {
        self.begins(Beginning::Value);
        self.at = start;
        let properties = input
            .tools
            .and_then(|tools| tools.get(self.values.name()))
            .and_then(|tool| tool.properties());
        let keys = properties
            .into_iter()
            .flat_map(|properties| properties.keys());
        let mut keys = keys.skip(self.passed_over);
        let key = keys.find(|key| {
            self.passed_over += 1;
            !self.given.contains(*key)
        });
        let key = if let Some(key) = key {
            let note = ProblemCode::PositionalArguments;
            self.values.note(note, start..start);
            self.given.insert(key.clone());
            Key::Named(key.clone())
        } else {
            self.values.problem(
                ProblemCode::InvalidArguments,
                "An argument has no name; write it as name=value",
                start..start,
            );
            Key::Nobody
        };
        self.go(PythonState::Value(key))
    }

    fn name(&mut self, input: &Input<'_>, start: usize) -> Option<Progress> {
        let rest = input.from(self.at);
        match rest.find(|c: char| !(c.is_alphanumeric() || c == '_')) {
            None => {
                self.at += rest.len();
                Some(self.wait(PythonState::Name { start }))
            }
            Some(length) => {
                let end = self.at + length;
                self.at = end;
                self.go(PythonState::NameEnd { start, end })
            }
        }
    }

    /// Handles the end of a word: it is a name if `=` follows, and else a
    /// value.
    fn name_end(&mut self, input: &Input<'_>, start: usize, end: usize) -> Option<Progress> {
        self.at = input.skip_space(self.at);
        let next = (input.byte(self.at), input.byte(self.at + 1));
        match next {
            (None, _) => Some(self.wait(PythonState::NameEnd { start, end })),
            (Some(b'='), None) if !input.end => {
                Some(self.wait(PythonState::NameEnd { start, end }))
            }
            (Some(b'='), Some(b'=')) => Some(Progress::Fault(self.at)),
            (Some(b'='), _) => {
                let key = input.slice(start..end).to_owned();
                self.begins(if input.has_parameter(self.values.name(), &key) {
                    Beginning::Parameter
                } else {
                    Beginning::Name
                });
                self.at += 1;
                if !self.given.insert(key.clone()) {
                    let message = format!("The argument `{key}` is given twice");
                    self.values
                        .problem(ProblemCode::InvalidArguments, &message, start..end);
                }
                self.go(PythonState::Value(Key::Named(key)))
            }
            _ => self.positional(input, start),
        }
    }

    fn value(&mut self, input: &Input<'_>, key: Key) -> Option<Progress> {
        self.at = input.skip_space(self.at);
        match input.byte(self.at) {
            None => Some(self.wait(PythonState::Value(key))),
            Some(b'[' | b'(') if matches!(key, Key::Spread) => Some(Progress::Fault(self.at)),
            Some(b'{' | b'[' | b'(') => {
                let start = self.at;
                let search = BracketFinder::new(start + 1);
                self.go(PythonState::Nested { key, start, search })
            }
            Some(b',' | b')' | b']' | b'}' | b'=') => Some(Progress::Fault(self.at)),
            Some(_) if matches!(key, Key::Spread) => Some(Progress::Fault(self.at)),
            Some(b'"' | b'\'') => self.open_text(input, key, self.at, true),
            Some(_) => {
                let start = self.at;
                self.go(PythonState::Word { key, start })
            }
        }
    }

    /// Begins a string; `word` says whether it is the value's first.
    fn open_text(
        &mut self,
        input: &Input<'_>,
        key: Key,
        word: usize,
        is_first: bool,
    ) -> Option<Progress> {
        let prefix = input.slice(word..self.at);
        let raw = prefix.contains(['r', 'R']);
        match Quoted::open(input.text, self.at, input.end, raw) {
            QuoteAt::More if word < self.at => {
                self.at = word;
                Some(self.wait(PythonState::Word { key, start: word }))
            }
            QuoteAt::More if is_first => Some(self.wait(PythonState::Value(key))),
            QuoteAt::More => Some(self.wait(PythonState::AfterText(key))),
            QuoteAt::Finding(quoted) => {
                if is_first && let Key::Named(key) = &key {
                    self.values.open_string(key);
                }
                self.go(PythonState::Text {
                    key,
                    quoted,
                    inner: InnerQuotes::default(),
                    format: is_format_prefix(prefix).then(|| FormatText {
                        start: word,
                        braces: Braces::default(),
                    }),
                })
            }
        }
    }

    fn text(
        &mut self,
        input: &Input<'_>,
        key: Key,
        mut quoted: Quoted,
        mut inner: InnerQuotes,
        mut format: Option<FormatText>,
    ) -> Option<Progress> {
        let lenient = self.leniency == Leniency::Mend;
        let mut unescaped = None;
        let mut closes = |at: usize| {
            if !lenient {
                return Some(true);
            }
            let closes = inner.close(input.text, at, input.end)?;
            if !closes {
                unescaped.get_or_insert(at - 1);
            }
            Some(closes)
        };
        let values = &mut self.values;
        let named = matches!(key, Key::Named(_));
        let mut append = |piece: &str| {
            if named {
                values.append(piece);
            }
        };
        let mut pass = |piece: &str| match &mut format {
            Some(format) => format.braces.pass(piece, &mut append),
            None => append(piece),
        };
        let end = quoted.read(input.text, input.end, &mut pass, &mut closes);
        if let Some(FormatText { start, braces }) = format
            && (braces.has_expression() || (end.is_some() && braces.ends_open()))
        {
            return Some(Progress::Fault(start));
        }
        if let Some(at) = unescaped
            && !self.has_unescaped
        {
            self.has_unescaped = true;
            self.values.note(ProblemCode::UnescapedQuote, at..at + 1);
        }
        match end {
            None => Some(self.wait(PythonState::Text {
                key,
                quoted,
                inner,
                format,
            })),
            Some(end) => {
                self.at = end;
                self.go(PythonState::AfterText(key))
            }
        }
    }

    /// Handles the end of a string: Python joins strings that stand side by
    /// side.
    fn after_text(&mut self, input: &Input<'_>, key: Key) -> Option<Progress> {
        self.at = input.skip_space(self.at);
        match input.byte(self.at) {
            None => Some(self.wait(PythonState::AfterText(key))),
            Some(b'"' | b'\'') => self.open_text(input, key, self.at, false),
            Some(_) => {
                if matches!(key, Key::Named(_)) {
                    self.values.close_string();
                }
                self.go(PythonState::After)
            }
        }
    }

    fn word(&mut self, input: &Input<'_>, key: Key, start: usize) -> Option<Progress> {
        let rest = input.from(self.at);
        let is_end = |c: char| !(c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '+' | '-'));
        let Some(length) = rest.find(is_end) else {
            self.at += rest.len();
            return Some(self.wait(PythonState::Word { key, start }));
        };
        let end = self.at + length;
        let word = input.slice(start..end);
        if is_string_prefix(word) && matches!(input.byte(end), Some(b'"' | b'\'')) {
            self.at = end;
            return self.open_text(input, key, start, true);
        }
        let ends_value = match input.peek(end) {
            _ if self.leniency == Leniency::Strict => true,
            Peek::More => return Some(self.wait(PythonState::Word { key, start })),
            Peek::Byte(byte) => matches!(byte, b',' | b')'),
            Peek::End => true,
        };
        match python_word(word) {
            Some(json) if ends_value => {
                self.add(&key, &json);
                self.at = end;
                self.go(PythonState::After)
            }
            _ if self.leniency == Leniency::Mend => {
                self.at = start;
                self.go(PythonState::Bare { key, start })
            }
            _ => Some(Progress::Fault(start)),
        }
    }

    /// Reads a string without quotes. Brackets, a quotation that the end of the
    /// argument would cut, and a closing mark show that it is none: an
    /// expression, or a call that did not close.
    fn bare(&mut self, input: &Input<'_>, key: Key, start: usize) -> Option<Progress> {
        let is_end = |c: char| matches!(c, ',' | '(' | ')' | '[' | ']' | '{' | '}' | '<');
        loop {
            let rest = input.from(self.at);
            let Some(length) = rest.find(is_end) else {
                self.at += rest.len();
                return Some(self.wait(PythonState::Bare { key, start }));
            };
            self.at += length;
            match input.byte(self.at) {
                Some(b',' | b')') => break,
                Some(b'<') => match input.closing_mark(self.at) {
                    MarkAt::Partial if !input.end => {
                        return Some(self.wait(PythonState::Bare { key, start }));
                    }
                    MarkAt::Finding { .. } => return Some(Progress::Fault(start)),
                    MarkAt::Partial | MarkAt::None => self.at += 1,
                },
                _ => return Some(Progress::Fault(start)),
            }
        }
        let end = self.at;
        let raw = input.slice(start..end).trim();
        if ends_in_quotation(raw) {
            return Some(Progress::Fault(start));
        }
        if let Key::Named(key) = &key {
            self.values.plain(key, raw, input);
            self.values.note(ProblemCode::MissingQuotes, start..end);
        }
        self.go(PythonState::After)
    }

    fn nested(
        &mut self,
        input: &Input<'_>,
        key: Key,
        start: usize,
        mut search: BracketFinder,
    ) -> Option<Progress> {
        let end = match search.search(input.text, input.end) {
            Search::More => return Some(self.wait(PythonState::Nested { key, start, search })),
            Search::Fault(at) => return Some(Progress::Fault(at)),
            Search::Done(end) => end,
        };
        let raw = input.slice(start..end);
        match (python_literal(raw), &key) {
            (Some(json), _) => self.add(&key, &json),
            (None, Key::Named(key))
                if self.leniency == Leniency::Mend
                    && !holds_expression(raw)
                    && self.values.mended(key, raw) => {}
            (None, _) => return Some(Progress::Fault(start)),
        }
        self.at = end;
        self.go(PythonState::After)
    }

    fn add(&mut self, key: &Key, json: &str) {
        match key {
            Key::Named(key) => self.values.json(key, json),
            Key::Spread => self.values.object(json),
            Key::Nobody => {}
        }
    }

    fn after(&mut self, input: &Input<'_>) -> Option<Progress> {
        self.at = input.skip_space(self.at);
        match input.byte(self.at) {
            None => Some(self.wait(PythonState::After)),
            Some(b')') => Some(Progress::Done(self.at + 1)),
            Some(b',') => {
                self.at += 1;
                self.go(PythonState::Argument)
            }
            Some(_) => Some(Progress::Fault(self.at)),
        }
    }
}

/// Whether a quotation is open at the end of the text. The apostrophe of `it's`
/// opens none.
fn ends_in_quotation(text: &str) -> bool {
    let mut open = None;
    let mut previous = ' ';
    for c in text.chars() {
        match open {
            Some(quote) if quote == c => open = None,
            None if c == '"' || (c == '\'' && !previous.is_alphanumeric()) => open = Some(c),
            _ => {}
        }
        previous = c;
    }
    open.is_some()
}

/// Writes a call in Python's form, its values as `literal` writes them.
/// Arguments whose names are not Python names come last, as one dictionary.
pub(crate) fn write_call(call: &ToolCall, literal: fn(&str) -> String) -> String {
    let is_name = |key: &str| {
        key.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
            && key.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
    };
    let mut arguments: Vec<String> = Vec::new();
    let mut spread: Vec<String> = Vec::new();
    for (key, _, json) in call.args.members() {
        let value = literal(&json);
        if is_name(key) {
            arguments.push(format!("{key}={value}"));
        } else {
            spread.push(format!("{}:{value}", crate::json::quote(key)));
        }
    }
    if !spread.is_empty() {
        arguments.push(format!("**{{{}}}", spread.join(",")));
    }
    format!("{}({})", call.name, arguments.join(", "))
}

/// Writes a call as a Python expression.
pub(crate) fn write_python(call: &ToolCall) -> String {
    write_call(call, json_as_python)
}
