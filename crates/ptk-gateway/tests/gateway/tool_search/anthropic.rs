//! The searches of Anthropic's API.

use serde_json::{Value, json};

use super::{ABOUT, DEFERRED, about, find, names, native, shown};
use crate::messages::{events, folded};
use crate::scene::{Scene, call, in_pieces, weather};

const PATH: &str = "/v1/messages";

fn tools(kind: &str) -> Vec<Value> {
    let name = kind.trim_end_matches("_20251119");
    let first = [
        json!({"type": kind, "name": name}),
        json!({"name": "get_time", "description": "Tell the time", "input_schema": {"type": "object"}}),
    ];
    let others = DEFERRED.map(|name| {
        json!({"name": name, "description": about(name), "input_schema": weather(), "defer_loading": true})
    });
    first.into_iter().chain(others).collect()
}

fn ask(tools: &[Value], messages: &[Value], stream: bool) -> Value {
    json!({"model": "tiny", "max_tokens": 512, "tools": tools, "messages": messages, "stream": stream})
}

async fn answer(scene: &Scene, body: &Value) -> Value {
    let answer = scene.post(PATH, body).await;
    assert_eq!(answer.status, 200, "{}", answer.text);
    if body["stream"] == true {
        return folded(&events(&answer));
    }
    answer.json()
}

fn weather_call() -> String {
    call("get_weather", &json!({"city": "Oslo"}))
}

#[tokio::test]
async fn a_search_is_run_and_told_as_the_server_would() {
    for (kind, field) in [
        ("tool_search_tool_bm25_20251119", "query"),
        ("tool_search_tool_regex_20251119", "pattern"),
    ] {
        for stream in [false, true] {
            let first = format!("Let me see.\n{}", find("weather|forecast"));
            let replies = [first, weather_call(), "Rain.".to_owned()];
            let scene = Scene::new(replies.map(|reply| in_pieces(&reply, 5))).await;
            let tools = tools(kind);
            let mut messages = vec![json!({"role": "user", "content": "Rain in Oslo?"})];
            let message = answer(&scene, &ask(&tools, &messages, stream)).await;
            assert_eq!(message["stop_reason"], "tool_use");
            let [text, search, found, made] = message["content"].as_array().unwrap().as_slice()
            else {
                panic!("{message}")
            };
            assert_eq!(text["text"], "Let me see.");
            assert_eq!(search["type"], "server_tool_use");
            assert_eq!(search["name"], kind.trim_end_matches("_20251119"));
            assert_eq!(search["input"], json!({field: "weather|forecast"}));
            assert!(search["id"].as_str().unwrap().starts_with("srvtoolu_"));
            assert_eq!(found["type"], "tool_search_tool_result");
            assert_eq!(found["tool_use_id"], search["id"]);
            assert_eq!(
                found["content"],
                json!({"type": "tool_search_tool_search_result", "tool_references": [{"type": "tool_reference", "tool_name": "get_weather"}]})
            );
            assert_eq!(
                (&made["type"], &made["name"]),
                (&json!("tool_use"), &json!("get_weather"))
            );

            messages.push(json!({"role": "assistant", "content": message["content"]}));
            let result =
                json!({"type": "tool_result", "tool_use_id": made["id"], "content": "Rain"});
            messages.push(json!({"role": "user", "content": [result]}));
            let message = answer(&scene, &ask(&tools, &messages, stream)).await;
            assert_eq!(message["content"][0]["text"], "Rain.");
            let [first, second, third] = &scene.requests()[..] else {
                panic!("three requests")
            };
            assert!(!shown(first).contains(ABOUT) && shown(second).contains(ABOUT));
            assert_eq!(first.system, third.system);
            assert!(second.messages.starts_with(&first.messages));
            assert!(third.messages.starts_with(&second.messages), "{third:#?}");
        }
    }
}

#[tokio::test]
async fn nothing_found_is_an_empty_list_and_the_model_is_told() {
    let scene = Scene::new([find("quux"), "I cannot.".to_owned()]).await;
    let tools = tools("tool_search_tool_bm25_20251119");
    let messages = [json!({"role": "user", "content": "Quux it"})];
    let message = answer(&scene, &ask(&tools, &messages, true)).await;
    assert_eq!(
        message["content"][1]["content"]["tool_references"],
        json!([])
    );
    assert_eq!(message["content"][2]["text"], "I cannot.");
    assert_eq!(message["stop_reason"], "end_turn");
    assert!(scene.shown().contains("No tool fits"));
}

#[tokio::test]
async fn native_models_get_found_tools_behind_the_others() {
    let replies = native(&[
        ("find_tools", json!({"query": "weather"})),
        ("get_weather", json!({"city": "Oslo"})),
        ("Rain.", Value::Null),
    ]);
    let scene = Scene::new(replies).await;
    let tools = tools("tool_search_tool_bm25");
    let mut messages = vec![json!({"role": "user", "content": "Rain?"})];
    let message = answer(&scene, &ask(&tools, &messages, true)).await;
    assert_eq!(message["content"][2]["name"], "get_weather");
    messages.push(json!({"role": "assistant", "content": message["content"]}));
    let made = &message["content"][2]["id"];
    let result = json!({"type": "tool_result", "tool_use_id": made, "content": "Rain"});
    messages.push(json!({"role": "user", "content": [result]}));
    answer(&scene, &ask(&tools, &messages, true)).await;
    let requests = scene.requests();
    assert_eq!(names(&requests[0]), ["get_time", "find_tools"]);
    let found = ["get_time", "find_tools", "get_weather"];
    assert_eq!(names(&requests[1]), found);
    assert_eq!(names(&requests[2]), found);
    assert!(requests[2].messages.starts_with(&requests[1].messages));
}

/// The search as Claude Code runs it itself: its tool refers to what it found.
#[tokio::test]
async fn tools_that_a_result_refers_to_are_known() {
    let mut tools = tools("tool_search_tool_bm25");
    tools[0] = json!({"name": "ToolSearch", "description": "Search for tools", "input_schema": {"type": "object", "properties": {"query": {"type": "string"}}}});
    let first = call("ToolSearch", &json!({"query": "weather"}));
    let scene = Scene::new([first, weather_call()]).await;
    let mut messages = vec![json!({"role": "user", "content": "Rain?"})];
    let message = answer(&scene, &ask(&tools, &messages, false)).await;
    assert_eq!(message["content"][0]["name"], "ToolSearch");
    let before = scene.shown();
    assert!(
        !before.contains(ABOUT) && !before.contains("find_tools"),
        "{before}"
    );
    messages.push(json!({"role": "assistant", "content": message["content"]}));
    let content = json!([
        {"type": "text", "text": "One match."},
        {"type": "tool_reference", "tool_name": "get_weather"},
    ]);
    let id = &message["content"][0]["id"];
    let result = json!({"type": "tool_result", "tool_use_id": id, "content": content});
    messages.push(json!({"role": "user", "content": [result]}));
    let message = answer(&scene, &ask(&tools, &messages, false)).await;
    assert_eq!(message["content"][0]["name"], "get_weather");
    let after = scene.shown();
    assert!(
        after.contains(ABOUT) && after.contains("One match."),
        "{after}"
    );
}

#[tokio::test]
async fn tokens_are_counted_without_what_is_deferred() {
    let scene = Scene::new(["x"]).await;
    let messages = [json!({"role": "user", "content": "Rain?"})];
    let count = async |tools: Vec<Value>| {
        let body = ask(&tools, &messages, false);
        let answer = scene.post("/v1/messages/count_tokens", &body).await;
        answer.json()["input_tokens"].as_u64().unwrap()
    };
    let many = |is_deferred: bool| {
        let mut tools = tools("tool_search_tool_bm25");
        for number in 0..50 {
            let name = format!("tool_{number}");
            tools.push(json!({"name": name, "description": ABOUT, "input_schema": weather(), "defer_loading": true}));
        }
        for tool in tools.iter_mut().filter(|_| !is_deferred) {
            tool.as_object_mut().unwrap().remove("defer_loading");
        }
        tools
    };
    let (with, without) = (count(many(true)).await, count(many(false)).await);
    assert!(with * 2 < without, "{with} of {without}");
}
