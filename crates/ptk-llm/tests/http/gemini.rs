//! Google's Gemini API.

use ptk_llm::http::Kind;
use ptk_llm::{FinishReason, LlmErrorKind, Provider as _, complete};
use serde_json::{Value, json};

use crate::server::{Answer, Server, conversation, replied};

fn piece(parts: Value, finish: Option<&str>) -> Value {
    json!({"candidates": [{"content": {"role": "model", "parts": parts}, "finishReason": finish}],
           "usageMetadata": {"promptTokenCount": 8, "candidatesTokenCount": 3, "thoughtsTokenCount": 2}})
}

#[tokio::test]
async fn text_thoughts_and_calls_stream() {
    let signed = json!({"functionCall": {"name": "read_file", "args": {"path": "a.txt"}}, "thoughtSignature": "sig"});
    let events = [
        piece(json!([{"text": "Hm.", "thought": true}]), None),
        piece(json!([{"text": "Let me "}]), None),
        piece(json!([{"text": "look."}, signed]), Some("STOP")),
    ];
    for size in [1, 9, usize::MAX] {
        let answer = Answer::events(&events).in_pieces(size);
        let reply = replied(Kind::Gemini, answer).await.unwrap();
        assert_eq!(
            (reply.text.as_str(), reply.reasoning.as_str()),
            ("Let me look.", "Hm.")
        );
        assert_eq!(reply.calls[0].arguments, "{\"path\":\"a.txt\"}");
        assert_eq!(reply.finish, FinishReason::ToolCalls);
        assert_eq!(reply.usage.unwrap().output_tokens, 5);
        // The server wants its own parts back, signature and all.
        assert!(reply.state.unwrap().to_string().contains("\"sig\""));
    }
}

#[tokio::test]
async fn what_is_withheld_is_said_to_be_so() {
    let blocked = json!({"promptFeedback": {"blockReason": "SAFETY"}});
    let reply = replied(Kind::Gemini, Answer::events(&[blocked]))
        .await
        .unwrap();
    assert_eq!(reply.finish, FinishReason::ContentFilter);
    let cut = piece(json!([{"text": "One, "}]), Some("MAX_TOKENS"));
    assert_eq!(
        replied(Kind::Gemini, Answer::events(&[cut]))
            .await
            .unwrap()
            .finish,
        FinishReason::Length
    );
}

#[tokio::test]
async fn errors_come_in_an_array_too() {
    let body = json!([{"error": {"code": 400, "message": "API key not valid", "status": "INVALID_ARGUMENT"}}]);
    let answer = Answer::new("400 Bad Request", "application/json", body.to_string());
    let error = replied(Kind::Gemini, answer).await.unwrap_err();
    assert_eq!(error.kind, LlmErrorKind::Unauthorized);
    assert_eq!(error.message, "API key not valid");
    let error = replied(Kind::Gemini, Answer::json(&body))
        .await
        .unwrap_err();
    assert_eq!(error.kind, LlmErrorKind::Unauthorized, "{error}");
}

/// An unspecified reason does not end a reply.
#[tokio::test]
async fn what_is_not_said_to_end_has_not_ended() {
    let half = piece(json!([{"text": "Half"}]), Some("FINISH_REASON_UNSPECIFIED"));
    let error = replied(Kind::Gemini, Answer::events(&[half]))
        .await
        .unwrap_err();
    assert_eq!(error.kind, LlmErrorKind::Cut);
}

#[tokio::test]
async fn a_request_has_the_form_that_the_api_wants() {
    let server = Server::new(vec![Answer::events(&[piece(
        json!([{"text": "Hi."}]),
        Some("STOP"),
    )])]);
    complete(&server.provider(Kind::Gemini), &conversation())
        .await
        .unwrap();
    let sent = server.asked();
    assert_eq!(sent.path, "/models/tiny:streamGenerateContent?alt=sse");
    assert!(
        sent.head.contains("x-goog-api-key: sk-secret-0123456789"),
        "{}",
        sent.head
    );
    insta::assert_snapshot!(serde_json::to_string_pretty(&sent.body).unwrap());
}

#[tokio::test]
async fn models_are_listed_by_the_names_that_requests_take() {
    let list = json!({"models": [{"name": "models/gemini-2.5-flash"}, {"name": "tuned"}]});
    let answer = Answer::new("200 OK", "application/json", list.to_string());
    let server = Server::new(vec![answer]);
    let models = server.provider(Kind::Gemini).models().await;
    assert_eq!(models.unwrap(), ["gemini-2.5-flash", "tuned"]);
    assert!(server.asked().path.ends_with("/models?pageSize=1000"));
}
