//! Failures in transit: each ends in an error that says what to do, and none in
//! an incomplete answer.

use std::io::Write as _;
use std::net::TcpListener;
use std::sync::Arc;
use std::time::Duration;

use futures_util::StreamExt as _;
use ptk_llm::http::{HttpProvider, Key, Kind, Timeouts};
use ptk_llm::{Delta, FinishReason, LlmErrorKind, Provider as _, complete};
use serde_json::{Value, json};
use tokio::time::Instant;

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
        // The longest wait that is accepted.
        ("retry-after: 1e300", 365 * 24 * 60 * 60 * 1000),
        ("retry-after-ms: 1e300", 365 * 24 * 60 * 60 * 1000),
        ("retry-after: inf", 365 * 24 * 60 * 60 * 1000),
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
    for header in ["retry-after: -1", "retry-after: NaN", "retry-after: soon"] {
        let status = format!("429 Too Many Requests\r\n{header}");
        let error = replied(Kind::OpenAi, Answer::new(&status, "text/plain", ""));
        assert_eq!(error.await.unwrap_err().retry_after, None, "{header}");
    }
}

/// Names say more than numbers, and a message is not lost because it is long.
#[tokio::test]
async fn what_a_server_says_at_length_is_heard() {
    let long = "x".repeat(100_000);
    for (status, body, kind) in [
        (
            "400 Bad Request",
            json!({"error": {"message": format!("No: {long}"), "code": "context_length_exceeded"}}),
            LlmErrorKind::TooLong,
        ),
        (
            "429 Too Many Requests",
            json!({"error": {"message": format!("No: {long}"), "type": "insufficient_quota"}}),
            LlmErrorKind::Unpaid,
        ),
        (
            "422 Unprocessable Entity",
            json!({"error": {"message": "No: sk-secret-0123456789"}, "input": long}),
            LlmErrorKind::Rejected,
        ),
    ] {
        let answer = Answer::new(status, "application/json", body.to_string());
        let error = replied(Kind::OpenAi, answer).await.unwrap_err();
        assert_eq!(error.kind, kind, "{status}");
        // The status of the response, whatever the message stands for.
        assert!(status.starts_with(&error.status.unwrap().to_string()));
        assert!(error.message.starts_with("No: "), "{status}");
        assert!(error.message.len() <= 2000 && !error.message.contains("secret"));
    }
    let streamed = json!({"error": {"message": format!("No: {long}")}});
    let error = replied(Kind::OpenAi, Answer::events(&[streamed])).await;
    let error = error.unwrap_err();
    assert_eq!((error.status, error.message.len()), (None, 2000));
    // A key is hidden before a message is cut, not after.
    let padded = format!("{}sk-secret-0123456789", "x".repeat(1990));
    let answer = Answer::new("400 Bad Request", "text/plain", padded);
    let error = replied(Kind::OpenAi, answer).await.unwrap_err();
    assert!(!error.message.contains("sk-"), "{error}");
}

/// Redirects are not followed, but the error says where they lead.
#[tokio::test]
async fn a_server_that_has_moved_says_where_to() {
    let status = "301 Moved Permanently\r\nlocation: https://user:pass@example.org/v1/chat/completions?key=abc";
    let error = replied(Kind::OpenAi, Answer::new(status, "text/html", "<html>"))
        .await
        .unwrap_err();
    assert_eq!(error.kind, LlmErrorKind::Rejected);
    let told = "it sends on to https://example.org/v1/chat/completions, and nothing";
    assert!(error.message.starts_with(told), "{error}");
}

/// The format of an answer is detected from its bytes: servers and proxies send
/// wrong content types.
#[tokio::test]
async fn an_answer_is_read_as_what_it_is() {
    let end = json!({"choices": [{"delta": {"content": "i."}, "finish_reason": "stop"}]});
    let events = data(&[said("H"), end]);
    let whole = json!({"choices": [{"message": {"content": "Hi."}, "finish_reason": "stop"}]});
    let whole = format!("\n {whole:#}");
    for (kind, body) in [
        ("application/json", &events),
        ("text/plain", &events),
        ("text/plain", &whole),
        ("text/event-stream", &whole),
    ] {
        for piece in [1, usize::MAX] {
            let answer = Answer::new("200 OK", kind, body).in_pieces(piece);
            let reply = replied(Kind::OpenAi, answer).await.unwrap();
            assert_eq!(reply.text, "Hi.", "{kind} {body}");
        }
    }
    // Some servers leave out what ends the last event.
    let reply = replied(Kind::OpenAi, Answer::stream(events.trim_end())).await;
    assert_eq!(reply.unwrap().text, "Hi.");
    let page = "<!doctype html><title>Log in to the hotel</title>";
    for (kind, wire) in [("text/html", Kind::OpenAi), ("text/html", Kind::Ollama)] {
        let error = replied(wire, Answer::new("200 OK", kind, page)).await;
        let error = error.unwrap_err();
        assert_eq!(error.kind, LlmErrorKind::Unreadable);
        assert!(error.message.contains("a page for people"), "{error}");
    }
    let pretty = json!({"message": {"content": "Hi."}, "done": true});
    let answer = Answer::new("200 OK", "application/json", format!("{pretty:#}"));
    assert_eq!(replied(Kind::Ollama, answer).await.unwrap().text, "Hi.");
}

#[tokio::test]
async fn an_error_with_a_good_status_is_an_error() {
    for body in [
        json!({"error": {"message": "no tools here", "code": 400}}),
        json!({"error": "no tools here", "code": 400}),
        json!({"error": {"message": "no tools here", "type": "x", "code": "400"}}),
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
async fn a_stream_with_nothing_in_it_says_so() {
    for body in ["", ": ping\n\n"] {
        let error = replied(Kind::OpenAi, Answer::stream(body))
            .await
            .unwrap_err();
        assert_eq!(error.kind, LlmErrorKind::Cut);
        assert!(error.to_string().contains("not a word came"), "{error}");
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
    // Here something is missing.
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

/// The clock is paused once the server has been asked, so that waiting takes no
/// time.
#[tokio::test]
async fn a_server_that_falls_silent_is_not_waited_for_without_end() {
    for answer in [
        Answer::stream(data(&[said("Half")])).and_stays(),
        Answer::new("200 OK", "application/json", "{\"choices\": [").and_stays(),
    ] {
        let server = Server::new(vec![answer]);
        let provider = server.provider(Kind::OpenAi);
        let reply = tokio::spawn(async move { complete(&provider, &request()).await });
        let server = tokio::task::spawn_blocking(move || {
            server.asked();
            server
        });
        let _open = server.await.unwrap();
        tokio::time::pause();
        let silence = Instant::now();
        let error = reply.await.unwrap().unwrap_err();
        assert_eq!(error.kind, LlmErrorKind::TimedOut);
        let timeouts = Timeouts::default();
        assert!(
            silence.elapsed() < timeouts.idle * 2,
            "for minutes, not for an hour"
        );
        tokio::time::resume();
    }
}

/// Some servers neither report the end of the stream nor hang up, and some
/// connections break just then.
#[tokio::test]
async fn a_reply_that_has_ended_is_whole_whatever_comes_behind_it() {
    let end = json!({"choices": [{"delta": {"content": "i."}, "finish_reason": "stop"}]});
    let events = data(&[said("H"), end]);
    let server = Server::new(vec![Answer::stream(&events).and_stays()]);
    let provider = server.provider(Kind::OpenAi);
    let asked = request();
    let mut deltas = provider.stream(&asked);
    for expected in ["H", "i."] {
        let delta = deltas.next().await.unwrap().unwrap();
        assert_eq!(delta, Delta::Text(expected.to_owned()));
    }
    tokio::time::pause();
    let last = deltas.next().await.unwrap().unwrap();
    assert_eq!(last, Delta::Finish(FinishReason::Stop));
    tokio::time::resume();
    // The length of the body is not what was announced.
    let status = "200 OK\r\ncontent-length: 100000";
    let broken = Answer::new(status, "text/event-stream", &events);
    assert_eq!(replied(Kind::OpenAi, broken).await.unwrap().text, "Hi.");
    let half = Answer::new(status, "text/event-stream", data(&[said("H")]));
    let error = replied(Kind::OpenAi, half).await.unwrap_err();
    assert_eq!(error.kind, LlmErrorKind::Cut);
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

#[tokio::test]
async fn a_host_without_an_address_is_said_plainly() {
    let provider = HttpProvider::at(Kind::OpenAi, "http://nobody.invalid/v1").unwrap();
    let error = complete(&provider.with_model("tiny"), &request())
        .await
        .unwrap_err();
    assert_eq!(error.kind, LlmErrorKind::Unreachable);
    let said = "the host name nobody.invalid does not resolve; see whether it is written right";
    assert!(error.to_string().contains(said), "{error}");
}

#[tokio::test]
async fn a_server_without_tls_is_not_asked_again_by_https() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("https://{}/v1", listener.local_addr().unwrap());
    std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        stream
            .write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n")
            .unwrap();
    });
    let provider = HttpProvider::at(Kind::OpenAi, &address).unwrap();
    let error = provider.list_models().await.unwrap_err();
    assert_eq!(error.kind, LlmErrorKind::NotEncrypted);
    assert!(!error.is_retryable(), "{error}");
}

/// A server with a certificate that it made itself.
#[tokio::test]
async fn a_certificate_that_nobody_vouches_for_is_said_plainly() {
    let own = rcgen::generate_simple_self_signed(["127.0.0.1".to_owned()]).unwrap();
    let key = rustls::pki_types::PrivateKeyDer::try_from(own.signing_key.serialize_der()).unwrap();
    let config = rustls::ServerConfig::builder()
        .with_no_client_auth()
        .with_single_cert(vec![own.cert.der().clone()], key)
        .unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("https://{}/v1", listener.local_addr().unwrap());
    std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let mut server = rustls::ServerConnection::new(Arc::new(config)).unwrap();
        // The client hangs up.
        let _ = server.complete_io(&mut stream);
    });
    let provider = HttpProvider::at(Kind::OpenAi, &address)
        .unwrap()
        .with_model("tiny");
    let error = complete(&provider, &request()).await.unwrap_err();
    assert_eq!(
        (error.kind, error.is_retryable()),
        (LlmErrorKind::Untrusted, false),
        "{error}"
    );
    assert!(
        error
            .to_string()
            .contains("a certificate that is not trusted"),
        "{error}"
    );
}

#[tokio::test]
async fn an_answer_without_choices_is_none() {
    for body in [
        json!({"choices": []}),
        json!({}),
        json!({"choices": [{"message": {}}]}),
    ] {
        let error = replied(Kind::OpenAi, Answer::json(&body))
            .await
            .unwrap_err();
        assert_eq!(error.kind, LlmErrorKind::Cut, "{body}");
    }
}

#[tokio::test]
async fn what_was_cut_short_or_withheld_is_said_to_be_so() {
    for (reason, expected) in [
        ("length", FinishReason::Length),
        ("content_filter", FinishReason::ContentFilter),
    ] {
        let end = json!({"choices": [{"delta": {}, "finish_reason": reason}]});
        let answer = Answer::stream(data(&[said("Half"), end]));
        let reply = replied(Kind::OpenAi, answer).await.unwrap();
        assert_eq!((reply.text.as_str(), reply.finish), ("Half", expected));
    }
}

#[tokio::test]
async fn no_number_is_too_large_to_be_counted() {
    let most = u64::MAX;
    let start = json!({"type": "message_start", "message": {"usage": {"input_tokens": most, "cache_read_input_tokens": most, "cache_creation_input_tokens": most}}});
    let delta = json!({"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": most}});
    let anthropic = [start, delta, json!({"type": "message_stop"})];
    let gemini = [
        json!({"candidates": [{"content": {"parts": []}, "finishReason": "STOP"}], "usageMetadata": {"promptTokenCount": most, "candidatesTokenCount": most, "thoughtsTokenCount": most}}),
    ];
    for (kind, events) in [
        (Kind::Anthropic, anthropic.as_slice()),
        (Kind::Gemini, &gemini),
    ] {
        let reply = replied(kind, Answer::events(events)).await.unwrap();
        assert!(reply.usage.unwrap().input_tokens > u64::from(u32::MAX));
    }
}

/// Calls stay separate, whatever their ids are.
#[tokio::test]
async fn calls_with_the_same_id_or_none_are_told_apart() {
    for id in [json!("same"), json!(""), Value::Null] {
        let call = |index: u64, arguments: Value| json!({"index": index, "id": id, "function": {"name": "read_file", "arguments": arguments}});
        let calls = json!([
            call(0, json!("{\"path\":\"a\"}")),
            call(1, json!({"path": "b"}))
        ]);
        let choice = json!({"message": {"tool_calls": calls}, "finish_reason": "tool_calls"});
        let answer = Answer::json(&json!({"choices": [choice]}));
        let reply = replied(Kind::OpenAi, answer).await.unwrap();
        let arguments = reply.calls.iter().map(|call| call.arguments.as_str());
        let arguments: Vec<&str> = arguments.collect();
        assert_eq!(arguments, ["{\"path\":\"a\"}", "{\"path\":\"b\"}"], "{id}");
    }
}

#[tokio::test]
async fn a_key_that_cannot_be_sent_is_said_to_be_so() {
    let server = Server::new(vec![]);
    for key in ["sk-\u{1}secret", "sk-secret“"] {
        let provider = server.provider(Kind::OpenAi).key(Key::new(key));
        let error = complete(&provider, &request()).await.unwrap_err();
        assert_eq!(error.kind, LlmErrorKind::Unauthorized);
        assert!(!error.is_retryable() && !error.to_string().contains("secret"));
    }
}

#[test]
fn it_is_known_where_others_can_read_along() {
    for (address, expected) in [
        ("https://example.org/v1", false),
        ("http://example.org/v1", true),
        ("http://203.0.113.7:8000/v1", true),
        ("http://[2001:db8::1]:8000/v1", true),
        ("http://127.0.0.1:8000/v1", false),
        ("http://[::1]:8000/v1", false),
        ("http://192.168.0.7/v1", false),
        ("http://[fd00::1]/v1", false),
        ("http://gpu:8000/v1", false),
        ("http://gpu.local:8000/v1", false),
    ] {
        let provider = HttpProvider::at(Kind::OpenAi, address).unwrap();
        assert_eq!(provider.sends_key_in_cleartext(), expected, "{address}");
    }
}

/// Some addresses contain the key, or a password.
#[test]
fn what_is_secret_in_an_address_is_never_shown() {
    let address = "https://bob:hunter2@example.org/v1?key=hunter3#hunter4";
    let provider = HttpProvider::at(Kind::OpenAi, address).unwrap();
    let shown = format!("{provider:?} {}", provider.id().unwrap());
    assert!(shown.contains("https://example.org/v1"), "{shown}");
    assert!(
        !shown.contains("hunter") && !shown.contains("bob"),
        "{shown}"
    );
}

#[test]
fn keys_are_never_shown() {
    let server = Server::new(vec![]);
    let provider = server.provider(Kind::OpenAi);
    assert!(!format!("{provider:?}").contains("sk-secret"));
    let key = Key::new(" sk-secret ").unwrap();
    assert_eq!(format!("{key:?}"), "Key(…)");
    assert_eq!(Key::new("  "), None);
    assert_eq!(provider.model(), Some("tiny"));
}
