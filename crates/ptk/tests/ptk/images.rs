//! Prompts with images.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use futures_util::future::BoxFuture;
use futures_util::{FutureExt as _, StreamExt as _, stream};
use ptk::events::{EventKind, Filter};
use ptk::llm::{
    Capabilities, Constraint, Deltas, LlmError, Message, Provider, Request, ResponseFormat,
};
use ptk::protocol::Image;
use ptk::store::{MemoryStore, SessionId, Store as _, Stretch};
use ptk::view::{Conversation, ItemKind};
use ptk::{Compaction, Hold, Prompt, RunOptions};
use serde_json::json;

use crate::scene::{Model, Scene, call, text};

/// What stands in the place of images.
const LEFT_OUT: &str = "(Images were attached here, which you cannot see.)";

fn image() -> Image {
    Image::new(b"GIF89a\x01\0\x01\0").unwrap()
}

fn prompt() -> Prompt {
    Prompt::from("What is this?").with_image(image())
}

/// A model that answers each request with "Seen."
fn model(takes_images: bool) -> Model {
    let mut model = Model::new(|_| text("Seen."));
    model.capabilities.takes_images = takes_images;
    model
}

/// A model behind a server that refuses images, or says what it takes.
#[derive(Debug, Clone)]
struct Server {
    model: Model,
    refusal: Option<(u16, &'static str)>,
    learned: Option<Capabilities>,
}

impl Server {
    fn refusing(status: u16, message: &'static str) -> Self {
        Self {
            model: model(true),
            refusal: Some((status, message)),
            learned: None,
        }
    }
}

impl Provider for Server {
    fn name(&self) -> &'static str {
        "server"
    }

    fn capabilities(&self, model: Option<&str>) -> Capabilities {
        self.model.capabilities(model)
    }

    fn learn<'a>(&'a self, _: Option<&'a str>) -> BoxFuture<'a, Option<Capabilities>> {
        std::future::ready(self.learned).boxed()
    }

    fn stream<'a>(&'a self, request: &'a Request) -> Deltas<'a> {
        match self.refusal {
            Some((status, message)) if images(&request.messages).iter().any(|it| *it > 0) => {
                self.model.requests.lock().unwrap().push(request.clone());
                let error = LlmError::of_status("server", Some("m1"), status, message);
                stream::iter([Err(error)]).boxed()
            }
            _ => self.model.stream(request),
        }
    }
}

/// How many images were in each request.
fn sent(model: &Model) -> Vec<usize> {
    let requests = model.requests();
    let counts = requests.iter().map(|it| images(&it.messages).iter().sum());
    counts.collect()
}

fn images(messages: &[Message]) -> Vec<usize> {
    let counts = messages.iter().map(|message| message.images().len());
    counts.collect()
}

#[tokio::test]
async fn images_reach_the_model_in_every_turn_and_after_a_restart() {
    let scene = Scene::new();
    let store = Arc::new(MemoryStore::new());
    let session = SessionId::new();
    for turn in 0..3 {
        let model = model(true);
        let ptk = scene.builder(model.clone()).store(store.clone());
        let ptk = ptk.build().unwrap();
        let mut session = ptk.session(session.clone());
        let run = match turn {
            0 => session.execute(prompt(), RunOptions::default()).await,
            _ => session.execute("And now?", RunOptions::default()).await,
        };
        assert_eq!(run.into_result().unwrap(), "Seen.");
        let messages = model.requests()[0].messages.clone();
        assert_eq!(images(&messages).iter().sum::<usize>(), 1, "{messages:?}");
        let first = messages.iter().find(|it| !it.images().is_empty()).unwrap();
        assert_eq!(first.images(), [image()]);
        assert!(first.text().contains("What is this?"));
    }
}

/// The model has seen an image that the prompt names, and need not read it.
#[tokio::test]
async fn an_answer_about_an_image_is_not_sent_back() {
    let scene = Scene::new();
    std::fs::write(scene.folder.path().join("dot.gif"), b"GIF89a").unwrap();
    let model = model(true);
    let ptk = scene.builder(model.clone()).build().unwrap();
    let prompt = Prompt::from("What is this?\n\ndot.gif: image 1").with_image(image());
    assert_eq!(ptk.run(prompt).await.unwrap(), "Seen.");
    assert_eq!(model.requests().len(), 1);
    // Without the image, it has to look.
    ptk.run("What is in dot.gif?").await.unwrap();
    assert_eq!(model.requests().len(), 3);
}

/// The same in a later turn, unless it was not shown the image.
#[tokio::test]
async fn an_answer_about_an_image_of_an_earlier_turn_is_not_sent_back() {
    for (takes_images, requests) in [(true, 1), (false, 2)] {
        let scene = Scene::new();
        std::fs::write(scene.folder.path().join("dot.gif"), b"GIF89a").unwrap();
        let store = Arc::new(MemoryStore::new());
        let seeing = scene.builder(model(true)).store(store.clone());
        let seeing = seeing.build().unwrap();
        let session = SessionId::new();
        let prompt = Prompt::from("What is this?\n\ndot.gif: image 1").with_image(image());
        let run = seeing.session(session.clone()).run(prompt).await;
        assert_eq!(run.unwrap(), "Seen.");
        let model = model(takes_images);
        let ptk = scene.builder(model.clone()).store(store);
        let ptk = ptk.build().unwrap();
        let mut session = ptk.session(session);
        session.run("Which colour has dot.gif?").await.unwrap();
        assert_eq!(model.requests().len(), requests);
    }
}

#[tokio::test]
async fn the_last_request_shows_the_images_of_its_question() {
    let scene = Scene::new();
    let read = call("read_file", &json!({"path": "notes.txt"}));
    let mut model = Model::of_replies(vec![read, "Milk.".to_owned()]);
    model.capabilities.takes_images = true;
    let ptk = scene.builder(model.clone()).build().unwrap();
    let options = RunOptions {
        max_iterations: 2,
        ..RunOptions::default()
    };
    let run = ptk.execute(prompt(), options).await;
    assert_eq!(run.into_result().unwrap(), "Milk.");
    let requests = model.requests();
    let last = requests.last().unwrap();
    let question = last.messages.last().unwrap();
    assert!(question.text().contains("Answer from this: "));
    assert_eq!(images(&last.messages).iter().sum::<usize>(), 1);
    assert_eq!(question.images(), [image()]);
}

#[tokio::test]
async fn a_model_that_takes_none_refuses_a_prompt_and_is_told_of_earlier_ones() {
    let scene = Scene::new();
    let store = Arc::new(MemoryStore::new());
    let session = SessionId::new();
    let seeing = scene.builder(model(true)).store(store.clone());
    let seeing = seeing.build().unwrap();
    let run = seeing.session(session.clone()).run(prompt()).await;
    assert_eq!(run.unwrap(), "Seen.");

    let blind = model(false);
    let ptk = scene.builder(blind.clone()).store(store.clone());
    let ptk = ptk.build().unwrap();
    let mut session = ptk.session(session);
    let before = session.transcript().await.unwrap().items().len();
    let error = session.run(prompt()).await.unwrap_err();
    assert_eq!(error.name(), "IMAGES_NOT_TAKEN");
    assert!(error.to_string().contains("takes no images"), "{error}");
    assert_eq!(blind.requests().len(), 0);
    assert_eq!(session.transcript().await.unwrap().items().len(), before);

    assert_eq!(session.run("And now?").await.unwrap(), "Seen.");
    let messages = &blind.requests()[0].messages;
    assert_eq!(images(messages).iter().sum::<usize>(), 0);
    assert!(
        messages.iter().any(|it| it.text().ends_with(LEFT_OUT)),
        "{messages:?}"
    );
}

#[tokio::test]
async fn refused_images_are_said_and_not_sent_again() {
    for (status, message) in [
        (400, "m1 is not a multimodal model"),
        (400, "bad request"),
        (404, "No endpoints found that support image input"),
        (413, "Request Entity Too Large"),
    ] {
        let scene = Scene::new();
        let server = Server::refusing(status, message);
        let ptk = scene.builder(server.clone()).build().unwrap();
        let mut session = ptk.new_session();
        session.run("Remember the milk.").await.unwrap();
        let error = session.run(prompt()).await.unwrap_err();
        assert_eq!(error.name(), "IMAGES_NOT_TAKEN", "{error}");
        let told = error.to_string();
        assert!(told.contains(message), "{told}");
        assert!(told.contains("leave the images out"), "{told}");
        assert_eq!(session.run("Never mind.").await.unwrap(), "Seen.");
        assert_eq!(sent(&server.model), [0, 1, 0]);
        let last = server.model.requests().pop().unwrap();
        let mut words = last.messages.iter().map(Message::text);
        assert!(words.any(|it| it.contains("Remember the milk.")));
        let asked = words.find(|it| it.contains("What is this?")).unwrap();
        assert!(asked.contains(LEFT_OUT), "{asked}");
    }
}

#[tokio::test]
async fn images_that_failed_for_another_reason_are_sent_again() {
    let scene = Scene::new();
    let server = Server::refusing(401, "wrong key");
    let ptk = scene.builder(server.clone()).build().unwrap();
    let mut session = ptk.new_session();
    let error = session.run(prompt()).await.unwrap_err();
    assert_eq!(error.name(), "LLM_CALL_FAILED", "{error}");
    session.run("Try again.").await.unwrap_err();
    assert_eq!(sent(&server.model), [1, 1]);
}

#[tokio::test]
async fn images_of_earlier_turns_are_left_out_where_a_server_refuses_them() {
    let scene = Scene::new();
    let store = Arc::new(MemoryStore::new());
    let session = SessionId::new();
    let seeing = scene.builder(model(true)).store(store.clone());
    let seeing = seeing.build().unwrap();
    let run = seeing.session(session.clone()).run(prompt()).await;
    assert_eq!(run.unwrap(), "Seen.");

    let server = Server::refusing(400, "m1 is not a multimodal model");
    let ptk = scene.builder(server.clone()).store(store);
    let ptk = ptk.build().unwrap();
    let mut session = ptk.session(session);
    assert_eq!(session.run("And now?").await.unwrap(), "Seen.");
    assert_eq!(sent(&server.model), [1, 0]);
    let error = session.run(prompt()).await.unwrap_err();
    assert_eq!(error.name(), "IMAGES_NOT_TAKEN");
    assert_eq!(sent(&server.model), [1, 0, 2, 1]);
}

/// The constraint was not what the server refused.
#[tokio::test]
async fn refused_images_do_not_weaken_the_constraint() {
    for (message, asked) in [("m1 is not a multimodal model", 1), ("bad request", 2)] {
        let scene = Scene::new();
        let mut server = Server::refusing(400, message);
        server.model.capabilities.constraint = Constraint::Grammar;
        let model = ptk::Model::new(server.clone()).hold(Hold::Always);
        let ptk = scene.builder(server.clone()).model(model).build().unwrap();
        let mut session = ptk.new_session();
        let error = session.run(prompt()).await.unwrap_err();
        assert_eq!(error.name(), "IMAGES_NOT_TAKEN");
        assert_eq!(sent(&server.model), vec![1; asked]);
        assert_eq!(session.run("Never mind.").await.unwrap(), "Seen.");
        let last = server.model.requests().pop().unwrap();
        assert!(matches!(last.format, ResponseFormat::Grammar(_)));
    }
}

#[tokio::test]
async fn a_server_is_asked_what_it_takes_before_anything_is_logged() {
    let scene = Scene::new();
    let server = Server {
        learned: Some(Capabilities::default()),
        ..Server::refusing(400, "no images")
    };
    let ptk = scene.builder(server.clone()).build().unwrap();
    let mut session = ptk.new_session();
    let error = session.run(prompt()).await.unwrap_err();
    assert_eq!(error.name(), "IMAGES_NOT_TAKEN");
    assert!(error.to_string().contains("takes no images"), "{error}");
    assert!(sent(&server.model).is_empty());
    assert_eq!(session.transcript().await.unwrap().items().len(), 0);
}

#[tokio::test]
async fn a_fallback_that_takes_images_is_preferred_and_another_is_told_of() {
    for has_seeing in [true, false] {
        let scene = Scene::new();
        let failing = Server::refusing(401, "wrong key");
        let read = call("read_file", &json!({"path": "notes.txt"}));
        let blind = Model::of_replies(vec![read, "Milk.".to_owned()]);
        let seeing = model(true);
        let mut builder = scene.builder(failing);
        builder = builder.fallback(ptk::Model::new(blind.clone()).name("blind"));
        if has_seeing {
            builder = builder.fallback(ptk::Model::new(seeing.clone()).name("seeing"));
        }
        let ptk = builder.build().unwrap();
        let mut events = ptk.tools().bus().subscribe(Filter::all());
        let options = RunOptions {
            max_iterations: 2,
            ..RunOptions::default()
        };
        let run = ptk.execute(prompt(), options).await;
        let mut notes = Vec::new();
        while let Ok(delivery) = events.try_recv() {
            if let EventKind::Note { message } = &delivery.event().unwrap().kind {
                notes.push(message.clone());
            }
        }
        let told = "blind takes no images, so it answers without seeing them.".to_owned();
        assert_eq!(notes.contains(&told), !has_seeing, "{notes:?}");
        if has_seeing {
            assert_eq!(run.into_result().unwrap(), "Seen.");
            assert_eq!(sent(&seeing), [1]);
            assert_eq!(blind.requests().len(), 0);
            continue;
        }
        assert_eq!(run.into_result().unwrap(), "Milk.");
        let last = blind.requests().pop().unwrap();
        let question = last.messages.last().unwrap().text();
        assert!(question.contains("Answer from this: "), "{question}");
        assert!(question.ends_with(LEFT_OUT), "{question}");
    }
}

#[tokio::test]
async fn the_images_of_a_question_stay_when_its_beginning_is_left_out() {
    let scene = Scene::new();
    let asked = AtomicUsize::new(0);
    let mut model = Model::new(move |_| match asked.fetch_add(1, Ordering::Relaxed) {
        20 => text("Done."),
        n => text(&call(
            "wait",
            &json!({"name": format!("{n} {}", "word ".repeat(150))}),
        )),
    });
    model.capabilities.takes_images = true;
    let ptk = scene.builder(model.clone()).build().unwrap();
    let options = RunOptions {
        context_window: Some(5200),
        max_tokens: Some(100),
        tools: Some(vec!["wait".to_owned()]),
        max_iterations: 30,
        ..RunOptions::default()
    };
    let run = ptk.execute(prompt(), options).await;
    assert_eq!(run.into_result().unwrap(), "Done.");
    assert_eq!(sent(&model), [1; 21]);
    let last = model.requests().pop().unwrap();
    let first = last.messages.iter().find(|it| !it.images().is_empty());
    let first = first.unwrap().text();
    assert!(first.contains("was left out"), "{first}");
    assert!(first.contains("What is this?"), "{first}");
}

#[tokio::test]
async fn a_summary_is_made_of_a_conversation_that_had_images() {
    let scene = Scene::new();
    let model = model(true);
    let ptk = scene.builder(model.clone()).build().unwrap();
    let mut session = ptk.new_session();
    let options = RunOptions {
        compaction: Compaction::Summarise,
        tools: Some(Vec::new()),
        ..RunOptions::default()
    };
    let long = Prompt::from("What is this? ".repeat(100)).with_image(image());
    session.execute(long, options.clone()).await;
    session.execute("And now?", options.clone()).await;
    session.compact(options).await.unwrap().unwrap();
    let asked = model.requests().pop().unwrap();
    let asked = asked.messages.last().unwrap().text();
    assert!(asked.contains("Sum up the conversation"), "{asked}");
    assert!(asked.contains(LEFT_OUT), "{asked}");
}

#[tokio::test]
async fn people_are_shown_that_a_prompt_had_images() {
    let scene = Scene::new();
    let store = Arc::new(MemoryStore::new());
    let ptk = scene.builder(model(true)).store(store.clone());
    let ptk = ptk.build().unwrap();
    let mut events = ptk.tools().bus().subscribe(Filter::all());
    let mut session = ptk.new_session();
    session.run(prompt().with_image(image())).await.unwrap();
    let (mut live, mut logged) = (Conversation::new(), Conversation::new());
    while let Ok(delivery) = events.try_recv() {
        live.deliver(&delivery);
    }
    for entry in store
        .read(session.id(), Stretch::after(0, 100))
        .await
        .unwrap()
    {
        logged.entry(&entry);
    }
    for shown in [live, logged] {
        let first = shown.items().first().unwrap().kind.clone();
        let expected = "What is this?\n\n(2 images)".to_owned();
        assert_eq!(first, ItemKind::Prompt(expected));
    }
}
