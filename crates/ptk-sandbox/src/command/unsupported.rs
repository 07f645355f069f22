//! Programs on Windows: none is started. What ends all that a program has
//! started, and keeps it from the rest of the system, is written for Unix.

use std::convert::Infallible;
use std::ffi::OsString;
use std::path::Path;

use tokio::io::{Empty, Sink};

use super::policy::{Policy, Protections};
use super::words::Report;
use super::{Command, Helper, StartError};

/// What is written for a program to read.
pub type ProgramInput = Sink;
/// What a program writes.
pub type ProgramOutput = Empty;

/// A connection to the keeper. There is none.
#[derive(Debug, Clone)]
pub struct Control(Infallible);

impl Control {
    /// Asks all processes of the program to end.
    pub fn end(&self) {
        match self.0 {}
    }

    /// Kills everything.
    pub fn kill(&self) {
        match self.0 {}
    }
}

/// A program that runs. There is none.
#[derive(Debug)]
pub struct Kept {
    /// The program's standard input.
    pub stdin: Option<ProgramInput>,
    /// The program's standard output.
    pub stdout: Option<ProgramOutput>,
    /// The program's standard error.
    pub stderr: Option<ProgramOutput>,
    /// Which protections it has.
    pub protections: Protections,
    control: Control,
}

impl Kept {
    /// The connection to the keeper.
    #[must_use]
    pub const fn control(&self) -> &Control {
        &self.control
    }

    /// The next report.
    #[expect(
        clippy::unused_async,
        reason = "the same function waits on other systems"
    )]
    pub async fn report(&mut self) -> Option<Report> {
        match self.control.0 {}
    }
}

impl Command {
    /// Starts nothing.
    ///
    /// # Errors
    ///
    /// Always, with [`StartError::Unsupported`].
    #[expect(
        clippy::unused_async,
        reason = "the same function waits on other systems"
    )]
    pub async fn start(&self, _helper: Option<&Helper>) -> Result<Kept, StartError> {
        Err(StartError::Unsupported)
    }
}

/// What a program may use besides the workspace: nothing, as none is started.
impl Policy {
    pub(super) fn grant_defaults(&mut self, _variable: impl Fn(&str) -> Option<OsString>) {}

    /// Allows reading a path, if it exists.
    pub fn allow_reading(&mut self, path: impl AsRef<Path>) {
        self.read.extend(path.as_ref().canonicalize());
    }

    /// Allows reading and writing a path, if it exists.
    pub fn allow_writing(&mut self, path: impl AsRef<Path>) {
        self.write.extend(path.as_ref().canonicalize());
    }
}
