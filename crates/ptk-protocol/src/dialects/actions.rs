//! `smolagents` and `command-r-plus`: `Action:` on a line, and JSON below it.

use super::engine::action::{ACTION, Action};
use super::{Dialect, Trigger, Writer};
use crate::ToolCall;
use crate::json::quote;
use crate::parse::Reader;

/// Dialects of agents that write a call behind `Action:`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Actions {
    /// One object, as in smolagents and similar agents.
    Smolagents,
    /// A list of calls in a fence, as in Cohere's Command R+.
    CommandRPlus,
}

impl Dialect for Actions {
    fn name(&self) -> &'static str {
        match self {
            Self::Smolagents => "smolagents",
            Self::CommandRPlus => "command-r-plus",
        }
    }

    fn triggers(&self) -> Vec<Trigger> {
        vec![Trigger::at_line_start(ACTION)]
    }

    fn reader(&self, _trigger: usize) -> Box<dyn Reader> {
        Box::new(Action::default())
    }

    fn writer(&self) -> Option<&dyn Writer> {
        Some(self)
    }
}

impl Writer for Actions {
    fn rules(&self) -> Vec<String> {
        let rule = match self {
            Self::Smolagents => "Valid JSON only: double quotes, no comments, no trailing commas.",
            Self::CommandRPlus => "Write a JSON list of the calls, valid and in a fence.",
        };
        vec![rule.to_owned()]
    }

    fn reasoning_rule(&self) -> String {
        String::new()
    }

    fn call(&self, call: &ToolCall) -> String {
        self.calls(std::slice::from_ref(call))
    }

    fn calls(&self, calls: &[ToolCall]) -> String {
        let calls = calls.iter();
        match self {
            Self::Smolagents => {
                let calls: Vec<String> = calls
                    .map(|call| format!("{ACTION}\n{}", object(call, "name", "arguments", "")))
                    .collect();
                calls.join("\n")
            }
            Self::CommandRPlus => {
                let calls: Vec<String> = calls
                    .map(|call| object(call, "tool_name", "parameters", "    "))
                    .collect();
                format!("{ACTION}\n```json\n[\n{}\n]\n```", calls.join(",\n"))
            }
        }
    }

    fn takes_several(&self) -> bool {
        matches!(self, Self::CommandRPlus)
    }
}

/// Writes a call as an object on several lines.
fn object(call: &ToolCall, name: &str, args: &str, indent: &str) -> String {
    let (tool, json) = (quote(&call.name), call.args.to_json());
    format!("{indent}{{\n{indent}  \"{name}\": {tool},\n{indent}  \"{args}\": {json}\n{indent}}}")
}
