//! `bash_output` and `bash_kill`: what a command in the background has written,
//! and its end.

use std::sync::Arc;
use std::time::Duration;

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use super::result::exit;
use crate::jobs::Job;
use crate::process::{Ended, Reason, clean};
use crate::{CallContext, Effects, Fields, ToolError, TypedTool};

/// How long is waited at most.
const MAX_WAIT: f64 = 600.0;
/// Bytes of output that are given at once.
const MOST: usize = 24 * 1024;
/// Of more than that, so many are of the beginning.
const HEAD: usize = 8 * 1024;

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
        let job = context.services().jobs.get(&args.job)?;
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
        let (text, next) = context
            .blocking(move || written(&read, from, is_over, is_from_offset))
            .await?;
        if !is_from_offset {
            job.asked_to(next);
        }
        let mut fields = state(&job, ended.as_deref());
        fields.insert("output".to_owned(), text.into());
        fields.insert("next_offset".to_owned(), next.into());
        Ok(fields)
    }
}

/// What was written from a place on, and where the next reading begins.
fn written(
    job: &Job,
    from: u64,
    is_over: bool,
    is_from_offset: bool,
) -> Result<(String, u64), ToolError> {
    let total = job.total();
    if from > total {
        return Err(
            ToolError::user(format!("The output has only {total} bytes"))
                .suggest("Leave offset out to read what is new."),
        );
    }
    let is_long = total - from > MOST as u64 && !is_from_offset;
    let first = job.piece(from, if is_long { HEAD } else { MOST })?;
    let mut text = String::new();
    if first.start > from {
        text = format!("[… {} bytes were not kept …]\n", first.start - from);
    }
    let kept = whole_characters(&first.bytes, is_over && first.end() == total);
    text.push_str(&clean(kept));
    let mut next = first.start + kept.len() as u64;
    if is_long {
        let last = job.piece(total - (MOST - HEAD) as u64, MOST - HEAD)?;
        let kept = whole_characters(&last.bytes, is_over);
        text.push_str(&format!(
            "\n[… {} bytes left out; the rest: bash_output(job=\"{}\", offset={next}) …]\n",
            last.start - next,
            job.name,
        ));
        text.push_str(&clean(kept));
        next = last.start + kept.len() as u64;
    }
    Ok((text, next))
}

/// The bytes without the beginning of a character that stands at their end,
/// unless nothing more comes.
fn whole_characters(bytes: &[u8], is_last: bool) -> &[u8] {
    if is_last {
        return bytes;
    }
    let tail = bytes.len().saturating_sub(4);
    let start = (tail..bytes.len()).rev().find(|at| {
        let byte = bytes.get(*at).copied().unwrap_or_default();
        !(0x80..0xC0).contains(&byte)
    });
    match start.and_then(|start| bytes.split_at_checked(start)) {
        Some((whole, rest)) => match std::str::from_utf8(rest) {
            Err(error) if error.error_len().is_none() => whole,
            _ => bytes,
        },
        None => bytes,
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
    /// It ends what the session itself has started, and nobody has to agree to
    /// that.
    const EFFECTS: Effects = Effects::NONE;

    async fn run(&self, context: &CallContext, args: KillArgs) -> Result<Fields, ToolError> {
        let job = context.services().jobs.get(&args.job)?;
        job.kill().await;
        let ended = job.ended();
        Ok(state(&job, ended.as_deref()))
    }
}
