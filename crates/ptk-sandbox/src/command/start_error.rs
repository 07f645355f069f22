//! Why a program does not run.

use std::io;

use super::policy::Protections;

/// Why a program does not run.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StartError {
    /// An error of the system.
    #[error(transparent)]
    System(#[from] io::Error),
    /// The program was to have all protections, and can have only these.
    #[error("The sandbox is not complete: {0}")]
    Unprotected(Protections),
    /// A layer could not be laid over a folder, for this reason.
    #[error("Changes cannot be kept apart: {0}")]
    NoLayer(String),
    /// What it changes could not be recorded, for this reason.
    #[error("Changes cannot be recorded: {0}")]
    NotRecorded(String),
    /// No program can be started on this system.
    #[error(
        "commands cannot be run on Windows yet: PTK has no sandbox there that would keep them from the rest of the system. To run them, use ptk in WSL (Windows Subsystem for Linux)"
    )]
    Unsupported,
    /// The helper could not go on.
    #[error("The sandbox could not be set up: {0}")]
    Confused(String),
}
