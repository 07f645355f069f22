//! The queue of one channel at one subscriber: bounded, and it reports what it
//! drops.
//!
//! Output chunks and all other events wait in two deques and are merged by
//! their positions when they leave. So the oldest chunk is found, and dropped,
//! without a search, however full the queue is.

use std::collections::VecDeque;
use std::sync::Arc;

use crate::{Channel, Delivery, Event, EventKind, Missed};

/// The position of a delivery among all that the subscriber was sent.
pub(crate) type Place = u64;

#[derive(Debug)]
pub(crate) struct Queue {
    channel: Channel,
    limits: Limits,
    chunks: VecDeque<Entry>,
    /// The length of all chunks together.
    chunk_bytes: usize,
    others: VecDeque<Entry>,
    /// The events that were dropped after the last entry, and their position.
    missed_last: Gap,
    missed_last_at: Place,
}

#[derive(Debug, Clone, Copy)]
pub(crate) struct Limits {
    /// The most events; zero is taken as one.
    pub(crate) events: usize,
    /// The most bytes of all chunks, unless there is only one.
    pub(crate) chunk_bytes: usize,
}

#[derive(Debug)]
struct Entry {
    place: Place,
    /// The events that were dropped just before it.
    missed: Gap,
    event: Arc<Event>,
}

/// Gaps are rare, so they take no more room than a pointer.
type Gap = Option<Box<Missed>>;

impl Queue {
    pub(crate) fn new(channel: Channel, limits: Limits) -> Self {
        Self {
            channel,
            limits,
            chunks: VecDeque::new(),
            chunk_bytes: 0,
            others: VecDeque::new(),
            missed_last: None,
            missed_last_at: 0,
        }
    }

    pub(crate) fn push(&mut self, place: Place, event: Arc<Event>) {
        let mut entry = Entry {
            place,
            missed: None,
            event,
        };
        let chunk = entry.chunk_len();
        if let Some(bytes) = chunk {
            while self.chunk_bytes.saturating_add(bytes) > self.limits.chunk_bytes
                && let Some(oldest) = self.pop_chunk()
            {
                self.note_dropped(oldest);
            }
        }
        if self.chunks.len() + self.others.len() >= self.limits.events.max(1) {
            if chunk.is_some() && self.chunks.is_empty() {
                // The entry itself is the oldest chunk.
                return self.note_dropped(entry);
            }
            if let Some(oldest) = self.pop_chunk().or_else(|| self.others.pop_front()) {
                self.note_dropped(oldest);
            }
        }
        entry.missed = self.missed_last.take();
        if let Some(bytes) = chunk {
            self.chunk_bytes += bytes;
            self.chunks.push_back(entry);
        } else {
            self.others.push_back(entry);
        }
    }

    pub(crate) fn pop(&mut self) -> Option<Delivery> {
        let chunk_first = match (self.chunks.front(), self.others.front()) {
            (Some(chunk), Some(other)) => chunk.place < other.place,
            (chunk, _) => chunk.is_some(),
        };
        let next = if chunk_first {
            self.chunks.front_mut()
        } else {
            self.others.front_mut()
        };
        let gap = match next {
            Some(entry) => &mut entry.missed,
            None => &mut self.missed_last,
        };
        if let Some(missed) = gap.take() {
            return Some(Delivery::Missed(*missed));
        }
        let entry = if chunk_first {
            self.pop_chunk()
        } else {
            self.others.pop_front()
        };
        entry.map(|entry| Delivery::Event(entry.event))
    }

    /// The position of the delivery that `pop` would return.
    pub(crate) fn next_place(&self) -> Option<Place> {
        let chunk = self.chunks.front().map(|entry| entry.place);
        let other = self.others.front().map(|entry| entry.place);
        let last = self.missed_last.as_ref().map(|_| self.missed_last_at);
        [chunk, other, last].into_iter().flatten().min()
    }

    pub(crate) fn clear(&mut self) {
        *self = Self::new(self.channel, self.limits);
    }

    fn pop_chunk(&mut self) -> Option<Entry> {
        let oldest = self.chunks.pop_front()?;
        self.chunk_bytes -= oldest.chunk_len().unwrap_or_default();
        Some(oldest)
    }

    /// Records a dropped entry with the entry that follows it.
    fn note_dropped(&mut self, dropped: Entry) {
        // The remaining chunks are younger than the dropped one.
        let chunk = self.chunks.front_mut();
        let other = self.others.partition_point(|one| one.place < dropped.place);
        let gap = match (chunk, self.others.get_mut(other)) {
            (Some(chunk), Some(other)) if other.place < chunk.place => &mut other.missed,
            (Some(next), _) | (None, Some(next)) => &mut next.missed,
            (None, None) => {
                self.missed_last_at = dropped.place;
                &mut self.missed_last
            }
        };
        let mut missed = dropped
            .missed
            .unwrap_or_else(|| Box::new(Missed::nothing(self.channel)));
        missed.count(dropped.event.kind.name());
        match gap {
            Some(gap) => gap.absorb(&missed),
            none => *none = Some(missed),
        }
    }
}

impl Entry {
    /// The length of the output chunk, if it is one.
    fn chunk_len(&self) -> Option<usize> {
        match &self.event.kind {
            EventKind::ToolOutputChunk { chunk, .. } | EventKind::MessageChunk { chunk, .. } => {
                Some(chunk.len())
            }
            _ => None,
        }
    }
}
