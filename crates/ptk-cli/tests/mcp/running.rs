//! Runs with the tools of servers.

use std::fs;

use serde_json::{Value, json};

use crate::scene::Scene;

fn script(scene: &Scene, replies: &Value) -> String {
    fs::write(scene.path("script.json"), replies.to_string()).unwrap();
    format!("script:{}", scene.path("script.json").display())
}

#[test]
fn a_model_uses_a_servers_tool() {
    let scene = Scene::with("plain");
    let script = script(
        &scene,
        &json!([
            "<PTK_CALL>\n{\"tool\": \"test__add\", \"args\": {\"a\": 2, \"b\": 3}}\n</PTK_CALL>",
            "It is 5."
        ]),
    );
    let (code, out, err) = scene.run(&["--approve", "auto", "--provider", &script, "2 + 3?"]);
    assert_eq!(code, 0, "{out}{err}");
    assert!(out.contains("It is 5."), "{out}");
    assert!(
        err.contains("test__add") || out.contains("test__add"),
        "{out}{err}"
    );
}

#[test]
fn servers_are_not_started_for_tools_of_others() {
    let scene = Scene::with("stubborn");
    let script = script(&scene, &json!(["Hello."]));
    let (code, _, err) = scene.run(&["--tools", "read_file", "--provider", &script, "say hi"]);
    assert_eq!(code, 0, "{err}");
    assert!(!scene.path("server/count").exists());
}

#[test]
fn a_server_that_fails_is_told_and_the_run_goes_on() {
    let scene = Scene::with("ends");
    let script = script(&scene, &json!(["Hello."]));
    let (code, out, err) = scene.run(&["--provider", &script, "say hi"]);
    assert_eq!(code, 0, "{err}");
    assert!(out.contains("Hello."), "{out}");
    let told = format!("{out}{err}");
    assert!(told.contains("The MCP server test is not used"), "{told}");
}

#[test]
fn the_gateway_runs_a_servers_tool_for_its_clients() {
    let scene = Scene::with("plain");
    let (code, out, err) = scene.run(&["tools", "list", "--json"]);
    assert_eq!(code, 0, "{err}");
    let tools = out
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap());
    let added = tools.filter(|tool| tool["name"].as_str().unwrap().starts_with("test__"));
    assert_eq!(added.count(), 11);
}
