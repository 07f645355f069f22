//! The bus through its public API.

mod callbacks;
mod calls;
mod filters;
mod json;
mod receiving;
mod scale;
mod slow_subscribers;

use std::sync::Arc;

use ptk_events::{
    Bus, Channel, Correlation, Delivery, Event, EventKind, EventType, Missed, OutputStream,
    Subscription,
};

/// An error event with this message and nothing else to it.
fn note(message: impl Into<String>) -> EventKind {
    EventKind::Error {
        tool: None,
        message: message.into(),
        error_type: None,
    }
}

fn chunk(text: impl Into<String>) -> EventKind {
    EventKind::ToolOutputChunk {
        stream: OutputStream::Stdout,
        chunk: text.into(),
    }
}

fn publish(bus: &Bus, channel: Channel, kind: EventKind) {
    bus.publish(Event::new(Correlation::default(), channel, kind));
}

/// All deliveries that are queued now.
fn waiting(subscription: &mut Subscription) -> Vec<Delivery> {
    std::iter::from_fn(|| subscription.try_recv().ok()).collect()
}

/// The events that are queued now.
fn waiting_events(subscription: &mut Subscription) -> Vec<Arc<Event>> {
    waiting(subscription)
        .into_iter()
        .filter_map(|delivery| match delivery {
            Delivery::Event(event) => Some(event),
            Delivery::Missed(_) => None,
        })
        .collect()
}

fn types(events: &[Arc<Event>]) -> Vec<EventType> {
    events.iter().map(|event| event.kind.name()).collect()
}

/// A delivery in short: the text of a note or chunk, the type of another event,
/// or what was missed.
fn short(delivery: &Delivery) -> String {
    match delivery {
        Delivery::Missed(Missed { total, by_type, .. }) => {
            let counts: Vec<_> = by_type
                .iter()
                .map(|(event_type, count)| format!("{event_type} {count}"))
                .collect();
            format!("missed {total}: {}", counts.join(", "))
        }
        Delivery::Event(event) => match &event.kind {
            EventKind::Error { message, .. } => message.clone(),
            EventKind::ToolOutputChunk { chunk, .. } => chunk.clone(),
            kind => kind.name().to_string(),
        },
    }
}

fn shorts(subscription: &mut Subscription) -> Vec<String> {
    waiting(subscription).iter().map(short).collect()
}
