//! Ollama's API.

use ptk_llm::{Message, Script};
use serde_json::{Value, json};

use crate::scene::{Answer, SIZES, Scene, call, failing, in_all_sizes, limited, replies, weather};

const PATH: &str = "/api/chat";

fn tools() -> Value {
    json!([
        {"type": "function", "function": {"name": "get_weather", "description": "The weather of a city", "parameters": weather()}},
        {"type": "function", "function": {"name": "get_time", "parameters": {"type": "object", "properties": {"zone": {"type": "string"}}}}},
    ])
}

/// A request with these fields beside the common ones; it streams unless they
/// say otherwise.
fn ask(more: Value) -> Value {
    let mut ask = json!({
        "model": "tiny",
        "tools": tools(),
        "messages": [{"role": "user", "content": "What is the weather in Hà Nội?"}],
    });
    let Value::Object(more) = more else {
        panic!("{more}")
    };
    ask.as_object_mut().unwrap().extend(more);
    ask
}

fn whole(more: Value) -> Value {
    let mut ask = ask(more);
    ask["stream"] = false.into();
    ask
}

fn lines(answer: &Answer) -> Vec<Value> {
    assert_eq!(
        (answer.status, answer.kind()),
        (200, "application/x-ndjson")
    );
    let lines = answer.text.lines();
    lines
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

/// The answer that a stream adds up to.
fn folded(lines: &[Value]) -> Value {
    let (last, before) = lines.split_last().unwrap();
    let mut answer = last.clone();
    assert_eq!(last["done"], true);
    assert_eq!(last["message"], json!({"role": "assistant", "content": ""}));
    let mut texts = [String::new(), String::new()];
    let mut calls: Vec<Value> = Vec::new();
    for line in before {
        assert_eq!(line["done"], false);
        assert_eq!(line["model"], last["model"]);
        assert!(line["created_at"].is_string());
        let message = line["message"].as_object().unwrap();
        assert_eq!(message["role"], "assistant");
        for (text, field) in texts.iter_mut().zip(["content", "thinking"]) {
            let more = message.get(field).map_or("", |more| more.as_str().unwrap());
            text.push_str(more);
        }
        if let Some(more) = message.get("tool_calls") {
            calls.extend(more.as_array().unwrap().iter().cloned());
        }
    }
    let [content, thinking] = texts;
    answer["message"]["content"] = content.into();
    if !thinking.is_empty() {
        answer["message"]["thinking"] = thinking.into();
    }
    if !calls.is_empty() {
        answer["message"]["tool_calls"] = calls.into();
    }
    answer
}

/// The same answer without ids and times.
fn timeless(mut answer: Value) -> Value {
    answer["created_at"] = "".into();
    assert!(answer["total_duration"].as_u64().unwrap() > 0);
    answer["total_duration"] = 0.into();
    if let Some(calls) = answer["message"].get_mut("tool_calls") {
        for (index, call) in calls.as_array_mut().unwrap().iter_mut().enumerate() {
            assert!(!call["id"].as_str().unwrap().is_empty());
            assert_eq!(call["index"], index);
            assert_eq!(call["function"]["index"], index);
            call["id"] = "".into();
        }
    }
    answer
}

#[tokio::test]
async fn a_call_goes_out_whole() {
    let arguments = json!({"city": "Hà Nội", "days": 2});
    let scene = Scene::new([format!(
        "<think>Where?</think>I look.\n{}",
        call("get_weather", &arguments)
    )])
    .await;
    let answer = scene.post(PATH, &whole(json!({}))).await;
    assert_eq!((answer.status, answer.kind()), (200, "application/json"));
    let answer = answer.json();
    let id = &answer["message"]["tool_calls"][0]["id"];
    assert_eq!(
        answer["message"],
        json!({
            "role": "assistant",
            "content": "I look.",
            "thinking": "Where?",
            "tool_calls": [{"id": id, "index": 0, "function": {"index": 0, "name": "get_weather", "arguments": arguments}}],
        })
    );
    assert_eq!(answer["model"], "tiny");
    assert_eq!(answer["done"], true);
    assert_eq!(answer["done_reason"], "stop");
    assert!(answer["prompt_eval_count"].is_u64());
    assert!(answer["eval_count"].is_u64());
}

#[tokio::test]
async fn a_stream_comes_to_the_whole_message_however_it_is_cut() {
    // Nothing of a call is sent before it is complete, so each can be
    // corrected.
    let right =
        "<tool_call>{\"name\": \"get_weather\", \"arguments\": {\"city\": \"Oslo\"}}</tool_call>";
    let wrong = [
        right.replace("city", "town"),
        right.replace("\"city\": \"Oslo\"", ""),
        right.replace("slo\"}}</tool_call>", ""),
    ];
    let wrong = wrong.map(|wrong| (format!("I look.\n{wrong}").into(), Some(right)));
    for (reply, again) in replies().into_iter().chain(wrong) {
        let scene = Scene::new(in_all_sizes(&reply, again)).await;
        let stream = Scene::new(in_all_sizes(&reply, again)).await;
        let expected = scene.post(PATH, &whole(json!({}))).await;
        assert_eq!(expected.status, 200, "{}", expected.text);
        let expected = timeless(expected.json());
        for size in SIZES {
            let streamed = lines(&stream.post(PATH, &ask(json!({}))).await);
            assert_eq!(
                stream.times(),
                (size + 1) * if again.is_some() { 2 } else { 1 }
            );
            assert_eq!(
                timeless(folded(&streamed)),
                expected,
                "{reply:?} in pieces of {size}"
            );
        }
    }
}

#[tokio::test]
async fn several_calls_are_numbered() {
    let one = call("get_weather", &json!({"city": "Oslo"}));
    let other = call("get_time", &json!({"zone": "UTC"}));
    let scene = Scene::new([format!("{one}\n{other}")]).await;
    let answer = timeless(folded(&lines(&scene.post(PATH, &ask(json!({}))).await)));
    assert_eq!(
        answer["message"]["tool_calls"],
        json!([
            {"id": "", "index": 0, "function": {"index": 0, "name": "get_weather", "arguments": {"city": "Oslo"}}},
            {"id": "", "index": 1, "function": {"index": 1, "name": "get_time", "arguments": {"zone": "UTC"}}},
        ])
    );
}

#[tokio::test]
async fn a_call_that_breaks_off_is_no_call() {
    let reply = "<tool_call>\n{\"name\": \"get_weather\", \"arguments\": {\"city\": \"Hà N";
    let scene = Scene::new([limited(reply), limited(reply)]).await;
    let answer = scene.post(PATH, &whole(json!({}))).await.json();
    let stream = folded(&lines(&scene.post(PATH, &ask(json!({}))).await));
    for answer in [answer, stream] {
        assert_eq!(answer["done_reason"], "length");
        assert!(answer["message"].get("tool_calls").is_none());
        let problem = answer["ptk"]["problems"]
            .as_array()
            .unwrap()
            .last()
            .unwrap();
        assert_eq!(problem["code"], "truncated_tool_call");
        assert!(problem["raw"].as_str().unwrap().contains("Hà N"));
    }
}

#[tokio::test]
async fn results_find_their_calls_by_name_and_by_order() {
    let scene = Scene::new(["Thanks.", "Thanks."]).await;
    let messages = json!([
        {"role": "system", "content": "You are a bot."},
        {"role": "user", "content": "Weather and time?"},
        {"role": "assistant", "content": "", "thinking": "Hidden thoughts", "tool_calls": [
            {"function": {"name": "get_weather", "arguments": {"city": "Oslo"}}},
            {"function": {"name": "get_time", "arguments": "{\"zone\": \"UTC\"}"}},
            {"function": {"name": "get_weather", "arguments": {"city": "Bergen"}}},
        ]},
        {"role": "tool", "tool_name": "get_time", "content": "noon"},
        {"role": "tool", "name": "get_weather", "content": "cold"},
        {"role": "tool", "content": "wet"},
    ]);
    let body = ask(json!({"messages": messages}));
    let answer = scene.post(PATH, &body).await;
    assert_eq!(answer.status, 200, "{}", answer.text);
    let shown = scene.shown();
    assert!(shown.contains("You are a bot."));
    assert!(!shown.contains("Hidden thoughts"));
    // Several results are distinguished by the ids of their calls.
    for (id, result) in [
        ("call_2_1", "noon"),
        ("call_2_0", "cold"),
        ("call_2_2", "wet"),
    ] {
        let (before, _) = shown.split_once(result).unwrap();
        let (_, last) = before.rsplit_once("call_2_").unwrap();
        assert!(
            format!("call_2_{last}").starts_with(id),
            "{result} in {shown}"
        );
    }
}

#[tokio::test]
async fn results_find_their_calls_by_id() {
    let calls = json!({"tool_calls": [{"name": "get_time"}]});
    let scene = Scene::with(
        Script::new([serde_json::from_value::<ptk_llm::ScriptedReply>(calls).unwrap()]),
        |builder| builder,
    )
    .await;
    let messages = json!([
        {"role": "user", "content": "Weather?"},
        {"role": "assistant", "tool_calls": [
            {"id": "a", "function": {"name": "get_weather", "arguments": {"city": "Oslo"}}},
            {"id": "b", "function": {"name": "get_weather", "arguments": {"city": "Bergen"}}},
        ]},
        {"role": "tool", "tool_call_id": "b", "tool_name": "get_weather", "content": "wet"},
        {"role": "tool", "tool_call_id": "a", "tool_name": "get_weather", "content": "cold"},
    ]);
    let answer = scene
        .post(PATH, &whole(json!({"messages": messages})))
        .await;
    assert_eq!(
        answer.json()["message"]["tool_calls"][0]["function"]["arguments"],
        json!({})
    );
    let results: Vec<(String, String)> = scene
        .conversation()
        .into_iter()
        .filter_map(|message| match message {
            Message::Result { id, text, .. } => Some((id, text)),
            _ => None,
        })
        .collect();
    let expected = [("b", "wet"), ("a", "cold")];
    assert_eq!(
        results,
        expected.map(|(id, text)| (id.to_owned(), text.to_owned()))
    );
}

#[tokio::test]
async fn options_reach_the_model() {
    let scene = Scene::new(["one two STOP three", "one STOP"]).await;
    let more = json!({
        "options": {"temperature": 0.5, "top_p": 0.25, "top_k": 7, "seed": 11, "num_predict": 99, "stop": ["STOP"], "num_ctx": 4096},
        "think": "high",
        "keep_alive": "5m",
    });
    let answer = scene.post(PATH, &whole(more)).await.json();
    assert_eq!(answer["message"]["content"], "one two");
    assert_eq!(answer["done_reason"], "stop");
    let asked = scene.asked();
    assert_eq!(asked.sampling.temperature, Some(0.5));
    assert_eq!(asked.sampling.top_p, Some(0.25));
    assert_eq!(asked.sampling.top_k, Some(7));
    assert_eq!(asked.sampling.seed, Some(11));
    assert_eq!(asked.max_tokens, Some(99));
    let more = json!({"options": {"num_predict": -1, "stop": "STOP"}, "think": false});
    let answer = scene.post(PATH, &whole(more)).await.json();
    assert_eq!(answer["message"]["content"], "one");
    assert_eq!(scene.asked().max_tokens, None);
}

#[tokio::test]
async fn an_answer_has_the_form_that_was_asked_for() {
    let schema =
        json!({"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]});
    let cases = [(json!("json"), "{\"m\":1}"), (schema, "{\"n\":7}")];
    for (format, expected) in cases {
        let scene = Scene::new(["{'m': 1}", "{'n': 7,}"]).await;
        let answer = scene
            .post(PATH, &ask(json!({"format": format, "tools": null})))
            .await;
        assert_eq!(folded(&lines(&answer))["message"]["content"], expected);
    }
    let scene = Scene::new(["Hello."]).await;
    let answer = scene.post(PATH, &whole(json!({"format": ""}))).await;
    assert_eq!(answer.json()["message"]["content"], "Hello.");
}

#[tokio::test]
async fn an_error_before_the_first_byte_is_a_status() {
    for (upstream, status) in [(429, 429), (500, 500)] {
        for body in [ask(json!({})), whole(json!({}))] {
            let scene = Scene::new([failing("", upstream)]).await;
            let answer = scene.post(PATH, &body).await;
            assert_eq!((answer.status, answer.kind()), (status, "application/json"));
            assert!(answer.json()["error"].as_str().unwrap().contains("no more"));
        }
    }
}

#[tokio::test]
async fn an_error_behind_the_first_byte_is_a_line() {
    let scene = Scene::new([failing("It is ", 500)]).await;
    let lines = lines(&scene.post(PATH, &ask(json!({}))).await);
    assert_eq!(lines[0]["message"]["content"], "It is");
    let last = lines.last().unwrap();
    assert!(last["error"].as_str().unwrap().contains("no more"));
    assert!(lines.iter().all(|line| line["done"] != true));
}

#[tokio::test]
async fn a_wrong_request_is_refused_and_nobody_is_asked() {
    let message = |message: Value| json!({"messages": [message]});
    let reply = |function: Value| json!({"messages": [{"role": "assistant", "tool_calls": [{"function": function}]}]});
    let results = |results: Value| {
        let mut messages = vec![
            json!({"role": "user", "content": "Time?"}),
            json!({"role": "assistant", "tool_calls": [{"function": {"name": "get_time", "arguments": {}}}]}),
        ];
        messages.extend(results.as_array().unwrap().iter().cloned());
        json!({"messages": messages})
    };
    let cases = [
        (json!({"model": null}), "model"),
        (json!({"model": 7}), "model"),
        (json!({"messages": "Hello"}), "messages"),
        (message(json!({"content": "Hello"})), "role"),
        (
            message(json!({"role": "robot", "content": "Hello"})),
            "robot",
        ),
        (message(json!({"role": "user", "content": 7})), "messages"),
        (
            message(json!({"role": "user", "content": "See", "images": ["aGk="]})),
            "image",
        ),
        (
            message(json!({"role": "tool", "tool_name": "get_time", "content": "noon"})),
            "get_time",
        ),
        (
            results(json!([{"role": "tool", "tool_name": "fly", "content": "x"}])),
            "fly",
        ),
        (
            results(json!([{"role": "tool", "content": "x"}, {"role": "tool", "content": "y"}])),
            "messages[3]",
        ),
        (reply(json!({"arguments": {}})), "name"),
        (reply(json!({"name": "a", "arguments": [1]})), "object"),
        (json!({"tools": {}}), "tools"),
        (json!({"tools": [{"type": "function"}]}), "function"),
        (json!({"format": "xml"}), "json"),
        (json!({"format": 7}), "format"),
        (json!({"options": 7}), "options"),
        (json!({"options": {"temperature": "hot"}}), "temperature"),
        (json!({"options": {"num_predict": "many"}}), "num_predict"),
        (json!({"options": {"stop": 7}}), "stop"),
        (json!({"stream": "yes"}), "stream"),
    ];
    let scene = Scene::new(["Hello."]).await;
    for (more, names) in cases {
        let answer = scene.post(PATH, &ask(more.clone())).await;
        assert_eq!(answer.status, 400, "{more}: {}", answer.text);
        let error = answer.json();
        let message = error["error"].as_str().unwrap();
        assert!(message.contains(names), "{more}: {message}");
    }
    let unknown = scene.post(PATH, &ask(json!({"model": "huge"}))).await;
    assert_eq!(unknown.status, 404);
    assert!(unknown.json()["error"].as_str().unwrap().contains("tiny"));
    assert_eq!(scene.times(), 0);
}

#[tokio::test]
async fn a_request_without_messages_loads_the_model() {
    let scene = Scene::new(["Hello."]).await;
    for messages in [json!(null), json!([])] {
        let answer = scene
            .post(PATH, &whole(json!({"messages": messages})))
            .await;
        assert_eq!(answer.json()["done_reason"], "load");
        assert_eq!(answer.json()["done"], true);
    }
    assert_eq!(scene.times(), 0);
    let unknown = scene.post(PATH, &json!({"model": "huge"})).await;
    assert_eq!(unknown.status, 404);
}

#[tokio::test]
async fn a_model_without_a_tag_is_its_latest() {
    let scene = Scene::new(["Hello."]).await;
    let answer = scene
        .post(PATH, &whole(json!({"model": "tiny:latest"})))
        .await;
    assert_eq!(answer.json()["message"]["content"], "Hello.");
    let show = scene
        .post("/api/show", &json!({"model": "tiny:latest"}))
        .await;
    assert_eq!(show.status, 200);
    let other = scene.post(PATH, &whole(json!({"model": "tiny:7b"}))).await;
    assert_eq!(other.status, 404);
}

#[tokio::test]
async fn models_are_listed_and_shown() {
    let scene = Scene::new(["Hello."]).await;
    let tags = scene.get("/api/tags", "*/*").await.json();
    assert_eq!(tags["models"][0]["name"], "tiny");
    assert_eq!(tags["models"][0]["model"], "tiny");
    assert_eq!(tags["models"].as_array().unwrap().len(), 1);
    for body in [json!({"model": "tiny"}), json!({"name": "tiny"})] {
        let show = scene.post("/api/show", &body).await.json();
        assert_eq!(show["capabilities"], json!(["completion", "tools"]));
    }
    let unknown = scene.post("/api/show", &json!({"model": "huge"})).await;
    assert_eq!(unknown.status, 404);
    assert!(unknown.json()["error"].is_string());
    assert_eq!(scene.post("/api/show", &json!({})).await.status, 400);
    assert_eq!(
        scene.post("/api/show", &json!({"model": 7})).await.status,
        400
    );
    let version = scene.get("/api/version", "*/*").await.json();
    let version = version["version"].as_str().unwrap();
    let numbers: Vec<&str> = version.split('-').next().unwrap().split('.').collect();
    assert_eq!(numbers.len(), 3);
    assert!(numbers.iter().all(|number| number.parse::<u32>().is_ok()));
}
