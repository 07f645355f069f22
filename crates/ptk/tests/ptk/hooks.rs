//! Hooks: each sees what it is about, and each has actions of its own.

use std::sync::{Arc, Mutex};

use ptk::llm::Script;
use ptk::protocol::ToolResult;
use ptk::{CallAction, ErrorAction, Hooks, IterationAction, RunError, RunOptions, Streamed};
use serde_json::json;

use crate::scene::{Scene, arguments, call, write};

#[tokio::test]
async fn iterations_are_told_with_the_calls_before_them() {
    let scene = Scene::new();
    let diary = Arc::clone(&scene.diary);
    let script = Script::new([
        format!(
            "Let me see. {}",
            call("read_file", &json!({"path": "notes.txt"}))
        ),
        "<PTK_CALL>{".to_owned(),
        "Milk.".to_owned(),
    ]);
    let ptk = scene
        .builder(script)
        .on_iteration(move |info| {
            let kind = info.kind.as_str();
            let line = format!(
                "{} {kind} {:?} {}",
                info.iteration, info.content, info.tool_calls_so_far
            );
            write(&diary, line);
            IterationAction::Continue
        })
        .build()
        .unwrap();
    ptk.run("Go").await.unwrap();
    assert_eq!(
        scene.diary(),
        [
            r#"1 tool_call "Let me see." 0"#,
            r#"2 malformed "" 1"#,
            r#"3 text "Milk." 1"#,
        ]
    );
}

#[tokio::test]
async fn an_iteration_can_be_the_last_one() {
    let scene = Scene::new();
    let script = Script::new([call("note", &json!({"name": "x"})), "late".to_owned()]);
    let ptk = scene
        .builder(script)
        .on_iteration(|_| IterationAction::Stop("enough".to_owned()))
        .build()
        .unwrap();
    let error = ptk.run("Go").await.unwrap_err();
    assert_eq!(error.to_string(), "The run was stopped: enough");
    assert!(scene.diary().is_empty());
}

#[tokio::test]
async fn a_call_can_be_changed_answered_or_stopped() {
    for (action, diary, is_stopped) in [
        (CallAction::Run, vec!["x begins", "x ends"], false),
        (
            CallAction::RunWith(arguments(&json!({"name": "y"}))),
            vec!["y begins", "y ends"],
            false,
        ),
        (
            CallAction::Answer(ToolResult::data(json!("no need"))),
            vec![],
            false,
        ),
        (CallAction::Stop("not that".to_owned()), vec![], true),
    ] {
        let scene = Scene::new();
        let script = Script::new([call("note", &json!({"name": "x"})), "Done.".to_owned()]);
        let ptk = scene
            .builder(script)
            .on_tool_call(move |info| {
                assert_eq!(info.tool, "note");
                action.clone()
            })
            .build()
            .unwrap();
        let run = ptk.execute("Go", ptk.options()).await;
        assert_eq!(scene.diary(), diary);
        assert_eq!(matches!(run.error, Some(RunError::Stopped(_))), is_stopped);
    }
}

#[tokio::test]
async fn an_error_is_told_and_can_have_an_answer() {
    let scene = Scene::new();
    let seen = Arc::new(Mutex::new(Vec::new()));
    let diary = Arc::clone(&seen);
    let ptk = scene
        .builder(Script::new(Vec::<String>::new()))
        .on_error(move |error| {
            write(&diary, error.to_string());
            ErrorAction::Answer("I cannot answer now.".to_owned())
        })
        .build()
        .unwrap();
    let mut session = ptk.new_session();
    assert_eq!(session.run("Go").await.unwrap(), "I cannot answer now.");
    assert!(seen.lock().unwrap()[0].contains("script has no further reply"));
    let transcript = session.transcript().await.unwrap();
    assert_eq!(transcript.items().len(), 2);
}

/// Also for a run that could not begin.
#[tokio::test]
async fn an_error_before_the_run_is_told_too() {
    let scene = Scene::new();
    let diary = Arc::clone(&scene.diary);
    let ptk = scene
        .builder(Script::new(["Hi."]))
        .on_error(move |error| {
            write(&diary, error.to_string());
            ErrorAction::Fail
        })
        .build()
        .unwrap();
    let options = ptk::RunOptions {
        tools: Some(vec!["nonsense".to_owned()]),
        ..ptk.options()
    };
    assert!(!ptk.execute("Go", options).await.success);
    assert!(scene.diary()[0].starts_with("Unknown tool: nonsense"));
}

/// Prose arrives while the model replies, and no markup.
#[tokio::test]
async fn prose_is_told_while_it_comes_in() {
    let scene = Scene::new();
    let seen = Arc::new(Mutex::new(String::new()));
    let text = format!("Sure. {}", call("read_file", &json!({"path": "notes.txt"})));
    let script = json!([{"text": text, "chunk": 3}, {"text": "Milk.", "chunk": 1}]);
    let told = Arc::clone(&seen);
    let ptk = scene
        .builder(Script::parse(&script.to_string()).unwrap())
        .on_stream(move |streamed| {
            let mut told = told.lock().unwrap();
            match streamed {
                Streamed::Text(text) => told.push_str(text),
                Streamed::Call { tool } => told.push_str(&format!("[{tool}]")),
                _ => {}
            }
        })
        .build()
        .unwrap();
    ptk.run("Go").await.unwrap();
    assert_eq!(*seen.lock().unwrap(), "Sure. [read_file]Milk.");
}

#[tokio::test]
async fn a_run_can_have_hooks_of_its_own() {
    let scene = Scene::new();
    let diary = Arc::clone(&scene.diary);
    let streamed = Arc::clone(&scene.diary);
    let ptk = scene
        .builder(Script::new(Vec::<String>::new()))
        .on_error(move |_| {
            write(&diary, "of all runs".to_owned());
            ErrorAction::Fail
        })
        .build()
        .unwrap();
    let options = RunOptions {
        hooks: Hooks::new().on_error(|_| ErrorAction::Answer("Later.".to_owned())),
        ..ptk.options()
    };
    assert_eq!(ptk.execute("Go", options).await.content, "Later.");
    assert!(
        scene.diary().is_empty(),
        "that of the run is called instead"
    );

    // Where a run has none, that of all runs is called.
    let options = RunOptions {
        hooks: Hooks::new().on_stream(move |_| write(&streamed, "streamed".to_owned())),
        ..ptk.options()
    };
    assert!(!ptk.execute("Go", options).await.success);
    assert_eq!(scene.diary(), ["of all runs"]);
}
