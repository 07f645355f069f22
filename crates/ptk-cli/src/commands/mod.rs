//! The commands, one file each.

#[cfg(feature = "browser")]
mod browser;
mod completions;
mod doctor;
#[cfg(feature = "search")]
mod index;
pub(crate) mod keys;
mod man_pages;
#[cfg(feature = "mcp")]
mod mcp;
pub(crate) mod models;
mod parse;
mod permissions;
mod probe;
mod prompt;
mod replay;
pub(crate) mod run;
#[cfg(feature = "search")]
mod search;
mod serve;
mod sessions;
mod setup;
mod tools;
pub(crate) mod undo;

use std::ffi::OsString;
use std::io::Write;

use anyhow::Result;

use crate::args::{
    Cli, Command, ExportFormat, KeysCommand, ModelsCommand, PermissionsCommand, SessionsCommand,
    ToolsCommand,
};
use crate::chat;
use crate::exit::{self, Exit};
use crate::printer::{self, Notation};
use crate::provider::NoModel;
use crate::setup::{Dialogue, Found, Outcome, choose, why_not_kept};
use crate::view;

/// Runs the requested command, and reports its failure.
pub(crate) fn run(cli: &Cli) -> Exit {
    let notation = if prints_json(&cli.command) {
        Notation::Json
    } else {
        Notation::Text
    };
    let mut out = printer::stdout().notation(notation);
    let performed = match confirm(&cli.command) {
        Ok(None) => perform(&cli.command, &mut out)
            .or_else(|error| without_model(&cli.command, error, &mut out)),
        Ok(Some(exit)) => Ok(exit),
        Err(error) => Err(error),
    };
    let flushed = out.flush();
    match performed {
        Ok(Exit::Success) => match flushed {
            Ok(()) => Exit::Success,
            Err(error) => exit::report(&error.into()),
        },
        Ok(exit) => exit,
        Err(error) if fails_in_json(&cli.command) => exit::report_json(&error, &mut out),
        Err(error) => exit::report(&error),
    }
}

/// Reports that the command line is not valid, or prints help.
pub(crate) fn refuse(answer: &clap::Error, args: impl Iterator<Item = OsString>) -> Exit {
    let exit = exit::print(answer);
    let mut args = args.take_while(|arg| arg != "--");
    if exit == Exit::WrongUsage && args.any(|arg| arg == "--json") {
        let mut out = printer::stdout().notation(Notation::Json);
        // If stdout is closed, the message is not needed.
        drop(view::failure(
            exit::WRONG_USAGE,
            &exit::in_short(answer),
            &mut out,
        ));
    }
    exit
}

/// Whether a command that fails says so as JSON on stdout. Those that print a
/// document say it on stderr.
fn fails_in_json(command: &Command) -> bool {
    let is_document = matches!(
        command,
        Command::Parse(_) | Command::Sessions(SessionsCommand::Export(_))
    );
    prints_json(command) && !is_document
}

/// Asks what has to be known before a command is performed. If it is not to be,
/// the result says how it ends.
fn confirm(command: &Command) -> Result<Option<Exit>> {
    match command {
        Command::Run(args) => run::confirm(args),
        _ => Ok(None),
    }
}

/// Performs a command that failed because no model is chosen, with the one that
/// a person chooses. Any other error stays as it is.
fn without_model(
    command: &Command,
    error: anyhow::Error,
    out: &mut (impl Write + Send),
) -> Result<Exit> {
    let missing: NoModel = error.downcast()?;
    if let Command::Serve(_) = command {
        return Err(missing.explained_to_serve(&Found::look()));
    }
    let asks = matches!(command, Command::Run(_) | Command::Chat(_));
    let dialogue = if asks && missing.can_be_chosen() {
        Dialogue::find()?
    } else {
        None
    };
    let Some(dialogue) = dialogue else {
        return Err(missing.explained(&Found::look()));
    };
    // Nothing is asked, typed and downloaded in vain.
    if let Some(error) = why_not_kept() {
        exit::note(&format!("A choice could not be kept: {error:#}."));
        return Err(missing.explained(&Found::look()));
    }
    match choose(dialogue, missing.note.as_deref())? {
        Outcome::Kept => perform(command, out),
        Outcome::Left(exit) => Ok(exit),
    }
}

fn perform(command: &Command, out: &mut (impl Write + Send)) -> Result<Exit> {
    Ok(match command {
        Command::Run(args) => run::run(args, out)?,
        Command::Chat(args) => chat::run(args, out)?,
        Command::Setup(args) => setup::run(args, out)?,
        Command::Resume(args) => run::resume(args, out)?,
        Command::Sessions(command) => sessions::run(command, out)?,
        Command::Replay(args) => replay::run(args, out)?,
        Command::Parse(args) => parse::run(args, out)?,
        Command::Prompt(args) => prompt::run(args, out)?,
        Command::Tools(command) => tools::run(command, out)?,
        Command::Undo(args) => undo::run(args, out)?,
        #[cfg(feature = "search")]
        Command::Index(args) => index::run(args, out)?,
        #[cfg(feature = "search")]
        Command::Search(args) => search::run(args, out)?,
        Command::Serve(args) => serve::run(args)?,
        #[cfg(feature = "mcp")]
        Command::Mcp(command) => mcp::run(command)?,
        Command::Probe(args) => probe::run(args, out)?,
        Command::Doctor(args) => doctor::run(args, out)?,
        Command::Permissions(command) => permissions::run(command, out)?,
        Command::Keys(command) => keys::run(command, out)?,
        Command::Models(command) => models::run(command, out)?,
        #[cfg(feature = "browser")]
        Command::Browser(command) => browser::run(command)?,
        Command::Completions(args) => completions::run(args, out)?,
        Command::ManPages(args) => man_pages::run(args)?,
    })
}

/// Whether a command prints JSON, which must stay valid on a terminal.
fn prints_json(command: &Command) -> bool {
    match command {
        Command::Run(args) => args.agent.json,
        Command::Resume(args) => args.agent.json,
        Command::Chat(args) => args.agent.json,
        Command::Setup(args) => args.json,
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
        #[cfg(feature = "search")]
        Command::Index(args) => args.json,
        #[cfg(feature = "search")]
        Command::Search(args) => args.json,
        Command::Probe(args) => args.json,
        Command::Doctor(args) => args.json,
        Command::Permissions(command) => match command {
            PermissionsCommand::List(args) => args.json,
            PermissionsCommand::Allow(_)
            | PermissionsCommand::Ask(_)
            | PermissionsCommand::Deny(_)
            | PermissionsCommand::Remove(_)
            | PermissionsCommand::Trust(_) => false,
        },
        Command::Keys(command) => match command {
            KeysCommand::List(args) => args.json,
            KeysCommand::Set(_) | KeysCommand::Remove(_) => false,
        },
        Command::Models(command) => match command {
            ModelsCommand::List(args) => args.json,
            ModelsCommand::Add(_) | ModelsCommand::Pull(_) | ModelsCommand::Remove(_) => false,
        },
        Command::Serve(_) | Command::Completions(_) | Command::ManPages(_) => false,
        #[cfg(feature = "mcp")]
        Command::Mcp(_) => false,
        #[cfg(feature = "browser")]
        Command::Browser(_) => false,
    }
}
