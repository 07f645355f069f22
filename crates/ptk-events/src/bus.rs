//! The bus: who subscribed, and how an event gets to them.

use std::io;
use std::sync::{Arc, PoisonError};

use crate::subscriber::{Registration, Subscriber};
use crate::sync::RwLock;
use crate::{
    CallScope, CallbackGuard, Channel, Correlation, Delivery, Event, Filter, Subscription,
};

/// How much waits at a subscriber before something is dropped. A capacity
/// of no events is taken as one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Capacities {
    /// Events on the realtime channel.
    pub realtime: usize,
    /// Events on the background channel.
    pub background: usize,
    /// Bytes of output on each channel. The newest chunk is kept whatever its
    /// length.
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

/// Carries events from those who publish to those who subscribed. Clones are
/// the same bus.
#[derive(Debug, Clone, Default)]
pub struct Bus {
    registry: Arc<Registry>,
}

impl Bus {
    /// A bus with the default capacities.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// A bus with these capacities.
    #[must_use]
    pub fn with_capacity(capacities: Capacities) -> Self {
        Self {
            registry: Arc::new(Registry {
                capacities,
                subscribers: RwLock::default(),
            }),
        }
    }

    /// Puts the event into the queues of all who want it.
    ///
    /// It waits for nobody and cannot fail: a subscriber that is too slow
    /// loses events, and is told which.
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

    /// Has a callback called with the events that match, from now on, until
    /// the guard is dropped or the bus is gone. It runs on a thread of its
    /// own.
    ///
    /// # Errors
    ///
    /// If the system gives no thread.
    pub fn on(
        &self,
        filter: Filter,
        callback: impl FnMut(&Delivery) + Send + 'static,
    ) -> io::Result<CallbackGuard> {
        CallbackGuard::spawn(self.register(filter), callback)
    }

    /// What a call needs to tell of itself. Without a call id it is given a
    /// fresh one. All its events travel on `channel`.
    pub fn call(&self, correlation: Correlation, channel: Channel) -> CallScope {
        CallScope::new(self.clone(), correlation, channel)
    }

    /// How many are subscribed.
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

/// Who subscribed.
#[derive(Debug, Default)]
pub(crate) struct Registry {
    capacities: Capacities,
    /// Whoever publishes works on the list as it was, so that the lock is
    /// free again before anyone is woken.
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
