//! Models that fail, or that cannot do what was expected: others are asked, or
//! they are asked in another way.

use std::sync::Arc;

use futures_util::future::BoxFuture;
use futures_util::{FutureExt as _, StreamExt as _, stream};
use ptk::llm::{
    Capabilities, Delta, Deltas, FileMemory, FinishReason, LlmError, Memory, ModelProfile, Prices,
    Provider, Request, Script, Usage, memory_key,
};
use ptk::store::{EntryKind, MemoryStore, SessionId, Store, Stretch};
use ptk::{Mode, Model as Asked, RunOptions};
use serde_json::{Value, json};

use crate::scene::{Model, Scene, call, text};

/// A model behind a server that refuses tools, or leaves them out, or knows
/// what its model can do.
#[derive(Debug, Clone)]
struct Server {
    model: Model,
    refusal: Option<(u16, &'static str)>,
    learned: Option<Capabilities>,
}

impl Server {
    fn new(model: Model) -> Self {
        Self {
            model,
            refusal: None,
            learned: None,
        }
    }
}

impl Provider for Server {
    fn name(&self) -> &'static str {
        "server"
    }

    fn model(&self) -> Option<&str> {
        Some("m1")
    }

    fn capabilities(&self, model: Option<&str>) -> Capabilities {
        self.model.capabilities(model)
    }

    fn learn<'a>(&'a self, _: Option<&'a str>) -> BoxFuture<'a, Option<Capabilities>> {
        std::future::ready(self.learned).boxed()
    }

    fn stream<'a>(&'a self, request: &'a Request) -> Deltas<'a> {
        match self.refusal {
            Some((status, message)) if !request.tools.is_empty() => {
                let error = LlmError::of_status("server", Some("m1"), status, message);
                stream::iter([Err(error)]).boxed()
            }
            _ => self.model.stream(request),
        }
    }
}

fn native() -> Capabilities {
    Capabilities {
        native_tools: Some(true),
        ..Capabilities::default()
    }
}

fn script(replies: &Value) -> Script {
    Script::parse(&replies.to_string()).unwrap()
}

#[tokio::test(start_paused = true)]
async fn where_a_model_fails_the_next_one_is_asked() {
    for (failure, requests) in [
        (json!({"status": 401, "message": "wrong key"}), 1),
        (json!({"status": 404, "message": "no such model"}), 1),
        (json!({"status": 402, "message": "pay"}), 1),
        (json!({"status": 400, "message": "what?"}), 1),
        // These are tried again first.
        (json!({"status": 500, "message": "oops"}), 3),
        (json!({"status": 429, "message": "slow down"}), 3),
    ] {
        let scene = Scene::new();
        let broken = json!({"text": "Let me", "error": failure});
        let first = script(&json!([broken, broken, broken]));
        let reply = call("read_file", &json!({"path": "notes.txt"}));
        let second = Asked::new(script(&json!([reply, "Milk."]))).name("other");
        let store: Arc<dyn Store> = Arc::new(MemoryStore::new());
        let ptk = scene
            .builder(first)
            .fallback(second)
            .store(Arc::clone(&store))
            .build()
            .unwrap();
        let run = ptk.execute("Go", ptk.options()).await;
        assert_eq!((run.content.as_str(), run.total_tool_calls), ("Milk.", 1));
        let entries = store
            .read(&run.session, Stretch::after(0, 1000))
            .await
            .unwrap();
        let kinds: Vec<EntryKind> = entries.iter().map(ptk::store::Entry::kind).collect();
        let asked = kinds.iter().filter_map(|kind| match kind {
            EntryKind::RequestBegan(request) => Some(request.model.clone()),
            _ => None,
        });
        let mut expected = vec![None; requests];
        expected.extend([Some("other".to_owned()), Some("other".to_owned())]);
        assert_eq!(asked.collect::<Vec<_>>(), expected, "{failure}");
        let mut told = kinds.iter().filter_map(|kind| match kind {
            EntryKind::Failure(failure) => Some(failure.message.clone()),
            _ => None,
        });
        assert!(
            told.next_back()
                .unwrap()
                .starts_with("other is asked instead: ")
        );
    }
}

/// What one model withheld is not asked of another.
#[tokio::test]
async fn a_withheld_reply_is_not_asked_of_another() {
    let scene = Scene::new();
    let first = script(&json!([{"text": "", "finish_reason": "content_filter"}]));
    let second = Asked::new(script(&json!(["Here you are."])));
    let ptk = scene.builder(first).fallback(second).build().unwrap();
    let run = ptk.execute("Go", ptk.options()).await;
    assert!(!run.success);
}

#[tokio::test(start_paused = true)]
async fn a_model_that_failed_is_left_alone_for_a_minute() {
    let scene = Scene::new();
    let refused = json!({"error": {"status": 401, "message": "wrong key"}});
    let first = script(&json!([refused, "I am back."]));
    let second = Asked::new(script(&json!(["One.", "Two."])));
    let ptk = scene.builder(first).fallback(second).build().unwrap();
    assert_eq!(ptk.run("Go").await.unwrap(), "One.");
    assert_eq!(ptk.run("Go").await.unwrap(), "Two.");
    tokio::time::advance(std::time::Duration::from_secs(61)).await;
    assert_eq!(ptk.run("Go").await.unwrap(), "I am back.");
}

/// It may be well again before the minute is over.
#[tokio::test(start_paused = true)]
async fn a_model_that_is_left_alone_is_asked_before_all_is_lost() {
    let scene = Scene::new();
    let refused = json!({"error": {"status": 401, "message": "wrong key"}});
    let first = script(&json!([refused, "I am back.", refused]));
    let second = Asked::new(script(&json!(["One.", refused, refused])));
    let ptk = scene.builder(first).fallback(second).build().unwrap();
    assert_eq!(ptk.run("Go").await.unwrap(), "One.");
    assert_eq!(ptk.run("Go").await.unwrap(), "I am back.");
    // Each is asked once, and no more.
    let error = ptk.run("Go").await.unwrap_err().to_string();
    assert!(error.contains("wrong key"), "{error}");
}

#[tokio::test(start_paused = true)]
async fn where_all_fail_the_last_failure_is_told() {
    let scene = Scene::new();
    let failing = |message: &str| script(&json!([{"error": {"status": 401, "message": message}}]));
    let ptk = scene
        .builder(failing("first"))
        .fallback(Asked::new(failing("second")))
        .build()
        .unwrap();
    let error = ptk.run("Go").await.unwrap_err().to_string();
    assert!(error.contains("second"), "{error}");
}

/// Whether we know it or its server says so.
#[tokio::test]
async fn what_does_not_fit_into_one_model_is_asked_of_one_with_a_larger_window() {
    let scene = Scene::new();
    let refused = json!({"error": {"status": 400, "message": "maximum context length exceeded"}});
    let small = |window: Option<u32>| {
        let asked = Asked::new(script(&json!([refused])));
        match window {
            Some(tokens) => asked.context_window(tokens),
            None => asked,
        }
    };
    let long = "word ".repeat(3000);
    for window in [Some(1000), None] {
        let large = Asked::new(script(&json!(["I have room.", "Not me."])));
        let ptk = scene
            .builder(script(&json!(["Nobody asks me."])))
            .model(small(window))
            .fallback(Asked::new(script(&json!(["No room."]))).context_window(500))
            .fallback(large.name("large").context_window(100_000))
            .build()
            .unwrap();
        let run = ptk.execute(long.clone(), ptk.options()).await;
        assert_eq!(run.content, "I have room.", "{window:?} {:?}", run.error);
    }
    // It did not fail, so it is asked the next time.
    let first = Asked::new(script(&json!(["I am still here."]))).context_window(5000);
    let large = Asked::new(script(&json!(["I have room."]))).context_window(100_000);
    let ptk = scene.builder(script(&json!(["Nobody asks me."])));
    let ptk = ptk.model(first).fallback(large).build().unwrap();
    assert_eq!(ptk.run(long.clone()).await.unwrap(), "I have room.");
    let mut other = ptk.session(SessionId::new());
    assert_eq!(other.run("Go").await.unwrap(), "I am still here.");
    let alone = scene
        .builder(script(&json!(["Nobody asks me."])))
        .model(small(Some(1000)))
        .build()
        .unwrap();
    let error = alone.run(long).await.unwrap_err().to_string();
    assert!(
        error.contains("use a model with a larger window"),
        "{error}"
    );
}

/// A fallback has a window, a form and prices of its own.
#[tokio::test]
async fn each_model_is_asked_in_its_own_way_and_counted_at_its_own_price() {
    let scene = Scene::new();
    let usage = Usage {
        input_tokens: 1000,
        output_tokens: 10,
        ..Usage::default()
    };
    let replies = move |words: &str| {
        let mut deltas = text(words);
        deltas.insert(1, Delta::Usage(usage));
        deltas
    };
    let second = Model::new(move |request| {
        if request.messages.len() == 1 {
            replies(
                r#"<tool_call>{"name": "read_file", "arguments": {"path": "notes.txt"}}</tool_call>"#,
            )
        } else {
            replies("Milk.")
        }
    });
    let first = script(&json!([{"error": {"status": 404, "message": "gone"}}]));
    let ptk = scene
        .builder(first.with_capabilities(native()))
        .fallback(
            Asked::new(second.clone())
                .name("small")
                .mode(Mode::Text)
                .dialect("hermes")
                .max_tokens(99)
                .prices(Prices {
                    input: 2.0,
                    output: 10.0,
                    ..Prices::default()
                }),
        )
        .build()
        .unwrap();
    let run = ptk.execute("Go", ptk.options()).await;
    assert_eq!(run.content, "Milk.", "{:?}", run.error);
    let request = second.requests().remove(0);
    assert!(request.tools.is_empty());
    assert!(request.system.unwrap().contains("<tool_call>"));
    assert_eq!(request.max_tokens, Some(99));
    assert_eq!(run.usage.cost_micros, 2 * (2 * 1000 + 10 * 10));
    assert_eq!(run.usage_by_model["small"].cost_micros, 4200);
}

#[tokio::test]
async fn a_server_that_takes_no_tools_is_asked_in_words_and_that_is_remembered() {
    for refusal in [
        (
            400,
            "registry.ollama.ai/library/m1:latest does not support tools",
        ),
        (
            400,
            "\"auto\" tool choice requires --enable-auto-tool-choice and --tool-call-parser to be set",
        ),
        (404, "No endpoints found that support tool use"),
        (500, "tools param requires --jinja flag"),
    ] {
        let scene = Scene::new();
        let mut model = Model::of_replies(vec![
            call("read_file", &json!({"path": "notes.txt"})),
            "Milk.".to_owned(),
        ]);
        model.capabilities = native();
        let server = Server {
            refusal: Some(refusal),
            ..Server::new(model.clone())
        };
        let file = scene.folder.path().join("state/models.json");
        let memory = || Arc::new(FileMemory::new(&file));
        let ptk = scene
            .builder(server.clone())
            .memory(memory())
            .build()
            .unwrap();
        let run = ptk.execute("Go", ptk.options()).await;
        assert_eq!(
            (run.content.as_str(), run.total_tool_calls),
            ("Milk.", 1),
            "{refusal:?}"
        );

        // Later sessions know it.
        let key = memory_key(&server, None).unwrap();
        assert_eq!(memory().recall(&key).unwrap().native_tools, Some(false));
        let server = Server::new(model.clone());
        let ptk = scene.builder(server).memory(memory()).build().unwrap();
        ptk.run("Go").await.unwrap();
        let asked = model.requests();
        assert!(asked.iter().all(|request| request.tools.is_empty()));

        // A caller that insists on the native API gets the error.
        let server = Server {
            refusal: Some(refusal),
            ..Server::new(model.clone())
        };
        let ptk = scene.builder(server).build().unwrap();
        let options = RunOptions {
            mode: Mode::Native,
            ..RunOptions::default()
        };
        let error = ptk.execute("Go", options).await.error.unwrap().to_string();
        assert!(error.contains("takes no tools"), "{error}");
    }
}

#[tokio::test]
async fn a_server_that_leaves_tools_out_is_noticed_by_what_it_counts() {
    let scene = Scene::new();
    let mut model = Model::new(|request| {
        let said = match (request.messages.len(), request.tools.is_empty()) {
            (1, true) => call("read_file", &json!({"path": "notes.txt"})),
            (1, false) => "I cannot read files.".to_owned(),
            _ => "Milk.".to_owned(),
        };
        let mut deltas = text(&said);
        let input_tokens = if request.tools.is_empty() { 900 } else { 12 };
        deltas.insert(
            1,
            Delta::Usage(Usage {
                input_tokens,
                ..Usage::default()
            }),
        );
        deltas
    });
    model.capabilities = native();
    let ptk = scene.builder(model.clone()).build().unwrap();
    assert_eq!(ptk.run("Go").await.unwrap(), "Milk.");
    assert_eq!(model.requests().len(), 3);

    // Where the server confirms the tools, its counts are not compared: some
    // leave out cached tokens.
    let mut model = Model::new(|_| {
        let mut deltas = text("No file is needed.");
        let usage = Usage {
            input_tokens: 3,
            ..Usage::default()
        };
        deltas.insert(1, Delta::Usage(usage));
        deltas
    });
    model.capabilities = native();
    let server = Server {
        learned: Some(native()),
        ..Server::new(model.clone())
    };
    let ptk = scene.builder(server).build().unwrap();
    assert_eq!(ptk.run("Go").await.unwrap(), "No file is needed.");
    assert_eq!(model.requests().len(), 1);

    // One that counts them is left as it is.
    let mut model = Model::new(|_| {
        let mut deltas = text("No file is needed.");
        deltas.insert(
            1,
            Delta::Usage(Usage {
                input_tokens: 1200,
                ..Usage::default()
            }),
        );
        deltas
    });
    model.capabilities = native();
    let ptk = scene.builder(model.clone()).build().unwrap();
    assert_eq!(ptk.run("Go").await.unwrap(), "No file is needed.");
    assert_eq!(model.requests().len(), 1);
}

#[tokio::test]
async fn a_model_that_keeps_writing_its_calls_is_taught_to() {
    let scene = Scene::new();
    let mut model = Model::new(|request| {
        let is_said =
            |message: &&ptk::llm::Message| matches!(message, ptk::llm::Message::Assistant { .. });
        let said = request.messages.iter().filter(is_said).count();
        match said {
            0 => text(&call("read_file", &json!({"path": "notes.txt"}))),
            1 => text(&call("read_file", &json!({"path": "package.json"}))),
            2 => text(&call("list_files", &json!({"path": "."}))),
            _ => text("Done."),
        }
    });
    model.capabilities = native();
    let ptk = scene.builder(model.clone()).build().unwrap();
    let run = ptk.execute("Go", ptk.options()).await;
    assert_eq!((run.content.as_str(), run.total_tool_calls), ("Done.", 3));
    let taught = model.requests();
    let taught: Vec<bool> = taught.iter().map(|it| it.tools.is_empty()).collect();
    assert_eq!(taught, [false, false, true, true]);
}

#[tokio::test]
async fn the_servers_own_word_counts() {
    for (learned, has_tools) in [(Some(native()), true), (None, false)] {
        let scene = Scene::new();
        let model = Model::new(|_| text("Hi."));
        let server = Server {
            learned,
            ..Server::new(model.clone())
        };
        let ptk = scene.builder(server).build().unwrap();
        ptk.run("Hi").await.unwrap();
        let request = model.requests().remove(0);
        assert_eq!(!request.tools.is_empty(), has_tools);
    }
}

/// What was tried counts more than what a server says.
#[tokio::test]
async fn what_was_tried_counts_most() {
    let scene = Scene::new();
    let model = Model::new(|_| text("Hi."));
    let server = Server {
        learned: Some(native()),
        ..Server::new(model.clone())
    };
    let memory = Arc::new(FileMemory::new(scene.folder.path().join("models.json")));
    let profile = ModelProfile {
        native_tools: Some(false),
        dialect: Some("xml".to_owned()),
        is_tried: true,
        ..ModelProfile::default()
    };
    memory.remember(&memory_key(&server, None).unwrap(), profile);
    let ptk = scene.builder(server).memory(memory).build().unwrap();
    ptk.run("Hi").await.unwrap();
    let request = model.requests().remove(0);
    assert!(request.tools.is_empty());
    assert!(request.system.unwrap().contains("<tool name="));
}

/// All dialects in the table of known models can be taught.
#[test]
fn known_models_have_dialects_that_are_taught() {
    let registry = ptk::protocol::dialects::Registry::builtin();
    for known in ptk::llm::KNOWN_MODELS {
        if let Some(name) = known.dialect {
            let dialect = Arc::clone(registry.get(name).unwrap());
            ptk::protocol::PtkFormatter::new(dialect).unwrap();
        }
        let found = ptk::llm::KnownModel::named(known.begins).unwrap();
        assert_eq!(found.begins, known.begins, "an earlier line hides it");
    }
}

#[tokio::test]
async fn a_dialect_that_there_is_not_is_said_for_fallbacks_too() {
    let scene = Scene::new();
    let other = Asked::new(script(&json!(["x"]))).dialect("klingon");
    let error = scene.builder(script(&json!(["x"]))).fallback(other).build();
    let error = error.unwrap_err().to_string();
    assert!(error.starts_with("unknown dialect `klingon`"), "{error}");
}

#[tokio::test]
async fn finishing_is_told_from_breaking_off() {
    let scene = Scene::new();
    let cut = Model::new(|_| vec![Delta::Text("Half an ans".to_owned())]);
    let whole = Model::new(|_| {
        vec![
            Delta::Text("A whole answer.".to_owned()),
            Delta::Finish(FinishReason::Stop),
        ]
    });
    let options = RunOptions {
        provider_retries: 0,
        ..RunOptions::default()
    };
    let ptk = scene
        .builder(cut)
        .fallback(Asked::new(whole))
        .build()
        .unwrap();
    let run = ptk.execute("Go", options).await;
    assert_eq!(run.content, "A whole answer.");
}
