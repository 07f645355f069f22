//! Reads the bodies of requests, within limits for each and for all together.

use std::sync::Arc;
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use http_body_util::BodyExt as _;
use hyper::StatusCode;
use hyper::body::{Body as _, Incoming};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::timeout;

use crate::failure::Failure;
use crate::limits::Limits;

/// The largest body that is not counted: connections are limited, so small
/// requests are answered while large ones have to wait.
const SMALL: usize = 16 * 1024;
/// Bytes that are counted as one.
const UNIT: usize = 1024;

/// The memory that all bodies together may take.
#[derive(Debug)]
pub(crate) struct Bodies {
    room: Arc<Semaphore>,
}

/// A body, and its share of the memory.
pub(crate) struct Received {
    pub(crate) bytes: Bytes,
    pub(crate) share: Option<OwnedSemaphorePermit>,
}

impl Bodies {
    pub(crate) fn new(limits: &Limits) -> Self {
        let room = limits.body_memory.max(limits.body).div_ceil(UNIT);
        Self {
            room: Arc::new(Semaphore::new(room.min(Semaphore::MAX_PERMITS))),
        }
    }

    /// Reads a body of at most so many bytes.
    ///
    /// # Errors
    ///
    /// If it is longer, takes too long or breaks off, or if there is no room
    /// for it now.
    pub(crate) async fn read(
        &self,
        body: Incoming,
        most: usize,
        time: Duration,
    ) -> Result<Received, Failure> {
        // A body that is announced as too long is not read.
        if body.size_hint().lower() > most as u64 {
            return Err(too_large(most));
        }
        let Ok(received) = timeout(time, self.collect(body, most)).await else {
            let message = format!("The request did not come within {} s", time.as_secs_f64());
            return Err(Failure::new(
                StatusCode::REQUEST_TIMEOUT,
                "request_timeout",
                message,
            ));
        };
        received
    }

    async fn collect(&self, mut body: Incoming, most: usize) -> Result<Received, Failure> {
        let broken =
            |error: hyper::Error| Failure::invalid("", format!("The request broke off: {error}"));
        let mut first = Bytes::new();
        let mut all = BytesMut::new();
        let mut share: Option<OwnedSemaphorePermit> = None;
        while let Some(frame) = body.frame().await {
            let Ok(bytes) = frame.map_err(broken)?.into_data() else {
                continue;
            };
            let size = first.len() + all.len() + bytes.len();
            if size > most {
                return Err(too_large(most));
            }
            if size > SMALL {
                self.grow(&mut share, size)?;
            }
            if first.is_empty() && all.is_empty() {
                // Most requests are one piece, which needs no copy.
                first = bytes;
                continue;
            }
            if all.is_empty() {
                all.extend_from_slice(&std::mem::take(&mut first));
            }
            all.extend_from_slice(&bytes);
        }
        let bytes = if all.is_empty() { first } else { all.freeze() };
        Ok(Received { bytes, share })
    }

    /// Takes a larger share of the memory.
    fn grow(&self, share: &mut Option<OwnedSemaphorePermit>, size: usize) -> Result<(), Failure> {
        let held = share.as_ref().map_or(0, OwnedSemaphorePermit::num_permits);
        let Some(more) = size.div_ceil(UNIT).checked_sub(held).filter(|it| *it > 0) else {
            return Ok(());
        };
        let more = u32::try_from(more).unwrap_or(u32::MAX);
        let taken = Arc::clone(&self.room).try_acquire_many_owned(more);
        let taken = taken.map_err(|_| Failure {
            retry_after: Some(Duration::from_secs(1)),
            ..Failure::new(
                StatusCode::SERVICE_UNAVAILABLE,
                "overloaded",
                "The requests that are being answered take all the memory that requests may; wait a little",
            )
        })?;
        match share {
            Some(share) => share.merge(taken),
            None => *share = Some(taken),
        }
        Ok(())
    }
}

fn too_large(most: usize) -> Failure {
    Failure::new(
        StatusCode::PAYLOAD_TOO_LARGE,
        "request_too_large",
        format!("The request has more than {most} bytes; send less"),
    )
}
