//! Each configuration file is read once.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

use serde_json::json;

use crate::scene::{Ended, Scene, started};

/// How long a run may take before it counts as blocked.
const LIMIT: Duration = Duration::from_secs(60);

/// Serves a text to one reader: a second one would wait for a writer for ever.
fn serve_once(path: &Path, text: &'static str) {
    let made = Command::new("mkfifo").arg(path).status().unwrap();
    assert!(made.success());
    let path = path.to_owned();
    thread::spawn(move || fs::write(path, text).unwrap());
}

fn run(scene: &Scene, args: &[&str]) -> Ended {
    let mut child = started(&mut scene.command(args));
    let begun = Instant::now();
    while child.try_wait().unwrap().is_none() {
        if begun.elapsed() > LIMIT {
            child.kill().unwrap();
            panic!("a configuration file was opened a second time");
        }
        thread::sleep(Duration::from_millis(20));
    }
    Ended::of(child.wait_with_output().unwrap())
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
    let ended = run(&scene, &["run", "Go."]).good();
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
    run(&scene, &["run", "--config", named, "Go."]).good();
    let log = scene.log();
    let began = log.iter().find(|it| it["kind"] == "turn_began").unwrap();
    assert_eq!(began["body"]["settings"]["max_iterations"], 3);
}
