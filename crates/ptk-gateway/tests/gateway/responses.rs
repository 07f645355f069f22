//! The endpoint `/v1/responses`.

use serde_json::{Value, json};

use crate::scene::{Scene, call, failing, in_all_sizes, replies, weather};

const PATH: &str = "/v1/responses";

fn request(more: &Value) -> Value {
    let zone = json!({"type": "object", "properties": {"zone": {"type": "string"}}});
    let mut request = json!({
        "model": "tiny",
        "input": "What is the weather?",
        "tools": [
            {"type": "function", "name": "get_weather", "parameters": weather()},
            {"type": "function", "name": "get_time", "parameters": zone},
        ],
    });
    request
        .as_object_mut()
        .unwrap()
        .extend(more.as_object().unwrap().clone());
    request
}

/// The events of a stream, numbered without a gap.
pub(crate) fn events(text: &str) -> Vec<Value> {
    let events = text.split("\n\n").filter(|it| !it.is_empty());
    let events = events.enumerate().map(|(number, event)| {
        let (name, data) = event.split_once('\n').unwrap();
        let data: Value = serde_json::from_str(data.strip_prefix("data: ").unwrap()).unwrap();
        assert_eq!(data["sequence_number"], number, "{event}");
        assert_eq!(
            name.strip_prefix("event: ").unwrap(),
            data["type"].as_str().unwrap()
        );
        data
    });
    events.collect()
}

/// Checks the items that the deltas of a stream add up to: each must equal its
/// final item.
pub(crate) fn check(events: &[Value]) {
    let mut told = String::new();
    for event in events {
        match event["type"].as_str().unwrap() {
            "response.output_item.added" => told.clear(),
            kind if kind.rsplit('.').next() == Some("delta") => {
                told.push_str(event["delta"].as_str().unwrap());
            }
            "response.output_text.done" | "response.reasoning_summary_text.done" => {
                assert_eq!(event["text"], told.as_str());
            }
            "response.function_call_arguments.done" => {
                assert_eq!(event["arguments"], told.as_str());
            }
            _ => {}
        }
    }
}

/// Removes the ids, which are new each time.
fn without_ids(mut response: Value) -> Value {
    for name in ["id", "created_at"] {
        response[name] = json!(null);
    }
    for item in response["output"].as_array_mut().unwrap() {
        item["id"] = json!(null);
        if item["type"] == "function_call" {
            item["call_id"] = json!(null);
        }
    }
    response
}

#[tokio::test]
async fn a_stream_in_any_pieces_is_the_same_response_as_the_whole_answer() {
    for (reply, again) in replies() {
        let script = std::iter::once(reply.clone()).chain(again.map(Into::into));
        let scene = Scene::new(script.chain(in_all_sizes(&reply, again))).await;
        let whole = scene.post(PATH, &request(&json!({}))).await;
        assert_eq!(whole.status, 200, "{}", whole.text);
        let whole = without_ids(whole.json());
        for size in crate::scene::SIZES {
            let stream = scene.post(PATH, &request(&json!({"stream": true}))).await;
            let events = events(&stream.text);
            check(&events);
            assert_eq!(events[0]["type"], "response.created");
            assert_eq!(events[1]["type"], "response.in_progress");
            let last = events.last().unwrap()["response"].clone();
            assert_eq!(without_ids(last), whole, "{reply:?} in pieces of {size}");
        }
    }
}

#[tokio::test]
async fn a_conversation_with_calls_and_results_goes_on() {
    let scene = Scene::new(["It is 31 °C."]).await;
    let body = request(&json!({"instructions": "Be brief.", "input": [
        {"role": "user", "content": [{"type": "input_text", "text": "Weather?"}]},
        {"type": "reasoning", "summary": []},
        {"type": "function_call", "call_id": "c1", "name": "get_weather", "arguments": "{\"city\": \"Hà Nội\"}"},
        {"type": "function_call_output", "call_id": "c1", "output": "{\"degrees\": 31}"},
    ]}));
    let answer = scene.post(PATH, &body).await.json();
    assert_eq!(answer["status"], "completed");
    assert_eq!(answer["output"][0]["content"][0]["text"], "It is 31 °C.");
    let shown = scene.shown();
    assert!(
        shown.starts_with("Be brief.") && shown.contains("\"degrees\":31"),
        "{shown}"
    );
}

#[tokio::test]
async fn tools_that_take_a_text_get_one() {
    let patch = "*** Begin Patch\n\"quoted\"\n*** End Patch";
    for stream in [false, true] {
        let scene = Scene::new([call("apply_patch", &json!({"input": patch}))]).await;
        let tools = json!([{"type": "custom", "name": "apply_patch"}, {"type": "web_search"}]);
        let answer = scene
            .post(PATH, &request(&json!({"tools": tools, "stream": stream})))
            .await;
        let response = if stream {
            events(&answer.text).pop().unwrap()["response"].clone()
        } else {
            answer.json()
        };
        let item = &response["output"][0];
        assert_eq!(
            (item["type"].as_str(), item["input"].as_str()),
            (Some("custom_tool_call"), Some(patch))
        );
        assert_eq!(response["ptk"]["problems"][0]["code"], "tool_left_out");
    }
}

#[tokio::test]
async fn a_failure_in_the_middle_ends_the_stream_as_failed() {
    let scene = Scene::new([failing("It is", 500)]).await;
    let answer = scene.post(PATH, &request(&json!({"stream": true}))).await;
    let events = events(&answer.text);
    let failed = events.last().unwrap();
    assert_eq!(failed["type"], "response.failed");
    assert_eq!(failed["response"]["status"], "failed");
    assert_eq!(failed["response"]["ptk"]["code"], "upstream_failed");
    assert_eq!(failed["response"]["output"][0]["status"], "incomplete");
}

#[tokio::test]
async fn what_is_not_kept_or_not_there_is_refused() {
    let orphan = json!([{"type": "function_call_output", "call_id": "c9", "output": "x"}]);
    for (more, param) in [
        (
            json!({"previous_response_id": "resp_1"}),
            "previous_response_id",
        ),
        (json!({"input": orphan}), "input[0].call_id"),
        (json!({"input": [{"type": "robot"}]}), "input[0].type"),
        (json!({"input": null}), "input"),
    ] {
        let scene = Scene::new(["x"]).await;
        let answer = scene.post(PATH, &request(&more)).await;
        assert_eq!(answer.status, 400);
        assert_eq!(answer.json()["error"]["param"], param);
        assert_eq!(scene.times(), 0);
    }
}
