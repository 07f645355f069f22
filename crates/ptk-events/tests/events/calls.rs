use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Barrier};
use std::thread;
use std::time::Duration;

use ptk_events::{
    Bus, CallId, Channel, Correlation, Event, EventKind, EventType, Filter, OpenCall, OutputStream,
    RequestId, Requested, Step, StepOutcome, ToolStep,
};
use ptk_protocol::{ErrorType, ToolResult};
use serde_json::json;

use super::{shorts, types, waiting_events};

fn start(bus: &Bus) -> OpenCall {
    bus.call(Correlation::default(), Channel::Realtime)
        .start("bash", json!({}))
}

fn done() -> ToolResult {
    ToolResult::data(json!("done"))
}

/// The result with which the only call among the events ended.
fn only_result(events: &[Arc<Event>]) -> Option<&ToolResult> {
    let mut results = events.iter().filter_map(|event| match &event.kind {
        EventKind::ToolCallEnd {
            result, success, ..
        } if *success == result.success => Some(result),
        _ => None,
    });
    let result = results.next();
    result.filter(|_| results.next().is_none())
}

#[test]
fn the_events_of_a_call_arrive_in_order_with_its_ids_on_one_channel() {
    for channel in [Channel::Background, Channel::Realtime] {
        call_on(channel);
    }
}

/// The steps are in the background; users see the start and the end.
fn call_on(channel: Channel) {
    let bus = Bus::new();
    let mut all = bus.subscribe(Filter::all());
    let correlation = Correlation::of_request(RequestId::new())
        .caused_by("call_0")
        .with_call("call_1");

    let scope = bus.call(correlation.clone(), channel);
    scope.requested(Requested {
        tool: "bash".to_owned(),
        arguments: json!({"command": "ls"}),
        reasoning: None,
        repairs: Vec::new(),
    });
    let call = scope.start("bash", json!({"command": "ls"}));
    let found = ToolStep::new(Step::Find, StepOutcome::Passed, Duration::ZERO);
    call.events().step(found);
    call.events().held();
    call.events().chunk(OutputStream::Stdout, "a\n");
    call.events().error(ErrorType::UserError, "b is not there");
    call.events().chunk(OutputStream::Stderr, "c\n");
    call.end(done());

    let events = waiting_events(&mut all);
    assert_eq!(
        types(&events),
        [
            EventType::ToolCallRequested,
            EventType::ToolCallStart,
            EventType::ToolStep,
            EventType::ToolCallHeld,
            EventType::ToolOutputChunk,
            EventType::Error,
            EventType::ToolOutputChunk,
            EventType::ToolCallEnd,
        ]
    );
    for event in events {
        let is_step = matches!(event.kind, EventKind::ToolStep(_));
        let expected = if is_step {
            Channel::Background
        } else {
            channel
        };
        assert_eq!(event.channel, expected);
        assert_eq!(event.correlation, correlation);
    }
}

#[test]
fn a_call_without_an_id_is_given_one() {
    let bus = Bus::new();
    let mut all = bus.subscribe(Filter::all());

    let scope = bus.call(Correlation::default(), Channel::Realtime);
    let id = scope.call_id().clone();
    scope.start("bash", json!({})).end(done());

    for event in waiting_events(&mut all) {
        assert_eq!(event.correlation.call_id.as_ref(), Some(&id));
    }
    assert_ne!(CallId::new(), CallId::new());
}

#[test]
fn a_success_ends_once_without_an_error() {
    let bus = Bus::new();
    let mut all = bus.subscribe(Filter::all());

    start(&bus).end(done());

    let events = waiting_events(&mut all);
    assert_eq!(
        types(&events),
        [EventType::ToolCallStart, EventType::ToolCallEnd]
    );
    assert_eq!(only_result(&events), Some(&done()));
}

#[test]
fn a_failure_gives_an_error_and_then_one_end() {
    let bus = Bus::new();
    let mut all = bus.subscribe(Filter::all());
    let failure = ToolResult::failure(ErrorType::UserError, "File not found: a.txt");

    start(&bus).end(failure.clone());

    let events = waiting_events(&mut all);
    assert_eq!(
        types(&events),
        [
            EventType::ToolCallStart,
            EventType::Error,
            EventType::ToolCallEnd
        ]
    );
    assert_eq!(
        events[1].kind,
        EventKind::Error {
            tool: Some("bash".to_owned()),
            message: "File not found: a.txt".to_owned(),
            error_type: Some(ErrorType::UserError),
        }
    );
    assert_eq!(only_result(&events), Some(&failure));
}

#[tokio::test]
async fn a_cancelled_call_ends_as_a_failure_that_says_so() {
    let bus = Bus::new();
    let mut all = bus.subscribe(Filter::all());

    let call = start(&bus);
    let task = tokio::spawn(async move {
        std::future::pending::<()>().await;
        call.end(done());
    });
    task.abort();
    assert!(task.await.unwrap_err().is_cancelled());

    let events = waiting_events(&mut all);
    assert_eq!(
        types(&events),
        [
            EventType::ToolCallStart,
            EventType::Error,
            EventType::ToolCallEnd
        ]
    );
    let result = only_result(&events).unwrap();
    assert_eq!(result.error_type, Some(ErrorType::SystemError));
    assert_eq!(result.error, "The call was cancelled before it ended");
}

#[tokio::test]
async fn a_call_whose_task_panics_ends_as_a_failure_that_says_so() {
    let bus = Bus::new();
    let mut all = bus.subscribe(Filter::all());

    let call = start(&bus);
    let task = tokio::spawn(async move {
        tokio::task::yield_now().await;
        assert!(call.events().correlation().call_id.is_none(), "on purpose");
        call.end(done());
    });
    assert!(task.await.unwrap_err().is_panic());

    let events = waiting_events(&mut all);
    let result = only_result(&events).unwrap();
    assert_eq!(result.error, "The tool panicked before the call ended");
    assert_eq!(result.error_type, Some(ErrorType::SystemError));
}

#[test]
fn a_call_whose_thread_panics_ends_once() {
    let bus = Bus::new();
    let mut ends = bus.subscribe(Filter::types([EventType::ToolCallEnd]));

    let call = start(&bus);
    let panicked = catch_unwind(AssertUnwindSafe(|| {
        let _call = call;
        panic!("on purpose");
    }));

    assert!(panicked.is_err());
    assert!(only_result(&waiting_events(&mut ends)).is_some());
}

#[test]
fn an_empty_chunk_is_not_told() {
    let bus = Bus::new();
    let mut all = bus.subscribe(Filter::all());

    let call = start(&bus);
    call.events().chunk(OutputStream::Stdout, "");
    call.end(done());

    assert_eq!(shorts(&mut all), ["tool_call_start", "tool_call_end"]);
}

#[test]
fn nothing_follows_an_end_however_many_threads_still_talk() {
    const THREADS: usize = 3;
    for _ in 0..200 {
        let bus = Bus::new();
        let mut all = bus.subscribe(Filter::all());
        let call = start(&bus);
        let ready = Barrier::new(THREADS + 1);

        thread::scope(|threads| {
            for _ in 0..THREADS {
                let events = call.events().clone();
                let ready = &ready;
                threads.spawn(move || {
                    ready.wait();
                    for _ in 0..50 {
                        events.chunk(OutputStream::Stdout, "x");
                        events.error(ErrorType::UserError, "y");
                    }
                });
            }
            ready.wait();
            call.end(ToolResult::failure(ErrorType::UserError, "the reason"));
        });

        let told = shorts(&mut all);
        assert_eq!(told[told.len() - 2..], ["the reason", "tool_call_end"]);
        assert_eq!(told.iter().filter(|one| *one == "tool_call_end").count(), 1);
    }
}

#[test]
fn an_ended_call_does_not_keep_the_bus_alive() {
    let bus = Bus::new();
    let mut all = bus.subscribe(Filter::types([]));
    let call = start(&bus);
    let late = call.events().clone();
    drop(bus);
    assert_eq!(all.try_recv(), Err(ptk_events::TryRecvError::Empty));

    call.end(done());
    late.chunk(OutputStream::Stdout, "late");

    assert_eq!(all.recv_blocking(), None);
}
