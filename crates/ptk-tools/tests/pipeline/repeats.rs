use ptk_protocol::ErrorType;
use serde_json::json;

use super::Fixture;

#[tokio::test]
async fn the_same_call_in_one_turn_is_refused_with_a_word_on_why() {
    let fixture = Fixture::new();
    fixture.call("look", json!({"text": "a"})).await;
    let again = fixture.call("look", json!({"text": "a"})).await;
    assert_eq!(again.error_type, Some(ErrorType::ValidationError));
    insta::assert_snapshot!(
        format!("{}\n→ {}", again.error, again.suggestion.unwrap_or_default()),
        @r"
    Redundant tool call detected: look was already called with the same arguments in this turn
    → Its result stands above, and nothing has changed since. Use it, call with other arguments, or answer.
    "
    );
    assert_eq!(fixture.runs(), 1);
}

#[tokio::test]
async fn after_three_repetitions_the_result_names_the_loop() {
    let fixture = Fixture::new();
    fixture.call("look", json!({"text": "a"})).await;
    let mut codes = Vec::new();
    for _ in 0..4 {
        let again = fixture.call("look", json!({"text": "a"})).await;
        codes.push(again.fields.get("code").cloned());
    }
    let code = Some(json!("DUPLICATE_TOOL_CALL"));
    assert_eq!(codes, [None, None, code.clone(), code]);
}

#[tokio::test]
async fn a_change_a_new_turn_or_other_arguments_make_it_another_call() {
    let fixture = Fixture::new();
    let look = |text: &'static str| fixture.call("look", json!({"text": text}));
    assert!(look("a").await.success);
    assert!(look("b").await.success);
    fixture.call("change", json!({"text": "x"})).await;
    assert!(look("a").await.success);
    assert!(!look("a").await.success);
    fixture.tools.begin_turn();
    assert!(look("a").await.success);
    fixture.tools.conversation().clear();
    assert!(look("a").await.success);
}

#[tokio::test]
async fn calls_that_fail_or_change_something_may_be_repeated() {
    let fixture = Fixture::new();
    for _ in 0..3 {
        let failed = fixture.call("fail", json!({"text": "a"})).await;
        assert_eq!(failed.error_type, Some(ErrorType::UserError));
        assert!(fixture.call("change", json!({"text": "a"})).await.success);
    }
}
