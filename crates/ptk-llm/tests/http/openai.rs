//! Chat completions.

use ptk_llm::http::Kind;
use ptk_llm::{FinishReason, Sampling, ToolChoice, Usage, complete};
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

#[tokio::test]
async fn a_server_that_does_not_stream_is_understood() {
    let answer = json!({"choices": [{"message": {"role": "assistant", "content": "Hi.", "tool_calls": [
        {"id": "a", "type": "function", "function": {"name": "read_file", "arguments": "{\"path\": \"a.txt\"}"}}
    ]}, "finish_reason": "tool_calls"}], "usage": {"prompt_tokens": 3, "completion_tokens": 2}});
    let reply = replied(Kind::OpenAi, Answer::json(&answer)).await.unwrap();
    assert_eq!((reply.text.as_str(), reply.calls.len()), ("Hi.", 1));
    assert_eq!(reply.usage.unwrap().input_tokens, 3);
}

/// R138.
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
    let provider = ptk_llm::http::HttpProvider::at(Kind::OpenAi, &server.address).unwrap();
    let error = complete(&provider, &request()).await.unwrap_err();
    assert!(error.to_string().contains("no model was named"), "{error}");
}
