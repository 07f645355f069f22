//! `function`: `read_file(path="a.txt", limit=3)`, on lines of its own.

use serde_json::Value;

use super::engine::named_values::{NamedValues, Whole};
use super::engine::python::{Argument, CallEnd, Search, arguments};
use super::{Dialect, Trigger, Writer};
use crate::parse::{Findings, Input, Reader, Step};
use crate::{ProblemCode, ToolCall, Toolset};

/// A call as a function's (R35). It can appear in prose by accident, so it
/// counts only on lines of its own and with a declared tool's name.
#[derive(Debug, Clone, Copy, Default)]
pub struct Function;

impl Dialect for Function {
    fn name(&self) -> &'static str {
        "function"
    }

    fn triggers(&self, tools: Option<&Toolset>) -> Vec<Trigger> {
        tools
            .into_iter()
            .flat_map(Toolset::names)
            .map(|name| Trigger::at_line_start(format!("{name}(")))
            .collect()
    }

    fn reader(&self, _trigger: usize) -> Box<dyn Reader> {
        Box::new(FunctionReader::default())
    }

    fn writer(&self) -> Option<&dyn Writer> {
        Some(self)
    }
}

impl Writer for Function {
    fn rules(&self) -> &[&'static str] {
        &["Write the call on a line of its own, every argument by name, strings in double quotes."]
    }

    fn reasoning_rule(&self) -> &'static str {
        "Say behind # why you need the tool."
    }

    fn call(&self, call: &ToolCall) -> String {
        let named = |key: &str| {
            key.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
                && key.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
        };
        let mut arguments: Vec<String> = Vec::new();
        let mut spread: Vec<String> = Vec::new();
        for (key, _, json) in call.args.members() {
            if named(key) {
                arguments.push(format!("{key}={json}"));
            } else {
                spread.push(format!("{}:{json}", Value::String(key.to_owned())));
            }
        }
        if !spread.is_empty() {
            arguments.push(format!("**{{{}}}", spread.join(",")));
        }
        let call_text = format!("{}({})", call.name, arguments.join(", "));
        match &call.reasoning {
            None => call_text,
            Some(reasoning) if is_plain_comment(reasoning) => format!("{call_text}  # {reasoning}"),
            Some(reasoning) => format!("{call_text}  # {}", Value::String(reasoning.clone())),
        }
    }
}

fn is_plain_comment(text: &str) -> bool {
    !text.is_empty()
        && text.trim() == text
        && !text.starts_with('"')
        && !text.contains(|c: char| c.is_control())
}

#[derive(Debug, Default)]
struct FunctionReader {
    end: Option<CallEnd>,
    done: Option<usize>,
    searched: usize,
}

impl Reader for FunctionReader {
    fn read(&mut self, input: &Input<'_>, out: &mut Findings) -> Step {
        let Some(open) = input.text.find('(') else {
            return Step::Reject;
        };
        let name = input.slice(0..open);
        if !input.declares(name) {
            return Step::Reject;
        }
        let end = if let Some(end) = self.done {
            end
        } else {
            let search = self.end.get_or_insert_with(|| CallEnd::new(open + 1));
            match search.search(input.text, input.end) {
                Search::More if !input.end => return Step::More,
                Search::More => return truncated(input, out, name, open + 1),
                Search::Fault(at) => {
                    out.examined(at);
                    return Step::Reject;
                }
                Search::Done(end) => {
                    self.done = Some(end);
                    end
                }
            }
        };
        let line = match input.line_end(end, &mut self.searched) {
            Some(newline) => input.slice(end..newline),
            None if input.end => input.from(end),
            None => return Step::More,
        };
        let tail = line.trim();
        let comment = tail.strip_prefix('#').map(str::trim);
        out.examined(end + line.len());
        if !(tail.is_empty() || comment.is_some() || tail.starts_with("</")) {
            return Step::Reject;
        }
        let Some(arguments) = arguments(input.slice(open + 1..end - 1)) else {
            return Step::Reject;
        };
        let mut values = NamedValues::new(name);
        add(&mut values, arguments, input, open + 1..end - 1);
        let mut behind = end;
        if let Some(comment) = comment.filter(|comment| !comment.is_empty()) {
            let reasoning = serde_json::from_str(comment).unwrap_or_else(|_| comment.to_owned());
            values.set_reasoning(reasoning);
            behind = end + line.trim_end().len();
        }
        values.finish(out, 0..end, Whole::Yes);
        Step::Done(behind)
    }
}

/// Adds the arguments; those without a name are matched with the parameters
/// in the order in which they are declared.
fn add(
    values: &mut NamedValues,
    arguments: Vec<Argument>,
    input: &Input<'_>,
    range: std::ops::Range<usize>,
) {
    let mut parameters: Vec<String> = input
        .tools
        .and_then(|tools| tools.get(values.name()))
        .and_then(|tool| tool.properties())
        .map(|properties| properties.keys().rev().cloned().collect())
        .unwrap_or_default();
    let mut given: Vec<String> = Vec::new();
    for argument in arguments {
        match argument {
            Argument::Named(key, json) => {
                if given.contains(&key) {
                    let message = format!("The argument `{key}` is given twice");
                    values.problem(ProblemCode::InvalidArguments, &message, range.clone());
                }
                parameters.retain(|parameter| *parameter != key);
                values.json(&key, &json);
                given.push(key);
            }
            Argument::Spread(json) => values.object(&json),
            Argument::Positional(json) => match parameters.pop() {
                Some(key) => {
                    values.json(&key, &json);
                    values.note(ProblemCode::PositionalArguments, range.clone());
                    given.push(key);
                }
                None => values.problem(
                    ProblemCode::InvalidArguments,
                    "An argument has no name; write it as name=value",
                    range.clone(),
                ),
            },
        }
    }
}

/// A call that the end of the reply cut off, if it looks like one.
fn truncated(input: &Input<'_>, out: &mut Findings, name: &str, inside: usize) -> Step {
    let arguments = input.from(inside).trim_start();
    let key = arguments
        .find(|c: char| !(c.is_alphanumeric() || c == '_'))
        .unwrap_or(0);
    let looks_meant = key > 0
        && arguments
            .get(key..)
            .is_some_and(|rest| rest.trim_start().starts_with('='));
    if !looks_meant {
        return Step::Reject;
    }
    NamedValues::new(name).finish(out, 0..input.text.len(), Whole::No);
    Step::Done(input.text.len())
}
