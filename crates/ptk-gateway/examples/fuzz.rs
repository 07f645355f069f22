//! Sends requests that no client would send, for so many seconds: nothing may
//! panic, hang, or end in a 500, and every answer has to be valid in its API.
//!
//! ```text
//! cargo run --release -p ptk-gateway --example fuzz -- 3600
//! ```

#![allow(clippy::print_stdout, reason = "it is a report")]

use std::collections::BTreeMap;
use std::error::Error;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use futures_util::{StreamExt as _, stream};
use ptk_gateway::Gateway;
use ptk_llm::{Api, Delta, Deltas, FinishReason, Passthrough, Provider, Request};
use ptk_model::{Mode, Model};
use serde_json::{Map, Value, json};
use tokio::net::TcpListener;
use tokio::time::timeout;

type Anything = Box<dyn Error + Send + Sync>;

/// How long one answer may take.
const PATIENCE: Duration = Duration::from_secs(20);
static PANICS: AtomicUsize = AtomicUsize::new(0);

/// A model that replies with anything, in pieces of any size.
#[derive(Debug)]
struct Babbler;

const REPLIES: [&str; 9] = [
    "Hello.",
    "<think>hm</think>It is <b>warm</b>.",
    "I look.\n<tool_call>\n{\"name\": \"f\", \"arguments\": {\"a\": \"1\", \"b\": [1, 2]}}\n</tool_call>",
    "<tool_call>{\"name\": \"g\", \"arguments\": {\"a\": tru",
    "<tool_call>%%%</tool_call>",
    "```json\n{\"name\": \"f\", \"arguments\": {}}\n```",
    "{\"a\": 1,}",
    "",
    "<f><a>1</a></f> and <tool_call>{\"name\":\"f\",\"arguments\":\"{}\"}</tool_call>",
];

impl Provider for Babbler {
    fn name(&self) -> &'static str {
        "babbler"
    }

    fn speaks(&self) -> Option<Api> {
        fastrand::choice([
            None,
            Some(Api::ChatCompletions),
            Some(Api::Responses),
            Some(Api::Messages),
        ])
        .flatten()
    }

    fn stream<'a>(&'a self, request: &'a Request) -> Deltas<'a> {
        let text = fastrand::choice(REPLIES).unwrap_or_default();
        let letters: Vec<char> = text.chars().collect();
        let size = fastrand::usize(1..20);
        let mut deltas: Vec<Delta> = letters
            .chunks(size)
            .map(|piece| Delta::Text(piece.iter().collect()))
            .collect();
        if fastrand::u8(..5) == 0 {
            let name = fastrand::choice(["f", "g", ""])
                .unwrap_or_default()
                .to_owned();
            deltas.push(Delta::CallStart {
                index: 0,
                id: None,
                name,
            });
            let json =
                fastrand::choice(["{}", "{\"a\": \"x\"", "null", "", "x"]).unwrap_or_default();
            deltas.push(Delta::Arguments {
                index: 0,
                json: json.to_owned(),
            });
        }
        if request.verbatim.is_some() {
            for _ in 0..fastrand::usize(..4) {
                let at = fastrand::usize(..=deltas.len());
                deltas.insert(at, Delta::Passthrough(own()));
            }
        }
        let reason = fastrand::choice(["stop", "length", "tool_calls", "content_filter", "eh"]);
        deltas.push(Delta::Finish(FinishReason::from(
            reason.unwrap_or_default(),
        )));
        if fastrand::u8(..20) == 0 {
            deltas.truncate(fastrand::usize(..=deltas.len()));
        }
        stream::iter(deltas.into_iter().map(Ok)).boxed()
    }
}

/// Random content that only one API has a field for.
fn own() -> Passthrough {
    let fields = || Map::from_iter([("own".to_owned(), anything(2))]);
    match fastrand::u8(..7) {
        0 => Passthrough::Fields {
            answer: fields(),
            choice: fields(),
            message: fields(),
        },
        1 => Passthrough::Part(json!({"type": "search", "id": "s", "found": anything(2)})),
        2 => Passthrough::Id {
            kind: "message".to_owned(),
            id: "m".to_owned(),
        },
        3 => Passthrough::Signature("signed".to_owned()),
        4 => Passthrough::Sources(vec![anything(2)]),
        5 => Passthrough::Usage(json!({"input_tokens": 1, "output_tokens": 2})),
        _ => Passthrough::Reason(Map::from_iter([(
            "stop_reason".to_owned(),
            json!("pause_turn"),
        )])),
    }
}

/// A valid request of each API.
fn seeds() -> Vec<(&'static str, Value)> {
    let schema = json!({"type": "object", "properties": {"a": {"type": "string"}, "b": {"type": "array", "items": {"type": "integer"}}}, "required": ["a"]});
    let function = json!({"type": "function", "function": {"name": "f", "description": "d", "parameters": schema, "strict": false}});
    let called = json!({"role": "assistant", "content": null, "tool_calls": [{"id": "c1", "type": "function", "function": {"name": "f", "arguments": "{\"a\": \"x\"}"}}]});
    vec![
        (
            "/v1/chat/completions",
            json!({
                "model": "m", "stream": true, "stream_options": {"include_usage": true}, "n": 1,
                "temperature": 0.5, "top_p": 1, "seed": 1, "stop": ["x"], "max_tokens": 10,
                "messages": [{"role": "system", "content": "s"}, {"role": "user", "content": [{"type": "text", "text": "hi"}]}, called, {"role": "tool", "tool_call_id": "c1", "content": "r"}],
                "tools": [function], "tool_choice": "auto", "parallel_tool_calls": true,
                "response_format": {"type": "json_schema", "json_schema": {"name": "n", "schema": schema}},
            }),
        ),
        (
            "/v1/chat/completions",
            json!({
                "model": "m", "messages": [{"role": "user", "content": "hi"}],
                "functions": [{"name": "f", "parameters": schema}], "function_call": {"name": "f"},
            }),
        ),
        (
            "/v1/responses",
            json!({
                "model": "m", "stream": true, "instructions": "i", "max_output_tokens": 10,
                "input": [{"role": "user", "content": [{"type": "input_text", "text": "hi"}]},
                    {"type": "function_call", "call_id": "c1", "name": "f", "arguments": "{}"},
                    {"type": "function_call_output", "call_id": "c1", "output": "r"}],
                "tools": [{"type": "function", "name": "f", "parameters": schema}, {"type": "custom", "name": "g"}],
                "tool_choice": {"type": "allowed_tools", "mode": "auto", "tools": [{"type": "function", "name": "f"}]},
                "text": {"format": {"type": "text"}},
            }),
        ),
        (
            "/v1/messages",
            json!({
                "model": "m", "max_tokens": 10, "stream": true, "system": [{"type": "text", "text": "s"}],
                "messages": [{"role": "user", "content": "hi"},
                    {"role": "assistant", "content": [{"type": "tool_use", "id": "t1", "name": "f", "input": {"a": "x"}}]},
                    {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t1", "content": "r", "is_error": false}]}],
                "tools": [{"name": "f", "description": "d", "input_schema": schema}], "tool_choice": {"type": "auto"},
                "stop_sequences": ["x"], "temperature": 1, "top_k": 3,
            }),
        ),
        (
            "/v1/messages/count_tokens",
            json!({"model": "m", "messages": [{"role": "user", "content": "hi"}]}),
        ),
        (
            "/api/chat",
            json!({
                "model": "m", "stream": true, "messages": [{"role": "user", "content": "hi"},
                    {"role": "assistant", "content": "", "tool_calls": [{"function": {"name": "f", "arguments": {"a": "x"}}}]},
                    {"role": "tool", "tool_name": "f", "content": "r"}],
                "tools": [function], "format": "json", "options": {"temperature": 0.1, "stop": ["x"], "num_predict": 3},
            }),
        ),
        ("/api/show", json!({"model": "m"})),
    ]
}

/// A random JSON value.
fn anything(depth: u32) -> Value {
    match fastrand::u8(..12) {
        0 => Value::Null,
        1 => json!(fastrand::bool()),
        2 => json!(fastrand::i64(..)),
        3 => json!(fastrand::f64() * 1e6 - 5e5),
        4 => json!(""),
        5 => json!("é\u{0}\u{1f600}\"\\\n"),
        6 => json!("x".repeat(fastrand::usize(..5000))),
        7 => json!(fastrand::choice([
            "auto",
            "none",
            "required",
            "function",
            "tool",
            "text",
            "json_object"
        ])),
        8 | 9 if depth > 0 => (0..fastrand::usize(..4))
            .map(|_| anything(depth - 1))
            .collect(),
        10 | 11 if depth > 0 => {
            let names = [
                "type",
                "name",
                "role",
                "content",
                "function",
                "id",
                "text",
                "properties",
                "$ref",
            ];
            let fields = (0..fastrand::usize(..4))
                .filter_map(|_| Some((fastrand::choice(names)?.to_owned(), anything(depth - 1))));
            Value::Object(fields.collect::<Map<_, _>>())
        }
        _ => json!(fastrand::u8(..)),
    }
}

/// Changes a random part of a value.
fn mutate(value: &mut Value) {
    let goes_on = fastrand::u8(..4) > 0;
    match value {
        Value::Object(fields) if goes_on && !fields.is_empty() => {
            let at = fastrand::usize(..fields.len());
            let Some(name) = fields.keys().nth(at).cloned() else {
                return;
            };
            match fastrand::u8(..10) {
                0 => {
                    fields.remove(&name);
                }
                1 => {
                    fields.insert(format!("{name}_"), anything(2));
                }
                _ => {
                    if let Some(field) = fields.get_mut(&name) {
                        mutate(field);
                    }
                }
            }
        }
        Value::Array(items) if goes_on && !items.is_empty() => {
            let at = fastrand::usize(..items.len());
            match fastrand::u8(..10) {
                0 => {
                    items.remove(at);
                }
                1 => items.push(anything(2)),
                2 => {
                    if let Some(item) = items.get(at).cloned() {
                        items.push(item);
                    }
                }
                _ => {
                    if let Some(item) = items.get_mut(at) {
                        mutate(item);
                    }
                }
            }
        }
        other => *other = anything(3),
    }
}

/// A request with a random error.
fn body(seed: &Value) -> Vec<u8> {
    let mut value = seed.clone();
    for _ in 0..fastrand::usize(..4) {
        mutate(&mut value);
    }
    let mut bytes = value.to_string().into_bytes();
    // Now and then it is not JSON either.
    if fastrand::u8(..12) == 0 && !bytes.is_empty() {
        let at = fastrand::usize(..bytes.len());
        match fastrand::u8(..3) {
            0 => bytes.truncate(at),
            1 => {
                if let Some(byte) = bytes.get_mut(at) {
                    *byte = fastrand::u8(..);
                }
            }
            _ => bytes.insert(at, fastrand::u8(..)),
        }
    }
    bytes
}

async fn one(
    client: &reqwest::Client,
    url: &str,
    path: &str,
    body: &[u8],
) -> Result<u16, Anything> {
    let shown = || String::from_utf8_lossy(body).into_owned();
    let request = client.post(format!("{url}{path}")).body(body.to_vec());
    let answer = timeout(PATIENCE, async {
        let response = request.send().await?;
        let status = response.status().as_u16();
        let kind = response.headers().get("content-type").cloned();
        Ok::<_, reqwest::Error>((status, kind, response.text().await?))
    });
    let Ok(answer) = answer.await else {
        return Err(format!("{path} hangs: {}", shown()).into());
    };
    let (status, kind, text) = answer.map_err(|error| format!("{path}: {error}: {}", shown()))?;
    let kind = kind
        .as_ref()
        .and_then(|kind| kind.to_str().ok())
        .unwrap_or_default();
    let is_right = match kind {
        "application/json" => serde_json::from_str::<Value>(&text).is_ok(),
        "application/x-ndjson" => text
            .lines()
            .all(|line| serde_json::from_str::<Value>(line).is_ok()),
        "text/event-stream" => text.ends_with("\n\n"),
        _ => false,
    };
    if status == 500 || !is_right {
        return Err(format!("{path}: {status} {kind} {text}\n  for {}", shown()).into());
    }
    Ok(status)
}

#[tokio::main]
async fn main() -> Result<(), Anything> {
    let seconds: u64 = match std::env::args().nth(1) {
        Some(text) => text.parse()?,
        None => 60,
    };
    std::panic::set_hook(Box::new(|info| {
        PANICS.fetch_add(1, Ordering::Relaxed);
        println!("{info}");
    }));
    let mut servers = Vec::new();
    for mode in [Mode::Text, Mode::Native] {
        let gateway = Gateway::builder()
            .any([Model::new(Babbler)])
            .mode(mode)
            .build()?;
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        servers.push(format!("http://{}", listener.local_addr()?));
        tokio::spawn(async move { gateway.serve(listener, std::future::pending()).await });
    }
    let client = ptk_http::client().no_proxy().build()?;
    let seeds = seeds();
    let until = Instant::now() + Duration::from_secs(seconds);
    let mut statuses: BTreeMap<u16, usize> = BTreeMap::new();
    while Instant::now() < until {
        let batch = (0..256).filter_map(|_| {
            let url = servers.get(fastrand::usize(..servers.len()))?;
            let (path, seed) = seeds.get(fastrand::usize(..seeds.len()))?;
            let (client, body) = (&client, body(seed));
            Some(async move { one(client, url, path, &body).await })
        });
        let mut answers = stream::iter(batch).buffer_unordered(4);
        while let Some(status) = answers.next().await {
            *statuses.entry(status?).or_default() += 1;
        }
        if PANICS.load(Ordering::Relaxed) > 0 {
            return Err("something panicked".into());
        }
    }
    let all: usize = statuses.values().sum();
    println!("{all} requests in {seconds} s, by status: {statuses:?}");
    Ok(())
}
