use std::collections::HashMap;

use ptk_events::{
    Bus, Capacities, Channel, Correlation, Delivery, EventType, Filter, OutputStream,
};
use ptk_protocol::{ErrorType, ToolResult};
use serde_json::json;

const CALLS: usize = 1000;
const CHUNKS: usize = 5;

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_thousand_calls_at_once_arrive_whole_and_in_order() {
    // Room for all, so that the test does not depend on the speed of
    // subscribers.
    let bus = Bus::with_capacity(Capacities {
        realtime: CALLS * (CHUNKS + 3),
        background: CALLS * (CHUNKS + 3),
        ..Capacities::default()
    });
    let mut all = bus.subscribe(Filter::all());

    for number in 0..CALLS {
        let bus = bus.clone();
        tokio::spawn(async move {
            let channel = if number % 2 == 0 {
                Channel::Realtime
            } else {
                Channel::Background
            };
            let call = bus
                .call(Correlation::default(), channel)
                .start("bash", json!({}));
            for _ in 0..CHUNKS {
                call.events().chunk(OutputStream::Stdout, "x");
                tokio::task::yield_now().await;
            }
            match number % 3 {
                0 => {
                    call.end(ToolResult::data(json!(number)));
                }
                1 => {
                    call.end(ToolResult::failure(ErrorType::UserError, "no"));
                }
                _ => drop(call),
            }
        });
    }
    drop(bus);

    let mut calls: HashMap<_, Vec<_>> = HashMap::new();
    let mut channels = HashMap::new();
    while let Some(delivery) = all.recv().await {
        let Delivery::Event(event) = delivery else {
            panic!("{delivery:?}");
        };
        let id = event.correlation.call_id.clone().unwrap();
        assert_eq!(
            *channels.entry(id.clone()).or_insert(event.channel),
            event.channel
        );
        calls.entry(id).or_default().push(event.kind.name());
    }

    assert_eq!(calls.len(), CALLS);
    let mut failed = 0;
    for types in calls.values() {
        let mut expected = vec![EventType::ToolCallStart];
        expected.extend([EventType::ToolOutputChunk; CHUNKS]);
        if types.contains(&EventType::Error) {
            failed += 1;
            expected.push(EventType::Error);
        }
        expected.push(EventType::ToolCallEnd);
        assert_eq!(*types, expected);
    }
    assert_eq!(failed, (0..CALLS).filter(|number| number % 3 != 0).count());
}
