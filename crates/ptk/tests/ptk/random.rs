//! Whatever a model says, a run comes to an end that makes sense.

use std::sync::atomic::{AtomicUsize, Ordering};

use proptest::prelude::*;
use ptk::llm::{Delta, FinishReason, Message};
use ptk::store::Next;
use ptk::{RunOptions, Session};
use serde_json::json;

use crate::scene::{Model, Scene, call, text};

/// A piece of a reply: words, calls that can and cannot be run, and what is
/// neither.
fn pieces() -> impl Strategy<Value = String> {
    prop_oneof![
        "[a-z ]{0,12}",
        (0..4_u8).prop_map(|n| call("wait", &json!({"name": format!("n{n}")}))),
        (0..4_u8).prop_map(|n| call("note", &json!({"name": format!("n{n}")}))),
        Just(call("read_file", &json!({"path": "notes.txt"}))),
        Just(call("read_file", &json!({"path": "missing.txt"}))),
        Just(call("read_file", &json!({}))),
        Just(call("nonsense", &json!({"x": [1]}))),
        Just("<PTK_CALL>{\"tool\": \"wait\", \"args\": {".to_owned()),
        Just("</PTK_CALL>".to_owned()),
        Just("<think>".to_owned()),
        Just("```json\n{\"tool\": \"wait\", \"args\": {\"name\": \"f\"}}\n```".to_owned()),
    ]
}

#[derive(Debug, Clone)]
struct Said {
    text: String,
    native: Vec<(String, String)>,
    finish: FinishReason,
    is_whole: bool,
}

fn replies() -> impl Strategy<Value = Said> {
    let native = prop_oneof![
        Just(("wait".to_owned(), r#"{"name": "x"}"#.to_owned())),
        Just(("note".to_owned(), "{'name': 'y',}".to_owned())),
        Just(("wait".to_owned(), r#"{"name": "ha"#.to_owned())),
        Just((String::new(), "{}".to_owned())),
        Just(("nonsense".to_owned(), String::new())),
    ];
    let finish = prop_oneof![
        4 => Just(FinishReason::Stop),
        1 => Just(FinishReason::Length),
        1 => Just(FinishReason::Other("eos".to_owned())),
    ];
    (
        prop::collection::vec(pieces(), 0..4),
        prop::collection::vec(native, 0..3),
        finish,
        prop::bool::weighted(0.9),
    )
        .prop_map(|(pieces, native, finish, is_whole)| Said {
            text: pieces.join("\n"),
            native,
            finish,
            is_whole,
        })
}

fn model(replies: Vec<Said>, is_native: bool) -> Model {
    let asked = AtomicUsize::new(0);
    let mut model = Model::new(move |_| {
        let Some(said) = replies.get(asked.fetch_add(1, Ordering::Relaxed)) else {
            return text("That is all.");
        };
        let mut deltas = vec![Delta::Text(said.text.clone())];
        for (index, (name, json)) in said.native.iter().enumerate().filter(|_| is_native) {
            let (name, json) = (name.clone(), json.clone());
            deltas.push(Delta::CallStart {
                index,
                id: None,
                name,
            });
            deltas.push(Delta::Arguments { index, json });
        }
        if said.is_whole {
            deltas.push(Delta::Finish(said.finish.clone()));
        }
        deltas
    });
    model.capabilities.native_tools = Some(is_native);
    model
}

/// Each native call has its result right after it, in order.
fn are_answered(messages: &[Message]) -> bool {
    let mut expected: Vec<String> = Vec::new();
    for message in messages {
        match message {
            Message::Result { id, .. } => {
                if expected.first() != Some(id) {
                    return false;
                }
                expected.remove(0);
            }
            Message::Assistant { calls, .. } => {
                if !expected.is_empty() {
                    return false;
                }
                expected = calls.iter().filter_map(|call| call.id.clone()).collect();
            }
            Message::System(_) | Message::User { .. } => {
                if !expected.is_empty() {
                    return false;
                }
            }
        }
    }
    expected.is_empty()
}

async fn is_over(session: &mut Session) -> bool {
    session.transcript().await.unwrap().next() == Next::Prompt
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 96, ..ProptestConfig::default() })]

    #[test]
    fn every_run_ends_and_keeps_its_limits(
        replies in prop::collection::vec(replies(), 0..12),
        is_native in any::<bool>(),
        max_iterations in 1..8_u32,
        max_tool_calls in 0..6_u32,
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .start_paused(true)
            .build()
            .unwrap();
        runtime.block_on(async {
            let scene = Scene::new();
            let model = model(replies, is_native);
            let ptk = scene.builder(model.clone()).build().unwrap();
            let options = RunOptions { max_iterations, max_tool_calls, ..RunOptions::default() };
            let mut session = ptk.session("random".parse().unwrap());
            let run = session.execute("Go", options).await;
            prop_assert_eq!(run.success, run.error.is_none());
            prop_assert_eq!(run.success, !run.content.is_empty());
            prop_assert!(run.success || run.error.as_ref().is_some_and(|error| error.code().is_some()));
            prop_assert!(run.iterations <= max_iterations);
            prop_assert!(run.total_tool_calls <= max_tool_calls);
            let begun = scene.diary().iter().filter(|line| line.ends_with("begins")).count();
            prop_assert!(begun <= max_tool_calls as usize);
            for request in model.requests() {
                prop_assert!(are_answered(&request.messages), "{:?}", request.messages);
            }
            prop_assert!(is_over(&mut session).await);
            // The next turn finds a conversation that it can go on with.
            let _ = session.run("And?").await;
            let last = model.requests().pop().unwrap();
            prop_assert!(are_answered(&last.messages), "{:?}", last.messages);
            Ok(())
        })?;
    }
}
