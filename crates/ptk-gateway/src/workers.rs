//! Runs work whose length a client decides on threads of its own: parsing long
//! requests, teaching tools, checking replies by schemas.

use std::sync::Arc;
use std::time::Duration;

use hyper::StatusCode;
use tokio::runtime::{Handle, RuntimeFlavor};
use tokio::sync::Semaphore;
use tokio::time::timeout;

use crate::failure::Failure;

/// How many pieces of such work run at the same time. The budgets of
/// [`Complexity`](ptk_protocol::schema::Complexity) bound each, so that one
/// whose client gave up ends all the same.
const MAX_RUNNING: usize = 16;

/// A bounded number of threads for work that may take long.
#[derive(Debug)]
pub(crate) struct Workers {
    slots: Arc<Semaphore>,
    /// How long a client waits for its work.
    deadline: Duration,
}

impl Workers {
    pub(crate) fn new(deadline: Duration) -> Self {
        Self {
            slots: Arc::new(Semaphore::new(MAX_RUNNING)),
            deadline,
        }
    }

    /// Runs work on a thread of its own.
    ///
    /// # Errors
    ///
    /// If it fails, or takes longer than the deadline.
    pub(crate) async fn run<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> Result<T, Failure> + Send + 'static,
    ) -> Result<T, Failure> {
        let busy = || Failure {
            retry_after: Some(Duration::from_secs(1)),
            ..Failure::new(
                StatusCode::SERVICE_UNAVAILABLE,
                "overloaded",
                "Too many large requests are being prepared; wait a little",
            )
        };
        let slot = timeout(self.deadline, Arc::clone(&self.slots).acquire_owned());
        let slot = slot.await.map_err(|_| busy())?.map_err(|_| busy())?;
        let worker = tokio::task::spawn_blocking(move || {
            let _slot = slot;
            work()
        });
        match timeout(self.deadline, worker).await {
            Ok(Ok(done)) => done,
            Ok(Err(_)) => Err(Failure::new(
                StatusCode::INTERNAL_SERVER_ERROR,
                "internal_error",
                "The request could not be prepared",
            )),
            Err(_) => Err(Failure::new(
                StatusCode::BAD_REQUEST,
                "request_too_complex",
                format!(
                    "To read the request and its tools took longer than {} s; send fewer or simpler tools",
                    self.deadline.as_secs_f64()
                ),
            )),
        }
    }
}

/// Runs work on this thread, and hands its other tasks to another one where
/// there are several.
pub(crate) fn in_place<T>(work: impl FnOnce() -> T) -> T {
    match Handle::try_current().map(|handle| handle.runtime_flavor()) {
        Ok(RuntimeFlavor::MultiThread) => tokio::task::block_in_place(work),
        _ => work(),
    }
}
