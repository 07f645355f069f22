//! Files that are not read before it is decided that they may be.

use std::fs;

use ptk_permission::Mode;
use ptk_protocol::ErrorType;
use ptk_tools::{Decision, Permissions};
use serde_json::{Value, json};

use crate::scene::{Scene, entries};

const SECRET: &str = "password = hunter2\nsecond line\n";

fn edit(old: &str) -> Value {
    json!({"path": "secrets/k", "edits": [{"old_string": old, "new_string": "x"}]})
}

fn scene(permissions: Permissions) -> Scene {
    let scene = Scene::with(permissions);
    fs::create_dir(scene.path("secrets")).unwrap();
    fs::write(scene.path("secrets/k"), SECRET).unwrap();
    scene
}

#[tokio::test]
async fn a_failing_edit_quotes_nothing_that_may_not_be_read() {
    for rule in [
        "deny read_file(secrets/**)",
        "deny grep(secrets/**)",
        "deny edit(secrets/**)",
        "deny write_file(secrets/**)",
        "deny edit",
    ] {
        for mode in [Mode::Ask, Mode::Auto] {
            let scene = scene(Permissions::new(mode).rules(entries(&[rule])));
            for old in ["password = hunter", "passwrd = hunter3", "second", "x\ny"] {
                let result = scene.call("edit", &edit(old)).await;
                let told = serde_json::to_string(&result).unwrap();
                assert!(!told.contains("hunter2"), "{rule} {old}: {told}");
                assert!(!told.contains("line"), "{rule} {old}: {told}");
                assert_eq!(
                    result.error_type,
                    Some(ErrorType::PermissionError),
                    "{rule} {old}: {told}"
                );
                assert!(scene.questions().is_empty(), "{rule} {old}");
            }
        }
    }
}

#[tokio::test]
async fn in_mode_deny_nothing_is_read_for_a_change() {
    let scene = scene(Permissions::new(Mode::Deny));
    let result = scene.call("edit", &edit("passwrd")).await;
    assert_eq!(result.error_type, Some(ErrorType::PermissionError));
    assert!(!result.error.contains("hunter2"));
}

#[tokio::test]
async fn whoever_is_asked_about_reading_is_asked_before_anything_is_read() {
    let rules = entries(&["ask read_file(secrets/**)", "allow edit"]);
    let scene = scene(Permissions::new(Mode::Auto).rules(rules));
    // The answer is no: neither the person nor the model is shown anything.
    let result = scene.call("edit", &edit("passwrd = hunter3")).await;
    let questions = scene.questions();
    assert_eq!(questions.len(), 1);
    assert_eq!(
        questions[0].summary,
        "Read secrets/k, before it changes anything"
    );
    assert_eq!(result.error_type, Some(ErrorType::PermissionError));
    assert!(!serde_json::to_string(&result).unwrap().contains("hunter2"));
    // After the reading was approved, the change is asked about.
    scene.answer(Decision::Allow);
    scene.call("edit", &edit("second")).await;
    let questions = scene.questions();
    assert_eq!(questions.len(), 2);
    assert!(questions[1].summary.contains("-second line"));
}

#[tokio::test]
async fn the_question_about_a_new_content_does_not_show_the_old_one() {
    let scene = scene(Permissions::default().rules(entries(&["deny read_file(secrets/**)"])));
    fs::write(scene.path("secrets/k"), "").unwrap();
    let args = json!({"path": "secrets/k", "content": "new"});
    scene.answer(Decision::Allow);
    scene.call("write_file", &args).await;
    let summary = scene.questions().pop().unwrap().summary;
    assert!(
        summary.contains("which a rule forbids to show"),
        "{summary}"
    );
}
