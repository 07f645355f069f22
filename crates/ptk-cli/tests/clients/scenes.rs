//! The exchanges between a client and the gateway, and what the client must
//! report.

use serde_json::{Value, json};

use crate::client::{Client, Mode};
use crate::gateway::Gateway;

const CALLING: &str = "I'll look.";
const ANSWER: &str = "It is 31 °C in Hà Nội.";
/// The model's error message. The clients look for it in their exceptions.
const REASON: &str = "the model is resting";
/// The usage of each reply: input and output tokens.
const TOKENS: [u64; 2] = [12, 7];

struct Scene {
    name: &'static str,
    mode: Mode,
    gateway: Gateway,
    /// The expected report of the client, for some of its keys.
    expected: Value,
    /// The results that the model must be sent, if it records.
    shown: &'static [&'static str],
}

/// Runs every scene that a client supports, and lists the failures.
pub(crate) fn play(client: &Client) {
    let scenes = scenes(client);
    let named: Vec<_> = scenes
        .iter()
        .map(|scene| [scene.name, scene.mode.name(), scene.gateway.address()])
        .collect();
    let told = client.play(&named);
    // Some libraries print lines of their own.
    let seen: Vec<Value> = told
        .lines()
        .filter_map(|line| serde_json::from_str(line).ok())
        .collect();
    assert_eq!(seen.len(), scenes.len(), "{told}");
    let wrong: Vec<_> = scenes
        .iter()
        .zip(seen)
        .filter_map(|(scene, seen)| scene.fault(seen))
        .collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
    for scene in scenes {
        scene.gateway.end();
    }
}

fn scenes(client: &Client) -> Vec<Scene> {
    let mut scenes = vec![broken(client), recorded()];
    for mode in [Mode::Whole, Mode::Stream] {
        scenes.extend([
            one(client, mode),
            several(client, mode),
            text(client, mode),
            errors(client, mode),
        ]);
        if client.retries {
            scenes.push(retry(client, mode));
        }
    }
    if !client.models.is_null() {
        scenes.push(models(client));
    }
    scenes
}

impl Scene {
    fn scripted(name: &'static str, mode: Mode, replies: &[Value], expected: Value) -> Self {
        Self {
            name,
            mode,
            gateway: Gateway::scripted(replies),
            expected,
            shown: &[],
        }
    }

    fn fault(&self, mut seen: Value) -> Option<String> {
        let usage = self.wrong_usage(&mut seen);
        let keys = self.expected.as_object().unwrap();
        let differs = keys.iter().any(|(key, value)| seen[key] != *value);
        let hidden = self.hidden();
        let is_wrong = differs || usage.is_some() || hidden.is_some();
        is_wrong.then(|| {
            let Self { name, mode, .. } = self;
            let expected = &self.expected;
            format!("{name} {mode:?}: {usage:?} {hidden:?}\nexpected {expected}\nseen     {seen}")
        })
    }

    /// Removes the usage from each reply, and returns one that is wrong. If the
    /// model reports none, it is estimated.
    fn wrong_usage(&self, seen: &mut Value) -> Option<Value> {
        let [input, output] = TOKENS;
        let right = [
            json!([input, output]),
            json!([input, output, input + output]),
        ];
        let is_right = |usage: &Value| {
            let counts = usage.as_array().map(Vec::as_slice).unwrap_or_default();
            let is_there = counts.len() > 1 && counts.iter().all(|count| count.as_u64() > Some(0));
            if self.shown.is_empty() {
                right.contains(usage)
            } else {
                is_there
            }
        };
        let replies = seen["replies"].as_array_mut().unwrap().iter_mut();
        let usages: Vec<Value> = replies.map(|reply| reply["usage"].take()).collect();
        usages.into_iter().find(|usage| !is_right(usage))
    }

    /// A result that the model was not sent, or too early.
    fn hidden(&self) -> Option<String> {
        if self.shown.is_empty() {
            return None;
        }
        let [first, second] = [0, 1].map(|request| self.gateway.shown(request));
        let is_wrong = |words: &&&str| first.contains(**words) || !second.contains(**words);
        let words = self.shown.iter().find(is_wrong)?;
        Some(format!("{words} in:\n{first}\n{second}"))
    }
}

/// A reply as a client reports it, without its usage.
fn reply(text: &str, finish: Option<&str>) -> Value {
    json!({"text": text, "finish": finish, "usage": null})
}

/// A call with everything that is easily broken by nested escaping.
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

/// Calls as a model without an API for tools writes them.
fn written(calls: &[Value]) -> String {
    let calls = calls
        .iter()
        .map(|call| format!("\n<tool_call>\n{call}\n</tool_call>"));
    format!("{CALLING}{}", calls.collect::<String>())
}

/// A reply that is streamed in small pieces.
fn said(text: &str) -> Value {
    let [input_tokens, output_tokens] = TOKENS;
    let usage = json!({"input_tokens": input_tokens, "output_tokens": output_tokens});
    json!({"text": text, "chunk": 4, "usage": usage})
}

fn failed(status: u16) -> Value {
    json!({"error": {"status": status, "message": REASON}})
}

/// A scene in which the client makes these calls, and then answers.
fn calling(
    client: &Client,
    name: &'static str,
    mode: Mode,
    calls: &[Value],
    answer: &str,
) -> Scene {
    let [calling, stopping] = client.finishes;
    let expected = json!({
        "calls": calls,
        "replies": [reply(CALLING, calling), reply(answer, stopping)],
        "errors": [],
        "streamed": mode == Mode::Stream,
        "answer": answer,
    });
    let replies = [said(&written(calls)), said(answer)];
    Scene::scripted(name, mode, &replies, expected)
}

fn one(client: &Client, mode: Mode) -> Scene {
    calling(client, "one", mode, &[weather()], ANSWER)
}

fn several(client: &Client, mode: Mode) -> Scene {
    let answer = "It is 31 °C in Hà Nội, and noon in Köln.";
    calling(client, "several", mode, &[weather(), time()], answer)
}

/// A scene in which the client gets this text in the end.
fn answering(
    client: &Client,
    name: &'static str,
    mode: Mode,
    replies: &[Value],
    answer: &str,
) -> Scene {
    let [_, stopping] = client.finishes;
    let expected = json!({
        "calls": [],
        "replies": [reply(answer, stopping)],
        "errors": [],
        "streamed": mode == Mode::Stream,
        "answer": answer,
    });
    Scene::scripted(name, mode, replies, expected)
}

fn text(client: &Client, mode: Mode) -> Scene {
    let answer = "Hello, “world”.\nThere is no need to look: 1 < 2 & 3 > 2.";
    answering(client, "text", mode, &[said(answer)], answer)
}

/// The client's own retries recognise the failure as transient.
fn retry(client: &Client, mode: Mode) -> Scene {
    let replies = [failed(429), said(ANSWER)];
    answering(client, "retry", mode, &replies, ANSWER)
}

fn errors(client: &Client, mode: Mode) -> Scene {
    let [busy, failing] = client.raises;
    let errors = json!([
        {"type": busy, "status": 429, "told": true},
        {"type": failing, "status": 500, "told": true},
    ]);
    let expected = json!({"errors": errors, "replies": []});
    Scene::scripted("error", mode, &[failed(429), failed(500)], expected)
}

/// The client does not accept a broken stream as a whole reply.
fn broken(client: &Client) -> Scene {
    let mut half = failed(500);
    half["text"] = json!("It is 31 °C in");
    half["chunk"] = json!(4);
    let (kind, status) = client.breaks;
    let errors = json!([{"type": kind, "status": status, "told": true}]);
    let expected = json!({"errors": errors, "replies": []});
    Scene::scripted("broken", Mode::Stream, &[half], expected)
}

/// The results of the calls reach the model.
fn recorded() -> Scene {
    let calls = [weather(), time()];
    Scene {
        name: "several",
        mode: Mode::Whole,
        gateway: Gateway::recording(&[&written(&calls), ANSWER]),
        expected: json!({"calls": calls, "answer": ANSWER}),
        shown: &["31 °C in Hà Nội", "12:00 in Köln"],
    }
}

fn models(client: &Client) -> Scene {
    let expected = client.models.clone();
    Scene::scripted("models", Mode::Whole, &[said(ANSWER)], expected)
}
