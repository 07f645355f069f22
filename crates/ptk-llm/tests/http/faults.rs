//! What goes wrong on the way: each ends in an error that says what to do, and
//! none in an answer that is not whole.

use std::time::Duration;

use ptk_llm::http::{HttpProvider, Kind, Patience};
use ptk_llm::{LlmErrorKind, Provider as _, complete};
use serde_json::{Value, json};

use crate::server::{Answer, Server, replied, request};

fn said(text: &str) -> Value {
    json!({"choices": [{"index": 0, "delta": {"content": text}, "finish_reason": null}]})
}

fn data(events: &[Value]) -> String {
    events
        .iter()
        .map(|event| format!("data: {event}\n\n"))
        .collect()
}

#[tokio::test]
async fn statuses_say_what_to_do() {
    let body =
        json!({"error": {"message": "You said sk-secret-0123456789", "type": "x"}}).to_string();
    for (status, kind, is_retryable) in [
        ("401 Unauthorized", LlmErrorKind::Unauthorized, false),
        ("402 Payment Required", LlmErrorKind::Unpaid, false),
        ("403 Forbidden", LlmErrorKind::Unauthorized, false),
        ("404 Not Found", LlmErrorKind::NotFound, false),
        ("429 Too Many Requests", LlmErrorKind::RateLimited, true),
        ("500 Internal Server Error", LlmErrorKind::Failing, true),
        ("503 Service Unavailable", LlmErrorKind::Failing, true),
        ("307 Temporary Redirect", LlmErrorKind::Rejected, false),
    ] {
        let error = replied(Kind::OpenAi, Answer::new(status, "application/json", &body))
            .await
            .unwrap_err();
        assert_eq!(
            (error.kind, error.is_retryable()),
            (kind, is_retryable),
            "{status}"
        );
        assert_eq!(error.message, "You said [key]");
        assert!(
            error.to_string().starts_with("127.0.0.1 (tiny) "),
            "{error}"
        );
    }
}

#[tokio::test]
async fn a_server_says_when_to_come_back() {
    for (header, expected) in [
        ("retry-after: 7", 7_000),
        ("retry-after: 0.5", 500),
        ("retry-after-ms: 250", 250),
        ("retry-after: Thu, 01 Jan 1970 00:00:00 GMT", 0),
    ] {
        let answer = Answer::new(
            &format!("429 Too Many Requests\r\n{header}"),
            "text/plain",
            "slow down",
        );
        let error = replied(Kind::OpenAi, answer).await.unwrap_err();
        assert_eq!(
            error.retry_after,
            Some(Duration::from_millis(expected)),
            "{header}"
        );
        assert_eq!(error.message, "slow down");
    }
}

#[tokio::test]
async fn an_error_with_a_good_status_is_an_error() {
    for body in [
        json!({"error": {"message": "no tools here", "code": 400}}),
        json!({"error": "no tools here", "code": 400}),
        json!({"error": {"message": "no tools here", "type": "invalid_request_error"}}),
    ] {
        let whole = replied(Kind::OpenAi, Answer::json(&body))
            .await
            .unwrap_err();
        let streamed = replied(Kind::OpenAi, Answer::stream(data(&[said("Hi"), body])))
            .await
            .unwrap_err();
        for error in [whole, streamed] {
            assert_eq!(
                (error.kind, error.message.as_str()),
                (LlmErrorKind::Rejected, "no tools here")
            );
        }
    }
}

#[tokio::test]
async fn a_reply_that_breaks_off_is_never_whole() {
    let call = json!({"choices": [{"delta": {"tool_calls": [{"index": 0, "id": "a", "function": {"name": "read_file", "arguments": "{\"path\": \"a"}}]}}]});
    for body in [
        String::new(),
        data(&[said("Half")]),
        data(&[said("Half"), call]),
        data(&[said("Half")]) + "data: [DONE]\n\n",
        data(&[said("Half")]) + "data: {\"choices\": [{\"del",
        data(&[json!({"choices": []})]),
    ] {
        for piece in [1, usize::MAX] {
            let answer = Answer::stream(&body).in_pieces(piece);
            let error = replied(Kind::OpenAi, answer).await.unwrap_err();
            assert_eq!(error.kind, LlmErrorKind::Cut, "{body}");
            assert!(error.is_retryable());
        }
    }
}

#[tokio::test]
async fn garbage_is_passed_over_where_nothing_is_lost() {
    let end = json!({"choices": [{"delta": {"content": "i."}, "finish_reason": "stop"}]});
    let body = format!(
        ": hello\n\nnonsense\n\nretry: 5\n\nevent: ping\ndata:\n\n{}",
        data(&[said("H"), end])
    );
    assert_eq!(
        replied(Kind::OpenAi, Answer::stream(body))
            .await
            .unwrap()
            .text,
        "Hi."
    );
    // Here something is.
    let lost = data(&[said("H")]) + "data: <html>oops</html>\n\n";
    let error = replied(Kind::OpenAi, Answer::stream(lost))
        .await
        .unwrap_err();
    assert_eq!(error.kind, LlmErrorKind::Cut);
    let mut bytes = data(&[said("H")]).into_bytes();
    bytes.extend_from_slice(b"data: {\"choices\": \"\xff\xfe\"}\n\n");
    let error = replied(Kind::OpenAi, Answer::stream(bytes))
        .await
        .unwrap_err();
    assert_eq!(error.kind, LlmErrorKind::Cut);
    let page = Answer::new("200 OK", "application/json", "<html>a proxy</html>");
    let error = replied(Kind::OpenAi, page).await.unwrap_err();
    assert_eq!(error.kind, LlmErrorKind::Unreadable);
}

#[tokio::test]
async fn a_reply_without_end_is_given_up() {
    let many = data(&vec![said(&"x".repeat(100_000)); 200]);
    let error = replied(Kind::OpenAi, Answer::stream(many))
        .await
        .unwrap_err();
    assert_eq!(error.kind, LlmErrorKind::TooMuch);
}

#[tokio::test]
async fn a_server_that_falls_silent_is_not_waited_for_without_end() {
    let patience = Patience {
        idle: Duration::from_millis(50),
        ..Patience::default()
    };
    for answer in [
        Answer::stream(data(&[said("Half")])).and_stays(),
        Answer::new("200 OK", "application/json", "{\"choices\": [").and_stays(),
    ] {
        let server = Server::new(vec![answer]);
        let provider = server
            .provider(Kind::OpenAi)
            .patience(Patience {
                whole: Duration::from_millis(200),
                ..patience
            })
            .unwrap();
        let error = complete(&provider, &request()).await.unwrap_err();
        assert_eq!(error.kind, LlmErrorKind::TimedOut);
    }
}

#[tokio::test]
async fn nobody_at_the_address_is_said_plainly() {
    let provider = HttpProvider::at(Kind::OpenAi, "http://127.0.0.1:9")
        .unwrap()
        .with_model("tiny");
    let error = complete(&provider, &request()).await.unwrap_err();
    assert_eq!(error.kind, LlmErrorKind::Unreachable);
    assert!(error.to_string().contains("refused"), "{error}");
    for address in ["localhost:8080", "ftp://x", "", "http://"] {
        let error = HttpProvider::at(Kind::OpenAi, address).unwrap_err();
        assert!(
            error
                .to_string()
                .contains("write it as http://HOST:PORT/v1"),
            "{error}"
        );
    }
}

#[test]
fn keys_are_never_shown() {
    let server = Server::new(vec![]);
    let provider = server.provider(Kind::OpenAi);
    assert!(!format!("{provider:?}").contains("sk-secret"));
    let key = ptk_llm::http::Key::new(" sk-secret ").unwrap();
    assert_eq!(format!("{key:?}"), "Key(…)");
    assert_eq!(ptk_llm::http::Key::new("  "), None);
    assert_eq!(provider.model(), Some("tiny"));
}
