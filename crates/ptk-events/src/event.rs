//! Events and their correlation ids.

use std::time::SystemTime;

use serde::{Deserialize, Serialize};

use crate::{CallId, EventKind, RequestId, time};

/// Something that happened, with its time and correlation ids.
///
/// As JSON it is one flat object. Ids that do not apply are left out.
///
/// ```
/// use ptk_events::{Channel, Correlation, Event, EventKind};
///
/// let line = r#"{"type":"error","ts":"2026-01-31T08:00:00.250Z","call_id":"call_1","channel":"realtime","message":"out of luck"}"#;
/// let event: Event = serde_json::from_str(line)?;
/// assert_eq!(event.correlation, Correlation::default().with_call("call_1"));
/// assert_eq!(serde_json::to_string(&event)?, line);
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct Event {
    /// When it happened. Written in UTC, to the millisecond.
    #[serde(deserialize_with = "time::read")]
    pub ts: SystemTime,
    /// The ids that it belongs to.
    #[serde(flatten)]
    pub correlation: Correlation,
    /// The channel it travels on.
    pub channel: Channel,
    /// What happened.
    #[serde(flatten)]
    pub kind: EventKind,
}

impl Event {
    /// Creates an event of this moment.
    #[must_use]
    pub fn new(correlation: Correlation, channel: Channel, kind: EventKind) -> Self {
        Self {
            ts: time::now(),
            correlation,
            channel,
            kind,
        }
    }
}

/// The ids that tie an event to others.
///
/// ```
/// use ptk_events::{Correlation, RequestId};
///
/// let request = RequestId::new();
/// let correlation = Correlation::of_request(request).caused_by("call_1").with_call("call_2");
/// assert_eq!(correlation.request_id, Some(request));
/// assert_eq!(correlation.parent_id.as_deref(), Some("call_1"));
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Correlation {
    /// The request it is part of.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request_id: Option<RequestId>,
    /// What caused it: the id of another call or request.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent_id: Option<String>,
    /// The call it is about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub call_id: Option<CallId>,
}

impl Correlation {
    /// Correlates with this request.
    #[must_use]
    pub fn of_request(request: RequestId) -> Self {
        Self {
            request_id: Some(request),
            ..Self::default()
        }
    }

    /// Sets the call or request that caused it.
    #[must_use]
    pub fn caused_by(mut self, parent: impl Into<String>) -> Self {
        self.parent_id = Some(parent.into());
        self
    }

    /// Sets the call that it is about.
    #[must_use]
    pub fn with_call(mut self, call: impl Into<CallId>) -> Self {
        self.call_id = Some(call.into());
        self
    }
}

/// The channel of an event. Each has a queue of its own at every subscriber, so
/// that a flood on one pushes nothing out of the other.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Channel {
    /// Short work that a user is watching.
    Realtime,
    /// Long or expensive work.
    Background,
}
