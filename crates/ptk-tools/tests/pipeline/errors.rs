use std::time::Duration;

use ptk_events::RequestId;
use ptk_protocol::ToolResult;
use ptk_tools::{AllowAll, DenyAll, Limits};
use serde_json::json;
use tokio_util::sync::CancellationToken;

use super::{Fixture, request};

/// An error as the model reads it.
fn told(result: &ToolResult) -> String {
    let kind = serde_json::to_value(result.error_type).unwrap();
    format!(
        "{}: {}\n→ {}",
        kind.as_str().unwrap_or_default(),
        result.error,
        result.suggestion.as_deref().unwrap_or_default()
    )
}

#[tokio::test]
async fn every_refusal_says_what_to_do_next() {
    let fixture = Fixture::new();
    let mut all = Vec::new();
    for (name, args) in [
        ("nobody", json!({})),
        ("looks", json!({"text": "a"})),
        ("look", json!({})),
        ("look", json!({"text": {"a": 1}})),
        ("fail", json!({"text": "spoon"})),
        ("fail", json!({"text": "spoon ".repeat(40)})),
        ("panic", json!({"text": "luck"})),
    ] {
        all.push(told(&fixture.call(name, args).await));
    }
    insta::assert_snapshot!(all.join("\n\n"));
}

#[tokio::test]
async fn nobody_to_ask_means_no() {
    let fixture = Fixture::with(|builder| builder.approver(DenyAll::default()));
    let result = fixture.call("change", json!({"text": "a"})).await;
    insta::assert_snapshot!(told(&result));
}

#[tokio::test(start_paused = true)]
async fn a_call_that_takes_too_long_is_stopped() {
    let limits = Limits {
        deadline: Duration::from_secs(30),
        ..Limits::default()
    };
    let fixture = Fixture::with(|builder| builder.approver(AllowAll).limits(limits));
    let result = fixture.call("hang", json!({})).await;
    insta::assert_snapshot!(told(&result));
    assert_eq!(result.fields["timed_out"], json!(true));
    assert_eq!(fixture.tools.usage()["hang"].timeouts, 1);
}

#[tokio::test]
async fn a_call_can_be_cancelled() {
    let fixture = Fixture::new();
    let token = CancellationToken::new();
    let call = request("hang", json!({})).cancelled_by(&token);
    let (outcome, ()) = tokio::join!(fixture.tools.execute(call), async {
        while fixture.runs() == 0 {
            tokio::task::yield_now().await;
        }
        token.cancel();
    });
    insta::assert_snapshot!(told(&outcome.result));
}

#[tokio::test]
async fn a_person_sees_a_failure_in_a_few_lines() {
    let fixture = Fixture::new();
    let call = request("fail", json!({"text": "spoon"})).in_request(RequestId::new());
    let outcome = fixture.tools.execute(call).await;
    assert_eq!(
        outcome.preview,
        [
            "Error: fail(text=\"spoon\"): There is no spoon",
            "Suggestion: Look for something else.",
        ]
    );
}
