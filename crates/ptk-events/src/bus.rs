//! The bus, which delivers events to subscribers.

use std::io;
use std::sync::{Arc, PoisonError};

use crate::subscriber::{Registration, Subscriber};
use crate::sync::RwLock;
use crate::{
    CallScope, CallbackGuard, Channel, Correlation, Delivery, Event, Filter, Subscription,
};

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

/// Delivers events from publishers to subscribers. Clones are the same bus.
#[derive(Debug, Clone, Default)]
pub struct Bus {
    registry: Arc<Registry>,
}

impl Bus {
    /// Creates a bus with the default capacities.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Creates a bus with these capacities.
    #[must_use]
    pub fn with_capacity(capacities: Capacities) -> Self {
        Self {
            registry: Arc::new(Registry {
                capacities,
                subscribers: RwLock::default(),
            }),
        }
    }

    /// Puts the event into the queues of all subscribers that want it.
    ///
    /// It does not wait and cannot fail: a subscriber that is too slow loses
    /// events, and is notified which.
    ///
    /// The events of a call go through [`call`](Self::call), which keeps them
    /// on one channel and in order.
    pub fn publish(&self, event: Event) {
        let subscribers = self.registry.subscribers();
        if subscribers.is_empty() {
            return;
        }
        let event = Arc::new(event);
        for subscriber in subscribers.iter().filter(|one| one.wants(&event)) {
            subscriber.deliver(Arc::clone(&event));
        }
    }

    /// Subscribes to the events that match, from now on.
    pub fn subscribe(&self, filter: Filter) -> Subscription {
        Subscription::new(self.register(filter))
    }

    /// Calls a callback with the events that match, from now on, until the
    /// guard is dropped or the bus is gone. It runs on a thread of its own.
    ///
    /// # Errors
    ///
    /// If no thread can be spawned.
    pub fn on(
        &self,
        filter: Filter,
        callback: impl FnMut(&Delivery) + Send + 'static,
    ) -> io::Result<CallbackGuard> {
        CallbackGuard::spawn(self.register(filter), callback)
    }

    /// The scope that publishes the events of a call. Without a call id it is
    /// given a fresh one. All its events travel on `channel`.
    pub fn call(&self, correlation: Correlation, channel: Channel) -> CallScope {
        CallScope::new(self.clone(), correlation, channel)
    }

    /// How many subscribers there are.
    #[must_use]
    pub fn subscriber_count(&self) -> usize {
        self.registry.subscribers().len()
    }

    fn register(&self, filter: Filter) -> Registration {
        let subscriber = Arc::new(Subscriber::new(filter, self.registry.capacities));
        self.registry
            .change(|all| all.push(Arc::clone(&subscriber)));
        Registration {
            registry: Arc::downgrade(&self.registry),
            subscriber,
        }
    }
}

/// The subscribers of a bus.
#[derive(Debug, Default)]
pub(crate) struct Registry {
    capacities: Capacities,
    /// Publishers work on a snapshot of the list, so that the lock is free
    /// again before any subscriber is woken.
    subscribers: RwLock<Arc<Vec<Arc<Subscriber>>>>,
}

impl Registry {
    pub(crate) fn remove(&self, subscriber: &Arc<Subscriber>) {
        self.change(|all| all.retain(|one| !Arc::ptr_eq(one, subscriber)));
    }

    fn subscribers(&self) -> Arc<Vec<Arc<Subscriber>>> {
        Arc::clone(
            &self
                .subscribers
                .read()
                .unwrap_or_else(PoisonError::into_inner),
        )
    }

    fn change(&self, change: impl FnOnce(&mut Vec<Arc<Subscriber>>)) {
        let mut subscribers = self
            .subscribers
            .write()
            .unwrap_or_else(PoisonError::into_inner);
        change(Arc::make_mut(&mut subscribers));
    }
}

impl Drop for Registry {
    fn drop(&mut self) {
        for subscriber in self.subscribers().iter() {
            subscriber.close();
        }
    }
}
