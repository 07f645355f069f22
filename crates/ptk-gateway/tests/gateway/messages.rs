//! Anthropic's API.

use ptk_llm::{Message, Script, ScriptedReply};
use serde_json::{Map, Value, json};

use crate::scene::{
    Answer, SIZES, Scene, call, failing, in_all_sizes, in_pieces, limited, replies, weather,
};

const PATH: &str = "/v1/messages";

fn tools() -> Value {
    json!([
        {"name": "get_weather", "description": "The weather of a city", "input_schema": weather()},
        {"type": "custom", "name": "get_time", "input_schema": {"type": "object", "properties": {"zone": {"type": "string"}}}},
    ])
}

/// A request with these fields beside the common ones.
fn ask(more: Value) -> Value {
    let mut ask = json!({
        "model": "tiny",
        "max_tokens": 1024,
        "tools": tools(),
        "messages": [{"role": "user", "content": "What is the weather in Hà Nội?"}],
    });
    let Value::Object(more) = more else {
        panic!("{more}")
    };
    ask.as_object_mut().unwrap().extend(more);
    ask
}

fn streamed(more: Value) -> Value {
    let mut ask = ask(more);
    ask["stream"] = true.into();
    ask
}

/// The events of a stream, with their names checked.
pub(crate) fn events(answer: &Answer) -> Vec<Value> {
    assert_eq!((answer.status, answer.kind()), (200, "text/event-stream"));
    let events = answer
        .text
        .strip_suffix("\n\n")
        .expect("the end of an event");
    let events = events.split("\n\n").map(|event| {
        let (name, data) = event.split_once('\n').unwrap();
        let data: Value = serde_json::from_str(data.strip_prefix("data: ").unwrap()).unwrap();
        assert_eq!(name.strip_prefix("event: "), data["type"].as_str());
        data
    });
    events.collect()
}

/// The message that a stream adds up to. Every step is checked against the
/// specification.
pub(crate) fn folded(events: &[Value]) -> Value {
    let (first, rest) = events.split_first().unwrap();
    assert_eq!(first["type"], "message_start");
    let mut message = first["message"].clone();
    assert_eq!(message["content"], json!([]));
    assert_eq!(message["stop_reason"], Value::Null);
    let mut blocks: Vec<Value> = Vec::new();
    let mut open: Option<String> = None;
    let mut has_delta = false;
    let mut is_over = false;
    for event in rest {
        assert!(!is_over, "{event} behind the end");
        match event["type"].as_str().unwrap() {
            "ping" => {}
            "content_block_start" => {
                assert!(open.is_none() && !has_delta);
                assert_eq!(event["index"], blocks.len());
                blocks.push(event["content_block"].clone());
                open = Some(String::new());
            }
            "content_block_delta" => {
                let json = open.as_mut().expect("an open block");
                assert_eq!(event["index"], blocks.len() - 1);
                let (delta, block) = (&event["delta"], blocks.last_mut().unwrap());
                let (kind, field) = match delta["type"].as_str().unwrap() {
                    "text_delta" => ("text", "text"),
                    "thinking_delta" => ("thinking", "thinking"),
                    "signature_delta" => ("thinking", "signature"),
                    "input_json_delta" => {
                        let kind = block["type"].as_str().unwrap();
                        assert!(["tool_use", "server_tool_use"].contains(&kind));
                        assert_eq!(block["input"], json!({}));
                        json.push_str(delta["partial_json"].as_str().unwrap());
                        continue;
                    }
                    other => panic!("{other}"),
                };
                assert_eq!(block["type"], kind);
                let text = block[field].as_str().unwrap().to_owned();
                block[field] = (text + delta[field].as_str().unwrap()).into();
            }
            "content_block_stop" => {
                let json = open.take().expect("an open block");
                assert_eq!(event["index"], blocks.len() - 1);
                let block = blocks.last_mut().unwrap();
                if block.get("input").is_some() {
                    block["input"] = input(&json);
                }
            }
            "message_delta" => {
                assert!(open.is_none());
                has_delta = true;
                let delta = event["delta"].as_object().unwrap().clone();
                let message = message.as_object_mut().unwrap();
                message.extend(delta);
                message.insert("usage".to_owned(), event["usage"].clone());
                if let Some(notes) = event.get("ptk") {
                    message.insert("ptk".to_owned(), notes.clone());
                }
            }
            "message_stop" => {
                assert!(has_delta);
                is_over = true;
            }
            other => panic!("{other} in a stream"),
        }
    }
    assert!(is_over, "the stream has no end");
    message["content"] = blocks.into();
    message
}

/// Parses arguments, also where they break off.
fn input(json: &str) -> Value {
    let read = serde_json::from_str(json);
    read.unwrap_or_else(|_| {
        let mended = ptk_protocol::json::repair(json).map(|mended| mended.json);
        let mended = mended.unwrap_or_else(|_| "{}".to_owned());
        serde_json::from_str(&mended).unwrap()
    })
}

/// The same message without ids.
fn without_ids(mut message: Value) -> Value {
    assert!(message["id"].as_str().unwrap().starts_with("msg_"));
    message["id"] = "".into();
    for block in message["content"].as_array_mut().unwrap() {
        if block["type"] == "tool_use" {
            assert!(!block["id"].as_str().unwrap().is_empty());
            block["id"] = "".into();
        }
    }
    message
}

/// The parts of an answer.
fn content(message: &Value) -> &Vec<Value> {
    message["content"].as_array().unwrap()
}

#[tokio::test]
async fn a_call_is_a_block_of_its_own() {
    let weather = json!({"city": "Hà Nội", "days": 2});
    let scene = Scene::new([format!("I look.\n{}", call("get_weather", &weather))]).await;
    let answer = scene.post("/v1/messages?beta=true", &ask(json!({}))).await;
    assert_eq!((answer.status, answer.kind()), (200, "application/json"));
    let message = answer.json();
    let id = &content(&message)[1]["id"];
    assert_eq!(
        message["content"],
        json!([
            {"type": "text", "text": "I look."},
            {"type": "tool_use", "id": id, "name": "get_weather", "input": weather},
        ])
    );
    assert_eq!(message["type"], "message");
    assert_eq!(message["role"], "assistant");
    assert_eq!(message["model"], "tiny");
    assert_eq!(message["stop_reason"], "tool_use");
    assert_eq!(message["stop_sequence"], Value::Null);
    assert!(message["usage"]["input_tokens"].is_u64());
    assert!(message["usage"]["output_tokens"].is_u64());
    assert!(message.get("ptk").is_none());
}

#[tokio::test]
async fn the_events_are_those_of_the_specification() {
    let call = call("get_weather", &json!({"city": "Oslo"}));
    let reply = format!("<think>Where?</think>I look.\n{call}");
    let scene = Scene::new([reply]).await;
    let events = events(&scene.post(PATH, &streamed(json!({}))).await);
    let kinds: Vec<String> = events
        .iter()
        .map(|event| {
            let inner = [&event["content_block"]["type"], &event["delta"]["type"]];
            let inner = inner.iter().find_map(|inner| inner.as_str());
            let kind = event["type"].as_str().unwrap();
            inner.map_or_else(|| kind.to_owned(), |inner| format!("{kind} {inner}"))
        })
        .collect();
    let mut once = kinds.clone();
    once.dedup();
    assert_eq!(
        once,
        [
            "message_start",
            "ping",
            "content_block_start thinking",
            "content_block_delta thinking_delta",
            "content_block_delta signature_delta",
            "content_block_stop",
            "content_block_start text",
            "content_block_delta text_delta",
            "content_block_stop",
            "content_block_start tool_use",
            "content_block_delta input_json_delta",
            "content_block_stop",
            "message_delta",
            "message_stop",
        ]
    );
    let message = folded(&events);
    assert_eq!(message["stop_reason"], "tool_use");
    assert_eq!(content(&message)[0]["thinking"], "Where?");
}

#[tokio::test]
async fn a_stream_comes_to_the_whole_message_however_it_is_cut() {
    for (reply, again) in replies() {
        let whole = Scene::new(in_all_sizes(&reply, again)).await;
        let stream = Scene::new(in_all_sizes(&reply, again)).await;
        let expected = whole.post(PATH, &ask(json!({}))).await;
        assert_eq!(expected.status, 200, "{}", expected.text);
        let expected = without_ids(expected.json());
        for size in SIZES {
            let streamed = stream.post(PATH, &streamed(json!({}))).await;
            let streamed = without_ids(folded(&events(&streamed)));
            assert_eq!(streamed, expected, "{reply:?} in pieces of {size}");
            if size > 0 {
                let whole = without_ids(whole.post(PATH, &ask(json!({}))).await.json());
                assert_eq!(whole, expected, "{reply:?} in pieces of {size}");
            }
        }
    }
}

#[tokio::test]
async fn several_calls_are_several_blocks() {
    let one = call("get_weather", &json!({"city": "Oslo"}));
    let other = call("get_time", &json!({"zone": "UTC"}));
    let scene = Scene::new([format!("{one}\n{other}")]).await;
    let message = folded(&events(&scene.post(PATH, &streamed(json!({}))).await));
    let calls: Vec<(&Value, &Value)> = content(&message)
        .iter()
        .map(|block| (&block["name"], &block["input"]))
        .collect();
    assert_eq!(
        calls,
        [
            (&json!("get_weather"), &json!({"city": "Oslo"})),
            (&json!("get_time"), &json!({"zone": "UTC"})),
        ]
    );
    assert_ne!(content(&message)[0]["id"], content(&message)[1]["id"]);
}

#[tokio::test]
async fn no_digit_of_a_number_is_lost() {
    let digits = "123456789012345678901234567890";
    let reply = format!(
        "<tool_call>{{\"name\": \"get_time\", \"arguments\": {{\"zone\": \"UTC\", \"n\": {digits}}}}}</tool_call>"
    );
    let scene = Scene::new([reply.clone(), reply]).await;
    assert!(
        scene
            .post(PATH, &ask(json!({})))
            .await
            .text
            .contains(digits)
    );
    let stream = scene.post(PATH, &streamed(json!({}))).await;
    assert!(stream.text.contains(digits));
}

#[tokio::test]
async fn results_go_back_to_the_model() {
    let scene = Scene::new(["It is 31 °C."]).await;
    let messages = json!([
        {"role": "user", "content": [{"type": "text", "text": "Weather and time?", "cache_control": {"type": "ephemeral"}}]},
        {"role": "assistant", "content": [
            {"type": "thinking", "thinking": "Hidden thoughts", "signature": ""},
            {"type": "redacted_thinking", "data": "xyz"},
            {"type": "text", "text": "I look."},
            {"type": "tool_use", "id": "toolu_1", "name": "get_weather", "input": {"city": "Hà Nội"}},
            {"type": "tool_use", "id": "toolu_2", "name": "get_time", "input": {}},
        ]},
        {"role": "user", "content": [
            {"type": "tool_result", "tool_use_id": "toolu_2", "is_error": true, "content": "no clock"},
            {"type": "tool_result", "tool_use_id": "toolu_1", "content": [{"type": "text", "text": "31 °C"}, {"type": "text", "text": "sunny"}]},
            {"type": "text", "text": "Be brief."},
        ]},
    ]);
    let system = json!([{"type": "text", "text": "You are a bot."}, {"type": "text", "text": "A kind one."}]);
    let answer = scene
        .post(PATH, &ask(json!({"messages": messages, "system": system})))
        .await;
    assert_eq!(
        answer.json()["content"],
        json!([{"type": "text", "text": "It is 31 °C."}])
    );
    assert_eq!(answer.json()["stop_reason"], "end_turn");
    let shown = scene.shown();
    let places = [
        "You are a bot.\nA kind one.",
        "get_weather",
        "Weather and time?",
        "I look.",
        "Hà Nội",
        "no clock",
        r"31 °C\nsunny",
        "Be brief.",
    ];
    let mut rest = shown.as_str();
    for place in places {
        let (_, behind) = rest
            .split_once(place)
            .unwrap_or_else(|| panic!("{place} is not in {rest}"));
        rest = behind;
    }
    assert!(!shown.contains("Hidden thoughts"));
}

#[tokio::test]
async fn a_native_model_gets_calls_and_results_as_such() {
    let reply: ScriptedReply = serde_json::from_value(json!({
        "tool_calls": [{"id": "call_9", "name": "get_weather", "arguments": {"city": "Oslo"}}],
    }))
    .unwrap();
    let scene = Scene::new([reply]).await;
    let messages = json!([
        {"role": "user", "content": "Time?"},
        {"role": "assistant", "content": [{"type": "tool_use", "id": "toolu_1", "name": "get_time", "input": {}}]},
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "toolu_1", "content": "noon", "is_error": true}]},
    ]);
    let answer = scene.post(PATH, &ask(json!({"messages": messages}))).await;
    let message = answer.json();
    assert_eq!(
        message["content"],
        json!([{"type": "tool_use", "id": "call_9", "name": "get_weather", "input": {"city": "Oslo"}}])
    );
    assert_eq!(message["stop_reason"], "tool_use");
    let asked = scene.conversation();
    let Message::Assistant { calls, .. } = &asked[1] else {
        panic!("{asked:?}")
    };
    assert_eq!(calls[0].id.as_deref(), Some("toolu_1"));
    assert_eq!(
        asked[2],
        Message::Result {
            id: "toolu_1".to_owned(),
            name: "get_time".to_owned(),
            text: "noon".to_owned(),
            is_error: true,
        }
    );
}

#[tokio::test]
async fn every_reason_to_stop_has_its_name() {
    let stopped = |reason: &str| ScriptedReply {
        finish_reason: Some(reason.to_owned()),
        ..ScriptedReply::from("Words")
    };
    let scene = Scene::new([
        "All of it.".into(),
        limited("It is 31"),
        stopped("content_filter"),
        "one two STOP three".into(),
        "one two STOP three".into(),
    ])
    .await;
    let mut reasons = Vec::new();
    for more in [
        json!({}),
        json!({}),
        json!({}),
        json!({"stop_sequences": ["STOP"]}),
    ] {
        let message = scene.post(PATH, &ask(more)).await.json();
        reasons.push((
            message["stop_reason"].clone(),
            message["stop_sequence"].clone(),
        ));
    }
    let more = json!({"stop_sequences": ["STOP"]});
    let message = folded(&events(&scene.post(PATH, &streamed(more)).await));
    assert_eq!(
        message["content"],
        json!([{"type": "text", "text": "one two"}])
    );
    reasons.push((
        message["stop_reason"].clone(),
        message["stop_sequence"].clone(),
    ));
    let null = Value::Null;
    assert_eq!(
        reasons,
        [
            (json!("end_turn"), null.clone()),
            (json!("max_tokens"), null.clone()),
            (json!("refusal"), null),
            (json!("stop_sequence"), json!("STOP")),
            (json!("stop_sequence"), json!("STOP")),
        ]
    );
}

#[tokio::test]
async fn the_choice_of_tools_is_kept() {
    let words = "I would rather talk.";
    let right = call("get_time", &json!({}));
    let cases = [
        (
            json!({"type": "any"}),
            words.to_owned(),
            Some(right.clone()),
            "get_time",
        ),
        (
            json!({"type": "tool", "name": "get_time"}),
            words.to_owned(),
            Some(right.clone()),
            "get_time",
        ),
        (json!({"type": "none"}), words.to_owned(), None, ""),
        (
            json!({"type": "auto", "disable_parallel_tool_use": true}),
            format!("{right}\n{}", call("get_weather", &json!({"city": "Oslo"}))),
            None,
            "get_time",
        ),
    ];
    for (choice, first, second, name) in cases {
        let replies = std::iter::once(first).chain(second);
        let scene = Scene::new(replies).await;
        let message = scene
            .post(PATH, &ask(json!({"tool_choice": choice})))
            .await
            .json();
        let called: Vec<&str> = content(&message)
            .iter()
            .filter_map(|block| block["name"].as_str())
            .collect();
        assert_eq!(called.join(" "), name, "{choice}: {message}");
    }
}

#[tokio::test]
async fn what_was_mended_is_said() {
    let wrong =
        "<tool_call>\n{\"name\": \"get_wind\", \"arguments\": {\"city\": \"Oslo\"}}\n</tool_call>";
    let right = call("get_weather", &json!({"city": "Oslo"}));
    let scene = Scene::new([wrong, &right, wrong, &right]).await;
    let whole = scene.post(PATH, &ask(json!({}))).await.json();
    assert_eq!(whole["ptk"]["problems"][0]["code"], "mended");
    let stream = events(&scene.post(PATH, &streamed(json!({}))).await);
    let told: Vec<&Value> = stream
        .iter()
        .filter(|event| event.get("ptk").is_some())
        .collect();
    assert_eq!(told.len(), 1);
    assert_eq!(told[0]["type"], "message_delta");
    assert_eq!(told[0]["ptk"], whole["ptk"]);
}

#[tokio::test]
async fn an_answer_has_the_form_that_was_asked_for() {
    let schema =
        json!({"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]});
    let format = json!({"type": "json_schema", "schema": schema});
    for more in [
        json!({"output_config": {"format": format}}),
        json!({"output_format": format}),
    ] {
        let scene = Scene::new(["It is seven.", "```json\n{'n': 7,}\n```"]).await;
        let message = scene.post(PATH, &ask(more)).await.json();
        assert_eq!(
            message["content"],
            json!([{"type": "text", "text": "{\"n\":7}"}])
        );
    }
}

#[tokio::test]
async fn what_is_said_of_sampling_reaches_the_model() {
    let scene = Scene::new(["Hello."]).await;
    let more = json!({
        "temperature": 0.5, "top_p": 0.25, "top_k": 7, "max_tokens": 99,
        "metadata": {"user_id": "x"}, "thinking": {"type": "enabled", "budget_tokens": 1024}, "service_tier": "auto",
    });
    let answer = scene.post(PATH, &ask(more)).await;
    assert_eq!(answer.status, 200, "{}", answer.text);
    let asked = scene.asked();
    assert_eq!(asked.sampling.temperature, Some(0.5));
    assert_eq!(asked.sampling.top_p, Some(0.25));
    assert_eq!(asked.sampling.top_k, Some(7));
    assert_eq!(asked.max_tokens, Some(99));
}

#[tokio::test]
async fn an_error_before_the_first_byte_is_a_status() {
    let cases = [
        (429, 429, "rate_limit_error"),
        (500, 500, "api_error"),
        (529, 529, "overloaded_error"),
    ];
    for (upstream, status, kind) in cases {
        for body in [ask(json!({})), streamed(json!({}))] {
            let scene = Scene::new([failing("", upstream)]).await;
            let answer = scene.post(PATH, &body).await;
            assert_eq!((answer.status, answer.kind()), (status, "application/json"));
            let error = answer.json();
            assert_eq!(error["type"], "error");
            assert_eq!(error["error"]["type"], kind);
            assert!(
                error["error"]["message"]
                    .as_str()
                    .unwrap()
                    .contains("no more")
            );
        }
    }
}

#[tokio::test]
async fn an_error_behind_the_first_byte_is_an_event() {
    let scene = Scene::new([failing("It is ", 500), failing("It is ", 500)]).await;
    let events = events(&scene.post(PATH, &streamed(json!({}))).await);
    assert_eq!(events[0]["type"], "message_start");
    let last = events.last().unwrap();
    assert_eq!(last["type"], "error");
    assert_eq!(last["error"]["type"], "api_error");
    assert_eq!(last["error"]["code"], "upstream_failed");
    let ends = events
        .iter()
        .filter(|event| event["type"] == "message_stop");
    assert_eq!(ends.count(), 0);
    let whole = scene.post(PATH, &ask(json!({}))).await;
    assert_eq!(
        (whole.status, whole.json()["type"].clone()),
        (500, json!("error"))
    );
}

/// Checks that each of these is refused, with a message that names what is
/// wrong, and that no model is asked.
async fn refused(cases: Vec<(Value, &str)>) {
    let scene = Scene::new(["Hello."]).await;
    for (more, names) in cases {
        let answer = scene.post(PATH, &ask(more.clone())).await;
        assert_eq!(answer.status, 400, "{more}: {}", answer.text);
        let error = answer.json();
        assert_eq!(error["type"], "error", "{more}");
        assert_eq!(error["error"]["type"], "invalid_request_error", "{more}");
        let message = error["error"]["message"].as_str().unwrap();
        assert!(message.contains(names), "{more}: {message}");
    }
    assert_eq!(scene.times(), 0);
}

#[tokio::test]
async fn wrong_fields_are_refused() {
    let format = json!({"format": {"type": "json_schema"}});
    refused(vec![
        (json!({"model": null}), "model"),
        (json!({"model": 7}), "model"),
        (json!({"max_tokens": null}), "max_tokens"),
        (json!({"max_tokens": 0}), "max_tokens"),
        (json!({"max_tokens": "many"}), "max_tokens"),
        (json!({"max_tokens": -1}), "max_tokens"),
        (json!({"temperature": 3}), "temperature"),
        (json!({"top_p": "high"}), "top_p"),
        (json!({"top_k": -1}), "top_k"),
        (json!({"stop_sequences": 7}), "stop_sequences"),
        (json!({"stop_sequences": vec!["a"; 17]}), "16"),
        (json!({"stream": "yes"}), "stream"),
        (json!({"system": 7}), "system"),
        (json!({"output_config": format}), "schema"),
    ])
    .await;
}

#[tokio::test]
async fn wrong_messages_are_refused() {
    let user = |content: Value| json!({"messages": [{"role": "user", "content": content}]});
    let reply = |content: Value| json!({"messages": [{"role": "assistant", "content": content}]});
    let result = json!({"type": "tool_result", "tool_use_id": "toolu_1", "content": "31"});
    let call = json!({"type": "tool_use", "id": "a", "name": "b", "input": {}});
    let robot = json!([{"role": "robot", "content": "Hello"}]);
    let unasked = json!({"type": "tool_result", "content": "31"});
    let bare = json!({"type": "tool_use", "id": "a", "name": "b"});
    let listed = json!({"type": "tool_use", "id": "a", "name": "b", "input": [1]});
    refused(vec![
        (json!({"messages": null}), "messages"),
        (json!({"messages": []}), "message"),
        (json!({"messages": "Hello"}), "messages"),
        (json!({"messages": [{"content": "Hello"}]}), "role"),
        (json!({"messages": [{"role": "user"}]}), "content"),
        (json!({"messages": robot}), "robot"),
        (user(json!(7)), "messages[0].content"),
        (user(json!([{"type": "text"}])), "messages[0].content[0]"),
        (user(json!([{"text": "Hello"}])), "type"),
        (user(json!([unasked])), "tool_use_id"),
        (user(json!([result])), "toolu_1"),
        (user(json!([call])), "assistant"),
        (user(json!([{"type": "image", "source": {}}])), "image"),
        (user(json!([{"type": "document"}])), "document"),
        (reply(json!([bare])), "input"),
        (reply(json!([listed])), "object"),
        (reply(json!([result])), "user"),
    ])
    .await;
}

#[tokio::test]
async fn wrong_tools_are_refused() {
    let tool = |name: &str| json!({"name": name, "input_schema": {}});
    let server = json!({"type": "web_search_20250305", "name": "web_search"});
    let text = json!({"name": "a", "input_schema": "none"});
    let chosen = json!({"type": "tool", "name": "fly"});
    refused(vec![
        (json!({"tools": {}}), "tools"),
        (json!({"tools": [{"name": "a"}]}), "input_schema"),
        (json!({"tools": [text]}), "input_schema"),
        (json!({"tools": [{"input_schema": {}}]}), "name"),
        (json!({"tools": [tool(" ")]}), "name"),
        (json!({"tools": [tool("a"), tool("a")]}), "two tools"),
        (json!({"tools": [server]}), "web_search_20250305"),
        (json!({"tool_choice": "auto"}), "tool_choice"),
        (json!({"tool_choice": {"type": "some"}}), "some"),
        (json!({"tool_choice": {"type": "tool"}}), "not named"),
        (json!({"tool_choice": chosen}), "fly"),
        (
            json!({"tools": [], "tool_choice": {"type": "any"}}),
            "there is none",
        ),
    ])
    .await;
}

#[tokio::test]
async fn what_is_no_request_is_refused() {
    let scene = Scene::new(["Hello."]).await;
    for body in ["", "{", "[]", "7", "\"Hello\"", "{\"model\": \"tiny\""] {
        let answer = scene.post_text(PATH, body).await;
        assert_eq!(answer.status, 400, "{body}");
        assert_eq!(answer.json()["error"]["type"], "invalid_request_error");
    }
    let unknown = scene.post(PATH, &ask(json!({"model": "huge"}))).await;
    assert_eq!(unknown.status, 404);
    assert_eq!(unknown.json()["error"]["type"], "not_found_error");
    assert_eq!(scene.times(), 0);
}

#[tokio::test]
async fn only_the_reply_before_can_be_answered() {
    let scene = Scene::new(["Hello."]).await;
    let messages = json!([
        {"role": "user", "content": "Time?"},
        {"role": "assistant", "content": [{"type": "tool_use", "id": "toolu_1", "name": "get_time", "input": {}}]},
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "toolu_1"}]},
        {"role": "assistant", "content": "Noon."},
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "toolu_1"}]},
    ]);
    let answer = scene.post(PATH, &ask(json!({"messages": messages}))).await;
    assert_eq!(answer.status, 400);
    assert!(answer.text.contains("toolu_1"));
}

#[tokio::test]
async fn tools_of_one_api_are_none_of_another() {
    let functions = json!([{"name": "get_weather", "description": "", "input_schema": weather()}]);
    let chat = json!({
        "model": "tiny",
        "messages": [{"role": "user", "content": "Hi"}],
        "functions": functions,
    });
    let scene = Scene::new(["Hello.", "Hello."]).await;
    assert_eq!(scene.post("/v1/chat/completions", &chat).await.status, 200);
    let answer = scene.post(PATH, &ask(json!({"tools": functions}))).await;
    assert_eq!(answer.status, 200);
    assert!(scene.shown().contains("city"), "{}", scene.shown());
}

#[tokio::test]
async fn tokens_are_counted_of_all_that_the_model_would_be_shown() {
    const COUNT: &str = "/v1/messages/count_tokens";
    let scene = Scene::with(Script::new(["Hello."]), |builder| builder).await;
    let count = async |more: Value| {
        let mut body = ask(more);
        body.as_object_mut().unwrap().remove("max_tokens");
        let answer = scene.post(COUNT, &body).await;
        assert_eq!(answer.status, 200, "{}", answer.text);
        let counted: Map<String, Value> = serde_json::from_str(&answer.text).unwrap();
        assert_eq!(counted.len(), 1);
        counted["input_tokens"].as_u64().unwrap()
    };
    let bare = count(json!({"tools": []})).await;
    let with_tools = count(json!({})).await;
    let with_system = count(json!({"system": "You are a bot."})).await;
    assert!(bare > 5 && bare < 20, "{bare}");
    assert!(with_tools > bare + 50, "{with_tools}");
    assert!(with_system > with_tools, "{with_system}");
    assert_eq!(scene.times(), 0);
    let asked = scene
        .post(PATH, &ask(json!({"system": "You are a bot."})))
        .await;
    assert_eq!(asked.status, 200);
    let counter = ptk_model::tokens_of(Some("tiny"));
    let asked = scene.asked();
    assert!(!asked.examples.is_empty(), "{asked:?}");
    let shown = asked.turns().map(|message| counter.count(message.text()));
    let system = counter.count(asked.system.as_deref().unwrap());
    assert_eq!(with_system, system + shown.sum::<u64>());
    let wrong = scene.post(COUNT, &json!({"model": "tiny"})).await;
    assert_eq!(wrong.status, 400);
    assert_eq!(wrong.json()["type"], "error");
}

#[tokio::test]
async fn arguments_go_out_while_they_come_in() {
    let call = call(
        "get_weather",
        &json!({"city": "a city with a rather long name"}),
    );
    let scene = Scene::new([in_pieces(&call, 3)]).await;
    let events = events(&scene.post(PATH, &streamed(json!({}))).await);
    let fragments = events
        .iter()
        .filter(|event| event["delta"]["type"] == "input_json_delta");
    assert!(fragments.count() > 5);
}

#[tokio::test]
async fn a_thread_is_refused_so_that_the_sdks_send_everything() {
    let scene = Scene::new(["x"]).await;
    let answer = scene
        .post(PATH, &ask(json!({"thread": {"type": "create"}})))
        .await;
    assert_eq!((answer.status, scene.times()), (400, 0));
    let error = &answer.json()["error"];
    assert_eq!(error["details"]["error_code"], "thread_unsupported_request");
}
