//! How the command ends: its exit code, and what is said on stderr.

use std::io::{self, Write};
use std::process::ExitCode;

use crate::printer::{self, AnsiColor, Style};
use crate::view::clean::visible;

/// The exit codes. Where nothing is to be put away, an interrupt ends the
/// process by its signal, which shells report as 130 as well.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Exit {
    /// It did what was asked.
    Success,
    /// It could not; stderr says why.
    Failed,
    /// The command line makes no sense; stderr says what would.
    WrongUsage,
    /// Somebody pressed Ctrl-C, and everything was put away.
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

/// Prints what clap has to say: help and version on stdout, mistakes on stderr.
pub(crate) fn print(answer: &clap::Error) -> Exit {
    if !answer.use_stderr() {
        // Help is ptk's own. Nobody is left to be told that the terminal is
        // gone.
        drop(answer.print());
        return Exit::Success;
    }
    // A mistake quotes what was typed, and names of files.
    let text = answer.render().to_string();
    match text.strip_prefix("error: ") {
        Some(message) => say(message.trim_end_matches('\n')),
        None => note(text.trim_end_matches('\n')),
    }
    Exit::WrongUsage
}

/// Says on stderr why the command failed. A reader that has seen enough, as in
/// `ptk parse … | head`, is no failure.
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

/// What was asked for cannot be meant.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
struct WrongUsage(String);

/// The error of a command line that names something that there is not.
pub(crate) fn wrong_usage(message: impl Into<String>) -> anyhow::Error {
    WrongUsage(message.into()).into()
}

/// Ends the process, whatever it is stuck in. What it has started ends with it.
#[allow(clippy::exit, reason = "somebody insists, and nothing else has helped")]
pub(crate) fn leave() -> ! {
    ptk_sandbox::remove_temporary_folders();
    std::process::exit(130)
}

/// Writes an error message to stderr, coloured where that is a terminal.
pub(crate) fn say(message: &str) {
    const LABEL: Style = AnsiColor::Red.on_default().bold();
    // Nowhere is left to complain to if stderr is closed.
    drop(writeln!(
        printer::stderr(),
        "{LABEL}error:{LABEL:#} {}",
        visible(message)
    ));
}

/// Writes something beside the data to stderr.
pub(crate) fn note(text: &str) {
    drop(writeln!(printer::stderr(), "{}", visible(text)));
}

/// Writes what stands before what is typed.
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
