//! The contestants: each reads a text and says if what it found is wrong.

use std::cell::RefCell;
use std::error::Error;
use std::hint::black_box;
use std::pin::pin;
use std::task::{Context, Poll, Waker};

use dynamo_parsers_v2::{self as dynamo, UnifiedParserExt as _};
use llm_json::{RepairOptions, repair_json};
use memchr::memmem;
use ptk_protocol::{Event, Grammar, Parser, ToolSpec, json, parse};
use serde::de::IgnoredAny;
use serde_json::Value;
use tool_parser::{ParserFactory, ToolParser};

use crate::inputs::{grammar, pieces, tools};

/// What was found wrong, in words.
pub(crate) type Outcome = Result<(), String>;

/// Somebody who reads texts.
pub(crate) trait Contestant {
    /// Reads a whole text.
    fn read(&self, text: &str) -> Outcome;

    /// Looks, once and unmeasured, at whether the whole was read.
    fn check(&self, text: &str) -> Outcome {
        self.read(text)
    }

    /// Reads a text that comes in pieces.
    fn stream(&self, text: &str) -> Outcome {
        self.read(&pieces(text).collect::<String>())
    }
}

/// Reads in pieces instead of at once.
pub(crate) struct Streamer<C>(pub(crate) C);

impl<C: Contestant> Contestant for Streamer<C> {
    fn read(&self, text: &str) -> Outcome {
        self.0.stream(text)
    }
}

const OPEN: &str = "<tool_call>";
const CLOSE: &str = "\n</tool_call>";

/// Whether there should be a call: the inputs without one have no mark.
fn expected_calls(text: &str) -> usize {
    usize::from(memmem::find(text.as_bytes(), OPEN.as_bytes()).is_some())
}

fn same(found: usize, expected: usize) -> Outcome {
    if found == expected {
        Ok(())
    } else {
        Err(format!("{found} calls instead of {expected}"))
    }
}

/// This project.
pub(crate) struct Ptk(Grammar);

impl Ptk {
    pub(crate) fn fixed(dialect: &str) -> Result<Self, Box<dyn Error>> {
        grammar(dialect).map(Self)
    }

    pub(crate) fn auto() -> Result<Self, Box<dyn Error>> {
        grammar("auto").map(Self)
    }
}

impl Contestant for Ptk {
    fn read(&self, text: &str) -> Outcome {
        let reply = black_box(parse(text, &self.0));
        same(reply.runnable().count(), expected_calls(text))
    }

    fn stream(&self, text: &str) -> Outcome {
        let mut calls = 0;
        let mut parser = Parser::new(&self.0);
        let mut sink = |event: Event<'_>| {
            if let Event::CallEnd { call, .. } = &event {
                calls += usize::from(call.is_runnable());
            }
            black_box(event);
        };
        for piece in pieces(text) {
            parser.push_to(piece, &mut sink);
        }
        parser.finish_to(&mut sink);
        same(calls, expected_calls(text))
    }
}

/// The crate `tool-parser`, with its parser for a form.
pub(crate) struct Theirs {
    tools: serde_json::Value,
    /// Kept from one text to the next: it takes longer to build than to use.
    parser: RefCell<Box<dyn ToolParser>>,
}

impl Theirs {
    pub(crate) fn new(name: &str) -> Result<Self, Box<dyn Error>> {
        let tools = tools()?;
        let parser = ParserFactory::new().registry().create_parser(name);
        Ok(Self {
            tools: tools.iter().map(ToolSpec::function_definition).collect(),
            parser: RefCell::new(parser.ok_or("tool-parser has no such parser")?),
        })
    }
}

impl Contestant for Theirs {
    fn read(&self, text: &str) -> Outcome {
        let tools: Vec<_> =
            serde_json::from_value(self.tools.clone()).map_err(|error| error.to_string())?;
        let parser = self.parser.borrow();
        let (_, calls) = black_box(at_once(parser.parse_complete_with_tools(text, &tools)))?
            .map_err(|error| error.to_string())?;
        same(calls.len(), expected_calls(text))
    }

    fn stream(&self, text: &str) -> Outcome {
        let tools: Vec<_> =
            serde_json::from_value(self.tools.clone()).map_err(|error| error.to_string())?;
        let mut parser = self.parser.borrow_mut();
        parser.reset();
        let mut calls = 0;
        for piece in pieces(text) {
            let found = at_once(parser.parse_incremental(piece, tools.as_slice()))?
                .map_err(|error| error.to_string())?;
            calls += found
                .calls
                .iter()
                .filter(|call| call.name.is_some())
                .count();
            black_box(found);
        }
        same(calls, expected_calls(text))
    }
}

/// The crate `dynamo-parsers-v2`, with its parser for a form.
pub(crate) struct Dynamo {
    family: &'static str,
    tools: Vec<dynamo::Tool>,
}

impl Dynamo {
    pub(crate) fn new(family: &'static str) -> Result<Self, Box<dyn Error>> {
        let tools = tools()?;
        Ok(Self {
            family,
            tools: tools.iter().map(dynamo_tool).collect(),
        })
    }

    /// A parser reads one reply: that is how the crate is meant to be used.
    fn parser(&self) -> Result<Box<dyn dynamo::UnifiedParser>, String> {
        dynamo::create_unified_parser_for_family(self.family, &self.tools)
            .map_err(|error| error.to_string())
    }
}

/// A tool as dynamo takes it.
pub(crate) fn dynamo_tool(tool: &ToolSpec) -> dynamo::Tool {
    dynamo::Tool {
        name: tool.name.clone(),
        description: Some(tool.description.clone()),
        parameters: tool.parameters.clone(),
        strict: None,
    }
}

impl Contestant for Dynamo {
    fn read(&self, text: &str) -> Outcome {
        let mut parser = self.parser()?;
        let events = parser
            .parse_complete(text)
            .map_err(|error| error.to_string())?;
        let calls = black_box(events)
            .iter()
            .filter(|event| matches!(event, dynamo::UnifiedEvent::ToolCall { .. }))
            .count();
        same(calls, expected_calls(text))
    }

    fn stream(&self, text: &str) -> Outcome {
        let mut parser = self.parser()?;
        let mut calls = 0;
        let mut count = |output: dynamo::UnifiedParserOutput| {
            for event in black_box(&output.events) {
                if let dynamo::UnifiedParserEvent::ToolCall(call) = event {
                    calls += usize::from(call.complete);
                }
            }
        };
        for piece in pieces(text) {
            let mut output = dynamo::UnifiedParserOutput::default();
            parser
                .parse_into(piece, &mut output)
                .map_err(|error| error.to_string())?;
            count(output);
        }
        count(parser.finish().map_err(|error| error.to_string())?);
        same(calls, expected_calls(text))
    }
}

/// Runs a future that never waits.
pub(crate) fn at_once<T>(future: impl Future<Output = T>) -> Result<T, String> {
    match pin!(future).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(value) => Ok(value),
        Poll::Pending => Err("it waits".to_owned()),
    }
}

/// The limit: the mark is searched for, the JSON read strictly, and the text
/// copied, with nothing checked.
pub(crate) struct Strict;

impl Contestant for Strict {
    fn read(&self, text: &str) -> Outcome {
        let body = match memmem::find(text.as_bytes(), OPEN.as_bytes()) {
            Some(at) => {
                let (before, body) = text.split_at(at);
                black_box(before.to_owned());
                let body = body.trim_start_matches(OPEN);
                let end = memmem::rfind(body.as_bytes(), CLOSE.as_bytes());
                let (body, behind) = body.split_at(end.unwrap_or(body.len()));
                black_box(behind.to_owned());
                body
            }
            None if text.starts_with('{') => text,
            None => {
                black_box(text.to_owned());
                return Ok(());
            }
        };
        let value: Value = serde_json::from_str(body).map_err(|error| error.to_string())?;
        black_box(value);
        Ok(())
    }
}

/// The repair of JSON in this project.
pub(crate) struct Repairer;

impl Contestant for Repairer {
    fn read(&self, text: &str) -> Outcome {
        black_box(repair(text)?);
        Ok(())
    }

    fn check(&self, text: &str) -> Outcome {
        all_rows(text, &repair(text)?.json)
    }
}

fn repair(text: &str) -> Result<json::Repaired, String> {
    json::repair(text).map_err(|error| error.to_string())
}

/// Whether no row of a list was lost.
fn all_rows(text: &str, repaired: &str) -> Outcome {
    let value: Value = serde_json::from_str(repaired).map_err(|error| error.to_string())?;
    let rows = value.get("rows").and_then(Value::as_array);
    let found = rows.map_or(0, Vec::len);
    let expected = text.lines().count();
    if found == expected {
        Ok(())
    } else {
        Err(format!("{found} rows instead of {expected}"))
    }
}

/// The crate `llm_json`. It is spared its own check of the result.
pub(crate) struct Llm;

impl Llm {
    fn repair(text: &str) -> Result<String, String> {
        let options = RepairOptions {
            skip_json_loads: true,
            ..RepairOptions::default()
        };
        repair_json(text, &options).map_err(|error| error.to_string())
    }
}

impl Contestant for Llm {
    fn read(&self, text: &str) -> Outcome {
        black_box(Self::repair(text)?);
        Ok(())
    }

    fn check(&self, text: &str) -> Outcome {
        all_rows(text, &Self::repair(text)?)
    }
}

/// The limit of any repair: valid JSON is found valid and copied.
pub(crate) struct Checked;

impl Contestant for Checked {
    fn read(&self, text: &str) -> Outcome {
        serde_json::from_str::<IgnoredAny>(text).map_err(|error| error.to_string())?;
        black_box(text.to_owned());
        Ok(())
    }
}
