//! How the command ends: its exit code, and its messages on stderr.

use std::io::{self, Write};
use std::process::ExitCode;

use ptk::RunError;

use crate::printer::{self, AnsiColor, Style};
use crate::view;
use crate::view::clean::visible;

/// The code of a command line that is not valid.
pub(crate) const WRONG_USAGE: &str = "WRONG_USAGE";

/// The exit codes. If there is nothing to clean up, an interrupt ends the
/// process by its signal, which shells report as 130 as well.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Exit {
    /// The command succeeded.
    Success,
    /// The command failed; stderr says why.
    Failed,
    /// The command line is not valid; stderr says what would be.
    WrongUsage,
    /// The user pressed Ctrl-C, and everything was cleaned up.
    Interrupted,
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        match exit {
            Exit::Success => Self::SUCCESS,
            Exit::Failed => Self::FAILURE,
            Exit::WrongUsage => Self::from(2),
            Exit::Interrupted => Self::from(130),
        }
    }
}

/// Prints clap's message: help and version on stdout, errors on stderr.
pub(crate) fn print(answer: &clap::Error) -> Exit {
    if !answer.use_stderr() {
        // Help is ptk's own text. If stdout is closed, there is nowhere to
        // report it.
        drop(answer.print());
        return Exit::Success;
    }
    // An error quotes the arguments, and names of files.
    let text = answer.render().to_string();
    match text.strip_prefix("error: ") {
        Some(message) => say(message.trim_end_matches('\n')),
        None => note(text.trim_end_matches('\n')),
    }
    Exit::WrongUsage
}

/// Reports on stderr why the command failed. A reader that closes the pipe, as
/// in `ptk parse … | head`, is not a failure.
pub(crate) fn report(error: &anyhow::Error) -> Exit {
    if is_broken_pipe(error) {
        return Exit::Success;
    }
    if let Some(answer) = error.downcast_ref::<clap::Error>() {
        return print(answer);
    }
    say(&format!("{error:#}"));
    if error.is::<WrongUsage>() {
        Exit::WrongUsage
    } else {
        Exit::Failed
    }
}

/// The same, and on `out` as a JSON object.
pub(crate) fn report_json(error: &anyhow::Error, out: &mut dyn Write) -> Exit {
    let exit = report(error);
    if exit != Exit::Success {
        let message = match error.downcast_ref::<clap::Error>() {
            Some(answer) => in_short(answer),
            None => format!("{error:#}"),
        };
        // If stdout is closed, the message is not needed.
        drop(view::failure(code(error, exit), &message, out));
    }
    exit
}

/// The first line of clap's message.
pub(crate) fn in_short(answer: &clap::Error) -> String {
    let text = answer.render().to_string();
    let text = text.strip_prefix("error: ").unwrap_or(&text);
    text.lines().next().unwrap_or_default().to_owned()
}

/// The code of an error, for programs.
fn code(error: &anyhow::Error, exit: Exit) -> &'static str {
    if let Some(error) = error.downcast_ref::<RunError>() {
        return error.name();
    }
    match error.downcast_ref::<Coded>() {
        Some(coded) => coded.code,
        None if exit == Exit::WrongUsage => WRONG_USAGE,
        None => "FAILED",
    }
}

/// An error that programs know by its code.
#[derive(Debug, thiserror::Error)]
#[error("{message}")]
struct Coded {
    code: &'static str,
    message: String,
}

/// The error that no model is chosen.
pub(crate) fn no_model(message: String) -> anyhow::Error {
    let code = "NO_MODEL";
    Coded { code, message }.into()
}

/// An error in the command line.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
struct WrongUsage(String);

/// The error for a command line that names something unknown.
pub(crate) fn wrong_usage(message: impl Into<String>) -> anyhow::Error {
    WrongUsage(message.into()).into()
}

/// Ends the process immediately. Everything that it has started ends with it.
#[allow(clippy::exit, reason = "somebody insists, and nothing else has helped")]
pub(crate) fn leave() -> ! {
    ptk_sandbox::remove_temporary_folders();
    std::process::exit(130)
}

/// Writes an error message to stderr, coloured where that is a terminal.
pub(crate) fn say(message: &str) {
    const LABEL: Style = AnsiColor::Red.on_default().bold();
    // If stderr is closed, there is nowhere to report it.
    drop(writeln!(
        printer::stderr(),
        "{LABEL}error:{LABEL:#} {}",
        visible(message)
    ));
}

/// Writes a note to stderr.
pub(crate) fn note(text: &str) {
    drop(writeln!(printer::stderr(), "{}", visible(text)));
}

/// Writes the input prompt.
pub(crate) fn prompt(mark: &str) {
    const MARK: Style = AnsiColor::Magenta.on_default().bold();
    let mut stderr = printer::stderr();
    drop(write!(stderr, "{MARK}{mark}{MARK:#}"));
    drop(stderr.flush());
}

pub(crate) fn is_broken_pipe(error: &anyhow::Error) -> bool {
    error
        .chain()
        .filter_map(|cause| cause.downcast_ref::<io::Error>())
        .any(|cause| cause.kind() == io::ErrorKind::BrokenPipe)
}
