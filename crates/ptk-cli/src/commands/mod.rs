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

use std::io::Write as _;

use anyhow::Result;

use crate::args::{
    Cli, Command, ExportFormat, KeysCommand, ModelsCommand, PermissionsCommand, SessionsCommand,
    ToolsCommand,
};
use crate::chat;
use crate::exit::Exit;
use crate::printer::{self, Notation};

/// Runs the requested command.
pub(crate) fn run(cli: &Cli) -> Result<Exit> {
    let notation = if prints_json(&cli.command) {
        Notation::Json
    } else {
        Notation::Text
    };
    let mut out = printer::stdout().notation(notation);
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

/// Whether a command prints JSON, which must stay valid on a terminal.
fn prints_json(command: &Command) -> bool {
    match command {
        Command::Run(args) => args.agent.json,
        Command::Resume(args) => args.agent.json,
        Command::Chat(args) => args.agent.json,
        Command::Sessions(command) => match command {
            SessionsCommand::List(args) => args.json,
            SessionsCommand::Show(args) => args.json,
            SessionsCommand::Search(args) => args.scope.json,
            SessionsCommand::Fork(args) => args.json,
            SessionsCommand::Export(args) => args.format == ExportFormat::Jsonl,
            SessionsCommand::Rename(_)
            | SessionsCommand::Import(_)
            | SessionsCommand::Delete(_)
            | SessionsCommand::Check(_) => false,
        },
        Command::Replay(args) => args.json,
        Command::Parse(args) => !args.explain,
        Command::Prompt(args) => args.json,
        Command::Tools(command) => match command {
            ToolsCommand::List(args) => args.json,
            ToolsCommand::Show(args) => args.json,
            ToolsCommand::Call(args) => args.json,
        },
        Command::Undo(args) => args.json,
        Command::Index(args) => args.json,
        Command::Search(args) => args.json,
        Command::Probe(args) => args.json,
        Command::Doctor(args) => args.json,
        Command::Permissions(command) => match command {
            PermissionsCommand::List(args) => args.json,
            PermissionsCommand::Remove(_) | PermissionsCommand::Trust(_) => false,
        },
        Command::Keys(command) => match command {
            KeysCommand::List(args) => args.json,
            KeysCommand::Set(_) | KeysCommand::Remove(_) => false,
        },
        Command::Models(command) => match command {
            ModelsCommand::List(args) => args.json,
            ModelsCommand::Add(_) | ModelsCommand::Pull(_) | ModelsCommand::Remove(_) => false,
        },
        Command::Serve(_) | Command::Completions(_) => false,
        #[cfg(feature = "browser")]
        Command::Browser(_) => false,
    }
}
