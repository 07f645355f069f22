//! Whole runs with a real local model. `PTK_TEST_MODELS` is a folder of models
//! with Qwen2.5-Coder 0.5B in it, and `PTK_TEST_MODEL` a file with a model that
//! is too small to call tools; `scripts/test test` provides both.

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

use assert_cmd::Command;
use serde_json::Value;
use tempfile::TempDir;

struct Scene {
    folder: TempDir,
}

impl Scene {
    /// A workspace. Its path may affect the model's answers, so each test uses
    /// the same path each time.
    fn new() -> Self {
        let test = std::thread::current().name().unwrap().to_owned();
        let place = std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join(test);
        drop(fs::remove_dir_all(&place));
        fs::create_dir_all(&place).unwrap();
        let mut folder = tempfile::Builder::new();
        let folder = folder.prefix("at").rand_bytes(0).tempdir_in(place).unwrap();
        let scene = Self { folder };
        fs::create_dir_all(scene.root().join("src")).unwrap();
        scene.write(
            "Cargo.toml",
            "[package]\nname = \"crab\"\nversion = \"3.1.4\"\n",
        );
        scene.write("src/main.rs", "fn main() {\n    let shell_size = 42;\n}\n");
        scene.write("src/claw.rs", "// Pinches.\n");
        scene
    }

    /// A workspace, and a library with only this model.
    fn with(name: &str, weights: &str) -> Self {
        let scene = Self::new();
        let added = scene.ptk(&["models", "add", weights, "--name", name]);
        assert!(added.contains(&format!("{name} is added")), "{added}");
        scene
    }

    /// A workspace with the model that ptk pulls by default.
    fn with_default() -> Self {
        let folder = std::env::var("PTK_TEST_MODELS").expect("run `scripts/test test`");
        let name = "qwen2.5-coder-0.5b";
        let file = format!("{folder}/{name}/{name}-instruct-q4_k_m.gguf");
        Self::with(name, &file)
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

    /// Runs `ptk`, and returns its output of both streams.
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

    /// Runs a prompt, and returns the calls and the answer.
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
        let said: Vec<Value> = of("receive_message");
        let answer = said.last().and_then(|event| event["message"].as_str());
        (calls, answer.unwrap_or_default().to_owned())
    }
}

fn small_weights() -> String {
    std::env::var("PTK_TEST_MODEL").expect("run `scripts/test test`")
}

/// The README's first command.
#[test]
fn a_file_is_read_and_told_of() {
    let scene = Scene::with_default();
    // No model is named: the only installed one is used.
    let (calls, answer) = scene.ask("Read Cargo.toml and tell me the version", &[]);
    let [call] = calls.as_slice() else {
        panic!("{calls:?} {answer}");
    };
    assert_eq!(call["tool"], "read_file");
    assert_eq!(call["arguments"]["path"], "Cargo.toml");
    assert!(answer.contains("3.1.4"), "{answer}");
}

#[test]
#[ignore = "takes a minute; scripts/long-checks answering runs it"]
fn files_are_listed_and_written() {
    let scene = Scene::with_default();
    let (calls, answer) = scene.ask("Which files are in src?", &["--provider", "local"]);
    assert_eq!(calls[0]["tool"], "list_files", "{calls:?}");
    assert!(
        answer.contains("claw.rs") && answer.contains("main.rs"),
        "{answer}"
    );
    scene.ask(
        "Write the text \"hello crab\" to notes.txt.",
        &["--provider", "local", "--model", "qwen2.5-coder-0.5b"],
    );
    let written = fs::read_to_string(scene.root().join("notes.txt")).unwrap();
    assert_eq!(written.trim(), "hello crab");
    let (calls, answer) = scene.ask("What is 2 + 2?", &["--provider", "local"]);
    assert!(
        calls.is_empty() && answer.contains('4'),
        "{calls:?} {answer}"
    );
}

#[test]
fn a_model_that_is_too_small_for_tools_talks_and_is_said_to_be_so() {
    let scene = Scene::new();
    let file = small_weights();
    let said = scene.ptk(&["What is 2+2?", "--model", &file]);
    assert!(said.contains("too small to call tools"), "{said}");
    assert!(said.lines().count() > 1, "it says nothing: {said}");
}

/// Native tool calls are not supported for local models.
#[test]
fn native_calls_of_a_file_are_refused_with_what_to_do() {
    let scene = Scene::with("small", &small_weights());
    let mut command = scene.command(&["Hi", "--mode", "native", "--tools", "list_files"]);
    let output = command.output().unwrap();
    let told = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{told}");
    assert!(told.contains("leave out --mode"), "{told}");
}

#[test]
fn calls_in_text_are_held_to_their_grammar() {
    let scene = Scene::with("small", &small_weights());
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
    // It may call or not; if it does, the call can be parsed.
    let output = scene.command(&args).output().unwrap();
    let events = String::from_utf8_lossy(&output.stdout);
    for event in events
        .lines()
        .filter_map(|line| serde_json::from_str::<Value>(line).ok())
    {
        assert_ne!(event["call_type"], "malformed", "{event}");
        if event["type"] == "tool_call_start" {
            assert_eq!(event["tool"], "list_files");
        }
    }
    assert!(events.contains("\"iteration\""), "{events}");
}

/// Runs the chat in a real terminal with a real model.
#[test]
#[ignore = "takes a minute; scripts/long-checks answering runs it"]
fn it_can_be_talked_with() {
    let scene = Scene::with_default();
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
}
