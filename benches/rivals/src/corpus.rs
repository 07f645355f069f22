//! How right everybody reads the replies of a corpus, by dialect: all at once,
//! and as a stream.
//!
//! Each rival is given the parser that it has for the dialect; without one,
//! the row is not counted for it. PTK is not told the dialect.

use std::collections::BTreeMap;
use std::error::Error;
use std::path::Path;

use dynamo_parsers_v2 as dynamo;
use ptk_protocol::{Event, Grammar, Parser, Reply, Status, ToolSpec, Toolset, parse};
use serde_json::Value;
use tool_parser::ParserFactory;

use crate::inputs::pieces;
use crate::rivals::{at_once, dynamo_tool};
use crate::same::same;

type Failure = Box<dyn Error>;

/// A row of the corpus.
struct Row {
    dialect: String,
    tools: Vec<ToolSpec>,
    input: String,
    chunks: Vec<String>,
    calls: Vec<Call>,
    text: String,
}

/// A call: its name and arguments.
type Call = (String, Value);

/// What a parser read.
#[derive(Default)]
struct Read {
    calls: Vec<Call>,
    text: String,
}

/// How a reply was read, the worst first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Verdict {
    /// A call that is not expected, or not with these arguments.
    Wrong,
    /// Too few calls, or words of the answer are missing.
    Lost,
    /// The expected calls, but markup is shown as text.
    Leaked,
    Right,
}

#[derive(Default)]
struct Tally {
    counts: [usize; 4],
}

impl Tally {
    fn count(&mut self, verdict: Verdict) {
        let [right, wrong, lost, leaked] = &mut self.counts;
        *match verdict {
            Verdict::Right => right,
            Verdict::Wrong => wrong,
            Verdict::Lost => lost,
            Verdict::Leaked => leaked,
        } += 1;
    }

    fn show(&self) -> String {
        match self.counts {
            [0, 0, 0, 0] => "–".to_owned(),
            [right, wrong, lost, leaked] => format!("{right} / {wrong} / {lost} / {leaked}"),
        }
    }
}

/// The parsers that the rivals have for a dialect of the corpus: `tool-parser`'s
/// and dynamo's.
fn parsers_for(dialect: &str) -> (Option<&'static str>, Option<&'static str>) {
    match dialect {
        "deepseek_v3" => (Some("deepseek"), None),
        "deepseek_v3_1" => (Some("deepseek31"), None),
        "deepseek_v3_2" => (Some("deepseek32"), None),
        "deepseek_v4" => (Some("deepseek_v4"), Some("deepseek_v4")),
        "gemma4" => (Some("gemma4"), Some("gemma4")),
        "glm47" => (Some("glm47_moe"), Some("glm47")),
        "harmony" => (None, Some("harmony")),
        "qwen25" => (Some("qwen"), None),
        "kimi_k2" => (Some("kimik2"), Some("kimi_k2")),
        "llama3_json" => (Some("llama"), None),
        "minimax_m2" => (Some("minimax_m2"), Some("minimax_m2")),
        "mistral" => (Some("mistral"), None),
        "pythonic" => (Some("pythonic"), None),
        "qwen3_coder" => (Some("qwen_xml"), Some("qwen3_coder")),
        _ => (None, None),
    }
}

/// Words of markup that no answer should show.
const MARKUP: [&str; 14] = [
    "<tool_call",
    "</tool_call",
    "<function",
    "</function",
    "<parameter",
    "<arg_key",
    "<｜tool",
    "<｜DSML",
    "<|tool",
    "[TOOL_CALLS]",
    "<|python_tag|>",
    "<minimax:tool_call",
    "<|channel|>",
    "functools[",
];

/// Prints how the replies in `folder` are read.
pub(crate) fn run(folder: &Path) -> Result<(), Failure> {
    let file = folder.join("calls.jsonl");
    if !file.is_file() {
        println!(
            "There is no corpus in {}; set PTK_CORPUS to a folder with calls.jsonl",
            folder.display()
        );
        return Ok(());
    }
    let mut rows = Vec::new();
    for line in std::fs::read_to_string(&file)?.lines() {
        rows.push(row(&serde_json::from_str(line)?)?);
    }
    for (title, streamed) in [("at once", false), ("as a stream", true)] {
        let mut tallies: BTreeMap<&str, [Tally; 3]> = BTreeMap::new();
        for row in &rows {
            let tallies = tallies.entry(&row.dialect).or_default();
            let (theirs, dynamo) = parsers_for(&row.dialect);
            let reads = [
                Some(read_with_ptk(row, streamed)?),
                theirs.map(|name| read_with_tool_parser(name, row, streamed)),
                dynamo.map(|family| read_with_dynamo(family, row, streamed)),
            ];
            for (tally, read) in tallies.iter_mut().zip(reads) {
                if let Some(read) = read {
                    tally.count(verdict(row, &read));
                }
            }
        }
        println!("\nReplies read {title}: right / wrong / lost / leaked");
        println!(
            "{:<16}{:>20}{:>20}{:>20}",
            "", "PTK", "tool-parser", "dynamo"
        );
        for (dialect, [ptk, theirs, dynamo]) in &tallies {
            let (ptk, theirs, dynamo) = (ptk.show(), theirs.show(), dynamo.show());
            println!("{dialect:<16}{ptk:>20}{theirs:>20}{dynamo:>20}");
        }
    }
    Ok(())
}

fn row(value: &Value) -> Result<Row, Failure> {
    let text = |value: Option<&Value>| value.and_then(Value::as_str).unwrap_or("").to_owned();
    let specs: Vec<ToolSpec> =
        serde_json::from_value(value.get("tools").cloned().unwrap_or_default())?;
    let mut tools: Vec<ToolSpec> = Vec::new();
    for spec in specs {
        if !tools.iter().any(|known| known.name == spec.name) {
            tools.push(spec);
        }
    }
    let list = |value: Option<&Value>| value.and_then(Value::as_array).cloned().unwrap_or_default();
    let input = text(value.get("input"));
    let mut chunks: Vec<String> = list(value.get("chunks"))
        .iter()
        .map(|chunk| text(Some(chunk)))
        .collect();
    if chunks.concat() != input {
        chunks = pieces(&input).map(str::to_owned).collect();
    }
    Ok(Row {
        dialect: text(value.get("dialect")),
        tools,
        chunks,
        calls: list(value.pointer("/expect/calls"))
            .iter()
            .map(|call| {
                let args = call.get("args").cloned().unwrap_or_default();
                (text(call.get("name")), args)
            })
            .collect(),
        text: text(value.pointer("/expect/text")),
        input,
    })
}

fn verdict(row: &Row, read: &Read) -> Verdict {
    let mut expected = row.calls.iter();
    let known = read
        .calls
        .iter()
        .all(|found| expected.any(|call| call.0 == found.0 && same(&call.1, &found.1)));
    let leaks = |mark: &str| read.text.contains(mark) && !row.text.contains(mark);
    let mut shown = read.text.split_whitespace();
    let is_shown = row
        .text
        .split_whitespace()
        .all(|word| shown.any(|it| it == word));
    if !known {
        Verdict::Wrong
    } else if read.calls.len() < row.calls.len() || !is_shown {
        Verdict::Lost
    } else if MARKUP.into_iter().any(leaks) {
        Verdict::Leaked
    } else {
        Verdict::Right
    }
}

fn read_with_ptk(row: &Row, streamed: bool) -> Result<Read, Failure> {
    let grammar = Grammar::auto(Toolset::new(row.tools.clone())?)?;
    if !streamed {
        let reply: Reply = parse(&row.input, &grammar);
        let whole = reply
            .calls
            .iter()
            .filter(|call| call.status != Status::Truncated);
        let calls = whole
            .map(|call| {
                (
                    call.call.name.clone(),
                    Value::Object(call.call.args.as_map().clone()),
                )
            })
            .collect();
        return Ok(Read {
            calls,
            text: reply.text,
        });
    }
    let mut read = Read::default();
    let mut parser = Parser::new(&grammar);
    let mut sink = |event: Event<'_>| match event {
        Event::Text { text, .. } => read.text.push_str(&text),
        Event::CallEnd { call, .. } if call.status != Status::Truncated => {
            let args = Value::Object(call.call.args.as_map().clone());
            read.calls.push((call.call.name.clone(), args));
        }
        _ => {}
    };
    for chunk in &row.chunks {
        parser.push_to(chunk, &mut sink);
    }
    parser.finish_to(&mut sink);
    Ok(read)
}

/// Collects the calls of a stream, which come in fragments by their index.
#[derive(Default)]
struct Fragments(BTreeMap<usize, (String, String)>);

impl Fragments {
    fn add(&mut self, index: usize, name: Option<&str>, arguments: &str) {
        let call = self.0.entry(index).or_default();
        call.0.push_str(name.unwrap_or_default());
        call.1.push_str(arguments);
    }

    fn calls(self) -> Vec<Call> {
        let calls = self.0.into_values();
        calls.map(|(name, args)| call_of(name, &args)).collect()
    }
}

/// A call whose arguments are no JSON has none that could be right.
fn call_of(name: String, args: &str) -> Call {
    let args = if args.trim().is_empty() { "{}" } else { args };
    (name, serde_json::from_str(args).unwrap_or(Value::Null))
}

/// An error counts as nothing read: the reply is lost.
fn read_with_tool_parser(name: &str, row: &Row, streamed: bool) -> Read {
    let definitions: Value = row
        .tools
        .iter()
        .map(ToolSpec::function_definition)
        .collect();
    let factory = ParserFactory::new();
    let (Ok(tools), Some(mut parser)) = (
        serde_json::from_value::<Vec<_>>(definitions),
        factory.registry().create_parser(name),
    ) else {
        return Read::default();
    };
    if !streamed {
        let outcome = at_once(parser.parse_complete_with_tools(&row.input, &tools));
        let Ok(Ok((text, calls))) = outcome else {
            return Read::default();
        };
        let calls = calls.into_iter().map(|call| call.function);
        let calls = calls
            .map(|call| call_of(call.name, &call.arguments))
            .collect();
        return Read { calls, text };
    }
    let mut text = String::new();
    let mut fragments = Fragments::default();
    for chunk in &row.chunks {
        let Ok(Ok(found)) = at_once(parser.parse_incremental(chunk, &tools)) else {
            return Read::default();
        };
        text.push_str(&found.normal_text);
        for call in found.calls {
            fragments.add(call.tool_index, call.name.as_deref(), &call.parameters);
        }
    }
    for call in parser.get_unstreamed_tool_args().unwrap_or_default() {
        fragments.add(call.tool_index, call.name.as_deref(), &call.parameters);
    }
    text.push_str(&parser.take_unstreamed_normal_text());
    Read {
        calls: fragments.calls(),
        text,
    }
}

/// An error counts as nothing read: the reply is lost.
fn read_with_dynamo(family: &str, row: &Row, streamed: bool) -> Read {
    let tools: Vec<dynamo::Tool> = row.tools.iter().map(dynamo_tool).collect();
    let whole = [row.input.clone()];
    let chunks: &[String] = if streamed { &row.chunks } else { &whole };
    let read = if dynamo::canonical_unified_family(family).is_some() {
        unified(family, &tools, chunks)
    } else {
        tools_only(family, &tools, chunks)
    };
    read.unwrap_or_default()
}

/// Dynamo's parsers of text, reasoning and calls.
fn unified(family: &str, tools: &[dynamo::Tool], chunks: &[String]) -> Option<Read> {
    let mut parser = dynamo::create_unified_parser_for_family(family, tools).ok()?;
    parser
        .initialize_request(dynamo::UnifiedParserInit::default())
        .ok()?;
    let mut output = dynamo::UnifiedParserOutput::default();
    for chunk in chunks {
        parser.parse_into(chunk, &mut output).ok()?;
    }
    output.append(&mut parser.finish_at_eos().ok()?);
    let mut read = Read::default();
    for event in output.assembled() {
        match event {
            dynamo::UnifiedEvent::Text { text } => read.text.push_str(&text),
            dynamo::UnifiedEvent::ToolCall { name, arguments } => {
                read.calls.push((name, arguments));
            }
            _ => {}
        }
    }
    Some(read)
}

/// Dynamo's parsers of nothing but calls, where it has no other.
fn tools_only(family: &str, tools: &[dynamo::Tool], chunks: &[String]) -> Option<Read> {
    let mut parser = dynamo::create_tool_parser_for_family(family, tools).ok()?;
    let mut result = dynamo::ToolParseResult::default();
    for chunk in chunks {
        result.append(parser.push(chunk).ok()?);
    }
    result.append(parser.finish().ok()?);
    let result = result.coalesce_calls();
    let calls = result.calls.into_iter();
    Some(Read {
        calls: calls
            .map(|call| call_of(call.name.unwrap_or_default(), &call.arguments))
            .collect(),
        text: result.normal_text,
    })
}
