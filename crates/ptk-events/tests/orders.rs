//! The bus under a scheduler that runs its threads in one order after the
//! other.
//!
//! ```sh
//! cargo nextest run -p ptk-events --features shuttle --test orders
//! ```

use ptk_events::{Bus, Channel, Correlation, Event, EventKind, EventType, Filter, OutputStream};
use ptk_protocol::ToolResult;
use shuttle::{check_random, thread};

/// How many orders are tried for each test.
const ORDERS: usize = 5_000;

fn said(call: &str, iteration: u32) -> Event {
    let kind = EventKind::Iteration {
        iteration,
        call_type: "text".to_owned(),
    };
    let correlation = Correlation::default().with_call(call);
    Event::new(correlation, Channel::Realtime, kind)
}

#[test]
fn whoever_waits_gets_everything_in_the_order_of_each_publisher() {
    let test = || {
        let bus = Bus::new();
        let mut events = bus.subscribe(Filter::all());
        for call in ["a", "b"] {
            let bus = bus.clone();
            thread::spawn(move || (1..=3).for_each(|number| bus.publish(said(call, number))));
        }
        drop(bus);
        let mut last = [0, 0];
        while let Some(delivery) = events.recv_blocking() {
            let event = delivery.event().expect("nothing is missed");
            let EventKind::Iteration { iteration, .. } = event.kind else {
                unreachable!("nothing else is said");
            };
            let is_first = event.correlation.call_id == Some("a".into());
            let last = &mut last[usize::from(!is_first)];
            assert_eq!(iteration, *last + 1);
            *last = iteration;
        }
        assert_eq!(last, [3, 3], "also what was said just before the end");
    };
    check_random(test, ORDERS);
}

#[test]
fn who_comes_and_goes_holds_nobody_up() {
    let test = || {
        let bus = Bus::new();
        let mut stays = bus.subscribe(Filter::all());
        let publisher = thread::spawn({
            let bus = bus.clone();
            move || (1..=3).for_each(|number| bus.publish(said("a", number)))
        });
        let guest = thread::spawn({
            let bus = bus.clone();
            move || {
                let mut events = bus.subscribe(Filter::all());
                let _ = events.try_recv();
            }
        });
        publisher.join().expect("it publishes");
        guest.join().expect("it goes");
        assert_eq!(bus.subscriber_count(), 1);
        drop(bus);
        let mut count = 0;
        while stays.recv_blocking().is_some() {
            count += 1;
        }
        assert_eq!(count, 3);
    };
    check_random(test, ORDERS);
}

#[test]
fn nothing_of_a_call_follows_its_end() {
    let test = || {
        let bus = Bus::new();
        let mut events = bus.subscribe(Filter::all());
        let scope = bus.call(Correlation::default(), Channel::Realtime);
        let call = scope.start("bash", serde_json::Value::Null);
        let tellers = [(); 2].map(|()| {
            let tells = call.events().clone();
            thread::spawn(move || tells.chunk(OutputStream::Stdout, "x"))
        });
        thread::spawn(move || call.end(ToolResult::success([("code", 0.into())])));
        for teller in tellers {
            teller.join().expect("it tells");
        }
        drop(bus);
        let mut types = Vec::new();
        while let Some(delivery) = events.recv_blocking() {
            types.extend(delivery.event().map(|event| event.kind.name()));
        }
        let ends = types.iter().filter(|kind| **kind == EventType::ToolCallEnd);
        assert_eq!(ends.count(), 1, "{types:?}");
        assert_eq!(types.last(), Some(&EventType::ToolCallEnd), "{types:?}");
    };
    check_random(test, ORDERS);
}

#[test]
fn a_callback_has_had_everything_when_it_was_drained() {
    let test = || {
        let bus = Bus::new();
        let count = std::sync::Arc::new(std::sync::atomic::AtomicUsize::new(0));
        let counter = std::sync::Arc::clone(&count);
        let order = std::sync::atomic::Ordering::SeqCst;
        let mut guard = bus
            .on(Filter::all(), move |_| {
                counter.fetch_add(1, order);
            })
            .expect("there is a thread");
        (1..=3).for_each(|number| bus.publish(said("a", number)));
        guard.drain();
        assert_eq!(count.load(order), 3);
    };
    check_random(test, ORDERS);
}
