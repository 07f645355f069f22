//! Killed at any point, a run goes on as if nothing had happened.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use futures_util::FutureExt as _;
use ptk::events::{EventType, Filter};
use ptk::llm::{Delta, FinishReason, Message as Said, Script};
use ptk::protocol::{ErrorCode, Message};
use ptk::store::{
    Appended, Beginning, CallBegan, Checked, Entry, Hit, Listing, MemoryStore, ModelReplied,
    NewEntry, Overview, Pending, ReplyOutcome, ReplyParsed, RequestBegan, Search, SessionId,
    SqliteStore, Store, StoreError, Stretch, TurnBegan, Writer,
};
use ptk::tools::Decision;
use ptk::{Execution, Ptk, RunError, RunOptions};
use serde_json::json;

use crate::scene::{Model, Person, Scene, arguments, call, text};

/// A store that is gone after so many appends. Either the last one still
/// reaches the log or it does not: a process that is killed cannot know.
#[derive(Debug)]
struct Mortal {
    inner: Arc<MemoryStore>,
    left: AtomicUsize,
    is_last_written: bool,
}

impl Store for Mortal {
    fn append<'a>(
        &'a self,
        session: &'a SessionId,
        entries: Vec<NewEntry>,
    ) -> Pending<'a, Appended> {
        let left = self.left.load(Ordering::Relaxed);
        // An empty append only claims the session for writing.
        if entries.is_empty() {
            return self.inner.append(session, entries);
        }
        if left > 0 {
            self.left.store(left - 1, Ordering::Relaxed);
            return self.inner.append(session, entries);
        }
        async move {
            if self.is_last_written {
                self.inner.append(session, entries).await?;
            }
            Err(StoreError::Closed {
                place: "the process".to_owned(),
            })
        }
        .boxed()
    }

    fn copy<'a>(
        &'a self,
        beginning: Beginning,
        into: &'a SessionId,
        behind: Vec<NewEntry>,
    ) -> Pending<'a, Appended> {
        self.inner.copy(beginning, into, behind)
    }

    fn read<'a>(&'a self, session: &'a SessionId, stretch: Stretch) -> Pending<'a, Vec<Entry>> {
        self.inner.read(session, stretch)
    }

    fn session<'a>(&'a self, session: &'a SessionId) -> Pending<'a, Option<Overview>> {
        self.inner.session(session)
    }

    fn sessions(&self, listing: Listing) -> Pending<'_, Vec<Overview>> {
        self.inner.sessions(listing)
    }

    fn search(&self, search: Search) -> Pending<'_, Vec<Hit>> {
        self.inner.search(search)
    }

    fn delete<'a>(&'a self, session: &'a SessionId) -> Pending<'a, bool> {
        self.inner.delete(session)
    }

    fn writer<'a>(&'a self, session: &'a SessionId) -> Pending<'a, Option<Writer>> {
        self.inner.writer(session)
    }

    fn release<'a>(&'a self, session: &'a SessionId) -> Pending<'a, ()> {
        self.inner.release(session)
    }

    fn rebuild(&self) -> Pending<'_, ()> {
        self.inner.rebuild()
    }

    fn check(&self) -> Pending<'_, Checked> {
        self.inner.check()
    }
}

fn replies() -> Vec<String> {
    let three = [
        call("wait", &json!({"name": "a"})),
        call("wait", &json!({"name": "b"})),
        call("note", &json!({"name": "c"})),
    ];
    vec![
        three.join("\n"),
        "<PTK_CALL>{\"tool\": \"wait\", \"args\": {\"name".to_owned(),
        call("nonsense", &json!({"x": 1})),
        call("read_file", &json!({"path": "notes.txt"})),
        "Milk.".to_owned(),
    ]
}

/// The conversation, without the ids that differ from run to run.
fn said(messages: &[Message]) -> Vec<String> {
    let said = messages.iter().skip(1);
    said.map(|message| format!("{:?}: {}", message.role, message.content))
        .collect()
}

fn build(scene: &Scene, model: &Model, store: Arc<dyn Store>) -> Ptk {
    scene
        .builder(model.clone())
        .system("Be brief.")
        .approver(Person::who_says(Decision::Allow))
        .store(store)
        .build()
        .unwrap()
}

/// Kills a run at every append, before it is written and after, and looks
/// whether it ends as it does undisturbed. Gives the number of such points,
/// and how it ends.
async fn killed_anywhere(model: Model, options: RunOptions) -> (usize, Execution) {
    let id: SessionId = "killed".parse().unwrap();
    let scene = Scene::new();
    let ptk = build(&scene, &model, Arc::new(MemoryStore::new()));
    let whole = ptk.session(id.clone()).execute("Go", options.clone()).await;
    let code = |run: &Execution| run.error.as_ref().and_then(RunError::code);
    assert!(whole.iterations > 1, "{:?}", whole.error);

    let mut points = 0;
    for is_last_written in [false, true] {
        // Before the prompt is written, there is nothing to resume.
        for appends in 1.. {
            let scene = Scene::new();
            let inner = Arc::new(MemoryStore::new());
            let mortal = Mortal {
                inner: inner.clone(),
                left: AtomicUsize::new(appends),
                is_last_written,
            };
            let ptk = build(&scene, &model, Arc::new(mortal));
            let first = ptk.session(id.clone()).execute("Go", options.clone()).await;
            if !matches!(first.error, Some(RunError::Store(_))) {
                break;
            }
            points += 1;
            let ptk = build(&scene, &model, inner.clone());
            let resumed = ptk.session(id.clone()).resume(options.clone()).await;
            let Some(run) = resumed else {
                // Only the end of the run was not acknowledged.
                assert!(is_last_written);
                let mut session = ptk.session(id.clone());
                assert!(session.transcript().await.unwrap().open_turn().is_none());
                continue;
            };
            let at = format!("after {appends} appends");
            assert_eq!(run.content, whole.content, "{at}: {:?}", run.error);
            assert_eq!(code(&run), code(&whole), "{at}: {:?}", run.error);
            assert_eq!(said(&run.messages), said(&whole.messages), "{at}");
            assert_eq!(run.iterations, whole.iterations, "{at}");
            assert_eq!(run.total_tool_calls, whole.total_tool_calls, "{at}");
            // No tool ran without having been written down before.
            let log = inner.read(&id, Stretch::after(0, 1000)).await.unwrap();
            let began = log.iter().filter(|entry| entry.body.kind() == "call_began");
            let ran = scene
                .diary()
                .into_iter()
                .filter(|line| line.ends_with("begins"));
            assert!(ran.count() <= began.count(), "{at}");
        }
    }
    (points, whole)
}

#[tokio::test]
async fn a_run_that_is_killed_at_any_point_ends_the_same() {
    let (points, whole) =
        killed_anywhere(Model::of_replies(replies()), RunOptions::default()).await;
    assert!(points > 25, "{points}");
    assert_eq!((whole.content.as_str(), whole.iterations), ("Milk.", 5));
}

/// Native calls, one of them cut off, and an answer that is too long at first.
#[tokio::test]
async fn a_run_with_a_native_model_does_so_too() {
    let start = |index: usize, name: &str, arguments: &str| {
        [
            Delta::CallStart {
                index,
                id: None,
                name: name.to_owned(),
            },
            Delta::Arguments {
                index,
                json: arguments.to_owned(),
            },
        ]
    };
    let mut model = Model::new(move |request| {
        let is_said = |message: &&Said| matches!(message, Said::Assistant { .. });
        let mut deltas = Vec::new();
        let finish = match request.messages.iter().filter(is_said).count() {
            0 => {
                deltas.extend(start(0, "wait", r#"{"name": "a"}"#));
                deltas.extend(start(1, "note", r#"{"name": "b"}"#));
                deltas.extend(start(2, "wait", r#"{"name": "c"}"#));
                FinishReason::ToolCalls
            }
            1 => {
                deltas.extend(start(0, "note", r#"{"name": "ha"#));
                FinishReason::Length
            }
            2 => {
                deltas.push(Delta::Text("Half an ".to_owned()));
                FinishReason::Length
            }
            _ => {
                deltas.push(Delta::Text("answer.".to_owned()));
                FinishReason::Stop
            }
        };
        deltas.push(Delta::Finish(finish));
        deltas
    });
    model.capabilities.native_tools = Some(true);
    let (points, whole) = killed_anywhere(model, RunOptions::default()).await;
    assert!(points > 20, "{points}");
    assert_eq!(whole.content, "Half an answer.");
}

/// A model that repeats itself is warned once, and then stopped.
#[tokio::test]
async fn a_run_that_goes_round_in_circles_does_so_too() {
    let again = vec![call("note", &json!({"name": "again"})); 9];
    let (points, whole) = killed_anywhere(Model::of_replies(again), RunOptions::default()).await;
    assert!(points > 15, "{points}");
    let code = whole.error.and_then(|error| error.code());
    assert_eq!(code, Some(ErrorCode::DuplicateToolCall));
}

/// A window in which only the last few calls have room.
#[tokio::test]
async fn a_run_in_a_small_window_does_so_too() {
    let model = Model::new(|request| {
        let last = request.messages.last().unwrap().text();
        let done = (0..8).rev().find(|n| last.contains(&format!("{n} word")));
        match done {
            Some(7) => text("Done."),
            done => {
                let n = done.map_or(0, |n| n + 1);
                let name = format!("{n} {}", "word ".repeat(100));
                text(&call("note", &json!({"name": name})))
            }
        }
    });
    let options = RunOptions {
        tools: Some(vec!["note".to_owned()]),
        context_window: Some(1900),
        max_tokens: Some(100),
        ..RunOptions::default()
    };
    let (points, whole) = killed_anywhere(model, options).await;
    assert!(points > 30, "{points}");
    assert_eq!(whole.content, "Done.");
    assert!(whole.messages[1].content.contains("was left out"));
}

/// No call whose end is in the log is run again.
#[tokio::test]
async fn what_has_ended_is_not_run_again() {
    let id: SessionId = "killed".parse().unwrap();
    let model = Model::of_replies(replies());
    for appends in 1.. {
        let scene = Scene::new();
        let inner = Arc::new(MemoryStore::new());
        let mortal = Mortal {
            inner: inner.clone(),
            left: AtomicUsize::new(appends),
            is_last_written: false,
        };
        let ptk = build(&scene, &model, Arc::new(mortal));
        let first = ptk
            .session(id.clone())
            .execute("Go", RunOptions::default())
            .await;
        if first.success {
            assert!(appends > 10);
            break;
        }
        let log = inner.read(&id, Stretch::after(0, 1000)).await.unwrap();
        let ends = log.iter().filter(|entry| entry.body.kind() == "call_ended");
        let ends: Vec<String> = ends.map(|entry| entry.body.json().to_owned()).collect();
        let count = |name: &str| {
            let line = format!("{name} ends");
            scene.diary().iter().filter(|known| **known == line).count()
        };
        let before = ["a", "b", "c"].map(count);
        let ptk = build(&scene, &model, inner);
        ptk.resume(id.clone()).await;
        for (name, before) in ["a", "b", "c"].iter().zip(before) {
            if ends
                .iter()
                .any(|json| json.contains(&format!("{name} is done")))
            {
                assert_eq!(count(name), before, "after {appends} appends");
            }
        }
    }
}

/// A log whose process was killed while a tool ran.
async fn interrupted(store: &dyn Store, id: &SessionId, tool: &str) {
    let turn = ptk::events::Correlation::of_request(ptk::events::RequestId::new());
    let words = call(tool, &json!({"name": "x"}));
    let found = ptk::protocol::ToolCall::new(tool, arguments(&json!({"name": "x"})));
    let logged = ptk::store::LoggedCall::new("call_1".into(), found.clone());
    let entries = vec![
        NewEntry::new(TurnBegan::default()).of(&turn),
        NewEntry::new(Message::user("Go")).of(&turn),
        NewEntry::new(RequestBegan {
            iteration: 1,
            ..RequestBegan::default()
        })
        .of(&turn),
        NewEntry::new(ModelReplied::new(words)).of(&turn),
        NewEntry::new(ReplyParsed {
            reasoning: String::new(),
            outcome: ReplyOutcome::Calls,
            text: String::new(),
            calls: vec![logged],
            problems: Vec::new(),
            told: None,
        })
        .of(&turn),
        NewEntry::new(CallBegan {
            tool: tool.to_owned(),
            arguments: found.args,
        })
        .of(&turn)
        .about("call_1"),
    ];
    store.append(id, entries).await.unwrap();
}

#[tokio::test]
async fn a_call_of_unknown_outcome_is_decided_by_its_effects() {
    let id: SessionId = "killed".parse().unwrap();
    for (tool, says, is_run, is_asked) in [
        ("wait", Decision::Deny("no".to_owned()), true, false),
        ("note", Decision::Deny("no".to_owned()), false, true),
        ("note", Decision::Allow, true, true),
    ] {
        let scene = Scene::new();
        let store = Arc::new(MemoryStore::new());
        interrupted(&*store, &id, tool).await;
        let person = Person::who_says(says);
        let ptk = scene
            .builder(Script::new(["Done."]))
            .approver(person.clone())
            .store(store)
            .build()
            .unwrap();
        let run = ptk.resume(id.clone()).await.unwrap();
        assert_eq!(run.content, "Done.");
        assert_eq!(!scene.diary().is_empty(), is_run, "{tool}");
        let asked = person.asked.lock().unwrap().clone();
        let about = asked
            .iter()
            .any(|line| line.contains("may have happened already"));
        assert_eq!(about, is_asked, "{asked:?}");
        assert_eq!(asked.len(), usize::from(is_asked), "asked once: {asked:?}");
        if !is_run {
            let told = &run
                .messages
                .iter()
                .find(|m| m.tool_call_id.is_some())
                .unwrap()
                .content;
            assert!(told.contains("may or may not have happened"), "{told}");
        }
    }
}

/// With no user to ask, the model gets a result that the outcome is unknown.
#[tokio::test]
async fn without_a_person_the_model_is_told() {
    let id: SessionId = "killed".parse().unwrap();
    let scene = Scene::new();
    let store = Arc::new(MemoryStore::new());
    interrupted(&*store, &id, "note").await;
    let ptk = scene
        .builder(Script::new(["I see."]))
        .store(store)
        .build()
        .unwrap();
    let run = ptk.resume(id.clone()).await.unwrap();
    assert!(scene.diary().is_empty());
    assert!(
        run.tool_calls[0]
            .result
            .error
            .contains("may or may not have happened")
    );
    assert!(ptk.resume(id).await.is_none(), "the turn is over");
}

/// From a file, by another process.
#[tokio::test]
async fn a_session_in_a_file_goes_on_when_it_is_opened_again() {
    let scene = Scene::new();
    let path = scene.folder.path().join("sessions.db");
    let id: SessionId = "file".parse().unwrap();
    let open = || Arc::new(SqliteStore::open(&path).unwrap());
    let read = call("read_file", &json!({"path": "notes.txt"}));
    let hanging = Model::new(move |request| {
        if request.messages.len() == 1 {
            return text(&read);
        }
        // The process ends while the model thinks.
        panic!("killed")
    });
    let ptk = scene.builder(hanging).store(open()).build().unwrap();
    let mut session = ptk.session(id.clone());
    let run = tokio::spawn(async move { session.run("What do the notes say?").await });
    assert!(run.await.unwrap_err().is_panic());
    drop(ptk);

    let model = Model::new(|request| {
        let last = request.messages.last().unwrap().text();
        text(if last.contains("Buy milk.") {
            "Milk."
        } else {
            "?"
        })
    });
    let ptk = scene.builder(model.clone()).store(open()).build().unwrap();
    let wanted = [EventType::TurnBegan, EventType::ReceiveMessage];
    let mut events = ptk.tools().bus().subscribe(Filter::types(wanted));
    let run = ptk.resume(id.clone()).await.unwrap();
    assert_eq!(run.content, "Milk.", "{:?}", run.error);
    // It began before.
    let first = events.try_recv().unwrap();
    assert_eq!(
        first.event().unwrap().kind.name(),
        EventType::ReceiveMessage
    );
    assert_eq!((run.iterations, run.total_tool_calls), (2, 1));
    assert_eq!(run.tool_calls[0].tool, "read_file");
    assert!(ptk.resume(id).await.is_none());
    assert_eq!(model.requests().len(), 1);
}

#[tokio::test]
async fn a_session_that_is_not_there_is_not_made_by_looking_for_it() {
    let scene = Scene::new();
    let store = Arc::new(MemoryStore::new());
    let ptk = scene
        .builder(Script::new(["Hi."]))
        .store(store.clone())
        .build()
        .unwrap();
    let id: SessionId = "misspelt".parse().unwrap();
    assert!(ptk.resume(id.clone()).await.is_none());
    assert!(
        ptk.session(id.clone())
            .transcript()
            .await
            .unwrap()
            .items()
            .is_empty()
    );
    assert!(store.session(&id).await.unwrap().is_none());
    ptk.session(id.clone()).run("Hello").await.unwrap();
    let overview = store.session(&id).await.unwrap().unwrap();
    assert_eq!(overview.info.provider.as_deref(), Some("script"));
}

/// Two runs at once do not mix.
#[tokio::test]
async fn somebody_else_in_the_same_session_is_noticed() {
    let scene = Scene::new();
    let ptk = scene.ptk(&["One.", "Two."]);
    let id: SessionId = "shared".parse().unwrap();
    let (mut one, mut two) = (ptk.session(id.clone()), ptk.session(id));
    one.begin("First", RunOptions::default()).await.unwrap();
    two.begin("Second", RunOptions::default()).await.unwrap();
    let error = one.step().await.unwrap_err();
    assert!(matches!(error, RunError::Interleaved(_)), "{error}");
}
