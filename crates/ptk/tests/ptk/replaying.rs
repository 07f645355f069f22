//! A session replayed today, and what tools know when one is resumed.

use std::sync::Arc;

use ptk::events::Redaction;
use ptk::llm::Script;
use ptk::permission::{Declaration, Mode};
use ptk::protocol::ToolCall;
use ptk::sandbox::Workspace;
use ptk::store::{MemoryStore, SessionId, SqliteStore, Store};
use ptk::tools::{AllowAll, Foreseen, Permissions, ToolManager};
use ptk::{Differing, Fate, Ptk, RunOptions};
use serde_json::json;

use crate::scene::{Scene, arguments, call};

fn manager(scene: &Scene, permissions: Permissions) -> ToolManager {
    let workspace = Workspace::open(scene.folder.path()).unwrap();
    ToolManager::builder(workspace)
        .tools(scene.registry())
        .approver(AllowAll)
        .permissions(permissions)
        .build()
}

fn over(
    scene: &Scene,
    store: &Arc<dyn Store>,
    permissions: Permissions,
    replies: &[String],
) -> Ptk {
    Ptk::builder()
        .provider(Script::new(replies.to_vec()))
        .tool_manager(manager(scene, permissions))
        .store(Arc::clone(store))
        .build()
        .unwrap()
}

#[tokio::test]
async fn a_replay_judges_without_running() {
    let scene = Scene::new();
    let store: Arc<dyn Store> = Arc::new(MemoryStore::new());
    let id: SessionId = "s".parse().unwrap();
    let replies = [
        call("note", &json!({"name": "x"})),
        call("read_file", &json!({"path": "notes.txt"})),
        call("read_file", &json!({"path": "none.txt"})),
        "Done.".to_owned(),
    ];
    let ptk = over(&scene, &store, Permissions::new(Mode::Auto), &replies);
    ptk.session(id.clone()).run("Go").await.unwrap();
    let before = scene.diary();
    let same = ptk
        .replay(&id, RunOptions::default())
        .await
        .unwrap()
        .unwrap();
    assert_eq!(
        (same.replies, same.calls, same.differences),
        (4, 3, Vec::new())
    );
    // What is not there has nothing to do with policies, and a question may
    // be answered with yes.
    let asking = over(&scene, &store, Permissions::new(Mode::Ask), &[]);
    let same = asking
        .replay(&id, RunOptions::default())
        .await
        .unwrap()
        .unwrap();
    assert_eq!(same.differences, Vec::new());
    let declared = Declaration {
        deny: vec!["note".to_owned()],
        ..Declaration::default()
    };
    let strict = Permissions::new(Mode::Auto).rules(declared.entries("a test").unwrap());
    let strict = over(&scene, &store, strict, &[]);
    let replay = strict
        .replay(&id, RunOptions::default())
        .await
        .unwrap()
        .unwrap();
    let [difference] = replay.differences.as_slice() else {
        panic!("{replay:?}");
    };
    assert_eq!(difference.turn, 1);
    let Differing::Call {
        tool,
        before: then,
        after,
        ..
    } = &difference.what
    else {
        panic!("{difference:?}");
    };
    assert_eq!((tool.as_str(), then), ("note", &Fate::Runs));
    assert!(
        matches!(after, Fate::Refused(why) if why.contains("forbids it")),
        "{after:?}"
    );
    // With fewer tools, calls mean less.
    let options = RunOptions {
        tools: Some(vec!["note".to_owned()]),
        ..RunOptions::default()
    };
    let replay = ptk.replay(&id, options).await.unwrap().unwrap();
    let read_otherwise = |it: &&ptk::Difference| matches!(it.what, Differing::Reply { .. });
    assert_eq!(replay.differences.iter().filter(read_otherwise).count(), 2);
    assert_eq!(scene.diary(), before);
    let nobody = ptk
        .replay(&"t".parse().unwrap(), RunOptions::default())
        .await;
    assert_eq!(nobody.unwrap(), None);
}

#[tokio::test]
async fn calls_are_foreseen_without_consequences() {
    let scene = Scene::new();
    let foresee = async |mode: Mode, tool: &str, args| {
        let call = ToolCall::new(tool, arguments(&args));
        manager(&scene, Permissions::new(mode)).foresee(call).await
    };
    let note = || json!({"name": "x"});
    assert_eq!(foresee(Mode::Auto, "note", note()).await, Foreseen::Runs);
    assert_eq!(foresee(Mode::Ask, "note", note()).await, Foreseen::Asks);
    assert!(matches!(
        foresee(Mode::Deny, "note", note()).await,
        Foreseen::Refused(_)
    ));
    assert!(matches!(
        foresee(Mode::Auto, "note", json!({})).await,
        Foreseen::Unfit(_)
    ));
    assert!(matches!(
        foresee(Mode::Auto, "nose", note()).await,
        Foreseen::Unfit(_)
    ));
    assert!(scene.diary().is_empty());
}

/// A file that was read before the process ended may be written after it,
/// unless it was changed meanwhile.
#[tokio::test]
async fn files_are_known_in_another_process() {
    for (is_changed, expected) in [(false, "tea"), (true, "coffee")] {
        let scene = Scene::new();
        let store: Arc<dyn Store> = Arc::new(MemoryStore::new());
        let id: SessionId = "s".parse().unwrap();
        let read = [
            call("read_file", &json!({"path": "notes.txt"})),
            "Read.".to_owned(),
        ];
        let first = over(&scene, &store, Permissions::new(Mode::Auto), &read);
        first.session(id.clone()).run("Read it").await.unwrap();
        let path = scene.folder.path().join("notes.txt");
        if is_changed {
            std::fs::write(&path, "coffee").unwrap();
        }
        let write = [
            call(
                "write_file",
                &json!({"path": "notes.txt", "content": "tea"}),
            ),
            "Written.".to_owned(),
        ];
        let second = over(&scene, &store, Permissions::new(Mode::Auto), &write);
        second.session(id).run("Write it").await.unwrap();
        assert_eq!(std::fs::read_to_string(&path).unwrap(), expected);
    }
}

/// A call that was interrupted is not run with what stands in the place of a
/// secret.
#[tokio::test]
async fn half_a_call_is_not_run() {
    let scene = Scene::new();
    let path = scene.folder.path().join("sessions.db");
    let secret = "ghp_0123456789012345678901234567890123456789";
    let id: SessionId = "s".parse().unwrap();
    let write = call("write_file", &json!({"path": "key.txt", "content": secret}));
    {
        let store = SqliteStore::open_redacting(&path, Redaction::secrets()).unwrap();
        let store: Arc<dyn Store> = Arc::new(store);
        let ptk = over(&scene, &store, Permissions::new(Mode::Auto), &[write]);
        let mut session = ptk.session(id.clone());
        session
            .begin("Write it", RunOptions::default())
            .await
            .unwrap();
        session.step().await.unwrap();
    }
    let store = SqliteStore::open_redacting(&path, Redaction::secrets()).unwrap();
    let store: Arc<dyn Store> = Arc::new(store);
    let ptk = over(
        &scene,
        &store,
        Permissions::new(Mode::Auto),
        &["Well.".to_owned()],
    );
    let run = ptk.session(id).resume(RunOptions::default()).await.unwrap();
    assert!(run.success, "{run:?}");
    let error = &run.tool_calls.first().unwrap().result.error;
    assert!(
        error.contains("a secret in it was not written down"),
        "{error}"
    );
    assert!(!scene.folder.path().join("key.txt").exists());
}
