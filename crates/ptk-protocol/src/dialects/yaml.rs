//! `yaml`: `TOOL: f`, `ARGS:` and the arguments as a YAML mapping below it.

use std::borrow::Cow;

use saphyr_parser::{Event, Parser, ScalarStyle};
use serde_json::Value;

use super::engine::named_values::{NamedValues, Whole};
use super::{Dialect, Trigger, Writer};
use crate::parse::{Findings, Input, Reader, Step};
use crate::schema::{Schema, coerce_plain, coerce_text};
use crate::{ProblemCode, ToolCall, Toolset};

/// Nesting beyond this is refused.
const MAX_DEPTH: usize = 64;

/// Arguments as YAML (R34). It can appear in prose by accident, so it counts
/// only on lines of its own and with a declared tool's name. It has no closing
/// mark, so a reply that was cut off cannot be told from a whole one.
#[derive(Debug, Clone, Copy, Default)]
pub struct Yaml;

impl Dialect for Yaml {
    fn name(&self) -> &'static str {
        "yaml"
    }

    fn triggers(&self, _tools: Option<&Toolset>) -> Vec<Trigger> {
        vec![Trigger::at_line_start("TOOL:")]
    }

    fn reader(&self, _trigger: usize) -> Box<dyn Reader> {
        Box::new(YamlReader::default())
    }

    fn writer(&self) -> Option<&dyn Writer> {
        Some(self)
    }
}

impl Writer for Yaml {
    fn rules(&self) -> &[&'static str] {
        &[
            "Indent the arguments below ARGS: by two spaces, as YAML.",
            "Write text of several lines behind |, on the lines below it, indented further.",
        ]
    }

    fn reasoning_rule(&self) -> &'static str {
        "Say in REASONING why you need the tool."
    }

    fn shows_long_text(&self) -> bool {
        true
    }

    fn call(&self, call: &ToolCall) -> String {
        let mut text = format!("TOOL: {}", call.name);
        if let Some(reasoning) = &call.reasoning {
            text.push_str(&format!("\nREASONING: {}", scalar_line(reasoning)));
        }
        text.push_str("\nARGS:");
        if call.args.is_empty() {
            text.push_str(" {}");
        }
        for (key, value, json) in call.args.members() {
            let key = if is_plain_key(key) {
                key.to_owned()
            } else {
                quoted(key)
            };
            let value = match value {
                Value::String(string) => scalar(string),
                Value::Array(_) | Value::Object(_) => escape_controls(&json),
                _ => json,
            };
            text.push_str(&format!("\n  {key}: {value}"));
        }
        text
    }
}

fn is_plain_key(key: &str) -> bool {
    key.starts_with(|c: char| c.is_ascii_alphabetic())
        && key.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}

/// A string in the plainest form that reads back as itself.
fn scalar(text: &str) -> String {
    let plain = text
        .starts_with(|c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '/' | '_'))
        && text.chars().all(|c| {
            c.is_ascii_alphanumeric() || matches!(c, ' ' | '.' | '/' | '_' | '-' | '(' | ')' | '+')
        })
        && !text.ends_with(' ')
        && coerce_text(text, None).value.is_string()
        && !matches!(text, "~" | "---" | "...");
    if plain {
        return text.to_owned();
    }
    let block = text.contains('\n')
        && !text.starts_with([' ', '\n', '\t'])
        && !text.ends_with('\n')
        && text.lines().all(|line| {
            !line.is_empty() && !line.starts_with('\t') && !line.ends_with([' ', '\t'])
        })
        && text.chars().all(|c| c == '\n' || is_printable(c));
    if block {
        let mut lines = String::from("|-");
        for line in text.lines() {
            lines.push_str("\n    ");
            lines.push_str(line);
        }
        return lines;
    }
    quoted(text)
}

/// A reason on one line, plain where it reads back as itself.
fn scalar_line(text: &str) -> String {
    let plain = !text.is_empty()
        && text.trim() == text
        && !text.starts_with('"')
        && text.chars().all(is_printable);
    if plain { text.to_owned() } else { quoted(text) }
}

/// A string in double quotes; YAML reads JSON's strings, as long as
/// everything that is not printable is escaped.
fn quoted(text: &str) -> String {
    escape_controls(&Value::String(text.to_owned()).to_string())
}

fn escape_controls(json: &str) -> String {
    let mut text = String::with_capacity(json.len());
    for c in json.chars() {
        if is_printable(c) {
            text.push(c);
        } else {
            for unit in c.encode_utf16(&mut [0; 2]) {
                text.push_str(&format!("\\u{unit:04x}"));
            }
        }
    }
    text
}

fn is_printable(c: char) -> bool {
    !c.is_control()
        && !matches!(
            c,
            '\u{2028}' | '\u{2029}' | '\u{feff}' | '\u{fffe}' | '\u{ffff}'
        )
}

#[derive(Debug, Default)]
struct YamlReader {
    at: usize,
    searched: usize,
    stage: Stage,
    name: String,
    reasoning: Option<String>,
    body: usize,
    end: usize,
    ends_reply: bool,
}

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum Stage {
    #[default]
    Tool,
    Args,
    Body,
}

impl Reader for YamlReader {
    fn read(&mut self, input: &Input<'_>, out: &mut Findings) -> Step {
        loop {
            let (line, last) = match input.line_end(self.at, &mut self.searched) {
                Some(end) => (input.slice(self.at..end), false),
                None if input.end => (input.from(self.at), true),
                None => return Step::More,
            };
            let behind = (self.at + line.len() + 1).min(input.text.len());
            let text = line.trim_end();
            match self.stage {
                Stage::Tool => {
                    let Some(name) = header(text, "TOOL:").filter(|name| is_name(name)) else {
                        return Step::Reject;
                    };
                    if input.tools.is_some() && !input.declares(name) {
                        return Step::Reject;
                    }
                    name.clone_into(&mut self.name);
                    self.end = self.at + text.len();
                    self.stage = Stage::Args;
                }
                Stage::Args => {
                    if let Some(reasoning) = header(text, "REASONING:") {
                        self.reasoning = Some(
                            serde_json::from_str(reasoning)
                                .unwrap_or_else(|_| reasoning.to_owned()),
                        );
                        self.end = self.at + text.len();
                    } else if let Some(inline) = header(text, "ARGS:") {
                        self.body = self.at + (text.len() - inline.len());
                        self.end = self.at + text.len();
                        self.stage = Stage::Body;
                        if !inline.is_empty() {
                            return self.finish(input, out);
                        }
                        self.body = behind;
                    } else if !text.trim().is_empty() || last {
                        return self.without_args(input, out);
                    }
                }
                Stage::Body => {
                    let blank = text.trim().is_empty();
                    if !blank && !line.starts_with([' ', '\t']) && !self.is_parameter(text, input) {
                        return self.finish(input, out);
                    }
                    if !blank {
                        self.end = self.at + line.trim_end_matches('\r').len();
                    }
                }
            }
            if last {
                self.ends_reply = true;
                return match self.stage {
                    Stage::Body => self.finish(input, out),
                    Stage::Tool | Stage::Args => self.without_args(input, out),
                };
            }
            self.at = behind;
        }
    }
}

impl YamlReader {
    /// Models forget to indent: a line that starts with a parameter's name
    /// belongs to the arguments.
    fn is_parameter(&self, line: &str, input: &Input<'_>) -> bool {
        let Some((key, _)) = line.split_once(':') else {
            return false;
        };
        input
            .tools
            .and_then(|tools| tools.get(&self.name))
            .and_then(|tool| tool.properties())
            .is_some_and(|properties| properties.contains_key(key.trim()))
    }

    /// Only a line behind the arguments says that no more were to come.
    fn wholeness(&self) -> Whole {
        if self.ends_reply {
            Whole::Unsure
        } else {
            Whole::Yes
        }
    }

    fn without_args(&mut self, input: &Input<'_>, out: &mut Findings) -> Step {
        if !input.declares(&self.name) {
            return Step::Reject;
        }
        let mut values = NamedValues::new(std::mem::take(&mut self.name));
        if let Some(reasoning) = self.reasoning.take() {
            values.set_reasoning(reasoning);
        }
        values.finish(out, 0..self.end, self.wholeness());
        Step::Done(self.end)
    }

    fn finish(&mut self, input: &Input<'_>, out: &mut Findings) -> Step {
        let body = input.slice(self.body..self.end.max(self.body));
        let mut values = NamedValues::new(std::mem::take(&mut self.name));
        if let Some(reasoning) = self.reasoning.take() {
            values.set_reasoning(reasoning);
        }
        if ends_with_header(body) {
            values.finish(out, 0..self.end, Whole::No);
            return Step::Done(self.end);
        }
        if !body.trim().is_empty() {
            let members = if has_hidden_comment(body) {
                Err("a value has a # in it and no quotes".to_owned())
            } else {
                mapping(body, &values, input)
            };
            let members =
                members.or_else(|error| plain_lines(body, &mut values, input).ok_or(error));
            match members {
                Ok(members) => {
                    for (key, json) in members {
                        values.json(&key, &json);
                    }
                }
                Err(error) => {
                    let message = format!("The arguments are not a YAML mapping: {error}");
                    out.unreadable(
                        ProblemCode::Malformed,
                        message,
                        0..self.end,
                        input.slice(0..self.end),
                    );
                    return Step::Done(self.end);
                }
            }
        }
        values.finish(out, 0..self.end, self.wholeness());
        Step::Done(self.end)
    }
}

/// Whether the text ends with `name: |` and nothing below it: what was to be
/// written there is missing.
fn ends_with_header(body: &str) -> bool {
    let last = body.trim_end().lines().next_back().unwrap_or("");
    last.split_once(": ")
        .is_some_and(|(_, value)| matches!(value.trim(), "|" | "|-" | "|+" | ">" | ">-" | ">+"))
}

/// Whether YAML would drop the end of a plain value as a comment; models do
/// not write comments there, but commands.
fn has_hidden_comment(body: &str) -> bool {
    body.lines().any(|line| {
        line.split_once(": ").is_some_and(|(_, value)| {
            value.contains(" #") && !value.starts_with(['"', '\'', '[', '{', '|', '>'])
        })
    })
}

/// Reads lines of `name: value`, all indented alike, where the values are no
/// YAML: each is the rest of its line. `None` where there is anything else.
fn plain_lines(
    body: &str,
    values: &mut NamedValues,
    input: &Input<'_>,
) -> Option<Vec<(String, String)>> {
    let mut members = Vec::new();
    let mut indent = None;
    for line in body.lines().filter(|line| !line.trim().is_empty()) {
        let text = line.trim_start();
        let depth = line.len() - text.len();
        if *indent.get_or_insert(depth) != depth {
            return None;
        }
        let (key, value) = text.split_once(": ")?;
        let is_key = key
            .chars()
            .all(|c| c.is_alphanumeric() || matches!(c, '_' | '-'));
        let value = value.trim();
        if !is_key || key.is_empty() || value.starts_with(['"', '\'', '[', '{', '|', '>']) {
            return None;
        }
        members.push((
            key.to_owned(),
            coerce_plain(value, values.schema(key, input)).to_json(),
        ));
    }
    values.note(ProblemCode::MissingQuotes, 0..0);
    Some(members)
}

fn header<'a>(line: &'a str, word: &str) -> Option<&'a str> {
    let line = line.trim_start();
    line.get(..word.len())
        .filter(|start| start.eq_ignore_ascii_case(word))?;
    line.get(word.len()..).map(str::trim)
}

fn is_name(name: &str) -> bool {
    !name.is_empty() && !name.contains(char::is_whitespace)
}

/// Reads a YAML mapping; the tool's schema decides the types of plain values.
fn mapping(
    body: &str,
    values: &NamedValues,
    input: &Input<'_>,
) -> Result<Vec<(String, String)>, String> {
    let body = indent_with_spaces(body);
    let mut events = Events {
        parser: Parser::new_from_str(&body),
    };
    loop {
        match events.next()? {
            Event::StreamStart | Event::DocumentStart(_) | Event::Nothing => {}
            Event::MappingStart(..) => break,
            other => {
                return Err(format!(
                    "expected `name: value`, found {}",
                    describe(&other)
                ));
            }
        }
    }
    let mut members = Vec::new();
    loop {
        match events.next()? {
            Event::MappingEnd => break,
            Event::Scalar(key, ..) => {
                let key = key.into_owned();
                let schema = values.schema(&key, input);
                let mut json = String::new();
                let event = events.next()?;
                events.value(event, schema, &mut json, 0)?;
                members.push((key, json));
            }
            other => return Err(format!("a name cannot be {}", describe(&other))),
        }
    }
    Ok(members)
}

/// YAML refuses tabs in its indentation; models write them.
fn indent_with_spaces(body: &str) -> Cow<'_, str> {
    let indented = |line: &str| line.len() - line.trim_start_matches([' ', '\t']).len();
    let has_tabs = |line: &str| {
        line.get(..indented(line))
            .is_some_and(|space| space.contains('\t'))
    };
    if !body.lines().any(has_tabs) {
        return Cow::Borrowed(body);
    }
    let lines: Vec<String> = body
        .split('\n')
        .map(|line| {
            let (space, rest) = line.split_at(indented(line));
            format!("{}{rest}", space.replace('\t', "  "))
        })
        .collect();
    Cow::Owned(lines.join("\n"))
}

struct Events<'a> {
    parser: Parser<'a, saphyr_parser::StrInput<'a>>,
}

impl<'a> Events<'a> {
    fn next(&mut self) -> Result<Event<'a>, String> {
        match self.parser.next_event() {
            Some(Ok((event, _))) => Ok(event),
            Some(Err(error)) => Err(error.info().to_owned()),
            None => Err("the text ends too early".to_owned()),
        }
    }

    fn value(
        &mut self,
        event: Event<'a>,
        schema: Option<Schema<'_>>,
        json: &mut String,
        depth: usize,
    ) -> Result<(), String> {
        if depth > MAX_DEPTH {
            return Err("the values are nested too deeply".to_owned());
        }
        match event {
            // YAML's own spellings of null. A value that was left out is no
            // string: the reply may have been cut off before it.
            Event::Scalar(text, ScalarStyle::Plain, ..) if matches!(&*text, "" | "~") => {
                json.push_str("null");
            }
            Event::Scalar(text, ScalarStyle::Plain, ..) => {
                json.push_str(&coerce_plain(&text, schema).to_json());
            }
            Event::Scalar(text, ..) => json.push_str(&Value::String(text.into_owned()).to_string()),
            Event::SequenceStart(..) => {
                let items = schema.and_then(Schema::items);
                json.push('[');
                let mut first = true;
                loop {
                    let event = self.next()?;
                    if event == Event::SequenceEnd {
                        break;
                    }
                    if !first {
                        json.push(',');
                    }
                    first = false;
                    self.value(event, items, json, depth + 1)?;
                }
                json.push(']');
            }
            Event::MappingStart(..) => {
                json.push('{');
                let mut first = true;
                loop {
                    let key = match self.next()? {
                        Event::MappingEnd => break,
                        Event::Scalar(key, ..) => key.into_owned(),
                        other => return Err(format!("a name cannot be {}", describe(&other))),
                    };
                    if !first {
                        json.push(',');
                    }
                    first = false;
                    let schema = schema.and_then(|schema| schema.property(&key));
                    json.push_str(&Value::String(key).to_string());
                    json.push(':');
                    let event = self.next()?;
                    self.value(event, schema, json, depth + 1)?;
                }
                json.push('}');
            }
            other => return Err(format!("unexpected {}", describe(&other))),
        }
        Ok(())
    }
}

fn describe(event: &Event<'_>) -> &'static str {
    match event {
        Event::Scalar(..) => "a plain value",
        Event::SequenceStart(..) => "a list",
        Event::MappingStart(..) => "a mapping",
        Event::Alias(_) => "an alias",
        _ => "the end",
    }
}
