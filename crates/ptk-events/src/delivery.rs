//! What a subscriber receives, and why it receives nothing.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::{Channel, Event, EventType};

/// What a subscriber receives: an event, or a notice of those it missed.
#[derive(Debug, Clone, PartialEq)]
pub enum Delivery {
    /// An event.
    Event(Arc<Event>),
    /// Events were dropped here, because the subscriber was too slow.
    Missed(Missed),
}

impl Delivery {
    /// The event, if it is one.
    #[must_use]
    pub fn event(&self) -> Option<&Event> {
        match self {
            Self::Event(event) => Some(event),
            Self::Missed(_) => None,
        }
    }
}

/// The events that were dropped at one position of a channel.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Missed {
    /// The channel with the gap.
    pub channel: Channel,
    /// How many events were dropped.
    pub total: u64,
    /// How many of each type.
    pub by_type: BTreeMap<EventType, u64>,
}

impl Missed {
    pub(crate) fn nothing(channel: Channel) -> Self {
        Self {
            channel,
            total: 0,
            by_type: BTreeMap::new(),
        }
    }

    pub(crate) fn count(&mut self, event_type: EventType) {
        self.total += 1;
        *self.by_type.entry(event_type).or_default() += 1;
    }

    pub(crate) fn absorb(&mut self, other: &Self) {
        self.total += other.total;
        for (event_type, count) in &other.by_type {
            *self.by_type.entry(*event_type).or_default() += count;
        }
    }
}

/// Why no delivery was received.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum TryRecvError {
    /// Nothing is queued yet.
    #[error("no event waits")]
    Empty,
    /// Nothing is queued, and nothing more will come.
    #[error("the bus is gone, and no event waits")]
    Closed,
}
