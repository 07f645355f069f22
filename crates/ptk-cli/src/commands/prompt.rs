//! `ptk prompt`: the system prompt for the given tools and dialect.

use std::io::Write;

use anyhow::Result;
use clap::ValueEnum;
use serde_json::json;

use crate::args::PromptArgs;
use crate::args::dialects::{DIALECT, check_taught};
use crate::config::Settings;
use crate::exit::Exit;
use crate::{dialect_file, engine, tool_defs};

pub(crate) fn run(args: &PromptArgs, out: &mut impl Write) -> Result<Exit> {
    let registry = Settings::read(&args.config)?.dialects()?;
    let registry = dialect_file::add(registry, &args.dialect)?;
    check_taught(&registry, DIALECT, &args.dialect)?;
    let tools = tool_defs::read_file(&args.tool_defs)?;
    let prompt = engine::prompt(&registry, &tools, &args.dialect, args.style.into())?;
    if args.json {
        let style = args.style.to_possible_value();
        let value = json!({
            "dialect": args.dialect,
            "style": style.as_ref().map(clap::builder::PossibleValue::get_name),
            "prompt": prompt,
        });
        writeln!(out, "{value}")?;
    } else if !prompt.is_empty() {
        writeln!(out, "{}", prompt.trim_end_matches('\n'))?;
    }
    Ok(Exit::Success)
}
