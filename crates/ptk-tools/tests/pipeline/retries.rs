use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use ptk_tools::{
    AllowAll, CallContext, CallRequest, Effects, Limits, Registry, ToolError, tool_fn,
};
use serde_json::json;

use super::{Fixture, Text, request};

/// A tool that fails so often for a passing reason.
fn shaky(effects: Effects, failures: usize, runs: &Arc<AtomicUsize>) -> Registry {
    let runs = Arc::clone(runs);
    let run = move |_: CallContext, args: Text| {
        let at = runs.fetch_add(1, Ordering::SeqCst);
        async move {
            if at < failures {
                return Err(ToolError::system("The line is busy").transient());
            }
            Ok(json!({"content": args.text}))
        }
    };
    let mut registry = Registry::new();
    registry
        .register(tool_fn("shaky", "Work now and then", effects, run))
        .unwrap();
    registry
}

async fn tried(effects: Effects, failures: usize, retries: u32) -> (bool, usize, Vec<String>) {
    let runs = Arc::default();
    let mut fixture = Fixture::with(|builder| {
        builder
            .tools(shaky(effects, failures, &runs))
            .approver(AllowAll)
            .limits(Limits {
                retries,
                ..Limits::default()
            })
    });
    let result = fixture.call("shaky", json!({"text": "a"})).await;
    (result.success, runs.load(Ordering::SeqCst), fixture.types())
}

#[tokio::test(start_paused = true)]
async fn a_tool_that_only_reads_is_run_again_when_the_failure_may_pass() {
    let (success, runs, types) = tried(Effects::READ, 2, 2).await;
    assert!(success);
    assert_eq!(runs, 3);
    let retries = types.iter().filter(|step| *step == "retry passed").count();
    assert_eq!(retries, 2, "{types:?}");
    let starts = types.iter().filter(|step| *step == "tool_call_start");
    assert_eq!(starts.count(), 1, "it is one call");
}

#[tokio::test(start_paused = true)]
async fn it_is_not_run_again_for_ever() {
    let (success, runs, _) = tried(Effects::NONE, 9, 2).await;
    assert!(!success);
    assert_eq!(runs, 3);
    let (success, runs, types) = tried(Effects::READ, 1, 0).await;
    assert!(!success);
    assert_eq!(runs, 1);
    assert!(!types.contains(&"retry passed".to_owned()));
}

#[tokio::test(start_paused = true)]
async fn what_writes_or_runs_programs_is_never_run_again() {
    for effects in [Effects::WRITE, Effects::EXECUTE, Effects::ALL] {
        let (success, runs, types) = tried(effects, 1, 2).await;
        assert!(!success);
        assert_eq!(runs, 1, "{effects}");
        assert!(!types.contains(&"retry passed".to_owned()));
    }
}

#[tokio::test(start_paused = true)]
async fn other_failures_are_told_at_once() {
    let fixture = Fixture::new();
    let result = fixture.call("fail", json!({"text": "a"})).await;
    assert!(!result.success);
    assert!(!result.fields.contains_key("transient"));
}

#[tokio::test(start_paused = true)]
async fn who_is_cancelled_between_two_tries_ends() {
    let runs = Arc::default();
    let fixture = Fixture::with(|builder| builder.tools(shaky(Effects::READ, 9, &runs)));
    let cancel = tokio_util::sync::CancellationToken::new();
    let call: CallRequest = request("shaky", json!({"text": "a"})).cancelled_by(&cancel);
    let run = fixture.tools.execute(call);
    let stop = async {
        while runs.load(Ordering::SeqCst) == 0 {
            tokio::task::yield_now().await;
        }
        cancel.cancel();
    };
    let (outcome, ()) = tokio::join!(run, stop);
    assert!(!outcome.result.success);
    assert_eq!(runs.load(Ordering::SeqCst), 1);
}
