//! The run of one checker, from its start to its diagnostics.

use std::path::PathBuf;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::checkers::{Checker, ExitMeans};
use super::diagnostic::{RawDiagnostic, Reading, Severity, shortened};
use super::formats::Output;
use super::programs::SearchPath;
use crate::process::{Captured, Ended, Exit, Program, Reason};
use crate::{CallContext, ToolError};

/// Lines of a checker's output in a note.
const NOTE_LINES: usize = 12;
/// Characters of a checker's output in a note.
const NOTE_CHARACTERS: usize = 1_500;
/// When the first progress of a running checker is reported, and how often
/// then.
const FIRST_PROGRESS: Duration = Duration::from_secs(1);
const PROGRESS: Duration = Duration::from_secs(5);

/// How the run of a checker ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Status {
    /// It ran to its end.
    Ok,
    /// It failed, or did not finish.
    Failed,
    /// It is not installed.
    Missing,
}

/// A checker in a result.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Checked {
    /// The name of the checker.
    pub name: String,
    /// The command that was run.
    pub command: String,
    /// How its run ended.
    pub status: Status,
    /// A note about it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
}

/// The outcome of a checker.
#[derive(Debug)]
pub(super) struct CheckOutcome {
    /// The source of its diagnostics, unless they name another.
    pub(super) source: String,
    /// Where it ran.
    pub(super) folder: PathBuf,
    pub(super) checked: Checked,
    pub(super) found: Vec<RawDiagnostic>,
    pub(super) is_late: bool,
}

impl Checker {
    /// Runs the checker, and reads its output.
    pub(super) async fn run(
        &self,
        context: &CallContext,
        search: &SearchPath,
        time: Duration,
    ) -> Result<CheckOutcome, ToolError> {
        let Some(program) = search.find(&self.program, &self.homes, &self.folder) else {
            let note = format!("{} is not installed: {}", self.program, self.install);
            return Ok(self.outcome(Status::Missing, Some(note), Vec::new()));
        };
        let program = Program::new(program, &self.arguments, &self.folder).timeout(time);
        let running = match program.start(context).await {
            Ok(running) => running,
            Err(error) => {
                return Ok(self.outcome(Status::Failed, Some(error.to_string()), Vec::new()));
            }
        };
        let ended = with_progress(
            context,
            &self.name,
            running.end(context.cancellation(), None),
        )
        .await;
        let checker = self.clone();
        let inner = context.clone();
        context
            .blocking(move || checker.read(&inner, &ended, time))
            .await
    }

    fn outcome(
        &self,
        status: Status,
        note: Option<String>,
        found: Vec<RawDiagnostic>,
    ) -> CheckOutcome {
        CheckOutcome {
            source: self.name.clone(),
            folder: self.folder.clone(),
            checked: Checked {
                name: match &self.project {
                    Some(project) => format!("{} in {project}", self.name),
                    None => self.name.clone(),
                },
                command: self.command(),
                status,
                note,
            },
            found,
            is_late: false,
        }
    }

    fn read(
        &self,
        context: &CallContext,
        ended: &Ended,
        time: Duration,
    ) -> Result<CheckOutcome, ToolError> {
        let stdout = ended.stdout.bytes(context.outputs())?;
        let stderr = ended.stderr.bytes(context.outputs())?;
        let mut reading = Reading::default();
        let output = Output {
            stdout: &stdout,
            stderr: &stderr,
        };
        (self.reader)(output, &mut reading);
        let mut faults = Vec::new();
        faults.extend(self.ending(ended, &reading, time)?);
        let dropped = ended.stdout.dropped() + ended.stderr.dropped();
        if dropped > 0 {
            faults.push(format!("it wrote too much: {dropped} bytes were not read"));
        } else if ended.reason == Reason::Finished {
            // If the run was cut short, that is not a fault of the output.
            faults.extend(reading.fault.take());
        }
        let status = if faults.is_empty() {
            Status::Ok
        } else {
            Status::Failed
        };
        if reading.left_out > 0 {
            faults.push(format!(
                "{} more diagnostics were left out",
                reading.left_out
            ));
        }
        faults.extend(self.remark.clone());
        let note = (!faults.is_empty()).then(|| faults.join("; "));
        let mut outcome = self.outcome(status, note, reading.found);
        outcome.is_late = ended.reason == Reason::TimedOut;
        Ok(outcome)
    }

    /// What is wrong with how the checker ended, if anything.
    fn ending(
        &self,
        ended: &Ended,
        reading: &Reading,
        time: Duration,
    ) -> Result<Option<String>, ToolError> {
        let is_proven = match self.exit {
            ExitMeans::Findings => !reading.found.is_empty(),
            ExitMeans::Errors => {
                let mut found = reading.found.iter();
                found.any(|found| found.severity == Severity::Error)
            }
        };
        Ok(match (ended.reason, ended.exit) {
            (Reason::Cancelled, _) => return Err(cancelled()),
            (Reason::TimedOut, _) => Some(stopped(time, ended)),
            (Reason::Stopped, _) => {
                Some("it wanted to use the terminal, and was stopped".to_owned())
            }
            (Reason::Lost, _) => Some("its keeper was killed".to_owned()),
            (Reason::Finished, Exit::Code(0)) => None,
            (Reason::Finished, Exit::Code(_)) if is_proven => None,
            (Reason::Finished, Exit::Code(code)) => {
                Some(words(&format!("exit code {code}"), ended))
            }
            (Reason::Finished, Exit::Signal(signal)) => {
                Some(words(&format!("it was killed by signal {signal}"), ended))
            }
        })
    }
}

/// The error of a cancelled call.
pub(super) fn cancelled() -> ToolError {
    ToolError::system("The checkers were cancelled")
        .suggest("Call get_diagnostics again when you want to know.")
        .with("cancelled", true)
}

/// How a checker ended, and its last output.
fn words(how: &str, ended: &Ended) -> String {
    match said(ended) {
        Some(said) => format!("{how}: {said}"),
        None => format!("{how}, without a word"),
    }
}

/// That a checker exceeded its time, and its last output, if there is any.
pub(super) fn stopped(time: Duration, ended: &Ended) -> String {
    let how = format!("it was stopped after {} s", time.as_secs());
    match last_lines(&ended.stderr, 2) {
        Some(said) => format!("{how}; its last words: {said}"),
        None => how,
    }
}

/// The last lines of a program's output, on either stream.
pub(super) fn said(ended: &Ended) -> Option<String> {
    let streams = [&ended.stderr, &ended.stdout];
    let mut said = streams
        .into_iter()
        .filter_map(|stream| last_lines(stream, NOTE_LINES));
    said.next()
}

fn last_lines(stream: &Captured, most: usize) -> Option<String> {
    let text = stream.text();
    let lines: Vec<&str> = text.trim().lines().collect();
    let first = lines.len().saturating_sub(most);
    let text = lines.get(first..).unwrap_or_default().join("\n");
    (!text.is_empty()).then(|| shortened(&text, NOTE_CHARACTERS))
}

/// Reports progress while a checker runs.
pub(super) async fn with_progress<T>(
    context: &CallContext,
    name: &str,
    work: impl Future<Output = T>,
) -> T {
    let start = tokio::time::Instant::now();
    let mut ticks = tokio::time::interval_at(start + FIRST_PROGRESS, PROGRESS);
    tokio::pin!(work);
    loop {
        tokio::select! {
            done = &mut work => return done,
            _ = ticks.tick() => {
                let seconds = start.elapsed().as_secs();
                context.progress(&format!("{name} is at work ({seconds} s)\n"));
            }
        }
    }
}
