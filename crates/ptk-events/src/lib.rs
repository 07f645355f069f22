//! Events of running models and tools, delivered to subscribers.
//!
//! A call publishes its events through the [`Bus`]: it was requested, it
//! started, a step passed, output came, it ended. Every [`Event`] names the
//! request and the call it belongs to. A caller that
//! [subscribes](Bus::subscribe) gets the events that match a [`Filter`], at a
//! pace of its own.
//!
//! ```
//! use ptk_events::{Bus, Channel, Correlation, EventKind, Filter, OutputStream, RequestId};
//! use ptk_protocol::ToolResult;
//! use serde_json::json;
//!
//! let bus = Bus::new();
//! let mut events = bus.subscribe(Filter::all());
//!
//! let correlation = Correlation::of_request(RequestId::new());
//! let call = bus.call(correlation, Channel::Realtime).start("bash", json!({"command": "ls"}));
//! call.events().chunk(OutputStream::Stdout, "a.txt\n");
//! call.end(ToolResult::success([("exit_code", json!(0))]));
//! drop(bus);
//!
//! let mut types = Vec::new();
//! while let Some(delivery) = events.recv_blocking() {
//!     types.extend(delivery.event().map(|event| event.kind.name().as_str()));
//! }
//! assert_eq!(types, ["tool_call_start", "tool_output_chunk", "tool_call_end"]);
//! ```
//!
//! What holds:
//!
//! - Publishing does not wait and never fails. The crate needs no async
//!   runtime, and works on any.
//! - Each start has exactly one end, also when a tool panics or its future is
//!   dropped. Nothing of a call follows its end.
//! - All events of a call travel on one channel and arrive in order.
//! - A subscriber that is too slow loses output chunks first. It is notified of
//!   what it [`Missed`], at the position of the gap. Other subscribers lose
//!   nothing.
//!
//! | Module | Purpose |
//! |---|---|
//! | `kind`, `event_type`, `event`, `ids`, `time`, `wire` | event types, their correlation ids, their times and their JSON |
//! | `bus`, `registry`, `subscriber`, `queue`, `subscription`, `callback`, `delivery`, `filter` | publishing and subscribing, without blocking the publisher |
//! | `call` | the events of one call: one channel, in order, one end for each start |
//! | `redaction`, `content` | secrets and contents kept out of logs and telemetry |
//! | `sync` | locks and threads, replaced by a scheduler's in tests |

mod bus;
mod call;
mod callback;
mod content;
mod delivery;
mod event;
mod event_type;
mod filter;
mod ids;
mod kind;
mod queue;
mod redaction;
mod registry;
mod subscriber;
mod subscription;
mod sync;
mod time;
mod wire;

pub use bus::Bus;
pub use call::{CallEvents, CallScope, OpenCall, Requested};
pub use callback::CallbackGuard;
pub use content::{CONTENT, is_content_wanted};
pub use delivery::{Delivery, Missed, TryRecvError};
pub use event::{Channel, Correlation, Event};
pub use event_type::{EventType, UnknownEventType};
pub use filter::Filter;
pub use ids::{CallId, RequestId};
pub use kind::{
    CompactionWay, EventKind, MessagePart, OutputStream, RunMetadata, ShownCode, Step, StepOutcome,
    ToolStep,
};
pub use redaction::{REDACTED, Redaction};
pub use subscriber::Capacities;
pub use subscription::Subscription;
