//! Errors of a page, and their messages.

use std::time::Duration;

use ptk_llm::LlmErrorKind;

use crate::{Scene, and_then, user};

/// A short timeout for waits that are expected to fail.
const SHORT: Duration = Duration::from_millis(200);

#[tokio::test(flavor = "multi_thread")]
async fn a_page_that_logs_out_says_how_to_log_in() {
    let mut scene = Scene::new().await;
    let first = user("My name is Ada.");
    let asked = scene.ask(&first);
    scene.chat.prompt().await;
    scene.chat.answer("Hello!");
    asked.await.unwrap().unwrap();

    let second = and_then(&first, "Hello!", "What is my name?");
    let asked = scene.ask(&second);
    scene.chat.prompt().await;
    scene
        .chat
        .run("document.querySelector('main').outerHTML = '<div id=login>Log in</div>'");
    let error = asked.await.unwrap().unwrap_err();
    assert_eq!(error.kind, LlmErrorKind::Unauthorized);
    assert_eq!(
        error.to_string(),
        "The chat call failed: one has to log in there first; `ptk browser login test` opens \
         the page in a window where you can, and ptk stays logged in after that"
    );

    // After the login, the conversation is sent from its beginning.
    let asked = scene.ask(&second);
    assert!(scene.chat.prompt().await.contains("USER: My name is Ada."));
    scene.chat.answer("Ada.");
    assert_eq!(asked.await.unwrap().unwrap().text, "Ada.");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_page_that_wants_a_login_first_is_not_typed_into() {
    let mut scene = Scene::with("", |page, _| {
        page.login_urls = vec!["http://127.0.0.1".to_owned()];
    })
    .await;
    let error = scene.ask(&user("Hello?")).await.unwrap().unwrap_err();
    assert_eq!(error.kind, LlmErrorKind::Unauthorized);
    assert!(scene.chat.heard().iter().all(|(what, _)| what == "loaded"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_selector_that_finds_nothing_is_named_and_nothing_is_sent() {
    for key in ["input", "send"] {
        let mut scene = Scene::with("", |page, _| {
            page.times.load = SHORT;
            match key {
                "input" => page.input = "#gone".to_owned(),
                _ => page.send = ptk_browser::Send::Button("#gone".to_owned()),
            }
        })
        .await;
        let error = scene.ask(&user("Hello?")).await.unwrap().unwrap_err();
        assert_eq!(error.kind, LlmErrorKind::Unreadable);
        let text = error.to_string();
        assert!(text.contains(&format!("`{key} = \"#gone\"`")), "{text}");
        assert!(text.contains("nothing was sent"), "{text}");
        assert!(scene.chat.heard().iter().all(|(what, _)| what == "loaded"));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_selector_that_is_none_is_named() {
    let scene = Scene::with("", |page, _| page.busy = Some("a[".to_owned())).await;
    let error = scene.ask(&user("Hello?")).await.unwrap().unwrap_err();
    assert_eq!(
        error.to_string(),
        "The chat call failed: `busy = \"a[\"` is no CSS selector; mend it under [[pages]] in ptk.toml"
    );
}

/// The page shows the answer, but the selector does not match it.
#[tokio::test(flavor = "multi_thread")]
async fn a_prompt_whose_answer_is_not_found_is_not_sent_again() {
    let mut scene = Scene::with("", |page, _| {
        page.answer = ".reply".to_owned();
        page.times.first = SHORT;
    })
    .await;
    let request = user("Hello?");
    for attempt in 0..2 {
        let asked = scene.ask(&request);
        if attempt == 0 {
            scene.chat.prompt().await;
            scene.chat.answer("Hello!");
        }
        let error = asked.await.unwrap().unwrap_err();
        assert_eq!(error.kind, LlmErrorKind::Unreadable);
        assert!(
            error.to_string().contains(
                "`answer = \".reply\"`, though the prompt was sent; it will not be sent again"
            ),
            "{error}"
        );
    }
    // Now the selector matches, as soon as the page has run this.
    scene
        .chat
        .run("document.querySelector('.answer').className = 'reply'");
    let mut answer = scene.ask(&request).await.unwrap();
    while answer
        .as_ref()
        .is_err_and(|error| error.kind == LlmErrorKind::Unreadable)
    {
        answer = scene.ask(&request).await.unwrap();
    }
    assert_eq!(answer.unwrap().text, "Hello!");
    assert_eq!(scene.chat.heard(), []);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_answer_that_comes_too_late_is_not_lost() {
    let mut scene = Scene::with("", |page, _| page.times.answer = SHORT).await;
    let request = user("Hello?");
    let asked = scene.ask(&request);
    scene.chat.prompt().await;
    let error = asked.await.unwrap().unwrap_err();
    assert_eq!(error.kind, LlmErrorKind::TimedOut);
    assert_eq!(
        error.to_string(),
        "The chat call failed: the answer was not whole within 200ms"
    );
    scene.chat.answer("At last.");
    let mut answer = Err(error);
    while answer
        .as_ref()
        .is_err_and(|error| error.kind == LlmErrorKind::TimedOut)
    {
        answer = scene.ask(&request).await.unwrap();
    }
    assert_eq!(answer.unwrap().text, "At last.");
    assert_eq!(scene.chat.heard(), []);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_the_input_does_not_take_whole_is_not_sent() {
    let mut scene = Scene::with("?most=10", |_, _| {}).await;
    let error = scene
        .ask(&user("Too long for it."))
        .await
        .unwrap()
        .unwrap_err();
    assert_eq!(error.kind, LlmErrorKind::TooLong);
    let text = error.to_string();
    assert!(text.contains("10 of 16 characters"), "{text}");
    // And nothing is left of it.
    let asked = scene.ask(&user("Short."));
    assert_eq!(scene.chat.prompt().await, "Short.");
    scene.chat.answer("Good.");
    asked.await.unwrap().unwrap();

    let scene = Scene::with("", |page, _| page.max_prompt = Some(10)).await;
    let error = scene
        .ask(&user("Too long for it."))
        .await
        .unwrap()
        .unwrap_err();
    assert_eq!(error.kind, LlmErrorKind::TooLong);
    assert!(
        error
            .to_string()
            .contains("the prompt has 16 characters, and the page takes 10")
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_prompt_that_stays_in_the_input_was_not_sent() {
    let mut scene = Scene::with("", |page, _| {
        page.send = ptk_browser::Send::Button("#other".to_owned());
        page.times.first = SHORT;
        page.times.load = Duration::from_secs(20);
    })
    .await;
    let asked = scene.ask(&user("Hello?"));
    scene.chat.news("loaded").await;
    scene
        .chat
        .run("document.body.insertAdjacentHTML('beforeend', '<a id=other>Other</a>')");
    let error = asked.await.unwrap().unwrap_err();
    assert_eq!(error.kind, LlmErrorKind::Rejected);
    assert!(
        error.to_string().contains("still stands in the input"),
        "{error}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_dialog_is_closed() {
    let mut scene = Scene::new().await;
    let asked = scene.ask(&user("Hello?"));
    scene.chat.prompt().await;
    scene.chat.run(
        "alert('Rate us!'); window.agreed = confirm('Really?'); page.show(`<p>${agreed}</p>`)",
    );
    scene.chat.finish();
    assert_eq!(asked.await.unwrap().unwrap().text, "false");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_dialog_said_is_told_where_no_answer_comes() {
    let mut scene = Scene::with("", |page, _| page.times.first = SHORT).await;
    let first = user("Hello?");
    let asked = scene.ask(&first);
    scene.chat.prompt().await;
    scene.chat.answer("Hello!");
    asked.await.unwrap().unwrap();
    let asked = scene.ask(&and_then(&first, "Hello!", "Again?"));
    scene.chat.prompt().await;
    scene.chat.run("alert('Quota reached.')");
    scene.chat.finish();
    let error = asked.await.unwrap().unwrap_err();
    assert_eq!(
        error.to_string(),
        "The chat call failed: no answer began within 200ms; the page said: Quota reached."
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_page_that_is_loaded_anew_is_asked_anew() {
    let mut scene = Scene::new().await;
    let request = user("Hello?");
    let asked = scene.ask(&request);
    scene.chat.prompt().await;
    scene.chat.show("Half an ans");
    scene.chat.run("location.reload()");
    let error = asked.await.unwrap().unwrap_err();
    assert_eq!(error.kind, LlmErrorKind::Cut);
    assert!(error.to_string().contains("loaded anew"), "{error}");
    let asked = scene.ask(&request);
    assert_eq!(scene.chat.prompt().await, "Hello?");
    scene.chat.answer("Hello!");
    assert_eq!(asked.await.unwrap().unwrap().text, "Hello!");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_answer_that_is_rewritten_is_told_anew_without_being_asked_again() {
    let mut scene = Scene::new().await;
    let request = user("Hello?");
    let mut deltas = scene.listen(&request);
    scene.chat.prompt().await;
    scene.chat.show("One.\n\nTwo");
    assert!(deltas.recv().await.unwrap().is_ok());
    scene.chat.answer("Another one.\n\nTwo.");
    let error = deltas.recv().await.unwrap().unwrap_err();
    assert_eq!(error.kind, LlmErrorKind::Cut);
    let answer = scene.ask(&request).await.unwrap().unwrap();
    assert_eq!(answer.text, "Another one.\n\nTwo.");
    assert_eq!(scene.chat.heard(), []);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_page_that_nobody_serves_is_unreachable() {
    let scene = Scene::with("", |page, _| page.url = "http://127.0.0.1:9/".to_owned()).await;
    let error = scene.ask(&user("Hello?")).await.unwrap().unwrap_err();
    assert_eq!(error.kind, LlmErrorKind::Unreachable);
    assert!(error.to_string().contains("http://127.0.0.1:9/"), "{error}");
}
