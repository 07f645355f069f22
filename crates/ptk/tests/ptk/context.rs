//! What fills the window, and making room in it by hand.

use std::future::pending;
use std::sync::Arc;

use futures_util::{StreamExt as _, stream};
use ptk::events::{CompactionWay, EventKind, EventType, Filter};
use ptk::llm::{Capabilities, Delta, Deltas, FinishReason, Message, Provider, Request};
use ptk::model::ASSUMED_WINDOW;
use ptk::store::{EntryKind, MemoryStore, SessionId, Store, Stretch};
use ptk::{
    CancellationToken, Compaction, ContextUse, Estimate, MARGIN, Mode, Ptk, RunError, RunOptions,
    Session, TokenCounter as _,
};
use serde_json::json;

use crate::scene::{Model, Scene, arguments, call, text};

/// Tokens of the marks around a message.
const PER_MESSAGE: u64 = 4;

/// How many tokens a message takes.
fn cost(message: &Message) -> u64 {
    let calls = match message {
        Message::Assistant { calls, .. } => calls.as_slice(),
        _ => &[],
    };
    let calls = calls.iter().map(|call| {
        Estimate.count(&call.name) + Estimate.count(&call.args.to_json()) + PER_MESSAGE
    });
    Estimate.count(message.text()) + calls.sum::<u64>() + PER_MESSAGE
}

/// How many tokens a request takes, as the provider received it.
fn size(request: &Request) -> u64 {
    let system = request.system.as_deref().unwrap_or_default();
    let definitions = request.tools.iter();
    let definitions: String = definitions
        .map(|spec| spec.function_definition().to_string())
        .collect();
    let messages = request.turns().map(cost);
    Estimate.count(system) + Estimate.count(&definitions) + messages.sum::<u64>()
}

fn ptk(scene: &Scene, model: &Model) -> Ptk {
    let builder = scene.builder(model.clone()).system("Be brief.");
    builder.token_counter(Estimate).build().unwrap()
}

fn options(tools: &[&str]) -> RunOptions {
    let tools = tools.iter().map(|&name| name.to_owned());
    RunOptions {
        tools: Some(tools.collect()),
        ..RunOptions::default()
    }
}

#[tokio::test]
async fn the_parts_are_what_the_next_request_takes() {
    let scene = Scene::new();
    let model = Model::of_replies(vec![
        call("read_file", &json!({"path": "notes.txt"})),
        "Milk.".to_owned(),
    ]);
    let ptk = ptk(&scene, &model);
    let mut session = ptk.session(SessionId::new());
    let options = options(&["read_file"]);
    session
        .begin("What is due?", options.clone())
        .await
        .unwrap();
    let mut taken = Vec::new();
    for is_asked in [true, false, true] {
        let context = session.context(options.clone()).await.unwrap();
        session.step().await.unwrap();
        if is_asked {
            let request = model.requests().pop().unwrap();
            assert_eq!(context.used(), size(&request));
            taken.push(context);
        }
    }
    let [first, second] = taken[..] else {
        panic!("asked twice");
    };
    assert_eq!(first.instructions, Estimate.count("Be brief."));
    assert_eq!(first.people, Estimate.count("What is due?") + PER_MESSAGE);
    assert!(first.tools > 100, "{first:?}");
    assert_eq!((first.model, first.results), (0, 0));
    assert!(second.model > 0 && second.results > 0, "{second:?}");
    let mut rest: ContextUse = second;
    (rest.model, rest.results) = (0, 0);
    assert_eq!(rest, first);
    // The window is not known.
    assert_eq!(first.window, Some(u64::from(ASSUMED_WINDOW)));
}

#[tokio::test]
async fn native_calls_and_tools_are_counted_as_they_are_sent() {
    let scene = Scene::new();
    let mut model = Model::new(|request| match request.messages.len() {
        1 => vec![
            Delta::CallStart {
                index: 0,
                id: Some("c".to_owned()),
                name: "read_file".to_owned(),
            },
            Delta::Arguments {
                index: 0,
                json: arguments(&json!({"path": "notes.txt"})).to_json(),
            },
            Delta::Finish(FinishReason::ToolCalls),
        ],
        _ => text("Milk."),
    });
    model.capabilities = Capabilities {
        native_tools: Some(true),
        ..Capabilities::default()
    };
    let ptk = ptk(&scene, &model);
    let mut session = ptk.session(SessionId::new());
    let options = RunOptions {
        mode: Mode::Native,
        ..options(&["read_file", "grep"])
    };
    let run = session.execute("What is due?", options.clone()).await;
    assert_eq!(run.content, "Milk.", "{:?}", run.error);
    let context = session.context(options.clone()).await.unwrap();
    session.execute("And now?", options).await;
    let request = model.requests().pop().unwrap();
    let prompt = cost(&Message::user("And now?"));
    assert_eq!(context.used() + prompt, size(&request));
    assert_eq!(request.tools.len(), 2);
    assert!(context.model > 0 && context.results > 0, "{context:?}");
}

#[tokio::test]
async fn the_window_is_the_sum_of_what_is_in_it_and_what_is_kept() {
    let scene = Scene::new();
    let model = Model::new(|_| text("Yes."));
    let ptk = ptk(&scene, &model);
    let mut session = ptk.session(SessionId::new());
    let small = |tokens| RunOptions {
        context_window: Some(tokens),
        max_tokens: Some(100),
        ..options(&[])
    };
    let long = "because ".repeat(100);
    session.execute(long.as_str(), small(1000)).await;
    let context = session.context(small(1000)).await.unwrap();
    assert_eq!((context.window, context.reply), (Some(1000), 100));
    assert!(context.margin >= u64::from(10 * MARGIN));
    let free = context.free().unwrap();
    assert_eq!(context.reply + context.margin + context.used() + free, 1000);
    // A prompt may take all that is free, and not one token more.
    let words = |tokens: u64| "word ".repeat(usize::try_from(tokens - PER_MESSAGE).unwrap());
    let mut events = ptk
        .tools()
        .bus()
        .subscribe(Filter::types([EventType::Compacted]));
    for (tokens, is_compacted) in [(free, false), (free + 1, true)] {
        let mut session = ptk.session(SessionId::new());
        session.execute(long.as_str(), small(1000)).await;
        let run = session.execute(words(tokens), small(1000)).await;
        assert!(run.success, "{:?}", run.error);
        assert_eq!(events.try_recv().is_ok(), is_compacted, "{tokens}");
    }
    // The conversation is longer than fits.
    let context = session.context(small(200)).await.unwrap();
    assert_eq!(context.free(), Some(0));
}

#[tokio::test]
async fn to_look_changes_nothing() {
    let scene = Scene::new();
    let model = Model::new(|_| text("Yes."));
    let store = Arc::new(MemoryStore::new());
    let builder = scene.builder(model.clone()).store(store.clone());
    let ptk = builder.build().unwrap();
    let id = SessionId::new();
    let mut session = ptk.session(id.clone());
    let empty = session.context(options(&["grep"])).await.unwrap();
    assert!(empty.tools > 0 && empty.people == 0, "{empty:?}");
    assert_eq!(store.session(&id).await.unwrap(), None);

    session.begin("Is it?", options(&[])).await.unwrap();
    let before = store.read(&id, Stretch::after(0, 100)).await.unwrap();
    session.context(options(&["grep"])).await.unwrap();
    let unknown = session.context(options(&["nonsense"])).await;
    assert!(matches!(unknown, Err(RunError::UnknownTool { .. })));
    assert_eq!(
        store.read(&id, Stretch::after(0, 100)).await.unwrap(),
        before
    );
    session.step().await.unwrap();
    let request = model.requests().pop().unwrap();
    assert_eq!(request.system, None, "it was begun without tools");
}

/// A session of three turns, with a model that sums up when asked to.
async fn three_turns(ptk: &Ptk) -> Session {
    let mut session = ptk.session(SessionId::new());
    for prompt in ["First?", "Second?", "Third?"] {
        session.run(prompt).await.unwrap();
    }
    session
}

fn summing_up(summary: &'static str) -> Model {
    Model::new(move |request| {
        let last = request.messages.last().unwrap().text();
        if last.contains("Sum up the conversation") {
            text(summary)
        } else {
            text(&format!("{} {last}", "word ".repeat(50)))
        }
    })
}

fn way(compaction: Compaction) -> RunOptions {
    RunOptions {
        compaction,
        ..RunOptions::default()
    }
}

#[tokio::test]
async fn all_but_the_last_turn_is_left_out_by_hand() {
    for (compaction, told, expected) in [
        (Compaction::Drop, CompactionWay::Dropped, "was left out"),
        (
            Compaction::Summarise,
            CompactionWay::Summarised,
            "Ada wants primes.",
        ),
    ] {
        let scene = Scene::new();
        let model = summing_up("Ada wants primes.");
        let store = Arc::new(MemoryStore::new());
        let builder = scene.builder(model.clone()).store(store.clone());
        let ptk = builder.build().unwrap();
        let mut session = three_turns(&ptk).await;
        let mut events = ptk
            .tools()
            .bus()
            .subscribe(Filter::types([EventType::Compacted]));
        let full = session.context(way(compaction)).await.unwrap();

        let done = session.compact(way(compaction)).await.unwrap().unwrap();
        assert_eq!((done.way, done.messages), (told, 4));
        let context = session.context(way(compaction)).await.unwrap();
        assert_eq!((done.before, done.after), (full.used(), context.used()));
        assert!(done.after < done.before && context.summary > 0);
        let event = events.try_recv().unwrap();
        let event = event.event().unwrap();
        let published = EventKind::Compacted {
            way: told,
            messages: Some(4),
        };
        assert_eq!(event.kind, published);
        assert_eq!(event.correlation.request_id, None, "no turn is open");
        let log = store.read(session.id(), Stretch::last(1)).await.unwrap();
        assert!(matches!(log[0].kind(), EntryKind::Compacted(_)), "{log:?}");

        // There is no more to leave out.
        assert_eq!(session.compact(way(compaction)).await.unwrap(), None);
        session.run("Fourth?").await.unwrap();
        let request = model.requests().pop().unwrap();
        let told: Vec<&str> = request.messages.iter().map(Message::text).collect();
        let told = told.join("\n");
        assert!(told.contains(expected), "{told}");
        assert!(!told.contains("Second?"), "{told}");
        assert!(
            told.contains("Third?") && told.contains("Fourth?"),
            "{told}"
        );

        // A session that is loaded again has it, too.
        let mut again = ptk.session(session.id().clone());
        let items = again.transcript().await.unwrap().items().len();
        assert_eq!(items, session.transcript().await.unwrap().items().len());
    }
}

#[tokio::test]
async fn where_nothing_would_become_shorter_nothing_is_done() {
    let scene = Scene::new();
    let ptk = scene.ptk(&["Yes.", "No."]);
    let mut session = ptk.session(SessionId::new());
    assert_eq!(session.compact(way(Compaction::Drop)).await.unwrap(), None);
    session.run("Is it?").await.unwrap();
    assert_eq!(session.compact(way(Compaction::Drop)).await.unwrap(), None);
    // The notice that they were left out takes more than they do.
    session.run("Or not?").await.unwrap();
    assert_eq!(session.compact(way(Compaction::Drop)).await.unwrap(), None);
    assert_eq!(session.transcript().await.unwrap().items().len(), 4);
}

#[tokio::test]
async fn a_model_that_cannot_sum_up_loses_nothing() {
    let scene = Scene::new();
    let ptk = scene.builder(summing_up("")).build().unwrap();
    let mut session = three_turns(&ptk).await;
    let error = session
        .compact(way(Compaction::Summarise))
        .await
        .unwrap_err();
    let told = error.to_string();
    assert!(told.contains("nothing was left out"), "{told}");
    assert_eq!(session.transcript().await.unwrap().items().len(), 6);
    let run = session.execute("Fourth?", RunOptions::default()).await;
    assert!(run.success, "{:?}", run.error);
}

/// Answers, and never comes to the end of a summary: the caller has cancelled
/// it by then.
#[derive(Debug)]
struct Endless(CancellationToken);

impl Provider for Endless {
    fn name(&self) -> &'static str {
        "endless"
    }

    fn capabilities(&self, _: Option<&str>) -> Capabilities {
        Capabilities::default()
    }

    fn stream<'a>(&'a self, request: &'a Request) -> Deltas<'a> {
        let last = request.messages.last().map_or("", Message::text);
        if last.contains("Sum up the conversation") {
            self.0.cancel();
            return stream::once(pending()).boxed();
        }
        stream::iter(text(&"word ".repeat(50)).into_iter().map(Ok)).boxed()
    }
}

#[tokio::test]
async fn whoever_cancels_it_loses_nothing() {
    let scene = Scene::new();
    let options = way(Compaction::Summarise);
    let model = Endless(options.cancel.clone());
    let ptk = scene.builder(model).build().unwrap();
    let mut session = three_turns(&ptk).await;
    let done = session.compact(options).await;
    assert!(matches!(done, Err(RunError::Cancelled)), "{done:?}");
    assert_eq!(session.transcript().await.unwrap().items().len(), 6);
    let run = session.execute("Fourth?", RunOptions::default()).await;
    assert!(run.success, "{:?}", run.error);
}

#[tokio::test]
async fn a_session_has_the_title_that_it_was_given() {
    let scene = Scene::new();
    let model = Model::new(|_| text("Yes."));
    let store = Arc::new(MemoryStore::new());
    let builder = scene.builder(model).store(store.clone());
    let ptk = builder.build().unwrap();
    let mut session = ptk.session(SessionId::new());
    session.rename("Before it begins").await.unwrap();
    assert_eq!(store.session(session.id()).await.unwrap(), None);
    let name = async |session: &Session| {
        let overview = store.session(session.id()).await.unwrap().unwrap();
        overview.name().to_owned()
    };
    session.run("Is it?").await.unwrap();
    assert_eq!(name(&session).await, "Before it begins");
    session.rename("Afterwards").await.unwrap();
    session.run("And now?").await.unwrap();
    assert_eq!(name(&session).await, "Afterwards");
    session.rename("").await.unwrap();
    assert_eq!(name(&session).await, "Is it?");
    let long = session.rename(&"x".repeat(201)).await;
    assert!(matches!(long, Err(RunError::Store(_))), "{long:?}");
}
