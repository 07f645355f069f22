//! The events of one call: on one channel, in order, with exactly one end for
//! each start. Its steps are in the background: users see the start and the end.

use std::sync::{Arc, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use ptk_protocol::{ErrorType, ToolResult};
use serde_json::Value;

use crate::sync::{Mutex, MutexGuard};
use crate::{Bus, CallId, Channel, Correlation, Event, EventKind, OutputStream, ToolStep};

/// A call that a session requests, and why.
#[derive(Debug, Clone, PartialEq)]
pub struct Requested {
    /// The tool's name.
    pub tool: String,
    /// The arguments of the call.
    pub arguments: Value,
    /// The model's reason for the call.
    pub reasoning: Option<String>,
    /// What was repaired in the call, for the user.
    pub repairs: Vec<String>,
}

impl Bus {
    /// The scope that publishes the events of a call. Without a call id it is
    /// given a fresh one. All its events but its steps travel on `channel`.
    pub fn call(&self, correlation: Correlation, channel: Channel) -> CallScope {
        CallScope::new(self.clone(), correlation, channel)
    }
}

/// A call that has not begun. Created by [`Bus::call`].
#[derive(Debug)]
#[must_use = "a call tells nothing until it starts"]
pub struct CallScope {
    bus: Bus,
    correlation: Correlation,
    call_id: CallId,
    channel: Channel,
}

impl CallScope {
    fn new(bus: Bus, mut correlation: Correlation, channel: Channel) -> Self {
        let call_id = correlation.call_id.get_or_insert_default().clone();
        Self {
            bus,
            correlation,
            call_id,
            channel,
        }
    }

    /// The call's id.
    #[must_use]
    pub fn call_id(&self) -> &CallId {
        &self.call_id
    }

    /// Publishes that a session requests the call.
    pub fn requested(&self, call: Requested) {
        self.publish(EventKind::ToolCallRequested {
            tool: call.tool,
            arguments: call.arguments,
            reasoning: call.reasoning,
            repairs: call.repairs,
        });
    }

    /// Publishes that the call begins.
    pub fn start(self, tool: impl Into<String>, arguments: Value) -> OpenCall {
        let tool = tool.into();
        self.publish(EventKind::ToolCallStart {
            tool: tool.clone(),
            arguments,
        });
        OpenCall {
            started: Instant::now(),
            events: CallEvents {
                line: Arc::new(Line {
                    tool,
                    correlation: self.correlation,
                    channel: self.channel,
                    bus: Mutex::new(Some(self.bus)),
                }),
            },
        }
    }

    fn publish(&self, kind: EventKind) {
        let event = Event::new(self.correlation.clone(), self.channel, kind);
        self.bus.publish(event);
    }
}

/// A call that has begun, and ends exactly once.
///
/// If it is dropped without [`end`](Self::end), because its future was
/// cancelled or the tool panicked, it ends as a failure that says so.
#[derive(Debug)]
#[must_use = "dropping an open call ends it as a failure"]
pub struct OpenCall {
    started: Instant,
    events: CallEvents,
}

impl OpenCall {
    /// The publisher of the running tool's events. Clones of it can be passed
    /// to other tasks and threads.
    #[must_use]
    pub fn events(&self) -> &CallEvents {
        &self.events
    }

    /// Publishes the end of the call and its result. A failure is published as
    /// an error first. Returns the duration, as it was published.
    #[allow(
        clippy::must_use_candidate,
        reason = "what it tells is what it is called for"
    )]
    pub fn end(self, result: ToolResult) -> Duration {
        self.settle(|| result)
    }

    /// Ends the call, unless it has ended.
    fn settle(&self, result: impl FnOnce() -> ToolResult) -> Duration {
        let duration = self.started.elapsed();
        let line = &self.events.line;
        // Events that were being published are finished, and no new ones can
        // begin.
        let Some(bus) = line.bus().take() else {
            return duration;
        };
        let result = result();
        if !result.success {
            bus.publish(line.event(EventKind::Error {
                tool: Some(line.tool.clone()),
                message: result.error.clone(),
                error_type: result.error_type,
            }));
        }
        bus.publish(line.event(EventKind::ToolCallEnd {
            tool: line.tool.clone(),
            success: result.success,
            duration_ms: u64::try_from(duration.as_millis()).unwrap_or(u64::MAX),
            result,
        }));
        duration
    }
}

impl Drop for OpenCall {
    fn drop(&mut self) {
        self.settle(|| {
            let reason = if thread::panicking() {
                "The tool panicked before the call ended"
            } else {
                "The call was cancelled before it ended"
            };
            ToolResult::failure(ErrorType::SystemError, reason)
        });
    }
}

/// The publisher of a running tool's events. Once the call has ended, it
/// publishes nothing more.
#[derive(Debug, Clone)]
pub struct CallEvents {
    line: Arc<Line>,
}

impl CallEvents {
    /// The ids that the call belongs to, its own included.
    #[must_use]
    pub fn correlation(&self) -> &Correlation {
        &self.line.correlation
    }

    /// Publishes how a step of the call's pipeline ended.
    pub fn step(&self, step: ToolStep) {
        self.publish(EventKind::ToolStep(step));
    }

    /// Publishes that the user is asked about the call.
    pub fn held(&self) {
        let tool = self.line.tool.clone();
        self.publish(EventKind::ToolCallHeld { tool });
    }

    /// Publishes output of the tool. Empty output is not published.
    pub fn chunk(&self, stream: OutputStream, text: impl Into<String>) {
        let chunk = text.into();
        if !chunk.is_empty() {
            self.publish(EventKind::ToolOutputChunk { stream, chunk });
        }
    }

    /// Publishes an error that does not end the call. One that ends it is
    /// published by [`OpenCall::end`].
    pub fn error(&self, error_type: ErrorType, message: impl Into<String>) {
        self.publish(EventKind::Error {
            tool: Some(self.line.tool.clone()),
            message: message.into(),
            error_type: Some(error_type),
        });
    }

    fn publish(&self, kind: EventKind) {
        if let Some(bus) = self.line.bus().as_ref() {
            bus.publish(self.line.event(kind));
        }
    }
}

/// The state that all publishers of one call share.
#[derive(Debug)]
struct Line {
    tool: String,
    correlation: Correlation,
    channel: Channel,
    /// Taken once the call has ended. Locked while an event is published, which
    /// keeps the events of a call in one order for all.
    bus: Mutex<Option<Bus>>,
}

impl Line {
    fn bus(&self) -> MutexGuard<'_, Option<Bus>> {
        self.bus.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn event(&self, kind: EventKind) -> Event {
        let channel = match kind {
            EventKind::ToolStep(_) => Channel::Background,
            _ => self.channel,
        };
        Event::new(self.correlation.clone(), channel, kind)
    }
}
