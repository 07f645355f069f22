//! The browser: found, started with the user's logins, and ended.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::process::Command;

use ptk_browser::Page;
use ptk_llm::LlmErrorKind;

use crate::chat::processes;
use crate::{Scene, user};

/// Kills a process, as a crash would.
fn kill(process: u32) {
    let killed = Command::new("kill")
        .args(["-9", &process.to_string()])
        .status();
    assert!(killed.unwrap().success());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_profile_is_private_and_no_process_is_left() {
    let mut scene = Scene::new().await;
    let profile = scene.folder.path().join("profile");
    let asked = scene.ask(&user("Hello?"));
    scene.chat.prompt().await;
    assert!(!processes(&profile).is_empty());
    let mode = fs::metadata(&profile).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o700);
    // There is no debugging port that other processes could connect to.
    assert!(!profile.join("DevToolsActivePort").exists());
    scene.chat.answer("Hello!");
    asked.await.unwrap().unwrap();
    let Scene { model, folder, .. } = scene;
    drop(model);
    assert!(processes(&profile).is_empty());
    drop(folder);
}

#[tokio::test(flavor = "multi_thread")]
async fn dropping_a_reply_stops_the_page() {
    let mut scene = Scene::new().await;
    let deltas = scene.listen(&user("Tell me a story."));
    scene.chat.prompt().await;
    scene.chat.show("Once upon");
    drop(deltas);
    scene.chat.news("stop").await;
    let profile = scene.folder.path().join("profile");
    drop(scene.model);
    assert!(processes(&profile).is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_browser_that_crashes_is_started_again() {
    let mut scene = Scene::new().await;
    let profile = scene.folder.path().join("profile");
    let request = user("Hello?");
    let asked = scene.ask(&request);
    scene.chat.prompt().await;
    scene.chat.show("Half an");
    let first = processes(&profile).into_iter().min().unwrap();
    kill(first);
    let error = asked.await.unwrap().unwrap_err();
    assert_eq!(error.kind, LlmErrorKind::Cut);
    assert!(
        error
            .to_string()
            .starts_with("The chat call failed: the browser ended in the middle"),
        "{error}"
    );
    let asked = scene.ask(&request);
    assert_eq!(scene.chat.prompt().await, "Hello?");
    scene.chat.answer("Hello!");
    assert_eq!(asked.await.unwrap().unwrap().text, "Hello!");
}

#[tokio::test(flavor = "multi_thread")]
async fn without_chromium_one_is_told_how_to_install_it() {
    let scene = Scene::with("", |_, browser| {
        browser.chromium = Some("/nowhere/chromium".into());
    })
    .await;
    let error = scene.ask(&user("Hello?")).await.unwrap().unwrap_err();
    assert_eq!(error.kind, LlmErrorKind::NotStarted);
    let text = error.to_string();
    assert!(
        text.starts_with(
            "The chat call failed: the browser was not started: /nowhere/chromium cannot be run: "
        ),
        "{text}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_page_is_told_of_by_its_title() {
    let scene = Scene::with("", |page, browser| {
        *page = Page::built_in("ai-studio").unwrap();
        browser.chromium = Some("/nowhere/chromium".into());
    })
    .await;
    let error = scene.ask(&user("Hello?")).await.unwrap().unwrap_err();
    let text = error.to_string();
    assert!(
        text.starts_with("AI Studio call failed: the browser was not started: "),
        "{text}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_program_that_is_no_chromium_is_told_of() {
    let scene = Scene::with("", |_, browser| {
        browser.chromium = Some("/bin/false".into());
    })
    .await;
    let error = scene.ask(&user("Hello?")).await.unwrap().unwrap_err();
    assert_eq!(
        error.to_string(),
        "The chat call failed: the browser was not started: it ended at once"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_profile_that_is_in_use_is_left_alone() {
    let mut first = Scene::new().await;
    let profile = first.folder.path().join("profile");
    let asked = first.ask(&user("Hello?"));
    first.chat.prompt().await;
    let second = Scene::with("", |_, browser| browser.profile.clone_from(&profile)).await;
    let error = second.ask(&user("Hello?")).await.unwrap().unwrap_err();
    assert_eq!(error.kind, LlmErrorKind::NotStarted);
    let text = error.to_string();
    assert!(
        text.contains("is in use by another Chromium (process "),
        "{text}"
    );
    first.chat.answer("Hello!");
    asked.await.unwrap().unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn cookies_are_taken_from_the_forms_in_which_they_are_exported() {
    let exported = r#"[
        {"name": "sid", "value": "s3cret-1", "domain": "127.0.0.1", "hostOnly": true, "path": "/",
         "secure": false, "httpOnly": true, "sameSite": "lax", "session": false,
         "expirationDate": 4102444800.5, "storeId": null, "id": 1},
        {"name": "other", "value": "s3cret-2", "domain": ".example.org", "path": "/", "secure": true}
    ]"#;
    let state = r#"{"cookies": [{"name": "sid", "value": "s3cret-1", "domain": "127.0.0.1",
        "path": "/", "expires": -1, "sameSite": "Lax"}], "origins": []}"#;
    let netscape = "# Netscape HTTP Cookie File\n\n\
        #HttpOnly_127.0.0.1\tFALSE\t/\tFALSE\t4102444800\tsid\ts3cret-1\n\
        .example.org\tTRUE\t/\tTRUE\t0\tother\ts3cret-2\r\n";
    for file in [exported, state, netscape] {
        let cookies = tempfile::NamedTempFile::new().unwrap();
        fs::write(cookies.path(), file).unwrap();
        let path = Some(cookies.path().to_owned());
        let mut scene = Scene::with("", |_, browser| browser.cookies = path).await;
        let asked = scene.ask(&user("Hello?"));
        scene.chat.prompt().await;
        assert_eq!(scene.chat.cookies(), ["sid=s3cret-1"]);
        assert!(!format!("{:?}", scene.model).contains("s3cret"));
        scene.chat.answer("Hello!");
        asked.await.unwrap().unwrap();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_file_without_cookies_is_refused_without_a_word_of_it() {
    let files = [
        "s3cret",
        "[{\"name\": \"sid\", \"value\": 5, \"domain\": \"s3cret\"}]",
        "[\"s3cret\"]",
        "{\"s3cret\": 1}",
        "host\tFALSE\t/\tFALSE\ts3cret",
        "",
    ];
    for file in files {
        let cookies = tempfile::NamedTempFile::new().unwrap();
        fs::write(cookies.path(), file).unwrap();
        let path = Some(cookies.path().to_owned());
        let scene = Scene::with("", |_, browser| browser.cookies = path).await;
        let error = scene.ask(&user("Hello?")).await.unwrap().unwrap_err();
        assert_eq!(error.kind, LlmErrorKind::NotStarted);
        let text = format!("{error} {error:?}");
        assert!(text.contains("holds no cookies in a known form"), "{text}");
        assert!(!text.contains("s3cret"), "{text}");
    }
}
