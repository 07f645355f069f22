//! `tool-block`: lines `TOOL_NAME: f`, and for each argument `BEGIN_ARG: k`,
//! its value and `END_ARG`, mostly in a fence.

use super::engine::botched::cut_end;
use super::engine::named_values::{NamedValues, Says, Whole};
use super::{Dialect, Trigger};
use crate::ProblemCode;
use crate::parse::{Findings, Input, Reader, Step, floor};

const NAME: &str = "TOOL_NAME:";
const BEGIN: &str = "BEGIN_ARG:";
const END: &str = "END_ARG";

/// The longest line outside the values.
const MAX_LINE: usize = 512;
/// How many empty lines may stand before the next argument.
const MAX_BLANK_LINES: usize = 8;

/// The dialect with values on lines of their own. Such lines can appear in
/// prose by accident, so they count only with a declared tool's name.
#[derive(Debug, Clone, Copy, Default)]
pub struct ToolBlock;

impl Dialect for ToolBlock {
    fn name(&self) -> &'static str {
        "tool-block"
    }

    fn triggers(&self) -> Vec<Trigger> {
        vec![Trigger::at_line_start(NAME)]
    }

    fn reader(&self, _trigger: usize) -> Box<dyn Reader> {
        Box::new(ToolBlockReader::default())
    }
}

#[derive(Debug, Default)]
struct ToolBlockReader {
    /// The start of the line that is read next.
    at: usize,
    searched: usize,
    /// The end of the text that belongs to the call.
    end: usize,
    values: Option<NamedValues>,
    value: Option<ToolBlockValue>,
}

/// An argument whose value is coming in.
#[derive(Debug)]
struct ToolBlockValue {
    key: String,
    start: usize,
    /// Whether it starts with a quote, so that it may be a string of JSON.
    is_quoted: bool,
    /// Whether its first line has come.
    is_open: bool,
}

/// The kind of a line around the values.
#[derive(Debug, PartialEq, Eq)]
enum ToolBlockLine<'a> {
    Blank,
    Begin(&'a str),
    /// A fence, or the next call.
    Border,
    Other,
}

impl Reader for ToolBlockReader {
    fn read(&mut self, input: &Input<'_>, out: &mut Findings) -> Step {
        loop {
            let (line, behind) = match input.line_end(self.at, &mut self.searched) {
                Some(end) => (input.slice(self.at..end), end + 1),
                None if input.end => (input.from(self.at), input.text.len() + 1),
                None => return Step::More,
            };
            let step = if self.values.is_none() {
                self.name(input, line)
            } else if self.value.is_some() {
                self.value_line(input, out, line, behind)
            } else {
                self.line(input, out, line, behind)
            };
            if let Some(step) = step {
                return step;
            }
            if behind > input.text.len() {
                return self.reply_ends(input, out);
            }
            self.at = behind;
        }
    }
}

impl ToolBlockReader {
    fn name(&mut self, input: &Input<'_>, line: &str) -> Option<Step> {
        let name = line.get(NAME.len()..).unwrap_or("").trim();
        if !input.declares(name) {
            return Some(Step::Reject);
        }
        self.end = self.at + line.trim_end().len();
        self.values = Some(NamedValues::new(name));
        None
    }

    fn line(
        &mut self,
        input: &Input<'_>,
        out: &mut Findings,
        line: &str,
        behind: usize,
    ) -> Option<Step> {
        match read_line(line) {
            ToolBlockLine::Blank => None,
            ToolBlockLine::Begin(key) => {
                self.end = self.at + line.trim_end().len();
                self.value = Some(ToolBlockValue {
                    key: key.to_owned(),
                    start: behind.min(input.text.len()),
                    is_quoted: false,
                    is_open: false,
                });
                if let Some(values) = &mut self.values {
                    values.send(out);
                }
                None
            }
            ToolBlockLine::Border => Some(self.finish(out, Whole::Yes)),
            ToolBlockLine::Other if self.is_sent() => Some(self.finish(out, Whole::Yes)),
            ToolBlockLine::Other => Some(Step::Reject),
        }
    }

    fn value_line(
        &mut self,
        input: &Input<'_>,
        out: &mut Findings,
        line: &str,
        behind: usize,
    ) -> Option<Step> {
        let value = self.value.as_mut()?;
        let values = self.values.as_mut()?;
        if line.trim() == END {
            match ends_value(input, behind) {
                None => return Some(Step::More),
                Some(true) => {
                    let end = self.at.saturating_sub(1).max(value.start);
                    let raw = input.slice(value.start..end);
                    let raw = raw.strip_suffix('\r').unwrap_or(raw);
                    close(values, value, raw, input);
                    values.send(out);
                    self.value = None;
                    self.end = self.at + line.trim_end().len();
                    return None;
                }
                Some(false) => {}
            }
        }
        if !value.is_open {
            value.is_open = true;
            value.is_quoted = line.starts_with('"');
            if !value.is_quoted {
                values.open(&value.key, Says::Nothing, false, input);
            }
        }
        // The last line break may turn out to be the one before the end.
        if !value.is_quoted {
            let end = self.at + line.trim_end_matches('\r').len();
            values.grow(input.slice(value.start..end));
            values.send(out);
        }
        None
    }

    fn reply_ends(&mut self, input: &Input<'_>, out: &mut Findings) -> Step {
        if let Some(value) = &self.value {
            // A value may hold fences, so that the one around it ends nothing.
            let is_fenced = input.stops.iter().any(|stop| stop.starts_with('\n'));
            self.end = if is_fenced {
                input.text.len()
            } else {
                cut_end(input, value.start)
            };
            return self.finish(out, Whole::No);
        }
        if !input.stops.is_empty()
            && let Some(values) = &mut self.values
        {
            values.note(ProblemCode::MissingCloseMark, self.end..self.end);
        }
        self.finish(out, Whole::Unsure)
    }

    fn is_sent(&self) -> bool {
        self.values.as_ref().is_some_and(NamedValues::is_sent)
    }

    fn finish(&mut self, out: &mut Findings, whole: Whole) -> Step {
        if let Some(values) = self.values.take() {
            values.finish(out, 0..self.end, whole);
        }
        Step::Done(self.end)
    }
}

/// Ends a value. Some models put strings into quotes.
fn close(values: &mut NamedValues, value: &ToolBlockValue, raw: &str, input: &Input<'_>) {
    if !value.is_open {
        values.text(&value.key, "", input);
    } else if !value.is_quoted {
        values.close(raw, input);
    } else {
        match serde_json::from_str::<String>(raw.trim_end()) {
            Ok(string) => values.verbatim(&value.key, &string, input),
            Err(_) => values.text(&value.key, raw, input),
        }
    }
}

/// Whether what follows at `at` shows that a value ended before it; `None` if
/// more text is needed to decide.
fn ends_value(input: &Input<'_>, mut at: usize) -> Option<bool> {
    for _ in 0..MAX_BLANK_LINES {
        if at >= input.text.len() {
            return input.end.then_some(true);
        }
        let rest = input.from(at);
        let window = rest.get(..floor(rest, MAX_LINE)).unwrap_or("");
        let line = match window.find('\n') {
            Some(end) => window.get(..end).unwrap_or(""),
            None if input.end || rest.len() >= MAX_LINE => window,
            None => return None,
        };
        match read_line(line) {
            ToolBlockLine::Blank => at += line.len() + 1,
            ToolBlockLine::Begin(_) | ToolBlockLine::Border => return Some(true),
            ToolBlockLine::Other => return Some(false),
        }
    }
    Some(false)
}

fn read_line(line: &str) -> ToolBlockLine<'_> {
    let line = line.trim();
    let is_fence = |mark: &str| {
        line.strip_prefix(mark)
            .is_some_and(|rest| rest.trim_matches(['`', '~']).is_empty())
    };
    if line.is_empty() {
        ToolBlockLine::Blank
    } else if let Some(key) = line.strip_prefix(BEGIN) {
        ToolBlockLine::Begin(key.trim())
    } else if is_fence("```") || is_fence("~~~") || line.starts_with(NAME) {
        ToolBlockLine::Border
    } else {
        ToolBlockLine::Other
    }
}
