//! Whatever the order in which things happen, and wherever a run is stopped:
//! the same results, in call order, and no event lost.

use std::collections::HashMap;
use std::future::{Future, poll_fn};
use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use futures_util::{FutureExt as _, StreamExt as _, stream};
use ptk::events::{Bus, Capacities, Delivery, Event, EventKind, EventType, Filter, Subscription};
use ptk::llm::{Delta, Deltas, FinishReason, Message, Provider, Request};
use ptk::protocol::Role;
use ptk::sandbox::Workspace;
use ptk::store::{
    Appended, Beginning, Checked, Entry, EntryKind, Hit, Listing, MemoryStore, NewEntry, Next,
    Overview, Pending, Search, SessionId, Store, Stretch, Writer,
};
use ptk::tools::{AllowAll, CallContext, Effects, ToolError, ToolManager, tool_fn};
use ptk::{Execution, Ptk, RunError, RunOptions};
use serde_json::json;
use tokio::sync::Notify;
use tokio::time::Instant;

use crate::scene::{Model, Scene, call};

const CALLS: usize = 8;

#[derive(serde::Deserialize, schemars::JsonSchema)]
struct Number {
    /// Which signal to wait for
    number: usize,
}

/// A program whose tool ends when it is signalled.
struct Signalled {
    ptk: Ptk,
    signals: Arc<Vec<Notify>>,
    events: Subscription,
}

impl Signalled {
    fn new() -> Self {
        let signals: Arc<Vec<Notify>> = Arc::new((0..CALLS).map(|_| Notify::new()).collect());
        let waited = Arc::clone(&signals);
        let wait = move |_: CallContext, args: Number| {
            let signals = Arc::clone(&waited);
            async move {
                signals[args.number].notified().await;
                Ok::<_, ToolError>(format!("number {} is done", args.number))
            }
        };
        let calls: Vec<String> = (0..CALLS)
            .map(|number| call("wait", &json!({"number": number})))
            .collect();
        let ptk = Ptk::builder()
            .provider(Model::of_replies(vec![
                calls.join("\n"),
                "Done.".to_owned(),
            ]))
            .workspace(std::env::temp_dir())
            .tool(tool_fn("wait", "Wait for a signal", Effects::NONE, wait))
            .build()
            .unwrap();
        let events = ptk.tools().bus().subscribe(Filter::all());
        Self {
            ptk,
            signals,
            events,
        }
    }

    /// Runs, and has the calls end in this order.
    async fn run(&mut self, order: &[usize]) -> (Execution, Vec<Arc<Event>>) {
        let mut session = self.ptk.session(SessionId::new());
        let run = session.execute("Go", RunOptions::default());
        let (signals, events) = (&self.signals, &mut self.events);
        let conduct = async {
            let mut told = Vec::new();
            for number in order {
                signals[*number].notify_one();
                loop {
                    let Some(Delivery::Event(event)) = events.recv().await else {
                        panic!("an event was lost");
                    };
                    let is_end = event.kind.name() == EventType::ToolCallEnd;
                    told.push(event);
                    if is_end {
                        break;
                    }
                }
            }
            told
        };
        let (run, mut told) = tokio::join!(run, conduct);
        while let Ok(Delivery::Event(event)) = self.events.try_recv() {
            told.push(event);
        }
        (run, told)
    }
}

/// Calls `with` with every order of what follows the first `fixed`.
async fn permuted<F: AsyncFnMut(&[usize])>(order: &mut [usize; CALLS], fixed: usize, with: &mut F) {
    if fixed == CALLS {
        with(order).await;
        return;
    }
    for other in fixed..CALLS {
        order.swap(fixed, other);
        Box::pin(permuted(order, fixed + 1, with)).await;
        order.swap(fixed, other);
    }
}

/// Every order that begins with this call.
async fn every_order_from(first: usize) {
    let mut scene = Signalled::new();
    let mut order: [usize; CALLS] = std::array::from_fn(|number| number);
    order.swap(0, first);
    let mut orders = 0;
    permuted(&mut order, 1, &mut async |order: &[usize]| {
        orders += 1;
        let (run, told) = scene.run(order).await;
        assert_eq!(run.content, "Done.", "{order:?}");
        let number = |text: &str| text.split(' ').find_map(|word| word.parse::<usize>().ok());
        let ended: Vec<usize> = run
            .tool_calls
            .iter()
            .filter_map(|call| number(&call.result.payload().to_string()))
            .collect();
        assert_eq!(ended, order, "they end in this order");
        let results = run.messages.iter().filter(|said| said.role == Role::Tool);
        let results: Vec<usize> = results
            .filter_map(|said| number(said.content.split("number").nth(1)?))
            .collect();
        assert!(results.iter().copied().eq(0..CALLS), "{results:?}");
        whole(&told, CALLS);
    })
    .await;
    assert_eq!(orders, 5040);
}

/// Each call was requested, began and ended, once and in that order.
fn whole(told: &[Arc<Event>], calls: usize) {
    let mut lives: HashMap<&str, Vec<EventType>> = HashMap::new();
    for event in told {
        let kind = event.kind.name();
        if let Some(id) = &event.correlation.call_id
            && kind != EventType::ToolStep
        {
            lives.entry(id.as_str()).or_default().push(kind);
        }
    }
    assert_eq!(lives.len(), calls);
    let life = [
        EventType::ToolCallRequested,
        EventType::ToolCallStart,
        EventType::ToolCallEnd,
    ];
    assert!(lives.values().all(|lived| *lived == life), "{lives:?}");
}

macro_rules! every_order {
    ($($(#[$attribute:meta])* $name:ident: $first:literal),*) => {$(
        #[tokio::test]
        $(#[$attribute])*
        async fn $name() {
            every_order_from($first).await;
        }
    )*};
}

// All 40,320 orders in which eight calls can end, an eighth each. Together they
// take minutes without optimisation, so most are left to `scripts/long-checks`.
every_order! {
    every_order_in_which_the_first_call_ends_first: 0,
    #[ignore = "slow; part of scripts/long-checks"]
    every_order_in_which_the_second_call_ends_first: 1,
    #[ignore = "slow; part of scripts/long-checks"]
    every_order_in_which_the_third_call_ends_first: 2,
    #[ignore = "slow; part of scripts/long-checks"]
    every_order_in_which_the_fourth_call_ends_first: 3,
    #[ignore = "slow; part of scripts/long-checks"]
    every_order_in_which_the_fifth_call_ends_first: 4,
    #[ignore = "slow; part of scripts/long-checks"]
    every_order_in_which_the_sixth_call_ends_first: 5,
    #[ignore = "slow; part of scripts/long-checks"]
    every_order_in_which_the_seventh_call_ends_first: 6,
    #[ignore = "slow; part of scripts/long-checks"]
    every_order_in_which_the_eighth_call_ends_first: 7
}

/// A model that pauses before each word, so that a run can be stopped there.
#[derive(Debug)]
struct Hesitant(Vec<String>);

impl Provider for Hesitant {
    fn name(&self) -> &'static str {
        "hesitant"
    }

    fn stream<'a>(&'a self, request: &'a Request) -> Deltas<'a> {
        let is_said = |message: &&Message| matches!(message, Message::Assistant { .. });
        let said = request.messages.iter().filter(is_said).count();
        let text = self.0.get(said).map_or("Nothing more.", String::as_str);
        let mut deltas: Vec<Delta> = text
            .split_inclusive(' ')
            .map(|word| Delta::Text(word.to_owned()))
            .collect();
        deltas.push(Delta::Finish(FinishReason::Stop));
        let hesitate = |delta| async {
            tokio::task::yield_now().await;
            Ok(delta)
        };
        stream::iter(deltas).then(hesitate).boxed()
    }
}

/// A store that pauses before and after it writes.
#[derive(Debug)]
struct Pausing(Arc<MemoryStore>);

impl Store for Pausing {
    fn append<'a>(
        &'a self,
        session: &'a SessionId,
        entries: Vec<NewEntry>,
    ) -> Pending<'a, Appended> {
        async move {
            tokio::task::yield_now().await;
            let appended = self.0.append(session, entries).await;
            tokio::task::yield_now().await;
            appended
        }
        .boxed()
    }

    fn copy<'a>(
        &'a self,
        beginning: Beginning,
        into: &'a SessionId,
        behind: Vec<NewEntry>,
    ) -> Pending<'a, Appended> {
        self.0.copy(beginning, into, behind)
    }

    fn read<'a>(&'a self, session: &'a SessionId, stretch: Stretch) -> Pending<'a, Vec<Entry>> {
        self.0.read(session, stretch)
    }

    fn session<'a>(&'a self, session: &'a SessionId) -> Pending<'a, Option<Overview>> {
        self.0.session(session)
    }

    fn sessions(&self, listing: Listing) -> Pending<'_, Vec<Overview>> {
        self.0.sessions(listing)
    }

    fn search(&self, search: Search) -> Pending<'_, Vec<Hit>> {
        self.0.search(search)
    }

    fn delete<'a>(&'a self, session: &'a SessionId) -> Pending<'a, bool> {
        self.0.delete(session)
    }

    fn writer<'a>(&'a self, session: &'a SessionId) -> Pending<'a, Option<Writer>> {
        self.0.writer(session)
    }

    fn release<'a>(&'a self, session: &'a SessionId) -> Pending<'a, ()> {
        self.0.release(session)
    }

    fn rebuild(&self) -> Pending<'_, ()> {
        self.0.rebuild()
    }

    fn check(&self) -> Pending<'_, Checked> {
        self.0.check()
    }
}

/// A run that can be stopped at every point where it waits: while the model
/// replies, while something is written, while tools run.
struct Stoppable {
    scene: Scene,
    store: Arc<MemoryStore>,
    id: SessionId,
}

impl Stoppable {
    fn new() -> Self {
        Self {
            scene: Scene::new(),
            store: Arc::new(MemoryStore::new()),
            id: SessionId::new(),
        }
    }

    fn ptk(&self) -> Ptk {
        let calls = [
            call("wait", &json!({"name": "a", "ms": 20})),
            call("wait", &json!({"name": "b", "ms": 10})),
            call("note", &json!({"name": "c", "ms": 5})),
        ];
        let replies = vec![calls.join("\n"), "All is done.".to_owned()];
        let store = Pausing(Arc::clone(&self.store));
        let builder = self.scene.builder(Hesitant(replies));
        builder.store(Arc::new(store)).build().unwrap()
    }

    /// Goes on with what was left, to its end.
    async fn resumed(&self) {
        if let Some(run) = self.ptk().resume(self.id.clone()).await {
            assert_eq!(run.content, "All is done.", "{:?}", run.error);
        }
        self.is_settled().await;
    }

    /// No turn is open, what began has ended, once, and nothing was done twice.
    async fn is_settled(&self) {
        let log = self.store.read(&self.id, Stretch::after(0, 1000)).await;
        let mut open: HashMap<String, usize> = HashMap::new();
        let mut ends: HashMap<String, usize> = HashMap::new();
        for entry in log.unwrap() {
            let id = entry.correlation.call_id.as_ref().map(ToString::to_string);
            match (entry.kind(), id) {
                (EntryKind::CallBegan(_), Some(id)) => *open.entry(id).or_default() = 1,
                (EntryKind::CallEnded(_), Some(id)) => {
                    open.remove(&id);
                    *ends.entry(id).or_default() += 1;
                }
                _ => {}
            }
        }
        assert!(open.is_empty(), "{open:?} have no end");
        assert!(ends.values().all(|count| *count == 1), "{ends:?}");
        let mut session = self.ptk().session(self.id.clone());
        assert_eq!(session.transcript().await.unwrap().next(), Next::Prompt);
        let diary = self.scene.diary();
        let changed = diary.iter().filter(|line| *line == "c begins").count();
        assert!(changed <= 1, "{diary:?}");
    }
}

/// Polls the work so often; then it has ended, or it is left.
async fn polled<T>(work: impl Future<Output = T>, times: usize) -> Option<T> {
    let mut work = pin!(work);
    let mut left = times;
    poll_fn(|context| {
        if left == 0 {
            return Poll::Ready(None);
        }
        left -= 1;
        work.as_mut().poll(context).map(Some)
    })
    .await
}

/// Polls the work so often, does something, and goes on to its end.
async fn interrupted<T>(
    work: impl Future<Output = T>,
    times: usize,
    interrupt: impl AsyncFnOnce(),
) -> (T, bool) {
    let mut work = pin!(work);
    if let Some(done) = polled(work.as_mut(), times).await {
        return (done, false);
    }
    interrupt().await;
    (work.await, true)
}

#[tokio::test(start_paused = true)]
async fn a_run_that_is_dropped_anywhere_goes_on_as_if_nothing_had_happened() {
    for times in 0.. {
        let scene = Stoppable::new();
        let mut session = scene.ptk().session(scene.id.clone());
        let run = session.execute("Go", RunOptions::default());
        let ended = polled(run, times).await;
        drop(session);
        scene.resumed().await;
        if ended.is_some() {
            assert!(times > 40, "it waits in {times} places");
            return;
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_run_that_is_cancelled_anywhere_ends_and_says_so() {
    for times in 0.. {
        let scene = Stoppable::new();
        let ptk = scene.ptk();
        let mut events = ptk.tools().bus().subscribe(Filter::all());
        let mut session = ptk.session(scene.id.clone());
        let options = RunOptions::default();
        let cancel = options.cancel.clone();
        let run = session.execute("Go", options);
        let (run, is_interrupted) = interrupted(run, times, async || cancel.cancel()).await;
        if is_interrupted {
            let is_told = matches!(run.error, Some(RunError::Cancelled)) || run.success;
            assert!(is_told, "after {times}: {:?}", run.error);
        }
        scene.is_settled().await;
        let mut calls: HashMap<String, i32> = HashMap::new();
        while let Ok(Delivery::Event(event)) = events.try_recv() {
            let id = event.correlation.call_id.as_ref().map(ToString::to_string);
            let change = match event.kind {
                EventKind::ToolCallStart { .. } => 1,
                EventKind::ToolCallEnd { .. } => -1,
                _ => 0,
            };
            *calls.entry(id.unwrap_or_default()).or_default() += change;
        }
        assert!(calls.values().all(|open| *open == 0), "{calls:?}");
        if !is_interrupted {
            assert!(times > 40, "it waits in {times} places");
            return;
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_run_that_takes_too_long_anywhere_can_be_resumed() {
    const HOUR: Duration = Duration::from_secs(60 * 60);
    for times in 0.. {
        let scene = Stoppable::new();
        let mut session = scene.ptk().session(scene.id.clone());
        let options = RunOptions {
            timeout: Some(HOUR),
            ..RunOptions::default()
        };
        let run = session.execute("Go", options);
        let late = async || tokio::time::advance(2 * HOUR).await;
        let (run, is_interrupted) = interrupted(run, times, late).await;
        drop(session);
        if is_interrupted {
            let is_told = matches!(run.error, Some(RunError::TimedOut(_))) || run.success;
            assert!(is_told, "after {times}: {:?}", run.error);
        }
        scene.resumed().await;
        if !is_interrupted {
            assert!(times > 40, "it waits in {times} places");
            return;
        }
    }
}

/// A slow subscriber loses events, and is notified how many; others are not
/// affected.
#[tokio::test]
async fn whoever_lags_behind_holds_nobody_up() {
    let mut totals = Vec::new();
    for capacity in [10_000, 3] {
        let scene = Scene::new();
        let bus = Bus::with_capacity(Capacities {
            realtime: capacity,
            background: capacity,
            ..Capacities::default()
        });
        let mut events = bus.subscribe(Filter::all());
        let tools = ToolManager::builder(Workspace::open(scene.folder.path()).unwrap())
            .tools(scene.registry())
            .approver(AllowAll)
            .bus(bus)
            .build();
        let calls: Vec<String> = (0..12)
            .map(|number| call("wait", &json!({"name": number.to_string()})))
            .collect();
        let model = Model::of_replies(vec![calls.join("\n"), "Done.".to_owned()]);
        let ptk = Ptk::builder().provider(model).tool_manager(tools);
        let run = ptk.build().unwrap();
        let run = run.execute("Go", RunOptions::default()).await;
        assert_eq!(run.content, "Done.");
        assert_eq!(run.total_tool_calls, 12);
        let (mut got, mut missed) = (0, 0);
        while let Ok(delivery) = events.try_recv() {
            match delivery {
                Delivery::Event(_) => got += 1,
                Delivery::Missed(gap) => missed += gap.total,
            }
        }
        assert_eq!(missed > 0, capacity < 10, "{got} and {missed}");
        totals.push(got + missed);
    }
    assert_eq!(totals[0], totals[1], "none is lost without a word");
}

/// Calls that do not depend on each other take as long as the longest.
#[tokio::test(start_paused = true)]
async fn a_hundred_calls_of_a_second_take_a_second() {
    let scene = Scene::new();
    let calls: Vec<String> = (0..100)
        .map(|number| call("wait", &json!({"name": number.to_string(), "ms": 1000})))
        .collect();
    let model = Model::of_replies(vec![calls.join("\n"), "Done.".to_owned()]);
    let ptk = scene.builder(model).build().unwrap();
    let options = RunOptions {
        max_tool_calls: 100,
        ..RunOptions::default()
    };
    let start = Instant::now();
    let run = ptk.execute("Go", options).await;
    assert_eq!(run.content, "Done.");
    assert_eq!(run.total_tool_calls, 100);
    assert_eq!(start.elapsed().as_millis(), 1000);
}
