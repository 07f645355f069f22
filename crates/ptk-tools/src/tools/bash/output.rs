//! `bash_output` and `bash_kill`: what a command in the background has written,
//! and its end.

use std::sync::Arc;
use std::time::Duration;

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use super::jobs::{Job, Jobs};
use super::result::exit;
use crate::process::{Ended, Reason, cleaned, whole_characters};
use crate::{CallContext, Effects, Fields, ToolError, TypedTool};

/// How long a call waits at most, in seconds.
const MAX_WAIT: f64 = 600.0;
/// Bytes of output that are given at once.
const MOST: usize = 24 * 1024;
/// How many bytes of the beginning are shown of a longer output.
const HEAD: usize = 8 * 1024;

/// The note on lines that were overwritten.
const OVERWRITTEN: &str = "Of lines that were overwritten, output has only what was left standing; \
    `whole`, which is given once the job has ended, has all of them.";

/// The tool `bash_output`.
#[derive(Debug, Clone, Copy, Default)]
pub struct BashOutput;

/// Arguments of `bash_output`.
#[derive(Debug, Deserialize, JsonSchema)]
pub struct OutputArgs {
    /// The job, as `bash` named it
    #[schemars(example = &"job_1")]
    job: String,
    /// Seconds to wait for new output or the end, if there is no new output yet; 0 if not given, at most 600
    #[serde(default)]
    wait_seconds: Option<f64>,
    /// The byte of the output to begin with, to read something again; behind what was read last if not given
    #[serde(default)]
    offset: Option<u64>,
}

impl OutputArgs {
    fn wait(&self) -> Duration {
        let seconds = self.wait_seconds.unwrap_or(0.0).clamp(0.0, MAX_WAIT);
        Duration::try_from_secs_f64(seconds).unwrap_or_default()
    }
}

impl TypedTool for BashOutput {
    type Args = OutputArgs;
    type Output = Fields;

    const NAME: &'static str = "bash_output";
    const DESCRIPTION: &'static str = "Read what a background job of bash has written since it was last \
        read, both streams in the order in which they came, and whether it still runs.";
    const EFFECTS: Effects = Effects::NONE;

    fn timeout(&self, args: &OutputArgs) -> Option<Duration> {
        Some(args.wait())
    }

    async fn run(&self, context: &CallContext, args: OutputArgs) -> Result<Fields, ToolError> {
        let job = context.services().state.get::<Jobs>().get(&args.job)?;
        let from = args.offset.unwrap_or_else(|| job.asked());
        tokio::select! {
            () = job.news(from) => {}
            () = tokio::time::sleep(args.wait()) => {}
            () = context.cancellation().cancelled() => {}
        }
        // In this order: a job that has ended writes no more.
        let ended = job.ended();
        let read = Arc::clone(&job);
        let is_over = ended.is_some();
        let is_from_offset = args.offset.is_some();
        let written = context
            .blocking(move || written(&read, from, is_over, is_from_offset))
            .await?;
        if !is_from_offset {
            job.asked_to(written.next);
        }
        let mut fields = state(&job, ended.as_deref());
        if written.is_cut {
            fields.insert("truncated".to_owned(), true.into());
        }
        if written.is_overwritten {
            fields.insert("notice".to_owned(), OVERWRITTEN.into());
        }
        fields.insert("output".to_owned(), written.text.into());
        fields.insert("next_offset".to_owned(), written.next.into());
        Ok(fields)
    }
}

/// The output from a position on.
#[derive(Debug, Default)]
struct Written {
    text: String,
    /// Where the next reading begins.
    next: u64,
    /// Whether something is left out.
    is_cut: bool,
    /// Whether lines were overwritten.
    is_overwritten: bool,
}

impl Written {
    fn push(&mut self, bytes: &[u8]) {
        let (text, is_overwritten) = cleaned(bytes);
        self.text.push_str(&text);
        self.is_overwritten |= is_overwritten;
    }
}

/// Reads the output from a position on.
fn written(
    job: &Job,
    from: u64,
    is_over: bool,
    is_from_offset: bool,
) -> Result<Written, ToolError> {
    let total = job.total();
    if from > total {
        return Err(
            ToolError::user(format!("The output has only {total} bytes"))
                .suggest("Leave offset out to read what is new."),
        );
    }
    let is_long = total - from > MOST as u64 && !is_from_offset;
    let first = job.piece(from, if is_long { HEAD } else { MOST })?;
    let mut written = Written::default();
    if first.start > from {
        let lost = first.start - from;
        written.text = format!("[… {lost} bytes were not kept …]\n");
        written.is_cut = true;
    }
    let kept = complete(&first.bytes, is_over && first.end() == total);
    written.push(kept);
    written.next = first.start + kept.len() as u64;
    if is_long {
        let last = job.piece(total - (MOST - HEAD) as u64, MOST - HEAD)?;
        let kept = complete(&last.bytes, is_over);
        written.text.push_str(&format!(
            "\n[… {} bytes left out; the rest: bash_output(job=\"{}\", offset={}) …]\n",
            last.start - written.next,
            job.name,
            written.next,
        ));
        written.push(kept);
        written.next = last.start + kept.len() as u64;
        written.is_cut = true;
    }
    Ok(written)
}

/// The bytes without the beginning of a character that stands at their end,
/// unless nothing more comes.
fn complete(bytes: &[u8], is_last: bool) -> &[u8] {
    if is_last {
        bytes
    } else {
        whole_characters(bytes)
    }
}

/// Whether a job runs, and how it ended.
fn state(job: &Job, ended: Option<&Ended>) -> Fields {
    let status = match ended.map(|ended| ended.reason) {
        None => "running",
        Some(Reason::Finished) => "exited",
        Some(Reason::TimedOut) => "timed_out",
        Some(Reason::Cancelled) => "killed",
        Some(Reason::Stopped) => "stopped",
        Some(Reason::Lost) => "lost",
    };
    let mut fields = Fields::new();
    fields.insert("job".to_owned(), job.name.clone().into());
    fields.insert("status".to_owned(), status.into());
    if let Some(ended) = ended {
        fields.extend(exit(ended));
        let whole = ended.stdout.handle().map(Value::from);
        fields.extend(whole.map(|whole| ("whole".to_owned(), whole)));
    }
    let age = u64::try_from(job.age().as_millis()).unwrap_or(u64::MAX);
    fields.insert("duration_ms".to_owned(), age.into());
    fields
}

/// The tool `bash_kill`.
#[derive(Debug, Clone, Copy, Default)]
pub struct BashKill;

/// Arguments of `bash_kill`.
#[derive(Debug, Deserialize, JsonSchema)]
pub struct KillArgs {
    /// The job, as `bash` named it
    #[schemars(example = &"job_1")]
    job: String,
}

impl TypedTool for BashKill {
    type Args = KillArgs;
    type Output = Fields;

    const NAME: &'static str = "bash_kill";
    const DESCRIPTION: &'static str =
        "End a background job of bash, with everything that it started.";
    /// It ends only what the session itself has started, which needs no
    /// approval.
    const EFFECTS: Effects = Effects::NONE;

    async fn run(&self, context: &CallContext, args: KillArgs) -> Result<Fields, ToolError> {
        let job = context.services().state.get::<Jobs>().get(&args.job)?;
        job.kill().await;
        let ended = job.ended();
        Ok(state(&job, ended.as_deref()))
    }
}
