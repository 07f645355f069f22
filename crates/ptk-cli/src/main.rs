//! The `ptk` command: arguments in, data on stdout, everything else on stderr.
//!
//! [`args`] is the one definition of commands and flags; help, errors and
//! shell completions follow from it. Each command has a file in [`commands`].

mod approver;
mod args;
mod commands;
mod config;
mod engine;
mod exit;
mod explain;
mod input;
mod permissions;
mod person;
#[cfg(feature = "otel")]
mod telemetry;
mod tool_defs;

use std::process::ExitCode;

use clap::Parser;

fn main() -> ExitCode {
    // When it was run as the helper that starts commands, this is its end.
    ptk_sandbox::command::enter();
    #[cfg(feature = "otel")]
    let _sending = telemetry::start();
    match args::Cli::try_parse() {
        Ok(cli) => commands::run(&cli)
            .unwrap_or_else(|error| exit::report(&error))
            .into(),
        Err(answer) => exit::print(&answer).into(),
    }
}
