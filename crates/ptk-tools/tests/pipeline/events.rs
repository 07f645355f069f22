use ptk_events::{Channel, EventKind, RequestId};
use ptk_tools::{CallRequest, DenyAll};
use serde_json::json;

use super::{Fixture, request};

#[tokio::test]
async fn every_step_of_a_call_is_told_in_order() {
    let mut fixture = Fixture::new();
    fixture.call("look", json!({"text": "a"})).await;
    assert_eq!(
        fixture.types(),
        [
            "tool_call_start",
            "find passed",
            "validate passed",
            "repeat passed",
            "tool_output_chunk",
            "run passed",
            "bound passed",
            "record passed",
            "tool_call_end",
        ]
    );
}

#[tokio::test]
async fn a_call_that_changes_something_is_asked_about() {
    let mut fixture = Fixture::new();
    fixture.call("change", json!({"text": "a"})).await;
    assert!(fixture.types().contains(&"permission passed".to_owned()));
}

#[tokio::test]
async fn a_refused_call_ends_at_the_step_that_refused_it() {
    let mut fixture = Fixture::with(|builder| builder.approver(DenyAll::new("not today")));
    let result = fixture.call("change", json!({"text": "a"})).await;
    assert_eq!(fixture.runs(), 0);
    assert_eq!(result.error, "change was not allowed: not today");
    assert_eq!(
        fixture.types(),
        [
            "tool_call_start",
            "find passed",
            "validate passed",
            "permission refused",
            "record passed",
            "error",
            "tool_call_end",
        ]
    );
}

#[tokio::test]
async fn every_start_has_one_end_however_the_call_ends() {
    let mut fixture = Fixture::new();
    for (name, args) in [
        ("look", json!({"text": "a"})),
        ("fail", json!({"text": "a"})),
        ("panic", json!({"text": "a"})),
        ("nobody", json!({})),
        ("look", json!({})),
        ("look", json!({"text": "a"})),
    ] {
        fixture.call(name, args).await;
        let told = fixture.types();
        let count = |name: &str| told.iter().filter(|told| *told == name).count();
        assert_eq!((count("tool_call_start"), count("tool_call_end")), (1, 1));
        assert_eq!(told.last().map(String::as_str), Some("tool_call_end"));
    }
}

#[tokio::test]
async fn a_call_that_is_dropped_has_an_end_too() {
    let mut fixture = Fixture::new();
    {
        let call = fixture.tools.execute(request("hang", json!({})));
        tokio::pin!(call);
        tokio::select! {
            biased;
            _ = &mut call => panic!("it hangs"),
            () = tokio::task::yield_now() => {}
        }
    }
    let told = fixture.told();
    let EventKind::ToolCallEnd {
        success, result, ..
    } = &told.last().unwrap().kind
    else {
        panic!("no end");
    };
    assert!(!success);
    assert_eq!(result.error, "The call was cancelled before it ended");
}

#[tokio::test]
async fn all_events_of_a_call_carry_its_ids_and_travel_on_one_channel() {
    let mut fixture = Fixture::new();
    let id = RequestId::new();
    let call: CallRequest = request("look", json!({"text": "a"}))
        .in_request(id)
        .caused_by("turn_1");
    let call_id = call.call_id().clone();
    let outcome = fixture.tools.execute(call).await;
    assert_eq!(outcome.call_id, call_id);
    for event in fixture.told() {
        let is_step = matches!(event.kind, EventKind::ToolStep(_));
        assert_eq!(event.channel == Channel::Background, is_step);
        assert_eq!(event.correlation.call_id.as_ref(), Some(&call_id));
        assert_eq!(event.correlation.request_id, Some(id));
        assert_eq!(event.correlation.parent_id.as_deref(), Some("turn_1"));
    }
}
