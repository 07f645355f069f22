//! Every part can be replaced, and none is missing unnoticed.

use ptk::llm::Script;
use ptk::protocol::dialects::declared::{Declaration, register};
use ptk::protocol::dialects::{Ptk as PtkDialect, Registry as Dialects};
use ptk::protocol::{Event, Grammar, PtkFormatter, Span};
use ptk::{Ptk, Reading, ReplyParser, RunOptions};
use serde_json::json;

use crate::scene::{Model, Scene, call, text};

#[test]
fn parts_that_do_not_fit_are_said() {
    let error = Ptk::builder().build().unwrap_err();
    assert_eq!(
        error.to_string(),
        "No model; set one with `Ptk::model` or `provider`"
    );
    let script = || Script::new(["x"]);
    let error = Ptk::builder().provider(script()).dialect("klingon").build();
    assert!(
        error
            .unwrap_err()
            .to_string()
            .starts_with("unknown dialect `klingon`")
    );
    let error = Ptk::builder()
        .provider(script())
        .workspace("/nowhere/at/all")
        .build();
    assert!(error.is_err());
    let nameless = ptk::tools::tool_fn(
        "not a name",
        "x",
        ptk::tools::Effects::NONE,
        |_: ptk::tools::CallContext, (): ()| async { Ok::<_, ptk::tools::ToolError>(()) },
    );
    let error = Ptk::builder().provider(script()).tool(nameless).build();
    assert!(
        error
            .unwrap_err()
            .to_string()
            .contains("cannot be a tool's name")
    );
}

#[tokio::test]
async fn another_formatter_teaches() {
    let scene = Scene::new();
    let model = Model::new(|_| text("Hi."));
    let formatter = PtkFormatter::new(std::sync::Arc::new(PtkDialect::default())).unwrap();
    let ptk = scene
        .builder(model.clone())
        .formatter(formatter.with_template("Tools:\n[TOOL_DEFINITIONS]"))
        .build()
        .unwrap();
    ptk.run("Hi").await.unwrap();
    let system = model.requests().pop().unwrap().system.unwrap();
    assert!(system.starts_with("Tools:\n"), "{system}");
}

/// Takes everything for prose.
#[derive(Debug)]
struct Prose;

struct Words(usize);

impl ReplyParser for Prose {
    fn begin(&self, _: &Grammar) -> Box<dyn Reading> {
        Box::new(Words(0))
    }
}

impl Reading for Words {
    fn push(&mut self, chunk: &str, sink: &mut dyn FnMut(Event<'_>)) {
        let span = Span::new(self.0, self.0 + chunk.len());
        self.0 = span.end;
        sink(Event::Text {
            text: chunk.into(),
            span,
        });
    }

    fn finish(&mut self, _: &mut dyn FnMut(Event<'_>)) {}
}

#[tokio::test]
async fn another_parser_reads() {
    let scene = Scene::new();
    let reply = call("read_file", &json!({"path": "notes.txt"}));
    let script = Script::new([reply.clone()]);
    let ptk = scene.builder(script).parser(Prose).build().unwrap();
    assert_eq!(ptk.run("Go").await.unwrap(), reply);
}

/// Whatever form the model chooses, unless only one is wanted.
#[tokio::test]
async fn every_dialect_is_read_unless_one_is_chosen() {
    let legacy = r#"<TOOL_CALL>{"tool": "read_file", "args": {"path": "notes.txt"}}</TOOL_CALL>"#;
    let hermes =
        r#"<tool_call>{"name": "read_file", "arguments": {"path": "notes.txt"}}</tool_call>"#;
    let xml = r#"<tool name="read_file"><arg name="path">notes.txt</arg></tool>"#;
    for reply in [legacy, hermes, xml] {
        let scene = Scene::new();
        let run = scene
            .ptk(&[reply, "Milk."])
            .execute("Go", RunOptions::default())
            .await;
        assert_eq!(
            (run.content.as_str(), run.total_tool_calls),
            ("Milk.", 1),
            "{reply}"
        );
    }
    let scene = Scene::new();
    let script = Script::new([xml, "Milk."]);
    let ptk = scene.builder(script).dialect("ptk").build().unwrap();
    assert_eq!(ptk.run("Go").await.unwrap(), xml);
}

/// A dialect that was added is taught, read, and guarded against.
#[tokio::test]
async fn a_dialect_from_outside_is_one_like_any_other() {
    let scene = Scene::new();
    let acme: Declaration = serde_json::from_value(json!({
        "name": "acme",
        "open": ["<acme_call>"],
        "close": ["</acme_call>"],
        "name_keys": ["fn"],
        "args_keys": ["kwargs"],
    }))
    .unwrap();
    let page = "Say <acme_call> to call.";
    std::fs::write(scene.folder.path().join("page.txt"), page).unwrap();
    let reply = r#"<acme_call>{"fn": "read_file", "kwargs": {"path": "page.txt"}}</acme_call>"#;
    let model = Model::of_replies(vec![reply.to_owned(), "Read.".to_owned()]);
    let ptk = scene
        .builder(model.clone())
        .dialects(register(Dialects::builtin(), &[acme]).unwrap())
        .dialect("acme")
        .build()
        .unwrap();
    assert_eq!(ptk.run("Read page.txt").await.unwrap(), "Read.");
    let asked = model.requests().pop().unwrap();
    assert!(asked.system.unwrap().contains("<acme_call>"));
    let told = asked.messages.last().unwrap().text();
    assert!(told.contains("Say <~acme_call> to call."), "{told}");
}
