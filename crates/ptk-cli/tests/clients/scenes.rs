//! What happens between a client and the gateway, and what the client must have
//! seen of it.

use serde_json::{Value, json};

use crate::client::{Client, Mode};
use crate::gateway::Gateway;

const ANSWER: &str = "It is 31 °C in Hà Nội.";
/// What the model fails with. The clients look for it in what they raise.
const REASON: &str = "the model is resting";
/// What each reply takes.
const TOKENS: [u64; 2] = [12, 7];

/// With all that goes wrong easily on its way through texts in texts.
fn weather() -> Value {
    json!({"name": "get_weather", "arguments": {
        "city": "Hà Nội",
        "note": "say \"hot\",\nor 'cold' \\ 🌧 </b>",
        "options": {"unit": "celsius", "days": 3},
    }})
}

fn time() -> Value {
    json!({"name": "get_time", "arguments": {"city": "Köln \"Dom\""}})
}

/// As a model writes it that knows no API for tools.
fn written(calls: &[Value]) -> String {
    let calls = calls
        .iter()
        .map(|call| format!("\n<tool_call>\n{call}\n</tool_call>"));
    format!("I'll look.{}", calls.collect::<String>())
}

/// A reply that comes in small pieces.
fn said(text: &str) -> Value {
    let [input_tokens, output_tokens] = TOKENS;
    let usage = json!({"input_tokens": input_tokens, "output_tokens": output_tokens});
    json!({"text": text, "chunk": 4, "usage": usage})
}

fn failed(status: u16) -> Value {
    json!({"error": {"status": status, "message": REASON}})
}

/// What a client saw, without the usage, which must be right in each reply.
fn without_usage(mut seen: Value) -> Value {
    let [input, output] = TOKENS;
    for reply in seen["replies"].as_array_mut().unwrap() {
        let usage = reply.as_object_mut().unwrap().remove("usage").unwrap();
        let counts = [
            json!([input, output]),
            json!([input, output, input + output]),
        ];
        assert!(counts.contains(&usage), "{usage}");
    }
    seen
}

/// The client makes these calls, and then answers.
fn loops(client: &Client, mode: Mode, scene: &str, calls: &[Value], answer: &str) {
    let gateway = Gateway::scripted(&[said(&written(calls)), said(answer)]);
    let seen = client.plays(scene, mode, &gateway);
    let [calling, stopping] = client.finishes;
    let expected = json!({
        "calls": calls,
        "replies": [
            {"text": "I'll look.", "finish": calling},
            {"text": answer, "finish": stopping},
        ],
        "errors": [],
        "streamed": mode == Mode::Stream,
        "answer": answer,
    });
    assert_eq!(without_usage(seen), expected);
    gateway.end();
}

pub(crate) fn one(client: &Client, mode: Mode) {
    loops(client, mode, "one", &[weather()], ANSWER);
}

pub(crate) fn several(client: &Client, mode: Mode) {
    let answer = "It is 31 °C in Hà Nội, and noon in Köln.";
    loops(client, mode, "several", &[weather(), time()], answer);
}

/// The client gets this text, by whatever it takes.
fn answers(client: &Client, mode: Mode, scene: &str, replies: &[Value], answer: &str) {
    let gateway = Gateway::scripted(replies);
    let seen = client.plays(scene, mode, &gateway);
    let [_, stopping] = client.finishes;
    let expected = json!({
        "calls": [],
        "replies": [{"text": answer, "finish": stopping}],
        "errors": [],
        "streamed": mode == Mode::Stream,
        "answer": answer,
    });
    assert_eq!(without_usage(seen), expected);
    gateway.end();
}

pub(crate) fn text(client: &Client, mode: Mode) {
    let answer = "Hello, “world”.\nThere is no need to look: 1 < 2 & 3 > 2.";
    answers(client, mode, "text", &[said(answer)], answer);
}

/// The client's own retries know the failure for a passing one.
pub(crate) fn retried(client: &Client) {
    let replies = [failed(429), said(ANSWER)];
    answers(client, Mode::Whole, "retry", &replies, ANSWER);
    answers(client, Mode::Stream, "retry", &replies, ANSWER);
}

pub(crate) fn errors(client: &Client, mode: Mode) {
    let gateway = Gateway::scripted(&[failed(429), failed(500)]);
    let seen = client.plays("error", mode, &gateway);
    let [busy, failing] = client.raises;
    let expected = json!([
        {"type": busy, "status": 429, "told": true},
        {"type": failing, "status": 500, "told": true},
    ]);
    assert_eq!(seen["errors"], expected, "{seen}");
    gateway.end();
}

/// The client does not take the half of a reply for the whole.
pub(crate) fn broken(client: &Client) {
    let mut half = failed(500);
    half["text"] = json!("It is 31 °C in");
    half["chunk"] = json!(4);
    let gateway = Gateway::scripted(&[half]);
    let seen = client.plays("broken", Mode::Stream, &gateway);
    let (kind, status) = client.breaks;
    let expected = json!([{"type": kind, "status": status, "told": true}]);
    assert_eq!(seen["errors"], expected, "{seen}");
    assert_eq!(seen["replies"], json!([]));
    gateway.end();
}

/// The model sees the question, the tools and what each call gave back.
pub(crate) fn recorded(client: &Client) {
    let calls = written(&[weather(), time()]);
    let gateway = Gateway::recording(&[&calls, ANSWER]);
    let seen = client.plays("several", Mode::Whole, &gateway);
    assert_eq!(seen["answer"], ANSWER, "{seen}");
    let [asked, told] = [gateway.shown(0), gateway.shown(1)];
    for words in [
        "What is the weather in Hà Nội?",
        "get_weather",
        "The weather in a city.",
        "get_time",
    ] {
        assert!(asked.contains(words), "{words}: {asked}");
    }
    for words in ["31 °C in Hà Nội", "12:00 in Köln"] {
        assert!(!asked.contains(words), "{words}: {asked}");
        assert!(told.contains(words), "{words}: {told}");
    }
    gateway.end();
}

fn listed(client: &Client) -> Value {
    let gateway = Gateway::scripted(&[said(ANSWER)]);
    let seen = client.plays("models", Mode::Whole, &gateway);
    assert_eq!(seen["models"], json!(["script"]), "{seen}");
    gateway.end();
    seen
}

pub(crate) fn models_of_openai(client: &Client) {
    assert_eq!(listed(client)["model"], "script");
}

pub(crate) fn models_of_anthropic(client: &Client) {
    assert_eq!(listed(client)["counted"], true);
}

pub(crate) fn models_of_ollama(client: &Client) {
    assert_eq!(listed(client)["can"], json!(["completion", "tools"]));
}
