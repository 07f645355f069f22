use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, Wake, Waker};
use std::thread;

use ptk_events::{Bus, Channel, Filter, TryRecvError};

use super::{note, publish, short, shorts};

#[test]
fn both_channels_arrive_in_the_order_published() {
    let bus = Bus::new();
    let mut all = bus.subscribe(Filter::all());
    for (channel, text) in [
        (Channel::Background, "a"),
        (Channel::Realtime, "b"),
        (Channel::Realtime, "c"),
        (Channel::Background, "d"),
    ] {
        publish(&bus, channel, note(text));
    }
    assert_eq!(shorts(&mut all), ["a", "b", "c", "d"]);
}

#[test]
fn dropping_a_subscription_ends_it_at_once() {
    let bus = Bus::new();
    let mut stays = bus.subscribe(Filter::all());
    let goes = bus.clone().subscribe(Filter::all());
    assert_eq!(bus.subscriber_count(), 2);
    drop(goes);
    assert_eq!(bus.subscriber_count(), 1);
    publish(&bus, Channel::Realtime, note("on"));
    assert_eq!(shorts(&mut stays), ["on"]);
}

#[test]
fn a_closed_subscription_takes_no_more_and_hands_over_the_rest() {
    let bus = Bus::new();
    let mut all = bus.subscribe(Filter::all());
    publish(&bus, Channel::Realtime, note("before"));
    all.close();
    assert_eq!(bus.subscriber_count(), 0);
    publish(&bus, Channel::Realtime, note("after"));
    assert_eq!(shorts(&mut all), ["before"]);
    assert_eq!(all.try_recv(), Err(TryRecvError::Closed));
    assert_eq!(all.recv_blocking(), None);
}

#[tokio::test]
async fn none_comes_once_every_bus_is_gone_and_nothing_waits() {
    let bus = Bus::new();
    let clone = bus.clone();
    let mut all = bus.subscribe(Filter::all());
    publish(&bus, Channel::Realtime, note("last"));
    drop(bus);
    assert_eq!(all.recv().await.map(|one| short(&one)).unwrap(), "last");
    assert_eq!(all.try_recv(), Err(TryRecvError::Empty));
    drop(clone);
    assert_eq!(all.recv().await, None);
    assert_eq!(all.recv().await, None);
}

#[tokio::test]
async fn dropping_the_last_bus_wakes_who_waits() {
    let bus = Bus::new();
    let mut all = bus.subscribe(Filter::all());
    let waits = tokio::spawn(async move { all.recv().await });
    tokio::task::yield_now().await;
    drop(bus);
    assert_eq!(waits.await.unwrap(), None);
}

#[test]
fn an_event_wakes_a_thread_that_waits() {
    let bus = Bus::new();
    let mut all = bus.subscribe(Filter::all());
    let waits = thread::spawn(move || {
        std::iter::from_fn(|| all.recv_blocking().map(|one| short(&one))).collect::<Vec<_>>()
    });
    for text in ["a", "b", "c"] {
        publish(&bus, Channel::Realtime, note(text));
        thread::yield_now();
    }
    drop(bus);
    assert_eq!(waits.join().unwrap(), ["a", "b", "c"]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_receive_that_is_cancelled_loses_nothing() {
    const EVENTS: usize = 1000;
    let bus = Bus::new();
    let mut all = bus.subscribe(Filter::all());
    let source = tokio::spawn(async move {
        for number in 0..EVENTS {
            publish(&bus, Channel::Realtime, note(number.to_string()));
            tokio::task::yield_now().await;
        }
    });

    let mut received = Vec::new();
    loop {
        tokio::select! {
            biased;
            // Done at its second poll, so every receive that has to wait is
            // cancelled.
            () = tokio::task::yield_now() => {}
            delivery = all.recv() => match delivery {
                Some(delivery) => received.push(short(&delivery)),
                None => break,
            }
        }
    }

    source.await.unwrap();
    let published: Vec<_> = (0..EVENTS).map(|number| number.to_string()).collect();
    assert_eq!(received, published);
}

#[derive(Default)]
struct Woken(AtomicBool);

impl Wake for Woken {
    fn wake(self: Arc<Self>) {
        self.0.store(true, Ordering::Relaxed);
    }
}

#[test]
fn a_cancelled_wait_does_not_take_the_wake_of_the_next() {
    let bus = Bus::new();
    let mut all = bus.subscribe(Filter::all());
    let woken: [Arc<Woken>; 2] = Default::default();
    for woken in &woken {
        let waker = Waker::from(Arc::clone(woken));
        let wait = pin!(all.recv());
        assert!(wait.poll(&mut Context::from_waker(&waker)).is_pending());
    }
    publish(&bus, Channel::Realtime, note("x"));
    assert!(woken[1].0.load(Ordering::Relaxed));
    assert_eq!(shorts(&mut all), ["x"]);
}

#[test]
fn a_task_that_always_finds_more_lets_others_have_a_turn() {
    let bus = Bus::new();
    let mut all = bus.subscribe(Filter::all());
    for number in 0..1000 {
        publish(&bus, Channel::Realtime, note(number.to_string()));
    }
    let woken = Arc::new(Woken::default());
    let waker = Waker::from(Arc::clone(&woken));
    let mut context = Context::from_waker(&waker);
    let mut received = 0;
    while let Poll::Ready(Some(_)) = all.poll_recv(&mut context) {
        received += 1;
    }
    assert!((1..1000).contains(&received), "{received}");
    assert!(woken.0.load(Ordering::Relaxed), "it must be polled again");
    assert_eq!(shorts(&mut all).len(), 1000 - received);
}
