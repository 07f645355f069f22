//! Commands whose changes are reviewed work over layers: what they change comes
//! into the workspace as one.

use std::fs;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::sync::{Arc, Mutex};

use futures_util::future::BoxFuture;
use ptk_events::{EventType, Filter};
use ptk_sandbox::command::Helper;
use ptk_sandbox::{Access, Workspace};
use ptk_tools::tools::bash::Bash;
use ptk_tools::{AllowAll, ApprovalRequest, Approver, Decision, Registry, Review, ToolManager};
use ptk_undo::{Options, Undo};
use serde_json::json;

use crate::pipe::Pipe;
use crate::scene::{Scene, timeless};

/// A workspace whose commands work over layers.
fn layered() -> Scene {
    Scene::reviewed(&Options::default())
}

/// What git keeps for itself is not below the layer, so that a command and a
/// test can wait for each other there.
fn with_git() -> (Scene, Pipe, Pipe) {
    let scene = layered();
    fs::create_dir(scene.path(".git")).unwrap();
    let ready = Pipe::new(&scene.path(".git"), "ready");
    let go = Pipe::new(&scene.path(".git"), "go");
    (scene, ready, go)
}

#[tokio::test]
async fn changes_come_when_the_command_has_ended() {
    let (scene, ready, go) = with_git();
    scene.write("f", "old");
    let command = "echo new > f; mkdir d; cat f > .git/ready; read x < .git/go; cat f";
    let call = scene.call("bash", json!({ "command": command }));
    let meanwhile = async {
        assert_eq!(ready.closed().await, "new\n");
        assert_eq!(scene.text("f"), "old");
        assert!(!scene.path("d").exists());
        go.open();
    };
    let (result, ()) = tokio::join!(call, meanwhile);
    assert_eq!(result.fields["output"], "new\n");
    assert_eq!(scene.text("f"), "new\n");
    assert!(scene.path("d").is_dir());
}

#[tokio::test]
async fn what_others_change_meanwhile_drops_all_of_it() {
    let (scene, ready, go) = with_git();
    scene.write("f", "old");
    scene.write("g", "old");
    let command = "echo > .git/ready; read x < .git/go; echo mine > f; echo mine > g; echo done";
    let call = scene.call("bash", json!({ "command": command }));
    let meanwhile = async {
        ready.closed().await;
        scene.write("f", "theirs");
        go.open();
    };
    let (result, ()) = tokio::join!(call, meanwhile);
    assert!(!result.success);
    assert_eq!(
        result.error,
        "The command ran, but nothing of what it changed was kept, because meanwhile others have changed f"
    );
    assert_eq!(result.fields["output"], "done\n");
    assert_eq!(scene.text("f"), "theirs");
    assert_eq!(scene.text("g"), "old");
    assert!(scene.undo().list().unwrap().is_empty());
}

#[tokio::test]
async fn what_others_change_elsewhere_stays() {
    let (scene, ready, go) = with_git();
    scene.write("d/f", "old");
    scene.write("d/g", "old");
    let command = "echo > .git/ready; read x < .git/go; echo mine > d/f";
    let call = scene.call("bash", json!({ "command": command }));
    let meanwhile = async {
        ready.closed().await;
        scene.write("d/g", "theirs");
        scene.write("d/h", "theirs");
        go.open();
    };
    let (result, ()) = tokio::join!(call, meanwhile);
    assert!(result.success, "{result:?}");
    scene.undo().last().unwrap();
    assert_eq!(scene.text("d/f"), "old");
    assert_eq!(scene.text("d/g"), "theirs");
    assert_eq!(scene.text("d/h"), "theirs");
}

#[tokio::test]
async fn a_folder_into_which_others_put_something_is_not_removed() {
    let (scene, ready, go) = with_git();
    scene.write("d/f", "old");
    let command = "echo > .git/ready; read x < .git/go; rm -r d";
    let call = scene.call("bash", json!({ "command": command }));
    let meanwhile = async {
        ready.closed().await;
        scene.write("d/theirs", "new");
        go.open();
    };
    let (result, ()) = tokio::join!(call, meanwhile);
    // The command may have seen the file, and meant it, too: it is left alone.
    assert!(!result.success, "{result:?}");
    assert_eq!(scene.text("d/theirs"), "new");
    assert_eq!(scene.text("d/f"), "old");
}

#[tokio::test]
async fn a_command_may_turn_everything_upside_down() {
    let scene = layered();
    scene.write("file", "a file");
    scene.write("folder/a/b/c", "deep");
    scene.write("folder/x", "x");
    scene.write("locked/in", "in");
    scene.write("same", "same");
    std::os::unix::fs::symlink("file", scene.path("link")).unwrap();
    fs::set_permissions(scene.path("locked"), fs::Permissions::from_mode(0o555)).unwrap();
    let before = scene.picture();
    scene
        .bash(
            "rm file; mkdir -p file/is/a; echo 1 > file/is/a/folder; \
             rm -r folder; echo 2 > folder; \
             ln -sfn folder link; \
             chmod 755 locked; rm locked/in; echo 3 > locked/out; chmod 500 locked; \
             mv same same2; mv same2 same; \
             mkdir empty; touch empty/nothing; mkfifo pipe; ln same hard",
        )
        .await;
    let after = scene.picture();
    assert_eq!(scene.text("file/is/a/folder"), "1\n");
    assert_eq!(scene.text("folder"), "2\n");
    assert_eq!(fs::read_link(scene.path("link")).unwrap(), *"folder");
    assert_eq!(scene.text("locked/out"), "3\n");
    let mode = |name| fs::metadata(scene.path(name)).unwrap().mode() & 0o777;
    assert_eq!(mode("locked"), 0o500);
    let inode = |name| fs::metadata(scene.path(name)).unwrap().ino();
    assert_eq!(inode("same"), inode("hard"));

    fs::remove_file(scene.path("pipe")).unwrap();
    let undone = scene.undo().last().unwrap();
    assert_eq!(timeless(&scene.picture()), timeless(&before));
    scene.undo().call(&undone.id).unwrap();
    let mut after = timeless(&after);
    after.remove(std::path::Path::new("pipe"));
    assert_eq!(timeless(&scene.picture()), after);
}

#[tokio::test]
async fn nothing_of_the_layer_is_left() {
    let scene = layered();
    scene.write("d/f", "old");
    scene.write("out/t", "old");
    scene.write(".gitignore", "out/\nnew/\n");
    scene
        .bash("rm -r d; mkdir d; echo 1 > d/f; mkdir -p d/e new/sub; echo 2 > new/sub/x; echo 3 >> out/t")
        .await;
    for name in [
        "d",
        "d/f",
        "d/e",
        "new",
        "new/sub",
        "new/sub/x",
        "out",
        "out/t",
    ] {
        let mut names = [0; 1024];
        let length = rustix::fs::llistxattr(scene.path(name), &mut names).unwrap();
        assert_eq!(String::from_utf8_lossy(&names[..length]), "", "{name}");
    }
    // What is left of it in the store does not grow without end.
    for _ in 0..50 {
        scene.bash("echo > f").await;
    }
    let state = scene.folder.path().join("state");
    let workspace = fs::read_dir(state).unwrap().next().unwrap().unwrap();
    let layers = fs::read_dir(workspace.path().join("layers")).unwrap();
    assert!(layers.count() < 45);
}

#[tokio::test]
async fn folders_are_renamed_by_those_who_can_copy() {
    let scene = layered();
    scene.write("d/e/f", "deep");
    scene.bash("mv d renamed").await;
    assert_eq!(scene.text("renamed/e/f"), "deep");
    assert!(!scene.path("d").exists());
    scene.undo().last().unwrap();
    assert_eq!(scene.text("d/e/f"), "deep");
    assert!(!scene.path("renamed").exists());

    let command = "python3 -c 'import os; os.rename(\"d\", \"renamed\")'";
    let result = scene.call("bash", json!({ "command": command })).await;
    let hint = result.fields["hint"].as_str().unwrap();
    assert!(hint.contains("Use mv"), "{hint}");
}

#[tokio::test]
async fn what_git_ignores_comes_too_but_is_not_covered() {
    let scene = layered();
    scene.write(".gitignore", "target/\nnode_modules/\n.env\n");
    scene.write("target/old", "old");
    scene.write("target/kept", "kept");
    scene.write("node_modules/a/b", "b");
    scene.write(".env", "SECRET=1");
    fs::create_dir(scene.path(".git")).unwrap();
    scene.write(".git/HEAD", "main");
    let command = "rm target/old .env; echo new > target/new; rm -r node_modules; echo x > .git/HEAD; echo 1 > b";
    let result = scene.call("bash", json!({ "command": command })).await;
    assert_eq!(
        result.fields["undo"],
        "Undo does not cover node_modules, target, .git."
    );
    assert_eq!(scene.text("target/new"), "new\n");
    assert_eq!(scene.text("target/kept"), "kept");
    assert!(!scene.path("target/old").exists());
    assert!(!scene.path("node_modules").exists());
    scene.undo().last().unwrap();
    assert!(!scene.path("b").exists());
    assert_eq!(scene.text(".env"), "SECRET=1");
    assert_eq!(scene.text("target/new"), "new\n");
    assert_eq!(scene.text(".git/HEAD"), "x\n");

    let result = scene.call("bash", json!({"command": "echo 2 > b"})).await;
    assert_eq!(result.fields.get("undo"), None);
}

#[tokio::test]
async fn every_folder_that_may_be_written_has_its_layer() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    for name in ["space", "other"] {
        fs::create_dir(path(name)).unwrap();
        fs::write(path(name).join("f"), "old").unwrap();
    }
    let options = Options {
        folder: Some(path("state")),
        ..Options::default()
    };
    let workspace = Workspace::open(path("space")).unwrap();
    let workspace = workspace
        .with_root(path("other"), Access::ReadWrite)
        .unwrap();
    let mut registry = Registry::new();
    Bash::default().register(&mut registry).unwrap();
    let tools = ToolManager::builder(workspace.clone())
        .helper(Helper::at(env!("CARGO_BIN_EXE_ptk-helper")))
        .tools(registry)
        .approver(AllowAll)
        .undo(options.clone())
        .review(true)
        .build();
    let command = format!("echo new > f; echo new > '{}'", path("other/f").display());
    let args = ptk_protocol::Arguments::from_json(&json!({ "command": command }).to_string());
    let call = ptk_protocol::ToolCall::new("bash", args.unwrap());
    let outcome = tools.execute(ptk_tools::CallRequest::new(call)).await;
    assert!(outcome.result.success, "{:?}", outcome.result);
    let text = |name: &str| fs::read_to_string(path(name)).unwrap();
    assert_eq!(
        (text("space/f"), text("other/f")),
        ("new\n".into(), "new\n".into())
    );
    Undo::open(workspace, &options).unwrap().last().unwrap();
    assert_eq!(
        (text("space/f"), text("other/f")),
        ("old".into(), "old".into())
    );
}

#[tokio::test]
async fn where_there_can_be_no_layers_nothing_that_is_reviewed_is_run() {
    let elsewhere = tempfile::tempdir_in("/dev/shm").unwrap();
    let scene = layered();
    let options = Options {
        folder: Some(elsewhere.path().to_owned()),
        ..Options::default()
    };
    let tools = crate::scene::builder(&scene.root(), &options)
        .review(true)
        .build();
    let scene = Scene {
        options,
        tools,
        ..scene
    };
    scene.write("f", "old");
    let result = scene.call("bash", json!({"command": "echo new > f"})).await;
    assert_eq!(
        result.error,
        "The command was not run: its changes are to be looked at first, and the system does not keep them apart"
    );
    assert_eq!(scene.text("f"), "old");
}

/// An approver that remembers what it was shown, and gives a prepared answer.
#[derive(Clone)]
struct Reviewer {
    answer: Decision,
    shown: Arc<Mutex<Vec<String>>>,
}

impl Approver for Reviewer {
    fn decide<'a>(&'a self, _request: ApprovalRequest<'a>) -> BoxFuture<'a, Decision> {
        Box::pin(std::future::ready(Decision::Allow))
    }

    fn review<'a>(&'a self, review: Review<'a>) -> BoxFuture<'a, Decision> {
        let uncovered = review.uncovered.join(",");
        let shown = format!("{}\n[{uncovered}]", review.diff);
        self.shown.lock().unwrap().push(shown);
        Box::pin(std::future::ready(self.answer.clone()))
    }

    fn is_person(&self) -> bool {
        true
    }
}

fn reviewed(answer: Decision) -> (Scene, Reviewer) {
    let scene = layered();
    let reviewer = Reviewer {
        answer,
        shown: Arc::default(),
    };
    let tools = crate::scene::builder(&scene.root(), &scene.options)
        .approver(reviewer.clone())
        .review(true)
        .build();
    (Scene { tools, ..scene }, reviewer)
}

#[tokio::test]
async fn changes_can_be_looked_at_and_kept_out() {
    let (scene, reviewer) = reviewed(Decision::Deny("the user said no".to_owned()));
    scene.write("a", "one\ntwo\n");
    scene.write("gone", "x\n");
    let before = scene.picture();
    let command = "sed -i s/two/three/ a; rm gone; echo so";
    let result = scene.call("bash", json!({ "command": command })).await;
    assert!(!result.success);
    assert_eq!(
        result.error,
        "The command ran, but nothing of what it changed was kept: the user said no"
    );
    assert_eq!(result.fields["output"], "so\n");
    assert_eq!(scene.picture(), before);
    assert!(scene.undo().list().unwrap().is_empty());
    insta::assert_snapshot!(reviewer.shown.lock().unwrap().join("\n\n"), @r"
    --- a: a file of 8 bytes, mode 644
    +++ a: a file of 10 bytes, mode 644
    @@ -1,2 +1,2 @@
     one
    -two
    +three

    --- gone: a file of 2 bytes, mode 644
    +++ gone: nothing
    @@ -1 +0,0 @@
    -x

    []
    ");
}

#[tokio::test]
async fn what_was_looked_at_and_agreed_to_comes() {
    let (scene, reviewer) = reviewed(Decision::Allow);
    let held = Filter::types([EventType::ToolCallHeld]);
    let mut questions = scene.tools.bus().subscribe(held);
    let mut count = || std::iter::from_fn(|| questions.try_recv().ok()).count();
    scene.write("a", "one\n");
    scene.bash("echo two >> a").await;
    assert_eq!(scene.text("a"), "one\ntwo\n");
    assert_eq!(count(), 2, "whether it runs, and whether that is kept");
    scene.bash("cat a").await;
    assert_eq!(count(), 1);
    assert_eq!(
        reviewer.shown.lock().unwrap().len(),
        1,
        "nothing to look at"
    );
    scene.undo().last().unwrap();
    assert_eq!(scene.text("a"), "one\n");
}

#[tokio::test]
async fn what_cannot_be_looked_at_first_is_not_run() {
    let (scene, _) = reviewed(Decision::Allow);
    let args = json!({"command": "echo > a", "run_in_background": true});
    let result = scene.call("bash", args).await;
    assert_eq!(
        result.error,
        "The command was not run: its changes are to be looked at first, and in the background that cannot be"
    );
}
