//! OpenAI's responses.

use ptk_llm::http::Kind;
use ptk_llm::{FinishReason, LlmErrorKind, Message, Usage, complete};
use serde_json::{Value, json};

use crate::server::{Answer, Server, conversation, replied};

fn event(kind: &str, at: u64, more: Value) -> Value {
    let mut event = json!({"type": format!("response.{kind}"), "output_index": at});
    let members = event.as_object_mut().unwrap();
    members.extend(more.as_object().unwrap().clone());
    event
}

fn over(status: &str, more: Value) -> Value {
    let mut response = json!({
        "id": "r", "object": "response", "status": status, "error": null, "output": [],
        "usage": {
            "input_tokens": 30, "input_tokens_details": {"cached_tokens": 10},
            "output_tokens": 8, "output_tokens_details": {"reasoning_tokens": 3},
        },
    });
    let members = response.as_object_mut().unwrap();
    members.extend(more.as_object().unwrap().clone());
    json!({"type": format!("response.{status}"), "response": response})
}

fn thought() -> Value {
    json!({"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "gAAA"})
}

fn call(name: &str, arguments: &str) -> Value {
    json!({"type": "function_call", "id": "fc_1", "call_id": format!("call_{name}"), "name": "read_file", "arguments": arguments})
}

/// Servers that only nearly keep to the form.
#[tokio::test]
async fn items_without_indices_are_told_apart_by_their_ids() {
    let item = |id: &str| json!({"type": "function_call", "id": id, "call_id": id, "name": "read_file", "arguments": ""});
    let added = |id: &str| json!({"type": "response.output_item.added", "item": item(id)});
    let piece = |id: &str, delta: &str| json!({"type": "response.function_call_arguments.delta", "item_id": id, "delta": delta});
    let events = [
        added("x"),
        added("y"),
        piece("x", "{\"path\":"),
        piece("y", "{\"path\":\"b\"}"),
        piece("x", "\"a\"}"),
        json!({"type": "response.completed", "response": {}}),
    ];
    let reply = replied(Kind::OpenAiResponses, Answer::events(&events));
    let reply = reply.await.unwrap();
    let arguments = reply.calls.iter().map(|call| call.arguments.as_str());
    let arguments: Vec<&str> = arguments.collect();
    assert_eq!(arguments, ["{\"path\":\"a\"}", "{\"path\":\"b\"}"]);
    assert_eq!(reply.finish, FinishReason::ToolCalls);
}

#[tokio::test]
async fn text_thoughts_and_calls_stream() {
    let events = [
        json!({"type": "response.created", "response": {"status": "in_progress", "error": null}}),
        event(
            "output_item.added",
            0,
            json!({"item": {"type": "reasoning", "id": "rs_1", "summary": []}}),
        ),
        event(
            "reasoning_summary_part.added",
            0,
            json!({"summary_index": 0}),
        ),
        event("reasoning_summary_text.delta", 0, json!({"delta": "Hm."})),
        event(
            "reasoning_summary_part.added",
            0,
            json!({"summary_index": 1}),
        ),
        event("reasoning_summary_text.delta", 0, json!({"delta": "Yes."})),
        event("output_item.done", 0, json!({"item": thought()})),
        event(
            "output_item.added",
            1,
            json!({"item": {"type": "message", "role": "assistant", "content": []}}),
        ),
        event("output_text.delta", 1, json!({"delta": "Let me "})),
        event("output_text.delta", 1, json!({"delta": "look ü."})),
        event("output_text.done", 1, json!({"text": "Let me look ü."})),
        event(
            "output_item.done",
            1,
            json!({"item": {"type": "message", "content": [{"type": "output_text", "text": "Let me look ü."}]}}),
        ),
        event("output_item.added", 2, json!({"item": call("a", "")})),
        event("output_item.added", 3, json!({"item": call("b", "")})),
        event(
            "function_call_arguments.delta",
            2,
            json!({"delta": "{\"path\":"}),
        ),
        event(
            "function_call_arguments.delta",
            2,
            json!({"delta": "\"a.txt\"}"}),
        ),
        event(
            "function_call_arguments.done",
            2,
            json!({"arguments": "{\"path\":\"a.txt\"}"}),
        ),
        // Some servers send no pieces.
        event(
            "function_call_arguments.done",
            3,
            json!({"arguments": "{\"path\":\"b.txt\"}"}),
        ),
        event(
            "output_item.done",
            2,
            json!({"item": call("a", "{\"path\":\"a.txt\"}")}),
        ),
        event(
            "output_item.done",
            3,
            json!({"item": call("b", "{\"path\":\"b.txt\"}")}),
        ),
        over("completed", json!({"output": [thought(), call("a", "{}")]})),
    ];
    for piece in [1, 17, usize::MAX] {
        // The server does not hang up: the reply is over all the same.
        let answer = Answer::events(&events).in_pieces(piece).and_stays();
        let reply = replied(Kind::OpenAiResponses, answer).await.unwrap();
        assert_eq!(
            (reply.text.as_str(), reply.reasoning.as_str()),
            ("Let me look ü.", "Hm.\n\nYes.")
        );
        let calls: Vec<_> = reply
            .calls
            .iter()
            .map(|call| (call.id.as_deref(), call.arguments.as_str()))
            .collect();
        assert_eq!(
            calls,
            [
                (Some("call_a"), "{\"path\":\"a.txt\"}"),
                (Some("call_b"), "{\"path\":\"b.txt\"}")
            ]
        );
        assert_eq!(reply.finish, FinishReason::ToolCalls);
        let usage = Usage {
            input_tokens: 30,
            cached_tokens: 10,
            output_tokens: 8,
            reasoning_tokens: 3,
            ..Usage::default()
        };
        assert_eq!(reply.usage, Some(usage));
        assert!(reply.state.unwrap().to_string().contains("gAAA"));
    }
}

#[tokio::test]
async fn a_server_that_does_not_stream_is_understood() {
    let message = json!({"type": "message", "content": [{"type": "output_text", "text": "Hi."}, {"type": "refusal", "refusal": " No."}]});
    let output = json!([thought(), message, call("a", "{\"path\":\"a.txt\"}")]);
    let whole = over("completed", json!({"output": output}));
    let as_json = Answer::json(&whole["response"]);
    // A stream with everything in its last event is understood, too.
    let at_the_end = Answer::events(&[whole]);
    for answer in [as_json, at_the_end] {
        let reply = replied(Kind::OpenAiResponses, answer).await.unwrap();
        assert_eq!(reply.text, "Hi. No.");
        assert_eq!(reply.calls[0].arguments, "{\"path\":\"a.txt\"}");
        assert_eq!(reply.finish, FinishReason::ToolCalls);
        assert_eq!(reply.usage.unwrap().input_tokens, 30);
    }
}

#[tokio::test]
async fn why_a_reply_ended_is_said() {
    let said = event("output_text.delta", 0, json!({"delta": "One, "}));
    for (reason, expected) in [
        ("max_output_tokens", FinishReason::Length),
        ("content_filter", FinishReason::ContentFilter),
        ("moon", FinishReason::Other("moon".to_owned())),
    ] {
        let end = over(
            "incomplete",
            json!({"incomplete_details": {"reason": reason}}),
        );
        let answer = Answer::events(&[said.clone(), end]);
        let reply = replied(Kind::OpenAiResponses, answer).await.unwrap();
        assert_eq!((reply.text.as_str(), reply.finish), ("One, ", expected));
    }
    let refusal = event("refusal.delta", 0, json!({"delta": "I will not."}));
    let answer = Answer::events(&[refusal, over("completed", json!({}))]);
    let reply = replied(Kind::OpenAiResponses, answer).await.unwrap();
    assert_eq!(
        (reply.text.as_str(), reply.finish),
        ("I will not.", FinishReason::Stop)
    );
    // It broke off.
    let answer = Answer::events(&[said]);
    let error = replied(Kind::OpenAiResponses, answer).await.unwrap_err();
    assert_eq!(error.kind, LlmErrorKind::Cut);
}

#[tokio::test]
async fn failures_in_the_stream_are_failures() {
    for (code, kind) in [
        ("rate_limit_exceeded", LlmErrorKind::RateLimited),
        ("server_error", LlmErrorKind::Failing),
        ("invalid_prompt", LlmErrorKind::Rejected),
        ("context_length_exceeded", LlmErrorKind::TooLong),
        ("insufficient_quota", LlmErrorKind::Unpaid),
    ] {
        let error = json!({"code": code, "message": "It broke"});
        let failed = over("failed", json!({"error": error}));
        for answer in [
            Answer::json(&failed["response"]),
            Answer::events(&[failed]),
            Answer::events(&[
                json!({"type": "error", "code": code, "message": "It broke", "param": null}),
            ]),
            Answer::events(&[json!({"type": "error", "error": error})]),
        ] {
            let error = replied(Kind::OpenAiResponses, answer).await.unwrap_err();
            assert_eq!(
                (error.kind, error.message.as_str()),
                (kind, "It broke"),
                "{code}"
            );
        }
    }
}

#[tokio::test]
async fn a_request_has_the_form_that_the_api_wants() {
    let done = || Answer::events(&[over("completed", json!({}))]);
    let server = Server::new(vec![done(), done(), done()]);
    let provider = server.provider(Kind::OpenAiResponses);
    let mut asked = conversation();
    if let Message::Assistant { text, state, .. } = &mut asked.messages[1] {
        text.push_str("I'll look.");
        let kept = json!([thought(), {"type": "message"}, {"type": "function_call"}]);
        *state = Some(json!({"openai_responses": kept}));
    }
    complete(&provider, &asked).await.unwrap();
    let sent = server.asked();
    assert_eq!(sent.path, "/responses");
    assert!(
        sent.head
            .contains("authorization: bearer sk-secret-0123456789"),
        "{}",
        sent.head
    );
    insta::assert_snapshot!(serde_json::to_string_pretty(&sent.body).unwrap());

    // State of another server is not sent to this one.
    if let Message::Assistant { state, .. } = &mut asked.messages[1] {
        *state = Some(json!([{"text": "I'll look.", "thoughtSignature": "sig"}]));
    }
    complete(&provider, &asked).await.unwrap();
    let sent = server.asked().body.to_string();
    assert!(
        !sent.contains("thoughtSignature") && sent.contains("I'll look."),
        "{sent}"
    );

    // Older models reject requests for reasoning.
    asked.model = Some("gpt-4o-mini".to_owned());
    complete(&provider, &asked).await.unwrap();
    assert_eq!(server.asked().body["include"], Value::Null);
}
