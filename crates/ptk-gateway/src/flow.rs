//! The body of a response that is written while the answer streams in. Dropping
//! it ends the work behind it.

use std::convert::Infallible;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};

use bytes::Bytes;
use futures_util::future::BoxFuture;
use hyper::body::{Body, Frame};

use crate::failure::Failure;

/// The buffer that an answer is written to.
#[derive(Debug, Clone, Default)]
pub(crate) struct Outbox {
    written: Arc<Mutex<OutboxBuffer>>,
}

#[derive(Debug, Default)]
struct OutboxBuffer {
    bytes: Vec<u8>,
    has_begun: bool,
}

impl Outbox {
    /// Appends bytes.
    pub(crate) fn write(&self, with: impl FnOnce(&mut Vec<u8>)) {
        let mut written = self.written.lock().unwrap_or_else(PoisonError::into_inner);
        written.has_begun = true;
        with(&mut written.bytes);
    }

    /// Whether anything was written.
    pub(crate) fn has_begun(&self) -> bool {
        self.written
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .has_begun
    }

    fn take(&self) -> Option<Bytes> {
        let mut written = self.written.lock().unwrap_or_else(PoisonError::into_inner);
        if written.bytes.is_empty() {
            return None;
        }
        let room = written.bytes.len().min(4096);
        let bytes = std::mem::replace(&mut written.bytes, Vec::with_capacity(room));
        Some(bytes.into())
    }
}

/// The work that writes an answer. It fails only before anything is written.
pub(crate) type Work = BoxFuture<'static, Result<(), Failure>>;

/// The body of a response that is written while it is read.
pub(crate) struct Flow {
    outbox: Outbox,
    work: Option<Work>,
    first: Option<Bytes>,
}

impl Flow {
    /// Waits until something is written.
    ///
    /// # Errors
    ///
    /// If nothing is.
    pub(crate) async fn begin(outbox: Outbox, mut work: Work) -> Result<Self, Failure> {
        let mut first = None;
        let mut is_done = false;
        std::future::poll_fn(|context| {
            let polled = work.as_mut().poll(context);
            first = outbox.take();
            match polled {
                Poll::Ready(Err(failure)) => Poll::Ready(Err(failure)),
                Poll::Ready(Ok(())) => {
                    is_done = true;
                    Poll::Ready(Ok(()))
                }
                Poll::Pending if first.is_some() => Poll::Ready(Ok(())),
                Poll::Pending => Poll::Pending,
            }
        })
        .await?;
        Ok(Self {
            outbox,
            work: (!is_done).then_some(work),
            first,
        })
    }
}

impl Body for Flow {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        let flow = self.get_mut();
        if let Some(first) = flow.first.take() {
            return Poll::Ready(Some(Ok(Frame::data(first))));
        }
        let Some(work) = &mut flow.work else {
            return Poll::Ready(None);
        };
        let polled = work.as_mut().poll(context);
        let written = flow.outbox.take();
        if polled.is_ready() {
            flow.work = None;
        }
        match (written, polled) {
            (Some(bytes), _) => Poll::Ready(Some(Ok(Frame::data(bytes)))),
            (None, Poll::Ready(_)) => Poll::Ready(None),
            (None, Poll::Pending) => Poll::Pending,
        }
    }
}
