//! `xml`: `<tool name="f"><arg name="k">v</arg></tool>`.

use std::borrow::Cow;
use std::ops::Range;

use serde_json::Value;

use super::engine::named_values::{NamedValues, Whole};
use super::engine::tags::{Tag, decode, start_tag, trim_lines};
use super::engine::tolerant::find_ignoring_case;
use super::{Dialect, Trigger, Writer};
use crate::json::scan::{Scan, Scanner};
use crate::parse::{Findings, Input, MarkAt, Reader, Step, mark_at};
use crate::schema::coerce_text;
use crate::{ProblemCode, ToolCall, Toolset};

const CDATA: &str = "<![CDATA[";
const CDATA_END: &str = "]]>";
/// What a type attribute may say of a value that is not a string.
const JSON_TYPES: &[&str] = &["null", "boolean", "number", "integer", "array", "object"];
const ARG: &str = "<arg";
const ARG_END: &str = "</arg>";
const TOOL_END: &str = "</tool>";

/// Arguments as elements (R36). A value ends at the `</arg>` behind which the
/// next argument or the end of the call follows, so that it may hold markup;
/// in CDATA it may hold anything.
#[derive(Debug, Clone, Copy, Default)]
pub struct Xml;

impl Dialect for Xml {
    fn name(&self) -> &'static str {
        "xml"
    }

    fn triggers(&self, _tools: Option<&Toolset>) -> Vec<Trigger> {
        ["<tool ", "<tool\n", "<tool\t"]
            .map(Trigger::anywhere)
            .to_vec()
    }

    fn reader(&self, _trigger: usize) -> Box<dyn Reader> {
        Box::new(XmlReader::default())
    }

    fn closers(&self) -> Vec<String> {
        vec![TOOL_END.to_owned()]
    }

    fn writer(&self) -> Option<&dyn Writer> {
        Some(self)
    }
}

impl Writer for Xml {
    fn rules(&self) -> &[&'static str] {
        &["Put code and other text with < or & in it into <![CDATA[ … ]]>."]
    }

    fn shows_long_text(&self) -> bool {
        true
    }

    fn call(&self, call: &ToolCall) -> String {
        let mut text = format!("<tool name=\"{}\"", escape_attribute(&call.name));
        if let Some(reasoning) = &call.reasoning {
            text.push_str(&format!(" reasoning=\"{}\"", escape_attribute(reasoning)));
        }
        text.push('>');
        for (key, value, json) in call.args.members() {
            let (kind, value) = match value {
                Value::String(string) => ("", escape_value(string)),
                Value::Null => (" type=\"null\"", Cow::Owned(json)),
                Value::Bool(_) => (" type=\"boolean\"", Cow::Owned(json)),
                Value::Number(_) => (" type=\"number\"", Cow::Owned(json)),
                Value::Array(_) => (" type=\"array\"", Cow::Owned(escape_json(&json))),
                Value::Object(_) => (" type=\"object\"", Cow::Owned(escape_json(&json))),
            };
            let key = escape_attribute(key);
            text.push_str(&format!("\n<arg name=\"{key}\"{kind}>{value}</arg>"));
        }
        text.push_str("\n</tool>");
        text
    }
}

fn escape_attribute(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            c if c.is_control() => escaped.push_str(&format!("&#{};", u32::from(c))),
            c => escaped.push(c),
        }
    }
    escaped
}

/// JSON in which nothing can be taken for markup: `<` and `&` stand in strings
/// only, where they can be escaped.
fn escape_json(json: &str) -> String {
    json.replace('<', "\\u003c").replace('&', "\\u0026")
}

/// A string as it can stand in an element: as it is where it reads back as
/// the same string, else in CDATA.
fn escape_value(text: &str) -> Cow<'_, str> {
    let plain = !text.contains(['<', '&'])
        && text.trim() == text
        && !text.is_empty()
        && coerce_text(text, None).value.is_string();
    if plain {
        return Cow::Borrowed(text);
    }
    let safe = text.replace(CDATA_END, "]]]]><![CDATA[>");
    Cow::Owned(format!("{CDATA}{safe}{CDATA_END}"))
}

#[derive(Debug, Default)]
struct XmlReader {
    at: usize,
    /// How far white space behind `at` was skipped.
    space: usize,
    state: State,
    values: Option<NamedValues>,
    declared: bool,
}

/// An argument's name, and whether its type attribute says that it is JSON.
#[derive(Debug)]
struct Key {
    name: String,
    is_json: bool,
}

#[derive(Debug, Default)]
enum State {
    #[default]
    Head,
    Between,
    Lead {
        key: Key,
        start: usize,
    },
    Value {
        key: Key,
        start: usize,
        search: usize,
    },
    CData {
        key: Key,
        text: String,
        search: usize,
    },
    Body(Scanner, usize),
}

impl Reader for XmlReader {
    fn read(&mut self, input: &Input<'_>, out: &mut Findings) -> Step {
        loop {
            let step = match std::mem::take(&mut self.state) {
                State::Head => self.head(input, out),
                State::Between => self.between(input, out),
                State::Lead { key, start } => self.lead(input, key, start),
                State::Value { key, start, search } => self.value(input, out, key, start, search),
                State::CData { key, text, search } => self.cdata(input, out, key, text, search),
                State::Body(scanner, start) => self.body(input, out, scanner, start),
            };
            if let Some(step) = step {
                return step;
            }
        }
    }
}

impl XmlReader {
    fn head(&mut self, input: &Input<'_>, out: &mut Findings) -> Option<Step> {
        let tag = match start_tag(input, 0, "<tool") {
            Tag::More => {
                self.state = State::Head;
                return Some(Step::More);
            }
            Tag::None | Tag::Cut => return Some(Step::Reject),
            Tag::Found(tag) => tag,
        };
        let Some(name) = tag.attribute(input, "name").filter(|name| !name.is_empty()) else {
            return Some(Step::Reject);
        };
        self.declared = input.declares(&name);
        let mut values = NamedValues::new(name);
        if let Some(reasoning) = tag.attribute(input, "reasoning") {
            values.set_reasoning(reasoning);
        }
        self.at = tag.range.end;
        if tag.closed {
            values.finish(out, 0..self.at, Whole::Yes);
            return Some(Step::Done(self.at));
        }
        self.values = Some(values);
        self.state = State::Between;
        None
    }

    fn between(&mut self, input: &Input<'_>, out: &mut Findings) -> Option<Step> {
        self.space = input.skip_space(self.at.max(self.space));
        let at = self.space;
        let rest = input.from(at);
        match mark_at(rest, &[ARG, TOOL_END]) {
            MarkAt::Found { index: 1, length } => {
                return Some(self.finish(out, at, at + length, Whole::Yes));
            }
            MarkAt::Partial if !input.end => {
                self.state = State::Between;
                return Some(Step::More);
            }
            MarkAt::Partial if self.is_sent() && (rest.is_empty() || rest.starts_with("</")) => {
                return Some(self.unended(out, at + rest.len()));
            }
            MarkAt::Partial => return Some(self.cut(out, at + rest.len())),
            MarkAt::Found { .. } | MarkAt::None => {}
        }
        match start_tag(input, at, ARG) {
            Tag::More => {
                self.state = State::Between;
                Some(Step::More)
            }
            Tag::Cut => Some(self.cut(out, at + rest.len())),
            Tag::Found(tag) => {
                let Some(name) = tag.attribute(input, "name") else {
                    return Some(self.unended(out, self.at));
                };
                let is_json = tag
                    .attribute(input, "type")
                    .is_some_and(|kind| JSON_TYPES.contains(&&*kind));
                let key = Key { name, is_json };
                self.at = tag.range.end;
                if tag.closed {
                    let value = tag.attribute(input, "value").unwrap_or_default();
                    self.add(input, out, &key, &value);
                    self.state = State::Between;
                } else {
                    self.state = State::Lead {
                        key,
                        start: self.at,
                    };
                }
                None
            }
            Tag::None if rest.starts_with('{') && !self.is_sent() => {
                self.state = State::Body(Scanner::new(at), at);
                None
            }
            Tag::None => Some(self.unended(out, self.at)),
        }
    }

    /// Arguments given as one JSON object.
    fn body(
        &mut self,
        input: &Input<'_>,
        out: &mut Findings,
        mut scanner: Scanner,
        start: usize,
    ) -> Option<Step> {
        match scanner.scan(input.text) {
            Scan::More if !input.end => {
                self.state = State::Body(scanner, start);
                Some(Step::More)
            }
            Scan::Done(end) => {
                if let Some(values) = &mut self.values {
                    values.object(input.slice(start..end));
                    values.problem(
                        ProblemCode::FlatArguments,
                        "The arguments are a JSON object; write one element each",
                        start..end,
                    );
                    values.send(out);
                }
                self.at = end;
                self.state = State::Between;
                None
            }
            Scan::More => Some(self.cut(out, input.text.len())),
            Scan::Fault(_) => Some(self.unended(out, self.at)),
        }
    }

    /// The start of a value: CDATA, or text.
    fn lead(&mut self, input: &Input<'_>, key: Key, start: usize) -> Option<Step> {
        self.space = input.skip_space(start.max(self.space));
        let lead = self.space;
        match mark_at(input.from(lead), &[CDATA]) {
            MarkAt::Partial if !input.end => {
                self.state = State::Lead { key, start };
                return Some(Step::More);
            }
            MarkAt::Found { length, .. } => {
                self.at = lead + length;
                self.state = State::CData {
                    key,
                    text: String::new(),
                    search: self.at,
                };
            }
            MarkAt::Partial | MarkAt::None => {
                self.state = State::Value {
                    key,
                    start,
                    search: start,
                };
            }
        }
        None
    }

    /// A value ends at the first `</arg>` behind which the next argument or the
    /// end of the call follows, or with the call where its own end tag is
    /// missing. Any other end tag is content.
    fn value(
        &mut self,
        input: &Input<'_>,
        out: &mut Findings,
        key: Key,
        start: usize,
        mut search: usize,
    ) -> Option<Step> {
        let wait = |reader: &mut Self, key, search| {
            reader.state = State::Value { key, start, search };
            Some(Step::More)
        };
        loop {
            let Some((close, is_arg)) = next_end_tag(input.text, search) else {
                if !input.end {
                    return wait(self, key, input.resume_at(search, TOOL_END.len()));
                }
                return Some(self.cut(out, input.text.len()));
            };
            let length = if is_arg {
                ARG_END.len()
            } else {
                TOOL_END.len()
            };
            let behind = close + length;
            self.space = input.skip_space(behind.max(self.space));
            let next = mark_at(input.from(self.space), &[ARG, TOOL_END, "<tool "]);
            if next == MarkAt::Partial && !input.end {
                return wait(self, key, close);
            }
            let ends = match next {
                MarkAt::None => false,
                MarkAt::Partial | MarkAt::Found { index: 2, .. } => true,
                MarkAt::Found { .. } => is_arg,
            };
            if !ends {
                search = behind;
                continue;
            }
            let raw = input.slice(start..close);
            self.check_swallowed(raw, start..close);
            if is_arg {
                self.add(input, out, &key, &decode(trim_lines(raw)));
                self.at = behind;
                self.state = State::Between;
                return None;
            }
            if let Some(values) = &mut self.values {
                values.note(ProblemCode::MissingCloser, close..close);
            }
            self.add(input, out, &key, &decode(raw.trim_end()));
            return Some(self.finish(out, close, behind, Whole::Yes));
        }
    }

    /// A value that holds an end tag and then a start tag may have swallowed an
    /// argument or a call: the model has to say which.
    fn check_swallowed(&mut self, raw: &str, range: Range<usize>) {
        let swallowed = find_ignoring_case(raw, 0, ARG_END).is_some_and(|end| {
            let behind = raw.get(end..).unwrap_or("");
            ["<arg ", "<tool "]
                .iter()
                .any(|tag| find_ignoring_case(behind, 0, tag).is_some())
        });
        if swallowed && let Some(values) = &mut self.values {
            values.problem(
                ProblemCode::Malformed,
                "A value holds tags of the call itself; put it into <![CDATA[ … ]]>",
                range,
            );
        }
    }

    fn cdata(
        &mut self,
        input: &Input<'_>,
        out: &mut Findings,
        key: Key,
        mut text: String,
        search: usize,
    ) -> Option<Step> {
        let wait = |reader: &mut Self, key, text, search| {
            reader.state = State::CData { key, text, search };
            Some(Step::More)
        };
        let Some(found) = input.from(search).find(CDATA_END) else {
            if !input.end {
                return wait(self, key, text, input.resume_at(search, CDATA_END.len()));
            }
            return Some(self.cut(out, input.text.len()));
        };
        let end = search + found;
        self.space = input.skip_space((end + CDATA_END.len()).max(self.space));
        let next = self.space;
        match mark_at(input.from(next), &[CDATA, ARG_END, TOOL_END]) {
            MarkAt::Partial if !input.end => wait(self, key, text, end),
            MarkAt::Found { index: 0, length } => {
                text.push_str(input.slice(self.at..end));
                self.at = next + length;
                self.state = State::CData {
                    key,
                    text,
                    search: self.at,
                };
                None
            }
            MarkAt::Found { index, length } => {
                text.push_str(input.slice(self.at..end));
                if let Some(values) = &mut self.values {
                    values.verbatim(&key.name, &text, input);
                    if index == 2 {
                        values.note(ProblemCode::MissingCloser, next..next);
                    }
                    values.send(out);
                }
                self.at = if index == 2 { next } else { next + length };
                self.state = State::Between;
                None
            }
            // The end of a section that nothing fitting follows is content.
            MarkAt::Partial | MarkAt::None => {
                self.state = State::CData {
                    key,
                    text,
                    search: end + CDATA_END.len(),
                };
                None
            }
        }
    }

    fn add(&mut self, input: &Input<'_>, out: &mut Findings, key: &Key, value: &str) {
        if let Some(values) = &mut self.values {
            let literal = value.trim();
            if key.is_json && serde_json::from_str::<serde::de::IgnoredAny>(literal).is_ok() {
                values.json(&key.name, literal);
            } else if !(key.is_json && values.mended(&key.name, literal)) {
                values.text(&key.name, value, input);
            }
            if self.declared {
                values.send(out);
            }
        }
    }

    fn is_sent(&self) -> bool {
        self.values.as_ref().is_some_and(NamedValues::is_sent)
    }

    /// The call has no end tag, but something else follows or the reply ends.
    /// What it has is whole, unless it has nothing.
    fn unended(&mut self, out: &mut Findings, end: usize) -> Step {
        if !self.is_sent() {
            return Step::Reject;
        }
        if let Some(values) = &mut self.values {
            values.note(ProblemCode::MissingCloseMark, end..end);
        }
        self.finish(out, end, end, Whole::Unsure)
    }

    /// The reply ends inside the call.
    fn cut(&mut self, out: &mut Findings, end: usize) -> Step {
        if !self.is_sent() && !self.declared {
            out.examined(end);
            return Step::Reject;
        }
        self.finish(out, end, end, Whole::No)
    }

    /// Ends the call; what stands between `body` and `end` is its end tag.
    fn finish(&mut self, out: &mut Findings, body: usize, end: usize, whole: Whole) -> Step {
        if let Some(values) = self.values.take() {
            values.finish(out, 0..body, whole);
        }
        Step::Done(end)
    }
}

/// The first end tag of an argument or a call at or behind `from`, and whether
/// it is an argument's.
fn next_end_tag(text: &str, from: usize) -> Option<(usize, bool)> {
    let mut at = from;
    loop {
        let found = memchr::memmem::find(text.as_bytes().get(at..)?, b"</")?;
        at += found;
        match mark_at(text.get(at..)?, &[ARG_END, TOOL_END]) {
            MarkAt::Found { index, .. } => return Some((at, index == 0)),
            MarkAt::Partial => return None,
            MarkAt::None => at += 2,
        }
    }
}
