//! Stopped from outside, wherever the run is.

use std::sync::Arc;
use std::time::Duration;

use ptk::llm::{Script, ScriptedReply};
use ptk::store::{EntryKind, MemoryStore, SessionId, Store as _, Stretch, TurnOutcome};
use ptk::tools::Decision;
use ptk::{RunError, RunOptions};
use serde_json::json;
use tokio::time::Instant;

use crate::scene::{Person, Scene, call, within};

fn slow(text: &str) -> ScriptedReply {
    ScriptedReply {
        delay_ms: 3_600_000,
        ..ScriptedReply::from(text)
    }
}

#[tokio::test(start_paused = true)]
async fn cancelling_ends_the_run_wherever_it_is() {
    let hang = call("wait", &json!({"name": "x", "ms": 20_000}));
    let failing: ScriptedReply = serde_json::from_str(r#"{"error": {"status": 503}}"#)
        .map(|reply: serde_json::Value| ScriptedReply {
            error: serde_json::from_value(reply["error"].clone()).ok(),
            ..ScriptedReply::default()
        })
        .unwrap();
    // While the model is asked, while a tool runs, and while it waits to ask
    // again.
    for replies in [
        vec![slow("late")],
        vec![ScriptedReply::from(hang)],
        vec![failing; 9],
    ] {
        let scene = Scene::new();
        let store = Arc::new(MemoryStore::new());
        let ptk = scene
            .builder(Script::new(replies))
            .store(store.clone())
            .build()
            .unwrap();
        let options = RunOptions {
            provider_retries: 9,
            ..RunOptions::default()
        };
        let cancel = options.cancel.clone();
        let start = Instant::now();
        tokio::spawn(async move {
            tokio::time::sleep(Duration::from_secs(3)).await;
            cancel.cancel();
        });
        let run = ptk.execute("Go", options).await;
        assert!(
            matches!(run.error, Some(RunError::Cancelled)),
            "{:?}",
            run.error
        );
        assert!(start.elapsed() < Duration::from_secs(8));
        let id = &run.session;
        let log = store.read(id, Stretch::last(1)).await.unwrap();
        let EntryKind::TurnEnded(ended) = log[0].kind() else {
            panic!("the turn is open")
        };
        assert_eq!(ended.outcome, TurnOutcome::Cancelled);
        let overview = store.session(id).await.unwrap().unwrap();
        assert_eq!(overview.turns, 1);
    }
}

#[tokio::test(start_paused = true)]
async fn a_run_has_no_more_time_than_it_is_given_and_goes_on_with_more() {
    let scene = Scene::new();
    let ptk = scene
        .builder(Script::new([slow("late"), ScriptedReply::from("In time.")]))
        .build()
        .unwrap();
    let options = RunOptions {
        timeout: Some(Duration::from_secs(2)),
        ..RunOptions::default()
    };
    let mut session = ptk.session("timed".parse().unwrap());
    let start = Instant::now();
    let run = session.execute("Go", options).await;
    assert!(start.elapsed() < Duration::from_secs(3));
    let error = run.error.unwrap();
    assert!(matches!(error, RunError::TimedOut(_)));
    assert_eq!(
        error.to_string(),
        "The run took longer than 2 s; resume it, or allow it more time"
    );
    let run = session.resume(RunOptions::default()).await.unwrap();
    assert_eq!(run.content, "In time.");
    assert!(session.resume(RunOptions::default()).await.is_none());
}

#[tokio::test(start_paused = true)]
async fn a_run_that_is_dropped_can_be_resumed() {
    let scene = Scene::new();
    let ptk = scene
        .builder(Script::new([slow("late"), ScriptedReply::from("Here.")]))
        .build()
        .unwrap();
    let mut session = ptk.session("dropped".parse().unwrap());
    let run = session.run("Go");
    assert!(
        tokio::time::timeout(Duration::from_secs(1), run)
            .await
            .is_err()
    );
    let run = within(5, session.resume(RunOptions::default())).await;
    assert_eq!(run.unwrap().content, "Here.");
}

#[tokio::test(start_paused = true)]
async fn a_new_prompt_gives_up_the_turn_that_is_open() {
    let scene = Scene::new();
    let ptk = scene
        .builder(Script::new([slow("late"), ScriptedReply::from("Here.")]))
        .build()
        .unwrap();
    let mut session = ptk.session("dropped".parse().unwrap());
    let run = session.run("First");
    assert!(
        tokio::time::timeout(Duration::from_secs(1), run)
            .await
            .is_err()
    );
    assert_eq!(session.run("Second").await.unwrap(), "Here.");
}

/// What was running when the time was up may have happened, and what had not
/// begun has not.
#[tokio::test(start_paused = true)]
async fn calls_that_the_time_cuts_off_are_decided_about_by_their_effects() {
    for (tool, asked) in [("wait", 0), ("note", 1)] {
        let scene = Scene::new();
        let calls = [
            call("wait", &json!({"name": "first", "ms": 10})),
            call(tool, &json!({"name": "cut", "ms": 20_000})),
            call("note", &json!({"name": "last", "ms": 10})),
        ];
        let person = Person::who_says(Decision::Allow);
        let store = Arc::new(MemoryStore::new());
        let build = |replies: Vec<String>| {
            scene
                .builder(Script::new(replies))
                .approver(person.clone())
                .store(store.clone())
                .build()
                .unwrap()
        };
        let id: SessionId = "s".parse().unwrap();
        let options = RunOptions {
            timeout: Some(Duration::from_secs(1)),
            ..RunOptions::default()
        };
        let late = build(vec![calls.join("\n")]);
        let run = late.session(id.clone()).execute("Go", options).await;
        assert!(matches!(run.error, Some(RunError::TimedOut(_))), "{run:?}");
        assert_eq!(run.tool_calls.len(), 1, "{tool}");
        let log = store.read(&id, Stretch::after(0, 1000)).await.unwrap();
        let cut = log
            .iter()
            .filter(|it| matches!(it.kind(), EntryKind::CallCut(_)));
        assert_eq!(cut.count(), 1, "{tool}");

        person.asked.lock().unwrap().clear();
        let again = build(vec!["Done.".to_owned()]);
        let resumed = again
            .session(id)
            .resume(RunOptions::default())
            .await
            .unwrap();
        assert_eq!(resumed.content, "Done.", "{tool}");
        let diary = scene.diary();
        let times = |line: &str| diary.iter().filter(|it| *it == line).count();
        assert_eq!(
            (
                times("first ends"),
                times("cut begins"),
                times("last begins")
            ),
            (1, 2, 1),
            "{tool}: {diary:?}"
        );
        let doubts = person.asked.lock().unwrap();
        let doubts = doubts.iter().filter(|it| it.contains("may have happened"));
        assert_eq!(doubts.count(), asked, "{tool}");
    }
}
