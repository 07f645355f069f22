//! Runs with a model behind a web page, in a real Chromium.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "the lints allow these inside tests, but not in the functions that tests share"
)]

#[allow(dead_code, reason = "others use the rest")]
#[path = "../../../ptk-browser/tests/chat/mod.rs"]
mod chat;
#[allow(dead_code, reason = "others use the rest")]
#[path = "../session/scene.rs"]
mod scene;

use std::fs;
use std::process::{Child, Command};

use chat::{Chat, description, processes};
use scene::{Ended, Scene, ended, started};

/// A workspace, and a page in the user's configuration.
struct Stage {
    scene: Scene,
    chat: Chat,
}

impl Stage {
    async fn new() -> Self {
        let scene = Scene::new(&[]);
        let chat = Chat::start().await;
        let folder = scene.home().join("config/ptk");
        fs::create_dir_all(&folder).unwrap();
        let page = format!("[[pages]]\n{}", description(&chat.url));
        fs::write(folder.join("ptk.toml"), page).unwrap();
        Self { scene, chat }
    }

    fn command(&self, args: &[&str]) -> Command {
        let mut command = self.scene.command(args);
        command.env("PTK_PROVIDER", "browser:test");
        command
    }

    fn start(&self, args: &[&str]) -> Child {
        started(&mut self.command(args))
    }

    /// The ids of the browser's processes.
    fn processes(&self) -> Vec<u32> {
        processes(&self.scene.state().join("browser/test"))
    }
}

async fn end(child: Child) -> Ended {
    tokio::task::spawn_blocking(|| ended(child)).await.unwrap()
}

/// Tool calls through browser automation; only new messages are sent.
#[tokio::test(flavor = "multi_thread")]
async fn a_model_behind_a_page_calls_tools() {
    let mut stage = Stage::new().await;
    let child = stage.start(&["What shall I buy?"]);
    let prompt = stage.chat.prompt().await;
    assert!(prompt.contains("<PTK_CALL>"), "{prompt}");
    assert!(prompt.contains("inside one code block"), "{prompt}");
    assert!(prompt.ends_with("What shall I buy?"), "{prompt}");
    let call = r#"{"tool": "read_file", "args": {"path": "notes.txt"}}"#;
    stage.chat.show("I shall look.\n\n```\n<PTK_C");
    stage.chat.answer(&format!(
        "I shall look.\n\n```\n<PTK_CALL>{call}</PTK_CALL>\n```"
    ));

    let prompt = stage.chat.prompt().await;
    assert!(prompt.starts_with("PTK_RESULT"), "{prompt}");
    assert!(prompt.contains("Buy milk."), "{prompt}");
    assert!(!prompt.contains("What shall I buy?"), "{prompt}");
    // Escaped in the text, as pages do.
    let call = r#"{"tool": "read_file", "args": {"path": "package.json"}}"#;
    stage
        .chat
        .answer(&format!("And this:\n\n\\<PTK_CALL>{call}\\</PTK_CALL>"));

    let prompt = stage.chat.prompt().await;
    assert!(prompt.contains("1.4.2"), "{prompt}");
    assert!(!prompt.contains("Buy milk."), "{prompt}");
    stage.chat.answer("You need **milk**.");
    let ended = end(child).await.good();
    assert_eq!(ended.out, "You need **milk**.\n");
    assert!(ended.err.contains("✓ read_file notes.txt"), "{}", ended.err);
    assert!(stage.processes().is_empty());
    assert_eq!(stage.chat.documents(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn ctrl_c_stops_the_page_and_leaves_no_process() {
    let mut stage = Stage::new().await;
    let child = stage.start(&["Tell me a story."]);
    stage.chat.prompt().await;
    stage.chat.show("Once upon a time");
    let interrupt = Command::new("kill")
        .args(["-INT", &child.id().to_string()])
        .status();
    assert!(interrupt.unwrap().success());
    stage.chat.news("stop").await;
    let ended = end(child).await;
    assert_eq!(ended.code, 130, "{ended:?}");
    assert!(stage.processes().is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_page_that_logs_out_ends_the_run_and_says_what_to_do() {
    let mut stage = Stage::new().await;
    let child = stage.start(&["Hello?"]);
    stage.chat.prompt().await;
    stage
        .chat
        .run("document.querySelector('main').outerHTML = '<div id=login>Log in</div>'");
    let ended = end(child).await;
    assert_eq!(ended.code, 1);
    assert!(
        ended.err.contains(
            "The chat call failed: one has to log in there first; `ptk browser login test`"
        ),
        "{}",
        ended.err
    );
    assert!(stage.processes().is_empty());
}

/// Chromium exits when its pipe closes.
#[tokio::test(flavor = "multi_thread")]
async fn a_killed_run_leaves_no_browser_and_resumes_in_a_new_conversation() {
    let mut stage = Stage::new().await;
    let mut child = stage.start(&["Hello?"]);
    stage.chat.prompt().await;
    child.kill().unwrap();
    child.wait().unwrap();
    while !stage.processes().is_empty() {
        tokio::task::yield_now().await;
    }
    let child = stage.start(&["resume"]);
    assert!(stage.chat.prompt().await.ends_with("Hello?"));
    stage.chat.answer("Hello!");
    assert_eq!(end(child).await.good().out, "Hello!\n");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_workspace_has_no_say_in_pages() {
    let stage = Stage::new().await;
    for section in ["[[pages]]\nname = \"test\"", "[browser]\nheadless = false"] {
        stage.scene.write("ptk.toml", section);
        let ended = end(stage.start(&["Hello?"])).await;
        assert_eq!(ended.code, 1);
        assert!(
            ended.err.contains("a workspace cannot say"),
            "{}",
            ended.err
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_unknown_page_is_told_of() {
    let stage = Stage::new().await;
    let ended = end(stage.start(&["Hello?", "--provider", "browser:tset"])).await;
    assert_eq!(ended.code, 1);
    assert!(
        ended
            .err
            .contains("unknown page `tset`; did you mean `test`?"),
        "{}",
        ended.err
    );
    assert!(
        ended.err.contains("There are: test, ai-studio."),
        "{}",
        ended.err
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn without_chromium_one_is_told_how_to_install_it() {
    let stage = Stage::new().await;
    let mut command = stage.command(&["Hello?"]);
    let ended = end(started(command.env("PATH", "/nowhere"))).await;
    assert_eq!(ended.code, 1);
    assert!(
        ended.err.contains(
            "The chat call failed: the browser was not started: there is no Chromium; install it"
        ),
        "{}",
        ended.err
    );
    let mut command = stage.command(&["browser", "login", "test"]);
    let ended = end(started(command.env("PATH", "/nowhere"))).await;
    assert!(
        ended.err.contains("there is no Chromium; install it"),
        "{}",
        ended.err
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn without_a_screen_nobody_can_log_in_and_is_told_so() {
    let stage = Stage::new().await;
    let mut command = stage.command(&["browser", "login", "test"]);
    command.env_remove("DISPLAY").env_remove("WAYLAND_DISPLAY");
    let ended = end(started(&mut command)).await;
    assert_eq!(ended.code, 1);
    assert!(
        ended.err.contains("there is no screen for its window"),
        "{}",
        ended.err
    );
}
