//! Prompts, answers, and which messages a page is sent.

use ptk_browser::{Key, Page, Send};
use ptk_llm::{Delta, FinishReason, Message};

use crate::{Scene, and_then, user};

#[tokio::test(flavor = "multi_thread")]
async fn a_prompt_is_sent_and_its_answer_read() {
    let mut scene = Scene::new().await;
    let asked = scene.ask(&user("Name a prime.\n\n  Only\tone, \"<b>\" & 'q'."));
    assert_eq!(
        scene.chat.prompt().await,
        "Name a prime.\n\n  Only\tone, \"<b>\" & 'q'."
    );
    scene.chat.answer("Seven.");
    let completion = asked.await.unwrap().unwrap();
    assert_eq!(completion.text, "Seven.");
    assert_eq!(completion.finish, FinishReason::Stop);
}

/// Sends with a key, from an input that is not a text area.
#[tokio::test(flavor = "multi_thread")]
async fn a_key_sends_and_anything_that_can_be_edited_takes_a_prompt() {
    let mut scene = Scene::with("?editable", |page, _| {
        page.send = Send::Key(Key::ControlEnter);
    })
    .await;
    let asked = scene.ask(&user("One line.\n\nAnother  one: a < b."));
    let prompt = scene.chat.prompt().await;
    let words: Vec<&str> = prompt.split_whitespace().collect();
    assert_eq!(words.join(" "), "One line. Another one: a < b.");
    assert!(prompt.contains('\n'), "{prompt:?}");
    scene.chat.answer("Yes.");
    assert_eq!(asked.await.unwrap().unwrap().text, "Yes.");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_sure_of_an_answer_is_streamed() {
    let mut scene = Scene::new().await;
    let mut deltas = scene.listen(&user("Tell me a story."));
    scene.chat.prompt().await;
    let text = |text: &str| Ok(Delta::Text(text.to_owned()));

    scene.chat.show("Once upon a **ti");
    scene.chat.show("Once upon a **time**.\n\nThere");
    assert_eq!(deltas.recv().await, Some(text("Once upon a **time**.")));
    scene
        .chat
        .show("Once upon a **time**.\n\nThere was\n\n- a fox\n- a");
    assert_eq!(deltas.recv().await, Some(text("\n\nThere was")));
    scene
        .chat
        .answer("Once upon a **time**.\n\nThere was\n\n- a fox\n- a hen\n\nThe end.");
    let mut rest = String::new();
    while let Some(Ok(Delta::Text(more))) = deltas.recv().await {
        rest.push_str(&more);
    }
    assert_eq!(rest, "\n\n- a fox\n- a hen\n\nThe end.");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_page_is_told_only_what_is_new() {
    let mut scene = Scene::new().await;
    let first = user("My name is Ada.").system("Be brief.");
    let asked = scene.ask(&first);
    let prompt = scene.chat.prompt().await;
    assert!(prompt.starts_with("Be brief.\n\n"), "{prompt}");
    assert!(prompt.ends_with("\n\nMy name is Ada."), "{prompt}");
    scene.chat.answer("Hello, *Ada*!");
    assert_eq!(asked.await.unwrap().unwrap().text, "Hello, *Ada*!");

    let second = and_then(&first, "Hello, *Ada*!", "What is my name?");
    let asked = scene.ask(&second);
    assert_eq!(scene.chat.prompt().await, "What is my name?");
    scene.chat.answer("Ada.");
    assert_eq!(asked.await.unwrap().unwrap().text, "Ada.");

    let mut third = and_then(&second, "Ada.", "And yours?");
    third.messages.push(Message::system("Say it in French."));
    let asked = scene.ask(&third);
    assert_eq!(scene.chat.prompt().await, "And yours?\n\nSay it in French.");
    scene.chat.answer("Bob.");
    asked.await.unwrap().unwrap();
    assert_eq!(scene.chat.documents(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn another_conversation_is_begun_anew_and_told_whole() {
    let mut scene = Scene::new().await;
    let first = user("My name is Ada.").system("Be brief.");
    let asked = scene.ask(&first);
    scene.chat.prompt().await;
    scene.chat.answer("Hello, Ada!");
    asked.await.unwrap().unwrap();

    // The history differs from the page's.
    let edited = and_then(&first, "Hello, Ada Lovelace!", "What is my name?");
    let asked = scene.ask(&edited);
    let prompt = scene.chat.prompt().await;
    for part in [
        "Be brief.",
        "USER: My name is Ada.",
        "ASSISTANT: Hello, Ada Lovelace!",
        "USER: What is my name?",
    ] {
        assert!(prompt.contains(part), "{prompt}");
    }
    assert_eq!(scene.chat.documents(), 2);
    scene.chat.answer("Ada Lovelace.");
    asked.await.unwrap().unwrap();

    // Other instructions.
    let other = and_then(&edited, "Ada Lovelace.", "Sure?").system("Be polite.");
    let asked = scene.ask(&other);
    assert!(scene.chat.prompt().await.starts_with("Be polite."));
    assert_eq!(scene.chat.documents(), 3);
    scene.chat.answer("Indeed.");
    asked.await.unwrap().unwrap();

    // The page lost its conversation meanwhile.
    scene.chat.run("location.reload()");
    while scene.chat.news("loaded").await != "4" {}
    let next = and_then(&other, "Indeed.", "Quite?");
    let asked = scene.ask(&next);
    assert!(scene.chat.prompt().await.contains("USER: Quite?"));
    scene.chat.answer("Quite.");
    assert_eq!(asked.await.unwrap().unwrap().text, "Quite.");
}

/// A question that is asked twice is not taken for a retry.
#[tokio::test(flavor = "multi_thread")]
async fn what_is_asked_twice_is_asked_twice_with_a_button_for_it() {
    let button = |page: &mut Page| page.new_conversation = Some("#new".to_owned());
    let mut scene = Scene::with("", |page, _| button(page)).await;
    for answer in ["Seven.", "Eleven."] {
        let asked = scene.ask(&user("Name a prime."));
        assert_eq!(scene.chat.prompt().await, "Name a prime.");
        scene.chat.answer(answer);
        assert_eq!(asked.await.unwrap().unwrap().text, answer);
    }
    assert_eq!(scene.chat.documents(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_long_prompt_arrives_whole() {
    let mut scene = Scene::new().await;
    let long = "Zürich, 東京, 🦀 and \\n \"quotes\".\n".repeat(6000);
    let asked = scene.ask(&user(&long));
    assert_eq!(scene.chat.prompt().await, long);
    scene.chat.answer("Read.");
    asked.await.unwrap().unwrap();
}
