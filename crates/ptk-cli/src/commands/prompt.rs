//! `ptk prompt`: the system prompt for the given tools and dialect, or the
//! grammar of replies to it.

use std::io::Write;

use anyhow::{Result, anyhow};
use clap::ValueEnum;
use ptk_protocol::Toolset;
use ptk_protocol::dialects::Registry;
use serde_json::json;

use crate::args::dialects::{DIALECT, check_taught};
use crate::args::{Notation, PromptArgs};
use crate::config::Settings;
use crate::exit::{self, Exit};
use crate::{agent, dialect_file, engine, tool_defs};

pub(crate) fn run(args: &PromptArgs, out: &mut impl Write) -> Result<Exit> {
    let settings = Settings::read(&args.config)?;
    let registry = dialect_file::add(settings.dialects()?, &args.dialect)?;
    check_taught(&registry, DIALECT, &args.dialect)?;
    let (system, tools) = if let Some(path) = &args.tool_defs {
        (None, tool_defs::read_file(path)?)
    } else {
        let (system, tools) = agent::offer(&settings)?;
        (Some(system), tools)
    };
    if let Some(notation) = args.grammar {
        return grammar(args, notation, &registry, &tools, out);
    }
    let taught = engine::prompt(&registry, &tools, &args.dialect, args.style.into())?;
    let parts: Vec<String> = system.into_iter().chain([taught]).collect();
    let prompt = parts.join("\n\n");
    if args.json {
        let value = json!({
            "dialect": args.dialect,
            "style": name(&args.style),
            "prompt": prompt,
        });
        writeln!(out, "{value}")?;
    } else if !prompt.is_empty() {
        writeln!(out, "{}", prompt.trim_end_matches('\n'))?;
    }
    Ok(Exit::Success)
}

/// Prints the grammar of replies, and on stderr what it does not enforce.
fn grammar(
    args: &PromptArgs,
    notation: Notation,
    registry: &Registry,
    tools: &Toolset,
    out: &mut impl Write,
) -> Result<Exit> {
    let dialect = &args.dialect;
    let grammar = engine::reply_grammar(registry, tools, dialect)?.ok_or_else(|| {
        anyhow!(
            "there is no grammar of replies in the dialect {dialect:?} with these tools: it does \
             not write the arguments of a call as one JSON object between marks, or there are too \
             many tools; choose another with --dialect, such as ptk or hermes"
        )
    })?;
    let text = match notation {
        Notation::Gbnf => Some(grammar.to_string()),
        Notation::StructuralTag => grammar.structural_tag().map(|tag| tag.to_string()),
        Notation::Lark => grammar.lark(),
    };
    let text = text.ok_or_else(|| {
        anyhow!(
            "the grammar of the dialect {dialect:?} with these tools cannot be written in this \
             notation, or is too large; choose --grammar gbnf, or fewer tools"
        )
    })?;
    let outside = grammar.outside().iter();
    if args.json {
        let outside =
            outside.map(|it| json!({"tool": it.tool, "path": it.path, "keyword": it.keyword}));
        let value = json!({
            "dialect": dialect,
            "notation": name(&notation),
            "grammar": text,
            "outside": outside.collect::<Vec<_>>(),
        });
        writeln!(out, "{value}")?;
    } else {
        for outside in outside {
            exit::note(&format!("not enforced: {outside}"));
        }
        writeln!(out, "{}", text.trim_end_matches('\n'))?;
    }
    Ok(Exit::Success)
}

/// The value of a flag as it is written on the command line.
fn name(value: &impl ValueEnum) -> Option<String> {
    let value = value.to_possible_value()?;
    Some(value.get_name().to_owned())
}
