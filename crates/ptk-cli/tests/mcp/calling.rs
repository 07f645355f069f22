//! Calls of a server's tools.

use std::fs;
use std::net::TcpListener;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use serde_json::json;

use crate::scene::{Scene, calls};

#[test]
fn tools_are_called_with_checked_arguments() {
    let scene = Scene::with("plain");
    let result = scene.call("test__add", r#"{"a": "1", "b": 2.5}"#);
    assert_eq!(result["content"], "3.5", "{result}");
    let result = scene.call("test__add", r#"{"a": 1}"#);
    assert_eq!(result["error_type"], "validation_error", "{result}");
}

#[test]
fn a_failure_that_the_tool_reports_is_one() {
    let result = Scene::with("plain").call("test__fail", "{}");
    assert_eq!(result["success"], false);
    assert!(
        result["error"].as_str().unwrap().contains("It went wrong"),
        "{result}"
    );
}

#[test]
fn images_become_handles_and_values_stand_once() {
    let scene = Scene::with("plain");
    let result = scene.call("test__picture", "{}");
    assert_eq!(result["content"], "Here.");
    assert_eq!(result["parts"][0]["media_type"], "image/png", "{result}");
    assert_eq!(result["parts"][0]["bytes"], 8);
    assert!(
        result["parts"][0]["handle"]
            .as_str()
            .unwrap()
            .starts_with("output:")
    );
    assert_eq!(result["parts"][1]["uri"], "file:///a.txt");
    let result = scene.call("test__structured", "{}");
    assert_eq!(result["data"], json!({"n": 1}));
    assert_eq!(result.get("content"), None, "{result}");
    let result = scene.call("test__strange", "{}");
    assert_eq!(result["content"], "and text", "{result}");
}

#[test]
fn calls_need_approval_and_the_question_names_the_server() {
    let scene = Scene::with("plain");
    let (code, out, _) = scene.run(&["tools", "call", "test__echo", "text=hi", "--json"]);
    assert_eq!(code, 1);
    assert!(out.contains("permission_error"), "{out}");
    let (code, _, err) = scene.run(&["permissions", "allow", "test__echo"]);
    assert_eq!(code, 0, "{err}");
    let (code, out, err) = scene.run(&["tools", "call", "test__echo", "text=hi", "--json"]);
    assert_eq!(code, 0, "{out}{err}");
}

#[test]
fn declared_effects_decide_and_hints_of_the_server_do_not() {
    // The server says that `echo` only reads, and it is not believed.
    let scene = Scene::configured("plain", "effects = { add = [] }");
    let (code, out, _) = scene.run(&["tools", "call", "test__add", "a=1", "b=2", "--json"]);
    assert_eq!(code, 0, "{out}");
    let (code, out, _) = scene.run(&["tools", "call", "test__echo", "text=hi", "--json"]);
    assert_eq!(code, 1, "{out}");
}

#[test]
fn progress_is_shown_and_keeps_a_call_alive() {
    // Longer than the server may be silent.
    let scene = Scene::configured("plain", "timeout = 1");
    let (code, out, err) = scene.run(&[
        "tools",
        "call",
        "test__wait",
        "seconds=2",
        "--json",
        "--approve",
        "auto",
    ]);
    assert_eq!(code, 0, "{out}{err}");
    assert!(out.contains("waiting ("), "{out}");
}

#[test]
fn there_is_a_hard_limit_in_spite_of_progress() {
    let scene = Scene::configured("plain", "timeout = 1\nmax_time = 1");
    let result = scene.call("test__wait", r#"{"seconds": 60}"#);
    assert!(
        result["error"].as_str().unwrap().contains("within 1 s"),
        "{result}"
    );
    assert!(
        result["suggestion"]
            .as_str()
            .unwrap()
            .contains("may have done"),
        "{result}"
    );
}

#[test]
fn interrupting_cancels_the_call_at_the_server() {
    let scene = Scene::with("plain");
    let mut running = scene.spawn(&[
        "tools",
        "call",
        "test__wait",
        "seconds=60",
        "--json",
        "--approve",
        "auto",
    ]);
    let out = running.stdout.take().unwrap();
    let mut lines = std::io::BufRead::lines(std::io::BufReader::new(out));
    assert!(lines.any(|line| line.unwrap().contains("waiting (")));
    let pid = nix::unistd::Pid::from_raw(i32::try_from(running.id()).unwrap());
    nix::sys::signal::kill(pid, nix::sys::signal::Signal::SIGINT).unwrap();
    assert!(lines.any(|line| line.unwrap().contains("\"success\":false")));
    assert_eq!(running.wait().unwrap().code(), Some(130));
    let told = fs::read_to_string(scene.path("server/count"));
    assert_eq!(told.ok().as_deref(), Some("cancelled"));
}

#[test]
fn a_server_that_ends_is_started_again_for_the_next_call() {
    let scene = Scene::with("plain");
    let run = scene.converse(&json!([
        calls(&[("test__die", json!({}))]),
        calls(&[("test__add", json!({"a": 1, "b": 2}))]),
        "Done.",
    ]));
    assert_eq!(run.code, 0, "{}{}", run.out, run.err);
    let died = run.result("test__die");
    assert!(
        died["suggestion"]
            .as_str()
            .unwrap()
            .contains("may have done what it was asked to"),
        "{died}"
    );
    assert_eq!(run.result("test__add")["content"], "3");
}

#[test]
fn servers_reach_only_what_is_granted() {
    let scene = Scene::with("plain");
    fs::write(scene.path("space/secret.txt"), "x").unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let reached = |scene: &Scene, path: PathBuf| {
        let args = json!({"path": path, "port": port});
        let result = scene.call("test__reach", &args.to_string());
        result["content"].as_str().unwrap().to_owned()
    };
    let secret = scene.path("space/secret.txt");
    assert_eq!(reached(&scene, secret.clone()), "nothing");
    assert_eq!(reached(&scene, scene.path("server/x")), "write,read");
    let open = Scene::configured("plain", "network = true");
    assert_eq!(reached(&open, secret.clone()), "network");
    let bare = Scene::configured("plain", "sandbox = false");
    assert_eq!(reached(&bare, secret), "write,read,network");
}

#[test]
fn servers_get_no_secrets_of_the_environment() {
    let scene = Scene::configured("plain", "env = { GIVEN = \"${WANTED:-x}\" }");
    let output = scene
        .ptk(&[
            "tools",
            "call",
            "test__environment",
            "--json",
            "--approve",
            "auto",
        ])
        .env("OPENAI_API_KEY", "secret")
        .output()
        .unwrap();
    let out = String::from_utf8(output.stdout).unwrap();
    assert!(
        out.contains("GIVEN") && !out.contains("OPENAI_API_KEY"),
        "{out}"
    );
}

#[test]
fn a_server_ends_with_ptk_even_if_it_does_not_want_to() {
    let scene = Scene::with("stubborn");
    assert_eq!(scene.tested()["connected"], true);
    let pid = fs::read_to_string(scene.path("server/count")).unwrap();
    // It sees itself as a process of its own namespace, so its command line is
    // looked for.
    assert!(!pid.is_empty());
    let mark = scene.path("server/count").display().to_string();
    let start = Instant::now();
    while runs(&mark) {
        assert!(start.elapsed() < Duration::from_secs(20), "it still runs");
        std::thread::yield_now();
    }
}

/// Whether a process has this in its command line.
fn runs(mark: &str) -> bool {
    let processes = fs::read_dir("/proc").unwrap();
    let lines = processes.filter_map(|process| fs::read(process.ok()?.path().join("cmdline")).ok());
    let mut lines = lines.map(|line| String::from_utf8_lossy(&line).into_owned());
    lines.any(|line| line.contains(mark) && line.contains("stubborn"))
}
