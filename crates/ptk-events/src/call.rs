//! The events of one call: on one channel, in order, with exactly one end for
//! each start.

use std::sync::{Arc, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use ptk_protocol::{ErrorType, ToolResult};
use serde_json::Value;

use crate::sync::{Mutex, MutexGuard};
use crate::{Bus, CallId, Channel, Correlation, Event, EventKind, OutputStream, ToolStep};

/// What a session asks for, and how it came to that.
#[derive(Debug, Clone, PartialEq)]
pub struct Requested {
    /// The tool's name.
    pub tool: String,
    /// What it is asked to work on.
    pub arguments: Value,
    /// Why the model wants it.
    pub reasoning: Option<String>,
    /// What was mended in the call, for a person.
    pub repairs: Vec<String>,
}

/// A call that has not begun. Made by [`Bus::call`].
#[derive(Debug)]
#[must_use = "a call tells nothing until it starts"]
pub struct CallScope {
    bus: Bus,
    correlation: Correlation,
    call_id: CallId,
    channel: Channel,
}

impl CallScope {
    pub(crate) fn new(bus: Bus, mut correlation: Correlation, channel: Channel) -> Self {
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

    /// Says that a session asks for the call.
    pub fn requested(&self, call: Requested) {
        self.publish(EventKind::ToolCallRequested {
            tool: call.tool,
            arguments: call.arguments,
            reasoning: call.reasoning,
            repairs: call.repairs,
        });
    }

    /// Says that the call begins.
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
    /// What the running tool tells through. Clones of it can go to other
    /// tasks and threads.
    #[must_use]
    pub fn events(&self) -> &CallEvents {
        &self.events
    }

    /// Says that the call ended, and with what. Of a failure there is an
    /// error first. Gives how long it took, as it was told.
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
        // Whoever was telling something has finished, nobody can begin.
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

/// What a running tool tells through. Once the call has ended, it tells
/// nothing more.
#[derive(Debug, Clone)]
pub struct CallEvents {
    line: Arc<Line>,
}

impl CallEvents {
    /// What the call belongs to, its own id included.
    #[must_use]
    pub fn correlation(&self) -> &Correlation {
        &self.line.correlation
    }

    /// Says how a step of the call's way went.
    pub fn step(&self, step: ToolStep) {
        self.publish(EventKind::ToolStep(step));
    }

    /// Says that a person is asked about the call.
    pub fn held(&self) {
        let tool = self.line.tool.clone();
        self.publish(EventKind::ToolCallHeld { tool });
    }

    /// Passes on what the tool wrote. If that is nothing, nothing is said.
    pub fn chunk(&self, stream: OutputStream, text: impl Into<String>) {
        let chunk = text.into();
        if !chunk.is_empty() {
            self.publish(EventKind::ToolOutputChunk { stream, chunk });
        }
    }

    /// Says that something went wrong which does not end the call. What ends
    /// it is said by [`OpenCall::end`].
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

/// What all who tell of one call share.
#[derive(Debug)]
struct Line {
    tool: String,
    correlation: Correlation,
    channel: Channel,
    /// Gone once the call has ended. Locked while an event is published, which
    /// keeps the events of a call in one order for all.
    bus: Mutex<Option<Bus>>,
}

impl Line {
    fn bus(&self) -> MutexGuard<'_, Option<Bus>> {
        self.bus.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn event(&self, kind: EventKind) -> Event {
        Event::new(self.correlation.clone(), self.channel, kind)
    }
}
