//! Replies that cannot be used: the model is sent corrections, but not for
//! ever.

use ptk::RunOptions;
use ptk::protocol::ErrorCode;
use serde_json::json;

use crate::scene::{Model, Scene, call};

const BROKEN: &str = "<PTK_CALL>{\"tool\": \"read_file\", \"args\": {\"path\": \"no";

#[tokio::test]
async fn a_call_without_its_arguments_is_sent_back() {
    let scene = Scene::new();
    let ptk = scene.ptk(&[
        r#"<PTK_CALL>{"tool": "read_file"}</PTK_CALL>"#,
        "I don't know which file you mean.",
    ]);
    let run = ptk.execute("Read the file", ptk.options()).await;
    assert!(run.success);
    assert_eq!((run.iterations, run.total_tool_calls), (2, 0));
    let told = &run.messages[3].content;
    assert!(
        told.contains("Missing required parameter") && told.contains("path"),
        "{told}"
    );
    assert!(told.contains("A right call looks like this:"), "{told}");
    assert!(told.contains("<PTK_CALL>"), "{told}");
}

#[tokio::test]
async fn a_call_that_was_cut_off_is_never_the_answer() {
    let scene = Scene::new();
    let ptk = scene.ptk(&[
        BROKEN,
        &call("read_file", &json!({"path": "notes.txt"})),
        "Milk.",
    ]);
    let run = ptk.execute("Read notes.txt", ptk.options()).await;
    assert_eq!(run.content, "Milk.");
    assert_eq!((run.iterations, run.total_tool_calls), (3, 1));
    let told = &run.messages[3].content;
    assert!(told.contains("A right call looks like this:"), "{told}");
}

#[tokio::test]
async fn after_three_times_in_a_row_the_run_fails() {
    let scene = Scene::new();
    let ptk = scene.ptk(&[BROKEN, BROKEN, BROKEN, BROKEN, "too late"]);
    let run = ptk.execute("Read notes.txt", ptk.options()).await;
    let error = run.error.unwrap();
    assert_eq!(error.code(), Some(ErrorCode::ParseError));
    assert_eq!(run.iterations, 4);
    assert_eq!(run.content, "");
    assert!(error.to_string().contains("4 replies in a row"), "{error}");

    let good = call("read_file", &json!({"path": "notes.txt"}));
    let ptk = scene.ptk(&[BROKEN, BROKEN, BROKEN, &good, BROKEN, "Milk."]);
    assert_eq!(ptk.run("Read notes.txt").await.unwrap(), "Milk.");
}

/// Without retries, the run fails at the first unusable reply.
#[tokio::test]
async fn nothing_is_sent_back_where_that_is_not_wanted() {
    let scene = Scene::new();
    let strict = RunOptions {
        protocol_retries: 0,
        ..RunOptions::default()
    };
    for (reply, code) in [
        (BROKEN.to_owned(), ErrorCode::ParseError),
        (
            call("reed_file", &json!({"path": "x"})),
            ErrorCode::ToolNotFound,
        ),
        (
            call("read_file", &json!({"pth": "x"})),
            ErrorCode::InvalidToolCall,
        ),
    ] {
        let ptk = scene.ptk(&[&reply, "too late"]);
        let run = ptk.execute("Go", strict.clone()).await;
        assert_eq!(
            run.error.and_then(|error| error.code()),
            Some(code),
            "{reply}"
        );
    }
}

#[tokio::test]
async fn an_unknown_tool_is_never_run_and_a_near_one_is_named() {
    let scene = Scene::new();
    let ptk = scene.ptk(&[&call("read_fil", &json!({"path": "notes.txt"})), "Sorry."]);
    let run = ptk.execute("Go", ptk.options()).await;
    assert!(run.success);
    assert_eq!(run.total_tool_calls, 0);
    let told = &run.messages[3].content;
    assert!(
        told.contains("Unknown tool: read_fil") && told.contains("read_file"),
        "{told}"
    );
}

/// A tool that exists but was not offered is an unknown one.
#[tokio::test]
async fn a_tool_that_was_not_offered_is_not_run() {
    let scene = Scene::new();
    let ptk = scene.ptk(&[&call("note", &json!({"name": "x"})), "Sorry."]);
    let options = RunOptions {
        tools: Some(vec!["read_file".to_owned()]),
        ..RunOptions::default()
    };
    let run = ptk.execute("Go", options).await;
    assert!(run.success);
    assert!(scene.diary().is_empty());
}

#[tokio::test]
async fn an_empty_reply_is_no_answer() {
    let scene = Scene::new();
    let ptk = scene.ptk(&["", " \n", "Here I am."]);
    let run = ptk.execute("Go", ptk.options()).await;
    assert_eq!(run.content, "Here I am.");
    assert_eq!(run.iterations, 3);
    assert!(run.messages[3].content.contains("Your reply was empty"));
}

/// Beside a call that cannot be run, the others are.
#[tokio::test]
async fn the_other_calls_of_a_reply_are_run() {
    let scene = Scene::new();
    let both = format!(
        "{}\n{}",
        call("nonsense", &json!({})),
        call("read_file", &json!({"path": "notes.txt"}))
    );
    let ptk = scene.ptk(&[&both, "Milk."]);
    let run = ptk.execute("Go", ptk.options()).await;
    let success: Vec<bool> = run
        .tool_calls
        .iter()
        .map(|call| call.result.success)
        .collect();
    assert_eq!(success, [false, true]);
}

/// Models without a role for tools need turns of user and assistant.
#[tokio::test]
async fn people_and_model_speak_in_turns() {
    let scene = Scene::new();
    let model = Model::of_replies(vec![
        BROKEN.to_owned(),
        call("read_file", &json!({"path": "notes.txt"})),
        "Milk.".to_owned(),
    ]);
    let ptk = scene.builder(model.clone()).build().unwrap();
    ptk.run("Go").await.unwrap();
    for request in model.requests() {
        let is_user = |message: &ptk::llm::Message| {
            matches!(message, ptk::llm::Message::User { text: _, .. })
        };
        let turns: Vec<bool> = request.messages.iter().map(is_user).collect();
        assert!(turns.windows(2).all(|pair| pair[0] != pair[1]), "{turns:?}");
        assert_eq!(turns.first(), Some(&true));
    }
}
