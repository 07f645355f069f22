//! What the shell offers behind a command line that is being typed: besides
//! commands and flags, the names of tools, sessions and models.
//!
//! The script of `ptk completions` asks `ptk` itself, by a variable. What
//! cannot be read is left out, because a shell shows no error here.

use std::ffi::OsStr;

use clap::CommandFactory as _;
use clap_complete::CompleteEnv;
use clap_complete::engine::{ArgValueCandidates, ArgValueCompleter, CompletionCandidate};
use clap_complete::env::Shells;
use ptk::llm::http::SERVICES;
use ptk::store::{Listing, Store as _};

use crate::args::{Cli, ConfigArgs};
use crate::commands::run::runtime;
use crate::config::Settings;
use crate::exit::{self, Exit};
use crate::sessions as stored;
use crate::view::clean::in_line;

/// The variable by which the script asks.
const VARIABLE: &str = "PTK_COMPLETE";
const NAME: &str = "ptk";
/// As a file in zsh's `fpath`, the script is run by the first completion, and has
/// to answer it.
const ZSH_AUTOLOAD: &str = "
if [ \"$funcstack[1]\" = _ptk ]; then
    _clap_dynamic_completer_ptk \"$@\"
fi
";
/// The most sessions that are offered.
const MAX_SESSIONS: usize = 50;
/// The most characters of a description.
const MAX_ABOUT: usize = 60;

/// Answers the script of a shell, if that asks.
pub(crate) fn answer() -> Option<Exit> {
    let folder = std::env::current_dir().ok();
    let completing = CompleteEnv::with_factory(Cli::command).var(VARIABLE);
    match completing.try_complete(std::env::args_os(), folder.as_deref()) {
        Ok(false) => None,
        Ok(true) => Some(Exit::Success),
        Err(error) => Some(exit::report(&error.into())),
    }
}

/// The script for a shell.
pub(crate) fn script(shell: &str) -> std::io::Result<Vec<u8>> {
    let mut script = Vec::new();
    if let Some(shell) = Shells::builtins().completer(shell) {
        shell.write_registration(VARIABLE, NAME, NAME, NAME, &mut script)?;
    }
    if shell == "zsh" {
        script.extend_from_slice(ZSH_AUTOLOAD.as_bytes());
    }
    Ok(script)
}

/// Completes the name of a tool.
pub(crate) fn tool() -> ArgValueCandidates {
    ArgValueCandidates::new(all_tools)
}

/// Completes the last of several names of tools, with commas between them.
pub(crate) fn tools() -> ArgValueCompleter {
    ArgValueCompleter::new(|current: &OsStr| {
        let Some(current) = current.to_str() else {
            return Vec::new();
        };
        let at = current.rfind(',').map_or(0, |at| at + 1);
        let (before, begun) = current.split_at(at);
        let fits = |tool: &CompletionCandidate| {
            let name = tool.get_value().to_str();
            name.is_some_and(|name| name.starts_with(begun))
        };
        let tools = all_tools().into_iter().filter(fits);
        tools.map(|tool| tool.add_prefix(before)).collect()
    })
}

/// Completes the id of a session of this workspace.
pub(crate) fn session() -> ArgValueCandidates {
    ArgValueCandidates::new(|| sessions_here().unwrap_or_default())
}

/// Completes the name of a declared or an installed model.
pub(crate) fn model() -> ArgValueCandidates {
    ArgValueCandidates::new(|| {
        let declared = settings().and_then(|it| it.models().ok());
        let declared: Vec<String> = match &declared {
            Some(models) => models.names().map(str::to_owned).collect(),
            None => Vec::new(),
        };
        let names = declared.into_iter().chain(installed());
        names.map(CompletionCandidate::new).collect()
    })
}

/// Completes the name of a model that is installed.
pub(crate) fn installed_model() -> ArgValueCandidates {
    ArgValueCandidates::new(|| {
        let names = installed().into_iter();
        names.map(CompletionCandidate::new).collect()
    })
}

/// Completes the name of a provider.
pub(crate) fn provider() -> ArgValueCandidates {
    ArgValueCandidates::new(|| {
        let services = SERVICES.iter().map(|service| service.name);
        services.map(CompletionCandidate::new).collect()
    })
}

fn settings() -> Option<Settings> {
    Settings::read(&ConfigArgs::default()).ok()
}

fn all_tools() -> Vec<CompletionCandidate> {
    let Some(tools) = settings().and_then(|it| it.tools().ok()) else {
        return Vec::new();
    };
    let specs = tools.registry.toolset().iter();
    specs
        .map(|spec| described(&spec.name, &spec.description))
        .collect()
}

fn sessions_here() -> Option<Vec<CompletionCandidate>> {
    let settings = settings()?;
    let workspace = stored::workspace(settings.folder()).ok()?;
    let store = stored::open_to_read().ok()??;
    let listing = Listing::new(MAX_SESSIONS).workspace(workspace);
    let found = runtime().ok()?.block_on(store.sessions(listing)).ok()?;
    let found = found.iter();
    let offered = found.map(|session| described(stored::short(&session.id), session.name()));
    Some(offered.collect())
}

#[cfg(feature = "local")]
fn installed() -> Vec<String> {
    let library = ptk_local::Library::open_default().and_then(|library| library.list());
    let listing = library.ok();
    let models = listing.iter().flat_map(|listing| &listing.models);
    models.map(|model| model.entry.name.clone()).collect()
}

#[cfg(not(feature = "local"))]
const fn installed() -> Vec<String> {
    Vec::new()
}

/// A value with the beginning of its description.
fn described(value: &str, about: &str) -> CompletionCandidate {
    let about = in_line(about.lines().next().unwrap_or_default());
    let mut about: String = about.chars().take(MAX_ABOUT + 1).collect();
    if about.chars().count() > MAX_ABOUT {
        about.pop();
        about.push('…');
    }
    CompletionCandidate::new(value).help(Some(about.into()))
}
