//! Starting a program as a process.

use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

use ptk_permission::{nested_git_paths, refused_to_commands};
use ptk_sandbox::command::{self, Command, Kept, Policy, Protections};
use ptk_undo::CommandSetup;

use super::{Capture, Input, Program, Running, Streams, environment};
use crate::{CallContext, ToolError};

/// Why a program could not be started.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StartError {
    /// The folder is gone, or was never there.
    #[error("The folder {} does not exist", .0.display())]
    Folder(PathBuf),
    /// There is no such program.
    #[error("Program not found: {0}")]
    Missing(String),
    /// An argument is longer than the system takes, about 128 KB.
    #[error("The command has {0} bytes, more than the system takes")]
    TooLong(usize),
    /// An argument holds a NUL byte.
    #[error("The command holds a NUL byte")]
    Nul,
    /// The program is not allowed to run.
    #[error("{0} may not be run: permission denied")]
    Denied(String),
    /// The program cannot have the protections that it is to have.
    #[error("The command was not run, because the sandbox would not be complete: {0}")]
    Unprotected(Protections),
    /// Its changes cannot be kept apart, for this reason.
    #[error("The command was not run, because its changes could not be kept apart: {0}")]
    NoLayer(String),
    /// Its changes cannot be recorded, for this reason.
    #[error("The command was not run, because its changes could not be recorded: {0}")]
    NotRecorded(String),
    /// No program can be started on this system.
    #[error("The command was not run: {}", command::StartError::Unsupported)]
    Unsupported,
    /// The system refused to start it.
    #[error("{program} cannot be started: {error}")]
    Refused {
        /// The program.
        program: String,
        /// The error of the system.
        error: io::Error,
    },
}

impl From<StartError> for ToolError {
    fn from(error: StartError) -> Self {
        let message = error.to_string();
        match error {
            StartError::Folder(_) => {
                Self::user(message).suggest("Use list_files to see which folders there are.")
            }
            StartError::Missing(_) => {
                Self::system(message).suggest("Install it, or do the work with other tools.")
            }
            StartError::TooLong(_) => Self::user(message).suggest(
                "Write what is long to a file with write_file, and run a short command on it.",
            ),
            StartError::Nul => {
                Self::validation(message).suggest("Leave it out; in bash, printf '\\0' writes one.")
            }
            StartError::Denied(_) => Self::permission(message)
                .suggest("Look at the rights of the program, and of the folder in which it runs."),
            StartError::Unprotected(_) => Self::permission(message).suggest(
                "Do the work with the other tools. Only the user can change this: `ptk doctor` says what is missing.",
            )
            .advise("`ptk doctor` says what is missing, how to get it, and how to run without it."),
            StartError::Unsupported => Self::system(message)
                .suggest("Do the work with the tools that read, search and edit files."),
            StartError::NoLayer(_) => Self::system(message)
                .suggest("Do the work with the tools that write files.")
                .advise("Without `--review` it runs, and `ptk undo` takes its changes back."),
            StartError::NotRecorded(_) | StartError::Refused { .. } => Self::system(message)
                .suggest("The machine may be out of processes or memory. Try again later."),
        }
    }
}

impl Program {
    /// Starts the program without watching its changes.
    pub(crate) async fn start(&self, context: &CallContext) -> Result<Running, StartError> {
        self.start_on(CommandSetup::default(), context).await
    }

    /// Starts the program so that its changes become known.
    pub(crate) async fn start_watched(&self, context: &CallContext) -> Result<Running, ToolError> {
        let setup = || context.command_setup().map_err(|error| self.refused(error));
        let started = match self.start_on(setup()?, context).await {
            Err(StartError::NotRecorded(why)) => {
                let (kept, name) = (context.clone(), self.names());
                let keep = move || {
                    let kept = kept.fall_back(&why);
                    kept.map_err(|error| ToolError::cannot_keep(&name, &error))
                };
                context.blocking(keep).await?;
                self.start_on(setup()?, context).await
            }
            started => started,
        };
        // A program that was not started leaves nothing unfinished.
        Ok(started.inspect_err(|_| context.leave_layers())?)
    }

    async fn start_on(
        &self,
        command_setup: CommandSetup,
        context: &CallContext,
    ) -> Result<Running, StartError> {
        let parts = self.candidates.iter().chain(&self.arguments);
        if parts
            .clone()
            .any(|part| part.as_encoded_bytes().contains(&0))
        {
            return Err(StartError::Nul);
        }
        let services = context.services();
        let started = Instant::now();
        let kept = self.keep(&command_setup, context).await?;
        let stdout = Capture::new(Arc::clone(&services.outputs)).shared();
        let stderr = match self.streams {
            Streams::Apart => Capture::new(Arc::clone(&services.outputs)).shared(),
            Streams::Together => Arc::clone(&stdout),
        };
        Ok(Running {
            kept,
            input: match &self.input {
                Input::Bytes(bytes) => bytes.clone(),
                Input::None | Input::Dialogue => Vec::new(),
            },
            timeout: self.timeout,
            started,
            stdout,
            stderr,
        })
    }

    /// Starts the first candidate that exists.
    async fn keep(
        &self,
        command_setup: &CommandSetup,
        context: &CallContext,
    ) -> Result<Kept, StartError> {
        let services = context.services();
        let mut failure = io::Error::from(io::ErrorKind::NotFound);
        for candidate in &self.candidates {
            let mut policy = services.policy.clone();
            if let Some(policy) = &mut policy {
                policy.allow_program(Path::new(candidate));
                if self.only_reads {
                    policy.only_read();
                }
                policy.layers.clone_from(&command_setup.layers);
                policy.recorded.clone_from(&command_setup.recorded);
                protect_later(policy, context);
            }
            let mut command = self.command(candidate, policy, context.is_strict());
            command.held.clone_from(&command_setup.lock);
            match command.start(services.helper.as_ref()).await {
                Ok(kept) => return Ok(kept),
                Err(command::StartError::Unprotected(protections)) => {
                    return Err(StartError::Unprotected(protections));
                }
                Err(command::StartError::Unsupported) => return Err(StartError::Unsupported),
                Err(command::StartError::NoLayer(why)) => return Err(StartError::NoLayer(why)),
                Err(command::StartError::NotRecorded(why)) => {
                    return Err(StartError::NotRecorded(why));
                }
                Err(command::StartError::System(error))
                    if error.kind() == io::ErrorKind::NotFound =>
                {
                    failure = error;
                }
                Err(command::StartError::System(error)) => return Err(self.why(error)),
                Err(error) => return Err(self.why(io::Error::other(error))),
            }
        }
        Err(self.why(failure))
    }

    fn command(&self, program: &OsString, policy: Option<Policy>, is_strict: bool) -> Command {
        let mut variables = environment::inherited();
        variables.extend_from_slice(&self.variables);
        Command {
            program: program.clone(),
            arguments: self.arguments.clone(),
            folder: self.folder.clone(),
            variables,
            has_input: !matches!(self.input, Input::None),
            is_merged: self.streams == Streams::Together,
            policy,
            is_strict,
            held: None,
        }
    }

    pub(super) fn refused(&self, error: io::Error) -> StartError {
        let program = self.names();
        StartError::Refused { program, error }
    }

    pub(super) fn names(&self) -> String {
        let names = self.candidates.iter().map(|name| name.to_string_lossy());
        names.collect::<Vec<_>>().join(" or ")
    }

    fn why(&self, error: io::Error) -> StartError {
        if !Path::new(&self.folder).is_dir() {
            return StartError::Folder(self.folder.clone());
        }
        match error.kind() {
            io::ErrorKind::NotFound => StartError::Missing(self.names()),
            io::ErrorKind::PermissionDenied => StartError::Denied(self.names()),
            io::ErrorKind::ArgumentListTooLong => {
                StartError::TooLong(self.arguments.iter().map(|argument| argument.len()).sum())
            }
            _ => self.refused(error),
        }
    }
}

/// Keeps commands from writing what takes effect later, outside the sandbox,
/// but for what this call was allowed to write.
fn protect_later(policy: &mut Policy, context: &CallContext) {
    let (root, allowed) = (context.workspace().root(), context.allowed_later());
    let nested = nested_git_paths(root);
    let known = refused_to_commands().filter(|name| !name.contains('*'));
    let nested_paths = nested.iter().map(|path| root.join(path));
    for path in known.map(|name| root.join(name)).chain(nested_paths) {
        let is_open = |it: &PathBuf| it.starts_with(&path) || path.starts_with(it);
        if !allowed.iter().any(is_open) {
            policy.keep_read_only(&path);
        }
    }
    if let Some(recording) = &mut policy.recorded {
        let nested = nested
            .into_iter()
            .filter_map(|path| path.into_os_string().into_string().ok());
        recording.refused = refused_to_commands()
            .map(str::to_owned)
            .chain(nested)
            .collect();
        recording.allowed = allowed.to_vec();
    }
}
