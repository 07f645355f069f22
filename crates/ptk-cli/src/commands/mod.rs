//! The commands, one file each.

#[cfg(feature = "browser")]
mod browser;
mod completions;
mod doctor;
mod index;
mod keys;
mod models;
mod parse;
mod permissions;
mod probe;
mod prompt;
mod replay;
pub(crate) mod run;
mod search;
mod serve;
mod sessions;
mod tools;
pub(crate) mod undo;

use std::io::{self, BufWriter, Write};

use anyhow::Result;

use crate::args::{Cli, Command};
use crate::chat;
use crate::exit::Exit;

/// Runs the command that was asked for.
pub(crate) fn run(cli: &Cli) -> Result<Exit> {
    let mut out = BufWriter::new(io::stdout());
    let exit = match &cli.command {
        Command::Run(args) => run::run(args, &mut out)?,
        Command::Chat(args) => chat::run(args, &mut out)?,
        Command::Resume(args) => run::resume(args, &mut out)?,
        Command::Sessions(command) => sessions::run(command, &mut out)?,
        Command::Replay(args) => replay::run(args, &mut out)?,
        Command::Parse(args) => parse::run(args, &mut out)?,
        Command::Prompt(args) => prompt::run(args, &mut out)?,
        Command::Tools(command) => tools::run(command, &mut out)?,
        Command::Undo(args) => undo::run(args, &mut out)?,
        Command::Index(args) => index::run(args, &mut out)?,
        Command::Search(args) => search::run(args, &mut out)?,
        Command::Serve(args) => serve::run(args)?,
        Command::Probe(args) => probe::run(args, &mut out)?,
        Command::Doctor(args) => doctor::run(args, &mut out)?,
        Command::Permissions(command) => permissions::run(command, &mut out)?,
        Command::Keys(command) => keys::run(command, &mut out)?,
        Command::Models(command) => models::run(command, &mut out)?,
        #[cfg(feature = "browser")]
        Command::Browser(command) => browser::run(command)?,
        Command::Completions(args) => completions::run(args, &mut out)?,
    };
    let flushed = out.flush();
    if exit == Exit::Success {
        flushed?;
    }
    Ok(exit)
}
