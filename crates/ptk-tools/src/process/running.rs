//! The time of a program: its streams are read, its end is waited for or
//! brought about.

use std::os::unix::process::ExitStatusExt as _;
use std::process::ExitStatus;
use std::sync::Arc;
use std::time::{Duration, Instant};

use ptk_events::OutputStream;
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWriteExt as _};
use tokio::process::Child;
use tokio::sync::watch;
use tokio::time::{sleep, timeout, timeout_at};
use tokio_util::sync::CancellationToken;

use super::capture::{Shared, lock};
use super::group::Leftovers;
use super::live::Live;
use super::{Ended, Exit, Group, Reason};

/// Bytes that are read at once: as many as a pipe holds.
const BUFFER: usize = 64 * 1024;
/// How long a stream that somebody still holds open has to be silent before it
/// is given up.
const SILENCE: Duration = Duration::from_millis(300);
/// How long it is read at most after the program has ended.
const LAST_WORDS: Duration = Duration::from_secs(2);
/// How long a killed program has to be gone.
const KILLED: Duration = Duration::from_secs(2);
/// How often it is looked at whether the program stands still.
const LOOK: Duration = Duration::from_millis(500);

/// Who is shown what comes.
pub(super) type Show<'a> = &'a (dyn Fn(OutputStream, &str) + Send + Sync);

/// A program that runs.
#[derive(Debug)]
pub(crate) struct Running {
    pub(super) child: Child,
    pub(super) group: Arc<Group>,
    pub(super) stdin: Option<Vec<u8>>,
    pub(super) timeout: Duration,
    pub(super) started: Instant,
    pub(super) stdout: Shared,
    pub(super) stderr: Shared,
}

/// Kills what is still there when nobody waits any more.
struct KillOnDrop(Option<Arc<Group>>);

impl Drop for KillOnDrop {
    fn drop(&mut self) {
        if let Some(group) = &self.0 {
            group.kill();
        }
    }
}

/// How many streams are open. Every piece that comes is a change.
type Flow = watch::Sender<usize>;

impl Running {
    pub(crate) const fn group(&self) -> &Arc<Group> {
        &self.group
    }

    pub(crate) const fn stdout(&self) -> &Shared {
        &self.stdout
    }

    /// Runs it to its end.
    pub(crate) async fn end(mut self, cancel: &CancellationToken, show: Option<Show<'_>>) -> Ended {
        let mut guard = KillOnDrop(Some(Arc::clone(&self.group)));
        let (flow, watched) = watch::channel(2);
        let enough = CancellationToken::new();
        let stdout = self.child.stdout.take();
        let stderr = self.child.stderr.take();
        let out = Pump {
            stream: OutputStream::Stdout,
            capture: &self.stdout,
            show,
        };
        let err = Pump {
            stream: OutputStream::Stderr,
            capture: &self.stderr,
            show,
        };
        let input = self.stdin.take();
        let pipe = self.child.stdin.take();
        let feed = async {
            if let (Some(mut pipe), Some(input)) = (pipe, input) {
                // A program need not read what it is given.
                let written = pipe.write_all(&input);
                let _ = enough.run_until_cancelled(written).await;
            }
        };
        let supervised = async {
            let supervisor = Supervisor {
                child: &mut self.child,
                group: &self.group,
                timeout: self.timeout.saturating_sub(self.started.elapsed()),
                cancel,
                flow: watched,
            };
            let end = supervisor.run().await;
            enough.cancel();
            end
        };
        let ((), (), (), (exit, reason, left)) = tokio::join!(
            feed,
            out.run(stdout, &flow, &enough),
            err.run(stderr, &flow, &enough),
            supervised,
        );
        guard.0 = None;
        let is_one = Arc::ptr_eq(&self.stdout, &self.stderr);
        let stdout = lock(&self.stdout).finish();
        let stderr = if is_one {
            super::Captured::default()
        } else {
            lock(&self.stderr).finish()
        };
        let duration = self.started.elapsed();
        Ended {
            exit,
            reason,
            stdout,
            stderr,
            left_behind: left.found,
            survived: left.survived,
            duration,
        }
    }
}

/// From a stream to where it is kept and shown.
struct Pump<'a> {
    stream: OutputStream,
    capture: &'a Shared,
    show: Option<Show<'a>>,
}

impl Pump<'_> {
    async fn run(
        self,
        reader: Option<impl AsyncRead + Unpin>,
        flow: &Flow,
        enough: &CancellationToken,
    ) {
        let mut live = Live::new();
        if let Some(mut reader) = reader {
            let mut buffer = vec![0; BUFFER];
            loop {
                let reading = enough.run_until_cancelled(reader.read(&mut buffer));
                let read = match live.due().filter(|_| self.show.is_some()) {
                    Some(due) => timeout_at(due, reading).await,
                    None => Ok(reading.await),
                };
                match read {
                    Err(_) => {}
                    Ok(Some(Ok(count @ 1..))) => {
                        let bytes = buffer.get(..count).unwrap_or_default();
                        self.keep(bytes).await;
                        live.push(bytes);
                        flow.send_modify(|_| ());
                    }
                    Ok(Some(Ok(0) | Err(_)) | None) => break,
                }
                if let (Some(show), Some(piece)) = (self.show, live.piece()) {
                    show(self.stream, &piece);
                }
            }
        }
        if let Some(show) = self.show {
            show(self.stream, &live.rest());
        }
        flow.send_modify(|open| *open -= 1);
    }

    async fn keep(&self, bytes: &[u8]) {
        if !lock(self.capture).wants_disk(bytes.len()) {
            return lock(self.capture).take(bytes);
        }
        let (capture, bytes) = (Arc::clone(self.capture), bytes.to_vec());
        // It fails only if the runtime ends, and then nobody reads it.
        let _ = tokio::task::spawn_blocking(move || lock(&capture).take(&bytes)).await;
    }
}

/// Waits for the end, or brings it about.
struct Supervisor<'a> {
    child: &'a mut Child,
    group: &'a Arc<Group>,
    timeout: Duration,
    cancel: &'a CancellationToken,
    flow: watch::Receiver<usize>,
}

impl Supervisor<'_> {
    async fn run(mut self) -> (Exit, Reason, Leftovers) {
        let reason = tokio::select! {
            _ = self.child.wait() => Reason::Finished,
            () = self.cancel.cancelled() => Reason::Cancelled,
            () = sleep(self.timeout) => Reason::TimedOut,
            () = stands_still(self.group) => Reason::Stopped,
        };
        if reason == Reason::Finished {
            self.group.reaped();
            self.last_words().await;
        }
        let mut left = self.end_all().await;
        if reason != Reason::Finished {
            left.found = 0;
        }
        let status = timeout(KILLED, self.child.wait()).await;
        self.group.reaped();
        self.last_words().await;
        let exit = match status {
            Ok(Ok(status)) => exit(status),
            // Not even killing helped: it hangs in the kernel.
            Ok(Err(_)) | Err(_) => Exit::Signal(9),
        };
        (exit, reason, left)
    }

    async fn end_all(&self) -> Leftovers {
        let group = Arc::clone(self.group);
        let ended = tokio::task::spawn_blocking(move || group.end()).await;
        ended.unwrap_or_default()
    }

    /// Until both streams have ended, or are silent, or it has been enough.
    async fn last_words(&mut self) {
        let quiet = async {
            while *self.flow.borrow_and_update() > 0 {
                match timeout(SILENCE, self.flow.changed()).await {
                    Ok(Ok(())) => {}
                    Ok(Err(_)) | Err(_) => return,
                }
            }
        };
        let _ = timeout(LAST_WORDS, quiet).await;
    }
}

/// Ends when the program stands still, twice in a row.
async fn stands_still(group: &Group) {
    let mut seen = 0;
    while seen < 2 {
        sleep(LOOK).await;
        seen = if group.is_stopped() { seen + 1 } else { 0 };
    }
}

fn exit(status: ExitStatus) -> Exit {
    match (status.code(), status.signal()) {
        (Some(code), _) => Exit::Code(code),
        (None, signal) => Exit::Signal(signal.unwrap_or_default()),
    }
}
