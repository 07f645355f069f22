//! Chat completions.

use ptk_llm::http::{HttpProvider, Kind};
use ptk_llm::{FinishReason, LlmErrorKind, Sampling, ToolChoice, Usage, complete};
use serde_json::{Value, json};

use crate::server::{Answer, Server, conversation, replied, request};

fn chunk(delta: Value, finish: Option<&str>) -> Value {
    json!({"id": "x", "object": "chat.completion.chunk", "choices": [{"index": 0, "delta": delta, "finish_reason": finish}]})
}

fn usage() -> Value {
    json!({"choices": [], "usage": {"prompt_tokens": 12, "completion_tokens": 7, "prompt_tokens_details": {"cached_tokens": 4}, "completion_tokens_details": {"reasoning_tokens": 2}}})
}

#[tokio::test]
async fn a_reply_streams_whatever_the_pieces() {
    let events = [
        chunk(json!({"role": "assistant", "content": ""}), None),
        chunk(json!({"reasoning_content": "Hm. "}), None),
        chunk(json!({"content": "Grüße, "}), None),
        chunk(json!({"content": "Ada 🎉"}), None),
        chunk(json!({}), Some("stop")),
        usage(),
    ];
    let mut body: String = events
        .iter()
        .map(|event| format!("data: {event}\n\n"))
        .collect();
    body.push_str(": a comment\n\ndata: [DONE]\n\n");
    for piece in [1, 2, 3, 7, 64, usize::MAX] {
        let answer = Answer::stream(&body).in_pieces(piece);
        let reply = replied(Kind::OpenAi, answer).await.unwrap();
        assert_eq!(
            (reply.text.as_str(), reply.reasoning.as_str()),
            ("Grüße, Ada 🎉", "Hm. ")
        );
        assert_eq!(reply.finish, FinishReason::Stop);
        let expected = Usage {
            input_tokens: 12,
            cached_tokens: 4,
            output_tokens: 7,
            reasoning_tokens: 2,
            ..Usage::default()
        };
        assert_eq!(reply.usage, Some(expected));
    }
}

#[tokio::test]
async fn calls_come_in_pieces_and_side_by_side() {
    let call = |index, delta: Value| {
        let mut call = delta;
        call["index"] = json!(index);
        chunk(json!({"tool_calls": [call]}), None)
    };
    let events = [
        call(
            0,
            json!({"id": "a", "type": "function", "function": {"name": "read_file", "arguments": ""}}),
        ),
        call(0, json!({"function": {"arguments": "{\"path\": "}})),
        call(
            1,
            json!({"id": "b", "type": "function", "function": {"name": "read_file", "arguments": "{\"path\""}}),
        ),
        call(0, json!({"function": {"arguments": "\"a.txt\"}"}})),
        call(1, json!({"function": {"arguments": ": \"b.txt\"}"}})),
        chunk(json!({}), Some("tool_calls")),
    ];
    let reply = replied(Kind::OpenAi, Answer::events(&events))
        .await
        .unwrap();
    let calls: Vec<_> = reply
        .calls
        .iter()
        .map(|call| (call.id.as_deref(), call.arguments.as_str()))
        .collect();
    assert_eq!(
        calls,
        [
            (Some("a"), "{\"path\": \"a.txt\"}"),
            (Some("b"), "{\"path\": \"b.txt\"}")
        ]
    );
    assert_eq!(reply.finish, FinishReason::ToolCalls);
}

/// Servers that only nearly keep to the form.
#[tokio::test]
async fn calls_without_index_or_id_and_with_arguments_as_an_object_are_read() {
    let events = [
        chunk(
            json!({"tool_calls": [{"function": {"name": "read_file", "arguments": {"path": "a.txt"}}}]}),
            None,
        ),
        chunk(
            json!({"tool_calls": [{"id": "", "function": {"name": "read_file", "arguments": "{\"path\":"}}]}),
            None,
        ),
        chunk(
            json!({"tool_calls": [{"function": {"arguments": "\"b.txt\"}"}}]}),
            Some("function_call"),
        ),
    ];
    let reply = replied(Kind::OpenAi, Answer::events(&events))
        .await
        .unwrap();
    let calls: Vec<_> = reply
        .calls
        .iter()
        .map(|call| (call.id.clone(), call.arguments.as_str()))
        .collect();
    assert_eq!(
        calls,
        [
            (None, "{\"path\":\"a.txt\"}"),
            (None, "{\"path\":\"b.txt\"}")
        ]
    );
    assert_eq!(reply.finish, FinishReason::ToolCalls);
}

/// The calls of one reply as some servers send them, and how they are parsed.
#[tokio::test]
async fn calls_are_told_apart_by_whatever_tells_them_apart() {
    let call = |call: Value| chunk(json!({"tool_calls": [call]}), None);
    let begins = |id: Value, name: &str, arguments: &str| json!({"index": 0, "id": id, "function": {"name": name, "arguments": arguments}});
    let (a, b) = ("{\"path\":\"a\"}", "{\"path\":\"b\"}");
    let two = [("read_file", a), ("read_file", b)];
    for (what, events, expected) in [
        (
            "all have the same number",
            vec![
                call(begins(json!("x"), "read_file", a)),
                call(begins(json!("y"), "read_file", b)),
            ],
            two.as_slice(),
        ),
        (
            "all have the same number and no id",
            vec![
                call(begins(Value::Null, "read_file", a)),
                call(begins(Value::Null, "list_files", b)),
            ],
            &[("read_file", a), ("list_files", b)],
        ),
        (
            "every piece has an id of its own",
            vec![
                call(begins(json!("x"), "read_file", "{\"path\":")),
                call(json!({"index": 0, "id": "y", "function": {"arguments": "\"a\"}"}})),
            ],
            &[("read_file", a)],
        ),
        (
            "the name comes late",
            vec![
                call(begins(json!("x"), "", "")),
                call(json!({"index": 0, "function": {"name": "read_file", "arguments": a}})),
            ],
            &[("read_file", a)],
        ),
        (
            "the name comes in pieces, and again",
            vec![
                call(begins(json!("x"), "read_", "")),
                call(begins(json!("x"), "file", "")),
                call(begins(json!("x"), "read_file", a)),
            ],
            &[("read_file", a)],
        ),
        (
            "as it was before there could be several",
            vec![
                chunk(
                    json!({"function_call": {"name": "read_file", "arguments": ""}}),
                    None,
                ),
                chunk(json!({"function_call": {"arguments": a}}), None),
            ],
            &[("read_file", a)],
        ),
        (
            "nothing has a name",
            vec![call(begins(json!("x"), "", a))],
            &[("", a)],
        ),
    ] {
        let mut events = events;
        events.push(chunk(json!({}), Some("tool_calls")));
        let reply = replied(Kind::OpenAi, Answer::events(&events))
            .await
            .unwrap();
        let calls = reply.calls.iter();
        let calls: Vec<_> = calls
            .map(|call| (call.name.as_str(), call.arguments.as_str()))
            .collect();
        assert_eq!(calls, expected, "{what}");
        assert!(
            reply
                .calls
                .iter()
                .all(|call| call.id.as_deref() != Some(""))
        );
    }
    let nameless = json!([
        {"id": "x", "function": {"name": "read_file", "arguments": a}},
        {"id": "y", "function": {"arguments": b}},
    ]);
    let choice = json!({"message": {"tool_calls": nameless}, "finish_reason": "tool_calls"});
    let answer = Answer::json(&json!({"choices": [choice]}));
    let reply = replied(Kind::OpenAi, answer).await.unwrap();
    assert_eq!(reply.calls.len(), 2, "{:?}", reply.calls);
}

#[tokio::test]
async fn what_is_said_may_come_in_a_list() {
    let thinking = json!([{"type": "thinking", "thinking": [{"type": "text", "text": "Hm."}]}]);
    let events = [
        chunk(json!({"content": thinking}), None),
        chunk(json!({"content": [{"type": "text", "text": "Hi."}]}), None),
        chunk(json!({"content": "", "refusal": " No."}), Some("stop")),
    ];
    let reply = replied(Kind::OpenAi, Answer::events(&events))
        .await
        .unwrap();
    assert_eq!(
        (reply.text.as_str(), reply.reasoning.as_str()),
        ("Hi. No.", "Hm.")
    );
}

/// Some servers send an empty reason at first, and some give up.
#[tokio::test]
async fn only_a_reason_to_end_ends_a_reply() {
    let half = chunk(json!({"content": "Half"}), Some(""));
    let error = replied(Kind::OpenAi, Answer::events(std::slice::from_ref(&half)))
        .await
        .unwrap_err();
    assert_eq!(error.kind, LlmErrorKind::Cut);
    let completion = json!({"choices": [{"text": "Half", "finish_reason": ""}]});
    let error = replied(Kind::Completion, Answer::events(&[completion]))
        .await
        .unwrap_err();
    assert_eq!(error.kind, LlmErrorKind::Cut);
    for reason in ["error", "abort", "insufficient_system_resource"] {
        let events = [half.clone(), chunk(json!({}), Some(reason))];
        let error = replied(Kind::OpenAi, Answer::events(&events))
            .await
            .unwrap_err();
        assert_eq!(error.kind, LlmErrorKind::Failing);
        assert!(error.message.contains(reason), "{error}");
    }
    for (reason, expected) in [
        ("stop", FinishReason::Stop),
        ("model_length", FinishReason::Length),
        ("eos_token", FinishReason::Stop),
    ] {
        let whole = [half.clone(), chunk(json!({}), Some(reason))];
        let reply = replied(Kind::OpenAi, Answer::events(&whole)).await.unwrap();
        assert_eq!(reply.finish, expected);
    }
}

#[tokio::test]
async fn addresses_are_taken_as_people_write_them() {
    let done = || Answer::events(&[chunk(json!({"content": "Hi."}), Some("stop"))]);
    for (behind, expected) in [
        ("/v1", "/v1/chat/completions"),
        ("/v1/", "/v1/chat/completions"),
        (
            "/v1?api-version=2#top",
            "/v1/chat/completions?api-version=2",
        ),
        ("/v1/chat/completions", "/v1/chat/completions"),
        ("", "/chat/completions"),
    ] {
        let server = Server::new(vec![done()]);
        let address = format!(" {}{behind} ", server.address);
        let provider = HttpProvider::at(Kind::OpenAi, &address).unwrap();
        let provider = provider.with_model("tiny");
        complete(&provider, &request()).await.unwrap();
        assert_eq!(server.asked().path, expected, "{behind}");
    }
}

#[tokio::test]
async fn a_server_that_does_not_stream_is_understood() {
    let answer = json!({"choices": [{"message": {"role": "assistant", "content": "Hi.", "tool_calls": [
        {"id": "a", "type": "function", "function": {"name": "read_file", "arguments": "{\"path\": \"a.txt\"}"}}
    ]}, "finish_reason": "tool_calls"}], "usage": {"prompt_tokens": 3, "completion_tokens": 2}});
    let reply = replied(Kind::OpenAi, Answer::json(&answer)).await.unwrap();
    assert_eq!((reply.text.as_str(), reply.calls.len()), ("Hi.", 1));
    assert_eq!(reply.usage.unwrap().input_tokens, 3);
}

#[tokio::test]
async fn a_request_has_the_form_that_the_api_wants() {
    let done = || Answer::events(&[chunk(json!({"content": "Hi."}), Some("stop"))]);
    let server = Server::new(vec![done(), done()]);
    let mut asked = conversation();
    asked.sampling = Sampling {
        temperature: Some(0.5),
        top_k: Some(20),
        ..Sampling::default()
    };
    asked.stop = vec!["END".to_owned()];
    complete(&server.provider(Kind::OpenAi), &asked)
        .await
        .unwrap();
    let sent = server.asked();
    assert_eq!(sent.path, "/chat/completions");
    assert!(
        sent.head
            .contains("authorization: bearer sk-secret-0123456789"),
        "{}",
        sent.head
    );
    insta::assert_snapshot!(serde_json::to_string_pretty(&sent.body).unwrap());
    asked.tool_choice = ToolChoice::Tool("read_file".to_owned());
    complete(&server.provider(Kind::OpenAiItself), &asked)
        .await
        .unwrap();
    let sent = server.asked();
    assert_eq!(sent.body["max_completion_tokens"], 100);
    assert_eq!(sent.body["top_k"], Value::Null);
    assert_eq!(sent.body["tool_choice"]["function"]["name"], "read_file");
}

#[tokio::test]
async fn without_a_model_nobody_is_asked() {
    let server = Server::new(vec![]);
    let provider = HttpProvider::at(Kind::OpenAi, &server.address).unwrap();
    let error = complete(&provider, &request()).await.unwrap_err();
    assert!(error.to_string().contains("no model was named"), "{error}");
}
