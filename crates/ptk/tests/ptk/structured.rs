//! Answers that have to be JSON of a schema.

use ptk::protocol::ErrorCode;
use ptk::{AnswerSchema, Execution, RunOptions};
use serde_json::json;

use crate::scene::{Model, Scene, call};

fn options() -> RunOptions {
    let schema = AnswerSchema::new(json!({
        "type": "object",
        "properties": {"version": {"type": "string"}, "is_stable": {"type": "boolean"}},
        "required": ["version"],
    }));
    RunOptions {
        answer_schema: Some(schema.unwrap()),
        ..RunOptions::default()
    }
}

/// The result of a prompt where the model replies with these, and the requests
/// as text.
async fn run(replies: &[&str], options: RunOptions) -> (Execution, Vec<String>) {
    let scene = Scene::new();
    let model = Model::of_replies(replies.iter().map(|it| (*it).to_owned()).collect());
    let ptk = scene.builder(model.clone()).build().unwrap();
    let run = ptk.execute("Which version?", options).await;
    let requests = model.requests();
    let text = |request: &ptk::llm::Request| {
        let system = request.system.as_deref().into_iter();
        let messages = request.messages.iter().map(ptk::llm::Message::text);
        system.chain(messages).collect::<Vec<_>>().join("\n---\n")
    };
    (run, requests.iter().map(text).collect())
}

#[tokio::test]
async fn the_answer_is_json_that_fits() {
    let read = call("read_file", &json!({"path": "package.json"}));
    let replies = [
        read.as_str(),
        "It is:\n```json\n{\"version\": \"1.0.0\", \"is_stable\": \"true\"}\n```",
    ];
    let (run, requests) = run(&replies, options()).await;
    assert_eq!(run.content, r#"{"version":"1.0.0","is_stable":true}"#);
    assert!(
        requests[0].contains(r#""required":["version"]"#),
        "{}",
        requests[0]
    );
}

#[tokio::test]
async fn an_answer_that_does_not_fit_is_sent_back_with_the_reason() {
    let replies = [
        "It is 1.0.0.",
        "{\"is_stable\": true}",
        "{\"version\": \"1\"}",
    ];
    let (run, requests) = run(&replies, options()).await;
    assert_eq!(run.content, r#"{"version":"1"}"#);
    assert!(
        requests[1].contains("The answer is not a JSON object"),
        "{}",
        requests[1]
    );
    assert!(
        requests[2].contains("Missing required parameter 'version'"),
        "{}",
        requests[2]
    );
}

#[tokio::test]
async fn a_model_that_never_gives_one_fails() {
    let (run, requests) = run(&["One."; 9], options()).await;
    let code = run.error.and_then(|error| error.code());
    assert_eq!(code, Some(ErrorCode::InvalidAnswer));
    assert_eq!(requests.len(), 4);
}

/// The last request, without tools, asks for JSON as well.
#[tokio::test]
async fn a_run_at_its_limit_answers_in_json() {
    let read = call("read_file", &json!({"path": "package.json"}));
    let options = RunOptions {
        max_iterations: 2,
        ..options()
    };
    let (run, requests) = run(&[&read, "{\"version\": \"1.0.0\"}"], options).await;
    assert_eq!(run.content, r#"{"version":"1.0.0"}"#);
    let last = requests[1].rsplit("---").next().unwrap();
    assert!(last.contains("JSON Schema"), "{last}");
}
