//! Calls that overlap.

use ptk_protocol::{Arguments, ToolCall};
use ptk_tools::CallRequest;
use serde_json::json;

use crate::scene::{Scene, manager};

#[tokio::test]
async fn what_a_job_changes_is_its_own_once_it_has_ended() {
    let scene = Scene::new();
    let args = json!({"command": "while [ ! -e go ]; do sleep 0.02; done; echo job > a", "run_in_background": true});
    let job = scene.ok("bash", args).await;
    assert!(scene.undo().list().unwrap().is_empty());
    scene
        .ok("write_file", json!({"path": "b", "content": "mine"}))
        .await;
    let go = scene
        .ok("write_file", json!({"path": "go", "content": ""}))
        .await;
    let ended = json!({"job": "job_1", "wait_seconds": 30});
    loop {
        let result = scene.call("bash_output", ended.clone()).await;
        if result.fields["status"] != "running" {
            break;
        }
    }
    let undo = scene.undo();
    let listed = undo.list().unwrap();
    // It may have ended before the call that let it go on.
    let listed = listed.iter().find(|it| it.call == job).unwrap();
    let paths: Vec<_> = listed.changes.iter().map(|it| it.path.clone()).collect();
    assert_eq!(paths, [std::path::PathBuf::from("a")]);
    undo.call(&job).unwrap();
    assert!(!scene.path("a").exists());
    assert_eq!(scene.text("b"), "mine");
    undo.call(&go).unwrap();
}

#[tokio::test]
async fn a_job_that_was_dropped_is_settled_by_the_next_call() {
    let scene = Scene::new();
    let args = json!({"command": "echo job > a; echo; sleep 60", "run_in_background": true});
    let job = scene.ok("bash", args).await;
    let output = json!({"job": "job_1", "wait_seconds": 30});
    scene.call("bash_output", output).await;
    let Scene {
        folder,
        options,
        tools,
    } = scene;
    drop(tools);
    let tools = manager(&folder.path().join("space"), &options);
    let scene = Scene {
        folder,
        options,
        tools,
    };
    let listed = loop {
        // The task of the job ends when it is next looked at.
        tokio::task::yield_now().await;
        let listed = scene.undo().list().unwrap();
        if !listed.is_empty() {
            break listed;
        }
    };
    assert_eq!(listed[0].call, job);
    scene.undo().call(&job).unwrap();
    assert!(!scene.path("a").exists());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn several_sessions_at_once_keep_one_journal() {
    let scene = Scene::new();
    let mut tasks = Vec::new();
    for task in 0..4 {
        let tools = manager(&scene.root(), &scene.options);
        tasks.push(tokio::spawn(async move {
            for round in 0..5 {
                let args = json!({"path": format!("{task}/{round}"), "content": "x"});
                let args = Arguments::from_json(&args.to_string()).unwrap();
                let request = CallRequest::new(ToolCall::new("write_file", args));
                let outcome = tools.execute(request).await;
                assert!(outcome.result.success);
            }
        }));
    }
    for task in tasks {
        task.await.unwrap();
    }
    let undo = scene.undo();
    assert_eq!(undo.list().unwrap().len(), 20);
    for _ in 0..20 {
        undo.last().unwrap();
    }
    assert!(scene.picture().is_empty());
}
