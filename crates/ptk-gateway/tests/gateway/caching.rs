//! Servers cache prompts by their beginning: a conversation that grows request by
//! request gives requests to the model that begin with one another.

use std::sync::{Arc, Mutex};

use ptk_gateway::{Ended, Gateway, Log};
use ptk_llm::Script;
use ptk_llm::http::{HttpProvider, Kind};
use ptk_model::{Mode, Model};
use serde_json::{Value, json};
use tokio::net::TcpListener;
use wiremock::{Mock, MockServer, Request, ResponseTemplate};

use crate::scene::{Scene, weather};

/// The APIs of clients.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Client {
    Chat,
    Messages,
    Responses,
    Ollama,
}

/// A turn of a conversation: a question, two calls with their results, and the
/// answer.
const TURNS: usize = 10;

impl Client {
    const ALL: [Self; 4] = [Self::Chat, Self::Messages, Self::Responses, Self::Ollama];

    const fn path(self) -> &'static str {
        match self {
            Self::Chat => "/v1/chat/completions",
            Self::Messages => "/v1/messages",
            Self::Responses => "/v1/responses",
            Self::Ollama => "/api/chat",
        }
    }

    /// The API of servers that take its requests as they are.
    const fn own(self) -> Option<Kind> {
        match self {
            Self::Chat => Some(Kind::OpenAi),
            Self::Messages => Some(Kind::Anthropic),
            Self::Responses => Some(Kind::OpenAiResponses),
            Self::Ollama => None,
        }
    }

    fn tool(self, name: &str) -> Value {
        let function = json!({"name": name, "description": "Tell it", "parameters": weather()});
        match self {
            Self::Messages => {
                json!({"name": name, "description": "Tell it", "input_schema": weather()})
            }
            Self::Responses => {
                json!({"type": "function", "name": name, "description": "Tell it", "parameters": weather()})
            }
            Self::Chat | Self::Ollama => json!({"type": "function", "function": function}),
        }
    }

    /// The messages of a turn up to where the model answers, after its answer to
    /// the turn before.
    fn messages(self, turn: usize) -> Vec<Value> {
        let asked = json!({"role": "user", "content": format!("Question {turn}: \"why\"?")});
        let said = json!({"role": "assistant", "content": format!("Answer {turn}.")});
        let ids = [format!("call_{turn}_a"), format!("call_{turn}_b")];
        let args = |id: &str| json!({"city": format!("Hà Nội {id}"), "days": turn});
        let found = json!({"degrees": turn, "sky": "<tool_call> ~ clear"}).to_string();
        let tool = "get_weather";
        let called: Vec<Value> = match self {
            Self::Messages => {
                let calls = ids.iter().map(
                    |id| json!({"type": "tool_use", "id": id, "name": tool, "input": args(id)}),
                );
                let results = ids
                    .iter()
                    .map(|id| json!({"type": "tool_result", "tool_use_id": id, "content": found}));
                vec![
                    json!({"role": "assistant", "content": calls.collect::<Vec<_>>()}),
                    json!({"role": "user", "content": results.collect::<Vec<_>>()}),
                ]
            }
            Self::Responses => {
                let calls = ids.iter().map(|id| json!({"type": "function_call", "call_id": id, "name": tool, "arguments": args(id).to_string()}));
                let results = ids.iter().map(
                    |id| json!({"type": "function_call_output", "call_id": id, "output": found}),
                );
                calls.chain(results).collect()
            }
            Self::Chat => {
                let calls = ids.iter().map(|id| json!({"id": id, "type": "function", "function": {"name": tool, "arguments": args(id).to_string()}}));
                let results = ids
                    .iter()
                    .map(|id| json!({"role": "tool", "tool_call_id": id, "content": found}));
                let calls: Vec<Value> = calls.collect();
                let called = json!({"role": "assistant", "content": null, "tool_calls": calls});
                std::iter::once(called).chain(results).collect()
            }
            Self::Ollama => {
                let calls = ids
                    .iter()
                    .map(|id| json!({"id": id, "function": {"name": tool, "arguments": args(id)}}));
                let results = ids.iter().map(
                    |id| json!({"role": "tool", "tool_name": tool, "tool_call_id": id, "content": found}),
                );
                let calls: Vec<Value> = calls.collect();
                let called = json!({"role": "assistant", "content": "", "tool_calls": calls});
                std::iter::once(called).chain(results).collect()
            }
        };
        std::iter::once(asked).chain(called).chain([said]).collect()
    }

    /// The requests of a conversation, each after the question, and after the
    /// results.
    fn requests(self, tools: &[&str]) -> Vec<Value> {
        let tools: Vec<Value> = tools.iter().map(|name| self.tool(name)).collect();
        let mut told = Vec::new();
        let mut requests = Vec::new();
        let list = if self == Self::Responses {
            "input"
        } else {
            "messages"
        };
        for turn in 0..TURNS {
            let messages = self.messages(turn);
            for (at, message) in messages.iter().enumerate() {
                let is_last_result = at + 2 == messages.len();
                told.push(message.clone());
                if at == 0 || is_last_result {
                    requests.push(json!({
                        "model": "big", "max_tokens": 100, "stream": false,
                        "tools": tools, list: told,
                    }));
                }
            }
        }
        requests
    }
}

/// Sends the requests through a gateway, and returns those to the model.
async fn passed_on(kind: Kind, mode: Mode, at: &str, requests: &[Value]) -> Vec<Value> {
    let server = MockServer::start().await;
    let whole = json!({
        // Each API has its own field for the answer.
        "choices": [{"index": 0, "message": {"role": "assistant", "content": "So."}, "text": "So.", "finish_reason": "stop"}],
        "content": [{"type": "text", "text": "So."}], "stop_reason": "end_turn",
        "status": "completed", "output": [{"type": "message", "content": [{"type": "output_text", "text": "So."}]}],
        "message": {"role": "assistant", "content": "So."}, "done": true,
    });
    let answer = move |_: &Request| ResponseTemplate::new(200).set_body_json(&whole);
    Mock::given(wiremock::matchers::method("POST"))
        .and(wiremock::matchers::path_regex(
            "^/v1/(chat/)?(completions|messages|responses)$|^/api/chat$",
        ))
        .respond_with(answer)
        .mount(&server)
        .await;
    let provider = HttpProvider::at(kind, &format!("{}/v1", server.uri())).unwrap();
    let model = Model::new(provider.with_model("big-1"));
    let gateway = Gateway::builder().model("big", [model]).mode(mode);
    let gateway = gateway.build().unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let base = format!("http://{}", listener.local_addr().unwrap());
    tokio::spawn(async move { gateway.serve(listener, std::future::pending()).await });
    let client = ptk_http::client().no_proxy().build().unwrap();
    for request in requests {
        let response = client.post(format!("{base}{at}")).body(request.to_string());
        let response = response.send().await.unwrap();
        let status = response.status();
        let text = response.text().await.unwrap();
        assert!(status.is_success(), "{kind:?} {mode:?}: {text}");
    }
    let received = server.received_requests().await.unwrap();
    let bodies = received.iter().filter(|it| it.method == "POST");
    let bodies = bodies.filter_map(|it| it.body_json().ok());
    bodies
        .filter(|body: &Value| body.as_object().is_some_and(|it| it.len() > 1))
        .collect()
}

/// The parts of a prompt, without the marks that say how far it is cached.
fn parts(body: &Value) -> (String, Vec<String>) {
    fn unmarked(value: &Value) -> Value {
        match value {
            Value::Object(fields) => fields
                .iter()
                .filter(|(name, _)| *name != "cache_control")
                .map(|(name, value)| (name.clone(), unmarked(value)))
                .collect(),
            Value::Array(items) => items.iter().map(unmarked).collect(),
            value => value.clone(),
        }
    }
    let body = unmarked(body);
    let fixed = ["system", "instructions", "tools"].map(|name| body[name].to_string());
    let list = ["messages", "input"]
        .iter()
        .find_map(|name| body[*name].as_array());
    let parts = if let Some(list) = list {
        list.iter().map(Value::to_string).collect()
    } else {
        // A conversation that is one text.
        let prompt = body["prompt"].as_str().unwrap();
        prompt.chars().map(String::from).collect()
    };
    (fixed.concat(), parts)
}

fn assert_stable(bodies: &[Value], what: &str) {
    assert_eq!(bodies.len(), TURNS * 2, "{what}");
    for pair in bodies.windows(2) {
        let [(fixed, before), (same, after)] = [parts(&pair[0]), parts(&pair[1])];
        assert_eq!(fixed, same, "{what}");
        assert!(
            after.len() > before.len() && after.starts_with(&before),
            "{what}\n{before:#?}\n{after:#?}"
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_conversation_begins_the_same_with_each_request() {
    let kinds = [
        Kind::OpenAi,
        Kind::OpenAiResponses,
        Kind::Anthropic,
        Kind::Ollama,
        Kind::Completion,
    ];
    for client in Client::ALL {
        let requests = client.requests(&["get_time", "get_weather", "a_third"]);
        for kind in kinds {
            for mode in [Mode::Native, Mode::Text] {
                if kind == Kind::Completion && mode == Mode::Native {
                    continue;
                }
                let what = format!("{client:?} {kind:?} {mode:?}");
                let bodies = passed_on(kind, mode, client.path(), &requests).await;
                assert_stable(&bodies, &what);
                let marks: Vec<usize> = bodies
                    .iter()
                    .map(|body| body.to_string().matches("cache_control").count())
                    .collect();
                // A request for the same API goes on as its client wrote it.
                let is_forwarded = mode == Mode::Native && client.own() == Some(kind);
                let most = if kind == Kind::Anthropic && !is_forwarded {
                    assert!(marks.iter().all(|marks| *marks > 1), "{what}: {marks:?}");
                    4
                } else {
                    0
                };
                assert!(
                    marks.iter().all(|marks| *marks <= most),
                    "{what}: {marks:?}"
                );
            }
        }
    }
}

/// The order of a client's tools is its own: sorted, they would differ from what
/// it would send to the server itself.
#[tokio::test(flavor = "multi_thread")]
async fn tools_stay_in_the_order_of_the_client() {
    let names = ["z_last", "get_weather", "a_first"];
    for client in Client::ALL {
        let requests = client.requests(&names);
        for kind in [Kind::OpenAi, Kind::Anthropic, Kind::OpenAiResponses] {
            let bodies = passed_on(kind, Mode::Native, client.path(), &requests[..1]).await;
            let tools = bodies[0]["tools"].as_array().unwrap().iter();
            let tools = tools.map(|tool| {
                let name = tool.pointer("/function/name").unwrap_or(&tool["name"]);
                name.as_str().unwrap()
            });
            assert_eq!(tools.collect::<Vec<_>>(), names, "{client:?} {kind:?}");
        }
    }
}

/// Marks of a client's own are passed on, and no others are added.
#[tokio::test(flavor = "multi_thread")]
async fn marks_of_a_client_are_left_as_they_are() {
    let mark = json!({"type": "ephemeral", "ttl": "1h"});
    let mut request = Client::Messages.requests(&["get_weather"]).remove(0);
    request["system"] = json!([{"type": "text", "text": "Be brief.", "cache_control": mark}]);
    request["tools"][0]["cache_control"] = mark.clone();
    let path = Client::Messages.path();
    let sent = [request.clone()];
    let bodies = passed_on(Kind::Anthropic, Mode::Native, path, &sent).await;
    for field in ["system", "tools", "messages"] {
        assert_eq!(bodies[0][field], request[field], "{field}");
    }
    // Taught in text, the prompt is another one, and marked anew.
    let bodies = passed_on(Kind::Anthropic, Mode::Text, path, &sent).await;
    let text = bodies[0].to_string();
    assert!(!text.contains("1h"), "{text}");
    assert_eq!(text.matches("cache_control").count(), 3, "{text}");
}

#[tokio::test]
async fn each_api_tells_in_its_own_fields_what_was_cached() {
    let usage = json!({"input_tokens": 100, "cached_tokens": 70, "cache_write_tokens": 20, "output_tokens": 5});
    let reply = json!({"text": "Hi.", "usage": usage});
    let script = Script::parse(&json!([reply, reply, reply, reply]).to_string()).unwrap();
    let told: Arc<Mutex<Vec<Ended>>> = Arc::default();
    let telling = Arc::clone(&told);
    let log = Log::new(move |ended| telling.lock().unwrap().push(ended.clone()));
    let scene = Scene::with(script, |builder| builder.log(Some(log))).await;
    let ask = async |client: Client, list: &str| {
        let said = json!([{"role": "user", "content": "Hi"}]);
        let body = json!({"model": "tiny", "max_tokens": 9, "stream": false, list: said});
        scene.post(client.path(), &body).await.json()
    };
    let chat = ask(Client::Chat, "messages").await;
    assert_eq!(chat["usage"]["prompt_tokens"], 100);
    assert_eq!(chat["usage"]["prompt_tokens_details"]["cached_tokens"], 70);
    let response = ask(Client::Responses, "input").await;
    assert_eq!(response["usage"]["input_tokens"], 100);
    assert_eq!(
        response["usage"]["input_tokens_details"]["cached_tokens"],
        70
    );
    // This API counts as input only what was neither read nor written.
    let message = ask(Client::Messages, "messages").await;
    assert_eq!(
        message["usage"],
        json!({"input_tokens": 10, "cache_creation_input_tokens": 20, "cache_read_input_tokens": 70, "output_tokens": 5})
    );
    assert_eq!(
        ask(Client::Ollama, "messages").await["prompt_eval_count"],
        100
    );

    let metrics = scene.get("/metrics", "*/*").await.text;
    for line in [
        "ptk_input_tokens_total 400",
        "ptk_cached_tokens_total 280",
        "ptk_cache_write_tokens_total 80",
    ] {
        assert!(metrics.contains(line), "{metrics}");
    }
    let told = told.lock().unwrap();
    let counted: Vec<(u64, u64)> = told
        .iter()
        .filter(|ended| ended.input_tokens > 0)
        .map(|ended| (ended.cached_tokens, ended.cache_write_tokens))
        .collect();
    assert_eq!(counted, [(70, 20); 4]);
}
