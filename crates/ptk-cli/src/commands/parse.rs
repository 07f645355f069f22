//! `ptk parse`: a model's reply in, its text, calls and problems out as JSON.

use std::io::{Read, Write};

use anyhow::{Context, Result, bail, ensure};
use ptk_protocol::Toolset;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::args::ParseArgs;
use crate::engine::{self, Request};
use crate::exit::{self, Exit};
use crate::input::{self, Lines};
use crate::tool_defs;

pub(crate) fn run(args: &ParseArgs, out: &mut impl Write) -> Result<Exit> {
    let tools = args
        .tool_defs
        .as_deref()
        .map(tool_defs::read_file)
        .transpose()?;
    if args.jsonl {
        let lines = Lines::new(args.source.open()?, input::MAX_INPUT);
        return parse_lines(lines, tools.as_ref(), &args.dialect, out);
    }
    let text = args.source.read()?;
    let json = if args.repair {
        engine::repair(&text)?
    } else {
        engine::parse(&Request {
            text: &text,
            chunks: None,
            tools: tools.as_ref(),
            dialect: &args.dialect,
        })?
    };
    writeln!(out, "{json}")?;
    Ok(Exit::Success)
}

/// One line of `--jsonl` input. Other fields are the caller's own.
#[derive(Debug, Deserialize)]
struct Case {
    input: Option<String>,
    tools: Option<Value>,
    dialect: Option<String>,
    chunks: Option<Vec<String>>,
}

/// Answers every case with one line. A case that cannot be read is answered
/// with an error, and the rest goes on.
fn parse_lines(
    mut lines: Lines<impl Read>,
    tools: Option<&Toolset>,
    dialect: &str,
    out: &mut impl Write,
) -> Result<Exit> {
    let (mut cases, mut failed) = (0_usize, 0_usize);
    while let Some(line) = lines.next_line()? {
        let number = line.number;
        let outcome = match line.text {
            Ok(text) if text.trim().is_empty() => continue,
            Ok(text) => parse_case(text, tools, dialect),
            Err(error) => Err(error.into()),
        };
        cases += 1;
        match outcome {
            Ok(json) => writeln!(out, "{json}")?,
            Err(error) => {
                failed += 1;
                let error = json!({"error": format!("line {number}: {error:#}")});
                writeln!(out, "{error}")?;
            }
        }
        // Whoever feeds cases one by one waits for each answer.
        if lines.is_drained() {
            out.flush()?;
        }
    }
    if failed == 0 {
        return Ok(Exit::Success);
    }
    out.flush()?;
    exit::say(&format!(
        "{failed} of {cases} cases could not be read; look for \"error\" in the output"
    ));
    Ok(Exit::Failed)
}

fn parse_case(line: &str, tools: Option<&Toolset>, dialect: &str) -> Result<String> {
    let case: Case = serde_json::from_str(line).map_err(|error| {
        anyhow::anyhow!(
            "column {}: {}; a case is {{\"input\": \"…\", \"tools\"?: […], \"dialect\"?: \"…\", \"chunks\"?: [\"…\"]}}",
            error.column(),
            input::without_position(&error)
        )
    })?;
    let text = match (case.input, &case.chunks) {
        (Some(text), None) => text,
        (None, Some(chunks)) => chunks.concat(),
        (Some(text), Some(chunks)) => {
            ensure!(
                text == chunks.concat(),
                "`chunks` put together are not `input`; leave one of them out"
            );
            text
        }
        (None, None) => bail!("`input` is missing: the text of the reply"),
    };
    let own_tools = case
        .tools
        .map(|tools| tool_defs::from_value(tools).context("`tools`"))
        .transpose()?;
    engine::parse(&Request {
        text: &text,
        chunks: case.chunks.as_deref(),
        tools: own_tools.as_ref().or(tools),
        dialect: case.dialect.as_deref().unwrap_or(dialect),
    })
}
