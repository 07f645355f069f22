//! What cannot be undone is reported, and what is kept is bounded.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use ptk_undo::{Options, UndoError};
use serde_json::{Value, json};

use crate::scene::{Scene, become_ordinary, runtime, unrecorded, unrecorded_async};

#[test]
fn a_workspace_with_too_many_files_is_said_to_be_one() {
    unrecorded_async(|| async {
        let scene = Scene::with(&Options {
            max_files: 3,
            ..Options::default()
        });
        for name in ["a", "b", "c", "d"] {
            scene.write(name, name);
        }
        let result = scene.call("bash", json!({"command": "rm a"})).await;
        assert_eq!(
            result.fields["undo"],
            "This call cannot be undone: the workspace has more than 3 files."
        );
        let error = scene.undo().last().unwrap_err();
        assert!(matches!(error, UndoError::NotKept { .. }), "{error}");
        // What names its files can be undone all the same.
        scene
            .ok("write_file", json!({"path": "e", "content": "x"}))
            .await;
        scene.undo().last().unwrap();
        assert!(!scene.path("e").exists());
    });
}

#[test]
fn a_workspace_that_holds_too_much_is_said_to_do() {
    unrecorded_async(|| async {
        let scene = Scene::with(&Options {
            max_workspace_mb: 1,
            ..Options::default()
        });
        scene.write("a", vec![0; 1024 * 1024 + 1]);
        let result = scene.call("bash", json!({"command": "true"})).await;
        assert_eq!(
            result.fields["undo"],
            "This call cannot be undone: the files of the workspace hold more than 1 MB."
        );
    });
}

#[tokio::test]
async fn a_file_that_is_too_large_is_named_if_it_changes() {
    let scene = Scene::with(&Options {
        max_file_mb: 1,
        ..Options::default()
    });
    scene.write("large", vec![0; 1024 * 1024 + 1]);
    scene.write("small", "x");
    let result = scene.call("bash", json!({"command": "echo > small"})).await;
    assert_eq!(result.fields.get("undo"), None);
    let result = scene
        .call("bash", json!({"command": "rm large; echo y > small"}))
        .await;
    let said = result.fields["undo"].as_str().unwrap();
    assert!(said.starts_with("This call cannot be undone as a whole: what was in large before"));
    assert!(matches!(scene.undo().last(), Err(UndoError::Conflicts(_))));
    assert_eq!(scene.text("small"), "y\n");
}

#[test]
fn what_git_ignores_is_not_covered_and_that_is_said() {
    unrecorded_async(|| async {
        let scene = Scene::new();
        scene.write(".gitignore", "target/\n.env\n!keep/\n");
        scene.write("target/old", "old");
        scene.write("keep/a", "a");
        scene.write(".env", "SECRET=1");
        let result = scene
        .call("bash", json!({"command": "rm target/old keep/a .env; echo 1 > b; rm .gitignore; mkdir -p sub/target; echo > sub/target/x"}))
        .await;
        assert_eq!(result.fields["undo"], "Undo does not cover target.");
        scene.undo().last().unwrap();
        assert!(!scene.path("target/old").exists());
        assert!(!scene.path("sub").exists());
        assert_eq!(scene.text(".env"), "SECRET=1");
        assert_eq!(scene.text("keep/a"), "a");
    });
}

/// Such a folder can be listed, but nothing in it can be looked at.
#[test]
fn a_folder_that_may_not_be_looked_into_is_not_covered_and_that_is_said() {
    let scene = Scene::new();
    scene.write("closed/a", "a");
    let closed = fs::Permissions::from_mode(0o644);
    fs::set_permissions(scene.path("closed"), closed).unwrap();
    unrecorded(|| {
        become_ordinary();
        runtime().block_on(async {
            let result = scene.call("bash", json!({"command": "echo 1 > b"})).await;
            assert_eq!(result.fields["undo"], "Undo does not cover closed.");
        });
        scene.undo().last().unwrap();
    });
    assert!(!scene.path("b").exists());
}

#[tokio::test]
async fn rules_that_change_while_a_command_runs_lose_nothing() {
    let scene = Scene::new();
    scene.write(".gitignore", "out/\n");
    scene.write("out/theirs", "built");
    scene.write("in/mine", "written");
    scene.bash("echo in/ > .gitignore").await;
    let done = scene.undo().last().unwrap();
    assert_eq!(done.steps.len(), 1);
    assert_eq!(scene.text("out/theirs"), "built");
    assert_eq!(scene.text("in/mine"), "written");
}

#[tokio::test]
async fn old_calls_are_forgotten_when_there_is_too_much() {
    let scene = Scene::with(&Options {
        max_mb: 1,
        ..Options::default()
    });
    for round in 0..8 {
        let command = format!("head -c 300000 /dev/urandom > a; echo {round}");
        scene.bash(&command).await;
    }
    let undo = scene.undo();
    let listed = undo.list().unwrap().len();
    assert!((1..8).contains(&listed), "{listed}");
    assert!(kept(&scene) < 2 * 1024 * 1024, "{}", kept(&scene));
    // Undoing needs room as well, so that more may be forgotten meanwhile.
    undo.last().unwrap();
    undo.last().unwrap();
}

/// How many bytes of contents there are.
fn kept(scene: &Scene) -> u64 {
    let state = scene.folder.path().join("state");
    let store = fs::read_dir(state).unwrap().next().unwrap().unwrap().path();
    let folders = ["content", "packs"].map(|name| fs::read_dir(store.join(name)).unwrap());
    let files = folders.into_iter().flatten();
    files
        .map(|entry| entry.unwrap().metadata().unwrap().len())
        .sum()
}

#[tokio::test]
async fn what_is_the_same_is_kept_once() {
    let scene = Scene::reviewed(&Options::default());
    for name in 0..20 {
        scene.write(&format!("f{name}"), vec![b'x'; 10_000]);
    }
    scene.bash("rm f*").await;
    assert_eq!(kept(&scene), 10_000);
}

#[tokio::test]
async fn a_session_without_undo_keeps_nothing() {
    let scene = Scene::with(&Options {
        enabled: false,
        ..Options::default()
    });
    scene.bash("echo 1 > a").await;
    assert!(!scene.folder.path().join("state").exists());
    let none: Option<&Value> = None;
    let result = scene.call("bash", json!({"command": "true"})).await;
    assert_eq!(result.fields.get("undo"), none);
}
