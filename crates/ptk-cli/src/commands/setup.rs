//! `ptk setup`: the choice of a model.

use std::io::Write;

use anyhow::{Result, bail};
use serde_json::json;

use crate::args::SetupArgs;
use crate::exit::{self, Exit};
use crate::setup::{Dialogue, Found, Outcome, choose, declared, why_not_kept};

pub(crate) fn run(args: &SetupArgs, out: &mut impl Write) -> Result<Exit> {
    if args.json {
        return list(out);
    }
    let Some(dialogue) = Dialogue::find()? else {
        bail!(
            "there is no terminal to ask on; `ptk setup --json` lists what was found, and \
             provider and model under [run] in ~/.config/ptk/ptk.toml keep a choice"
        );
    };
    if let Some(error) = why_not_kept() {
        return Err(error.context("a choice could not be kept"));
    }
    match choose(dialogue, None)? {
        Outcome::Kept => {
            exit::note("Try it: ptk \"What does this folder do?\"");
            Ok(Exit::Success)
        }
        Outcome::Left(exit) => Ok(exit),
    }
}

fn list(out: &mut impl Write) -> Result<Exit> {
    for model in declared()? {
        writeln!(out, "{}", json!({"kind": "declared", "model": model}))?;
    }
    let found = Found::look();
    for object in found.objects() {
        writeln!(out, "{object}")?;
    }
    if let Some(problem) = &found.key_problem {
        exit::note(&format!("Stored keys are not used: {problem}."));
    }
    Ok(Exit::Success)
}
