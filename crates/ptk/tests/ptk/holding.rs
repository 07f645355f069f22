//! Models that are held to a form in which no call can be malformed.

use futures_util::{StreamExt as _, stream};
use ptk::llm::{
    Capabilities, Constraint, Delta, Deltas, FinishReason, LlmError, Provider, Request,
    ResponseFormat,
};
use ptk::{Hold, Mode};
use serde_json::json;

use crate::scene::{Model, Scene, call};

const BROKEN: &str = "<PTK_CALL>{\"tool\": \"read_file\", \"args\": {\"path\": \"no";

/// A model that says this, one after the other, and can be held to something.
fn model(constraint: Constraint, replies: &[&str]) -> Model {
    let replies = replies.iter().map(|reply| (*reply).to_owned()).collect();
    let mut model = Model::of_replies(replies);
    model.capabilities.constraint = constraint;
    model
}

/// What each request was held to: nothing, a schema or a grammar.
async fn held(scene: &Scene, model: &Model, hold: Hold, mode: Mode) -> (String, Vec<&'static str>) {
    let asked = ptk::Model::new(model.clone()).hold(hold).mode(mode);
    let ptk = scene.builder(model.clone()).model(asked).build().unwrap();
    let run = ptk.execute("Read the notes", ptk.options()).await;
    (run.content, formats(model))
}

fn formats(model: &Model) -> Vec<&'static str> {
    let requests = model.requests();
    let formats = requests.iter().map(|request| match request.format {
        ResponseFormat::Grammar(_) => "grammar",
        ResponseFormat::Schema(_) => "schema",
        ResponseFormat::StructuralTag(_) => "structural tag",
        _ => "",
    });
    formats.collect()
}

#[tokio::test]
async fn a_model_that_wrote_a_broken_call_is_held_to_a_grammar() {
    let scene = Scene::new();
    let good = call("read_file", &json!({"path": "notes.txt"}));
    let replies = [BROKEN, &good, "Milk."];
    let model = model(Constraint::Grammar, &replies);
    let (answer, formats) = held(&scene, &model, Hold::Auto, Mode::Text).await;
    assert_eq!(answer, "Milk.");
    assert_eq!(formats, ["", "grammar", ""]);
    let ResponseFormat::Grammar(grammar) = &model.requests()[1].format else {
        panic!("no grammar");
    };
    assert!(grammar.starts_with("root ::= "), "{grammar}");
    assert!(grammar.contains("<PTK_CALL>"), "{grammar}");
    assert!(grammar.contains("read_file"), "{grammar}");
}

#[tokio::test]
async fn it_is_held_always_or_never_where_that_is_said() {
    let scene = Scene::new();
    let good = call("read_file", &json!({"path": "notes.txt"}));
    let replies = [BROKEN, &good, "Milk."];
    for (constraint, hold, mode, expected) in [
        (
            Constraint::Grammar,
            Hold::Always,
            Mode::Text,
            ["grammar"; 3],
        ),
        (Constraint::Grammar, Hold::Never, Mode::Text, [""; 3]),
        (Constraint::None, Hold::Always, Mode::Text, [""; 3]),
        (Constraint::Grammar, Hold::Always, Mode::Native, [""; 3]),
    ] {
        let model = model(constraint, &replies);
        let (answer, formats) = held(&scene, &model, hold, mode).await;
        assert_eq!(answer, "Milk.");
        assert_eq!(formats, expected, "{hold:?} {mode:?}");
    }
}

/// JSON by the schema never reaches the user: calls are rewritten in the
/// dialect, answers are shown as they are.
#[tokio::test]
async fn where_there_are_only_schemas_calls_and_answers_are_read_from_json() {
    let scene = Scene::new();
    let replies = [
        r#"{"tool": "read_file", "args": {"path": "notes.txt"}}"#,
        r#"{"answer": "Buy \"milk\"."}"#,
    ];
    let model = model(Constraint::Schema, &replies);
    let (answer, formats) = held(&scene, &model, Hold::Always, Mode::Text).await;
    assert_eq!(answer, "Buy \"milk\".");
    assert_eq!(formats, ["schema"; 2]);
    // The model sees its own call as it was taught to write it.
    let said = format!("{:?}", model.requests()[1].messages);
    assert!(said.contains("<PTK_CALL>"), "{said}");
}

#[tokio::test]
async fn a_reply_that_keeps_to_no_schema_is_read_as_any_other() {
    let scene = Scene::new();
    let good = call("read_file", &json!({"path": "notes.txt"}));
    for reply in [
        good.as_str(),
        "Milk, I think.",
        r#"{"answer": "x", "tool": "y"}"#,
    ] {
        let model = model(Constraint::Schema, &[reply, "Milk, I think."]);
        let (answer, _) = held(&scene, &model, Hold::Always, Mode::Text).await;
        let expected = if reply.starts_with('{') {
            reply
        } else {
            "Milk, I think."
        };
        assert_eq!(answer, expected);
    }
}

/// The part of a reply that arrived before it broke off is shown and kept.
#[tokio::test]
async fn what_came_before_a_schema_was_whole_is_not_lost() {
    let scene = Scene::new();
    let mut model = Model::new(|_| {
        vec![
            Delta::Reasoning("Hm.".to_owned()),
            Delta::Text(r#"{"answer": "Mi"#.to_owned()),
            Delta::Finish(FinishReason::Length),
        ]
    });
    model.capabilities.constraint = Constraint::Schema;
    let (answer, _) = held(&scene, &model, Hold::Always, Mode::Text).await;
    assert!(answer.contains(r#"{"answer": "Mi"#), "{answer}");
}

/// The last time, the model is asked for an answer in text.
#[tokio::test]
async fn the_last_reply_is_not_held() {
    let scene = Scene::new();
    let good = call("read_file", &json!({"path": "notes.txt"}));
    let model = model(Constraint::Grammar, &[&good, "Milk."]);
    let asked = ptk::Model::new(model.clone()).hold(Hold::Always);
    let ptk = scene.builder(model.clone()).model(asked).build().unwrap();
    let options = ptk::RunOptions {
        max_iterations: 2,
        ..ptk.options()
    };
    assert_eq!(
        ptk.execute("Read notes.txt", options).await.content,
        "Milk."
    );
    let formats = model.requests().into_iter().map(|request| request.format);
    assert!(matches!(formats.last(), Some(ResponseFormat::Text)));
}

/// A server that refuses some formats.
#[derive(Debug, Clone)]
struct Picky {
    model: Model,
    refuses: fn(&ResponseFormat) -> bool,
}

impl Provider for Picky {
    fn name(&self) -> &'static str {
        "picky"
    }

    fn capabilities(&self, name: Option<&str>) -> Capabilities {
        self.model.capabilities(name)
    }

    fn stream<'a>(&'a self, request: &'a Request) -> Deltas<'a> {
        if !(self.refuses)(&request.format) {
            return self.model.stream(request);
        }
        self.model.requests.lock().unwrap().push(request.clone());
        let error = LlmError::of_status("picky", None, 400, "Invalid grammar specification");
        stream::iter([Err(error)]).boxed()
    }
}

/// What each of three requests is held to is what the server did not refuse
/// before.
#[tokio::test]
async fn a_server_that_refuses_a_constraint_is_not_sent_it_again() {
    let scene = Scene::new();
    let good = call("read_file", &json!({"path": "notes.txt"}));
    for (refuses, expected) in [
        (
            (|_| false) as fn(&ResponseFormat) -> bool,
            &["structural tag", "structural tag"][..],
        ),
        (
            |format| matches!(format, ResponseFormat::StructuralTag(_)),
            &["structural tag", "grammar", "grammar"],
        ),
        (
            |format| *format != ResponseFormat::Text,
            &["structural tag", "grammar", "", ""],
        ),
    ] {
        let model = model(Constraint::StructuralTag, &[&good, "Milk."]);
        let server = Picky {
            model: model.clone(),
            refuses,
        };
        let asked = ptk::Model::new(server.clone()).hold(Hold::Always);
        let ptk = scene.builder(server).model(asked).build().unwrap();
        let run = ptk.execute("Read the notes", ptk.options()).await;
        assert_eq!(run.content, "Milk.");
        assert_eq!(formats(&model), expected);
    }
}

/// A request that is refused for another reason is not sent for ever.
#[tokio::test]
async fn a_server_that_refuses_everything_ends_the_run() {
    let scene = Scene::new();
    let model = model(Constraint::StructuralTag, &["Milk."]);
    let server = Picky {
        model: model.clone(),
        refuses: |_| true,
    };
    let asked = ptk::Model::new(server.clone()).hold(Hold::Always);
    let ptk = scene.builder(server).model(asked).build().unwrap();
    let run = ptk.execute("Read the notes", ptk.options()).await;
    assert!(run.error.is_some(), "{run:?}");
    assert_eq!(formats(&model), ["structural tag", "grammar", ""]);
}
