//! The functions of the protocol engine that commands use.

use std::sync::Arc;

use anyhow::Result;
use ptk_protocol::dialects::{Dialect, Registry};
use ptk_protocol::format::DefinitionStyle;
use ptk_protocol::format::guard::Guard;
use ptk_protocol::gbnf::Gbnf;
use ptk_protocol::parse::Note;
use ptk_protocol::{
    Formatter, Grammar, Parser, PtkFormatter, Reply, Toolset, json, parse_explained,
};

/// A reply to parse.
#[derive(Debug)]
pub(crate) struct Request<'a> {
    /// The whole reply.
    pub(crate) text: &'a str,
    /// The same in the pieces that the parser is fed.
    pub(crate) chunks: Option<&'a [String]>,
    /// The tools that the model was given, if known.
    pub(crate) tools: Option<&'a Toolset>,
    /// Whether the prompt opened the model's reasoning.
    pub(crate) starts_in_reasoning: bool,
    /// `auto`, or the name of a dialect.
    pub(crate) dialect: &'a str,
    /// The available dialects.
    pub(crate) registry: &'a Registry,
}

/// The names that `ptk parse --dialect` takes.
pub(crate) fn read_dialects(registry: &Registry) -> Vec<String> {
    let names = registry
        .all()
        .iter()
        .map(|dialect| dialect.name().to_owned());
    std::iter::once("auto".to_owned()).chain(names).collect()
}

/// The names that `ptk prompt --dialect` takes.
pub(crate) fn taught_dialects(registry: &Registry) -> Vec<String> {
    registry
        .all()
        .iter()
        .filter(|dialect| dialect.writer().is_some())
        .map(|dialect| dialect.name().to_owned())
        .collect()
}

/// Parses a reply and returns the outcome as one line of JSON. Text rather than
/// a value, so that no digit of a number is lost.
pub(crate) fn parse(request: &Request<'_>) -> Result<String> {
    let grammar = grammar(request)?;
    let mut parser = Parser::new(&grammar);
    let mut reply = Reply::default();
    match request.chunks {
        Some(chunks) => {
            for chunk in chunks {
                parser.push_to(chunk, &mut |event| reply.absorb(event));
            }
        }
        None => parser.push_to(request.text, &mut |event| reply.absorb(event)),
    }
    parser.finish_to(&mut |event| reply.absorb(event));
    Ok(serde_json::to_string(&reply)?)
}

/// Parses a reply and returns notes on how it was parsed.
pub(crate) fn explain(request: &Request<'_>) -> Result<(Reply, Vec<Note>)> {
    Ok(parse_explained(request.text, &grammar(request)?))
}

fn grammar(request: &Request<'_>) -> Result<Grammar> {
    let mut builder = Grammar::builder()
        .registry(request.registry.clone())
        .dialect(request.dialect);
    if let Some(tools) = request.tools {
        builder = builder.tools(tools.clone());
    }
    if request.starts_in_reasoning {
        builder = builder.starts_in_reasoning();
    }
    Ok(builder.build()?)
}

/// Repairs one JSON-like value and returns it as one line of JSON.
pub(crate) fn repair(text: &str) -> Result<String> {
    let repaired = json::repair(text)?;
    // Parsed and written once more, to put it on one line.
    let value: &serde_json::value::RawValue = serde_json::from_str(&repaired.json)?;
    Ok(one_line(value.get()))
}

/// The system prompt for the tools; it does not mention tools if there are
/// none.
pub(crate) fn prompt(
    registry: &Registry,
    tools: &Toolset,
    dialect: &str,
    style: DefinitionStyle,
) -> Result<String> {
    let dialect: Arc<dyn Dialect> = Arc::clone(registry.get(dialect)?);
    let mut formatter = PtkFormatter::new(dialect)?.with_style(style);
    if registry.all().len() > Registry::builtin().all().len() {
        formatter = formatter.with_guard(Guard::for_registry(registry)?);
    }
    Ok(formatter.system_prompt(tools))
}

/// The grammar of replies with calls of these tools, if there is one.
pub(crate) fn reply_grammar(
    registry: &Registry,
    tools: &Toolset,
    dialect: &str,
) -> Result<Option<Gbnf>> {
    Ok(Gbnf::of_reply(tools, registry.get(dialect)?))
}

/// JSON without line breaks; those in strings are escaped already.
fn one_line(json: &str) -> String {
    json.lines().map(str::trim).collect::<Vec<_>>().join(" ")
}
