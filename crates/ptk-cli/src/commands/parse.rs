//! `ptk parse`: parses a model's reply into text, calls and problems, as JSON
//! or, with `--explain`, as text.

use std::io::{Read, Write};

use anyhow::{Context, Result, bail, ensure};
use ptk_protocol::Toolset;
use ptk_protocol::dialects::{Registry, response_template};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::args::ParseArgs;
use crate::args::dialects::check_read;
use crate::config::Settings;
use crate::dialect_file;
use crate::engine::{self, Request};
use crate::exit::{self, Exit};
use crate::explain::{self, Palette};
use crate::input::{self, Lines};
use crate::tool_defs;

/// The defaults for replies without settings of their own.
#[derive(Debug, Clone, Copy)]
struct Setting<'a> {
    tools: Option<&'a Toolset>,
    dialect: &'a str,
    registry: &'a Registry,
}

impl<'a> Setting<'a> {
    fn request(self, text: &'a str) -> Request<'a> {
        Request {
            text,
            chunks: None,
            starts_in_reasoning: false,
            tools: self.tools,
            dialect: self.dialect,
            registry: self.registry,
        }
    }
}

pub(crate) fn run(args: &ParseArgs, out: &mut impl Write) -> Result<Exit> {
    if args.repair {
        writeln!(out, "{}", engine::repair(&args.source.read()?)?)?;
        return Ok(Exit::Success);
    }
    let registry = Settings::read(&args.config)?.dialects()?;
    let registry = dialect_file::add(registry, &args.dialect)?;
    check_read(&registry, &args.dialect)?;
    if args.response_template {
        return write_template(&registry, &args.dialect, out);
    }
    let tools = args
        .tool_defs
        .as_deref()
        .map(tool_defs::read_file)
        .transpose()?;
    let setting = Setting {
        tools: tools.as_ref(),
        dialect: &args.dialect,
        registry: &registry,
    };
    if args.jsonl {
        let lines = Lines::new(args.source.open()?, input::MAX_INPUT);
        return parse_lines(lines, setting, out);
    }
    let text = args.source.read()?;
    let request = setting.request(&text);
    if args.explain {
        out.write_all(explain::report(&request, Palette::of_stdout())?.as_bytes())?;
    } else {
        writeln!(out, "{}", engine::parse(&request)?)?;
    }
    Ok(Exit::Success)
}

/// Prints a dialect as the template that other programs read replies by.
fn write_template(registry: &Registry, dialect: &str, out: &mut impl Write) -> Result<Exit> {
    ensure!(
        dialect != "auto",
        "`auto` is all dialects; name the one to write with --dialect"
    );
    let template = response_template::export(registry.get(dialect)?)?;
    writeln!(out, "{}", serde_json::to_string_pretty(&template)?)?;
    Ok(Exit::Success)
}

/// One line of `--jsonl` input. Other fields are ignored.
#[derive(Debug, Deserialize)]
struct Case {
    input: Option<String>,
    tools: Option<Value>,
    dialect: Option<String>,
    chunks: Option<Vec<String>>,
    #[serde(default)]
    starts_in_reasoning: bool,
}

/// Prints one line for each case. A case that cannot be parsed gives an error
/// line, and the rest continues.
fn parse_lines(
    mut lines: Lines<impl Read>,
    setting: Setting<'_>,
    out: &mut impl Write,
) -> Result<Exit> {
    let (mut cases, mut failed) = (0_usize, 0_usize);
    while let Some(line) = lines.next_line()? {
        let number = line.number;
        let outcome = match line.text {
            Ok(text) if text.trim().is_empty() => continue,
            Ok(text) => parse_case(text, setting),
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
        // A caller that sends cases one by one waits for each answer.
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

fn parse_case(line: &str, setting: Setting<'_>) -> Result<String> {
    let case: Case = serde_json::from_str(line).map_err(|error| {
        anyhow::anyhow!(
            "column {}: {}; a case is {{\"input\": \"…\", \"tools\"?: […], \"dialect\"?: \"…\", \"chunks\"?: [\"…\"], \"starts_in_reasoning\"?: true}}",
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
        chunks: case.chunks.as_deref(),
        starts_in_reasoning: case.starts_in_reasoning,
        tools: own_tools.as_ref().or(setting.tools),
        dialect: case.dialect.as_deref().unwrap_or(setting.dialect),
        ..setting.request(&text)
    })
}
