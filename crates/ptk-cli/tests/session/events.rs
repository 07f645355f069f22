//! `--json`: the output for programs.

use std::io::{BufRead as _, BufReader};
use std::process::Stdio;

use serde_json::{Value, json};

use crate::scene::{Scene, call};

fn types(lines: &[Value]) -> Vec<&str> {
    let types = lines.iter().filter_map(|line| line["type"].as_str());
    types.filter(|name| *name != "tool_step").collect()
}

#[test]
fn a_run_is_told_event_by_event() {
    let scene = Scene::new(&[
        call("read_file", json!({"path": "notes.txt"})),
        json!({"text": "Buy milk.", "chunk": 4}),
    ]);
    let lines = scene.ptk(&["What?", "--json"]).good().lines();
    assert_eq!(
        types(&lines),
        [
            "session",
            "turn_began",
            "iteration",
            "tool_call_requested",
            "tool_call_start",
            "tool_call_end",
            "message_chunk",
            "message_chunk",
            "message_chunk",
            "iteration",
            "receive_message",
        ]
    );
    let find = |name: &str| lines.iter().find(|line| line["type"] == name).unwrap();
    let (iteration, asked) = (find("iteration"), find("tool_call_requested"));
    assert_eq!(
        (&iteration["iteration"], &iteration["call_type"]),
        (&json!(1), &json!("tool_call"))
    );
    assert_eq!(
        (&asked["tool"], &asked["arguments"]),
        (&json!("read_file"), &json!({"path": "notes.txt"}))
    );
    assert_eq!(asked.get("repairs"), None);
    assert_eq!(find("turn_began")["prompt"], "What?");
    let ends = find("tool_call_end");
    assert_eq!(ends["call_id"], asked["call_id"]);
    assert_eq!(ends["success"], true);
    let last = lines.last().unwrap();
    assert_eq!(last["message"], "Buy milk.");
    assert_eq!(last["metadata"]["iterations"], 2);
    assert_eq!(last["metadata"]["tool_calls"], 1);
    assert_eq!(last["metadata"]["session_id"], lines[0]["session_id"]);
    for line in lines.iter().skip(1) {
        assert_eq!(line["request_id"], iteration["request_id"], "{line}");
        assert!(line["ts"].is_string(), "{line}");
    }
}

#[test]
fn a_call_is_told_with_its_reason_and_what_was_mended_in_it() {
    let reply = r#"<PTK_CALL>{"tool": "read_file", "args": {"path": "notes.txt",}, "reasoning": "It is there"}</PTK_CALL>"#;
    let scene = Scene::new(&[json!(reply), json!("Milk.")]);
    let lines = scene.ptk(&["What?", "--json"]).good().lines();
    let asked = lines
        .iter()
        .find(|line| line["type"] == "tool_call_requested");
    let asked = asked.unwrap();
    assert_eq!(asked["arguments"], json!({"path": "notes.txt"}));
    assert_eq!(asked["reasoning"], "It is there");
    assert_eq!(asked["repairs"].as_array().unwrap().len(), 1, "{asked}");
}

#[test]
fn the_last_event_of_a_run_that_failed_is_its_error() {
    let scene = Scene::new(&[json!({"error": {"status": 401, "message": "bad key"}})]);
    let ended = scene.ptk(&["What?", "--json"]);
    assert_eq!(ended.code, 1);
    let lines = ended.lines();
    assert_eq!(types(&lines), ["session", "turn_began", "error"]);
    let last = lines.last().unwrap();
    assert_eq!(last["code"], "LLM_CALL_FAILED");
    assert!(
        last["message"].as_str().unwrap().contains("bad key"),
        "{last}"
    );
    assert_eq!(ended.err, "");
}

#[test]
fn a_reply_that_broke_off_is_taken_back() {
    let scene = Scene::new(&[
        json!({"text": "Half", "error": {"status": 503, "message": "busy"}}),
        json!("Whole."),
    ]);
    let lines = scene.ptk(&["What?", "--json"]).good().lines();
    let expected = [
        "session",
        "turn_began",
        "message_chunk",
        "message_restarted",
        "message_chunk",
        "iteration",
        "receive_message",
    ];
    assert_eq!(types(&lines), expected);
    assert_eq!(lines.last().unwrap()["message"], "Whole.");
}

#[test]
fn whoever_stops_reading_ends_the_run() {
    let many: Vec<Value> = (0..9)
        .map(|number| {
            call(
                "bash",
                json!({"command": format!("yes {number} | head -n 2000; echo {number} >> ran")}),
            )
        })
        .chain([json!("Done.")])
        .collect();
    let scene = Scene::new(&many);
    let args = ["Go", "--json", "--approve", "auto"];
    let mut child = scene.command(&args).stdout(Stdio::piped()).spawn().unwrap();
    let mut first = String::new();
    let mut reader = BufReader::new(child.stdout.take().unwrap());
    reader.read_line(&mut first).unwrap();
    assert!(first.contains("session_id"));
    drop(reader);
    assert_eq!(child.wait().unwrap().code(), Some(1));
    assert_eq!(scene.sessions()[0]["is_open"], true);
}
