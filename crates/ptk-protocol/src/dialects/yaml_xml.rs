//! `yaml-xml`: an element named after the tool, with the arguments as YAML on
//! the lines in it.

use super::engine::named_values::{NamedValues, Whole};
use super::engine::yaml_body::{LineKind, YamlBody, key_of};
use super::engine::yaml_text::write_member;
use super::{Dialect, Trigger, Writer};
use crate::parse::{Findings, Input, Reader, Step};
use crate::{ProblemCode, ToolCall};

/// The dialect with YAML between a tool's own tags, as a middleware of the AI
/// SDK teaches it.
#[derive(Debug, Clone, Copy, Default)]
pub struct YamlXml;

impl Dialect for YamlXml {
    fn name(&self) -> &'static str {
        "yaml-xml"
    }

    fn triggers(&self) -> Vec<Trigger> {
        // What elements may start with, so that both forms are tried.
        vec![Trigger::tool_name("<", "> \n\t/")]
    }

    fn reader(&self, _trigger: usize) -> Box<dyn Reader> {
        Box::new(YamlXmlReader::default())
    }

    fn writer(&self) -> Option<&dyn Writer> {
        Some(self)
    }
}

impl Writer for YamlXml {
    fn rules(&self) -> Vec<String> {
        vec![
            "Write the arguments between the tags as YAML, one a line.".to_owned(),
            "Write text of several lines behind |, on the lines below it, indented by two spaces."
                .to_owned(),
        ]
    }

    fn reasoning_rule(&self) -> String {
        String::new()
    }

    fn shows_long_text(&self) -> bool {
        true
    }

    fn call(&self, call: &ToolCall) -> String {
        let mut text = format!("<{}>\n", call.name);
        for (key, value, json) in call.args.members() {
            text.push_str(&write_member(key, value, &json, "  "));
            text.push('\n');
        }
        text.push_str(&format!("</{}>", call.name));
        text
    }
}

#[derive(Debug, Default)]
struct YamlXmlReader {
    /// The start of the line that is read next; zero before the opening tag.
    at: usize,
    searched: usize,
    close: String,
    values: Option<NamedValues>,
    body: YamlBody,
    /// Whether only a call begins so.
    is_meant: bool,
    /// The end of the text that belongs to the arguments.
    end: usize,
}

impl Reader for YamlXmlReader {
    fn read(&mut self, input: &Input<'_>, out: &mut Findings) -> Step {
        loop {
            let (line, is_last) = match input.line_end(self.at, &mut self.searched) {
                Some(end) => (input.slice(self.at..end), false),
                None if input.end => (input.from(self.at), true),
                None if self.at == 0 && is_broken_head(input.text) => return Step::Reject,
                None => return Step::More,
            };
            let step = if self.values.is_none() {
                self.head(input, line)
            } else {
                self.line(input, out, line.trim_end_matches('\r'), is_last)
            };
            if let Some(step) = step {
                return step;
            }
            if is_last {
                return self.unended(input, out, Whole::No);
            }
            self.at += line.len() + 1;
        }
    }
}

impl YamlXmlReader {
    fn head(&mut self, input: &Input<'_>, line: &str) -> Option<Step> {
        let name = line.trim_end().strip_prefix('<');
        let name = name.and_then(|name| name.strip_suffix('>'));
        let Some(name) = name.filter(|name| input.declares(name)) else {
            return Some(Step::Reject);
        };
        self.close = format!("</{name}>");
        self.values = Some(NamedValues::new(name));
        self.end = line.trim_end().len();
        None
    }

    fn line(
        &mut self,
        input: &Input<'_>,
        out: &mut Findings,
        line: &str,
        is_last: bool,
    ) -> Option<Step> {
        let kind = self.body.kind(line);
        let text = line.trim();
        if kind == LineKind::Foreign {
            if text.starts_with(&self.close) {
                let behind = self.at + (line.len() - line.trim_start().len()) + self.close.len();
                return Some(self.finish(input, out, Whole::Yes, behind));
            }
            if is_last && self.close.starts_with(text) {
                return Some(self.unended(input, out, Whole::Unsure));
            }
            let whole = if self.body.is_in_text() {
                Whole::No
            } else {
                Whole::Unsure
            };
            return Some(self.unended(input, out, whole));
        }
        let values = self.values.as_mut()?;
        if is_last && kind != LineKind::Blank {
            // The end of the reply may have cut it off.
            if !self.body.is_in_text() || kind == LineKind::Key {
                self.end = self.at + line.len();
                return Some(self.unended(input, out, Whole::No));
            }
        }
        if kind == LineKind::Key && !self.is_meant {
            self.is_meant =
                key_of(text).is_some_and(|key| input.has_parameter(values.name(), &key));
        }
        self.body.line(self.at, line, values, input);
        if self.is_meant && self.body.has_something() {
            values.send(out);
        }
        if kind != LineKind::Blank {
            self.end = self.at + line.len();
        }
        if is_last {
            let whole = if self.body.is_in_text() {
                Whole::No
            } else {
                Whole::Unsure
            };
            return Some(self.unended(input, out, whole));
        }
        None
    }

    /// Ends a call whose closing tag is missing.
    fn unended(&mut self, input: &Input<'_>, out: &mut Findings, whole: Whole) -> Step {
        if !self.is_meant {
            out.examined(self.end);
            return Step::Reject;
        }
        if whole != Whole::No
            && let Some(values) = &mut self.values
        {
            values.note(ProblemCode::MissingCloseMark, self.end..self.end);
        }
        self.finish(input, out, whole, self.end)
    }

    fn finish(
        &mut self,
        input: &Input<'_>,
        out: &mut Findings,
        whole: Whole,
        behind: usize,
    ) -> Step {
        let Some(mut values) = self.values.take() else {
            return Step::Reject;
        };
        let range = 0..self.end;
        if whole == Whole::No {
            values.finish(out, range, whole);
            return Step::Done(behind);
        }
        match self.body.finish(&mut values, input) {
            Ok(()) => values.finish(out, range, whole),
            Err(_) if !self.is_meant => {
                out.examined(behind);
                return Step::Reject;
            }
            Err(error) => {
                let message = format!("The arguments are not a YAML mapping: {error}");
                values.problem(ProblemCode::Malformed, &message, range.clone());
                values.finish(out, range, Whole::No);
            }
        }
        Step::Done(behind)
    }
}

/// Whether this is not an opening tag with a line break behind it.
fn is_broken_head(text: &str) -> bool {
    text.find(['>', ' ', '\n', '\t', '/'])
        .and_then(|end| text.get(end..))
        .is_some_and(|rest| {
            !rest
                .strip_prefix('>')
                .is_some_and(|behind| behind.trim().is_empty())
        })
}
