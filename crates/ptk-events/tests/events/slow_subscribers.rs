use proptest::prelude::*;
use ptk_events::{Bus, Capacities, Channel, Delivery, EventType, Filter};

use super::{chunk, note, publish, short, shorts};

fn small_bus(realtime: usize, background: usize) -> Bus {
    Bus::with_capacity(Capacities {
        realtime,
        background,
        ..Capacities::default()
    })
}

/// Publishes texts on the realtime channel; those that begin with `~` as
/// chunks.
fn publish_all(bus: &Bus, texts: &[&str]) {
    for text in texts {
        let kind = if text.starts_with('~') {
            chunk(*text)
        } else {
            note(*text)
        };
        publish(bus, Channel::Realtime, kind);
    }
}

#[test]
fn a_slow_subscriber_is_told_what_it_missed_where_it_missed_it() {
    let bus = small_bus(3, 1);
    let mut slow = bus.subscribe(Filter::all());
    publish_all(&bus, &["a", "b", "c", "d", "e"]);
    assert_eq!(shorts(&mut slow), ["missed 2: error 2", "c", "d", "e"]);
    publish_all(&bus, &["f"]);
    assert_eq!(shorts(&mut slow), ["f"]);
}

#[test]
fn a_fast_subscriber_loses_nothing_to_a_slow_one() {
    let bus = small_bus(2, 2);
    let slow = bus.subscribe(Filter::all());
    let mut fast = bus.subscribe(Filter::all());
    for number in 0..100 {
        let text = number.to_string();
        publish_all(&bus, &[&text]);
        assert_eq!(shorts(&mut fast), [text]);
    }
    drop(slow);
}

#[test]
fn chunks_are_dropped_before_anything_else() {
    let bus = small_bus(4, 1);
    let mut slow = bus.subscribe(Filter::all());
    publish_all(&bus, &["a", "~1", "b", "~2", "c", "d", "e"]);
    assert_eq!(
        shorts(&mut slow),
        [
            "missed 2: tool_output_chunk 1, error 1",
            "b",
            "missed 1: tool_output_chunk 1",
            "c",
            "d",
            "e"
        ]
    );
}

#[test]
fn the_oldest_chunk_goes_first() {
    let bus = small_bus(3, 1);
    let mut slow = bus.subscribe(Filter::all());
    publish_all(&bus, &["a", "~1", "~2", "~3", "~4"]);
    assert_eq!(
        shorts(&mut slow),
        ["a", "missed 2: tool_output_chunk 2", "~3", "~4"]
    );
}

#[test]
fn a_chunk_pushes_out_nothing_but_chunks() {
    let bus = small_bus(2, 1);
    let mut slow = bus.subscribe(Filter::all());
    publish_all(&bus, &["a", "b", "~1", "~2"]);
    assert_eq!(
        shorts(&mut slow),
        ["a", "b", "missed 2: tool_output_chunk 2"]
    );
}

#[test]
fn output_takes_no_more_room_than_it_was_given() {
    let bus = Bus::with_capacity(Capacities {
        chunk_bytes: 6,
        ..Capacities::default()
    });
    let mut slow = bus.subscribe(Filter::all());
    publish_all(&bus, &["~1", "a", "~2", "~3", "~4", "b", "~56"]);
    assert_eq!(
        shorts(&mut slow),
        [
            "missed 1: tool_output_chunk 1",
            "a",
            "missed 2: tool_output_chunk 2",
            "~4",
            "b",
            "~56"
        ]
    );
    // What was received makes room again.
    publish_all(&bus, &["~1", "~2", "~3"]);
    assert_eq!(shorts(&mut slow), ["~1", "~2", "~3"]);
}

#[test]
fn a_chunk_larger_than_the_room_arrives_if_it_is_the_newest() {
    let bus = Bus::with_capacity(Capacities {
        chunk_bytes: 6,
        ..Capacities::default()
    });
    let mut slow = bus.subscribe(Filter::all());
    publish_all(&bus, &["~1", "~ much too long"]);
    assert_eq!(
        shorts(&mut slow),
        ["missed 1: tool_output_chunk 1", "~ much too long"]
    );
}

#[test]
fn a_capacity_of_nothing_is_taken_as_one() {
    let bus = small_bus(0, 0);
    let mut slow = bus.subscribe(Filter::all());
    publish_all(&bus, &["a", "~1", "b"]);
    assert_eq!(
        shorts(&mut slow),
        ["missed 2: tool_output_chunk 1, error 1", "b"]
    );
}

#[test]
fn rare_events_survive_a_flood_of_others() {
    let bus = small_bus(4, 4);
    let mut rare = bus.subscribe(Filter::types([EventType::Error]));
    publish_all(&bus, &["first"]);
    for _ in 0..10_000 {
        publish_all(&bus, &["~flood"]);
    }
    publish_all(&bus, &["last"]);
    assert_eq!(shorts(&mut rare), ["first", "last"]);
}

#[test]
fn a_flood_in_the_background_pushes_nothing_out_of_realtime() {
    let bus = small_bus(4, 4);
    let mut all = bus.subscribe(Filter::all());
    publish(&bus, Channel::Realtime, note("first"));
    for _ in 0..100 {
        publish(&bus, Channel::Background, note("flood"));
    }
    publish(&bus, Channel::Realtime, note("last"));
    assert_eq!(
        shorts(&mut all),
        [
            "first",
            "missed 96: error 96",
            "flood",
            "flood",
            "flood",
            "flood",
            "last"
        ]
    );
}

#[derive(Debug, Clone, Copy)]
enum Act {
    Publish(Channel, EventType),
    Receive,
}

fn act() -> impl Strategy<Value = Act> {
    let channel = prop_oneof![Just(Channel::Realtime), Just(Channel::Background)];
    let event_type = prop_oneof![Just(EventType::ToolOutputChunk), Just(EventType::Error)];
    prop_oneof![
        3 => (channel, event_type).prop_map(|(channel, one)| Act::Publish(channel, one)),
        1 => Just(Act::Receive),
    ]
}

/// Follows one channel: each event carries its number there, so the gaps
/// between those that arrive must be exactly what was reported as missed.
#[derive(Default)]
struct Follower {
    published: u64,
    arrived: u64,
}

proptest! {
    #[test]
    fn every_gap_is_told_with_its_size_at_its_place(
        acts in prop::collection::vec(act(), 0..200),
        realtime in 1_usize..6,
        background in 1_usize..6,
        chunk_bytes in 0_usize..12,
    ) {
        let bus = Bus::with_capacity(Capacities { realtime, background, chunk_bytes });
        let mut slow = bus.subscribe(Filter::all());
        let mut followers: [Follower; 2] = Default::default();
        let receive_all = std::iter::repeat_n(Act::Receive, acts.len() * 2);

        for act in acts.iter().copied().chain(receive_all) {
            match act {
                Act::Publish(channel, event_type) => {
                    let number = followers[channel as usize].published.to_string();
                    followers[channel as usize].published += 1;
                    publish(&bus, channel, match event_type {
                        EventType::ToolOutputChunk => chunk(number),
                        _ => note(number),
                    });
                }
                Act::Receive => match slow.try_recv() {
                    Ok(Delivery::Missed(missed)) => {
                        prop_assert!(missed.total > 0);
                        prop_assert_eq!(missed.total, missed.by_type.values().sum::<u64>());
                        followers[missed.channel as usize].arrived += missed.total;
                    }
                    Ok(delivery) => {
                        let Some(event) = delivery.event() else { continue };
                        let follower = &mut followers[event.channel as usize];
                        prop_assert_eq!(short(&delivery), follower.arrived.to_string());
                        follower.arrived += 1;
                    }
                    Err(_) => {}
                },
            }
        }
        for follower in followers {
            prop_assert_eq!(follower.arrived, follower.published);
        }
    }
}
