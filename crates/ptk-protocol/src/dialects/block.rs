//! `block`: arguments by line, long values raw between a word and its
//! repetition, so that a model writing a file never has to escape it.
//!
//! ```text
//! <PTK_BLOCK write_file>
//! path: src/main.rs
//! content <<EOF
//! fn main() {
//!     println!("any \"text\" at all");
//! }
//! EOF
//! </PTK_BLOCK>
//! ```

use serde_json::Value;

use super::engine::named_values::{NamedValues, Says, Whole};
use super::engine::tolerant::find_ignoring_case;
use super::{Dialect, Trigger, Writer};
use crate::parse::{Findings, Input, MarkAt, Reader, Refusal, Step, floor, mark_at};
use crate::schema::coerce_text;
use crate::{ProblemCode, ToolCall};

const OPEN: &str = "<PTK_BLOCK ";
const CLOSE: &str = "</PTK_BLOCK>";
const WORD: &str = "EOF";
/// The longest opening line; a name and a reason fit.
const MAX_HEAD: usize = 4096;
/// How much of a line is examined to decide whether it is an argument.
const MAX_KEY_LINE: usize = 256;
/// How many blank lines may stand behind a raw value.
const MAX_BLANK_LINES: usize = 8;
/// Strings longer than this are written raw, between words.
const LONG_VALUE: usize = 120;

/// The dialect that writes long values raw. A raw value ends at the line that
/// repeats its word and behind which the next argument or the end of the call
/// follows; the writer picks a word that is not a line of the value. So any
/// content survives.
#[derive(Debug, Clone, Copy, Default)]
pub struct Block;

impl Dialect for Block {
    fn name(&self) -> &'static str {
        "block"
    }

    fn triggers(&self) -> Vec<Trigger> {
        vec![Trigger::anywhere(OPEN)]
    }

    fn reader(&self, _trigger: usize) -> Box<dyn Reader> {
        Box::new(BlockReader::default())
    }

    fn closers(&self) -> Vec<String> {
        vec![CLOSE.to_owned()]
    }

    fn writer(&self) -> Option<&dyn Writer> {
        Some(self)
    }
}

impl Writer for Block {
    fn rules(&self) -> Vec<String> {
        vec!["Write each argument on a line of its own, as name: value.".to_owned(), "Write text of several lines raw, between name <<EOF and a line with EOF alone. Escape nothing.".to_owned(), "If the text itself has a line EOF, use another word.".to_owned()]
    }

    fn shows_long_text(&self) -> bool {
        true
    }

    fn call(&self, call: &ToolCall) -> String {
        let mut text = format!("{OPEN}{}", call.name);
        if let Some(reasoning) = &call.reasoning {
            text.push_str(&format!(" reasoning={}", Value::String(reasoning.clone())));
        }
        text.push_str(">\n");
        for (key, value, json) in call.args.members() {
            let key = if is_plain_key(key) {
                key.to_owned()
            } else {
                Value::String(key.to_owned()).to_string()
            };
            match value {
                Value::String(string) if string.contains('\n') || string.len() > LONG_VALUE => {
                    let word = unused_word(string);
                    text.push_str(&format!("{key} <<{word}\n{string}\n{word}\n"));
                }
                Value::String(string) if is_plain(string) => {
                    text.push_str(&format!("{key}: {string}\n"));
                }
                _ => text.push_str(&format!("{key}: {json}\n")),
            }
        }
        text.push_str(CLOSE);
        text
    }
}

fn is_plain_key(key: &str) -> bool {
    !key.is_empty()
        && key
            .chars()
            .all(|c| c.is_alphanumeric() || matches!(c, '_' | '-' | '.'))
}

/// Whether a string reads back as itself behind `name: `.
fn is_plain(text: &str) -> bool {
    !text.is_empty()
        && text.trim() == text
        && !text.starts_with(['"', '<', '|', '>'])
        && !ends_with_close(text)
        && !text.contains(|c: char| c.is_control())
        && coerce_text(text, None).value.is_string()
}

/// Whether a line that starts with a word counts as its repetition.
fn ends_word(rest: &str) -> bool {
    rest.is_empty() || rest.eq_ignore_ascii_case(CLOSE)
}

fn ends_with_close(line: &str) -> bool {
    let line = line.trim_end();
    line.len()
        .checked_sub(CLOSE.len())
        .and_then(|start| line.get(start..))
        .is_some_and(|end| end.eq_ignore_ascii_case(CLOSE))
}

/// A word that is not a line of the text.
fn unused_word(text: &str) -> String {
    let mut word = WORD.to_owned();
    let mut number = 1;
    while text.lines().any(|line| {
        line.trim()
            .strip_prefix(word.as_str())
            .is_some_and(ends_word)
    }) {
        number += 1;
        word = format!("{WORD}{number}");
    }
    word
}

#[derive(Debug, Default)]
struct BlockReader {
    at: usize,
    searched: usize,
    values: Option<NamedValues>,
    declared: bool,
    raw: Option<Raw>,
    /// The start of a line that is not an argument, and how far the end of the
    /// call was searched behind it.
    broken: Option<(usize, usize)>,
}

/// A raw value that did not end yet.
#[derive(Debug)]
struct Raw {
    word: String,
    start: usize,
    line: usize,
    has_carriage_returns: bool,
}

/// The kind of a line between the marks.
enum BlockLine<'a> {
    Blank,
    Close(usize),
    Value(String, &'a str),
    Raw(String, &'a str),
    Other,
}

impl Reader for BlockReader {
    fn read(&mut self, input: &Input<'_>, out: &mut Findings) -> Step {
        if self.values.is_none()
            && let Err(step) = self.head(input)
        {
            return step;
        }
        loop {
            let step = if let Some((line, search)) = self.broken {
                Some(self.seek_end(input, out, line, search))
            } else if self.raw.is_some() {
                self.raw_value(input, out)
            } else {
                self.line(input, out)
            };
            if let Some(step) = step {
                return step;
            }
        }
    }
}

impl BlockReader {
    fn head(&mut self, input: &Input<'_>) -> Result<(), Step> {
        let rest = input.from(OPEN.len());
        let Some(end) = rest.find(['\n', '>']) else {
            let undecided = !input.end && rest.len() < MAX_HEAD;
            return Err(if undecided { Step::More } else { Step::Reject });
        };
        let name_end = rest.find([' ', '>', '\n']).unwrap_or(end);
        let name = rest.get(..name_end).unwrap_or("").trim();
        let mut close = end;
        let mut reasoning = None;
        if let Some(quoted) = rest
            .get(name_end..)
            .and_then(|attributes| attributes.trim_start().strip_prefix("reasoning="))
        {
            let start = rest.len() - quoted.len();
            let mut strings = serde_json::Deserializer::from_str(quoted).into_iter::<String>();
            match strings.next() {
                Some(Ok(text)) => {
                    close = start + strings.byte_offset();
                    reasoning = Some(text);
                }
                Some(Err(error)) if error.is_eof() && !input.end && rest.len() < MAX_HEAD => {
                    return Err(Step::More);
                }
                _ => return Err(Step::Reject),
            }
        }
        let Some(behind) = rest.get(close..).and_then(|rest| rest.chars().next()) else {
            return Err(if input.end { Step::Reject } else { Step::More });
        };
        if name.is_empty() || behind != '>' {
            return Err(Step::Reject);
        }
        // Only a tag that ends its line, or the call, opens a block; in prose
        // it is text.
        let line = rest
            .get(close + 1..)
            .unwrap_or("")
            .trim_start_matches([' ', '\t', '\r']);
        match (line.chars().next(), mark_at(line, &[CLOSE])) {
            (_, MarkAt::Partial) if !input.end => return Err(Step::More),
            (None | Some('\n'), _) | (_, MarkAt::Finding { .. }) => {}
            (Some(_), _) => match line.find('\n') {
                Some(end) if ends_with_close(line.get(..end).unwrap_or("")) => {}
                None if input.end && ends_with_close(line) => {}
                None if !input.end && rest.len() < MAX_HEAD => return Err(Step::More),
                _ => return Err(Step::Reject),
            },
        }
        self.declared = input.declares(name);
        let mut values = NamedValues::new(name.trim_matches('"'));
        if let Some(reasoning) = reasoning {
            values.set_reasoning(reasoning);
        }
        self.values = Some(values);
        self.at = OPEN.len() + close + 1;
        Ok(())
    }

    fn line(&mut self, input: &Input<'_>, out: &mut Findings) -> Option<Step> {
        let Some((line, behind)) = next_line(input, self.at, &mut self.searched) else {
            return Some(Step::More);
        };
        match read_line(line) {
            BlockLine::Close(length) => {
                let end = self.at + length;
                return Some(self.finish(out, self.at, end, Whole::Yes));
            }
            BlockLine::Blank if behind > input.text.len() => {
                return Some(self.unended(out, input.text.len()));
            }
            BlockLine::Blank => self.at = behind,
            BlockLine::Other if !may_become_argument(line) || behind <= input.text.len() => {
                self.broken = Some((self.at, self.at));
            }
            // YAML's way to write text of several lines, which this form lacks.
            BlockLine::Value(_, "|" | "|-" | ">" | ">-") => {
                self.broken = Some((self.at, self.at));
            }
            BlockLine::Value(key, value) if ends_with_close(value) => {
                let kept = value.len() - CLOSE.len();
                self.add(&key, value.get(..kept).unwrap_or("").trim_end(), input, out);
                let end = self.at + line.trim_end().len();
                return Some(self.finish(out, end - CLOSE.len(), end, Whole::Yes));
            }
            // A line that the end of the reply cuts off may not be whole.
            _ if behind > input.text.len() => {
                let end = input.text.len();
                return Some(self.cut(out, end));
            }
            BlockLine::Value(key, value) => {
                self.add(&key, value, input, out);
                self.at = behind;
            }
            BlockLine::Raw(key, word) => {
                if let Some(values) = &mut self.values {
                    values.open(&key, Says::Text, false, input);
                }
                self.raw = Some(Raw {
                    word: word.to_owned(),
                    start: behind,
                    line: behind,
                    has_carriage_returns: line.ends_with('\r'),
                });
                self.at = behind;
            }
            BlockLine::Other => return Some(self.unended(out, self.at)),
        }
        None
    }

    fn raw_value(&mut self, input: &Input<'_>, out: &mut Findings) -> Option<Step> {
        let raw = self.raw.as_mut()?;
        loop {
            let Some((line, behind)) = next_line(input, raw.line, &mut self.searched) else {
                return Some(Step::More);
            };
            if let Some(inner) = line.trim().strip_prefix(raw.word.as_str())
                && inner.eq_ignore_ascii_case(CLOSE)
            {
                let end = raw.line + line.trim_end().len();
                self.take_raw(input, out);
                return Some(self.finish(out, end - CLOSE.len(), end, Whole::Yes));
            }
            if line.trim() == raw.word {
                match continues(input, behind) {
                    None => return Some(Step::More),
                    Some(true) => {
                        self.take_raw(input, out);
                        self.at = behind.min(input.text.len());
                        return None;
                    }
                    Some(false) => {}
                }
            }
            if behind > input.text.len() || (input.end && behind == input.text.len()) {
                return Some(self.cut(out, input.text.len()));
            }
            raw.line = behind;
            // The line break before the word is not part of the value.
            if let Some(values) = &mut self.values {
                let value = input.slice(raw.start..behind - 1);
                values.grow(value.strip_suffix('\r').unwrap_or(value));
                if self.declared || input.tools.is_none() {
                    values.send(out);
                }
            }
        }
    }

    /// Adds an argument that stands on one line.
    fn add(&mut self, key: &str, value: &str, input: &Input<'_>, out: &mut Findings) {
        if let Some(values) = &mut self.values {
            match serde_json::from_str::<String>(value) {
                Ok(string) if value.starts_with('"') => values.verbatim(key, &string, input),
                _ => values.plain(key, value, input),
            }
            values.send(out);
        }
    }

    /// Adds the raw value that has come to its end.
    fn take_raw(&mut self, input: &Input<'_>, out: &mut Findings) {
        let Some(raw) = self.raw.take() else {
            return;
        };
        let end = raw.line.saturating_sub(1).max(raw.start);
        let mut value = input.slice(raw.start..end);
        if raw.has_carriage_returns {
            value = value.strip_suffix('\r').unwrap_or(value);
        }
        if let Some(values) = &mut self.values {
            values.close(value, input);
            values.send(out);
        }
    }

    /// Handles a line that is neither an argument nor the end. If the end mark
    /// comes later, the call is broken; if none comes before the next call, the
    /// mark is missing and the line is text for the user.
    fn seek_end(
        &mut self,
        input: &Input<'_>,
        out: &mut Findings,
        line: usize,
        search: usize,
    ) -> Step {
        let close = find_ignoring_case(input.text, search, CLOSE);
        let open = find_ignoring_case(input.text, search, OPEN);
        match close {
            Some(close) if open.is_none_or(|open| close < open) => {
                if let Some(values) = &mut self.values {
                    values.problem(
                        ProblemCode::Malformed,
                        "A line is neither `name: value` nor `name <<EOF`; \
                         write text of several lines between `name <<EOF` and `EOF`",
                        line..close,
                    );
                }
                if !self.declared && !self.values.as_ref().is_some_and(NamedValues::is_sent) {
                    out.examined(close);
                    return out.refuse(Refusal::UndeclaredTool);
                }
                self.finish(out, close, close + CLOSE.len(), Whole::No)
            }
            None if open.is_none() && !input.end => {
                self.broken = Some((line, input.resume_at(search, CLOSE.len())));
                Step::More
            }
            _ => self.unended(out, line),
        }
    }

    fn unended(&mut self, out: &mut Findings, end: usize) -> Step {
        if !self.values.as_ref().is_some_and(NamedValues::is_sent) {
            return self.cut(out, end);
        }
        if let Some(values) = &mut self.values {
            values.note(ProblemCode::MissingCloseMark, end..end);
        }
        self.finish(out, end, end, Whole::Unsure)
    }

    fn cut(&mut self, out: &mut Findings, end: usize) -> Step {
        let sent = self.values.as_ref().is_some_and(NamedValues::is_sent);
        if !sent && !self.declared {
            out.examined(end);
            return out.refuse(Refusal::UndeclaredTool);
        }
        self.finish(out, end, end, Whole::No)
    }

    /// Ends the call; what stands between `body` and `end` is its end mark.
    fn finish(&mut self, out: &mut Findings, body: usize, end: usize, whole: Whole) -> Step {
        if let Some(values) = self.values.take() {
            values.finish(out, 0..body, whole);
        }
        Step::Done(end)
    }
}

/// The line at `at` without its break, and the offset of the next one, which
/// lies behind the text where the reply ends without a break. `None` if more
/// of the line has to come.
fn next_line<'a>(input: &Input<'a>, at: usize, searched: &mut usize) -> Option<(&'a str, usize)> {
    match input.line_end(at, searched) {
        Some(end) => Some((input.slice(at..end), end + 1)),
        None if input.end => Some((input.from(at), input.text.len() + 1)),
        None => None,
    }
}

/// Whether the next argument or the end of the call follows; `None` if more
/// text is needed to decide.
fn continues(input: &Input<'_>, mut at: usize) -> Option<bool> {
    for _ in 0..MAX_BLANK_LINES {
        if at >= input.text.len() {
            return input.end.then_some(true);
        }
        let rest = input.from(at);
        let window = rest.get(..floor(rest, MAX_KEY_LINE)).unwrap_or("");
        let line = match window.find('\n') {
            Some(end) => window.get(..end).unwrap_or(""),
            None if input.end || rest.len() >= MAX_KEY_LINE => window,
            None => return None,
        };
        let behind = at + line.len() + 1;
        match read_line(line) {
            BlockLine::Blank => at = behind,
            BlockLine::Other => return Some(false),
            BlockLine::Close(_) | BlockLine::Value(..) | BlockLine::Raw(..) => return Some(true),
        }
    }
    Some(false)
}

fn read_line(line: &str) -> BlockLine<'_> {
    let line = line.strip_suffix('\r').unwrap_or(line);
    let trimmed = line.trim_start();
    if trimmed.is_empty() {
        return BlockLine::Blank;
    }
    if trimmed
        .get(..CLOSE.len())
        .is_some_and(|start| start.eq_ignore_ascii_case(CLOSE))
    {
        return BlockLine::Close(line.len() - trimmed.len() + CLOSE.len());
    }
    let Some((key, rest)) = read_key(trimmed) else {
        return BlockLine::Other;
    };
    let rest = rest.trim();
    if let Some(word) = rest.strip_prefix("<<") {
        let word = word
            .trim_start_matches('-')
            .trim()
            .trim_matches(['"', '\'']);
        let is_word = word
            .chars()
            .all(|c| c.is_alphanumeric() || matches!(c, '_' | '-'));
        return if is_word && !word.is_empty() {
            BlockLine::Raw(key, word)
        } else {
            BlockLine::Other
        };
    }
    match rest.strip_prefix(':') {
        Some(value) => match value.trim().strip_prefix("<<") {
            Some(word)
                if !word.is_empty() && word.chars().all(|c| c.is_alphanumeric() || c == '_') =>
            {
                BlockLine::Raw(key, word)
            }
            _ => BlockLine::Value(key, value.trim()),
        },
        None => BlockLine::Other,
    }
}

/// Whether a line that is not an argument may be the beginning of one.
fn may_become_argument(line: &str) -> bool {
    let line = line.trim_start();
    match read_key(line) {
        Some((_, rest)) => matches!(rest.trim(), "" | "<" | "<<"),
        None => line.starts_with('"') || CLOSE.starts_with(&line.to_ascii_uppercase()),
    }
}

/// The argument's name at the start of a line, plain or quoted.
fn read_key(line: &str) -> Option<(String, &str)> {
    if line.starts_with('"') {
        let mut strings = serde_json::Deserializer::from_str(line).into_iter::<String>();
        let key = strings.next()?.ok()?;
        return Some((key, line.get(strings.byte_offset()..)?));
    }
    let end = line
        .find(|c: char| !(c.is_alphanumeric() || matches!(c, '_' | '-' | '.')))
        .unwrap_or(line.len());
    let key = line.get(..end).filter(|key| !key.is_empty())?;
    Some((key.to_owned(), line.get(end..)?))
}
