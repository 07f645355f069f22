//! Every no, as a model is told it.

use ptk_protocol::{Arguments, ToolCall};
use ptk_sandbox::Workspace;
use ptk_tools::permission::Mode;
use ptk_tools::tools::WriteFile;
use ptk_tools::{CallRequest, Decision, Permissions, Registry, ToolManager, Typed};
use serde_json::json;

use crate::scene::Scene;

#[tokio::test]
async fn every_no_says_why_and_what_to_do() {
    let scene = Scene::new(&["deny bash(git push *)", "deny edit(a.txt)"]);
    insta::assert_snapshot!(scene.told(&scene.bash("make").await), @r"
    permission_error: bash was not allowed: nobody is there
    → Do not try it again in another way. Say what you wanted to do and why, or go on without it.
    ");
    insta::assert_snapshot!(scene.told(&scene.bash("cargo test && git push").await), @r"
    permission_error: bash was not allowed: the rule deny bash(git push *) (test) forbids it
    → Do not try it again in another way. Say what you wanted to do and why, or go on without it.
    ");
    let edit = json!({"path": "a.txt", "edits": [{"old_string": "one", "new_string": "1"}]});
    insta::assert_snapshot!(scene.told(&scene.call("edit", &edit).await), @r"
    permission_error: edit was not allowed: the rule deny edit(a.txt) (test) forbids it
    → Do not try it again in another way. Say what you wanted to do and why, or go on without it.
    ");
    scene.answer(Decision::Deny("the user said no".to_owned()));
    scene.bash("make x").await;
    insta::assert_snapshot!(scene.told(&scene.bash("make x").await), @r"
    permission_error: bash was not allowed: the user said no; this very call was refused before
    → It will not be asked about again in this session. Go on without it, or say what you need it for.
    ");
    let scene = Scene::with(Permissions::new(Mode::Deny));
    insta::assert_snapshot!(scene.told(&scene.bash("make").await), @r"
    permission_error: bash was not allowed: calls that change something are refused here
    → Do not try it again in another way. Say what you wanted to do and why, or go on without it.
    ");
}

#[tokio::test]
async fn the_file_with_the_rules_is_not_written() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("permissions.toml");
    let mut registry = Registry::new();
    registry.register(Typed::new(WriteFile)).unwrap();
    let tools = ToolManager::builder(Workspace::open(folder.path()).unwrap())
        .tools(registry)
        .permissions(Permissions::new(Mode::Auto).guarding(file.clone()))
        .build();
    let args = json!({"path": "permissions.toml", "content": "mode = 'auto'"}).to_string();
    let call = ToolCall::new("write_file", Arguments::from_json(&args).unwrap());
    let result = tools.execute(CallRequest::new(call)).await.result;
    assert!(
        result
            .error
            .ends_with("says what is allowed, and only a person changes it")
    );
    assert!(!file.exists());
}
