use std::sync::mpsc;
use std::thread;

use ptk_events::{Bus, Channel, Filter};

use super::{note, publish, short, shorts};

#[test]
fn a_callback_that_panics_goes_on_and_harms_nobody() {
    let bus = Bus::new();
    let mut beside = bus.subscribe(Filter::all());
    let (tell, told) = mpsc::channel();
    let mut guard = bus
        .on(Filter::all(), move |delivery| {
            let text = short(delivery);
            tell.send(text.clone()).unwrap();
            assert_ne!(text, "bad", "on purpose");
        })
        .unwrap();

    for text in ["a", "bad", "b", "bad", "c"] {
        publish(&bus, Channel::Realtime, note(text));
    }

    guard.drain();
    assert_eq!(guard.panics(), 2);
    assert_eq!(
        told.iter().collect::<Vec<_>>(),
        ["a", "bad", "b", "bad", "c"]
    );
    assert_eq!(shorts(&mut beside), ["a", "bad", "b", "bad", "c"]);
    assert_eq!(bus.subscriber_count(), 1);
}

#[test]
fn a_callback_that_blocks_holds_nobody_up() {
    let bus = Bus::new();
    let mut beside = bus.subscribe(Filter::all());
    let (let_go, held) = mpsc::channel::<()>();
    let guard = bus
        .on(Filter::all(), move |_| {
            let _ = held.recv();
        })
        .unwrap();

    publish(&bus, Channel::Realtime, note("a"));
    publish(&bus, Channel::Realtime, note("b"));

    assert_eq!(shorts(&mut beside), ["a", "b"]);
    assert_eq!(guard.panics(), 0);
    drop(let_go);
}

#[test]
fn dropping_the_guard_ends_the_thread() {
    let bus = Bus::new();
    let (tell, told) = mpsc::channel();
    let guard = bus
        .on(Filter::all(), move |delivery| {
            let name = thread::current().name().map(str::to_owned);
            tell.send((name, short(delivery))).unwrap();
        })
        .unwrap();
    publish(&bus, Channel::Realtime, note("a"));
    let first = (Some("ptk-subscriber".to_owned()), "a".to_owned());
    assert_eq!(told.recv(), Ok(first));

    drop(guard);

    assert_eq!(bus.subscriber_count(), 0);
    publish(&bus, Channel::Realtime, note("b"));
    // The callback and its sender are gone.
    assert!(told.recv().is_err());
}

#[test]
fn the_thread_ends_with_the_bus_and_not_before_the_last_event() {
    let bus = Bus::new();
    let (tell, told) = mpsc::channel();
    let guard = bus
        .on(Filter::all(), move |delivery| {
            tell.send(short(delivery)).unwrap();
        })
        .unwrap();
    publish(&bus, Channel::Realtime, note("a"));
    publish(&bus, Channel::Background, note("b"));
    drop(bus);
    assert_eq!(told.iter().collect::<Vec<_>>(), ["a", "b"]);
    drop(guard);
}

#[test]
fn a_callback_may_publish_and_end_itself() {
    let bus = Bus::new();
    let mut beside = bus.subscribe(Filter::all());
    let (give_guard, take_guard) = mpsc::channel::<ptk_events::CallbackGuard>();
    let (ended, ends) = mpsc::channel();
    let within = bus.clone();
    let guard = bus
        .on(Filter::all(), move |_| {
            publish(&within, Channel::Realtime, note("answer"));
            take_guard.recv().unwrap().drain();
            ended.send(()).unwrap();
        })
        .unwrap();
    give_guard.send(guard).unwrap();
    publish(&bus, Channel::Realtime, note("question"));
    assert_eq!(ends.recv(), Ok(()));
    assert_eq!(bus.subscriber_count(), 1);
    assert_eq!(shorts(&mut beside), ["question", "answer"]);
}
