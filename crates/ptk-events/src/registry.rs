//! The subscribers of a bus, and the registration of each.

use std::sync::{Arc, PoisonError, Weak};

use crate::subscriber::Subscriber;
use crate::sync::RwLock;
use crate::{Capacities, Filter};

/// The subscribers of a bus.
#[derive(Debug, Default)]
pub(crate) struct Registry {
    capacities: Capacities,
    /// Publishers work on a snapshot of the list, so that the lock is free
    /// again before any subscriber is woken.
    subscribers: RwLock<Arc<Vec<Arc<Subscriber>>>>,
}

impl Registry {
    pub(crate) fn new(capacities: Capacities) -> Self {
        Self {
            capacities,
            subscribers: RwLock::default(),
        }
    }

    /// Adds a subscriber to the events that match, from now on.
    pub(crate) fn register(self: &Arc<Self>, filter: Filter) -> Registration {
        let subscriber = Arc::new(Subscriber::new(filter, self.capacities));
        self.change(|all| all.push(Arc::clone(&subscriber)));
        Registration {
            registry: Arc::downgrade(self),
            subscriber,
        }
    }

    fn remove(&self, subscriber: &Arc<Subscriber>) {
        self.change(|all| all.retain(|one| !Arc::ptr_eq(one, subscriber)));
    }

    pub(crate) fn subscribers(&self) -> Arc<Vec<Arc<Subscriber>>> {
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

/// A subscriber's registration at the bus. Dropping it removes the subscriber,
/// with all that is queued.
#[derive(Debug)]
pub(crate) struct Registration {
    registry: Weak<Registry>,
    pub(crate) subscriber: Arc<Subscriber>,
}

impl Registration {
    /// Accepts no more deliveries. Those in the queue can still be received.
    pub(crate) fn leave(&self) {
        if let Some(registry) = self.registry.upgrade() {
            registry.remove(&self.subscriber);
        }
        self.subscriber.close();
    }
}

impl Drop for Registration {
    fn drop(&mut self) {
        self.leave();
        self.subscriber.clear();
    }
}
