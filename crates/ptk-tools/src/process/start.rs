//! From a program to a process.

use std::ffi::OsString;
use std::hash::{BuildHasher as _, RandomState};
use std::io;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use rustix::io::Errno;
use rustix::process::Pid;
use tokio::process::{Child, Command};

use super::environment;
use super::group::{Group, MARK};
use super::{Capture, Program, Running, Streams};
use crate::{Outputs, ToolError};

/// Why a program could not be started.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StartError {
    /// The folder is gone, or was never there.
    #[error("The folder {} does not exist", .0.display())]
    Folder(PathBuf),
    /// There is no such program.
    #[error("There is no program {0}")]
    Missing(String),
    /// The system takes about 128 KB for one argument.
    #[error("The command has {0} bytes, more than the system takes")]
    TooLong(usize),
    /// No text of a process can hold it.
    #[error("The command holds a NUL byte")]
    Nul,
    /// It is not allowed to run.
    #[error("{0} may not be run: permission denied")]
    Denied(String),
    /// The system refused.
    #[error("{program} cannot be started: {error}")]
    Refused {
        /// What was to be started.
        program: String,
        /// What the system said.
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
            StartError::Refused { .. } => Self::system(message)
                .suggest("The machine may be out of processes or memory. Try again later."),
        }
    }
}

impl Program {
    /// Starts it.
    pub(crate) fn start(mut self, outputs: &Arc<Outputs>) -> Result<Running, StartError> {
        let parts = self.candidates.iter().chain(&self.arguments);
        if parts
            .clone()
            .any(|part| part.as_encoded_bytes().contains(&0))
        {
            return Err(StartError::Nul);
        }
        let mark = mark();
        let stdin = self.stdin.take();
        let timeout = self.timeout;
        let streams = self.streams;
        let started = Instant::now();
        let child = spawn(&self, &mark, stdin.is_some())?;
        let pid = child.id().and_then(|id| Pid::from_raw(id.try_into().ok()?));
        let Some(pid) = pid else {
            let error = io::Error::other("it has no id");
            return Err(self.refused(error));
        };
        let stdout = Capture::new(Arc::clone(outputs)).shared();
        let stderr = match streams {
            Streams::Apart => Capture::new(Arc::clone(outputs)).shared(),
            Streams::Together => Arc::clone(&stdout),
        };
        Ok(Running {
            child,
            group: Arc::new(Group::new(pid, mark)),
            stdin,
            timeout,
            started,
            stdout,
            stderr,
        })
    }

    fn refused(&self, error: io::Error) -> StartError {
        let program = self.names();
        StartError::Refused { program, error }
    }

    fn names(&self) -> String {
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
            _ if Errno::from_io_error(&error) == Some(Errno::TOOBIG) => {
                StartError::TooLong(self.arguments.iter().map(|argument| argument.len()).sum())
            }
            _ => self.refused(error),
        }
    }
}

fn spawn(program: &Program, mark: &OsString, has_input: bool) -> Result<Child, StartError> {
    let mut failure = io::Error::from(io::ErrorKind::NotFound);
    for candidate in &program.candidates {
        let mut command = Command::new(candidate);
        command
            .args(&program.arguments)
            .current_dir(&program.folder)
            .env_clear()
            .envs(environment::variables(std::env::vars_os()))
            .envs(program.variables.iter().map(|(name, value)| (name, value)))
            .env(MARK, mark)
            .stdin(if has_input {
                Stdio::piped()
            } else {
                Stdio::null()
            })
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .process_group(0)
            .kill_on_drop(true);
        match command.spawn() {
            Ok(child) => return Ok(child),
            Err(error) if error.kind() == io::ErrorKind::NotFound => failure = error,
            Err(error) => return Err(program.why(error)),
        }
    }
    Err(program.why(failure))
}

/// What the processes of one program carry, and no others. A program that is
/// run by a program of ours carries both marks.
fn mark() -> OsString {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    let random = RandomState::new().hash_one(number);
    let own = format!("{}.{number}.{random:016x}", std::process::id());
    match std::env::var_os(MARK) {
        Some(mut outer) => {
            outer.push("/");
            outer.push(own);
            outer
        }
        None => own.into(),
    }
}
