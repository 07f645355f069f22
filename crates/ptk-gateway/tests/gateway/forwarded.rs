//! Servers that speak the client's own API: requests and answers are passed
//! through unchanged, except for calls that are written as text.

use ptk_gateway::Gateway;
use ptk_llm::http::{HttpProvider, Kind};
use ptk_model::{Mode, Model};
use serde_json::{Value, json};
use tokio::net::TcpListener;
use wiremock::matchers::path;
use wiremock::{Mock, MockServer, Request, ResponseTemplate};

use crate::scene::weather;

/// A gateway in front of a server that gives one answer: whole, and streamed.
struct Before {
    server: MockServer,
    base: String,
}

impl Before {
    async fn new(kind: Kind, at: &str, whole: Value, events: &[Value]) -> Self {
        let server = MockServer::start().await;
        let mut stream = String::new();
        for event in events {
            let kind = event["type"].as_str().unwrap_or("message");
            stream.push_str(&format!("event: {kind}\ndata: {event}\n\n"));
        }
        let answer = move |request: &Request| {
            let asked: Value = request.body_json().unwrap();
            if asked["stream"] == true {
                ResponseTemplate::new(200).set_body_raw(stream.clone(), "text/event-stream")
            } else {
                ResponseTemplate::new(200).set_body_json(&whole)
            }
        };
        Mock::given(path(at))
            .respond_with(answer)
            .mount(&server)
            .await;
        let provider = HttpProvider::at(kind, &format!("{}/v1", server.uri())).unwrap();
        Self::gateway(server, [Model::new(provider.with_model("big-1"))]).await
    }

    async fn gateway(server: MockServer, models: impl IntoIterator<Item = Model>) -> Self {
        let gateway = Gateway::builder()
            .model("big", models)
            .mode(Mode::Native)
            .build()
            .unwrap();
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let base = format!("http://{}", listener.local_addr().unwrap());
        tokio::spawn(async move { gateway.serve(listener, std::future::pending()).await });
        Self { server, base }
    }

    async fn post(&self, at: &str, body: &Value) -> (u16, String) {
        let client = ptk_http::client().no_proxy().build().unwrap();
        let request = client.post(format!("{}{at}", self.base));
        let request = request.header("anthropic-beta", "thoughts-2026-01-01");
        let response = request.body(body.to_string()).send().await.unwrap();
        (response.status().as_u16(), response.text().await.unwrap())
    }

    /// The whole answer, and the events of the same answer streamed.
    async fn both(&self, at: &str, body: &Value) -> (Value, Vec<Value>) {
        let mut body = body.clone();
        let (status, whole) = self.post(at, &body).await;
        assert_eq!(status, 200, "{whole}");
        body["stream"] = json!(true);
        let (status, stream) = self.post(at, &body).await;
        assert_eq!(status, 200, "{stream}");
        let events = stream
            .lines()
            .filter_map(|line| line.strip_prefix("data: "));
        let events = events.filter(|data| *data != "[DONE]");
        let events = events.map(|data| serde_json::from_str(data).unwrap());
        (serde_json::from_str(&whole).unwrap(), events.collect())
    }

    /// The last request that the server got, without its `stream` field.
    async fn asked(&self) -> (Value, Option<String>) {
        let requests = self.server.received_requests().await.unwrap();
        let last = requests.iter().rfind(|it| it.method == "POST").unwrap();
        let mut body: Value = last.body_json().unwrap();
        let fields = body.as_object_mut().unwrap();
        fields.remove("stream");
        fields.remove("stream_options");
        let beta = last.headers.get("anthropic-beta");
        (body, beta.map(|it| it.to_str().unwrap().to_owned()))
    }
}

const CHAT: &str = "/v1/chat/completions";

/// A request with fields that the gateway does not know.
fn chat() -> Value {
    json!({
        "model": "big",
        "messages": [{"role": "user", "content": [
            {"type": "text", "text": "What is this?"},
            {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}},
        ]}],
        "logprobs": true,
        "service_tier": "flex",
        "prediction": {"type": "content", "content": "A cat"},
        "tools": [{"type": "function", "function": {"name": "get_weather", "parameters": weather()}}],
    })
}

fn likelihood(token: &str) -> Value {
    json!({"content": [{"token": token, "logprob": -0.5, "bytes": null, "top_logprobs": []}], "refusal": null})
}

#[tokio::test]
async fn a_chat_completion_comes_with_all_its_fields() {
    let note = json!({"type": "url_citation", "url_citation": {"url": "https://cats.example", "start_index": 0, "end_index": 5}});
    let chunk = |delta: Value, logprobs: Value, finish: Value| {
        json!({"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "big-1",
            "system_fingerprint": "fp_1", "service_tier": "flex",
            "choices": [{"index": 0, "delta": delta, "logprobs": logprobs, "finish_reason": finish}]})
    };
    let before = Before::new(
        Kind::OpenAi,
        CHAT,
        json!({"id": "c", "object": "chat.completion", "created": 1, "model": "big-1",
            "system_fingerprint": "fp_1", "service_tier": "flex",
            "choices": [{"index": 0, "finish_reason": "stop", "logprobs": likelihood("A cat."),
                "message": {"role": "assistant", "content": "A cat.", "refusal": null, "annotations": [note]}}],
            "usage": {"prompt_tokens": 10, "completion_tokens": 3, "total_tokens": 13}}),
        &[
            chunk(json!({"role": "assistant", "content": ""}), Value::Null, Value::Null),
            chunk(json!({"content": "A "}), likelihood("A "), Value::Null),
            chunk(json!({"content": "cat."}), likelihood("cat."), Value::Null),
            chunk(json!({"annotations": [note]}), Value::Null, Value::Null),
            chunk(json!({}), Value::Null, json!("stop")),
        ],
    )
    .await;
    let (whole, chunks) = before.both(CHAT, &chat()).await;
    let mut sent = chat();
    sent["model"] = json!("big-1");
    assert_eq!(before.asked().await.0, sent);
    assert_eq!(whole["system_fingerprint"], "fp_1");
    assert_eq!(whole["service_tier"], "flex");
    assert_eq!(whole["choices"][0]["logprobs"], likelihood("A cat."));
    assert_eq!(whole["choices"][0]["message"]["annotations"], json!([note]));
    assert_eq!(whole["choices"][0]["message"]["content"], "A cat.");
    let choices: Vec<&Value> = chunks.iter().map(|chunk| &chunk["choices"][0]).collect();
    let texts = choices
        .iter()
        .filter_map(|choice| choice["delta"]["content"].as_str());
    let tokens = choices
        .iter()
        .filter_map(|choice| choice["logprobs"]["content"][0]["token"].as_str());
    assert_eq!(texts.collect::<String>(), "A cat.");
    assert_eq!(tokens.collect::<Vec<_>>(), ["A ", "cat."]);
    assert!(
        choices
            .iter()
            .any(|choice| choice["delta"]["annotations"] == json!([note]))
    );
    assert!(
        chunks
            .iter()
            .any(|chunk| chunk["system_fingerprint"] == "fp_1")
    );
    let roles = choices
        .iter()
        .filter(|choice| !choice["delta"]["role"].is_null());
    assert_eq!(roles.count(), 1);
}

#[tokio::test]
async fn a_refusal_stays_one() {
    let chunk = |delta: Value, finish: Value| json!({"choices": [{"index": 0, "delta": delta, "finish_reason": finish}]});
    let before = Before::new(
        Kind::OpenAi,
        CHAT,
        json!({"choices": [{"index": 0, "finish_reason": "stop",
            "message": {"role": "assistant", "content": null, "refusal": "I will not."}}]}),
        &[
            chunk(
                json!({"role": "assistant", "refusal": "I will"}),
                Value::Null,
            ),
            chunk(json!({"refusal": " not."}), Value::Null),
            chunk(json!({}), json!("stop")),
        ],
    )
    .await;
    let (whole, chunks) = before.both(CHAT, &chat()).await;
    let message = &whole["choices"][0]["message"];
    assert_eq!(message["refusal"], "I will not.");
    assert_eq!(message["content"], Value::Null);
    let pieces = chunks.iter();
    let pieces = pieces.filter_map(|chunk| chunk["choices"][0]["delta"]["refusal"].as_str());
    assert_eq!(pieces.collect::<String>(), "I will not.");
}

#[tokio::test]
async fn a_call_in_the_text_of_a_native_server_is_read() {
    let said = "I look.\n<tool_call>\n{\"name\": \"get_weather\", \"arguments\": {\"city\": \"Rome\",}}\n</tool_call>";
    let before = Before::new(
        Kind::OpenAi,
        CHAT,
        json!({"system_fingerprint": "fp_1", "choices": [{"index": 0, "finish_reason": "stop",
            "message": {"role": "assistant", "content": said}}]}),
        &[
            json!({"system_fingerprint": "fp_1", "choices": [{"index": 0, "delta": {"content": said}, "finish_reason": null}]}),
            json!({"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]}),
        ],
    )
    .await;
    let (whole, chunks) = before.both(CHAT, &chat()).await;
    assert_eq!(whole["system_fingerprint"], "fp_1");
    let call = &whole["choices"][0]["message"]["tool_calls"][0]["function"];
    assert_eq!(call["arguments"], "{\"city\": \"Rome\"}");
    assert_eq!(whole["choices"][0]["finish_reason"], "tool_calls");
    let last = chunks
        .iter()
        .find_map(|chunk| chunk["choices"][0]["finish_reason"].as_str());
    assert_eq!(last, Some("tool_calls"));
}

const MESSAGES: &str = "/v1/messages";

fn message() -> Value {
    json!({
        "model": "big",
        "max_tokens": 2000,
        "thinking": {"type": "enabled", "budget_tokens": 1024},
        "system": [{"type": "text", "text": "Be brief.", "cache_control": {"type": "ephemeral"}}],
        "messages": [{"role": "user", "content": "Who won?"}],
        "tools": [
            {"type": "web_search_20250305", "name": "web_search", "max_uses": 2},
            {"name": "get_weather", "input_schema": weather()},
        ],
    })
}

#[tokio::test]
async fn a_message_comes_with_all_its_parts() {
    let source = json!({"type": "web_search_result_location", "url": "https://cup.example", "cited_text": "Cup"});
    let search = json!({"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {"query": "cup"}});
    let found = json!({"type": "web_search_tool_result", "tool_use_id": "srvtoolu_1", "content": [{"type": "web_search_result", "encrypted_content": "xyz"}]});
    let hidden = json!({"type": "redacted_thinking", "data": "abc"});
    let content = json!([
        {"type": "thinking", "thinking": "Hm.", "signature": "sig=="},
        hidden,
        {"type": "thinking", "thinking": "", "signature": "unseen=="},
        search,
        found,
        {"type": "text", "text": "Searched."},
        {"type": "text", "text": "Norway won.", "citations": [source]},
        {"type": "text", "text": " As ever."},
    ]);
    let usage = json!({"input_tokens": 5, "cache_creation_input_tokens": 100, "cache_read_input_tokens": 7,
        "output_tokens": 30, "server_tool_use": {"web_search_requests": 1}, "service_tier": "standard"});
    let start = |index: u32, block: &Value| json!({"type": "content_block_start", "index": index, "content_block": block});
    let delta = |index: u32, delta: Value| json!({"type": "content_block_delta", "index": index, "delta": delta});
    let stop = |index: u32| json!({"type": "content_block_stop", "index": index});
    let text = |text: &str| json!({"type": "text_delta", "text": text});
    let before = Before::new(
        Kind::Anthropic,
        MESSAGES,
        json!({"id": "msg", "type": "message", "role": "assistant", "model": "big-1", "content": content,
            "stop_reason": "pause_turn", "stop_sequence": null, "usage": usage}),
        &[
            json!({"type": "message_start", "message": {"id": "msg", "usage": {"input_tokens": 5, "cache_creation_input_tokens": 100, "cache_read_input_tokens": 7, "output_tokens": 1, "service_tier": "standard"}}}),
            start(0, &json!({"type": "thinking", "thinking": "", "signature": ""})),
            delta(0, json!({"type": "thinking_delta", "thinking": "Hm."})),
            delta(0, json!({"type": "signature_delta", "signature": "sig=="})),
            stop(0),
            start(1, &hidden),
            stop(1),
            start(2, &json!({"type": "thinking", "thinking": "", "signature": ""})),
            delta(2, json!({"type": "signature_delta", "signature": "unseen=="})),
            stop(2),
            start(3, &json!({"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {}})),
            delta(3, json!({"type": "input_json_delta", "partial_json": "{\"query\":"})),
            delta(3, json!({"type": "input_json_delta", "partial_json": " \"cup\"}"})),
            stop(3),
            start(4, &found),
            stop(4),
            start(5, &json!({"type": "text", "text": ""})),
            delta(5, text("Searched.")),
            stop(5),
            start(6, &json!({"type": "text", "text": "", "citations": []})),
            delta(6, text("Norway ")),
            delta(6, text("won.")),
            delta(6, json!({"type": "citations_delta", "citation": source})),
            stop(6),
            start(7, &json!({"type": "text", "text": ""})),
            delta(7, text(" As ever.")),
            stop(7),
            json!({"type": "message_delta", "delta": {"stop_reason": "pause_turn", "stop_sequence": null}, "usage": {"output_tokens": 30, "server_tool_use": {"web_search_requests": 1}}}),
            json!({"type": "message_stop"}),
        ],
    )
    .await;
    let (whole, events) = before.both(MESSAGES, &message()).await;
    let mut sent = message();
    sent["model"] = json!("big-1");
    let beta = Some("thoughts-2026-01-01".to_owned());
    assert_eq!(before.asked().await, (sent, beta));
    let (status, count) = before.post("/v1/messages/count_tokens", &message()).await;
    assert_eq!(status, 200, "{count}");
    assert_eq!(whole["content"], content);
    assert_eq!(whole["usage"], usage);
    assert_eq!(whole["stop_reason"], "pause_turn");
    assert_eq!(whole["stop_sequence"], Value::Null);
    assert_eq!(Value::from(blocks(&events)), content);
    let last = events
        .iter()
        .find(|it| it["type"] == "message_delta")
        .unwrap();
    assert_eq!(last["delta"]["stop_reason"], "pause_turn");
    assert_eq!(last["usage"], usage);
}

/// The parts that the events add up to.
fn blocks(events: &[Value]) -> Vec<Value> {
    let mut blocks: Vec<Value> = Vec::new();
    let mut is_open = false;
    for event in events {
        match event["type"].as_str().unwrap() {
            "content_block_start" => {
                assert!(!is_open);
                is_open = true;
                assert_eq!(event["index"], blocks.len());
                blocks.push(event["content_block"].clone());
            }
            "content_block_delta" => {
                assert!(is_open);
                let block = blocks.last_mut().unwrap();
                let delta = &event["delta"];
                if delta["type"] == "citations_delta" {
                    block["citations"] = json!([delta["citation"]]);
                    continue;
                }
                for field in ["text", "thinking", "signature"] {
                    if let Some(piece) = delta[field].as_str() {
                        let all = format!("{}{piece}", block[field].as_str().unwrap());
                        block[field] = all.into();
                    }
                }
            }
            "content_block_stop" => is_open = false,
            _ => {}
        }
    }
    blocks
}

/// A message with these parts, and its events, in which texts come in pieces of
/// three letters.
fn written(content: &Value, reason: &str) -> (Value, Vec<Value>) {
    let usage = json!({"input_tokens": 1, "output_tokens": 2});
    let whole = json!({"id": "msg", "type": "message", "role": "assistant", "model": "big-1", "content": content,
        "stop_reason": reason, "stop_sequence": null, "usage": usage, "container": {"id": "c1"}});
    let mut events = vec![json!({"type": "message_start", "message": {"usage": usage}})];
    for (index, block) in content.as_array().unwrap().iter().enumerate() {
        let mut start = block.clone();
        let mut deltas = Vec::new();
        for (field, kind) in [("text", "text_delta"), ("content", "compaction_delta")] {
            let Some(text) = block[field].as_str() else {
                continue;
            };
            start[field] = json!("");
            let letters: Vec<char> = text.chars().collect();
            deltas.extend(letters.chunks(3).map(|piece| {
                let piece: String = piece.iter().collect();
                json!({"type": kind, field: piece})
            }));
        }
        if let Some(sources) = block["citations"].as_array() {
            start.as_object_mut().unwrap().remove("citations");
            let sources = sources.iter();
            deltas.extend(sources.map(|it| json!({"type": "citations_delta", "citation": it})));
        }
        events.push(json!({"type": "content_block_start", "index": index, "content_block": start}));
        events.extend(
            deltas.into_iter().map(
                |delta| json!({"type": "content_block_delta", "index": index, "delta": delta}),
            ),
        );
        events.push(json!({"type": "content_block_stop", "index": index}));
    }
    let delta = json!({"stop_reason": reason, "stop_sequence": null, "container": {"id": "c1"}});
    events.push(json!({"type": "message_delta", "delta": delta, "usage": usage}));
    events.push(json!({"type": "message_stop"}));
    (whole, events)
}

#[tokio::test]
async fn parts_of_a_message_stay_apart_and_whole() {
    let source = json!({"type": "char_location", "cited_text": "X"});
    let search = json!({"type": "server_tool_use", "id": "s1", "name": "web_search", "input": {"query": "x"}});
    for content in [
        json!([{"type": "text", "text": "Here it is:\n\n```json\n{\"a\": 1}\n```"}]),
        json!([{"type": "text", "text": "Hello.\n"}]),
        json!([{"type": "text", "text": "Is 1 < 2? <"}, {"type": "text", "text": "tool_call> is a mark."}]),
        json!([{"type": "text", "text": "Let me search.\n\n"}, search, {"type": "text", "text": "Found."}]),
        json!([
            {"type": "text", "text": "X is Y", "citations": [source]},
            {"type": "text", "text": "\n\n"},
            {"type": "text", "text": "Z", "citations": [source]},
        ]),
        json!([{"type": "compaction", "content": "All that was said before."}, {"type": "text", "text": "On we go."}]),
    ] {
        let (whole, events) = written(&content, "end_turn");
        let before = Before::new(Kind::Anthropic, MESSAGES, whole, &events).await;
        let (answer, events) = before.both(MESSAGES, &message()).await;
        assert_eq!(answer["content"], content);
        assert_eq!(answer["container"], json!({"id": "c1"}));
        assert_eq!(Value::from(blocks(&events)), content);
    }
}

#[tokio::test]
async fn a_tool_that_the_server_ran_is_a_call_too() {
    let content = json!([
        {"type": "server_tool_use", "id": "s1", "name": "web_search", "input": {"query": "x"}},
        {"type": "text", "text": "Norway."},
    ]);
    let (whole, events) = written(&content, "end_turn");
    let before = Before::new(Kind::Anthropic, MESSAGES, whole, &events).await;
    let mut request = message();
    request["tool_choice"] = json!({"type": "any"});
    // Its earlier content is sent again in the next turn.
    let ran = json!({"type": "code_execution_tool_result", "tool_use_id": "s0", "content": {"type": "code_execution_result", "stdout": "1"}});
    request["messages"] = json!([
        {"role": "user", "content": "Who won?"},
        {"role": "assistant", "content": [ran]},
        {"role": "user", "content": "And now?"},
    ]);
    let (answer, events) = before.both(MESSAGES, &request).await;
    assert_eq!(answer["content"], content);
    assert_eq!(Value::from(blocks(&events)), content);
    let requests = before.server.received_requests().await.unwrap();
    let asked = requests.iter().filter(|it| it.method == "POST");
    assert_eq!(asked.count(), 2, "nothing was asked twice");
}

#[tokio::test]
async fn one_that_cannot_be_asked_does_not_hide_why_another_failed() {
    let server = MockServer::start().await;
    let busy = json!({"type": "error", "error": {"type": "overloaded_error", "message": "busy"}});
    Mock::given(path(MESSAGES))
        .respond_with(ResponseTemplate::new(529).set_body_json(busy))
        .mount(&server)
        .await;
    let at = format!("{}/v1", server.uri());
    let big = HttpProvider::at(Kind::Anthropic, &at).unwrap();
    let spare = HttpProvider::at(Kind::OpenAi, &at).unwrap();
    let models = [
        Model::new(big.with_model("big-1")),
        Model::new(spare.with_model("spare-1")),
    ];
    let before = Before::gateway(server, models).await;
    for _ in 0..2 {
        let (status, answer) = before.post(MESSAGES, &message()).await;
        assert_eq!(status, 529, "{answer}");
    }
    let requests = before.server.received_requests().await.unwrap();
    let asked = requests.iter().filter(|it| it.url.path() == MESSAGES);
    assert_eq!(
        asked.count(),
        2,
        "the one that rests is asked where the other cannot be"
    );
}

#[tokio::test]
async fn what_only_one_api_has_is_refused_for_others() {
    let before = Before::new(Kind::OpenAi, CHAT, json!({}), &[]).await;
    let (status, answer) = before.post(MESSAGES, &message()).await;
    assert_eq!(status, 400, "{answer}");
    assert!(answer.contains("web_search_20250305"), "{answer}");
    let picture =
        json!({"type": "image", "source": {"type": "url", "url": "https://cats.example/1.png"}});
    let request = json!({"model": "big", "max_tokens": 10, "messages": [{"role": "user", "content": [picture]}]});
    let (status, answer) = before.post(MESSAGES, &request).await;
    assert_eq!(status, 400, "{answer}");
    assert!(answer.contains("`image`"), "{answer}");
    let requests = before.server.received_requests().await.unwrap();
    assert!(requests.iter().all(|request| request.method == "GET"));
}

const RESPONSES: &str = "/v1/responses";

#[tokio::test]
async fn a_response_comes_with_all_its_items() {
    let request = json!({
        "model": "big",
        "input": [
            {"role": "user", "content": "Who won?"},
            {"type": "web_search_call", "id": "ws_0", "status": "completed"},
        ],
        "include": ["reasoning.encrypted_content"],
        "reasoning": {"effort": "low"},
        "tools": [
            {"type": "web_search"},
            {"type": "custom", "name": "patch"},
            {"type": "function", "name": "get_weather", "parameters": weather()},
        ],
    });
    let source = json!({"type": "url_citation", "url": "https://cup.example", "start_index": 0, "end_index": 6, "title": "Cup"});
    let thought = json!({"type": "reasoning", "id": "rs_9", "encrypted_content": "enc", "summary": [{"type": "summary_text", "text": "Hm."}]});
    let search = json!({"type": "web_search_call", "id": "ws_9", "status": "completed", "action": {"type": "search", "query": "cup"}});
    let said = json!({"type": "message", "id": "msg_9", "status": "completed", "role": "assistant",
        "content": [{"type": "output_text", "text": "Norway won.", "annotations": [source], "logprobs": []}]});
    let patch = json!({"type": "custom_tool_call", "id": "ctc_9", "status": "completed", "call_id": "call_1", "name": "patch", "input": "*** Begin"});
    let weather = json!({"type": "function_call", "id": "fc_9", "status": "completed", "call_id": "call_2", "name": "get_weather", "arguments": "{\"city\":\"Oslo\"}"});
    let output = json!([thought, search, said, patch, weather]);
    let usage = json!({"input_tokens": 10, "input_tokens_details": {"cached_tokens": 4}, "output_tokens": 5,
        "output_tokens_details": {"reasoning_tokens": 2}, "total_tokens": 15});
    let whole = json!({"id": "resp", "object": "response", "status": "completed", "output": output, "usage": usage, "service_tier": "flex"});
    let item = |what: &str, at: u32, item: &Value| json!({"type": format!("response.output_item.{what}"), "output_index": at, "item": item});
    let mut bare = said.clone();
    bare["content"] = json!([]);
    let before = Before::new(
        Kind::OpenAiResponses,
        RESPONSES,
        whole.clone(),
        &[
            json!({"type": "response.created", "response": {"id": "resp"}}),
            item("added", 0, &json!({"type": "reasoning", "id": "rs_9", "summary": []})),
            json!({"type": "response.reasoning_summary_text.delta", "output_index": 0, "item_id": "rs_9", "summary_index": 0, "delta": "Hm."}),
            item("done", 0, &thought),
            item("added", 1, &search),
            item("done", 1, &search),
            item("added", 2, &bare),
            json!({"type": "response.output_text.delta", "output_index": 2, "item_id": "msg_9", "content_index": 0, "delta": "Norway "}),
            json!({"type": "response.output_text.delta", "output_index": 2, "item_id": "msg_9", "content_index": 0, "delta": "won."}),
            item("done", 2, &said),
            item("added", 3, &json!({"type": "custom_tool_call", "id": "ctc_9", "call_id": "call_1", "name": "patch", "input": ""})),
            item("done", 3, &patch),
            item("added", 4, &json!({"type": "function_call", "id": "fc_9", "call_id": "call_2", "name": "get_weather", "arguments": ""})),
            json!({"type": "response.function_call_arguments.delta", "output_index": 4, "item_id": "fc_9", "delta": "{\"city\":\"Oslo\"}"}),
            item("done", 4, &weather),
            json!({"type": "response.completed", "response": whole}),
        ],
    )
    .await;
    let (answer, events) = before.both(RESPONSES, &request).await;
    let mut sent = request.clone();
    sent["model"] = json!("big-1");
    sent["store"] = json!(false);
    assert_eq!(
        before.asked().await.0,
        sent,
        "nobody could ask for what is kept"
    );
    assert_eq!(answer["output"], output);
    assert_eq!(answer["service_tier"], "flex");
    assert_eq!(answer["usage"], usage);
    assert_eq!(answer["ptk"], Value::Null, "nothing was left out");
    let last = events.last().unwrap();
    assert_eq!(last["type"], "response.completed");
    assert_eq!(last["response"]["output"], output);
    let done = events
        .iter()
        .filter(|event| event["type"] == "response.output_item.done");
    let done: Vec<Value> = done.map(|event| event["item"].clone()).collect();
    assert_eq!(Value::from(done), output);
    let numbers = events
        .iter()
        .map(|event| event["sequence_number"].as_u64().unwrap());
    assert!(numbers.eq(0..events.len() as u64));
    assert!(events.iter().any(
        |event| event["type"] == "response.output_text.annotation.added"
            && event["annotation"] == source
    ));
}

#[tokio::test]
async fn a_server_that_searches_for_tools_itself_does_so() {
    let weather = json!({"type": "function", "name": "get_weather", "parameters": weather(), "defer_loading": true});
    let home =
        json!({"type": "namespace", "name": "home", "description": "At home", "tools": [weather]});
    let request = json!({
        "model": "big",
        "input": "Rain?",
        "tools": [{"type": "tool_search"}, home],
    });
    let search = json!({"type": "tool_search_call", "id": "tsc_9", "status": "completed", "execution": "server", "call_id": null, "arguments": {"paths": ["home"]}});
    let found = json!({"type": "tool_search_output", "id": "tso_9", "status": "completed", "execution": "server", "call_id": null, "tools": [home]});
    let call = json!({"type": "function_call", "id": "fc_9", "status": "completed", "call_id": "call_2", "namespace": "home", "name": "get_weather", "arguments": "{\"city\":\"Oslo\"}"});
    let output = json!([search, found, call]);
    let whole =
        json!({"id": "resp", "object": "response", "status": "completed", "output": output});
    let done = output.as_array().unwrap().iter().enumerate().map(
        |(at, item)| json!({"type": "response.output_item.done", "output_index": at, "item": item}),
    );
    let last = json!({"type": "response.completed", "response": whole});
    let events: Vec<Value> = done.chain([last]).collect();
    let before = Before::new(Kind::OpenAiResponses, RESPONSES, whole.clone(), &events).await;
    let (answer, events) = before.both(RESPONSES, &request).await;
    assert_eq!(before.asked().await.0["tools"], request["tools"]);
    assert_eq!(answer["output"], output);
    assert_eq!(events.last().unwrap()["response"]["output"], output);
}
