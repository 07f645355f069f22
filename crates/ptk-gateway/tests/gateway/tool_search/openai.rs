//! The search of the responses API.

use serde_json::{Value, json};

use super::{ABOUT, DEFERRED, about, find, names, native, shown};
use crate::responses::{check, events};
use crate::scene::{Scene, call, in_pieces, weather};

const PATH: &str = "/v1/responses";

/// The definition of a tool, as the client writes it.
fn function(name: &str) -> Value {
    let parameters = weather();
    json!({"type": "function", "name": name, "description": about(name), "parameters": parameters})
}

fn deferred(name: &str) -> Value {
    let mut function = function(name);
    function["defer_loading"] = true.into();
    function
}

/// The tools of a request: the search, one that is defined, and four that are
/// deferred.
fn tools() -> Vec<Value> {
    let first = [
        json!({"type": "tool_search"}),
        json!({"type": "function", "name": "get_time", "description": "Tell the time", "parameters": {"type": "object", "properties": {}}}),
    ];
    first.into_iter().chain(DEFERRED.map(deferred)).collect()
}

fn ask(tools: &[Value], input: &Value, stream: bool) -> Value {
    json!({"model": "tiny", "tools": tools, "input": input, "stream": stream})
}

/// The whole response, whether it was streamed or not.
async fn answer(scene: &Scene, body: &Value) -> Value {
    let answer = scene.post(PATH, body).await;
    assert_eq!(answer.status, 200, "{}", answer.text);
    if body["stream"] != true {
        return answer.json();
    }
    let events = events(&answer.text);
    check(&events);
    // Each item begins and ends, in the order of the output.
    let done = events
        .iter()
        .filter(|it| it["type"] == "response.output_item.done");
    let done: Vec<Value> = done.map(|event| event["item"].clone()).collect();
    let added = events
        .iter()
        .filter(|it| it["type"] == "response.output_item.added");
    assert_eq!(added.count(), done.len());
    let response = events.last().unwrap()["response"].clone();
    assert_eq!(response["output"], Value::from(done));
    response
}

fn kinds(response: &Value) -> Vec<&str> {
    let items = response["output"].as_array().unwrap().iter();
    items.map(|item| item["type"].as_str().unwrap()).collect()
}

fn weather_call() -> String {
    call("get_weather", &json!({"city": "Oslo", "days": "2"}))
}

#[tokio::test]
async fn the_gateway_searches_for_a_model_that_only_writes_text() {
    for size in [1, 7, 1000] {
        for stream in [false, true] {
            let reply = format!("Let me see.\n{}", find("weather forecast"));
            let scene =
                Scene::new([in_pieces(&reply, size), in_pieces(&weather_call(), size)]).await;
            let response = answer(&scene, &ask(&tools(), &json!("Rain in Oslo?"), stream)).await;
            assert_eq!(
                kinds(&response),
                [
                    "message",
                    "tool_search_call",
                    "tool_search_output",
                    "function_call"
                ]
            );
            let [_, search, found, made] = response["output"].as_array().unwrap().as_slice() else {
                panic!("{response}")
            };
            assert_eq!(search["execution"], "server");
            assert_eq!(search["call_id"], Value::Null);
            assert_eq!(search["arguments"], json!({"query": "weather forecast"}));
            assert_eq!(found["status"], "completed");
            assert_eq!(found["tools"], json!([deferred("get_weather")]));
            assert_eq!(made["name"], "get_weather");
            assert_eq!(made["arguments"], r#"{"city":"Oslo","days":2}"#);
            assert_eq!(response["status"], "completed");
            assert!(made.get("namespace").is_none());

            let [first, second] = &scene.requests()[..] else {
                panic!("two requests")
            };
            let (before, after) = (shown(first), shown(second));
            assert!(before.contains("get_time") && before.contains("find_tools"));
            assert!(before.contains("- get_weather: Get the weather forecast"));
            assert!(!before.contains(ABOUT) && after.contains(ABOUT));
            assert_eq!(first.system, second.system);
            assert!(second.messages.starts_with(&first.messages));
        }
    }
}

#[tokio::test]
async fn what_was_found_is_known_in_the_next_request() {
    let replies = [
        find("weather"),
        weather_call(),
        find("quux"),
        "Rain.".to_owned(),
    ];
    let scene = Scene::new(replies).await;
    let mut input = vec![json!({"role": "user", "content": "Rain in Oslo?"})];
    let first = answer(&scene, &ask(&tools(), &input.clone().into(), false)).await;
    input.extend(first["output"].as_array().unwrap().iter().cloned());
    let id = first["output"][2]["call_id"].clone();
    input.push(json!({"type": "function_call_output", "call_id": id, "output": "Rain"}));
    let second = answer(&scene, &ask(&tools(), &input.into(), true)).await;
    assert_eq!(
        kinds(&second),
        ["tool_search_call", "tool_search_output", "message"]
    );
    assert_eq!(second["output"][1]["tools"], json!([]));
    let requests = scene.requests();
    assert_eq!(requests.len(), 4);
    for pair in requests.windows(2) {
        assert_eq!(pair[0].system, pair[1].system);
        assert!(
            pair[1].messages.starts_with(&pair[0].messages),
            "{:#?}\n{:#?}",
            pair[0].messages,
            pair[1].messages
        );
    }
    assert!(shown(&requests[3]).contains("4 tools without a prefix"));
}

#[tokio::test]
async fn native_models_get_found_tools_behind_the_others() {
    let replies = native(&[
        ("find_tools", json!({"query": "book_room", "limit": 1})),
        ("find_tools", json!({"query": "weather", "limit": 1})),
        ("get_weather", json!({"city": "Oslo"})),
    ]);
    let scene = Scene::new(replies).await;
    let response = answer(&scene, &ask(&tools(), &json!("Rain?"), true)).await;
    let [search, found] = ["tool_search_call", "tool_search_output"];
    assert_eq!(
        kinds(&response),
        [search, found, search, found, "function_call"]
    );
    let requests = scene.requests();
    let base = ["get_time", "find_tools"];
    assert_eq!(names(&requests[0]), base);
    assert_eq!(names(&requests[1]), [&base[..], &["book_room"]].concat());
    assert_eq!(
        names(&requests[2]),
        [&base[..], &["book_room", "get_weather"]].concat()
    );
    let system = requests[0].system.as_deref().unwrap();
    assert!(system.contains("- send_mail: Send an e-mail to a person"));
}

#[tokio::test]
async fn a_deferred_tool_can_be_called_without_a_search() {
    let scene = Scene::new([weather_call()]).await;
    let response = answer(&scene, &ask(&tools(), &json!("Rain?"), false)).await;
    assert_eq!(kinds(&response), ["function_call"]);
    assert_eq!(scene.times(), 1);
    // A tool that is to be called is defined.
    let scene = Scene::new([weather_call()]).await;
    let mut body = ask(&tools(), &json!("Rain?"), false);
    body["tool_choice"] = json!({"type": "function", "name": "get_weather"});
    answer(&scene, &body).await;
    assert!(scene.shown().contains(ABOUT));
    // Without a search, nothing is hidden for good.
    let scene = Scene::new(["Hello."]).await;
    let tools = DEFERRED.map(deferred);
    answer(&scene, &ask(&tools, &json!("Rain?"), false)).await;
    assert!(scene.shown().contains(ABOUT));
}

#[tokio::test]
async fn searches_and_calls_of_one_reply_both_count() {
    let both = format!("{}\n{}", find("weather"), call("get_time", &json!({})));
    let scene = Scene::new([both]).await;
    let response = answer(&scene, &ask(&tools(), &json!("Now?"), true)).await;
    assert_eq!(
        kinds(&response),
        ["tool_search_call", "tool_search_output", "function_call"]
    );
    assert_eq!(scene.times(), 1);
}

#[tokio::test]
async fn a_model_that_never_stops_searching_is_stopped() {
    let scene = Scene::new((0..30).map(|number| find(&format!("thing {number}")))).await;
    let answer = scene
        .post(PATH, &ask(&tools(), &json!("Rain?"), false))
        .await;
    assert_eq!(answer.status, 502, "{}", answer.text);
    assert!(scene.times() <= 9, "{} requests", scene.times());
}

fn namespace(name: &str, tools: &[Value]) -> Value {
    json!({"type": "namespace", "name": name, "description": format!("About {name}"), "tools": tools})
}

#[tokio::test]
async fn tools_of_namespaces_keep_their_names_apart() {
    for stream in [false, true] {
        let tools = [
            json!({"type": "tool_search"}),
            namespace(
                "mcp__home",
                &[deferred("get_weather"), deferred("list_rooms")],
            ),
            namespace("mcp__away", &[function("get_weather")]),
        ];
        let home = call("mcp__home__get_weather", &json!({"city": "Oslo"}));
        let away = call("mcp__away__get_weather", &json!({"city": "Hue"}));
        let replies = [
            find("weather at home"),
            format!("{home}\n{away}"),
            "Rain.".to_owned(),
        ];
        let scene = Scene::new(replies).await;
        let mut input = vec![json!({"role": "user", "content": "Rain?"})];
        let response = answer(&scene, &ask(&tools, &input.clone().into(), stream)).await;
        let output = response["output"].as_array().unwrap();
        let group = &output[1]["tools"][0];
        assert_eq!(group["name"], "mcp__home");
        assert_eq!(group["description"], "About mcp__home");
        assert_eq!(group["tools"][0], deferred("get_weather"));
        let called = |item: &Value| (item["namespace"].clone(), item["name"].clone());
        assert_eq!(
            called(&output[2]),
            (json!("mcp__home"), json!("get_weather"))
        );
        assert_eq!(
            called(&output[3]),
            (json!("mcp__away"), json!("get_weather"))
        );

        input.extend(output.iter().cloned());
        for item in &output[2..] {
            input.push(json!({"type": "function_call_output", "call_id": item["call_id"], "output": "Rain"}));
        }
        answer(&scene, &ask(&tools, &input.into(), stream)).await;
        let [.., before, last] = &scene.requests()[..] else {
            panic!("three requests")
        };
        assert!(last.messages.starts_with(&before.messages));
        assert!(shown(last).contains("mcp__away__get_weather"));
    }
}

/// The search as codex asks for it: it has the tools, and runs the search.
#[tokio::test]
async fn a_search_of_the_client_is_passed_on() {
    let search = json!({
        "type": "tool_search", "execution": "client", "description": "Sources: weather.",
        "parameters": {"type": "object", "properties": {"query": {"type": "string"}, "limit": {"type": "number"}}, "required": ["query"]},
    });
    let tools = [function("list_rooms"), search];
    for (is_native, stream) in [(false, false), (false, true), (true, true)] {
        let made = json!({"query": "weather", "limit": 3});
        let city = json!({"city": "Oslo"});
        let replies = if is_native {
            native(&[
                ("tool_search", made.clone()),
                ("mcp__weather__get_weather", city),
                ("Rain.", Value::Null),
            ])
        } else {
            let texts = [
                call("tool_search", &made),
                call("mcp__weather__get_weather", &city),
                "Rain.".to_owned(),
            ];
            texts.map(Into::into).into()
        };
        let scene = Scene::new(replies).await;
        let mut input = vec![json!({"role": "user", "content": "Rain?"})];
        let response = answer(&scene, &ask(&tools, &input.clone().into(), stream)).await;
        let item = &response["output"][0];
        assert_eq!(
            (&item["type"], &item["execution"]),
            (&json!("tool_search_call"), &json!("client"))
        );
        assert_eq!(item["arguments"], made);
        assert!(shown(&scene.asked()).contains("Sources: weather.") || is_native);

        let found = namespace("mcp__weather", &[deferred("get_weather")]);
        input.push(item.clone());
        input.push(json!({
            "type": "tool_search_output", "call_id": item["call_id"], "execution": "client",
            "status": "completed", "tools": [found],
        }));
        let response = answer(&scene, &ask(&tools, &input.clone().into(), stream)).await;
        let item = &response["output"][0];
        assert_eq!(
            (&item["namespace"], &item["name"]),
            (&json!("mcp__weather"), &json!("get_weather"))
        );
        if is_native {
            let wanted = ["list_rooms", "tool_search", "mcp__weather__get_weather"];
            assert_eq!(names(&scene.asked()), wanted);
        } else {
            assert!(scene.shown().contains(ABOUT));
        }
        input.push(item.clone());
        input.push(
            json!({"type": "function_call_output", "call_id": item["call_id"], "output": "Rain"}),
        );
        answer(&scene, &ask(&tools, &input.into(), stream)).await;
        let [first, second, third] = &scene.requests()[..] else {
            panic!("three requests")
        };
        assert!(second.messages.starts_with(&first.messages));
        assert!(third.messages.starts_with(&second.messages));
        assert_eq!(second.system, third.system);
    }
}
