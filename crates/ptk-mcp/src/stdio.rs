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

use crate::variables::{self, Notation};
use crate::{McpError, ServerDeclaration, text};

/// The longest message of a server, in bytes.
pub(crate) const MAX_MESSAGE: usize = 32 * 1024 * 1024;
/// How long it has to end by itself.
const LEAVE: Duration = Duration::from_secs(1);
/// How long it has to end when it is asked to.
const END: Duration = Duration::from_secs(3);
/// How many characters of a hash stand for where a server is configured.
const ORIGIN: usize = 8;
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
    let found = find(program, search_path.as_deref(), declared, place)?;
    let is_sandboxed = declared.sandbox.unwrap_or(true) && place.sandbox.enabled;
    let (home, temporary) = home(name, declared, place, is_sandboxed)?;
    let workspace = Workspace::open(&home).and_then(Workspace::with_temp);
    let workspace = workspace.map_err(|error| McpError::Setting(error.to_string()))?;
    let policy = if is_sandboxed {
        policy(declared, place, &workspace, &found)?
    } else {
        None
    };
    if is_sandboxed {
        variables.retain(|(name, _)| !is_of_home(name));
        variables.push(("HOME".into(), home.clone().into()));
    }
    for (name, value) in &declared.env {
        variables.push((name.into(), expanded(value)?.into()));
    }
    let command = Command {
        folder: if declared.in_workspace == Some(true) {
            place.workspace.clone()
        } else {
            home.clone()
        },
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
    variables::expand(text, Notation::Braces, lookup).map_err(|name| {
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

/// The program with its path: a name is looked up in the `PATH`. A relative path
/// is taken from the workspace, by servers that start there; for others, any
/// workspace could bring a program of that name.
fn find(
    program: &str,
    search_path: Option<&std::ffi::OsStr>,
    declared: &ServerDeclaration,
    place: &ServerSandbox,
) -> Result<PathBuf, McpError> {
    let missing = |reason: &str| McpError::Start {
        program: program.to_owned(),
        reason: reason.to_owned(),
    };
    let found = if program.contains('/') {
        let path = ptk_tools::expanded_path(Path::new(program));
        if path.is_relative() && declared.in_workspace != Some(true) {
            return Err(missing("its path has to be absolute"));
        }
        Some(place.workspace.join(path)).filter(|path| path.is_file())
    } else {
        let folders = search_path.map(std::env::split_paths);
        let folders = folders.into_iter().flatten();
        let mut paths = folders
            .filter(|folder| folder.is_absolute())
            .map(|folder| folder.join(program));
        paths.find(|path| path.is_file())
    };
    found.ok_or_else(|| missing("it is not installed, or not in the PATH"))
}

/// The home of a server, and what removes a temporary one.
fn home(
    name: &str,
    declared: &ServerDeclaration,
    place: &ServerSandbox,
    is_sandboxed: bool,
) -> Result<(PathBuf, Option<Scratch>), McpError> {
    let failed = |error: std::io::Error| {
        McpError::Setting(format!("it cannot be given a folder of its own: {error}"))
    };
    match &place.homes {
        Some(homes) if is_sandboxed => {
            // What a project's server leaves there is not for one of the same
            // name that is configured elsewhere.
            let origin = blake3::hash(declared.origin.as_bytes()).to_hex();
            let origin: String = origin.chars().take(ORIGIN).collect();
            let home = homes.join(format!("{name}-{origin}"));
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
) -> Result<Option<Policy>, McpError> {
    let sandbox = Sandbox {
        network: declared.network,
        read: Vec::new(),
        write: Vec::new(),
        ..place.sandbox.clone()
    };
    let Some(mut policy) = sandbox.policy(workspace) else {
        return Ok(None);
    };
    // Not the folders in which programmers' tools build.
    policy
        .write
        .retain(|path| path.starts_with(workspace.root()));
    for path in &declared.write {
        let Some(root) = granted(path, place)? else {
            continue;
        };
        policy.allow_writing(&root);
        // Hooks and other files that run later, outside the sandbox.
        for path in nested_git_paths(&root) {
            policy.keep_read_only(&root.join(path));
        }
        for name in refused_to_commands().filter(|name| !name.contains('*')) {
            policy.keep_read_only(&root.join(name));
        }
    }
    for path in &declared.read {
        if let Some(root) = granted(path, place)? {
            policy.allow_reading(root);
        }
    }
    for guarded in &place.guarded {
        match guarded {
            Guarded::File(path) => policy.guard(path),
            Guarded::Folder(path) => policy.guard_folder(path),
        }
    }
    let beside = program
        .parent()
        .and_then(|folder| folder.canonicalize().ok());
    let home = policy.home.clone();
    let holds = |folder: &Path| {
        let holds_home = home.as_ref().is_some_and(|home| home.starts_with(folder));
        holds_home || place.workspace.starts_with(folder) || folder.starts_with(&place.workspace)
    };
    if beside.as_deref().is_some_and(holds) {
        // Not all that lies beside it.
        policy.allow_reading(program);
    } else {
        policy.allow_program(program);
    }
    Ok(Some(policy))
}

/// A folder that is granted, without links; `None` if it is not there. A
/// relative one stays in the workspace: links in it may be somebody else's.
fn granted(path: &Path, place: &ServerSandbox) -> Result<Option<PathBuf>, McpError> {
    let path = ptk_tools::expanded_path(path);
    let Ok(real) = place.workspace.join(&path).canonicalize() else {
        return Ok(None);
    };
    if path.is_relative() && !real.starts_with(&place.workspace) {
        return Err(McpError::Setting(format!(
            "{} leads out of the workspace; to grant it, write its absolute path",
            path.display()
        )));
    }
    Ok(Some(real))
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
