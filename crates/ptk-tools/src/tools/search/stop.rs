//! Searches off the runtime: on a thread that can read the workspace and
//! nothing else, and that stops when the call is dropped.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

use ptk_sandbox::confine::{self, Confinement};
use tokio::sync::oneshot;

use crate::{CallContext, ToolError};

/// How often the progress of a search is reported.
const PROGRESS: Duration = Duration::from_secs(1);
/// So long before the deadline a search ends by itself: to return what it found
/// is better than to be stopped with nothing.
const MARGIN: Duration = Duration::from_millis(1_500);

/// Whether a search is to end, and how far it is.
#[derive(Debug, Clone, Default)]
pub(crate) struct Stop {
    inner: Arc<StopState>,
}

#[derive(Debug, Default)]
struct StopState {
    /// The call was dropped.
    is_abandoned: AtomicBool,
    /// What was found so far is to be returned.
    is_time_up: AtomicBool,
    seen: AtomicU64,
}

impl Stop {
    /// Whether the search is to end.
    pub(crate) fn is_set(&self) -> bool {
        self.is_abandoned() || self.inner.is_time_up.load(Ordering::Relaxed)
    }

    /// Whether the call was dropped, so that even what was found is of no use.
    pub(crate) fn is_abandoned(&self) -> bool {
        self.inner.is_abandoned.load(Ordering::Relaxed)
    }

    fn abandon(&self) {
        self.inner.is_abandoned.store(true, Ordering::Relaxed);
    }

    fn time_is_up(&self) {
        self.inner.is_time_up.store(true, Ordering::Relaxed);
    }

    /// Notes how many files were looked at, and returns whether the search goes
    /// on.
    pub(crate) fn goes_on(&self, files: u64) -> bool {
        self.inner.seen.store(files, Ordering::Relaxed);
        !self.is_set()
    }
}

/// Stops the search when the call is dropped.
struct StopOnDrop(Stop);

impl Drop for StopOnDrop {
    fn drop(&mut self) {
        self.0.abandon();
    }
}

/// Runs `prepare` as it is, and `search` with its outcome on the same thread
/// once that can read nothing outside the workspace.
pub(crate) async fn confined<P, T>(
    context: &CallContext,
    prepare: impl FnOnce() -> Result<P, ToolError> + Send + 'static,
    search: impl FnOnce(P, &Stop) -> Result<T, ToolError> + Send + 'static,
) -> Result<T, ToolError>
where
    T: Send + 'static,
{
    let stop = Stop::default();
    let _stop = StopOnDrop(stop.clone());
    let (told, mut result) = oneshot::channel();
    let workspace = context.workspace().clone();
    let thread = thread::Builder::new().name("ptk-search".to_owned()).spawn({
        let stop = stop.clone();
        move || {
            let outcome = prepare().and_then(|prepared| {
                if let Confinement::None { reason } = confine::read_only(&workspace) {
                    tracing::debug!(reason, "a search runs without Landlock");
                }
                search(prepared, &stop)
            });
            // The receiver is gone if the call was dropped.
            let _ = told.send(outcome);
        }
    });
    if let Err(error) = thread {
        return Err(ToolError::system(format!(
            "No thread for the search: {error}"
        )));
    }
    let time = context.remaining().checked_sub(MARGIN);
    let out_of_time = tokio::time::sleep(time.unwrap_or(context.remaining() / 2).min(A_DAY));
    tokio::pin!(out_of_time);
    let mut progress = tokio::time::interval(PROGRESS);
    progress.tick().await;
    let cancelled = context.cancellation().cancelled();
    tokio::pin!(cancelled);
    loop {
        tokio::select! {
            biased;
            outcome = &mut result => {
                return outcome.unwrap_or_else(|_| Err(ToolError::system("The search broke down")));
            }
            () = &mut cancelled => {
                return Err(ToolError::system("The search was cancelled")
                    .suggest("Search a smaller folder, or go on without it.")
                    .with("cancelled", true));
            }
            () = &mut out_of_time, if !stop.is_set() => stop.time_is_up(),
            _ = progress.tick() => {
                let files = stop.inner.seen.load(Ordering::Relaxed);
                context.progress(&format!("Looked at {files} files"));
            }
        }
    }
}

/// The longest timer that is used: timers have a limit.
const A_DAY: Duration = Duration::from_secs(24 * 60 * 60);
