//! Subscriptions whose events are received by the caller.

use std::future::poll_fn;
use std::task::{Context, Poll};

use crate::registry::Registration;
use crate::{Delivery, TryRecvError};

/// How many deliveries in a row a task receives before it yields to others.
const DELIVERIES_A_TURN: u32 = 128;

/// The events that a subscriber asked for, as they come.
///
/// They come in the order in which they were published, on both channels.
/// Dropping the subscription ends it at once.
#[derive(Debug)]
#[must_use = "dropping a subscription ends it"]
pub struct Subscription {
    registration: Registration,
    this_turn: u32,
}

impl Subscription {
    pub(crate) fn new(registration: Registration) -> Self {
        Self {
            registration,
            this_turn: 0,
        }
    }

    /// Waits for the next delivery. `None` when there is no [`Bus`](crate::Bus)
    /// left and nothing is queued.
    ///
    /// It can be cancelled at any time, as in `select!`, and loses nothing.
    pub async fn recv(&mut self) -> Option<Delivery> {
        poll_fn(|context| self.poll_recv(context)).await
    }

    /// Like [`recv`](Self::recv), but blocks the thread.
    pub fn recv_blocking(&mut self) -> Option<Delivery> {
        self.registration.subscriber.next_blocking()
    }

    /// The next delivery, if there is one already.
    ///
    /// # Errors
    ///
    /// If there is none.
    pub fn try_recv(&mut self) -> Result<Delivery, TryRecvError> {
        self.registration.subscriber.try_next()
    }

    /// Polls for the next delivery, as [`recv`](Self::recv) does, for callers
    /// that implement futures and streams by hand.
    pub fn poll_recv(&mut self, context: &mut Context<'_>) -> Poll<Option<Delivery>> {
        if self.this_turn >= DELIVERIES_A_TURN {
            self.this_turn = 0;
            context.waker().wake_by_ref();
            return Poll::Pending;
        }
        let next = self.registration.subscriber.poll_next(context);
        self.this_turn = if next.is_ready() {
            self.this_turn + 1
        } else {
            0
        };
        next
    }

    /// Accepts no more events. Those in the queue can still be received, then
    /// `None`.
    pub fn close(&mut self) {
        self.registration.leave();
    }
}
