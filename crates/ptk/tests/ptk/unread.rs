//! Answers about files that were not read.

use ptk::events::{EventKind, Filter};
use ptk::{Execution, Mode, RunOptions};
use serde_json::json;

use crate::scene::{Model, Scene, call};

const VERSION: &str = "Which version is in `package.json`?";

fn read(path: &str) -> String {
    call("read_file", &json!({ "path": path }))
}

/// The result of a prompt where the model replies with these, and the last
/// message before each reply.
async fn run(replies: &[&str], prompt: &str, mode: Mode) -> (Execution, Vec<String>) {
    let scene = Scene::new();
    let model = Model::of_replies(replies.iter().map(|it| (*it).to_owned()).collect());
    let asked = ptk::Model::new(model.clone()).mode(mode);
    let ptk = scene.builder(model.clone()).model(asked).build().unwrap();
    let run = ptk.execute(prompt, ptk.options()).await;
    let last = |request: &ptk::llm::Request| request.messages.last().unwrap().text().to_owned();
    (run, model.requests().iter().map(last).collect())
}

#[tokio::test]
async fn the_model_is_asked_again() {
    let replies = ["It is 2.0.0.", &read("package.json"), "It is 1.0.0."];
    let (run, told) = run(&replies, VERSION, Mode::Text).await;
    assert_eq!(run.content, "It is 1.0.0.");
    assert_eq!((run.iterations, run.total_tool_calls), (3, 1));
    assert!(
        told[1].contains("You answered without reading package.json"),
        "{}",
        told[1]
    );
}

#[tokio::test]
async fn the_person_is_told() {
    let scene = Scene::new();
    let ptk = scene.ptk(&["It is 2.0.0.", &read("package.json"), "It is 1.0.0."]);
    let mut events = ptk.tools().bus().subscribe(Filter::all());
    ptk.run(VERSION).await.unwrap();
    let mut notes = Vec::new();
    while let Ok(delivery) = events.try_recv() {
        if let EventKind::Note { message } = &delivery.event().unwrap().kind {
            notes.push(message.clone());
        }
    }
    assert_eq!(
        notes,
        ["The model answered without reading package.json, so it is asked again."]
    );
}

#[tokio::test]
async fn each_file_has_to_be_read() {
    let prompt = "Which version is in package.json, and what is to buy in notes.txt?";
    let (package, notes) = (read("package.json"), read("notes.txt"));
    let replies = [&package, "1.0.0, and bread.", &notes, "1.0.0, and milk."];
    let (both, told) = run(&replies, prompt, Mode::Text).await;
    assert_eq!(both.content, "1.0.0, and milk.");
    assert!(told[2].contains("without reading notes.txt"), "{}", told[2]);

    let all = call("grep", &json!({"pattern": "."}));
    let (searched, _) = run(&[&all, "1.0.0, and milk."], prompt, Mode::Text).await;
    assert_eq!(searched.iterations, 2, "both were searched");
}

#[tokio::test]
async fn the_name_of_a_file_says_nothing_of_what_is_in_it() {
    let glob = call("glob", &json!({"pattern": "package.json"}));
    let replies = [&glob, "2.0.0.", &read("package.json"), "1.0.0."];
    let (run, _) = run(&replies, VERSION, Mode::Text).await;
    assert_eq!(run.content, "1.0.0.");
}

#[tokio::test]
async fn an_answer_that_the_model_keeps_to_stands() {
    let (run, _) = run(&["It is for npm.", "For npm."], VERSION, Mode::Text).await;
    assert_eq!((run.content.as_str(), run.iterations), ("For npm.", 2));
}

#[tokio::test]
async fn an_answer_stands_where_nothing_had_to_be_read() {
    for prompt in [
        "What is missing.json for?",
        "Explain this from package.json:\n```\n{}\n```",
        "What is 2.5 times 2? Be brief.",
        "Is src/ a good name?",
    ] {
        let (run, _) = run(&["Yes."], prompt, Mode::Text).await;
        assert_eq!((run.content.as_str(), run.iterations), ("Yes.", 1));
    }
    let (native, _) = run(&["Yes."], VERSION, Mode::Native).await;
    assert_eq!(native.iterations, 1, "it decides itself");
    let scene = Scene::new();
    let ptk = scene.ptk(&["Yes."]);
    let none = RunOptions {
        tools: Some(vec!["wait".to_owned()]),
        ..ptk.options()
    };
    let unable = ptk.execute(VERSION, none).await;
    assert_eq!(unable.iterations, 1, "no tool reads files");
}

#[tokio::test]
async fn a_file_that_was_read_is_not_asked_for_again() {
    let replies = [&read("package.json"), "1.0.0."];
    let other = "Which version is in ./package.json?";
    let (dotted, _) = run(&replies, other, Mode::Text).await;
    assert_eq!(dotted.iterations, 2, "by another name of the same file");

    let scene = Scene::new();
    let ptk = scene.ptk(&[&read("package.json"), "1.0.0.", "demo."]);
    let mut session = ptk.session("known".parse().unwrap());
    session.run(VERSION).await.unwrap();
    let run = session
        .execute("And which name is in package.json?", ptk.options())
        .await;
    assert_eq!((run.content.as_str(), run.iterations), ("demo.", 1));
}
