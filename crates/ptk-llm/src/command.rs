//! A command as a model: the prompt goes to its stdin, and what it prints is
//! the reply.

use std::collections::VecDeque;
use std::future::Future;
use std::io;
use std::path::Path;
use std::pin::Pin;
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use futures_util::stream;
use futures_util::{FutureExt as _, StreamExt as _};
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWriteExt as _};
use tokio::process::{Child, ChildStderr, ChildStdin, ChildStdout, Command};
use tokio::time::{Instant, sleep_until, timeout};

use crate::http::Timeouts;
use crate::request::prompt;
use crate::{
    Capabilities, Delta, Deltas, FinishReason, LlmError, LlmErrorKind, MAX_REPLY, Provider, Request,
};

/// Bytes that are read at once.
const PIECE: usize = 16 * 1024;
/// Bytes that are kept of the end of its stderr.
const MAX_ERRORS: usize = 8 * 1024;
/// How many of its last lines are part of an error message.
const LAST_LINES: usize = 5;
/// How long the last output is waited for, where a process that the command
/// left behind keeps its stdout open.
const MOMENT: Duration = Duration::from_millis(200);

/// A command as a model. It is given the whole conversation as one text on its
/// stdin, and what it prints to stdout, as UTF-8, is the reply, once it has
/// ended with success.
///
/// It is the user's own command: it runs with all that the user may do, with
/// the whole environment, and in no sandbox. There is no shell: program and
/// arguments are passed as they are.
///
/// ```
/// use ptk_llm::{CommandProvider, Message, Request, complete};
///
/// # tokio::runtime::Builder::new_current_thread().enable_all().build()?.block_on(async {
/// let model = CommandProvider::new("tr", ["a-z", "A-Z"]);
/// let request = Request::new([Message::user("hello")]);
/// assert_eq!(complete(&model, &request).await?.text, "HELLO");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// # })?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone)]
pub struct CommandProvider {
    name: String,
    program: String,
    arguments: Vec<String>,
    timeouts: Timeouts,
}

impl CommandProvider {
    /// Creates a provider that runs a program with these arguments.
    pub fn new<A: Into<String>>(
        program: impl Into<String>,
        arguments: impl IntoIterator<Item = A>,
    ) -> Self {
        let program = program.into();
        let name = Path::new(&program).file_name();
        Self {
            name: name.map_or_else(
                || program.clone(),
                |name| name.to_string_lossy().into_owned(),
            ),
            program,
            arguments: arguments.into_iter().map(Into::into).collect(),
            timeouts: Timeouts::default(),
        }
    }

    /// Creates a provider for a command line, which is split into words as a
    /// shell does, but not run by one. `None` if it is empty, or a quote in it
    /// is not closed.
    #[must_use]
    pub fn parse(line: &str) -> Option<Self> {
        let mut words = shlex::split(line)?.into_iter();
        Some(Self::new(words.next()?, words))
    }

    /// Sets the timeouts.
    #[must_use]
    pub const fn timeouts(mut self, timeouts: Timeouts) -> Self {
        self.timeouts = timeouts;
        self
    }
}

impl Provider for CommandProvider {
    fn name(&self) -> &str {
        &self.name
    }

    /// The whole command line: one program can be many models.
    fn id(&self) -> Option<String> {
        let words = std::iter::once(&self.program).chain(&self.arguments);
        let words: Vec<&str> = words.map(String::as_str).collect();
        Some(format!("cmd:{}", words.join(" ")))
    }

    fn capabilities(&self, _model: Option<&str>) -> Capabilities {
        Capabilities::of_prompt()
    }

    fn stream<'a>(&'a self, request: &'a Request) -> Deltas<'a> {
        let reply = async move {
            match Running::start(self, request) {
                Ok(running) => running.deltas(),
                Err(error) => {
                    let kind = LlmErrorKind::NotStarted;
                    let error = LlmError::of(self, request, kind).message(error.to_string());
                    stream::iter([Err(error)]).boxed()
                }
            }
        };
        reply.flatten_stream().boxed()
    }
}

/// The command and its process group, killed when the stream is dropped.
struct Group(Child);

impl Drop for Group {
    fn drop(&mut self) {
        // As long as it was not waited for, its process id is not reused.
        #[cfg(unix)]
        if let Some(id) = self.0.id().and_then(|id| i32::try_from(id).ok()) {
            use rustix::process::{Pid, Signal, kill_process_group};
            if let Some(id) = Pid::from_raw(id) {
                let _ = kill_process_group(id, Signal::KILL);
            }
        }
    }
}

/// A running command.
struct Running<'a> {
    provider: &'a CommandProvider,
    request: &'a Request,
    group: Group,
    /// The prompt that is being written. A command need not read it, or not at
    /// first.
    telling: Option<Pin<Box<dyn Future<Output = ()> + Send>>>,
    output: Option<ChildStdout>,
    errors: Option<ChildStderr>,
    last_words: VecDeque<u8>,
    text: Decoder,
    /// Bytes of the reply.
    size: usize,
    has_words: bool,
    /// The exit status, once it has ended.
    status: Option<ExitStatus>,
    idle: Instant,
    until: Instant,
    is_over: bool,
}

impl<'a> Running<'a> {
    fn start(provider: &'a CommandProvider, request: &'a Request) -> io::Result<Self> {
        let mut command = Command::new(&provider.program);
        command
            .args(&provider.arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .kill_on_drop(true);
        #[cfg(unix)]
        command.process_group(0);
        let mut child = command.spawn()?;
        let input = child.stdin.take();
        let prompt = prompt(request);
        let now = Instant::now();
        Ok(Self {
            telling: input.map(|input| tell(input, prompt).boxed()),
            output: child.stdout.take(),
            errors: child.stderr.take(),
            group: Group(child),
            last_words: VecDeque::new(),
            text: Decoder::default(),
            size: 0,
            has_words: false,
            status: None,
            idle: now + provider.timeouts.idle,
            until: now + provider.timeouts.whole,
            is_over: false,
            provider,
            request,
        })
    }

    fn deltas(self) -> Deltas<'a> {
        let deltas = stream::unfold(self, |mut running| async move {
            if running.is_over {
                return None;
            }
            let delta = running.next().await;
            running.is_over = matches!(delta, Ok(Delta::Finish(_)) | Err(_));
            Some((delta, running))
        });
        deltas.boxed()
    }

    /// The next delta: text, the end, or an error.
    async fn next(&mut self) -> Result<Delta, LlmError> {
        loop {
            match self.happened().await {
                Happened::Said(Some(piece)) => {
                    self.idle = Instant::now() + self.timeouts();
                    self.size = self.size.saturating_add(piece.len());
                    if self.size > MAX_REPLY {
                        return Err(self.error(LlmErrorKind::TooMuch));
                    }
                    let text = self.text.push(&piece).ok_or_else(|| self.no_text())?;
                    self.has_words |= !text.trim().is_empty();
                    if !text.is_empty() {
                        return Ok(Delta::Text(text));
                    }
                }
                Happened::Said(None) => self.output = None,
                Happened::Complained(Some(piece)) => keep(&mut self.last_words, &piece),
                Happened::Complained(None) => self.errors = None,
                Happened::Told => self.telling = None,
                Happened::Ended(Ok(status)) => {
                    self.status = Some(status);
                    self.idle = Instant::now() + self.timeouts();
                }
                Happened::Ended(Err(error)) => {
                    let error = error.to_string();
                    return Err(self.error(LlmErrorKind::Failing).message(error));
                }
                Happened::Late if self.status.is_some() => self.output = None,
                Happened::Late => return Err(self.error(LlmErrorKind::TimedOut)),
            }
            if let (Some(status), None) = (self.status, &self.output) {
                return self.ended(status).await;
            }
        }
    }

    /// How long further output is waited for: if the command has ended, only
    /// for what is still in the pipe.
    fn timeouts(&self) -> Duration {
        match self.status {
            Some(_) => MOMENT,
            None => self.provider.timeouts.idle,
        }
    }

    /// Waits for the next event of the command.
    async fn happened(&mut self) -> Happened {
        let is_running = self.status.is_none();
        tokio::select! {
            // Output counts before the end.
            biased;
            piece = read(&mut self.output) => Happened::Said(piece),
            piece = read(&mut self.errors) => Happened::Complained(piece),
            () = told(&mut self.telling) => Happened::Told,
            status = self.group.0.wait(), if is_running => Happened::Ended(status),
            () = sleep_until(self.idle.min(self.until)) => Happened::Late,
        }
    }

    /// The last delta of a command that has ended.
    async fn ended(&mut self, status: ExitStatus) -> Result<Delta, LlmError> {
        if self.errors.is_some() {
            let rest = async {
                while let Some(piece) = read(&mut self.errors).await {
                    keep(&mut self.last_words, &piece);
                }
            };
            let _ = timeout(MOMENT, rest).await;
        }
        if !status.success() {
            let told = match self.last_lines() {
                lines if lines.is_empty() => status.to_string(),
                lines => format!("{status}: {lines}"),
            };
            return Err(self.error(LlmErrorKind::Failing).message(told));
        }
        if !self.text.is_whole() {
            return Err(self.no_text());
        }
        if !self.has_words {
            let told = self.last_lines();
            return Err(self.error(LlmErrorKind::Empty).message(told));
        }
        Ok(Delta::Finish(FinishReason::Stop))
    }

    /// The last lines of its stderr.
    fn last_lines(&mut self) -> String {
        let text = String::from_utf8_lossy(self.last_words.make_contiguous()).into_owned();
        let lines: Vec<&str> = text
            .lines()
            .map(str::trim)
            .filter(|it| !it.is_empty())
            .collect();
        let last = lines.len().saturating_sub(LAST_LINES);
        lines.get(last..).unwrap_or_default().join("; ")
    }

    fn no_text(&self) -> LlmError {
        self.error(LlmErrorKind::Unreadable)
            .message("what it printed is no UTF-8")
    }

    fn error(&self, kind: LlmErrorKind) -> LlmError {
        LlmError::of(self.provider, self.request, kind)
    }
}

/// An event of a running command. `None` is the end of stdout or stderr.
enum Happened {
    Said(Option<Vec<u8>>),
    Complained(Option<Vec<u8>>),
    /// The whole prompt was written.
    Told,
    Ended(io::Result<ExitStatus>),
    Late,
}

/// Writes the prompt to stdin. A command that does not read it is not an error.
async fn tell(mut input: ChildStdin, prompt: String) {
    let _ = input.write_all(prompt.as_bytes()).await;
    let _ = input.shutdown().await;
}

async fn told(telling: &mut Option<Pin<Box<dyn Future<Output = ()> + Send>>>) {
    match telling {
        Some(telling) => telling.await,
        None => std::future::pending().await,
    }
}

/// The next piece, and `None` at the end; after that, it waits forever. A read
/// error counts as the end.
async fn read(from: &mut Option<impl AsyncRead + Unpin>) -> Option<Vec<u8>> {
    let Some(from) = from else {
        return std::future::pending().await;
    };
    let mut piece = Vec::with_capacity(PIECE);
    let count = from.read_buf(&mut piece).await.unwrap_or_default();
    (count > 0).then_some(piece)
}

fn keep(last: &mut VecDeque<u8>, bytes: &[u8]) {
    last.extend(bytes);
    let excess = last.len().saturating_sub(MAX_ERRORS);
    last.drain(..excess);
}

/// Decodes UTF-8 from bytes that are cut anywhere.
#[derive(Debug, Default)]
struct Decoder {
    /// The beginning of an incomplete character.
    rest: Vec<u8>,
}

impl Decoder {
    /// Decodes further text; `None` if it is not UTF-8.
    fn push(&mut self, bytes: &[u8]) -> Option<String> {
        self.rest.extend_from_slice(bytes);
        let end = match std::str::from_utf8(&self.rest) {
            Ok(text) => text.len(),
            Err(error) if error.error_len().is_none() => error.valid_up_to(),
            Err(_) => return None,
        };
        let rest = self.rest.split_off(end);
        String::from_utf8(std::mem::replace(&mut self.rest, rest)).ok()
    }

    fn is_whole(&self) -> bool {
        self.rest.is_empty()
    }
}
