//! Subscriptions whose events are passed to a callback.

use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::Delivery;
use crate::registry::Registration;
use crate::sync::thread::{self, JoinHandle};

/// A callback that gets events, until this guard is dropped or the bus is
/// gone.
///
/// It runs on a thread of its own: it may block without delaying publishers or
/// other subscribers. If it panics, that is counted, and it gets the next event
/// all the same.
#[derive(Debug)]
#[must_use = "dropping the guard ends the subscription"]
pub struct CallbackGuard {
    registration: Registration,
    panics: Arc<AtomicU64>,
    /// The thread, until it was joined.
    thread: Option<JoinHandle<()>>,
}

impl CallbackGuard {
    pub(crate) fn spawn(
        registration: Registration,
        mut callback: impl FnMut(&Delivery) + Send + 'static,
    ) -> io::Result<Self> {
        let panics = Arc::new(AtomicU64::new(0));
        let subscriber = Arc::clone(&registration.subscriber);
        let counter = Arc::clone(&panics);
        let thread = thread::Builder::new()
            .name("ptk-subscriber".to_owned())
            .spawn(move || {
                while let Some(delivery) = subscriber.next_blocking() {
                    // State that a panic leaves half done belongs to the
                    // callback.
                    let call = AssertUnwindSafe(|| callback(&delivery));
                    if catch_unwind(call).is_err() {
                        counter.fetch_add(1, Ordering::Relaxed);
                    }
                }
            })?;
        Ok(Self {
            registration,
            panics,
            thread: Some(thread),
        })
    }

    /// How often the callback has panicked.
    #[must_use]
    pub fn panics(&self) -> u64 {
        self.panics.load(Ordering::Relaxed)
    }

    /// Takes no more events, and waits until the callback has processed those
    /// that came before.
    ///
    /// Called from the callback itself it does not wait.
    pub fn drain(&mut self) {
        self.registration.leave();
        if let Some(thread) = self.thread.take()
            && thread.thread().id() != thread::current().id()
        {
            // The thread catches every panic, so joining it cannot fail.
            let _ = thread.join();
        }
    }
}
