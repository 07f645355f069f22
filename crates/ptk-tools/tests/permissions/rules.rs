//! Rules about paths, and rules that are none.

use ptk_protocol::ErrorType;
use ptk_tools::permission::Rule;
use serde_json::json;

use crate::scene::Scene;

#[tokio::test]
async fn paths_are_matched_where_they_really_are() {
    let scene = Scene::new(&[
        "allow write_file(src/**)",
        "deny write_file(**/*.key)",
        "allow edit",
    ]);
    std::fs::create_dir(scene.path("private")).unwrap();
    std::os::unix::fs::symlink("../private", scene.path("src/link")).unwrap();
    for (path, error) in [
        ("src/new.rs", None),
        ("src/deep/er/new.rs", None),
        ("new.rs", Some(ErrorType::PermissionError)),
        ("src/x.key", Some(ErrorType::PermissionError)),
        // It leads to another folder, which no rule allows.
        ("src/link/new.rs", Some(ErrorType::PermissionError)),
    ] {
        let args = json!({"path": path, "content": ""});
        let result = scene.call("write_file", &args).await;
        assert_eq!(result.error_type, error, "{path}");
    }
    let edits = json!({"path": "a.txt", "edits": [{"old_string": "one", "new_string": "1"}]});
    assert!(scene.call("edit", &edits).await.success);
}

#[tokio::test]
async fn a_path_is_proposed_as_it_is() {
    let scene = Scene::new(&[]);
    scene
        .call("write_file", &json!({"path": "src/[a].rs", "content": ""}))
        .await;
    let rules = scene.questions().pop().unwrap().rules;
    assert_eq!(rules, ["write_file(src/[[]a[]].rs)"]);
    assert!(rules.iter().all(|rule| rule.parse::<Rule>().is_ok()));
}

#[tokio::test]
async fn tools_that_only_read_are_stopped_by_rules_too() {
    let scene = Scene::new(&["deny read_file(src/**)", "ask read_file(build/**)"]);
    for (path, error, questions) in [
        ("a.txt", None, 0),
        ("src/main.rs", Some(ErrorType::PermissionError), 0),
        ("build/2.o", Some(ErrorType::PermissionError), 1),
    ] {
        let result = scene.call("read_file", &json!({"path": path})).await;
        assert_eq!(result.error_type, error, "{path}");
        assert_eq!(scene.questions().len(), questions, "{path}");
    }
}

#[tokio::test]
async fn deny_beats_ask_beats_allow() {
    let scene = Scene::new(&[
        "allow bash(make *)",
        "ask bash(make install *)",
        "deny bash(make install --force *)",
    ]);
    assert_eq!(scene.verdict("make").await, "runs");
    assert_eq!(scene.verdict("make install").await, "asks");
    assert_eq!(scene.verdict("make install --force").await, "denied");
    assert_eq!(scene.verdict("nice make install --force").await, "denied");
    // What may be forbidden is asked about.
    assert_eq!(scene.verdict("make install $X").await, "asks");
    assert_eq!(scene.verdict("make $X").await, "asks");
}

#[tokio::test]
async fn an_open_rule_does_not_allow_what_is_dangerous() {
    for rule in ["allow bash", "allow bash(*)", "allow bash(* a.txt *)"] {
        let scene = Scene::new(&[rule]);
        assert_eq!(scene.verdict("cat a.txt").await, "runs");
        assert_eq!(scene.verdict("rm a.txt").await, "asks");
        assert_eq!(scene.verdict("cat $X").await, "asks");
        assert_eq!(scene.verdict("rm -rf ~").await, "blocked");
    }
}

#[test]
fn what_is_no_rule_is_said_to_be_none() {
    let told = |text: &str| text.parse::<Rule>().unwrap_err().to_string();
    insta::assert_snapshot!(told(""), @"`` is no rule: it begins with the name of a tool, such as `edit` or `bash(ls *)`");
    insta::assert_snapshot!(told("cargo test"), @"`cargo test` is no rule: it begins with the name of a tool, such as `edit` or `bash(ls *)`");
    insta::assert_snapshot!(told("bash(ls"), @"`bash(ls` is no rule: its bracket is not closed");
    insta::assert_snapshot!(told("bash()"), @"`bash()` is no rule: there is nothing between its brackets");
    insta::assert_snapshot!(told("bash(ls; rm *)"), @"`bash(ls; rm *)` is no rule: between its brackets has to be one command");
    insta::assert_snapshot!(told("bash(ls $X)"), @"`bash(ls $X)` is no rule: its words have to be known: no variables, no `~`");
    insta::assert_snapshot!(told("edit(src/{a)"), @"`edit(src/{a)` is no rule: what is between its brackets is no pattern of paths");
}
