//! What the user is shown: the same from events and from the log.

use std::sync::Arc;
use std::time::Duration;

use ptk::events::{Filter, OutputStream, Subscription};
use ptk::llm::Script;
use ptk::protocol::{Arguments, ToolCall};
use ptk::store::{MemoryStore, NewEntry, RanByHand, SessionId, Store as _, Stretch};
use ptk::tools::{CallContext, CallRequest, DenyAll, Effects, ToolError, tool_fn};
use ptk::view::{CallState, Conversation, ItemKind, MAX_TAIL, Standing, Tone};
use ptk::{PtkBuilder, RunOptions};
use serde_json::json;

use crate::scene::{Scene, Wait, call};

/// The conversations of these prompts, from the events and from the log.
async fn both(builder: PtkBuilder, prompts: &[&str]) -> (Conversation, Conversation) {
    let store = Arc::new(MemoryStore::new());
    let ptk = builder.store(store.clone()).build().unwrap();
    let mut events = ptk.tools().bus().subscribe(Filter::all());
    let id: SessionId = "viewed".parse().unwrap();
    let mut session = ptk.session(id.clone());
    for prompt in prompts {
        session.execute(*prompt, ptk.options()).await;
    }
    folded(&mut events, &store, &id).await
}

/// The conversations from these events and from the log of the session.
async fn folded(
    events: &mut Subscription,
    store: &MemoryStore,
    id: &SessionId,
) -> (Conversation, Conversation) {
    let mut live = Conversation::new();
    while let Ok(delivery) = events.try_recv() {
        live.deliver(&delivery);
    }
    let mut logged = Conversation::new();
    for entry in store.read(id, Stretch::after(0, 1000)).await.unwrap() {
        logged.entry(&entry);
    }
    (live, logged)
}

/// The items without what differs between the two.
fn kinds(conversation: &Conversation) -> Vec<ItemKind> {
    let kinds = conversation.items().iter().map(|item| item.kind.clone());
    kinds
        .map(|mut kind| {
            if let ItemKind::Call(call) = &mut kind {
                call.since = None;
            }
            kind
        })
        .collect()
}

async fn same(builder: PtkBuilder, prompts: &[&str]) -> Conversation {
    let (live, logged) = both(builder, prompts).await;
    assert_eq!(kinds(&live), kinds(&logged));
    assert!(!live.is_running() && !logged.is_running());
    live
}

#[tokio::test]
async fn a_turn_with_calls_is_the_same_from_the_log() {
    let scene = Scene::new();
    let calls = format!(
        "<think>Which ones?</think>Let me look.\n{}{}",
        r#"<PTK_CALL>{"tool": "read_file", "args": {"path": "notes.txt"}, "reasoning": "They may say it."}</PTK_CALL>"#,
        call("read_file", &json!({"path": "missing.txt"})),
    );
    let script = Script::new([calls.as_str(), "**Milk** is missing. ", "You are welcome."]);
    let shown = same(scene.builder(script), &["What is missing?", "Cảm ơn"]).await;
    let items = kinds(&shown);
    assert_eq!(items[0], ItemKind::Prompt("What is missing?".to_owned()));
    let thought =
        |kind: &ItemKind| matches!(kind, ItemKind::Thought(said) if said.text == "Which ones?");
    assert!(items.iter().any(thought), "{items:#?}");
    let states: Vec<CallState> = shown.calls().map(|call| call.state).collect();
    assert_eq!(states, [CallState::Done, CallState::Failed]);
    let why = shown.calls().next().unwrap().reasoning.as_deref();
    assert_eq!(why, Some("They may say it."));
    assert_eq!(shown.answer(), Some("You are welcome."));
}

#[tokio::test]
async fn a_mended_call_says_what_was_mended() {
    let scene = Scene::new();
    let script = Script::new([
        "<PTK_CALL>{tool: 'read_file', args: {path: 'notes.txt',}}</PTK_CALL>",
        "Milk.",
    ]);
    let shown = same(scene.builder(script), &["What?"]).await;
    let repairs = &shown.calls().next().unwrap().repairs;
    assert!(!repairs.is_empty());
}

#[tokio::test]
async fn replies_that_cannot_be_used_are_the_same_from_the_log() {
    let scene = Scene::new();
    let broken = r#"I try. <PTK_CALL>{"tool": "read_file", "args": {"path": "no"#;
    let script = Script::new([broken, "Never mind."]);
    let shown = same(scene.builder(script), &["What?"]).await;
    let notice = |kind: &ItemKind| matches!(kind, ItemKind::Notice(it) if it.text.contains("cannot be used"));
    assert!(kinds(&shown).iter().any(notice));
}

#[tokio::test]
async fn failures_are_the_same_from_the_log() {
    let scene = Scene::new();
    // There is no second reply.
    let script = Script::new([call("read_file", &json!({"path": "notes.txt"}))]);
    let shown = same(scene.builder(script), &["What?"]).await;
    let last = kinds(&shown).pop().unwrap();
    assert!(matches!(last, ItemKind::Notice(notice) if notice.tone == Tone::Error));
}

#[tokio::test]
async fn a_refused_call_is_the_same_from_the_log() {
    let scene = Scene::new();
    let script = Script::new([
        call("write_file", &json!({"path": "a.txt", "content": "a"})).as_str(),
        "I may not.",
    ]);
    let shown = same(
        scene.builder(script).approver(DenyAll::default()),
        &["Write."],
    )
    .await;
    assert_eq!(shown.calls().next().unwrap().state, CallState::Failed);
}

#[tokio::test]
async fn an_answer_that_goes_on_is_one() {
    let scene = Scene::new();
    let replies = json!([
        {"text": "Hello ", "finish_reason": "length"},
        {"text": "world. "},
    ]);
    let script = Script::parse(&replies.to_string()).unwrap();
    let shown = same(scene.builder(script), &["Say it."]).await;
    assert_eq!(shown.answer(), Some("Hello world."));
    assert_eq!(shown.items().len(), 2);
}

#[tokio::test(start_paused = true)]
async fn a_turn_that_is_stopped_shows_what_was_said() {
    let scene = Scene::new();
    let store = Arc::new(MemoryStore::new());
    let script = Script::new([call("wait", &json!({"name": "long", "ms": 600_000}))]);
    let ptk = scene.builder(script).store(store.clone()).build().unwrap();
    let mut events = ptk.tools().bus().subscribe(Filter::all());
    let options = ptk.options();
    let cancel = options.cancel.clone();
    let mut session = ptk.session("stopped".parse().unwrap());
    let running = tokio::spawn(async move { session.execute("Wait.", options).await });
    tokio::time::sleep(Duration::from_secs(1)).await;
    cancel.cancel();
    running.await.unwrap();
    let mut live = Conversation::new();
    while let Ok(delivery) = events.try_recv() {
        live.deliver(&delivery);
    }
    let mut logged = Conversation::new();
    let id: SessionId = "stopped".parse().unwrap();
    for entry in store.read(&id, Stretch::after(0, 100)).await.unwrap() {
        logged.entry(&entry);
    }
    assert_eq!(kinds(&live), kinds(&logged));
    let last = kinds(&live).pop().unwrap();
    assert!(matches!(last, ItemKind::Notice(notice) if notice.tone == Tone::Error));
}

#[tokio::test]
async fn what_a_call_writes_is_seen_while_it_runs_and_takes_little_room() {
    let scene = Scene::new();
    let flood = tool_fn(
        "flood",
        "Write much",
        Effects::NONE,
        |context: CallContext, _: Wait| async move {
            for number in 0..3000 {
                let line = format!("{number} {}\n", "x".repeat(100));
                context.emit(OutputStream::Stdout, &line);
                tokio::task::yield_now().await;
            }
            Ok::<_, ToolError>("done")
        },
    );
    let script = Script::new([call("flood", &json!({"name": "a"})).as_str(), "Done."]);
    let ptk = scene.builder(script).tool(flood).build().unwrap();
    let mut events = ptk.tools().bus().subscribe(Filter::all());
    ptk.execute("Flood.", RunOptions::default()).await;
    let mut shown = Conversation::new();
    let mut longest = 0;
    while let Ok(delivery) = events.try_recv() {
        shown.deliver(&delivery);
        for call in shown.running() {
            longest = longest.max(call.output.text().len());
        }
    }
    assert!(
        longest > MAX_TAIL / 2 && longest <= 2 * MAX_TAIL,
        "{longest}"
    );
    let call = shown.calls().next().unwrap();
    assert_eq!((call.state, call.output.text()), (CallState::Done, ""));
}

/// Each item keeps its id, and has another revision whenever it has changed.
#[tokio::test]
async fn what_a_person_runs_is_the_same_from_the_log() {
    let scene = Scene::new();
    let store = Arc::new(MemoryStore::new());
    let builder = scene.builder(Script::new(["Hello."]));
    let ptk = builder.store(store.clone()).build().unwrap();
    let mut events = ptk.tools().bus().subscribe(Filter::all());
    let id: SessionId = "by-hand".parse().unwrap();
    let mut session = ptk.session(id.clone());
    let arguments = Arguments::from_json(r#"{"path": "notes.txt"}"#).unwrap();
    let call = ToolCall::new("read_file", arguments.clone());
    let outcome = ptk.tools().execute(CallRequest::new(call)).await;
    let ran = RanByHand {
        tool: outcome.tool.clone(),
        arguments,
        duration_ms: u64::try_from(outcome.duration.as_millis()).unwrap(),
        result: outcome.result.clone(),
        told: String::new(),
    };
    let entry = NewEntry::new(ran).about(outcome.call_id.clone());
    session.aside(entry).await.unwrap();
    session.execute("Hi.", ptk.options()).await;
    let (live, logged) = folded(&mut events, &store, &id).await;
    assert_eq!(kinds(&live), kinds(&logged));
    assert!(live.calls().all(|call| call.by_hand));
    assert_eq!(live.calls().count(), 1);
    // None of it is a call of the model.
    assert_eq!(session.transcript().await.unwrap().items().len(), 2);
}

#[tokio::test]
async fn code_that_is_shown_wrongly_is_told_of() {
    let scene = Scene::new();
    let script = Script::new([
        "Here:\n<code=\"/app/a.rs\" #1:3>\nfn main() {}\n</code>",
        "And <code=\"/app/a.rs\" #1:1>\nfn main() {}\n</code>",
    ]);
    let shown = same(scene.builder(script), &["Show it.", "Again."]).await;
    let notes = kinds(&shown).into_iter().filter_map(|kind| match kind {
        ItemKind::Notice(notice) => Some(notice.text),
        _ => None,
    });
    let notes: Vec<String> = notes.collect();
    assert_eq!(
        notes,
        [
            "What the answer says about code of /app/a.rs is wrong: the header says 3 lines, but there are 1"
        ]
    );
}

#[tokio::test]
async fn whoever_draws_it_knows_what_has_changed() {
    let scene = Scene::new();
    let script = Script::new([
        format!("Look.{}", call("read_file", &json!({"path": "notes.txt"}))),
        "A long answer, in pieces.".to_owned(),
    ]);
    let ptk = scene.builder(script).build().unwrap();
    let mut events = ptk.tools().bus().subscribe(Filter::all());
    ptk.execute("What?", ptk.options()).await;
    let mut shown = Conversation::new();
    let mut before = Vec::new();
    while let Ok(delivery) = events.try_recv() {
        shown.deliver(&delivery);
        for item in shown.items() {
            let known = before.iter().find(|it: &&ptk::view::Item| it.id == item.id);
            if let Some(known) = known
                && known.kind != item.kind
            {
                assert_ne!(known.revision, item.revision);
            }
        }
        before = shown.items().to_vec();
    }
    let said =
        |kind: &ItemKind| matches!(kind, ItemKind::Text(it) if it.standing == Standing::Said);
    assert_eq!(kinds(&shown).iter().filter(|kind| said(kind)).count(), 2);
}
