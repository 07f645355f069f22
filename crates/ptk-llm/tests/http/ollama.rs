//! Ollama's own API.

use ptk_llm::http::Kind;
use ptk_llm::{FinishReason, LlmErrorKind, Sampling, ToolChoice, complete};
use serde_json::{Value, json};

use crate::server::{Answer, Server, conversation, replied};

fn said(message: Value) -> Value {
    json!({"model": "tiny", "created_at": "2026-01-01T00:00:00Z", "message": message, "done": false})
}

fn done(reason: &str) -> Value {
    json!({"model": "tiny", "message": {"role": "assistant", "content": ""}, "done": true, "done_reason": reason, "prompt_eval_count": 12, "eval_count": 7})
}

#[tokio::test]
async fn text_thoughts_and_calls_stream_by_the_line() {
    let call = |path: &str| json!({"function": {"name": "read_file", "arguments": {"path": path}}});
    let lines = [
        said(json!({"role": "assistant", "content": "", "thinking": "Hm."})),
        said(json!({"role": "assistant", "content": "Let me "})),
        said(json!({"role": "assistant", "content": "look ü."})),
        said(json!({"role": "assistant", "content": "", "tool_calls": [call("a.txt")]})),
        said(json!({"role": "assistant", "content": "", "tool_calls": [call("b.txt")]})),
        done("stop"),
    ];
    for piece in [1, 5, 64, usize::MAX] {
        // The server does not hang up: the reply is over all the same.
        let answer = Answer::lines(&lines).in_pieces(piece).and_stays();
        let reply = replied(Kind::Ollama, answer).await.unwrap();
        assert_eq!(
            (reply.text.as_str(), reply.reasoning.as_str()),
            ("Let me look ü.", "Hm.")
        );
        let calls = reply.calls.iter().map(|call| call.arguments.as_str());
        let calls: Vec<&str> = calls.collect();
        assert_eq!(calls, ["{\"path\":\"a.txt\"}", "{\"path\":\"b.txt\"}"]);
        assert_eq!(reply.finish, FinishReason::ToolCalls);
        let usage = reply.usage.unwrap();
        assert_eq!((usage.input_tokens, usage.output_tokens), (12, 7));
    }
}

#[tokio::test]
async fn the_last_line_may_lack_its_end_and_a_server_may_not_stream() {
    let text = done("length")
        .to_string()
        .replace("\"content\":\"\"", "\"content\":\"One, \"");
    for answer in [
        Answer::new("200 OK", "application/x-ndjson", &text),
        Answer::new("200 OK", "application/json; charset=utf-8", &text),
    ] {
        let reply = replied(Kind::Ollama, answer).await.unwrap();
        assert_eq!(
            (reply.text.as_str(), reply.finish),
            ("One, ", FinishReason::Length)
        );
    }
}

#[tokio::test]
async fn failures_are_said_plainly() {
    let half = said(json!({"role": "assistant", "content": "Half"}));
    let broken = Answer::lines(&[half.clone(), json!({"error": "llama runner stopped"})]);
    let error = replied(Kind::Ollama, broken).await.unwrap_err();
    assert_eq!(
        (error.kind, error.message.as_str()),
        (LlmErrorKind::Failing, "llama runner stopped")
    );
    for answer in [
        Answer::lines(std::slice::from_ref(&half)),
        Answer::new(
            "200 OK",
            "application/x-ndjson",
            format!("{half}\n{{\"mess"),
        ),
        Answer::new("200 OK", "application/x-ndjson", format!("{half}\n\u{0}\n")),
    ] {
        let error = replied(Kind::Ollama, answer).await.unwrap_err();
        assert_eq!(error.kind, LlmErrorKind::Cut);
    }
    for (status, message, kind) in [
        (
            "404 Not Found",
            "model 'tiny' not found",
            LlmErrorKind::NotFound,
        ),
        (
            "400 Bad Request",
            "tiny does not support tools",
            LlmErrorKind::NoTools,
        ),
        (
            "400 Bad Request",
            "the input length exceeds the context length",
            LlmErrorKind::TooLong,
        ),
    ] {
        let body = json!({"error": message}).to_string();
        let answer = Answer::new(status, "application/json", body);
        let error = replied(Kind::Ollama, answer).await.unwrap_err();
        assert_eq!((error.kind, error.message.as_str()), (kind, message));
    }
}

#[tokio::test]
async fn a_request_has_the_form_that_the_api_wants() {
    let end = || Answer::lines(&[done("stop")]);
    let server = Server::new(vec![end(), end()]);
    let provider = server.provider(Kind::Ollama);
    let mut asked = conversation();
    asked.sampling = Sampling {
        temperature: Some(0.5),
        seed: Some(7),
        ..Sampling::default()
    };
    asked.stop = vec!["END".to_owned()];
    asked.context_window = Some(16_384);
    complete(&provider, &asked).await.unwrap();
    let sent = server.asked();
    assert_eq!(sent.path, "/api/chat");
    insta::assert_snapshot!(serde_json::to_string_pretty(&sent.body).unwrap());
    // It has no way to forbid calls, so it is offered no tools.
    asked.tool_choice = ToolChoice::None;
    complete(&provider, &asked).await.unwrap();
    assert_eq!(server.asked().body.get("tools"), None);
}
