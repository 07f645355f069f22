//! A program while it runs: its streams are read, its end is waited for or
//! brought about.

use std::sync::Arc;
use std::time::{Duration, Instant};

use ptk_events::OutputStream;
use ptk_sandbox::command::{Control, Kept, Left, ProgramInput, ProgramOutput, Report};
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWriteExt as _};
use tokio::sync::watch;
use tokio::time::{sleep, timeout, timeout_at};
use tokio_util::sync::CancellationToken;

use super::capture::{Shared, lock};
use super::live::Live;
use super::{Ended, Exit, Reason};

/// Bytes that are read at once: as many as a pipe holds.
const BUFFER: usize = 64 * 1024;
/// How long a stream that a process still holds open has to be silent before it
/// is given up.
const SILENCE: Duration = Duration::from_millis(300);
/// How long the streams are read at most after the program has ended.
const LAST_WORDS: Duration = Duration::from_secs(2);
/// How long the keeper has to end everything. It needs two seconds at most.
const ENDING: Duration = Duration::from_secs(5);

/// A function that shows output while it comes.
pub(super) type Show<'a> = &'a (dyn Fn(OutputStream, &str) + Send + Sync);

/// A program that runs. Dropping it kills it.
#[derive(Debug)]
pub(crate) struct Running {
    pub(super) kept: Kept,
    pub(super) input: Vec<u8>,
    pub(super) timeout: Duration,
    pub(super) started: Instant,
    pub(super) stdout: Shared,
    pub(super) stderr: Shared,
}

/// How many streams are open. Every piece that comes is a change.
type Flow = watch::Sender<usize>;

impl Running {
    pub(crate) const fn control(&self) -> &Control {
        self.kept.control()
    }

    /// The program's standard input and output, for a dialogue with it. The
    /// output is then not kept here.
    pub(crate) fn talk(&mut self) -> Option<(ProgramInput, ProgramOutput)> {
        self.kept.stdin.take().zip(self.kept.stdout.take())
    }

    pub(crate) const fn stdout(&self) -> &Shared {
        &self.stdout
    }

    /// Runs the program to its end.
    pub(crate) async fn end(mut self, cancel: &CancellationToken, show: Option<Show<'_>>) -> Ended {
        let (flow, watched) = watch::channel(2);
        let enough = CancellationToken::new();
        let stdout = self.kept.stdout.take();
        let stderr = self.kept.stderr.take();
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
        let pipe = self.kept.stdin.take();
        let feed = async {
            if let Some(mut pipe) = pipe {
                // A program need not read what it is given.
                let written = pipe.write_all(&self.input);
                let _ = enough.run_until_cancelled(written).await;
            }
        };
        let supervised = async {
            let supervisor = Supervisor {
                kept: &mut self.kept,
                exit: None,
                timeout: self.timeout.saturating_sub(self.started.elapsed()),
                cancel,
                flow: watched,
                refused: Vec::new(),
            };
            let end = supervisor.run().await;
            enough.cancel();
            end
        };
        let ((), (), (), (exit, reason, left, refused)) = tokio::join!(
            feed,
            out.run(stdout, &flow, &enough),
            err.run(stderr, &flow, &enough),
            supervised,
        );
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
            refused,
            protections: std::mem::take(&mut self.kept.protections),
            duration,
        }
    }
}

/// Copies a stream to where it is kept and shown.
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
        // It fails only if the runtime ends, and then the output is not read
        // any more.
        let _ = tokio::task::spawn_blocking(move || lock(&capture).take(&bytes)).await;
    }
}

/// Waits for the end, or brings it about.
struct Supervisor<'a> {
    kept: &'a mut Kept,
    /// How the first process ended, if it has.
    exit: Option<Exit>,
    timeout: Duration,
    cancel: &'a CancellationToken,
    flow: watch::Receiver<usize>,
    refused: Vec<String>,
}

impl Supervisor<'_> {
    async fn run(mut self) -> (Exit, Reason, Left, Vec<String>) {
        let (cancel, time) = (self.cancel, sleep(self.timeout));
        let reason = tokio::select! {
            reason = self.ends() => reason,
            () = cancel.cancelled() => Reason::Cancelled,
            () = time => Reason::TimedOut,
        };
        if reason == Reason::Finished {
            self.last_words().await;
        }
        let mut left = self.end_all().await;
        if reason != Reason::Finished {
            left.found = 0;
        }
        self.last_words().await;
        // Not even killing helped: it hangs in the kernel.
        let exit = self.exit.unwrap_or(Exit::Signal(9));
        (exit, reason, left, self.refused)
    }

    /// Waits until the program has ended, stopped or is lost.
    async fn ends(&mut self) -> Reason {
        loop {
            match self.kept.report().await {
                Some(Report::Exited(exit)) => {
                    self.exit = Some(exit);
                    return Reason::Finished;
                }
                Some(Report::Stopped) => return Reason::Stopped,
                Some(Report::Gone(_)) | None => return Reason::Lost,
                Some(Report::Refused(files)) => self.refused = files,
                Some(_) => {}
            }
        }
    }

    async fn end_all(&mut self) -> Left {
        self.kept.control().end();
        let mut left = Left::default();
        let gone = async {
            while let Some(report) = self.kept.report().await {
                match report {
                    Report::Exited(exit) => self.exit = Some(exit),
                    Report::Gone(last) => left = last,
                    Report::Refused(files) => self.refused = files,
                    _ => {}
                }
            }
        };
        // If it does not end in time, only what is known so far is reported.
        let _ = timeout(ENDING, gone).await;
        left
    }

    /// Waits until both streams have ended or are silent, for a limited time.
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
