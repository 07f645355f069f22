//! Runs that are killed at any point and resumed: nothing is lost, no finished
//! call is run again, and the answer is the same.

use std::collections::{HashMap, HashSet};
use std::io::{BufRead as _, BufReader};
use std::process::Stdio;
use std::time::Duration;

use serde_json::{Value, json};

use crate::scene::{Scene, call, calls, kinds};

/// How many runs are killed; `PTK_KILLS` sets another number.
const KILLS: usize = 12;
const READING: [&str; 3] = ["read_file", "grep", "list_files"];
const ARGS: [&str; 6] = ["Do it all", "--session", "s", "--json", "--approve", "auto"];

fn scene() -> Scene {
    Scene::new(&[
        calls(&[
            ("read_file", json!({"path": "notes.txt"})),
            ("grep", json!({"pattern": "version"})),
        ]),
        call("bash", json!({"command": "echo one >> ran"})),
        call(
            "write_file",
            json!({"path": "new.txt", "content": "a\nb\n"}),
        ),
        json!("<PTK_CALL>{\"tool\": "),
        call(
            "edit",
            json!({"path": "notes.txt", "edits": [{"old_string": "milk", "new_string": "tea"}]}),
        ),
        calls(&[
            ("bash", json!({"command": "seq 200; echo two >> ran"})),
            ("list_files", json!({"path": "."})),
            ("bash", json!({"command": "echo three >> ran"})),
        ]),
        json!("All done."),
    ])
}

/// Runs a command and kills it after this many lines of output. Returns whether
/// it ended before.
fn killed(scene: &Scene, args: &[&str], lines: usize) -> bool {
    let mut command = scene.command(args);
    let mut child = command
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut told = BufReader::new(child.stdout.take().unwrap()).lines();
    let is_over = (0..lines).any(|_| told.next().is_none());
    if !is_over {
        // Also between two lines, if there is time for many kills.
        if std::env::var_os("PTK_KILLS").is_some() {
            std::thread::sleep(Duration::from_micros(lines as u64 * 7919 % 5000));
        }
        child.kill().unwrap();
    }
    let status = child.wait().unwrap();
    status.success()
}

/// The content of a log, without what differs from run to run.
fn story(log: &[Value]) -> Vec<String> {
    let mut story = Vec::new();
    for entry in log {
        let body = &entry["body"];
        match entry["kind"].as_str().unwrap_or_default() {
            "message" | "model_replied" | "reply_rejected" => {
                story.push(body["text"].to_string());
            }
            "call_ended" => {
                let result = &body["result"];
                story.push(format!(
                    "{} {} {}",
                    entry["tool"], result["success"], result["error"]
                ));
            }
            "turn_ended" => story.push(body["outcome"].to_string()),
            _ => {}
        }
    }
    story.sort();
    story
}

fn is_unknown(entry: &Value) -> bool {
    let error = entry["body"]["result"]["error"]
        .as_str()
        .unwrap_or_default();
    error.starts_with("The outcome of this call is unknown")
}

#[test]
fn wherever_a_run_is_killed_it_comes_to_the_same_end() {
    let whole = scene();
    let told = whole.ptk(&ARGS).good().lines().len();
    let expected = story(&whole.log());
    let kills = std::env::var("PTK_KILLS").map_or(KILLS, |kills| kills.parse().unwrap());
    let mut unknown = 0;
    for kill in 0..kills {
        let scene = scene();
        // All over the run, and also while it is resumed.
        let at = 1 + kill * told / kills;
        if !killed(&scene, &ARGS, at) {
            killed(
                &scene,
                &["resume", "s", "--json", "--approve", "auto"],
                1 + kill % 7,
            );
        }
        let is_begun = scene.sessions().iter().any(|session| session["id"] == "s");
        if !is_begun {
            scene.ptk(&ARGS).good();
        } else if scene.sessions()[0]["is_open"] == true {
            let ended = scene.ptk(&["resume", "s", "--approve", "auto"]).good();
            assert_eq!(ended.out, "All done.\n", "killed at {at}");
        }
        unknown += usize::from(check(&scene, &expected, at) > 0);
    }
    assert!(unknown < kills, "every call was uncertain");
}

/// Checks the log; returns how many calls have an unknown result.
fn check(scene: &Scene, expected: &[String], at: usize) -> usize {
    let log = scene.log();
    assert_eq!(kinds(&log).last(), Some(&"turn_ended"), "killed at {at}");
    let mut ends: HashMap<&str, usize> = HashMap::new();
    for entry in &log {
        let Some(id) = entry["call_id"].as_str() else {
            continue;
        };
        if entry["kind"] == "call_ended" {
            *ends.entry(id).or_default() += 1;
        }
    }
    assert!(
        ends.values().all(|count| *count == 1),
        "killed at {at}: {ends:?}"
    );
    // A call that began twice was in doubt, and may have found its own work
    // done.
    let mut known = HashSet::new();
    let calls = log.iter().filter(|entry| {
        entry["kind"] == "call_began" && !READING.iter().any(|tool| entry["body"]["tool"] == *tool)
    });
    let again = calls.filter(|entry| !known.insert(entry["call_id"].to_string()));
    let unknown = log.iter().filter(|entry| is_unknown(entry)).count() + again.count();
    let ran = std::fs::read_to_string(scene.path("ran")).unwrap_or_default();
    for word in ["one", "two", "three"] {
        let count = ran.lines().filter(|line| *line == word).count();
        assert!(count <= 1, "killed at {at}, {word} ran {count} times");
        assert!(count == 1 || unknown > 0, "killed at {at}, {word} is lost");
    }
    if unknown == 0 {
        assert_eq!(story(&log), expected, "killed at {at}");
        assert_eq!(scene.read("notes.txt"), "Buy tea.\n");
        assert_eq!(scene.read("new.txt"), "a\nb\n");
    }
    unknown
}
