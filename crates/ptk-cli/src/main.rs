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
//! | `setup` | which models are within reach, and the choice of one |
//! | `question`, `approver`, `terminal`, `interrupt`, `long` | questions about calls, signals, and long work that can be interrupted |
//! | `dialect_file` | dialects that a model's own files describe |
//! | `engine`, `input`, `tool_defs`, `explain`, `person`, `exit` | parsing and tool calls from the command line, and how a command ends |
//! | `telemetry` | OpenTelemetry from the environment |

mod agent;
mod approver;
mod args;
mod chat;
#[cfg(feature = "search")]
mod code;
mod commands;
mod config;
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

fn main() -> ExitCode {
    // If this process is the helper that starts commands, it does not return.
    ptk_sandbox::command::enter();
    #[cfg(feature = "otel")]
    let _sending = telemetry::start();
    let ended = match args::read(std::env::args_os()) {
        Ok(cli) => commands::run(&cli).unwrap_or_else(|error| exit::report(&error)),
        Err(answer) => exit::print(&answer),
    };
    // A thread that is still running may hold one.
    ptk_sandbox::remove_temporary_folders();
    ended.into()
}
