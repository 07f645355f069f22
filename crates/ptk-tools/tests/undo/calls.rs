//! Calls, turns and sessions, undone and redone.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use ptk_events::{Delivery, EventKind, Filter, Step};
use ptk_undo::{Others, Selection, UndoError};
use serde_json::json;

use crate::scene::{Scene, manager};

#[tokio::test]
async fn a_new_file_goes_with_the_folders_that_were_made_for_it() {
    let scene = Scene::new();
    let before = scene.picture();
    let args = json!({"path": "a/b/c.txt", "content": "new\n"});
    let id = scene.ok("write_file", args).await;
    let done = scene.undo().last().unwrap();
    assert_eq!(done.calls[0].call, id);
    assert_eq!(scene.picture(), before);
}

#[tokio::test]
async fn an_edit_through_a_link_is_undone_where_it_was_made() {
    let scene = Scene::new();
    scene.write("real.txt", "one\n");
    std::os::unix::fs::symlink("real.txt", scene.path("link")).unwrap();
    let before = scene.picture();
    let edits = json!([{"old_string": "one", "new_string": "two"}]);
    scene
        .ok("edit", json!({"path": "link", "edits": edits}))
        .await;
    assert_eq!(scene.text("real.txt"), "two\n");
    scene.undo().last().unwrap();
    assert_eq!(scene.picture(), before);
}

#[tokio::test]
async fn a_command_is_undone_as_a_whole() {
    let scene = Scene::new();
    scene.write("keep", "kept");
    scene.write("gone", "gone");
    scene.write("d/e/f", "deep");
    scene.write("script", "#!/bin/sh\n");
    fs::set_permissions(scene.path("script"), PermissionsExt::from_mode(0o754)).unwrap();
    fs::create_dir(scene.path("empty")).unwrap();
    std::os::unix::fs::symlink("nowhere", scene.path("dangling")).unwrap();
    let before = scene.picture();
    scene
        .bash("rm gone script; rmdir empty; ln -sfn keep dangling; rm -r d; echo x > d; mkdir new; echo y > new/y; mkfifo pipe; echo z >> keep")
        .await;
    assert_ne!(scene.picture(), before);
    scene.undo().last().unwrap();
    assert_eq!(scene.picture(), before);
}

#[tokio::test]
async fn undo_again_walks_back_and_an_undo_is_undone_by_its_id() {
    let scene = Scene::new();
    for text in ["one\n", "two\n", "three\n"] {
        scene.bash(&format!("printf '{text}' > a")).await;
    }
    let undo = scene.undo();
    let first = undo.last().unwrap();
    assert_eq!(scene.text("a"), "two\n");
    undo.last().unwrap();
    assert_eq!(scene.text("a"), "one\n");
    undo.last().unwrap();
    assert!(!scene.path("a").exists());
    assert!(matches!(undo.last(), Err(UndoError::Nothing)));

    let error = undo.call(&first.calls[0].call).unwrap_err();
    assert_eq!(
        error.to_string(),
        format!("{} is undone already, by {}", first.calls[0].call, first.id)
    );
    // The last undo first, as it is with calls.
    let redone: Vec<String> = undo.list().unwrap().into_iter().map(|it| it.call).collect();
    undo.call(&redone[0]).unwrap();
    assert_eq!(scene.text("a"), "one\n");
    let listed = undo.list().unwrap();
    let undone: Vec<bool> = listed.iter().map(|it| it.undone).collect();
    assert_eq!(undone, [false, true, false, false, true, true, false]);
}

#[tokio::test]
async fn a_turn_is_undone_without_the_turn_before() {
    let scene = Scene::new();
    scene.bash("echo 1 > a").await;
    scene.tools.begin_turn();
    scene.bash("echo 2 > a; echo 2 > b").await;
    scene.bash("echo 3 > a; echo 3 > c").await;
    let undo = scene.undo();
    let plan = undo.plan(&Selection::Turn(None), Others::Refuse).unwrap();
    assert_eq!(plan.calls.len(), 2);
    undo.apply(plan).unwrap();
    assert_eq!(scene.text("a"), "1\n");
    assert!(!scene.path("b").exists() && !scene.path("c").exists());
}

#[tokio::test]
async fn a_session_is_undone_without_others() {
    let scene = Scene::new();
    scene.bash("echo mine > a").await;
    let other = manager(&scene.root(), &scene.options);
    let other = Scene {
        tools: other,
        options: scene.options.clone(),
        folder: scene.folder,
    };
    other.bash("echo theirs > b").await;
    let undo = other.undo();
    let sessions: Vec<String> = undo
        .list()
        .unwrap()
        .into_iter()
        .map(|it| it.session)
        .collect();
    assert_ne!(sessions[0], sessions[1]);
    undo.session(&sessions[1]).unwrap();
    assert!(!other.path("a").exists());
    assert_eq!(other.text("b"), "theirs\n");
}

#[tokio::test]
async fn calls_that_change_nothing_are_not_in_the_way() {
    let scene = Scene::new();
    scene.bash("echo 1 > a").await;
    scene.bash("ls; touch a").await;
    scene.call("read_file", json!({"path": "a"})).await;
    assert_eq!(scene.undo().list().unwrap().len(), 1);
    scene.undo().last().unwrap();
    assert!(!scene.path("a").exists());
}

#[tokio::test]
async fn a_call_that_fails_is_undone_as_far_as_it_came() {
    let scene = Scene::new();
    let args = json!({"command": "echo 1 > a; sleep 60", "timeout": 0.5});
    assert!(!scene.call("bash", args).await.success);
    assert_eq!(scene.text("a"), "1\n");
    scene.undo().last().unwrap();
    assert!(!scene.path("a").exists());
}

#[tokio::test]
async fn keeping_is_a_step_of_the_way() {
    let scene = Scene::new();
    let mut events = scene.tools.bus().subscribe(Filter::all());
    scene
        .ok("write_file", json!({"path": "a", "content": "x"}))
        .await;
    let mut steps = Vec::new();
    while let Ok(delivery) = events.try_recv() {
        if let Delivery::Event(event) = delivery
            && let EventKind::ToolStep(step) = &event.kind
        {
            steps.push(step.step);
        }
    }
    let at = |step| steps.iter().position(|it| *it == step);
    assert!(at(Step::Permission) < at(Step::PreImage) && at(Step::PreImage) < at(Step::Run));
}

#[tokio::test]
async fn names_that_are_no_text_come_back() {
    let scene = Scene::new();
    scene
        .bash(r"printf x > $'b\xff\xfe'; mkdir $'d\xff'; printf y > $'d\xff/y'")
        .await;
    let before = scene.picture();
    scene.bash(r"rm -r $'b\xff\xfe' $'d\xff'").await;
    scene.undo().last().unwrap();
    assert_eq!(scene.picture(), before);
    scene.undo().last().unwrap();
    assert!(scene.picture().is_empty());
}
