//! Conversations that are too long for the model.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use futures_util::{StreamExt as _, stream};
use ptk::llm::{Capabilities, Deltas, LlmError, Message, Provider, Request};
use ptk::model::ASSUMED_WINDOW;
use ptk::protocol::ErrorCode;
use ptk::{Compaction, Estimate, MARGIN, RunOptions, TokenCounter as _};
use serde_json::json;

use crate::scene::{Model, Scene, call, text};

fn windowed(tokens: u32) -> RunOptions {
    RunOptions {
        context_window: Some(tokens),
        max_tokens: Some(100),
        tools: Some(Vec::new()),
        ..RunOptions::default()
    }
}

/// About how many tokens a request takes.
fn size(request: &Request) -> u64 {
    let system = request.system.as_deref().unwrap_or_default();
    let messages = request
        .messages
        .iter()
        .map(|message| Estimate.count(message.text()));
    Estimate.count(system) + messages.sum::<u64>()
}

#[tokio::test]
async fn a_long_conversation_always_fits() {
    let scene = Scene::new();
    let model = Model::new(|request| {
        text(&format!(
            "{} {}",
            "word ".repeat(60),
            request.messages.len()
        ))
    });
    let ptk = scene
        .builder(model.clone())
        .system("Be brief.")
        .build()
        .unwrap();
    let mut session = ptk.new_session();
    for turn in 0..30 {
        let prompt = format!("Question {turn}? {}", "because ".repeat(10));
        let run = session.execute(prompt, windowed(1000)).await;
        assert!(run.success, "{:?}", run.error);
    }
    let most = u64::from(1000 - 100 - 1000 * MARGIN / 100);
    for (turn, request) in model.requests().iter().enumerate() {
        assert!(size(request) <= most);
        assert_eq!(request.system.as_deref(), Some("Be brief."));
        let last = request.messages.last().unwrap().text();
        assert!(last.contains(&format!("Question {turn}?")));
    }
    let last = model.requests().pop().unwrap();
    assert!(
        last.messages[0].text().contains("was left out"),
        "{:?}",
        last.messages
    );
}

#[tokio::test]
async fn calls_stay_with_their_results_and_the_prompt_is_told_again() {
    let scene = Scene::new();
    let asked = AtomicUsize::new(0);
    let model = Model::new(move |_| match asked.fetch_add(1, Ordering::Relaxed) {
        8 => text("Done."),
        n => text(&call(
            "wait",
            &json!({"name": format!("{n} {}", "word ".repeat(150))}),
        )),
    });
    let ptk = scene.builder(model.clone()).build().unwrap();
    let options = RunOptions {
        tools: Some(vec!["wait".to_owned()]),
        max_iterations: 12,
        ..windowed(2200)
    };
    let run = ptk.execute("Find the treasure.", options).await;
    let asked = model.requests();
    assert_eq!(run.content, "Done.", "{:?}", run.error);
    assert!(asked.len() > 8);
    for request in &asked {
        let mut words = request.messages.iter().map(Message::text);
        assert!(words.any(|text| text.contains("Find the treasure.")));
        // A result stands right after its call.
        for pair in request.messages.windows(2) {
            if matches!(&pair[1], Message::User { text, .. } if text.starts_with("PTK_")) {
                assert!(pair[0].text().contains("<PTK_CALL>"));
            }
        }
    }
}

#[tokio::test]
async fn what_cannot_fit_is_said_and_does_not_loop() {
    let scene = Scene::new();
    let ptk = scene.ptk(&["too late"]);
    let run = ptk.execute("word ".repeat(3000), windowed(1000)).await;
    let error = run.error.unwrap();
    assert_eq!(error.code(), Some(ErrorCode::LlmCallFailed));
    let told = error.to_string();
    assert!(told.contains("window of 1000 has room for 800"), "{told}");
}

#[tokio::test]
async fn one_result_does_not_fill_a_small_window() {
    let scene = Scene::new();
    std::fs::write(
        scene.folder.path().join("long.txt"),
        "a line of words\n".repeat(1500),
    )
    .unwrap();
    let model = Model::of_replies(vec![
        call("read_file", &json!({"path": "long.txt"})),
        "Long.".to_owned(),
    ]);
    let ptk = scene.builder(model.clone()).build().unwrap();
    let options = RunOptions {
        tools: Some(vec!["read_file".to_owned()]),
        ..windowed(3000)
    };
    let run = ptk.execute("Read long.txt", options).await;
    assert_eq!(run.content, "Long.", "{:?}", run.error);
    let told = model.requests().pop().unwrap();
    let told = told.messages.last().unwrap().text().to_owned();
    assert!(
        told.contains(r#"read_file(path=\"long.txt\", offset="#),
        "{told}"
    );
}

/// What was not shown counts as not read.
#[tokio::test]
async fn a_file_that_a_small_window_showed_a_part_of_is_not_overwritten() {
    let scene = Scene::new();
    let file = scene.folder.path().join("long.txt");
    let lines: Vec<String> = (1..=900)
        .map(|it| format!("line {it} of words\n"))
        .collect();
    std::fs::write(&file, lines.concat()).unwrap();
    let model = Model::of_replies(vec![
        call("read_file", &json!({"path": "long.txt"})),
        call("write_file", &json!({"path": "long.txt", "content": "x"})),
        "Done.".to_owned(),
    ]);
    let ptk = scene.builder(model.clone()).build().unwrap();
    let tools = ["read_file", "write_file"].map(str::to_owned).to_vec();
    let options = RunOptions {
        tools: Some(tools),
        ..windowed(4096)
    };
    let run = ptk.execute("Replace long.txt", options).await;
    assert_eq!(run.content, "Done.", "{:?}", run.error);
    assert_eq!(std::fs::read_to_string(file).unwrap(), lines.concat());
    let told = model.requests().pop().unwrap();
    let told = told.messages.last().unwrap().text().to_owned();
    assert!(told.contains("of long.txt were read"), "{told}");
}

#[tokio::test]
async fn the_results_of_one_reply_share_the_window() {
    let scene = Scene::new();
    let text = "One of many lines that are made of words.\n".repeat(1000);
    assert!(text.len() > 37_000);
    let names = ["a", "b", "c", "d", "e", "f"].map(|it| format!("{it}.txt"));
    for name in &names {
        std::fs::write(scene.folder.path().join(name), &text).unwrap();
    }
    let calls = names
        .each_ref()
        .map(|name| call("read_file", &json!({"path": name})));
    let model = Model::of_replies(vec![calls.concat(), "All read.".to_owned()]);
    let ptk = scene.builder(model.clone()).build().unwrap();
    let options = RunOptions {
        context_window: Some(32_768),
        tools: Some(vec!["read_file".to_owned()]),
        ..RunOptions::default()
    };
    let run = ptk.execute("Read them all", options).await;
    assert_eq!(run.content, "All read.", "{:?}", run.error);
    let last = model.requests().pop().unwrap();
    assert!(size(&last) < 32_768, "{}", size(&last));
    let told = last.messages.last().unwrap().text().to_owned();
    for name in &names {
        let next = format!(r#"read_file(path=\"{name}\", offset="#);
        assert!(
            told.contains(&next),
            "{name} is not cut to its share: {told}"
        );
    }
}

/// More calls in one reply than the window has room for results.
#[tokio::test]
async fn calls_that_there_is_no_room_for_are_told_so() {
    let scene = Scene::new();
    let calls: Vec<String> = (0..60)
        .map(|it| call("wait", &json!({"name": it.to_string()})))
        .collect();
    let model = Model::of_replies(vec![calls.concat(), "Done.".to_owned()]);
    let ptk = scene.builder(model.clone()).build().unwrap();
    let options = RunOptions {
        tools: Some(vec!["wait".to_owned()]),
        max_tool_calls: 100,
        ..windowed(8192)
    };
    let run = ptk.execute("Wait for all of them", options).await;
    assert_eq!(run.content, "Done.", "{:?}", run.error);
    let ran = scene.diary().len() / 2;
    assert!(ran > 1 && ran < 60, "{ran} calls were run");
    let told = model.requests().pop().unwrap();
    assert!(
        told.messages
            .last()
            .unwrap()
            .text()
            .contains("already fill the context window")
    );
}

#[tokio::test]
async fn the_model_can_sum_up_what_is_left_out() {
    let scene = Scene::new();
    let model = Model::new(|request| {
        let last = request.messages.last().unwrap().text();
        if last.contains("Sum up the conversation") {
            text("Ada wants primes.")
        } else {
            text(&"word ".repeat(100))
        }
    });
    let ptk = scene.builder(model.clone()).build().unwrap();
    let options = RunOptions {
        compaction: Compaction::Summarise,
        ..windowed(1000)
    };
    let mut session = ptk.new_session();
    for _ in 0..10 {
        let run = session
            .execute("I am Ada. Name a prime.", options.clone())
            .await;
        assert!(run.success, "{:?}", run.error);
    }
    let last = model.requests().pop().unwrap();
    assert!(
        last.messages[0].text().contains("Ada wants primes."),
        "{last:?}"
    );
}

/// A server whose window is smaller than was assumed.
#[tokio::test]
async fn a_window_that_is_smaller_than_thought_is_found_out() {
    let scene = Scene::new();
    let script = json!([
        "word ".repeat(200), "word ".repeat(200), "word ".repeat(200),
        {"error": {"status": 400, "message": "maximum context length exceeded"}},
        "Short."
    ]);
    let script = ptk::llm::Script::parse(&script.to_string()).unwrap();
    let ptk = scene
        .builder(script.with_capabilities(Capabilities::default()))
        .build()
        .unwrap();
    let mut session = ptk.new_session();
    for _ in 0..3 {
        session.run("Go").await.unwrap();
    }
    assert_eq!(session.run("And now?").await.unwrap(), "Short.");
}

/// A server that tells its window only to whoever asks for too much.
#[derive(Debug, Clone, Default)]
struct Narrow {
    refused: Arc<AtomicUsize>,
}

impl Provider for Narrow {
    fn name(&self) -> &'static str {
        "narrow"
    }

    fn stream<'a>(&'a self, request: &'a Request) -> Deltas<'a> {
        let tokens = size(request);
        if tokens < 2_000 {
            return stream::iter(text("Because.").into_iter().map(Ok)).boxed();
        }
        self.refused.fetch_add(1, Ordering::Relaxed);
        let told = format!(
            "This model's maximum context length is 2000 tokens. However, your messages \
             resulted in {tokens} tokens."
        );
        stream::iter([Err(LlmError::of_status("narrow", None, 400, told))]).boxed()
    }
}

/// The window is in the error of a server that nothing else is known of.
#[tokio::test]
async fn a_window_that_a_server_states_in_an_error_is_kept_to() {
    let scene = Scene::new();
    let model = Narrow::default();
    let ptk = scene.builder(model.clone()).build().unwrap();
    let mut session = ptk.new_session();
    for turn in 0..20 {
        let options = RunOptions {
            tools: Some(Vec::new()),
            ..RunOptions::default()
        };
        let prompt = format!("Question {turn}? {}", "because ".repeat(150));
        let run = session.execute(prompt, options).await;
        assert!(run.success, "{:?}", run.error);
    }
    assert_eq!(
        model.refused.load(Ordering::Relaxed),
        1,
        "it is asked with too much once"
    );
}

/// Without any known window, one is assumed.
#[tokio::test]
async fn requests_do_not_grow_without_bound() {
    let scene = Scene::new();
    let model = Model::new(|_| text(&"word ".repeat(8_000)));
    let ptk = scene.builder(model.clone()).build().unwrap();
    let mut session = ptk.new_session();
    for _ in 0..12 {
        let options = RunOptions {
            tools: Some(Vec::new()),
            ..RunOptions::default()
        };
        session.execute("And on?", options).await;
    }
    let most = model.requests().iter().map(size).max().unwrap();
    assert!(most < u64::from(ASSUMED_WINDOW), "{most}");
}
