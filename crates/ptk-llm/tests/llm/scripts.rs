//! Scripts: their format, and the errors of invalid ones.

use std::time::Duration;

use ptk_llm::{Capabilities, FinishReason, LlmErrorKind, NativeCall, Provider as _, Script};
use tokio::time::Instant;

use crate::{next, pieces};

#[tokio::test]
async fn an_array_and_lines_are_the_same_script() {
    let array = "[\n  \"one\",\n  {\"text\": \"two\"}\n]";
    let lines = "\u{feff}\"one\"\n\n  {\"text\": \"two\"}\n";
    for text in [array, lines] {
        let script = Script::parse(text).unwrap();
        assert_eq!(next(&script).await.unwrap().text, "one");
        assert_eq!(next(&script).await.unwrap().text, "two");
        assert_eq!(script.given(), 2);
    }
}

#[tokio::test]
async fn native_calls_come_with_their_ids_and_arguments() {
    let script = Script::parse(
        r#"[{"text": "Sure.", "tool_calls": [
            {"id": "a", "name": "f", "arguments": {"x": 1, "y": [true]}},
            {"name": "g", "arguments": "{not json"},
            {"name": "h"}
        ], "chunk": 2}]"#,
    )
    .unwrap();
    assert_eq!(script.capabilities(None).native_tools, Some(true));
    let reply = next(&script).await.unwrap();
    assert_eq!(reply.text, "Sure.");
    assert_eq!(reply.finish, FinishReason::ToolCalls);
    let call = |id: Option<&str>, name: &str, arguments: &str| NativeCall {
        id: id.map(str::to_owned),
        name: name.to_owned(),
        arguments: arguments.to_owned(),
    };
    assert_eq!(
        reply.calls,
        [
            call(Some("a"), "f", r#"{"x":1,"y":[true]}"#),
            call(None, "g", "{not json"),
            call(None, "h", ""),
        ]
    );
}

#[tokio::test]
async fn what_is_said_before_an_error_is_no_reply() {
    let script =
        Script::parse(r#"{"text": "half an ans", "error": {"status": 503, "message": "gone"}}"#)
            .unwrap();
    let deltas = pieces(&script.clone()).await;
    assert_eq!(deltas.len(), 2);
    assert!(deltas[0].is_ok() && deltas[1].is_err());

    let script = Script::parse(r#"{"text": "x", "error": {"status": 503}}"#).unwrap();
    let error = next(&script).await.unwrap_err();
    assert_eq!(
        (error.kind, error.status),
        (LlmErrorKind::Failing, Some(503))
    );
}

#[tokio::test(start_paused = true)]
async fn a_delay_is_waited_for() {
    let script = Script::parse(r#"{"text": "x", "delay_ms": 1500}"#).unwrap();
    let start = Instant::now();
    next(&script).await.unwrap();
    assert!(start.elapsed() >= Duration::from_millis(1500));
}

#[tokio::test]
async fn a_script_at_its_end_says_so() {
    let script = Script::parse("\"only one\"").unwrap();
    next(&script).await.unwrap();
    let error = next(&script).await.unwrap_err();
    assert!(!error.is_retryable());
    insta::assert_snapshot!(error, @"script has no further reply: all 1 replies of the script were given; add one to the script for each request, or limit the iterations");
}

#[test]
fn scripts_without_native_calls_are_text_only_unless_said_otherwise() {
    let script = Script::parse("\"x\"").unwrap();
    assert_eq!(script.capabilities(None).native_tools, Some(false));
    let native = Capabilities {
        native_tools: Some(true),
        ..Capabilities::default()
    };
    assert_eq!(script.with_capabilities(native).capabilities(None), native);
}

#[test]
fn files_that_make_no_sense_are_refused_with_line_and_reason() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("script.json");
    let mut told = vec![Script::open(&path).unwrap_err().to_string()];
    for text in [
        "",
        "[]",
        "Hello",
        "[\"a\",\n\n 3]",
        "\"a\"\n{\"txt\": \"b\"}",
        "[\n{\"text\": \"a\"},\n{\"text\": \"b\",\n \"chunk\": 0}]",
        "[\"a\",",
        "{\"tool_calls\": [{\"name\": \"f\", \"arguments\": 7}]}",
        "{\"error\": {\"message\": \"x\"}}",
    ] {
        std::fs::write(&path, text).unwrap();
        told.push(Script::open(&path).unwrap_err().to_string());
    }
    let folder = format!("{}/", folder.path().display());
    let told = told.join("\n").replace(&folder, "");
    let told = told.replace(r#"a script is a JSON array of replies, or one reply a line; a reply is a text, such as "Hello", or an object, such as {"text": "Hello", "chunk": 3}"#, "FORM");
    insta::assert_snapshot!(told);
}
