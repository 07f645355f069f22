//! Stops a run from outside: by cancellation or timeout.

use std::future::{Future, pending};
use std::time::Duration;

use tokio::time::{Instant, sleep_until};
use tokio_util::sync::CancellationToken;

use crate::{RunError, RunOptions};

/// The cancellation and the deadline of a run.
#[derive(Debug, Clone)]
pub(crate) struct Stop {
    cancel: CancellationToken,
    deadline: Option<(Instant, Duration)>,
}

impl Stop {
    /// Starts the time of a run now.
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

    /// Returns an error if the run has to stop.
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

    /// A token for calls: cancelled with the run, or alone.
    pub(crate) fn token(&self) -> CancellationToken {
        self.cancel.child_token()
    }
}
