//! How long an answer holds.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures_util::future::BoxFuture;
use ptk_permission::{Mode, Rule, RuleStore};
use ptk_protocol::{Arguments, ErrorType, ToolCall};
use ptk_sandbox::Workspace;
use ptk_tools::tools::WriteFile;
use ptk_tools::{
    ApprovalRequest, Approver, CallRequest, Decision, Permissions, Registry, ToolManager, Typed,
};
use serde_json::json;
use tokio_util::sync::CancellationToken;

use crate::scene::Scene;

fn no() -> Decision {
    Decision::Deny("the user said no".to_owned())
}

#[tokio::test]
async fn once_is_once() {
    let scene = Scene::new(&[]);
    scene.answer(Decision::Allow);
    assert!(scene.bash("cargo test").await.success);
    assert_eq!(scene.verdict("cargo test").await, "asks");
}

#[tokio::test]
async fn a_session_covers_the_command_with_other_arguments() {
    let scene = Scene::new(&[]);
    scene.answer(Decision::AllowForSession);
    assert!(scene.bash("cargo test -q").await.success);
    assert_eq!(
        scene.questions().pop().unwrap().rules,
        ["bash(cargo test *)"]
    );
    assert_eq!(scene.verdict("cargo test --workspace").await, "runs");
    assert_eq!(scene.verdict("cargo build").await, "asks");
    assert_eq!(scene.verdict("cargo test; rm a.txt").await, "asks");
}

#[tokio::test]
async fn what_is_dangerous_is_agreed_to_once_whatever_is_answered() {
    let scene = Scene::new(&[]);
    scene.answer(Decision::AllowForSession);
    assert!(scene.bash("rm a.txt").await.success);
    assert!(scene.questions().pop().unwrap().rules.is_empty());
    assert_eq!(scene.verdict("rm a.txt").await, "asks");
}

#[derive(Clone, Default)]
pub(crate) struct Notebook(Arc<Mutex<Vec<String>>>);

impl Notebook {
    pub(crate) fn kept(&self) -> Vec<String> {
        self.0.lock().unwrap().clone()
    }
}

impl RuleStore for Notebook {
    fn keep(&self, rules: &[Rule]) {
        self.0
            .lock()
            .unwrap()
            .extend(rules.iter().map(ToString::to_string));
    }
}

#[tokio::test]
async fn always_is_written_down() {
    let notebook = Notebook::default();
    let scene = Scene::with(Permissions::default().kept_by(notebook.clone()));
    scene.answer(Decision::AllowAlways);
    assert!(scene.bash("npm run lint && git status").await.success);
    assert_eq!(
        notebook.kept(),
        ["bash(npm run lint)", "bash(git status *)"]
    );
    assert_eq!(scene.verdict("git status -s").await, "runs");
}

#[tokio::test]
async fn all_edits_of_a_session_are_approved_at_once_and_no_commands() {
    let scene = Scene::new(&["ask write_file(src/**)", "allow bash(echo *)"]);
    let write = |path: &str| json!({"path": path, "content": "new\n"});
    scene.answer(Decision::AllowEdits);
    assert!(scene.call("write_file", &write("b.txt")).await.success);
    assert!(scene.questions().pop().unwrap().is_edit);
    assert!(scene.call("write_file", &write("c/d.txt")).await.success);
    let edit = json!({"path": "a.txt", "edits": [{"old_string": "one", "new_string": "two"}]});
    assert!(scene.call("edit", &edit).await.success);
    assert_eq!(scene.questions(), []);
    // Not a command, also not one that writes into a file, nor what a rule is
    // about, nor what takes effect later.
    assert_eq!(scene.verdict("make").await, "asks");
    assert_eq!(scene.verdict("echo x > b.txt").await, "asks");
    for path in ["src/new.rs", ".git/hooks/pre-commit", ".envrc"] {
        assert!(!scene.call("write_file", &write(path)).await.success);
        let asked = scene.questions();
        assert!(!asked[0].is_edit, "{path}: {asked:?}");
    }
    // For a command, the answer is a yes for once.
    scene.answer(Decision::AllowEdits);
    assert!(scene.bash("make").await.success);
    scene.questions();
    assert_eq!(scene.verdict("make").await, "asks");
}

#[tokio::test]
async fn a_write_that_changes_nothing_is_not_asked_about() {
    let same = json!({"path": "a.txt", "content": "one\n"});
    let scene = Scene::new(&[]);
    assert!(scene.call("write_file", &same).await.success);
    let edit = json!({"path": "a.txt", "edits": [{"old_string": "one", "new_string": "one"}]});
    assert_eq!(
        scene.call("edit", &edit).await.error_type,
        Some(ErrorType::ValidationError)
    );
    assert_eq!(scene.questions(), []);
    // What may not be shown is not told by that either.
    let scene = Scene::new(&["ask read_file(a.txt)"]);
    assert!(!scene.call("write_file", &same).await.success);
    assert_eq!(scene.questions().len(), 1);
    let scene = Scene::new(&["deny write_file(a.txt)"]);
    assert!(!scene.call("write_file", &same).await.success);
}

#[tokio::test]
async fn a_no_holds_for_the_same_call() {
    let scene = Scene::new(&[]);
    scene.answer(no());
    assert_eq!(scene.verdict("make").await, "asks");
    assert_eq!(scene.verdict("make").await, "denied");
    assert_eq!(scene.verdict("make all").await, "asks");
    // A denial for once does not.
    scene.answer(Decision::DenyOnce("not now".to_owned()));
    assert_eq!(scene.verdict("make x").await, "asks");
    assert_eq!(scene.verdict("make x").await, "asks");
}

/// An approver that never answers.
struct Silent;

impl Approver for Silent {
    fn decide<'a>(&'a self, _request: ApprovalRequest<'a>) -> BoxFuture<'a, Decision> {
        Box::pin(std::future::pending())
    }
}

fn silent(permissions: Permissions) -> (tempfile::TempDir, ToolManager) {
    let folder = tempfile::tempdir().unwrap();
    let mut registry = Registry::new();
    registry.register(Typed::new(WriteFile)).unwrap();
    let tools = ToolManager::builder(Workspace::open(folder.path()).unwrap())
        .tools(registry)
        .approver(Silent)
        .permissions(permissions)
        .build();
    (folder, tools)
}

fn write() -> CallRequest {
    let args = json!({"path": "a", "content": "x"}).to_string();
    CallRequest::new(ToolCall::new(
        "write_file",
        Arguments::from_json(&args).unwrap(),
    ))
}

#[tokio::test(start_paused = true)]
async fn a_question_that_nobody_answers_is_a_no() {
    let (folder, tools) = silent(Permissions::default());
    let started = tokio::time::Instant::now();
    let result = tools.execute(write()).await.result;
    assert_eq!(
        result.error,
        "write_file was not allowed: there was no answer within 120 s"
    );
    assert_eq!(started.elapsed().as_secs(), 120);
    let (_folder, tools) = silent(Permissions::default().patience(Duration::from_secs(3)));
    let result = tools.execute(write()).await.result;
    assert_eq!(
        result.error,
        "write_file was not allowed: there was no answer within 3 s"
    );
    assert!(!folder.path().join("a").exists());
}

#[tokio::test]
async fn whoever_cancels_while_asked_says_no() {
    let (folder, tools) = silent(Permissions::default());
    let cancel = CancellationToken::new();
    let call = tools.execute(write().cancelled_by(&cancel));
    let (outcome, ()) = tokio::join!(call, async { cancel.cancel() });
    assert_eq!(outcome.result.error_type, Some(ErrorType::PermissionError));
    assert_eq!(
        outcome.result.error,
        "write_file was not allowed: it was cancelled while a person was being asked"
    );
    assert!(!folder.path().join("a").exists());
}

#[tokio::test]
async fn the_mode_decides_what_no_rule_does() {
    use crate::scene::entries;
    let rules = [
        "allow bash(ls *)",
        "ask bash(make *)",
        "deny bash(git push *)",
    ];
    let with = |mode| Scene::with(Permissions::new(mode).rules(entries(&rules)));
    for (mode, verdicts) in [
        (Mode::Ask, ["runs", "asks", "denied", "asks"]),
        (Mode::Auto, ["runs", "asks", "denied", "runs"]),
        (Mode::Deny, ["denied", "denied", "denied", "denied"]),
    ] {
        let scene = with(mode);
        for (command, verdict) in ["ls -l", "make", "git push", "cat a.txt"]
            .iter()
            .zip(verdicts)
        {
            assert_eq!(scene.verdict(command).await, verdict, "{mode:?} {command}");
        }
        assert!(
            scene
                .call("read_file", &json!({"path": "a.txt"}))
                .await
                .success
        );
    }
}
