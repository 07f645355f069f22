//! Runs with the tools of servers.

use std::io::{BufRead as _, BufReader};

use serde_json::{Value, json};

use crate::scene::Scene;

#[test]
fn a_model_uses_a_servers_tool() {
    let scene = Scene::with("plain");
    let run = scene.play(
        &["--approve", "auto"],
        &json!([
            "<PTK_CALL>\n{\"tool\": \"test__add\", \"args\": {\"a\": 2, \"b\": 3}}\n</PTK_CALL>",
            "It is 5."
        ]),
    );
    let told = format!("{}{}", run.out, run.err);
    assert_eq!(run.code, 0, "{told}");
    assert!(run.out.contains("It is 5."), "{told}");
    assert!(told.contains("test__add"), "{told}");
}

#[test]
fn servers_are_not_started_for_tools_of_others() {
    let scene = Scene::with("stubborn");
    let run = scene.play(&["--tools", "read_file"], &json!(["Hello."]));
    assert_eq!(run.code, 0, "{}", run.err);
    assert!(!scene.path("server/count").exists());
}

#[test]
fn a_server_that_fails_is_told_and_the_run_goes_on() {
    let scene = Scene::with("ends");
    let run = scene.play(&[], &json!(["Hello."]));
    let told = format!("{}{}", run.out, run.err);
    assert_eq!(run.code, 0, "{told}");
    assert!(run.out.contains("Hello."), "{told}");
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

#[test]
fn many_tools_cost_little_until_one_is_needed() {
    let scene = Scene::with("many");
    let run = scene.play(
        &["--json", "--approve", "auto", "--session", "s"],
        &json!([
            "<PTK_CALL>\n{\"tool\": \"find_tools\", \"args\": {\"query\": \"thing number 42\"}}\n</PTK_CALL>",
            "<PTK_CALL>\n{\"tool\": \"test__tool_42\", \"args\": {\"name\": \"a\", \"size\": 1}}\n</PTK_CALL>",
            "It is done.",
        ]),
    );
    assert_eq!(run.code, 0, "{}{}", run.out, run.err);
    let found = run.result("find_tools").to_string();
    assert!(found.contains("test__tool_42"), "{found}");
    assert_eq!(run.result("test__tool_42")["content"], "called tool_42");
}

#[test]
fn a_call_that_was_under_way_is_in_doubt_and_not_repeated() {
    let scene = Scene::with("plain");
    let script = scene.provider(&json!([
        "<PTK_CALL>\n{\"tool\": \"test__wait\", \"args\": {\"seconds\": 60}}\n</PTK_CALL>",
        "I stopped there.",
    ]));
    let mut running = scene.spawn(&[
        "--json",
        "--approve",
        "auto",
        "--provider",
        &script,
        "wait for me",
    ]);
    let out = running.stdout.take().unwrap();
    let mut lines = BufReader::new(out).lines();
    assert!(lines.any(|line| line.unwrap().contains("waiting (")));
    running.kill().unwrap();
    running.wait().unwrap();
    // There is no terminal to ask on whether it runs again.
    let (code, out, err) = scene.run(&["resume", "--json", "--approve", "auto"]);
    assert_eq!(code, 0, "{out}{err}");
    assert!(out.contains("I stopped there."), "{out}");
    assert!(
        out.contains("may have happened") || out.contains("may or may not"),
        "{out}"
    );
    assert!(!out.contains("waited"), "{out}");
}
