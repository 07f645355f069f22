//! Models that repeat themselves.

use std::sync::{Arc, Mutex};

use ptk::protocol::ErrorCode;
use ptk::{DuplicateAction, LoopKind, RunOptions};
use serde_json::json;

use crate::scene::{Scene, call};

fn long() -> RunOptions {
    RunOptions {
        max_iterations: 50,
        max_tool_calls: 50,
        ..RunOptions::default()
    }
}

/// The warnings that the model got, and how the run ended.
async fn run(replies: &[String]) -> (Vec<String>, Option<ErrorCode>, u32) {
    let scene = Scene::new();
    let replies: Vec<&str> = replies.iter().map(String::as_str).collect();
    let run = scene.ptk(&replies).execute("Go", long()).await;
    let told = run.messages.iter().skip(1);
    let told = told.filter(|message| message.role == ptk::protocol::Role::System);
    let told: Vec<String> = told.map(|message| message.content.clone()).collect();
    (
        told,
        run.error.and_then(|error| error.code()),
        run.iterations,
    )
}

#[tokio::test]
async fn the_same_call_is_told_and_then_stopped() {
    let read = call("read_file", &json!({"path": "notes.txt"}));
    let (told, code, iterations) = run(&vec![read.clone(); 9]).await;
    assert_eq!(told.len(), 1);
    assert!(
        told[0].contains("called read_file 2 times with the same arguments"),
        "{told:?}"
    );
    assert_eq!(code, Some(ErrorCode::DuplicateToolCall));
    assert_eq!(iterations, 4);

    let listens = [read.clone(), read, "Milk.".to_owned()];
    let (told, code, _) = run(&listens).await;
    assert_eq!((told.len(), code), (1, None));
}

/// A result that the model repeats in its text is not an answer, and there is
/// nothing to call: it is asked for one.
#[tokio::test]
async fn a_result_that_is_repeated_becomes_an_answer() {
    let read = call("read_file", &json!({"path": "notes.txt"}));
    let forged = "<PTK_RESULT>\n{\"content\": \"milk\"}".to_owned();
    let (told, code, iterations) = run(&[read, forged.clone(), "Milk.".to_owned()]).await;
    assert_eq!((told, code, iterations), (Vec::new(), None, 3));
    // Before any call there is one to make.
    let read = call("read_file", &json!({"path": "notes.txt"}));
    let (_, code, iterations) = run(&[forged, read, "Milk.".to_owned()]).await;
    assert_eq!((code, iterations), (None, 3));
}

/// The order of the arguments does not matter.
#[tokio::test]
async fn the_same_call_in_other_words_is_the_same() {
    let one = call("note", &json!({"name": "x", "ms": 1}));
    let other = r#"<PTK_CALL>{"tool": "note", "args": {"ms": 1, "name": "x"}}</PTK_CALL>"#;
    let replies = [one.clone(), other.to_owned(), one.clone(), one.clone(), one];
    let (told, code, _) = run(&replies).await;
    assert_eq!((told.len(), code), (1, Some(ErrorCode::DuplicateToolCall)));
}

/// Tests are run again after each change.
#[tokio::test]
async fn what_is_done_again_after_a_change_is_no_loop() {
    let mut replies = Vec::new();
    for round in 0..6 {
        let content = format!("round {round}");
        replies.push(call(
            "write_file",
            &json!({"path": "a.txt", "content": content}),
        ));
        replies.push(call("note", &json!({"name": "test"})));
    }
    replies.push("Done.".to_owned());
    let (told, code, _) = run(&replies).await;
    assert_eq!((told, code), (Vec::new(), None));
}

#[tokio::test]
async fn calls_in_turns_are_a_loop() {
    let there = call("write_file", &json!({"path": "a.txt", "content": "a"}));
    let back = call("write_file", &json!({"path": "a.txt", "content": "b"}));
    let mut replies = Vec::new();
    for _ in 0..9 {
        replies.push(there.clone());
        replies.push(back.clone());
    }
    let (told, code, iterations) = run(&replies).await;
    assert!(told[0].contains("in turns 3 times"), "{told:?}");
    assert_eq!(code, Some(ErrorCode::DuplicateToolCall));
    assert!(iterations <= 10, "{iterations}");
}

#[tokio::test]
async fn calls_that_fail_in_the_same_way_are_a_loop() {
    let replies: Vec<String> = (0..9)
        .map(|n| call("read_file", &json!({"path": format!("missing_{n}.txt")})))
        .collect();
    let (told, code, iterations) = run(&replies).await;
    assert!(
        told[0].contains("calls of read_file failed in the same way"),
        "{told:?}"
    );
    assert_eq!(code, Some(ErrorCode::DuplicateToolCall));
    assert_eq!(iterations, 6);
}

/// Different searches that find nothing are work for quite a while.
#[tokio::test]
async fn many_searches_that_find_nothing_are_a_loop() {
    let searches = |count: usize| -> Vec<String> {
        let search = |n| call("glob", &json!({"pattern": format!("**/*.x{n}")}));
        (0..count).map(search).collect()
    };
    let mut replies = searches(8);
    replies.push("There is none.".to_owned());
    let (told, code, iterations) = run(&replies).await;
    assert!(
        told[0].contains("last 3 searches found nothing"),
        "{told:?}"
    );
    assert_eq!((told.len(), code, iterations), (1, None, 9));
    let (_, code, iterations) = run(&searches(30)).await;
    assert_eq!(code, Some(ErrorCode::DuplicateToolCall));
    assert_eq!(iterations, 21);
}

/// What was refused because it was known took nothing.
#[tokio::test]
async fn a_redundant_call_does_not_count_against_the_limit() {
    let scene = Scene::new();
    let read = |path: &str| call("read_file", &json!({"path": path}));
    let replies = [
        read("notes.txt"),
        read("notes.txt"),
        read("package.json"),
        "Milk.".to_owned(),
    ];
    let options = RunOptions {
        max_tool_calls: 2,
        ..RunOptions::default()
    };
    let ptk = scene.ptk(&replies.each_ref().map(String::as_str));
    let run = ptk.execute("Go", options).await;
    assert_eq!(run.content, "Milk.", "{:?}", run.error);
    assert_eq!(run.total_tool_calls, 2);
    let ran = run.tool_calls.iter().filter(|call| call.result.success);
    assert_eq!(ran.count(), 2);
}

#[tokio::test]
async fn a_host_decides_about_loops() {
    let read = call("note", &json!({"name": "again"}));
    for (action, code, iterations) in [
        (DuplicateAction::Ignore, None, 7),
        (DuplicateAction::Stop, Some(ErrorCode::DuplicateToolCall), 3),
    ] {
        let scene = Scene::new();
        let mut replies = vec![read.as_str(); 6];
        replies.push("Done.");
        let seen = Arc::new(Mutex::new(Vec::new()));
        let diary = Arc::clone(&seen);
        let ptk = scene
            .builder(ptk::llm::Script::new(replies))
            .on_duplicate(move |duplicate| {
                diary
                    .lock()
                    .unwrap()
                    .push((duplicate.kind, duplicate.count));
                action
            })
            .build()
            .unwrap();
        let run = ptk.execute("Go", long()).await;
        assert_eq!(run.error.and_then(|error| error.code()), code);
        assert_eq!(run.iterations, iterations);
        assert_eq!(seen.lock().unwrap()[0], (LoopKind::SameCall, 3));
    }
}
