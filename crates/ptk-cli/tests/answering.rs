//! Whole runs with real weights on this machine: `PTK_TEST_MODEL` says where
//! they are; `scripts/test features` sees to that.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "the lints allow these inside tests, but not in the functions that tests share"
)]

#[allow(dead_code, reason = "not every test presses every key")]
#[path = "session/pane.rs"]
mod pane;

use std::fs;
use std::path::Path;

use assert_cmd::Command;
use serde_json::Value;
use tempfile::TempDir;

struct Scene {
    folder: TempDir,
}

impl Scene {
    /// A workspace, and a library with the one model.
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let scene = Self { folder };
        fs::create_dir_all(scene.root().join("src")).unwrap();
        scene.write(
            "Cargo.toml",
            "[package]\nname = \"crab\"\nversion = \"3.1.4\"\n",
        );
        scene.write("src/main.rs", "fn main() {\n    let shell_size = 42;\n}\n");
        scene.write("src/claw.rs", "// Pinches.\n");
        let weights = std::env::var("PTK_TEST_MODEL");
        let weights = weights.expect("run `scripts/test features`");
        let added = scene.ptk(&["models", "add", &weights, "--name", "small"]);
        assert!(added.contains("small is added"), "{added}");
        scene
    }

    fn root(&self) -> std::path::PathBuf {
        self.folder.path().join("a workspace")
    }

    fn write(&self, name: &str, text: &str) {
        fs::write(self.root().join(name), text).unwrap();
    }

    fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::cargo_bin("ptk").unwrap();
        let home = |name: &str| self.folder.path().join(name);
        command
            .args(args)
            .current_dir(self.root())
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .env("HOME", home("home"))
            .env("PTK_MODELS", home("models"));
        command
    }

    /// What it prints on both streams.
    fn ptk(&self, args: &[&str]) -> String {
        let output = self.command(args).output().unwrap();
        let (out, err) = (&output.stdout, &output.stderr);
        let text = format!(
            "{}{}",
            String::from_utf8_lossy(out),
            String::from_utf8_lossy(err)
        );
        assert!(output.status.success(), "{text}");
        text
    }

    /// The calls and the answer of a run.
    fn ask(&self, text: &str, flags: &[&str]) -> (Vec<Value>, String) {
        let args = [
            &["run", "--json", "--approve", "auto"],
            flags,
            &["--", text],
        ]
        .concat();
        let events = self.ptk(&args);
        let events = events
            .lines()
            .filter_map(|line| serde_json::from_str::<Value>(line).ok());
        let events: Vec<Value> = events.collect();
        let of = |kind: &str| {
            events
                .iter()
                .filter(|event| event["type"] == kind)
                .cloned()
                .collect()
        };
        let calls: Vec<Value> = of("tool_call_start");
        let said: Vec<Value> = of("receiveMessage");
        let answer = said.last().and_then(|event| event["message"].as_str());
        (calls, answer.unwrap_or_default().to_owned())
    }
}

#[test]
fn the_readme_is_right() {
    let scene = Scene::new();
    // Nothing is chosen: the only model there is is asked.
    let (calls, answer) = scene.ask("Read Cargo.toml and tell me the version", &[]);
    let [call] = calls.as_slice() else {
        panic!("{calls:?}");
    };
    assert_eq!(call["tool"], "read_file");
    assert_eq!(call["arguments"]["path"], "Cargo.toml");
    assert!(answer.contains("3.1.4"), "{answer}");
}

#[test]
fn files_are_listed_searched_and_written() {
    let scene = Scene::new();
    let (_, answer) = scene.ask("what is in the src folder?", &["--provider", "local"]);
    assert!(
        answer.contains("claw.rs") && answer.contains("main.rs"),
        "{answer}"
    );
    let (_, answer) = scene.ask("which file mentions shell_size?", &["--provider", "local"]);
    assert!(answer.contains("main.rs"), "{answer}");
    scene.ask(
        "write the text hello crab to notes.txt",
        &["--provider", "local", "--model", "small"],
    );
    let written = fs::read_to_string(scene.root().join("notes.txt")).unwrap();
    assert_eq!(written.trim(), "hello crab");
    let (calls, answer) = scene.ask("What is 2+2?", &["--provider", "local"]);
    assert!(
        calls.is_empty() && answer.contains('4'),
        "{calls:?} {answer}"
    );
}

#[test]
fn a_file_is_a_model() {
    let scene = Scene::new();
    let file = std::env::var("PTK_TEST_MODEL").unwrap();
    assert!(Path::new(&file).exists());
    let (_, answer) = scene.ask("What is 2+2?", &["--model", &file]);
    assert!(answer.contains('4'), "{answer}");
}

#[test]
fn calls_in_text_are_held_to_their_grammar() {
    let scene = Scene::new();
    scene.write(
        "ptk.toml",
        "[models.held]\nprovider = \"local\"\nmodel = \"small\"\nmode = \"text\"\n\
         grammar = \"always\"\ntemperature = 1.0\nseed = 5\nmax_tokens = 160\n",
    );
    let args = ["run", "--json", "--approve", "deny", "--config", "ptk.toml"];
    let limits = [
        "--model",
        "held",
        "--tools",
        "list_files",
        "--max-iterations",
        "2",
    ];
    let args = [&args[..], &limits[..], &["--", "List the files in src."]].concat();
    // Whether it calls is its own affair; what it calls can be read.
    let output = scene.command(&args).output().unwrap();
    let events = String::from_utf8_lossy(&output.stdout);
    for event in events
        .lines()
        .filter_map(|line| serde_json::from_str::<Value>(line).ok())
    {
        assert_ne!(event["callType"], "malformed", "{event}");
        if event["type"] == "tool_call_start" {
            assert_eq!(event["tool"], "list_files");
        }
    }
    assert!(events.contains("\"iteration\""), "{events}");
}

/// The chat, in a real terminal, with a real model (R326–R329).
#[test]
fn it_can_be_talked_with() {
    let scene = Scene::new();
    scene.write("package.json", "{\"version\": \"1.4.2\"}\n");
    let mut command = std::process::Command::new(assert_cmd::cargo::cargo_bin!("ptk"));
    command
        .arg("chat")
        .current_dir(scene.root())
        .env("LC_ALL", "C.UTF-8")
        .env("HOME", scene.folder.path().join("home"))
        .env("PTK_MODELS", scene.folder.path().join("models"));
    let pane = pane::Pane::new(&command, 80, 24);
    pane.shows("Ask something.");
    pane.says("Đọc file package.json");
    let screen = pane.shows("1.4.2");
    assert!(screen.contains("✓ read_file package.json"), "{screen}");
    pane.rests();
    pane.says("Read Cargo.toml and tell me the version");
    let screen = pane.shows("3.1.4");
    assert!(screen.contains("✓ read_file Cargo.toml"), "{screen}");
}
