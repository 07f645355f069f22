//! The line to a server: two named pipes in a private folder, which a shell
//! puts in the place of its input and output. So a server is a program like
//! any other: with its group, its clean environment, its time and its end.

use std::ffi::OsString;
use std::os::fd::OwnedFd;
use std::path::Path;
use std::time::Duration;

use rustix::fs::{CWD, Mode, OFlags};
use tempfile::TempDir;
use tokio::net::unix::pipe::{Receiver, Sender};

use crate::process::{Program, Running};
use crate::{CallContext, ToolError};

/// `$0` is the folder of the pipes, the rest is the server.
const CONNECT: &str = r#"exec "$@" <"$0/to" >"$0/from""#;

/// Both ends that are ours.
#[derive(Debug)]
pub(super) struct Line {
    pub(super) to: Sender,
    pub(super) from: Receiver,
    /// The server opens the pipes by name, some time after it was started.
    pub(super) names: TempDir,
}

impl Line {
    /// Starts a server with a line to it.
    pub(super) fn start(
        context: &CallContext,
        program: OsString,
        arguments: &[String],
        folder: &Path,
        time: Duration,
    ) -> Result<(Self, Running), ToolError> {
        let broken = |error: std::io::Error| {
            ToolError::system(format!("no pipe to it could be made: {error}"))
        };
        let pipes = tempfile::Builder::new()
            .prefix("ptk-server-")
            .tempdir()
            .map_err(broken)?;
        let to = pipe(&pipes.path().join("to"))
            .and_then(Sender::from_owned_fd)
            .map_err(broken)?;
        let from = pipe(&pipes.path().join("from"))
            .and_then(Receiver::from_owned_fd)
            .map_err(broken)?;
        let mut words: Vec<OsString> =
            vec!["-c".into(), CONNECT.into(), pipes.path().into(), program];
        words.extend(arguments.iter().map(OsString::from));
        let program = Program::new("sh", words, folder).timeout(time);
        let running = program.start(&context.services().outputs)?;
        let line = Self {
            to,
            from,
            names: pipes,
        };
        Ok((line, running))
    }
}

/// A named pipe, opened for both directions: so opening does not wait for the
/// other side, and its end is not mistaken for one that has not come yet.
fn pipe(path: &Path) -> std::io::Result<OwnedFd> {
    rustix::fs::mkfifoat(CWD, path, Mode::RUSR | Mode::WUSR)?;
    let flags = OFlags::RDWR | OFlags::NONBLOCK | OFlags::CLOEXEC;
    Ok(rustix::fs::open(path, flags, Mode::empty())?)
}
