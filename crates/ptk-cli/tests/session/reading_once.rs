//! Each configuration file is read once.

use std::fs;
use std::io::Write as _;
use std::path::Path;
use std::process::Command;
use std::thread;

use serde_json::json;

use crate::scene::Scene;

/// Serves a text to the first reader; the next one finds what no configuration
/// may be.
fn serve_once(path: &Path, text: &'static str) {
    let made = Command::new("mkfifo").arg(path).status().unwrap();
    assert!(made.success());
    let second = path.with_extension("second");
    fs::write(&second, "read a second time").unwrap();
    let path = path.to_owned();
    thread::spawn(move || {
        // Opened once there is a reader, who keeps the pipe.
        let mut pipe = fs::OpenOptions::new().write(true).open(&path).unwrap();
        fs::rename(second, &path).unwrap();
        pipe.write_all(text.as_bytes()).unwrap();
    });
}

#[test]
fn a_run_reads_the_workspaces_file_and_the_users_own_once() {
    let scene = Scene::new(&[json!("Done.")]);
    let own = scene.home().join("config/ptk");
    fs::create_dir_all(&own).unwrap();
    serve_once(
        &own.join("ptk.toml"),
        "[run]\nmax_tool_calls = 7\n[sessions]\nmax_sessions = 9\n",
    );
    serve_once(
        &scene.path("ptk.toml"),
        "[run]\nmax_iterations = 3\nprovider = \"openai\"\n[permissions]\ndeny = [\"bash\"]\n",
    );
    let ended = scene.ptk(&["run", "Go."]).good();
    assert_eq!(ended.out, "Done.\n");
    assert!(ended.err.contains("ignored: run.provider."), "{ended:?}");
    let log = scene.log();
    let began = log.iter().find(|it| it["kind"] == "turn_began").unwrap();
    let settings = &began["body"]["settings"];
    assert_eq!(settings["max_iterations"], 3);
    assert_eq!(settings["max_tool_calls"], 7);
}

#[test]
fn a_run_reads_a_named_file_once() {
    let scene = Scene::new(&[json!("Done.")]);
    let named = scene.path("own.toml");
    serve_once(
        &named,
        "[run]\nmax_iterations = 3\n[sessions]\nmax_sessions = 9\n[sandbox]\nnetwork = false\n",
    );
    let named = named.to_str().unwrap();
    scene.ptk(&["run", "--config", named, "Go."]).good();
    let log = scene.log();
    let began = log.iter().find(|it| it["kind"] == "turn_began").unwrap();
    assert_eq!(began["body"]["settings"]["max_iterations"], 3);
}
