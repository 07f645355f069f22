//! Models with a tool API of their own, through the same loop.

use ptk::llm::{Capabilities, Delta, FinishReason, Message, Script, ToolChoice};
use ptk::{Mode, RunOptions};
use serde_json::{Value, json};

use crate::scene::{Model, Scene, call, text};

fn native(replies: &Value) -> Script {
    Script::parse(&replies.to_string())
        .unwrap()
        .with_capabilities(Capabilities {
            native_tools: Some(true),
            ..Capabilities::default()
        })
}

#[tokio::test]
async fn native_calls_run_and_are_answered_by_id() {
    let scene = Scene::new();
    let mut model = Model::new(|request| {
        if request.messages.len() > 1 {
            return text("Both read.");
        }
        let start = |index: usize, path: &str| {
            let json = json!({"path": path}).to_string();
            [
                Delta::CallStart {
                    index,
                    id: Some("the_same_id".to_owned()),
                    name: "read_file".to_owned(),
                },
                Delta::Arguments { index, json },
                Delta::CallEnd { index },
            ]
        };
        let mut deltas = vec![Delta::State(json!({"signature": "s1"}))];
        deltas.extend(start(0, "notes.txt"));
        deltas.extend(start(1, "missing.txt"));
        deltas.push(Delta::Finish(FinishReason::ToolCalls));
        deltas
    });
    model.capabilities.native_tools = Some(true);
    let ptk = scene
        .builder(model.clone())
        .system("Be kind.")
        .build()
        .unwrap();
    assert_eq!(ptk.run("Read both").await.unwrap(), "Both read.");

    let [first, second] = &model.requests()[..] else {
        panic!("two requests")
    };
    assert_eq!(first.system.as_deref(), Some("Be kind."));
    assert!(first.tools.contains("read_file"));
    let [
        _,
        Message::Assistant { calls, state, .. },
        results @ ..,
        Message::System(told),
    ] = &second.messages[..]
    else {
        panic!("{:?}", second.messages)
    };
    assert_eq!(state, &Some(json!({"signature": "s1"})));
    assert_eq!(results.len(), 2);
    assert!(told.starts_with("Calls that failed: read_file."), "{told}");
    // Models reuse ids, so each call gets one of its own.
    assert_ne!(calls[0].id, calls[1].id);
    for (call, (result, has_failed)) in calls.iter().zip(results.iter().zip([false, true])) {
        let Message::Result {
            id,
            name,
            text,
            is_error,
        } = result
        else {
            panic!("{result:?}")
        };
        assert_eq!(Some(id), call.id.as_ref());
        assert_eq!((name.as_str(), *is_error), ("read_file", has_failed));
        let json: Value = serde_json::from_str(text).unwrap();
        assert_eq!(json["ok"], json!(!has_failed));
    }
}

#[tokio::test]
async fn arguments_are_mended_and_checked() {
    let scene = Scene::new();
    let calls =
        |arguments: Value| json!({"tool_calls": [{"name": "read_file", "arguments": arguments}]});
    for (arguments, is_run) in [
        (json!("{'path': 'notes.txt',}"), true),
        (json!("\"{\\\"path\\\": \\\"notes.txt\\\"}\""), true),
        (json!(""), false),
        (json!("not json at all"), false),
        (json!({"pth": "notes.txt"}), false),
    ] {
        let ptk = scene
            .builder(native(&json!([calls(arguments.clone()), "Done."])))
            .build()
            .unwrap();
        let run = ptk.execute("Go", ptk.options()).await;
        assert_eq!(run.content, "Done.", "{arguments}: {:?}", run.error);
        assert_eq!(run.total_tool_calls == 1, is_run, "{arguments}");
        assert_eq!(run.tool_calls[0].result.success, is_run);
    }
}

#[tokio::test]
async fn a_native_call_that_was_cut_off_is_sent_back() {
    let scene = Scene::new();
    for (arguments, reason) in [
        ("{\"pattern\": \"half", "length"),
        ("{\"pattern\": \"half", "content_filter"),
        ("", "length"),
        ("", "content_filter"),
    ] {
        let cut = json!({"tool_calls": [{"name": "list_files", "arguments": arguments}], "finish_reason": reason});
        let ptk = scene
            .builder(native(&json!([cut, "Sorry."])))
            .build()
            .unwrap();
        let run = ptk.execute("Go", ptk.options()).await;
        assert_eq!(run.content, "Sorry.", "{reason}");
        assert_eq!(run.total_tool_calls, 0, "{reason}");
    }
}

#[tokio::test]
async fn calls_in_the_text_of_a_native_answer_are_found() {
    let scene = Scene::new();
    let written = call("note", &json!({"name": "written"}));
    let ptk = scene
        .builder(native(&json!([{"text": written}, "Done."])))
        .build()
        .unwrap();
    assert_eq!(ptk.run("Go").await.unwrap(), "Done.");
    assert_eq!(scene.diary().len(), 2);

    // A call that is both native and in the text counts once.
    let scene = Scene::new();
    let both = json!({"text": written, "tool_calls": [{"name": "note", "arguments": {"name": "written"}}]});
    let ptk = scene
        .builder(native(&json!([both, "Done."])))
        .build()
        .unwrap();
    ptk.run("Go").await.unwrap();
    assert_eq!(scene.diary().len(), 2);
}

#[tokio::test]
async fn the_last_time_native_tools_are_listed_but_not_to_be_called() {
    let scene = Scene::new();
    let mut model = Model::new(|_| text("Hi."));
    model.capabilities.native_tools = Some(true);
    let ptk = scene.builder(model.clone()).build().unwrap();
    let options = RunOptions {
        max_iterations: 1,
        ..RunOptions::default()
    };
    ptk.execute("Go", options).await;
    let request = model.requests().pop().unwrap();
    assert_eq!(request.tool_choice, ToolChoice::None);
    assert!(!request.tools.is_empty());
}

/// A conversation may go on with another kind of model.
#[tokio::test]
async fn native_calls_are_told_in_words_to_a_model_that_has_none() {
    let scene = Scene::new();
    let calls = json!({"tool_calls": [{"name": "read_file", "arguments": {"path": "notes.txt"}}]});
    let store: std::sync::Arc<dyn ptk::store::Store> =
        std::sync::Arc::new(ptk::store::MemoryStore::new());
    let ptk = scene
        .builder(native(&json!([calls, "Milk."])))
        .store(store.clone())
        .build()
        .unwrap();
    let id: ptk::store::SessionId = "native".parse().unwrap();
    ptk.session(id.clone()).run("Go").await.unwrap();

    let model = Model::new(|_| text("Yes."));
    let ptk = scene.builder(model.clone()).store(store).build().unwrap();
    let options = RunOptions {
        mode: Mode::Text,
        ..RunOptions::default()
    };
    ptk.session(id).execute("Sure?", options).await;
    let said: Vec<String> = model.requests()[0]
        .messages
        .iter()
        .map(|message| message.text().to_owned())
        .collect();
    assert!(said[1].contains("<PTK_CALL>"), "{said:?}");
    assert!(said[2].starts_with("PTK_RESULT:"), "{said:?}");
}
