//! `ptk replay`: a session judged by the current parser and policies.

use serde_json::{Value, json};

use crate::scene::{Scene, call};

fn scene() -> Scene {
    let scene = Scene::new(&[
        call("read_file", json!({"path": "notes.txt"})),
        call("write_file", json!({"path": "a.txt", "content": "hi"})),
        json!("Done."),
    ]);
    scene
        .ptk(&["Go", "--session", "one", "--approve", "auto"])
        .good();
    scene
}

#[test]
fn nothing_differs_where_nothing_has_changed() {
    let scene = scene();
    let replay = scene.ptk(&["replay", "one", "--approve", "auto"]).good();
    assert_eq!(replay.out, "");
    assert!(
        replay
            .err
            .contains("Replies read again: 3, calls judged again: 2; nothing differs."),
        "{replay:?}"
    );
    // A call that needs approval may still be allowed.
    scene.ptk(&["replay", "one"]).good();
    assert_eq!(scene.read("a.txt"), "hi");
}

#[test]
fn policies_of_today_are_applied() {
    let scene = scene();
    std::fs::remove_file(scene.path("a.txt")).unwrap();
    let replay = scene.ptk(&["replay", "one", "--approve", "deny"]);
    assert_eq!(replay.code, 1, "{replay:?}");
    assert!(
        replay.out.contains(": write_file {\"path\":\"a.txt\""),
        "{replay:?}"
    );
    assert!(
        replay
            .out
            .contains("- runs\n+ refused: write_file was not allowed"),
        "{replay:?}"
    );
    assert!(!scene.path("a.txt").exists());
    scene.write(
        "ptk.toml",
        "[permissions]\ndeny = [\"read_file(notes.txt)\"]\n",
    );
    let lines = scene.ptk(&["replay", "one", "--json"]).lines();
    assert_eq!(lines.len(), 1, "{lines:?}");
    assert_eq!(
        (&lines[0]["tool"], &lines[0]["after"]["fate"]),
        (&json!("read_file"), &json!("refused"))
    );
    assert_eq!(lines[0]["turn"], 1);
}

/// As if an older parser had missed a call.
#[test]
fn replies_are_read_by_the_parser_of_today() {
    let scene = scene();
    let mut log = scene.log();
    let parsed = log
        .iter_mut()
        .find(|entry| entry["kind"] == "reply_parsed")
        .unwrap();
    let parsed = &mut parsed["body"];
    parsed["outcome"] = json!("text");
    parsed["text"] = json!("Nothing to see.");
    parsed.as_object_mut().unwrap().remove("calls");
    let lines: Vec<String> = log.iter().map(Value::to_string).collect();
    let other = Scene::new(&[]);
    other
        .piped(&["sessions", "import"], &lines.join("\n"))
        .good();
    let replay = other.ptk(&["replay", "one"]);
    assert_eq!(replay.code, 1, "{replay:?}");
    for line in [
        "the reply is read otherwise",
        "- an answer:",
        "- Nothing to see.",
        "+ calls:",
        "+ call read_file {\"path\":\"notes.txt\"}",
    ] {
        assert!(replay.out.contains(line), "{line}: {replay:?}");
    }
}

#[test]
fn a_session_that_is_not_there_cannot_be_replayed() {
    let scene = Scene::new(&[]);
    let replay = scene.ptk(&["replay", "one"]);
    assert!(
        replay.code == 1 && replay.err.contains("session `one` not found"),
        "{replay:?}"
    );
}
