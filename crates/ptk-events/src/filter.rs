//! Filters of subscribers.

use crate::{CallId, Channel, Event, EventType, RequestId};

/// Which events a subscriber wants. Other events take no room in its queues.
///
/// ```
/// use ptk_events::{Channel, EventType, Filter};
///
/// // Ends and errors of one call, if they come on the realtime channel.
/// let filter = Filter::types([EventType::ToolCallEnd, EventType::Error])
///     .of_call("call_1")
///     .on(Channel::Realtime);
/// ```
#[derive(Debug, Clone)]
pub struct Filter {
    types: Types,
    channel: Option<Channel>,
    call: Option<CallId>,
    request: Option<RequestId>,
}

impl Filter {
    /// Matches every event.
    #[must_use]
    pub fn all() -> Self {
        Self::of(Types::ALL)
    }

    /// Matches the events of these types.
    #[must_use]
    pub fn types(types: impl IntoIterator<Item = EventType>) -> Self {
        Self::of(types.into_iter().collect())
    }

    fn of(types: Types) -> Self {
        Self {
            types,
            channel: None,
            call: None,
            request: None,
        }
    }

    /// Restricts the filter to this channel.
    #[must_use]
    pub fn on(mut self, channel: Channel) -> Self {
        self.channel = Some(channel);
        self
    }

    /// Restricts the filter to this call.
    #[must_use]
    pub fn of_call(mut self, call: impl Into<CallId>) -> Self {
        self.call = Some(call.into());
        self
    }

    /// Restricts the filter to this request.
    #[must_use]
    pub fn of_request(mut self, request: RequestId) -> Self {
        self.request = Some(request);
        self
    }

    /// Whether the event matches.
    #[must_use]
    pub fn matches(&self, event: &Event) -> bool {
        fn agrees<T: PartialEq>(wanted: Option<&T>, found: Option<&T>) -> bool {
            wanted.is_none() || wanted == found
        }

        self.types.contains(event.kind.name())
            && agrees(self.channel.as_ref(), Some(&event.channel))
            && agrees(self.call.as_ref(), event.correlation.call_id.as_ref())
            && agrees(self.request.as_ref(), event.correlation.request_id.as_ref())
    }
}

/// A set of types, a bit for each.
#[derive(Debug, Clone, Copy)]
struct Types(u32);

impl Types {
    const ALL: Self = Self(u32::MAX);

    fn contains(self, event_type: EventType) -> bool {
        self.0 & (1 << event_type as u32) != 0
    }
}

impl FromIterator<EventType> for Types {
    fn from_iter<I: IntoIterator<Item = EventType>>(types: I) -> Self {
        Self(
            types
                .into_iter()
                .fold(0, |bits, event_type| bits | 1 << event_type as u32),
        )
    }
}
