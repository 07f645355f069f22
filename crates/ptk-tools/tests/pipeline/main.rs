//! The pipeline of every call: events, checks, layers, limits.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::needless_pass_by_value,
    reason = "the lints allow these inside tests, but not in the functions that tests share"
)]

mod bounds;
mod concurrency;
mod doubts;
mod errors;
mod events;
mod layers;
mod repeats;
mod retries;

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use ptk_events::{Bus, Delivery, Event, EventKind, Filter, Subscription};
use ptk_protocol::{Arguments, ToolCall, ToolResult};
use ptk_sandbox::Workspace;
use ptk_tools::{
    AllowAll, CallContext, CallRequest, Effects, Registry, ToolError, ToolManager,
    ToolManagerBuilder, tool_fn,
};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};
use tempfile::TempDir;

/// A manager in a folder of its own.
struct Fixture {
    tools: ToolManager,
    events: Subscription,
    runs: Arc<AtomicUsize>,
    _folder: TempDir,
}

#[derive(Deserialize, JsonSchema)]
struct Text {
    /// Any text, for example "hello"
    text: String,
}

#[derive(Deserialize, JsonSchema)]
struct Nothing {}

impl Fixture {
    fn new() -> Self {
        Self::with(|builder| builder.approver(AllowAll))
    }

    fn with(change: impl FnOnce(ToolManagerBuilder) -> ToolManagerBuilder) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let runs = Arc::new(AtomicUsize::new(0));
        let bus = Bus::new();
        let events = bus.subscribe(Filter::all());
        let builder = ToolManager::builder(Workspace::open(folder.path()).unwrap())
            .tools(registry(&runs))
            .bus(bus);
        Self {
            tools: change(builder).build(),
            events,
            runs,
            _folder: folder,
        }
    }

    async fn call(&self, name: &str, args: Value) -> ToolResult {
        self.tools.execute(request(name, args)).await.result
    }

    fn runs(&self) -> usize {
        self.runs.load(Ordering::SeqCst)
    }

    /// All events that were published so far.
    fn told(&mut self) -> Vec<Arc<Event>> {
        let mut told = Vec::new();
        while let Ok(delivery) = self.events.try_recv() {
            match delivery {
                Delivery::Event(event) => told.push(event),
                Delivery::Missed(missed) => panic!("events were missed: {missed:?}"),
            }
        }
        told
    }

    /// The types of what was published, steps with their names.
    fn types(&mut self) -> Vec<String> {
        let told = self.told();
        told.iter()
            .map(|event| match &event.kind {
                EventKind::ToolStep(step) => {
                    let step = serde_json::to_value(step).unwrap();
                    format!(
                        "{} {}",
                        step["step"].as_str().unwrap(),
                        step["outcome"].as_str().unwrap()
                    )
                }
                kind => kind.name().to_string(),
            })
            .collect()
    }
}

fn request(name: &str, args: Value) -> CallRequest {
    let args = Arguments::from_json(&args.to_string()).unwrap();
    CallRequest::new(ToolCall::new(name, args))
}

/// `look` only reads, `change` writes, the others fail in their own ways.
fn registry(runs: &Arc<AtomicUsize>) -> Registry {
    let mut registry = Registry::new();
    let counter = Arc::clone(runs);
    registry
        .register(tool_fn(
            "look",
            "Look at a text and give it back",
            Effects::READ,
            move |context: CallContext, args: Text| {
                counter.fetch_add(1, Ordering::SeqCst);
                async move {
                    context.progress("looking");
                    // Others get their turn, so that calls overlap.
                    tokio::task::yield_now().await;
                    Ok::<_, ToolError>(json!({"content": args.text}))
                }
            },
        ))
        .unwrap();
    let counter = Arc::clone(runs);
    registry
        .register(tool_fn(
            "change",
            "Change something in the world",
            Effects::WRITE,
            move |_: CallContext, args: Text| {
                counter.fetch_add(1, Ordering::SeqCst);
                async move { Ok::<_, ToolError>(json!({"changed": args.text})) }
            },
        ))
        .unwrap();
    registry
        .register(tool_fn(
            "fail",
            "Fail in a way that the user can mend",
            Effects::READ,
            |_: CallContext, args: Text| async move {
                Err::<(), _>(
                    ToolError::user(format!("There is no {}", args.text))
                        .suggest("Look for something else."),
                )
            },
        ))
        .unwrap();
    registry
        .register(tool_fn(
            "panic",
            "Break down while it runs",
            Effects::NONE,
            |_: CallContext, args: Text| async move {
                assert!(args.text.is_empty(), "no {}", args.text);
                Ok::<_, ToolError>(())
            },
        ))
        .unwrap();
    let hung = Arc::clone(runs);
    registry
        .register(tool_fn(
            "hang",
            "Wait for something that never comes",
            Effects::NONE,
            move |_: CallContext, _: Nothing| {
                hung.fetch_add(1, Ordering::SeqCst);
                async move {
                    std::future::pending::<()>().await;
                    Ok::<_, ToolError>(())
                }
            },
        ))
        .unwrap();
    registry
}
