//! Arguments as a YAML mapping, read line by line: each is sent as soon as the
//! next one begins, and text of several lines while it comes in.

use std::borrow::Cow;
use std::ops::Range;

use saphyr_parser::{Event, Parser, ScalarStyle};
use serde_json::Value;

use super::literals::MAX_DEPTH;
use super::named_values::NamedValues;
use crate::ProblemCode;
use crate::parse::Input;
use crate::schema::{Schema, coerce_plain};

/// A tab counts as this many columns of indentation.
const TAB: usize = 2;

/// The arguments as far as they have come in.
#[derive(Debug, Default)]
pub(crate) struct YamlBody {
    /// The column at which the arguments start.
    base: Option<usize>,
    /// The argument that is coming in.
    entry: Option<Range<usize>>,
    block: Option<BlockText>,
    /// Why an argument could not be read.
    error: Option<String>,
    has_plain_lines: bool,
    /// Whether any argument is whole.
    has_values: bool,
}

/// Text of several lines behind `|`.
#[derive(Debug)]
struct BlockText {
    /// The column of the text, known from its first line.
    column: Option<usize>,
    /// How the last line break is treated.
    chomping: Chomping,
    /// Line breaks that have come and may turn out to be the last.
    breaks: usize,
    is_empty: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Chomping {
    Clip,
    Strip,
    Keep,
}

/// The kind of a line among the arguments.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LineKind {
    Blank,
    /// The line begins an argument.
    Key,
    /// The line continues an argument.
    Continues,
    /// The line does not belong to the arguments.
    Foreign,
}

impl YamlBody {
    /// The kind of the next line.
    pub(crate) fn kind(&self, line: &str) -> LineKind {
        let text = line.trim();
        let column = column(line);
        if text.is_empty() {
            LineKind::Blank
        } else if self.base.is_some_and(|base| column > base) {
            LineKind::Continues
        } else if key_of(text).is_some() {
            LineKind::Key
        } else if self.base.is_some() && text.starts_with(['-', '#', ']', '}']) {
            LineKind::Continues
        } else {
            LineKind::Foreign
        }
    }

    /// Takes the next line, which starts at `start`, without its line break.
    pub(crate) fn line(
        &mut self,
        start: usize,
        line: &str,
        values: &mut NamedValues,
        input: &Input<'_>,
    ) {
        if self.error.is_some() || self.block_line(line, values) {
            return;
        }
        let range = start..start + line.len();
        match self.kind(line) {
            LineKind::Blank => {}
            LineKind::Key | LineKind::Foreign => {
                self.close_entry(values, input);
                self.base = Some(column(line));
                match block_of(line.trim()) {
                    Some((key, chomping)) => {
                        values.open_string(&key);
                        self.block = Some(BlockText {
                            column: None,
                            chomping,
                            breaks: 0,
                            is_empty: true,
                        });
                    }
                    None => self.entry = Some(range),
                }
            }
            LineKind::Continues => match &mut self.entry {
                Some(entry) => entry.end = range.end,
                None => self.entry = Some(range),
            },
        }
    }

    /// Takes a line of the text behind `|`; `false` if it is not one.
    fn block_line(&mut self, line: &str, values: &mut NamedValues) -> bool {
        let Some(block) = &mut self.block else {
            return false;
        };
        let is_blank = line.trim().is_empty();
        let at = column(line);
        if is_blank && block.column.is_none_or(|column| at <= column) {
            block.breaks += 1;
            return true;
        }
        if !is_blank && self.base.is_none_or(|base| at <= base) {
            self.close_block(values);
            return false;
        }
        let column = *block.column.get_or_insert(at);
        if at < column {
            self.error = Some("a line is indented less than the text it belongs to".to_owned());
            return true;
        }
        for _ in 0..block.breaks {
            values.append("\n");
        }
        block.breaks = 1;
        block.is_empty = false;
        values.append(without_indentation(line, column));
        true
    }

    fn close_block(&mut self, values: &mut NamedValues) {
        if let Some(block) = self.block.take() {
            let breaks = match block.chomping {
                Chomping::Strip => 0,
                Chomping::Clip => usize::from(!block.is_empty),
                Chomping::Keep => block.breaks,
            };
            for _ in 0..breaks {
                values.append("\n");
            }
            values.close_string();
            self.has_values = true;
        }
    }

    /// Closes the argument that was coming in.
    fn close_entry(&mut self, values: &mut NamedValues, input: &Input<'_>) {
        self.close_block(values);
        let Some(entry) = self.entry.take() else {
            return;
        };
        let text = input.slice(entry);
        let members = if has_hidden_comment(text) {
            Err("a value has a # in it and no quotes".to_owned())
        } else {
            mapping(text, values, input)
        };
        let members = members.or_else(|error| {
            let members = plain_lines(text, values, input).ok_or(error)?;
            if !self.has_plain_lines {
                values.note(ProblemCode::MissingQuotes, 0..0);
            }
            self.has_plain_lines = true;
            Ok(members)
        });
        match members {
            Ok(members) => {
                for (key, json) in members {
                    values.json(&key, &json);
                }
                self.has_values = true;
            }
            Err(error) => self.error = Some(error),
        }
    }

    /// Whether any argument, or part of one, can be sent already.
    pub(crate) fn has_something(&self) -> bool {
        let has_text = |block: &BlockText| !block.is_empty;
        self.error.is_none() && (self.has_values || self.block.as_ref().is_some_and(has_text))
    }

    /// Whether text of several lines is coming in.
    pub(crate) fn is_in_text(&self) -> bool {
        self.block.is_some()
    }

    /// Whether the arguments end with `name: |` and nothing below it: what was
    /// to be written there is missing.
    pub(crate) fn lacks_text(&self, input: &Input<'_>) -> bool {
        let entry = self.entry.clone().map_or("", |entry| input.slice(entry));
        let last = entry.trim_end().lines().next_back().unwrap_or("");
        let is_header = |value: &str| matches!(value.trim(), "|" | "|-" | "|+" | ">" | ">-" | ">+");
        self.block.as_ref().is_some_and(|block| block.is_empty)
            || last
                .split_once(": ")
                .is_some_and(|(_, value)| is_header(value))
    }

    /// Ends the arguments; returns what is wrong with them.
    pub(crate) fn finish(
        &mut self,
        values: &mut NamedValues,
        input: &Input<'_>,
    ) -> Result<(), String> {
        self.close_entry(values, input);
        match self.error.take() {
            Some(error) => Err(error),
            None => Ok(()),
        }
    }
}

/// The column at which a line starts.
pub(crate) fn column(line: &str) -> usize {
    line.chars()
        .map_while(|c| match c {
            ' ' => Some(1),
            '\t' => Some(TAB),
            _ => None,
        })
        .sum()
}

/// The line from this column on.
fn without_indentation(line: &str, columns: usize) -> &str {
    let mut passed = 0;
    for (at, c) in line.char_indices() {
        if passed >= columns {
            return line.get(at..).unwrap_or("");
        }
        passed += if c == '\t' { TAB } else { 1 };
    }
    ""
}

/// The name with which a line begins, if it does.
pub(crate) fn key_of(text: &str) -> Option<Cow<'_, str>> {
    if text.starts_with('"') {
        let mut strings = serde_json::Deserializer::from_str(text).into_iter::<String>();
        return strings.next()?.ok().map(Cow::Owned);
    }
    if text.starts_with([
        '-', '#', '[', ']', '{', '}', '<', '|', '>', '&', '*', '!', '%', '@',
    ]) {
        return None;
    }
    let mut from = 0;
    while let Some(found) = text.get(from..)?.find(':') {
        let colon = from + found;
        let behind = text.get(colon + 1..)?;
        if behind.is_empty() || behind.starts_with([' ', '\t']) {
            let key = text.get(..colon)?.trim();
            return (!key.is_empty()).then(|| Cow::Borrowed(key.trim_matches('\'')));
        }
        from = colon + 1;
    }
    None
}

/// The name and the treatment of the last line break, where a line announces
/// text of several lines.
fn block_of(line: &str) -> Option<(String, Chomping)> {
    let (start, header) = line.rsplit_once(':')?;
    let chomping = match header.trim() {
        "|" => Chomping::Clip,
        "|-" => Chomping::Strip,
        "|+" => Chomping::Keep,
        _ => return None,
    };
    let key = key_of(line)?;
    let is_whole = if line.starts_with('"') {
        serde_json::from_str::<String>(start.trim_end()).is_ok()
    } else {
        key == start.trim().trim_matches('\'')
    };
    is_whole.then(|| (key.into_owned(), chomping))
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

/// Reads lines of `name: value`, all indented alike, where the values are not
/// YAML: each is the rest of its line. `None` where there is anything else.
fn plain_lines(
    body: &str,
    values: &NamedValues,
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
    Some(members)
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

/// Replaces tabs in the indentation, which YAML refuses and models write.
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
            // YAML's own spellings of null. A value that was left out is not a
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
