use std::collections::HashMap;
use std::sync::atomic::Ordering;

use ptk_events::{Bus, Capacities, Delivery, EventKind, Filter};
use ptk_tools::AllowAll;
use serde_json::json;

use super::{Fixture, request};

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_thousand_calls_at_once_lose_no_event() {
    let bus = Bus::with_capacity(Capacities {
        realtime: 20_000,
        background: 20_000,
        ..Capacities::default()
    });
    let mut events = bus.subscribe(Filter::all());
    let fixture = Fixture::with(|builder| builder.approver(AllowAll).bus(bus));
    let calls = (0..1_000).map(|number| {
        let tools = fixture.tools.clone();
        let (name, args) = match number % 4 {
            0 => ("change", json!({"text": number.to_string()})),
            1 => ("fail", json!({"text": number.to_string()})),
            _ => ("look", json!({"text": number.to_string()})),
        };
        tokio::spawn(async move { tools.execute(request(name, args)).await })
    });
    let calls: Vec<_> = calls.collect();
    let mut ended = 0;
    for call in calls {
        ended += usize::from(call.await.unwrap().result.success);
    }
    assert_eq!(ended, 750);

    let mut counts: HashMap<String, (usize, usize)> = HashMap::new();
    while let Ok(delivery) = events.try_recv() {
        let Delivery::Event(event) = delivery else {
            panic!("events were missed");
        };
        let id = event.correlation.call_id.as_ref().unwrap().to_string();
        let (starts, ends) = counts.entry(id).or_default();
        match event.kind {
            EventKind::ToolCallStart { .. } => *starts += 1,
            EventKind::ToolCallEnd { .. } => *ends += 1,
            _ => assert_eq!((*starts, *ends), (1, 0), "outside its call"),
        }
    }
    assert_eq!(counts.len(), 1_000);
    assert!(counts.values().all(|count| *count == (1, 1)));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn identical_calls_under_way_share_one_run() {
    let fixture = Fixture::new();
    let calls: Vec<_> = (0..8)
        .map(|_| request("look", json!({"text": "same"})))
        .collect();
    let outcomes = fixture.tools.execute_all(calls).await;
    let contents = outcomes.iter().filter(|outcome| outcome.result.success);
    // Those that came late enough were refused as repeated; none ran twice.
    assert!(contents.count() >= 1);
    assert_eq!(fixture.runs.load(Ordering::SeqCst), 1);
}

#[tokio::test]
async fn outcomes_have_the_order_of_the_calls_and_writes_wait_for_their_turn() {
    let fixture = Fixture::new();
    let calls = [
        ("look", "a"),
        ("look", "b"),
        ("change", "c"),
        ("look", "a"),
        ("fail", "d"),
    ];
    let requests = calls.map(|(name, text)| request(name, json!({"text": text})));
    let outcomes = fixture.tools.execute_all(requests.into()).await;
    let names: Vec<_> = outcomes
        .iter()
        .map(|outcome| outcome.tool.as_str())
        .collect();
    assert_eq!(names, calls.map(|(name, _)| name));
    // The second look at `a` came behind a change, so it is not a repetition.
    let success: Vec<_> = outcomes
        .iter()
        .map(|outcome| outcome.result.success)
        .collect();
    assert_eq!(success, [true, true, true, true, false]);
}
