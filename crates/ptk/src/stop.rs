//! How a run is stopped from outside: by whoever cancels it, and by its time.

use std::future::{Future, pending};
use std::time::Duration;

use tokio::time::{Instant, sleep_until};
use tokio_util::sync::CancellationToken;

use crate::{RunError, RunOptions};

/// Ends whatever is waited for.
#[derive(Debug, Clone)]
pub(crate) struct Stop {
    cancel: CancellationToken,
    deadline: Option<(Instant, Duration)>,
}

impl Stop {
    /// The time of a run begins now.
    pub(crate) fn new(options: &RunOptions) -> Self {
        let deadline = options.timeout.and_then(|timeout| {
            let end = Instant::now().checked_add(timeout)?;
            Some((end, timeout))
        });
        Self {
            cancel: options.cancel.clone(),
            deadline,
        }
    }

    /// Why it has to stop, if it has to.
    pub(crate) fn check(&self) -> Result<(), RunError> {
        if self.cancel.is_cancelled() {
            return Err(RunError::Cancelled);
        }
        match self.deadline {
            Some((end, timeout)) if Instant::now() >= end => Err(RunError::TimedOut(timeout)),
            _ => Ok(()),
        }
    }

    /// Waits for the work, unless the run is stopped first.
    pub(crate) async fn unless<T>(&self, work: impl Future<Output = T>) -> Result<T, RunError> {
        tokio::select! {
            biased;
            error = self.stopped() => Err(error),
            done = work => Ok(done),
        }
    }

    /// Waits until the run is stopped.
    pub(crate) async fn stopped(&self) -> RunError {
        let late = async {
            match self.deadline {
                Some((end, timeout)) => {
                    sleep_until(end).await;
                    RunError::TimedOut(timeout)
                }
                None => pending().await,
            }
        };
        tokio::select! {
            () = self.cancel.cancelled() => RunError::Cancelled,
            error = late => error,
        }
    }

    /// For calls: ended with the run, or alone.
    pub(crate) fn token(&self) -> CancellationToken {
        self.cancel.child_token()
    }
}
