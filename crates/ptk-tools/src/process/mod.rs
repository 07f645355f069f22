//! Programs that tools run: the one place where a process is started.
//!
//! A [`Program`] says what runs, where, and for how long. It gets a process
//! session of its own, a clean environment and no terminal. Its output is kept
//! within bounds, and when it has ended nothing of it is left: not the children
//! that it left behind, not those that ignore `SIGTERM` (see
//! [`ptk_sandbox::command`]).
//!
//! ```no_run
//! # async fn run(context: &ptk_tools::CallContext) -> Result<(), ptk_tools::ToolError> {
//! use ptk_tools::process::{Exit, Program};
//!
//! let folder = context.workspace().root();
//! let ended = Program::new("cargo", ["check"], folder).run(context).await?;
//! if ended.exit == Exit::Code(0) {
//!     println!("{}", ended.stdout.text());
//! }
//! # Ok(())
//! # }
//! ```
//!
//! | Module | Its one concern |
//! |---|---|
//! | `start` | from a program to a process, and why there is none |
//! | `probe` | which protections it would have |
//! | `environment` | the variables that it sees |
//! | `running` | its time: streams, timeout, cancellation, end |
//! | `capture` | what is kept of a stream |
//! | `clean` | its bytes as text |
//! | `live` | what is shown of a stream while it comes |
//! | `shown` | what a model sees of it |

mod capture;
mod clean;
mod environment;
mod live;
mod probe;
mod running;
mod shown;
mod start;

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use tokio::time::{Instant, interval_at};

pub use capture::Captured;
pub(crate) use capture::{Capture, StreamPiece};
pub(crate) use clean::{clean, cleaned, whole_characters};
pub use environment::inherited;
pub(crate) use probe::incomplete;
pub use ptk_sandbox::command::{Exit, Protections};
pub(crate) use running::Running;
pub(crate) use shown::overwritten;
pub use start::StartError;

use crate::{CallContext, ToolError};

/// How long a program may run by default.
pub const DEFAULT_TIMEOUT: Duration = Duration::from_secs(60);
/// When the first progress of a running program is reported.
const FIRST_WORD: Duration = Duration::from_secs(1);
/// How often progress is reported from then on.
const NEXT_WORD: Duration = Duration::from_secs(5);
/// The shells that a command is given to; the first that exists is used.
const SHELLS: [&str; 3] = ["/bin/bash", "bash", "sh"];

/// A program that is to be run.
#[derive(Debug, Clone)]
pub struct Program {
    /// The programs that could run; the first that exists is used.
    candidates: Vec<OsString>,
    arguments: Vec<OsString>,
    folder: PathBuf,
    variables: Vec<(OsString, OsString)>,
    input: Input,
    timeout: Duration,
    streams: Streams,
    /// Whether it may write nothing but temporary files, and reach nobody.
    only_reads: bool,
}

/// Whether standard output and standard error are kept apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Streams {
    Apart,
    /// In the order in which they came, as a terminal shows them.
    Together,
}

/// What a program reads.
#[derive(Debug, Clone)]
enum Input {
    None,
    Bytes(Vec<u8>),
    /// Input that is written while it runs.
    Dialogue,
}

impl Program {
    /// A program with its arguments, looked up in the `PATH` if its name has
    /// no slash.
    pub fn new<A: Into<OsString>>(
        program: impl Into<OsString>,
        arguments: impl IntoIterator<Item = A>,
        folder: impl Into<PathBuf>,
    ) -> Self {
        Self {
            candidates: vec![program.into()],
            arguments: arguments.into_iter().map(Into::into).collect(),
            folder: folder.into(),
            variables: Vec::new(),
            input: Input::None,
            timeout: DEFAULT_TIMEOUT,
            streams: Streams::Apart,
            only_reads: false,
        }
    }

    /// A command for the shell: `bash`, or `sh` where there is none.
    pub fn shell(command: impl Into<OsString>, folder: impl Into<PathBuf>) -> Self {
        let [first, others @ ..] = SHELLS;
        let mut program = Self::new(first, ["-c".into(), command.into()], folder);
        program.candidates.extend(others.map(OsString::from));
        program
    }

    /// The same arguments for another program.
    #[must_use]
    pub fn run_by(mut self, program: impl Into<OsString>) -> Self {
        self.candidates = vec![program.into()];
        self
    }

    /// Adds a variable to the environment. The others are a short list of
    /// harmless ones.
    #[must_use]
    pub fn variable(mut self, name: impl Into<OsString>, value: impl Into<OsString>) -> Self {
        self.variables.push((name.into(), value.into()));
        self
    }

    /// Sets the standard input. By default it is empty.
    #[must_use]
    pub fn stdin(mut self, bytes: impl Into<Vec<u8>>) -> Self {
        self.input = Input::Bytes(bytes.into());
        self
    }

    /// Leaves standard input and output to the caller: see [`Running::talk`].
    #[must_use]
    pub(crate) fn dialogue(mut self) -> Self {
        self.input = Input::Dialogue;
        self
    }

    /// Lets the program write nothing but temporary files, and reach no other
    /// machine.
    #[must_use]
    pub(crate) const fn only_reading(mut self) -> Self {
        self.only_reads = true;
        self
    }

    /// Sets the timeout.
    #[must_use]
    pub const fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = timeout;
        self
    }

    /// Merges both streams, in the order in which they came.
    #[must_use]
    pub const fn together(mut self) -> Self {
        self.streams = Streams::Together;
        self
    }

    /// Runs the program to its end. Its output and how long it runs are shown as
    /// the call's output while it does; the call's cancellation ends it. Dropping the future
    /// kills it.
    ///
    /// # Errors
    ///
    /// If it cannot be started.
    pub async fn run(self, context: &CallContext) -> Result<Ended, ToolError> {
        let running = self.start_watched(context).await?;
        let show = |stream, text: &str| context.emit(stream, text);
        let ended = running.end(context.cancellation(), Some(&show));
        let ended = told_now_and_then(context, ended).await;
        context.leave_layers();
        Ok(ended)
    }
}

/// Reports progress while a program runs.
async fn told_now_and_then<T>(context: &CallContext, run: impl Future<Output = T>) -> T {
    let started = Instant::now();
    let mut beat = interval_at(started + FIRST_WORD, NEXT_WORD);
    tokio::pin!(run);
    loop {
        tokio::select! {
            ended = &mut run => return ended,
            _ = beat.tick() => {
                context.progress(&format!("running for {} s", started.elapsed().as_secs()));
            }
        }
    }
}

/// Why a program is not running any more.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reason {
    /// It ended by itself.
    Finished,
    /// It exceeded its timeout.
    TimedOut,
    /// The call was cancelled.
    Cancelled,
    /// It was stopped, mostly because it wanted to use a terminal, and would
    /// have waited for ever.
    Stopped,
    /// Its keeper was killed, so it is not known what became of it.
    Lost,
}

/// A program that has ended.
#[derive(Debug, Clone)]
pub struct Ended {
    /// How its process ended.
    pub exit: Exit,
    /// Why it ended.
    pub reason: Reason,
    /// The standard output; both streams, if they were merged.
    pub stdout: Captured,
    /// The standard error.
    pub stderr: Captured,
    /// How many processes it had left running when it ended by itself. They
    /// have been ended.
    pub left_behind: usize,
    /// How many of its processes could not be ended, such as another user's.
    pub survived: usize,
    /// Files that it was kept from writing, because they take effect later.
    pub refused: Vec<String>,
    /// What protected the rest of the system from it.
    pub protections: Protections,
    /// How long it ran.
    pub duration: Duration,
}
