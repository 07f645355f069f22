//! A server of any of the APIs. It gives prepared replies, one for each request,
//! and keeps the bodies of the requests as they came.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use axum::Router;
use axum::body::Bytes;
use axum::extract::State;
use axum::http::{Method, StatusCode, header::CONTENT_TYPE};
use axum::response::{IntoResponse as _, Response};
use ptk::llm::http::{HttpProvider, Kind};
use serde_json::value::RawValue;
use serde_json::{Value, json};
use tokio::net::TcpListener;

/// All APIs that have a field for tools, and those that have none.
pub(crate) const CHATS: [Kind; 5] = [
    Kind::OpenAi,
    Kind::OpenAiResponses,
    Kind::Anthropic,
    Kind::Gemini,
    Kind::Ollama,
];
pub(crate) const COMPLETIONS: [Kind; 2] = [Kind::Completion, Kind::LlamaCppCompletion];

/// The mark behind a block that Anthropic's server is to cache up to.
pub(crate) const MARK: &str = r#","cache_control":{"type":"ephemeral"}"#;

/// A reply of the model.
#[derive(Debug, Clone, Default)]
pub(crate) struct Reply {
    pub(crate) text: String,
    /// Native calls: names and arguments.
    pub(crate) calls: Vec<(String, Value)>,
}

#[derive(Debug, Default)]
struct Seen {
    replies: Vec<Reply>,
    bodies: Vec<String>,
}

/// A server, and what it was asked.
#[derive(Debug, Clone)]
pub(crate) struct Server {
    kind: Kind,
    address: String,
    seen: Arc<Mutex<Seen>>,
}

impl Server {
    pub(crate) async fn new(kind: Kind, replies: Vec<Reply>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = format!("http://{}/v1", listener.local_addr().unwrap());
        let seen = Seen {
            replies,
            bodies: Vec::new(),
        };
        let server = Self {
            kind,
            address,
            seen: Arc::new(Mutex::new(seen)),
        };
        let routes = Router::new().fallback(answer).with_state(server.clone());
        tokio::spawn(async move { axum::serve(listener, routes).await });
        server
    }

    pub(crate) fn provider(&self) -> HttpProvider {
        let provider = HttpProvider::at(self.kind, &self.address).unwrap();
        provider.with_model("tiny")
    }

    /// The bodies of the requests so far, in order.
    pub(crate) fn bodies(&self) -> Vec<String> {
        self.seen.lock().unwrap().bodies.clone()
    }

    /// The prompts of the requests so far, in order.
    pub(crate) fn prompts(&self) -> Vec<Prompt> {
        let bodies = self.bodies();
        bodies
            .iter()
            .map(|body| Prompt::of(self.kind, body))
            .collect()
    }
}

async fn answer(
    State(server): State<Server>,
    method: Method,
    body: Bytes,
) -> Result<Response, StatusCode> {
    let text = String::from_utf8_lossy(&body);
    // What is asked about the model is not known.
    let fields = ["\"messages\"", "\"input\"", "\"contents\"", "\"prompt\""];
    let is_request = fields.iter().any(|field| text.contains(field));
    if method != Method::POST || !is_request {
        return Err(StatusCode::NOT_FOUND);
    }
    let mut seen = server.seen.lock().unwrap();
    let number = seen.bodies.len();
    seen.bodies.push(text.into_owned());
    let reply = seen.replies.get(number).cloned().unwrap_or_else(|| Reply {
        text: "Nothing is left to say.".to_owned(),
        ..Reply::default()
    });
    let answer = written(server.kind, &reply, number).to_string();
    Ok(([(CONTENT_TYPE, "application/json")], answer).into_response())
}

/// A reply as the API writes it.
fn written(kind: Kind, reply: &Reply, number: usize) -> Value {
    let Reply { text, calls } = reply;
    let calls = || {
        let calls = calls.iter().enumerate();
        calls.map(move |(at, (name, args))| (format!("c{number}-{at}"), name, args))
    };
    let has_calls = calls().next().is_some();
    match kind {
        Kind::OpenAiResponses => {
            let thoughts = json!({"type": "reasoning", "id": format!("rs_{number}"), "summary": [], "encrypted_content": format!("secret {number}")});
            let said =
                json!({"type": "message", "content": [{"type": "output_text", "text": text}]});
            let calls = calls().map(|(id, name, args)| {
                json!({"type": "function_call", "call_id": id, "name": name, "arguments": args.to_string()})
            });
            let output: Vec<Value> = [thoughts, said].into_iter().chain(calls).collect();
            json!({"status": "completed", "output": output})
        }
        Kind::Anthropic => {
            let said = (!text.is_empty()).then(|| json!({"type": "text", "text": text}));
            let calls = calls().map(|(id, name, args)| {
                json!({"type": "tool_use", "id": id, "name": name, "input": args})
            });
            let content: Vec<Value> = said.into_iter().chain(calls).collect();
            let reason = if has_calls { "tool_use" } else { "end_turn" };
            json!({"content": content, "stop_reason": reason})
        }
        Kind::Gemini => {
            let said = json!({"text": text, "thoughtSignature": format!("sig {number}")});
            let calls = calls()
                .map(|(_, name, args)| json!({"functionCall": {"name": name, "args": args}}));
            let parts: Vec<Value> = std::iter::once(said).chain(calls).collect();
            json!({"candidates": [{"content": {"parts": parts}, "finishReason": "STOP"}]})
        }
        Kind::Ollama => {
            let calls = calls().map(
                |(id, name, args)| json!({"id": id, "function": {"name": name, "arguments": args}}),
            );
            let calls: Vec<Value> = calls.collect();
            json!({"message": {"role": "assistant", "content": text, "tool_calls": calls}, "done": true, "done_reason": "stop"})
        }
        Kind::Completion => {
            json!({"choices": [{"text": format!(" {text}"), "finish_reason": "stop"}]})
        }
        Kind::LlamaCppCompletion => {
            json!({"content": format!(" {text}"), "stop": true, "stop_type": "eos"})
        }
        _ => {
            let calls = calls().map(|(id, name, args)| {
                json!({"id": id, "type": "function", "function": {"name": name, "arguments": args.to_string()}})
            });
            let calls: Vec<Value> = calls.collect();
            let reason = if has_calls { "tool_calls" } else { "stop" };
            json!({"choices": [{"index": 0, "finish_reason": reason,
                "message": {"role": "assistant", "content": text, "tool_calls": calls}}]})
        }
    }
}

/// What a model is shown in a request, in the bytes of its body. Anthropic's
/// marks are left out: they say how far a server caches, and are no part of what
/// it caches.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Prompt {
    /// The system prompt, where it stands beside the messages.
    pub(crate) system: String,
    /// Each tool.
    pub(crate) tools: Vec<String>,
    /// Each message; or each block of one, with its role, where an API joins
    /// messages of the same role; or the whole conversation as one text.
    pub(crate) parts: Vec<String>,
}

type Fields<'b> = BTreeMap<&'b str, &'b RawValue>;

impl Prompt {
    fn of(kind: Kind, body: &str) -> Self {
        let body = body.replace(MARK, "");
        let fields: Fields<'_> = serde_json::from_str(&body).unwrap();
        let system = ["system", "instructions", "systemInstruction"]
            .iter()
            .find_map(|name| fields.get(name))
            .map_or_else(String::new, |system| system.get().to_owned());
        let tools = fields.get("tools").map_or_else(Vec::new, |it| items(it));
        let parts = match kind {
            Kind::Completion | Kind::LlamaCppCompletion => {
                vec![serde_json::from_str(fields["prompt"].get()).unwrap()]
            }
            Kind::OpenAiResponses => items(fields["input"]),
            Kind::Anthropic => blocks(fields["messages"], "content"),
            Kind::Gemini => blocks(fields["contents"], "parts"),
            _ => items(fields["messages"]),
        };
        Self {
            system,
            tools,
            parts,
        }
    }

    /// Whether the model is shown this prompt first, and then something else.
    pub(crate) fn begins(&self, later: &Self) -> bool {
        self.system == later.system && self.tools == later.tools && self.is_said_before(later)
    }

    /// The same for the conversation alone.
    pub(crate) fn is_said_before(&self, later: &Self) -> bool {
        match (&self.parts[..], &later.parts[..]) {
            // A conversation that is one text.
            ([one], [other]) if !one.starts_with('{') => {
                other.len() > one.len() && other.starts_with(one.as_str())
            }
            (parts, others) => others.len() > parts.len() && others.starts_with(parts),
        }
    }
}

fn items(list: &RawValue) -> Vec<String> {
    let items: Vec<&RawValue> = serde_json::from_str(list.get()).unwrap();
    items.iter().map(|item| item.get().to_owned()).collect()
}

fn blocks(turns: &RawValue, content: &str) -> Vec<String> {
    let turns: Vec<Fields<'_>> = serde_json::from_str(turns.get()).unwrap();
    let blocks = turns.iter().flat_map(|turn| {
        let role = turn["role"].get();
        let blocks = items(turn[content]).into_iter();
        blocks.map(move |block| format!("{{\"role\":{role},\"block\":{block}}}"))
    });
    blocks.collect()
}
