//! Calls: results, errors, progress, cancellation.

use std::time::{Duration, Instant};

use serde_json::json;

use crate::space::Space;
use crate::stdio::{Client, text};

#[test]
fn a_result_is_text_for_models_and_whole_for_programs() {
    let space = Space::new();
    let mut client = Client::new(&space, &[]);
    let result = client.call("read_file", json!({"path": "a.txt"}));
    assert_eq!(result["isError"], false);
    assert_eq!(
        result["structuredContent"],
        json!({"success": true, "error": "", "content": "one\ntwo\nthree\n", "lines": 3})
    );
    assert_eq!(
        text(&result),
        r#"{"content":"one\ntwo\nthree\n","lines":3}"#
    );
}

#[test]
fn a_failure_says_what_to_do_next() {
    let space = Space::new();
    let mut client = Client::new(&space, &[]);
    let missing = client.call("read_file", json!({"path": "b.txt"}));
    assert_eq!(missing["isError"], true);
    let whole = &missing["structuredContent"];
    assert_eq!(whole["success"], false);
    assert_eq!(whole["error_type"], "user_error");
    let told = text(&missing);
    assert!(told.contains(whole["error"].as_str().unwrap()), "{told}");
    assert!(
        told.contains(whole["suggestion"].as_str().unwrap()),
        "{told}"
    );

    let invalid = client.call("read_file", json!({"offset": "x"}));
    assert_eq!(
        invalid["structuredContent"]["error_type"],
        "validation_error"
    );
    let outside = client.call("read_file", json!({"path": "/etc/passwd"}));
    assert_eq!(outside["isError"], true);
}

#[test]
fn a_call_of_no_tool_is_an_error_of_the_protocol() {
    let space = Space::new();
    let mut client = Client::new(&space, &[]);
    for (params, told) in [
        (
            json!({"name": "readfile", "arguments": {}}),
            "did you mean `read_file`?",
        ),
        (json!({"name": "sql"}), "tools/list lists them"),
        (json!({"arguments": {}}), "tools/call"),
        (json!({"name": "read_file", "arguments": []}), "tools/call"),
    ] {
        let error = client.request("tools/call", params)["error"].clone();
        assert_eq!(error["code"], -32602, "{error}");
        assert!(error["message"].as_str().unwrap().contains(told), "{error}");
    }
    let error = client.request("tools/dance", json!({}))["error"].clone();
    assert_eq!(error["code"], -32601);
    for method in ["prompts/list", "completion/complete", "logging/setLevel"] {
        let error = client.request(method, json!({"level": "debug"}))["error"].clone();
        assert_eq!(error["code"], -32601, "{method}");
    }
}

#[test]
fn a_file_has_to_be_read_before_it_is_written_anew() {
    let space = Space::new();
    let mut client = Client::new(&space, &["--approve", "auto"]);
    let anew = json!({"path": "a.txt", "content": "four\n"});
    let refused = client.call("write_file", anew.clone());
    assert!(text(&refused).contains("was not read"), "{refused}");
    // However often it is read: where a turn begins is not known.
    for _ in 0..3 {
        let read = client.call("read_file", json!({"path": "a.txt"}));
        assert_eq!(read["isError"], false, "{read}");
    }
    assert_eq!(client.call("write_file", anew)["isError"], false);
    assert_eq!(space.read("a.txt"), "four\n");
    client.end();
    let undone = space.ptk(&["undo"]);
    assert!(undone.status.success());
    assert_eq!(space.read("a.txt"), "one\ntwo\nthree\n");
}

#[test]
fn progress_arrives_only_where_it_is_wanted() {
    let space = Space::new();
    let mut client = Client::new(&space, &["--approve", "auto"]);
    let slow = json!({"name": "bash", "arguments": {"command": "sleep 4"}});
    let mut wanted = slow.clone();
    wanted["_meta"] = json!({"progressToken": "mine"});
    let [silent, told] = [slow, wanted].map(|params| client.ask("tools/call", params));
    let done = client.answer(silent);
    assert_eq!(done["result"]["isError"], false, "{done}");
    if client.notifications.iter().all(|it| it["id"] != told) {
        client.answer(told);
    }
    let progress: Vec<_> = client
        .notifications
        .iter()
        .filter(|it| it["method"] == "notifications/progress")
        .collect();
    assert!(!progress.is_empty(), "{:?}", client.notifications);
    let mut last = 0.0;
    for notification in progress {
        let params = &notification["params"];
        assert_eq!(params["progressToken"], "mine");
        let step = params["progress"].as_f64().unwrap();
        assert!(step > last);
        last = step;
        let message = params["message"].as_str().unwrap();
        assert!(message.starts_with("running for"), "{message}");
    }
}

#[test]
fn a_cancelled_call_ends_its_processes_and_is_not_answered() {
    let space = Space::new();
    let (command, alive) = space.held("trap '' TERM; sleep 1000 & sleep 1000");
    let mut client = Client::new(&space, &["--approve", "auto"]);
    let args = json!({"command": command, "timeout": 600});
    let id = client.ask("tools/call", json!({"name": "bash", "arguments": args}));
    let gone = alive.up();
    let since = Instant::now();
    client.send(&json!({
        "jsonrpc": "2.0",
        "method": "notifications/cancelled",
        "params": {"requestId": id, "reason": "no longer needed"},
    }));
    gone();
    assert!(since.elapsed() < Duration::from_secs(20));
    client.request("ping", json!({}));
    assert!(client.notifications.iter().all(|it| it["id"] != id));
}

#[test]
fn calls_run_beside_each_other() {
    let space = Space::new();
    let mut client = Client::new(&space, &["--approve", "auto"]);
    let slow = json!({"name": "bash", "arguments": {"command": "sleep 30"}});
    let slow = client.ask("tools/call", slow);
    let since = Instant::now();
    for _ in 0..3 {
        client.call("read_file", json!({"path": "a.txt"}));
    }
    assert!(since.elapsed() < Duration::from_secs(15));
    assert!(client.notifications.iter().all(|it| it["id"] != slow));
}
