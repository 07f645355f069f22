//! The two ends of a subscription: the bus puts deliveries in, the subscriber
//! takes them out.

use std::sync::{Arc, PoisonError};
use std::task::{Context, Poll, Wake, Waker};

use crate::queue::{Limits, Queue};
use crate::sync::thread::{self, Thread};
use crate::sync::{Mutex, MutexGuard};
use crate::{Channel, Delivery, Event, Filter, TryRecvError};

/// How much is queued for a subscriber before something is dropped. A capacity
/// of no events is taken as one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Capacities {
    /// The most events on the realtime channel.
    pub realtime: usize,
    /// The most events on the background channel.
    pub background: usize,
    /// The most bytes of output on each channel. The newest chunk is kept
    /// whatever its length.
    pub chunk_bytes: usize,
}

impl Default for Capacities {
    /// Room for bursts, and not too much for a subscriber that has stopped
    /// reading.
    fn default() -> Self {
        Self {
            realtime: 1024,
            background: 4096,
            chunk_bytes: 8 << 20,
        }
    }
}

#[derive(Debug)]
pub(crate) struct Subscriber {
    filter: Filter,
    inbox: Mutex<Inbox>,
}

#[derive(Debug)]
struct Inbox {
    realtime: Queue,
    background: Queue,
    sent: u64,
    /// Whether more deliveries may come.
    open: bool,
    waker: Option<Waker>,
}

impl Subscriber {
    pub(crate) fn new(filter: Filter, capacities: Capacities) -> Self {
        let queue = |channel, events| {
            let chunk_bytes = capacities.chunk_bytes;
            Queue::new(
                channel,
                Limits {
                    events,
                    chunk_bytes,
                },
            )
        };
        Self {
            filter,
            inbox: Mutex::new(Inbox {
                realtime: queue(Channel::Realtime, capacities.realtime),
                background: queue(Channel::Background, capacities.background),
                sent: 0,
                open: true,
                waker: None,
            }),
        }
    }

    pub(crate) fn wants(&self, event: &Event) -> bool {
        self.filter.matches(event)
    }

    pub(crate) fn deliver(&self, event: Arc<Event>) {
        let mut inbox = self.inbox();
        if !inbox.open {
            return;
        }
        inbox.sent += 1;
        let place = inbox.sent;
        match event.channel {
            Channel::Realtime => inbox.realtime.push(place, event),
            Channel::Background => inbox.background.push(place, event),
        }
        wake(inbox);
    }

    /// Accepts no more deliveries. Those in the queue can still be received.
    pub(crate) fn close(&self) {
        let mut inbox = self.inbox();
        inbox.open = false;
        wake(inbox);
    }

    /// Drops all queued deliveries.
    pub(crate) fn clear(&self) {
        let mut inbox = self.inbox();
        inbox.realtime.clear();
        inbox.background.clear();
    }

    pub(crate) fn try_next(&self) -> Result<Delivery, TryRecvError> {
        self.inbox().try_next()
    }

    pub(crate) fn poll_next(&self, context: &mut Context<'_>) -> Poll<Option<Delivery>> {
        let mut inbox = self.inbox();
        match inbox.try_next() {
            Ok(delivery) => Poll::Ready(Some(delivery)),
            Err(TryRecvError::Closed) => Poll::Ready(None),
            Err(TryRecvError::Empty) => {
                match &mut inbox.waker {
                    Some(waker) => waker.clone_from(context.waker()),
                    none => *none = Some(context.waker().clone()),
                }
                Poll::Pending
            }
        }
    }

    pub(crate) fn next_blocking(&self) -> Option<Delivery> {
        match self.try_next() {
            Ok(delivery) => return Some(delivery),
            Err(TryRecvError::Closed) => return None,
            Err(TryRecvError::Empty) => {}
        }
        let waker = Waker::from(Arc::new(Unpark(thread::current())));
        let mut context = Context::from_waker(&waker);
        loop {
            match self.poll_next(&mut context) {
                Poll::Ready(delivery) => return delivery,
                Poll::Pending => thread::park(),
            }
        }
    }

    fn inbox(&self) -> MutexGuard<'_, Inbox> {
        self.inbox.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Wakes the subscriber after releasing the lock, which it needs next.
fn wake(mut inbox: MutexGuard<'_, Inbox>) {
    let waker = inbox.waker.take();
    drop(inbox);
    if let Some(waker) = waker {
        waker.wake();
    }
}

impl Inbox {
    fn try_next(&mut self) -> Result<Delivery, TryRecvError> {
        let next = match (self.realtime.next_place(), self.background.next_place()) {
            (Some(realtime), Some(background)) if background < realtime => &mut self.background,
            (None, Some(_)) => &mut self.background,
            _ => &mut self.realtime,
        };
        next.pop().ok_or(if self.open {
            TryRecvError::Empty
        } else {
            TryRecvError::Closed
        })
    }
}

struct Unpark(Thread);

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}
