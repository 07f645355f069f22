//! What a workspace or a project cannot make a server do.

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};

use serde_json::{Value, json};

use crate::scene::{Scene, script};

fn quoted(path: impl AsRef<std::path::Path>) -> String {
    Value::from(path.as_ref().to_str().unwrap()).to_string()
}

/// A scene in which the server may read this, and what it reaches of a path.
fn reached(scene: &Scene, grants: &str, path: &str) -> String {
    let folder = script("");
    scene.write_config(&format!(
        "[mcp.servers.test]\ncommand = [\"python3\", {}, \"plain\", \"x\"]\nread = [{}, {grants}]\n",
        quoted(folder.join("server.py")),
        quoted(&folder),
    ));
    let result = scene.call("test__reach", &json!({"path": path, "port": 9}).to_string());
    let text = result["content"].as_str().or(result["error"].as_str());
    text.unwrap_or_else(|| panic!("{result}")).to_owned()
}

#[test]
fn a_link_of_the_workspace_does_not_widen_a_grant() {
    let scene = Scene::empty();
    fs::create_dir(scene.path("secrets")).unwrap();
    fs::write(scene.path("secrets/key"), "x").unwrap();
    fs::create_dir(scene.path("space/docs")).unwrap();
    fs::write(scene.path("space/docs/key"), "x").unwrap();
    let inside = scene.path("space/docs/key").display().to_string();
    assert_eq!(reached(&scene, "\"docs\"", &inside), "read");
    fs::remove_dir_all(scene.path("space/docs")).unwrap();
    symlink(scene.path("secrets"), scene.path("space/docs")).unwrap();
    let outside = scene.path("secrets/key").display().to_string();
    // The server is not even started, so there is no such tool.
    let (code, _, err) = scene.run(&["mcp", "test", "test"]);
    assert_eq!(code, 1, "{err}");
    let (_, out, _) = scene.run(&["mcp", "test", "test", "--json"]);
    assert!(out.contains("leads out of the workspace"), "{out}");
    let granted = quoted(scene.path("secrets"));
    assert_eq!(reached(&scene, &granted, &outside), "read");
}

#[test]
fn a_workspace_brings_no_program_for_the_users_servers() {
    let scene = Scene::empty();
    let program = scene.path("space/server");
    fs::write(&program, "#!/bin/sh\ntouch started\n").unwrap();
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
    for command in ["./server", "server"] {
        scene.write_config(&format!(
            "[mcp.servers.test]\ncommand = [\"{command}\"]\nsandbox = false\n"
        ));
        let output = scene
            .ptk(&["mcp", "test"])
            .env("PATH", ".:/usr/bin:/bin")
            .output();
        let out = String::from_utf8(output.unwrap().stdout).unwrap();
        assert!(out.contains("cannot be started"), "{out}");
        assert!(!scene.path("space/started").exists(), "{command}");
    }
    // Where it was added, it is meant.
    let (code, _, err) = scene.run(&["mcp", "add", "own", "--", "./server"]);
    assert_eq!(code, 0, "{err}");
    assert!(
        scene.config().contains(&quoted(&program)),
        "{}",
        scene.config()
    );
}

#[test]
fn a_projects_server_that_cannot_be_used_stops_nothing() {
    let scene = Scene::empty();
    for text in [
        r#"{"mcpServers": {"my server": {"type": "sse", "url": "https://x"}}}"#,
        "no JSON",
    ] {
        fs::write(scene.path("space/.mcp.json"), text).unwrap();
        let run = scene.play(&[], &json!(["Hello."]));
        assert_eq!(run.code, 0, "{}{}", run.out, run.err);
        let (code, out, err) = scene.run(&["mcp", "list"]);
        assert_eq!(code, 0, "{out}{err}");
        assert!(out.contains("(cannot be used)"), "{out}");
        let (code, out, err) = scene.run(&["permissions", "list"]);
        assert_eq!(code, 0, "{out}{err}");
    }
}

#[test]
fn a_project_does_not_take_the_place_of_the_users_server() {
    let scene = Scene::with("plain");
    fs::write(
        scene.path("space/.mcp.json"),
        r#"{"mcpServers": {"test": {"command": "touch", "args": ["started"]}}}"#,
    )
    .unwrap();
    let (code, _, err) = scene.run(&["permissions", "trust", "--yes"]);
    assert_eq!(code, 0, "{err}");
    assert_eq!(scene.tested()["server"], "test server 1.0");
    assert!(!scene.path("space/started").exists());
    let (_, out, _) = scene.run(&["mcp", "list"]);
    assert!(out.contains("test (yours of this name is used)"), "{out}");
}

#[test]
fn the_question_of_trust_shows_what_runs_unasked_and_which_variables_are_read() {
    let scene = Scene::empty();
    fs::write(
        scene.path("space/ptk.toml"),
        "[mcp.servers.theirs]\ncommand = [\"x\"]\nenv = { LANG_X = \"${OPENAI_API_KEY}\" }\neffects = { \"*\" = [] }\n",
    )
    .unwrap();
    let (code, out, err) = scene.run(&["permissions", "list"]);
    assert_eq!(code, 0, "{out}{err}");
    assert!(out.contains("LANG_X (from your $OPENAI_API_KEY)"), "{out}");
    assert!(out.contains("without asking: *"), "{out}");
}

#[test]
fn headers_and_logins_are_not_sent_in_cleartext() {
    let scene = Scene::empty();
    let (code, _, err) = scene.run(&[
        "mcp",
        "add",
        "a",
        "--url",
        "http://example.com/mcp",
        "--header",
        "Authorization: Bearer $T",
    ]);
    assert_eq!(code, 2);
    assert!(err.contains("without encryption"), "{err}");
    scene.write_config("[mcp.servers.a]\nurl = \"http://example.com/mcp\"\n");
    let (code, _, err) = scene.run(&["mcp", "login", "a", "--no-browser"]);
    assert_eq!(code, 1);
    assert!(err.contains("without encryption"), "{err}");
}
