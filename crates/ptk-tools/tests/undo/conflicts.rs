//! Changes that others have made since are never lost.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use ptk_undo::{ConflictReason, Others, Selection, UndoError};
use serde_json::json;

use crate::scene::{Scene, timeless};

#[tokio::test]
async fn a_file_that_others_have_changed_stops_the_whole_undo() {
    let scene = Scene::new();
    scene.write("a", "before\n");
    scene.bash("echo call >> a; echo call > b").await;
    scene.write("a", "before\ncall\ntheirs\n");
    let before = scene.picture();
    let error = scene.undo().last().unwrap_err();
    assert_eq!(
        error.to_string(),
        "Nothing was undone, because it would lose what others have done since:\n  \
         a: changed since by another program or a person; move it away, or leave it alone with --keep-others"
    );
    assert_eq!(scene.picture(), before);

    let undo = scene.undo();
    let plan = undo.plan(&Selection::Last, Others::Keep).unwrap();
    assert_eq!(plan.left.len(), 1);
    undo.apply(plan).unwrap();
    assert_eq!(scene.text("a"), "before\ncall\ntheirs\n");
    assert!(!scene.path("b").exists());
}

#[tokio::test]
async fn a_later_call_is_named() {
    let scene = Scene::new();
    let first = scene.bash("echo 1 > a").await;
    let second = scene.bash("echo 2 > a").await;
    let error = scene.undo().call(&first).unwrap_err();
    let UndoError::Conflicts(conflicts) = error else {
        panic!("{error}");
    };
    assert_eq!(conflicts[0].why, ConflictReason::Call(second));
}

#[tokio::test]
async fn what_came_between_two_calls_of_a_session_is_not_lost() {
    let scene = Scene::new();
    scene.bash("echo 1 > a").await;
    scene.write("a", "theirs\n");
    scene.bash("echo 2 >> a").await;
    let undo = scene.undo();
    let session = undo.list().unwrap()[0].session.clone();
    assert!(matches!(
        undo.session(&session),
        Err(UndoError::Conflicts(_))
    ));
    undo.last().unwrap();
    assert_eq!(scene.text("a"), "theirs\n");
    assert!(matches!(undo.last(), Err(UndoError::Conflicts(_))));
    assert_eq!(scene.text("a"), "theirs\n");
}

#[tokio::test]
async fn a_folder_with_files_of_others_stays() {
    let scene = Scene::new();
    scene
        .ok("write_file", json!({"path": "d/a", "content": "x"}))
        .await;
    scene.write("d/theirs", "y");
    scene.undo().last().unwrap();
    assert!(!scene.path("d/a").exists());
    assert_eq!(scene.text("d/theirs"), "y");
}

#[tokio::test]
async fn a_folder_in_the_place_of_a_file_goes_only_without_files_of_others() {
    let scene = Scene::new();
    scene.write("d", "file");
    scene.bash("rm d; mkdir d; echo x > d/x").await;
    scene.write("d/theirs", "y");
    let before = scene.picture();
    let error = scene.undo().last().unwrap_err();
    let UndoError::Conflicts(conflicts) = error else {
        panic!("{error}");
    };
    assert_eq!(conflicts[0].why, ConflictReason::Occupied);
    assert_eq!(scene.picture(), before);
    fs::remove_file(scene.path("d/theirs")).unwrap();
    scene.undo().last().unwrap();
    assert_eq!(scene.text("d"), "file");
}

#[tokio::test]
async fn permissions_that_others_gave_are_not_taken() {
    let scene = Scene::new();
    scene.bash("echo 1 > a").await;
    fs::set_permissions(scene.path("a"), PermissionsExt::from_mode(0o600)).unwrap();
    assert!(scene.undo().last().is_err());
    assert_eq!(scene.text("a"), "1\n");
}

#[tokio::test]
async fn a_link_in_the_place_of_a_folder_is_not_followed() {
    let scene = Scene::new();
    scene.write("d/a", "one\n");
    scene.write("theirs/a", "two\n");
    scene.bash("echo two > d/a").await;
    fs::remove_dir_all(scene.path("d")).unwrap();
    std::os::unix::fs::symlink("theirs", scene.path("d")).unwrap();
    assert!(scene.undo().last().is_err());
    assert_eq!(scene.text("theirs/a"), "two\n");
}

#[tokio::test]
async fn what_is_as_before_already_needs_no_undo() {
    let scene = Scene::new();
    scene.write("a", "before\n");
    scene.bash("echo x > a; echo y > b").await;
    scene.write("a", "before\n");
    let done = scene.undo().last().unwrap();
    assert_eq!(done.steps.len(), 1);
    assert_eq!(scene.text("a"), "before\n");
    assert!(!scene.path("b").exists());
}

#[tokio::test]
async fn folders_that_others_took_away_come_and_go_with_what_is_in_them() {
    let scene = Scene::new();
    scene.write("d/deep/inner", "text\n");
    scene.bash("rm d/deep/inner").await;
    fs::rename(scene.path("d"), scene.path("elsewhere")).unwrap();
    let before = scene.picture();
    let done = scene.undo().last().unwrap();
    let steps: Vec<_> = done.steps.iter().map(|step| step.path.as_path()).collect();
    assert_eq!(steps, ["d", "d/deep", "d/deep/inner"].map(Path::new));
    assert_eq!(scene.text("d/deep/inner"), "text\n");
    scene.undo().call(&done.id).unwrap();
    assert_eq!(timeless(&scene.picture()), timeless(&before));
}

#[tokio::test]
async fn a_file_in_the_place_of_a_folder_stops_the_undo_of_what_was_in_it() {
    let scene = Scene::new();
    scene.write("d/inner", "text\n");
    scene.bash("rm d/inner").await;
    fs::remove_dir(scene.path("d")).unwrap();
    scene.write("d", "theirs\n");
    let error = scene.undo().last().unwrap_err();
    assert!(matches!(error, UndoError::Conflicts(_)), "{error}");
    assert_eq!(scene.text("d"), "theirs\n");
}
