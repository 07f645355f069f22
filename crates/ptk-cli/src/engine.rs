//! What the commands need of the protocol engine, and nothing else.

use std::sync::Arc;

use anyhow::Result;
use ptk_protocol::dialects::{Dialect, Registry};
use ptk_protocol::format::DefinitionStyle;
use ptk_protocol::{Formatter, Grammar, Parser, PtkFormatter, Reply, Toolset, json};

use crate::args::PromptStyle;

/// A reply to read.
#[derive(Debug)]
pub(crate) struct Request<'a> {
    /// The whole reply.
    pub(crate) text: &'a str,
    /// The same in the pieces in which the parser is to be fed.
    pub(crate) chunks: Option<&'a [String]>,
    /// The tools that the model was given, where that is known.
    pub(crate) tools: Option<&'a Toolset>,
    /// `auto`, or the name of a dialect.
    pub(crate) dialect: &'a str,
}

/// The names that `ptk parse --dialect` takes.
pub(crate) fn read_dialects() -> Vec<String> {
    let registry = Registry::builtin();
    let names = registry
        .all()
        .iter()
        .map(|dialect| dialect.name().to_owned());
    std::iter::once("auto".to_owned()).chain(names).collect()
}

/// The names that `ptk prompt --dialect` takes.
pub(crate) fn taught_dialects() -> Vec<String> {
    Registry::builtin()
        .all()
        .iter()
        .filter(|dialect| dialect.writer().is_some())
        .map(|dialect| dialect.name().to_owned())
        .collect()
}

/// Reads a reply and gives its outcome as one line of JSON. Text rather than a
/// value, so that no digit of a number is lost.
pub(crate) fn parse(request: &Request<'_>) -> Result<String> {
    let mut builder = Grammar::builder().dialect(request.dialect);
    if let Some(tools) = request.tools {
        builder = builder.tools(tools.clone());
    }
    let grammar = builder.build()?;
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

/// Mends one JSON-like value and gives it as one line of JSON.
pub(crate) fn repair(text: &str) -> Result<String> {
    let repaired = json::repair(text)?;
    // Read and written once more, to put it on one line.
    let value: &serde_json::value::RawValue = serde_json::from_str(&repaired.json)?;
    Ok(one_line(value.get()))
}

/// The system prompt for the tools, without a word about tools where there are
/// none.
pub(crate) fn prompt(tools: &Toolset, dialect: &str, style: PromptStyle) -> Result<String> {
    let registry = Registry::builtin();
    let dialect: Arc<dyn Dialect> = Arc::clone(registry.get(dialect)?);
    let style = match style {
        PromptStyle::Full => DefinitionStyle::Full,
        PromptStyle::Signature => DefinitionStyle::Signature,
    };
    let formatter = PtkFormatter::new(dialect)?.with_style(style);
    Ok(formatter.system_prompt(tools))
}

/// JSON without line breaks; those in strings are escaped already.
fn one_line(json: &str) -> String {
    json.lines().map(str::trim).collect::<Vec<_>>().join(" ")
}
