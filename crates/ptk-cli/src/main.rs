//! The `ptk` command: arguments in, data on stdout, everything else on stderr.
//!
//! [`args`] is the one definition of commands and flags; help, errors and
//! shell completions follow from it. Each command has a file in [`commands`].
//!
//! | Module | Purpose |
//! |---|---|
//! | `args`, `commands` | commands and flags, and a file for each command |
//! | `config`, `permissions`, `sessions` | `ptk.toml` and its trust, the rules in force, this user's sessions |
//! | `provider`, `provider_name`, `models`, `pages`, `local` | models by provider, by configured name, behind pages, in files |
//! | `agent`, `code`, `instructions` | all of these put together to a `Ptk`, the code index, the system prompt |
//! | `view`, `chat`, `printer` | output of a run, the terminal chat, and text made safe for terminals |
//! | `mcp` | the MCP servers of a run |
//! | `setup` | which models are within reach, and the choice of one |
//! | `ask`, `question`, `terminal`, `interrupt`, `long` | questions to the user, signals, and long work that can be interrupted |
//! | `dialect_file` | dialects that a model's own files describe |
//! | `completion` | what shells offer behind a command line that is typed |
//! | `attachments` | files whose content is added to a prompt |
//! | `engine`, `input`, `tool_defs`, `explain`, `person`, `exit` | parsing and tool calls from the command line, and how a command ends |
//! | `telemetry`, `diagnostics_log` | OpenTelemetry from the environment, and log lines on stderr |

mod agent;
mod args;
mod ask;
mod attachments;
mod chat;
#[cfg(feature = "search")]
mod code;
mod commands;
mod completion;
mod config;
mod diagnostics_log;
mod dialect_file;
mod engine;
mod exit;
mod explain;
mod input;
mod instructions;
mod interrupt;
#[cfg(feature = "local")]
mod local;
mod long;
mod mcp;
mod models;
#[cfg(feature = "browser")]
mod pages;
mod permissions;
mod person;
mod printer;
mod provider;
mod provider_name;
mod question;
mod sessions;
mod setup;
#[cfg(feature = "otel")]
mod telemetry;
mod terminal;
mod tool_defs;
mod view;

use std::process::ExitCode;

use tracing_subscriber::Registry;
use tracing_subscriber::layer::SubscriberExt as _;

fn main() -> ExitCode {
    // If this process is the helper that starts commands, it does not return.
    ptk_sandbox::command::enter();
    if let Some(answered) = completion::answer() {
        return answered.into();
    }
    let read = args::read(std::env::args_os());
    let wanted = read.as_ref().ok().and_then(|cli| cli.log.as_ref());
    let subscriber = Registry::default().with(diagnostics_log::layer(wanted));
    #[cfg(feature = "otel")]
    let sending = telemetry::from_env();
    #[cfg(feature = "otel")]
    let subscriber = subscriber.with(sending.layer());
    // Fails only where there is one already.
    drop(tracing::subscriber::set_global_default(subscriber));
    let ended = match read {
        Ok(cli) => commands::run(&cli),
        Err(answer) => commands::refuse(&answer, std::env::args_os()),
    };
    #[cfg(feature = "otel")]
    drop(sending);
    // A thread that is still running may hold one.
    ptk_sandbox::remove_temporary_folders();
    ended.into()
}
