//! Anthropic's messages.

use ptk_llm::http::{Key, Kind};
use ptk_llm::{FinishReason, LlmErrorKind, Message, Request, complete};
use serde_json::{Value, json};

use crate::server::{Answer, Server, conversation, replied};

fn message(events: &[Value], reason: &str) -> Vec<Value> {
    let start = json!({"type": "message_start", "message": {"id": "m", "role": "assistant", "content": [], "usage": {"input_tokens": 10, "cache_read_input_tokens": 5, "output_tokens": 1}}});
    let mut all = vec![start, json!({"type": "ping"})];
    all.extend_from_slice(events);
    all.push(json!({"type": "message_delta", "delta": {"stop_reason": reason, "stop_sequence": null}, "usage": {"output_tokens": 9}}));
    all.push(json!({"type": "message_stop"}));
    all
}

fn delta(index: u64, delta: Value) -> Value {
    json!({"type": "content_block_delta", "index": index, "delta": delta})
}

#[tokio::test]
async fn text_thoughts_and_calls_stream() {
    let events = [
        json!({"type": "content_block_start", "index": 0, "content_block": {"type": "thinking", "thinking": ""}}),
        delta(0, json!({"type": "thinking_delta", "thinking": "Hm."})),
        delta(0, json!({"type": "signature_delta", "signature": "abc"})),
        json!({"type": "content_block_stop", "index": 0}),
        json!({"type": "content_block_start", "index": 1, "content_block": {"type": "text", "text": ""}}),
        delta(1, json!({"type": "text_delta", "text": "Let me "})),
        delta(1, json!({"type": "text_delta", "text": "look."})),
        json!({"type": "content_block_stop", "index": 1}),
        json!({"type": "content_block_start", "index": 2, "content_block": {"type": "tool_use", "id": "t1", "name": "read_file", "input": {}}}),
        delta(
            2,
            json!({"type": "input_json_delta", "partial_json": "{\"path\": "}),
        ),
        delta(
            2,
            json!({"type": "input_json_delta", "partial_json": "\"a.txt\"}"}),
        ),
        json!({"type": "content_block_stop", "index": 2}),
    ];
    for piece in [1, 5, usize::MAX] {
        let answer = Answer::events(&message(&events, "tool_use")).in_pieces(piece);
        let reply = replied(Kind::Anthropic, answer).await.unwrap();
        assert_eq!(
            (reply.text.as_str(), reply.reasoning.as_str()),
            ("Let me look.", "Hm.")
        );
        let call = &reply.calls[0];
        assert_eq!(
            (call.id.as_deref(), call.arguments.as_str()),
            (Some("t1"), "{\"path\": \"a.txt\"}")
        );
        assert_eq!(reply.finish, FinishReason::ToolCalls);
        let usage = reply.usage.unwrap();
        assert_eq!(
            (usage.input_tokens, usage.cached_tokens, usage.output_tokens),
            (15, 5, 9)
        );
    }
}

/// Blocks that are not numbered, or are given whole and in pieces, stay what
/// they are.
#[tokio::test]
async fn calls_stay_apart_whatever_their_numbers_are() {
    let start = |id: &str, input: Value| json!({"type": "content_block_start", "content_block": {"type": "tool_use", "id": id, "name": "read_file", "input": input}});
    let piece = |json: &str| json!({"type": "content_block_delta", "delta": {"type": "input_json_delta", "partial_json": json}});
    let stop = json!({"type": "content_block_stop"});
    let events = [
        start("t1", json!({})),
        piece(r#"{"path":"a"}"#),
        stop.clone(),
        start("t2", json!({"path": "b"})),
        stop.clone(),
        start("t3", json!({"path": "c"})),
        piece(r#"{"path":"#),
        piece(r#""c"}"#),
        stop,
    ];
    let answer = Answer::events(&message(&events, "tool_use"));
    let reply = replied(Kind::Anthropic, answer).await.unwrap();
    let calls = reply.calls.iter();
    let calls: Vec<_> = calls
        .map(|call| (call.id.as_deref().unwrap(), call.arguments.as_str()))
        .collect();
    assert_eq!(
        calls,
        [
            ("t1", r#"{"path":"a"}"#),
            ("t2", r#"{"path":"b"}"#),
            ("t3", r#"{"path":"c"}"#),
        ]
    );
}

#[tokio::test]
async fn the_version_is_told_with_and_without_a_key() {
    let events = message(&[], "end_turn");
    for key in [None, Key::new("sk-secret-0123456789")] {
        let server = Server::new(vec![Answer::events(&events)]);
        let provider = server.provider(Kind::Anthropic).key(key.clone());
        complete(&provider, &conversation()).await.unwrap();
        let head = server.asked().head;
        assert!(head.contains("anthropic-version: 2023-06-01"), "{head}");
        assert_eq!(head.contains("x-api-key: sk-secret"), key.is_some());
    }
}

#[tokio::test]
async fn reasons_to_stop_have_the_names_of_others() {
    for (reason, expected) in [
        ("end_turn", FinishReason::Stop),
        ("max_tokens", FinishReason::Length),
        ("refusal", FinishReason::ContentFilter),
    ] {
        let events = message(
            &[
                json!({"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": "Hi."}}),
            ],
            reason,
        );
        assert_eq!(
            replied(Kind::Anthropic, Answer::events(&events))
                .await
                .unwrap()
                .finish,
            expected
        );
    }
}

#[tokio::test]
async fn an_error_in_the_stream_is_one() {
    let error =
        json!({"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}});
    let error = replied(Kind::Anthropic, Answer::events(&[error]))
        .await
        .unwrap_err();
    assert_eq!(
        (error.kind, error.status),
        (LlmErrorKind::Failing, Some(529))
    );
    assert!(error.is_retryable());
}

#[tokio::test]
async fn a_request_has_the_form_that_the_api_wants() {
    let server = Server::new(vec![Answer::events(&message(&[], "end_turn"))]);
    complete(&server.provider(Kind::Anthropic), &conversation())
        .await
        .unwrap();
    let sent = server.asked();
    assert_eq!(sent.path, "/messages");
    assert!(
        sent.head.contains("x-api-key: sk-secret-0123456789"),
        "{}",
        sent.head
    );
    assert!(
        sent.head.contains("anthropic-version: 2023-06-01"),
        "{}",
        sent.head
    );
    insta::assert_snapshot!(serde_json::to_string_pretty(&sent.body).unwrap());
}

/// Marks where the server is to cache up to: behind the system prompt, the
/// tools, and the last two turns of the user.
#[tokio::test]
async fn a_request_that_others_follow_is_marked() {
    let mut request = conversation();
    request.prompt_cache = true;
    let server = Server::new(vec![Answer::events(&message(&[], "end_turn"))]);
    complete(&server.provider(Kind::Anthropic), &request)
        .await
        .unwrap();
    insta::assert_snapshot!(serde_json::to_string_pretty(&server.asked().body).unwrap());
}

#[tokio::test]
async fn there_are_never_more_marks_than_the_api_allows() {
    let said = |number: usize| Message::assistant(format!("Answer {number}."));
    let turns = |count: usize| {
        let turns = (0..count)
            .flat_map(move |number| [Message::user(format!("Question {number}?")), said(number)]);
        turns.collect::<Vec<_>>()
    };
    for (examples, messages, has_tools, marks) in [
        (0, 1, false, 2),
        (0, 9, true, 4),
        (2, 0, false, 2),
        (2, 9, false, 4),
        (2, 9, true, 4),
        (2, 1, true, 3),
    ] {
        let mut request = Request {
            examples: turns(examples).into(),
            messages: turns(messages),
            prompt_cache: true,
            ..conversation()
        };
        if !has_tools {
            request.tools = ptk_protocol::Toolset::default();
        }
        let server = Server::new(vec![Answer::events(&message(&[], "end_turn"))]);
        complete(&server.provider(Kind::Anthropic), &request)
            .await
            .unwrap();
        let body = server.asked().body.to_string();
        let found = body.matches("cache_control").count();
        assert_eq!(found, marks, "{examples} {messages} {has_tools}: {body}");
    }
}

/// An empty block cannot be marked.
#[tokio::test]
async fn an_empty_system_prompt_is_not_marked() {
    let mut request = Request::new([Message::user("Hi")]).system(" ");
    request.prompt_cache = true;
    let server = Server::new(vec![Answer::events(&message(&[], "end_turn"))]);
    complete(&server.provider(Kind::Anthropic), &request)
        .await
        .unwrap();
    let body = server.asked().body;
    assert_eq!(body["system"], " ");
    assert_eq!(body.to_string().matches("cache_control").count(), 1);
}
