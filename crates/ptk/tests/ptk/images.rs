//! Prompts with images.

use std::sync::Arc;

use ptk::llm::Message;
use ptk::protocol::Image;
use ptk::store::{MemoryStore, SessionId};
use ptk::{Prompt, RunOptions};
use serde_json::json;

use crate::scene::{Model, Scene, call, text};

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
    let told = "(Images were attached here, which you cannot see.)";
    assert!(
        messages.iter().any(|it| it.text().ends_with(told)),
        "{messages:?}"
    );
}
