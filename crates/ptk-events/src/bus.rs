//! The bus, which delivers events to subscribers.

use std::io;
use std::sync::Arc;

use crate::registry::Registry;
use crate::{CallbackGuard, Capacities, Delivery, Event, Filter, Subscription};

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
            registry: Arc::new(Registry::new(capacities)),
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
        Subscription::new(self.registry.register(filter))
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
        CallbackGuard::spawn(self.registry.register(filter), callback)
    }

    /// How many subscribers there are.
    #[must_use]
    pub fn subscriber_count(&self) -> usize {
        self.registry.subscribers().len()
    }
}
