//! Imported sessions: their messages count, but none of their settings.

use std::fs;

use serde_json::{Value, json};

use crate::scene::{Ended, Scene, call, kinds};

/// A program that leaves a trace if it is run.
fn trap(scene: &Scene) -> String {
    let program = scene.home().join("trap.sh");
    let trace = scene.home().join("trapped");
    let text = format!("#!/bin/sh\ntouch '{}'\necho Hi.\n", trace.display());
    fs::write(&program, text).unwrap();
    format!("cmd:sh {}", program.display())
}

fn is_trapped(scene: &Scene) -> bool {
    scene.home().join("trapped").exists()
}

/// A log with a prompt and its answer, and these settings.
fn log_with(scene: &Scene, settings: &Value, is_open: bool) -> String {
    let folder = scene.path("").canonicalize().unwrap();
    let info = json!({
        "title": "A gift",
        "workspace": folder,
        "provider": settings["provider"],
        "model": settings["model"],
        "dialect": settings["dialect"],
        "settings": settings,
    });
    let turn = "0199c2d0-0000-7000-8000-000000000001";
    let mut entries = vec![
        ("session_created", info.clone(), None),
        ("session_changed", info, None),
        ("turn_began", json!({"settings": settings}), Some(turn)),
        (
            "message",
            json!({"role": "user", "text": "My name is Ada."}),
            Some(turn),
        ),
    ];
    if !is_open {
        let reply = json!({"text": "Hello Ada.", "state": {"signature": "x"}});
        entries.push(("model_replied", reply, Some(turn)));
        let parsed = json!({"outcome": "text", "text": "Hello Ada."});
        entries.push(("reply_parsed", parsed, Some(turn)));
        entries.push(("turn_ended", json!({"outcome": "answered"}), Some(turn)));
    }
    let lines = entries
        .into_iter()
        .zip(1..)
        .map(|((kind, body, turn), seq)| {
            let mut line = json!({
                "session": "gift", "seq": seq, "ts": "2026-01-31T08:00:00.250Z",
                "kind": kind, "version": 1, "body": body,
            });
            if let Some(turn) = turn {
                line["request_id"] = json!(turn);
            }
            line.to_string() + "\n"
        });
    lines.collect()
}

/// Runs without a provider in the environment, so that one in the file would
/// count.
fn without_provider(scene: &Scene, args: &[&str]) -> Ended {
    let mut command = scene.command(args);
    command.env_remove("PTK_PROVIDER");
    Ended::of(command.output().unwrap())
}

#[test]
fn a_provider_in_a_file_is_never_asked() {
    for is_open in [false, true] {
        let scene = Scene::new(&[]);
        let log = log_with(&scene, &json!({"provider": trap(&scene)}), is_open);
        scene.piped(&["sessions", "import"], &log).good();
        for args in [
            &["resume", "gift"][..],
            &["resume"],
            &["run", "--session", "gift", "Hi"],
            &["--session", "gift", "Hi"],
            &["-c", "Hi"],
            &["chat", "--session", "gift"],
            &["replay", "gift"],
        ] {
            let ended = without_provider(&scene, args);
            assert!(!is_trapped(&scene), "{args:?}: {ended:?}");
        }
        let forked = without_provider(&scene, &["sessions", "fork", "gift"]);
        if forked.code == 0 {
            without_provider(&scene, &["--session", forked.out.trim(), "Hi"]);
        }
        let again = scene.ptk(&["sessions", "export", "gift"]).good().out;
        let other = Scene::new(&[]);
        other.piped(&["sessions", "import"], &again).good();
        without_provider(&other, &["--session", "gift", "Hi"]);
        assert!(!is_trapped(&scene));
    }
}

#[test]
fn an_address_in_a_file_gets_no_key() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    listener.set_nonblocking(true).unwrap();
    let address = format!("http://{}/v1", listener.local_addr().unwrap());
    for provider in [address.clone(), format!("openai:{address}")] {
        let scene = Scene::new(&[]);
        let settings = json!({"provider": provider, "model": "m"});
        let log = log_with(&scene, &settings, true);
        scene.piped(&["sessions", "import"], &log).good();
        for args in [&["resume", "gift"][..], &["--session", "gift", "Hi"]] {
            let mut command = scene.command(args);
            command
                .env_remove("PTK_PROVIDER")
                .env("PTK_API_KEY", "sk-secret")
                .env("OPENAI_API_KEY", "sk-secret");
            let ended = Ended::of(command.output().unwrap());
            assert_eq!(ended.code, 1, "{ended:?}");
        }
    }
    assert!(
        listener.accept().is_err(),
        "the address of the file was asked"
    );
}

#[test]
fn what_was_said_stays_and_settings_go() {
    let scene = Scene::new(&[json!("You are Ada.")]);
    let settings = json!({
        "provider": "openai", "model": "m", "dialect": "xml",
        "tools": ["bash"], "max_iterations": 1000, "max_tool_calls": 1000, "approve": "auto",
    });
    let log = log_with(&scene, &settings, false);
    let imported = scene.piped(&["sessions", "import"], &log).good();
    assert_eq!(imported.out, "gift\n");
    assert!(
        imported.err.starts_with("Imported 1 session (7 entries)."),
        "{imported:?}"
    );
    let log = scene.log();
    assert_eq!(
        kinds(&log),
        [
            "session_created",
            "session_changed",
            "turn_began",
            "message",
            "model_replied",
            "reply_parsed",
            "turn_ended",
            "session_changed",
            "session_imported",
        ]
    );
    assert_eq!(log[0]["body"], json!({"title": "A gift"}));
    assert_eq!(log[1]["body"], json!({"title": "A gift"}));
    assert_eq!(log[2]["body"], json!({}));
    assert_eq!(log[4]["body"]["text"], "Hello Ada.");
    assert_eq!(log[4]["body"]["state"], Value::Null);
    assert_eq!(log[8]["body"], json!({"through": 7}));
    let listed = scene.ptk(&["sessions", "list"]).good().out;
    assert!(
        listed.contains("A gift") && listed.contains("(imported)"),
        "{listed}"
    );
    // The conversation continues with the user's own settings.
    scene.ptk(&["--session", "gift", "Who am I?"]).good();
    let settings = &scene.log()[9]["body"]["settings"];
    let provider = settings["provider"].as_str().unwrap();
    assert!(provider.starts_with("script:"), "{settings}");
    assert_eq!(
        (
            &settings["dialect"],
            &settings["model"],
            &settings["max_iterations"]
        ),
        (&Value::Null, &Value::Null, &json!(50)),
    );
    let tools = settings["tools"].as_array().unwrap();
    assert!(tools.len() > 1, "{settings}");
    let shown = scene.ptk(&["sessions", "show", "gift"]).good().out;
    assert!(
        shown.contains("My name is Ada.") && shown.contains("Hello Ada."),
        "{shown}"
    );
}

#[test]
fn an_import_belongs_to_the_workspace_it_was_imported_in() {
    let scene = Scene::new(&[json!("Hi.")]);
    let mut log = log_with(&scene, &json!({}), false);
    log = log.replace(
        scene.path("").canonicalize().unwrap().to_str().unwrap(),
        "/",
    );
    scene.piped(&["sessions", "import"], &log).good();
    scene.ptk(&["--session", "gift", "Hi"]).good();
    let elsewhere = scene.ptk(&["--session", "gift", "--workspace", "/", "Hi"]);
    assert!(
        elsewhere.code == 1 && elsewhere.err.contains("works in"),
        "{elsewhere:?}"
    );
}

/// A real session that was interrupted before its call ran.
#[test]
fn pending_calls_of_a_file_are_not_run() {
    let write = |name: &str| call("write_file", json!({"path": name, "content": "x"}));
    let scene = Scene::new(&[write("first.txt"), json!("Done.")]);
    scene
        .ptk(&["--session", "one", "--approve", "auto", "Write it"])
        .good();
    let log = scene.log();
    let at = |kind: &str| log.iter().position(|it| it["kind"] == kind).unwrap();
    // A reply that was not parsed, calls that have not begun, one that began,
    // and one that waits for approval.
    for (end, held) in [
        (at("model_replied"), false),
        (at("reply_parsed"), false),
        (at("call_began"), false),
        (at("call_began"), true),
    ] {
        let other = Scene::new(&[json!("Nothing to do.")]);
        let mut lines: Vec<Value> = log[..=end].to_vec();
        if held {
            let mut held = lines[end].clone();
            held["seq"] = json!(end + 2);
            held["kind"] = json!("call_held");
            held["body"] = json!({"tool": "write_file"});
            lines.push(held);
        }
        let text: Vec<String> = lines.iter().map(Value::to_string).collect();
        other
            .piped(&["sessions", "import"], &text.join("\n"))
            .good();
        let resumed = other.ptk(&["resume", "one", "--approve", "auto"]);
        assert!(
            resumed.code == 1 && resumed.err.contains("was not interrupted"),
            "{resumed:?}"
        );
        other
            .ptk(&["--session", "one", "--approve", "auto", "Go on"])
            .good();
        assert!(!other.path("first.txt").exists());
    }
}

#[test]
fn handles_in_a_file_reach_nothing() {
    let scene = Scene::new(&[
        call("read_file", json!({"path": "output:1"})),
        json!("It is gone."),
    ]);
    let mut log = log_with(&scene, &json!({}), false);
    let call_id = "call_0199c2d0000070008000000000000002";
    let began = json!({
        "session": "gift", "seq": 8, "ts": "2026-01-31T08:00:01.000Z", "call_id": call_id,
        "kind": "call_began", "version": 1,
        "body": {"tool": "bash", "arguments": {"command": "x"}},
    });
    let ended = json!({
        "session": "gift", "seq": 9, "ts": "2026-01-31T08:00:01.000Z", "call_id": call_id,
        "kind": "call_ended", "version": 1,
        "body": {
            "tool": "bash",
            "result": {"success": true, "error": "", "output_handle": "output:1"},
            "state": {"files": [{"path": "/etc/passwd"}]},
        },
    });
    log.push_str(&format!("{began}\n{ended}\n"));
    scene.piped(&["sessions", "import"], &log).good();
    let ended = &scene.log()[8];
    assert_eq!(ended["kind"], "call_ended");
    assert_eq!(ended["body"]["state"], Value::Null);
    scene.ptk(&["--session", "gift", "Read the output"]).good();
    let log = scene.log();
    let last = log.iter().rfind(|it| it["kind"] == "call_ended").unwrap();
    assert_eq!(last["body"]["result"]["success"], false, "{last}");
    // Nothing was changed in this workspace, so there is nothing to undo.
    let undone = scene.ptk(&["undo", "--session", "gift"]);
    assert_ne!(undone.code, 0, "{undone:?}");
}

#[test]
fn entries_of_kinds_that_are_unknown_become_notes() {
    let scene = Scene::new(&[]);
    let log = log_with(&scene, &json!({}), false);
    let newer = log.replacen(r#""kind":"turn_began","#, r#""kind":"turn_began_2","#, 1);
    scene.piped(&["sessions", "import"], &newer).good();
    let log = scene.log();
    assert_eq!(log[2]["kind"], "note");
    assert_eq!(log[2]["body"]["data"]["kind"], "turn_began_2");
}
