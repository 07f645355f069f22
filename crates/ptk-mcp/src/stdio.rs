//! Servers that are programs: started in the sandbox, spoken to through their
//! standard input and output.

use std::collections::VecDeque;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use ptk_permission::{Guarded, nested_git_paths, refused_to_commands};
use ptk_sandbox::command::{Command, Helper, Kept, Policy, ProgramInput, ProgramOutput, Report};
use ptk_sandbox::{Scratch, Workspace, private_folder};
use ptk_tools::{Sandbox, Unprotected, process};
use tokio::io::{AsyncRead, AsyncReadExt as _, ReadBuf};

use crate::{McpError, ServerDeclaration, text, variables};

/// The longest message of a server, in bytes.
pub(crate) const MAX_MESSAGE: usize = 32 * 1024 * 1024;
/// How long it has to end by itself.
const LEAVE: Duration = Duration::from_secs(1);
/// How long it has to end when it is asked to.
const END: Duration = Duration::from_secs(3);
/// How many bytes of its standard error are kept.
const MAX_STDERR: usize = 2 * 1024;

/// What programs of servers run in.
#[derive(Debug, Clone)]
pub struct ServerSandbox {
    /// The workspace, in which relative folders are.
    pub workspace: PathBuf,
    /// The folder in which each server has a home of its own. Without it,
    /// homes are temporary.
    pub homes: Option<PathBuf>,
    /// Limits, and what is done where the machine cannot protect in full.
    pub sandbox: Sandbox,
    /// What no server writes.
    pub guarded: Vec<Guarded>,
    /// The executable that programs are started by.
    pub helper: Option<Helper>,
}

/// The program of a server. Dropping it ends everything that it started.
#[derive(Debug)]
pub(crate) struct ServerProcess {
    kept: Kept,
    stderr: Arc<Mutex<VecDeque<u8>>>,
    // Removed with the process.
    _workspace: Workspace,
    _home: Option<Scratch>,
}

impl ServerProcess {
    /// The end of what it wrote to standard error.
    pub(crate) fn stderr(&self) -> Stderr {
        Stderr(Arc::clone(&self.stderr))
    }

    /// Waits until it has ended, once it is no longer spoken to. One that does
    /// not end is asked to, and then killed.
    pub(crate) async fn end(mut self) {
        let ended = async {
            while let Some(report) = self.kept.report().await {
                if matches!(report, Report::Exited(_) | Report::Gone(_)) {
                    return;
                }
            }
        };
        if tokio::time::timeout(LEAVE, ended).await.is_ok() {
            return;
        }
        self.kept.control().end();
        let gone = async { while self.kept.report().await.is_some() {} };
        // What is left is killed when this is dropped.
        let _ = tokio::time::timeout(END, gone).await;
    }
}

/// The end of what a server wrote to standard error.
#[derive(Debug, Clone, Default)]
pub(crate) struct Stderr(Arc<Mutex<VecDeque<u8>>>);

impl Stderr {
    pub(crate) fn text(&self) -> String {
        let mut bytes = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        text::tail(bytes.make_contiguous())
    }
}

/// Starts the program of a server, and returns what is read from it and written
/// to it.
pub(crate) async fn start(
    name: &str,
    declared: &ServerDeclaration,
    place: &ServerSandbox,
) -> Result<(ServerProcess, BoundedLines<ProgramOutput>, ProgramInput), McpError> {
    let words = declared.command.iter().map(|word| expanded(word));
    let words = words.collect::<Result<Vec<_>, _>>()?;
    let Some((program, arguments)) = words.split_first() else {
        return Err(McpError::Setting("`command` is empty".to_owned()));
    };
    let mut variables = process::inherited();
    let search_path = path_of(&variables);
    let found = find(program, search_path.as_deref(), &place.workspace);
    let found = found.ok_or_else(|| McpError::Start {
        program: program.clone(),
        reason: "it is not installed, or not in the PATH".to_owned(),
    })?;
    let is_sandboxed = declared.sandbox.unwrap_or(true) && place.sandbox.enabled;
    let (home, temporary) = home(name, place, is_sandboxed)?;
    let workspace = Workspace::open(&home).and_then(Workspace::with_temp);
    let workspace = workspace.map_err(|error| McpError::Setting(error.to_string()))?;
    let policy = is_sandboxed
        .then(|| policy(declared, place, &workspace, &found))
        .flatten();
    if is_sandboxed {
        variables.retain(|(name, _)| !is_of_home(name));
        variables.push(("HOME".into(), home.clone().into()));
    }
    for (name, value) in &declared.env {
        variables.push((name.into(), expanded(value)?.into()));
    }
    let command = Command {
        folder: folder(policy.as_ref(), place, &home),
        program: found.into(),
        arguments: arguments.iter().map(OsString::from).collect(),
        variables,
        has_input: true,
        is_merged: false,
        is_strict: policy.is_some() && place.sandbox.unprotected != Unprotected::Allow,
        policy,
        held: None,
    };
    let started = command.start(place.helper.as_ref()).await;
    let mut kept = started.map_err(|error| McpError::start(program, &error))?;
    let streams = kept.stdin.take().zip(kept.stdout.take());
    let Some((input, output)) = streams else {
        return Err(McpError::Setting(
            "there is no line to the program".to_owned(),
        ));
    };
    let stderr = Arc::default();
    if let Some(stream) = kept.stderr.take() {
        tokio::spawn(keep_end(stream, Arc::clone(&stderr)));
    }
    let process = ServerProcess {
        kept,
        stderr,
        _workspace: workspace,
        _home: temporary,
    };
    Ok((process, BoundedLines::new(output), input))
}

/// A setting with the values of the variables that it names.
fn expanded(text: &str) -> Result<String, McpError> {
    let lookup = |name: &str| std::env::var(name).ok();
    variables::expand(text, lookup).map_err(|name| {
        McpError::Setting(format!(
            "the variable {name} is not set in the environment of ptk"
        ))
    })
}

fn path_of(variables: &[(OsString, OsString)]) -> Option<OsString> {
    let path = variables.iter().find(|(name, _)| name == "PATH");
    path.map(|(_, path)| path.clone())
}

/// Whether a variable names a part of the user's home, which the program does
/// not see.
fn is_of_home(name: &OsString) -> bool {
    name == "HOME" || name.to_string_lossy().starts_with("XDG_")
}

/// The program with its path: a name is looked up in the `PATH`, and a path is
/// taken from the workspace.
fn find(program: &str, search_path: Option<&std::ffi::OsStr>, workspace: &Path) -> Option<PathBuf> {
    if program.contains('/') {
        let path = workspace.join(ptk_tools::expanded_path(Path::new(program)));
        return path.is_file().then_some(path);
    }
    let folders = std::env::split_paths(search_path?);
    folders
        .map(|folder| folder.join(program))
        .find(|path| path.is_file())
}

/// The home of a server, and what removes a temporary one.
fn home(
    name: &str,
    place: &ServerSandbox,
    is_sandboxed: bool,
) -> Result<(PathBuf, Option<Scratch>), McpError> {
    let failed = |error: std::io::Error| {
        McpError::Setting(format!("it cannot be given a folder of its own: {error}"))
    };
    match &place.homes {
        Some(homes) if is_sandboxed => {
            let home = homes.join(name);
            private_folder(&home).map_err(failed)?;
            Ok((home, None))
        }
        _ => {
            let scratch = Scratch::new().map_err(failed)?;
            Ok((scratch.path().to_owned(), Some(scratch)))
        }
    }
}

/// What the program may do: use its own home, and what the user grants.
fn policy(
    declared: &ServerDeclaration,
    place: &ServerSandbox,
    workspace: &Workspace,
    program: &Path,
) -> Option<Policy> {
    let sandbox = Sandbox {
        network: declared.network,
        read: Vec::new(),
        write: Vec::new(),
        ..place.sandbox.clone()
    };
    let mut policy = sandbox.policy(workspace)?;
    let folder = |path: &PathBuf| place.workspace.join(ptk_tools::expanded_path(path));
    for root in declared.write.iter().map(folder) {
        policy.allow_writing(&root);
        // Hooks and other files that run later, outside the sandbox.
        for path in nested_git_paths(&root) {
            policy.keep_read_only(&root.join(path));
        }
        for name in refused_to_commands().filter(|name| !name.contains('*')) {
            policy.keep_read_only(&root.join(name));
        }
    }
    for root in declared.read.iter().map(folder) {
        policy.allow_reading(root);
    }
    for guarded in &place.guarded {
        match guarded {
            Guarded::File(path) => policy.guard(path),
            Guarded::Folder(path) => policy.guard_folder(path),
        }
    }
    policy.allow_program(program);
    Some(policy)
}

/// The folder in which the program starts: the workspace, if it sees that.
fn folder(policy: Option<&Policy>, place: &ServerSandbox, home: &Path) -> PathBuf {
    let Ok(workspace) = place.workspace.canonicalize() else {
        return home.to_owned();
    };
    let sees = |policy: &Policy| {
        let mut roots = policy.read.iter().chain(&policy.write);
        roots.any(|root| workspace.starts_with(root))
    };
    if policy.is_none_or(sees) {
        workspace
    } else {
        home.to_owned()
    }
}

/// Keeps the end of a stream.
async fn keep_end(mut stream: ProgramOutput, end: Arc<Mutex<VecDeque<u8>>>) {
    let mut buffer = [0; 4096];
    while let Ok(count @ 1..) = stream.read(&mut buffer).await {
        let mut end = end.lock().unwrap_or_else(PoisonError::into_inner);
        end.extend(buffer.get(..count).unwrap_or_default());
        let over = end.len().saturating_sub(MAX_STDERR);
        end.drain(..over);
    }
}

/// A stream that ends with an error where a line is too long. So a server that
/// sends without end is cut off, and not waited for.
#[derive(Debug)]
pub(crate) struct BoundedLines<R> {
    stream: R,
    /// How many bytes of the line were read.
    length: usize,
}

impl<R> BoundedLines<R> {
    pub(crate) const fn new(stream: R) -> Self {
        Self { stream, length: 0 }
    }
}

impl<R: AsyncRead + Unpin> AsyncRead for BoundedLines<R> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<std::io::Result<()>> {
        let before = buffer.filled().len();
        ready!(Pin::new(&mut self.stream).poll_read(context, buffer))?;
        let new = buffer.filled().get(before..).unwrap_or_default();
        self.length = match new.iter().rposition(|byte| *byte == b'\n') {
            Some(end) => new.len() - end - 1,
            None => self.length + new.len(),
        };
        if self.length > MAX_MESSAGE {
            let message = format!("the server sent a message of more than {MAX_MESSAGE} bytes");
            return Poll::Ready(Err(std::io::Error::other(message)));
        }
        Poll::Ready(Ok(()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn endless_lines_end_the_stream() {
        let endless = tokio::io::repeat(b'x');
        let mut sink = tokio::io::sink();
        let read = tokio::io::copy(&mut BoundedLines::new(endless), &mut sink).await;
        assert!(read.unwrap_err().to_string().contains("more than 33554432"));
    }

    #[tokio::test]
    async fn many_short_lines_pass() {
        let line = [b'x', b'\n'].repeat(MAX_MESSAGE);
        let mut sink = tokio::io::sink();
        let copied = tokio::io::copy(&mut BoundedLines::new(line.as_slice()), &mut sink).await;
        assert_eq!(copied.unwrap(), 2 * MAX_MESSAGE as u64);
    }
}
