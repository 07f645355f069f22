//! Commands that the machine cannot protect in full. These tests are started
//! by no helper, so that nothing protects here.

use ptk_permission::Mode;
use ptk_tools::custom::Declaration;
use ptk_tools::process::Program;
use ptk_tools::{
    AllowAll, CallContext, Decision, Effects, Permissions, Sandbox, ToolError, Unprotected,
    tool_fn, tools,
};
use serde_json::json;

use crate::answers::Notebook;
use crate::scene::{Scene, entries};

/// What is missing, and why.
const NOTHING: &str = "without files, attributes of other files, network, processes, \
    system calls, limits (this program does not start commands by a helper)";

/// A scene with a person to ask, where no rule decides.
fn scene() -> Scene {
    with(Permissions::default())
}

fn with(permissions: Permissions) -> Scene {
    Scene::built(permissions, |builder| builder)
}

fn decided(unprotected: Unprotected) -> Scene {
    let sandbox = Sandbox {
        unprotected,
        ..Sandbox::default()
    };
    Scene::built(Permissions::default(), |builder| builder.sandbox(sandbox))
}

#[tokio::test]
async fn a_person_is_asked_once_and_told_what_is_missing() {
    let scene = scene();
    scene.answer(Decision::Allow);
    let result = scene.bash("echo so").await;
    assert_eq!(result.fields["output"], "so\n");
    assert_eq!(result.fields["sandbox"], NOTHING);
    let question = scene.questions().pop().unwrap();
    assert_eq!(question.summary, "echo so");
    assert_eq!(question.unprotected.as_deref(), Some(NOTHING));
    assert_eq!(scene.verdict("echo so").await, "asks");
}

#[tokio::test]
async fn no_rule_runs_a_command_unprotected() {
    let rules = entries(&["allow bash(cat *)", "deny bash(make *)"]);
    let scene = with(Permissions::default().rules(rules));
    assert_eq!(scene.verdict("cat a.txt").await, "asks");
    assert_eq!(scene.verdict("make").await, "denied");
    let read = scene.call("read_file", &json!({"path": "a.txt"})).await;
    assert!(read.success);
}

#[tokio::test]
async fn a_session_covers_what_the_rule_does() {
    let rules = entries(&["allow bash(cat *)", "ask bash(ls *)"]);
    let scene = with(Permissions::default().rules(rules));
    scene.answer(Decision::AllowForSession);
    assert!(scene.bash("cat a.txt").await.success);
    assert_eq!(scene.questions().pop().unwrap().rules, ["bash(cat a.txt)"]);
    assert_eq!(scene.verdict("cat a.txt").await, "runs");
    assert_eq!(scene.verdict("cat src/main.rs").await, "asks");
    assert_eq!(scene.verdict("cat a.txt && ls").await, "asks");
}

#[tokio::test]
async fn what_is_dangerous_is_agreed_to_once() {
    let scene = scene();
    scene.answer(Decision::AllowForSession);
    assert!(scene.bash("rm a.txt").await.success);
    let question = scene.questions().pop().unwrap();
    assert_eq!(question.rules, [""; 0]);
    assert!(!question.warnings.is_empty());
    assert_eq!(scene.verdict("rm a.txt").await, "asks");
}

#[tokio::test]
async fn always_is_for_the_session_only() {
    let notebook = Notebook::default();
    let scene = with(Permissions::default().kept_by(notebook.clone()));
    scene.answer(Decision::AllowAlways);
    assert!(scene.bash("cat a.txt").await.success);
    assert_eq!(notebook.kept(), [""; 0]);
    assert_eq!(scene.verdict("cat a.txt").await, "runs");
}

#[tokio::test]
async fn a_no_is_told_as_any_other() {
    let scene = scene();
    scene.answer(Decision::Deny("the user said no".to_owned()));
    let result = scene.bash("echo so").await;
    assert_eq!(result.error, "bash was not allowed: the user said no");
    assert_eq!(scene.verdict("echo so").await, "asks");
    assert_eq!(scene.verdict("echo so").await, "denied");
}

#[tokio::test]
async fn without_a_person_it_is_refused() {
    let scene = Scene::built(Permissions::default(), |builder| builder.approver(AllowAll));
    insta::assert_snapshot!(scene.told(&scene.bash("echo so").await), @r#"
    permission_error: bash(command="echo so"): The command was not run, because the sandbox would not be complete: without files, attributes of other files, network, processes, system calls, limits (this program does not start commands by a helper)
    → Do the work with the other tools. Only the user can change this: `ptk doctor` says what is missing.
    "#);
    let rules = || entries(&["allow bash(cat *)"]);
    for scene in [
        scene,
        with(Permissions::new(Mode::Auto).rules(rules())),
        with(Permissions::new(Mode::Deny).rules(rules())),
        decided(Unprotected::Refuse),
    ] {
        assert_eq!(scene.verdict("cat a.txt").await, "denied");
        assert_eq!(scene.verdict("echo so").await, "denied");
    }
}

#[tokio::test]
async fn whoever_allows_it_is_asked_as_ever() {
    let scene = decided(Unprotected::Allow);
    scene.answer(Decision::AllowForSession);
    let result = scene.bash("cat a.txt").await;
    assert_eq!(result.fields["sandbox"], NOTHING);
    assert_eq!(scene.questions().pop().unwrap().unprotected, None);
    assert_eq!(scene.verdict("cat a.txt").await, "runs");
}

/// Programs of all kinds, which leave a file of the tool's name.
fn starters() -> Scene {
    let declared = json!({
        "name": "declared",
        "description": "A tool of a user",
        "command": ["touch", "declared"],
    });
    let declared: Declaration = serde_json::from_value(declared).unwrap();
    let diagnostics = json!({
        "command": ["touch", "checker"],
        "servers": [{"name": "server", "command": ["touch", "server"], "extensions": ["rs"]}],
    });
    let mut registry = tools::all(serde_json::from_value(diagnostics).unwrap()).unwrap();
    let declared = declared.into_tool().unwrap();
    registry.register_shared(declared.into()).unwrap();
    Scene::built(Permissions::default(), |builder| builder.tools(registry))
}

#[tokio::test]
async fn it_is_the_same_for_all_that_start_programs() {
    let job = json!({"command": "touch job", "run_in_background": true});
    for (tool, args, left) in [
        ("bash", &job, ["job"].as_slice()),
        ("declared", &json!({}), &["declared"]),
        ("get_diagnostics", &json!({}), &["checker", "server"]),
    ] {
        let scene = starters();
        scene.call(tool, args).await;
        let question = scene.questions().pop().unwrap();
        assert_eq!(question.unprotected.as_deref(), Some(NOTHING), "{tool}");
        assert!(left.iter().all(|name| !scene.path(name).exists()), "{tool}");
        scene.answer(Decision::Allow);
        let result = scene.call(tool, args).await;
        let mut status = result.fields.get("job").cloned();
        while let Some(job) = status {
            let heard = scene
                .call("bash_output", &json!({"job": job, "wait": 60}))
                .await;
            status = (heard.fields["status"] == "running").then_some(job);
        }
        let is_left = |name: &&str| scene.path(name).exists();
        assert!(left.iter().all(is_left), "{tool}: {result:?}");
    }
}

/// A tool that does not declare beforehand that it runs a program.
#[tokio::test]
async fn what_nobody_was_asked_about_is_refused() {
    #[derive(serde::Deserialize, schemars::JsonSchema)]
    struct Nothing {}
    let run = |context: CallContext, _: Nothing| async move {
        let program = Program::new("touch", ["silent"], context.workspace().root());
        program.run(&context).await?;
        Ok::<_, ToolError>("done")
    };
    let scene = scene();
    let tool = tool_fn("silent", "Run a program", Effects::EXECUTE, run);
    scene.tools.register(tool).unwrap();
    scene.answer(Decision::Allow);
    let result = scene.call("silent", &json!({})).await;
    assert_eq!(scene.questions().pop().unwrap().unprotected, None);
    assert!(
        result.error.contains("the sandbox would not be complete"),
        "{result:?}"
    );
    assert!(!scene.path("silent").exists());
}
