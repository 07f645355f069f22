use ptk_events::{Bus, Channel, Correlation, EventType, Filter, RequestId, UnknownEventType};
use ptk_protocol::{ErrorType, ToolResult};
use serde_json::json;

use super::{chunk, note, publish, shorts, types, waiting_events};

/// Publishes a call that fails.
fn fail(bus: &Bus, correlation: Correlation) {
    bus.call(correlation, Channel::Realtime)
        .start("bash", json!({}))
        .end(ToolResult::failure(ErrorType::UserError, "no"));
}

#[test]
fn all_means_every_type() {
    let bus = Bus::new();
    let mut all = bus.subscribe(Filter::all());
    fail(&bus, Correlation::default());
    publish(&bus, Channel::Background, chunk("x"));
    assert_eq!(
        types(&waiting_events(&mut all)),
        [
            EventType::ToolCallStart,
            EventType::Error,
            EventType::ToolCallEnd,
            EventType::ToolOutputChunk,
        ]
    );
}

#[test]
fn only_the_types_asked_for_arrive() {
    let bus = Bus::new();
    let mut some = bus.subscribe(Filter::types([EventType::Error, EventType::ToolCallEnd]));
    let mut none = bus.subscribe(Filter::types([]));
    fail(&bus, Correlation::default());
    assert_eq!(shorts(&mut some), ["no", "tool_call_end"]);
    assert!(shorts(&mut none).is_empty());
}

#[test]
fn only_the_channel_asked_for_arrives() {
    let bus = Bus::new();
    let mut realtime = bus.subscribe(Filter::all().on(Channel::Realtime));
    let mut background = bus.subscribe(Filter::all().on(Channel::Background));
    publish(&bus, Channel::Realtime, note("seen"));
    publish(&bus, Channel::Background, note("unseen"));
    assert_eq!(shorts(&mut realtime), ["seen"]);
    assert_eq!(shorts(&mut background), ["unseen"]);
}

#[test]
fn only_the_call_asked_for_arrives() {
    let bus = Bus::new();
    let mut second = bus.subscribe(Filter::all().of_call("call_2"));
    publish(&bus, Channel::Realtime, note("of no call"));
    for id in ["call_1", "call_2", "call_3"] {
        fail(&bus, Correlation::default().with_call(id));
    }
    let events = waiting_events(&mut second);
    assert_eq!(events.len(), 3);
    for event in events {
        assert_eq!(event.correlation.call_id, Some("call_2".into()));
    }
}

#[test]
fn only_the_request_asked_for_arrives() {
    let bus = Bus::new();
    let (one, other) = (RequestId::new(), RequestId::new());
    let mut ends = bus.subscribe(Filter::types([EventType::ToolCallEnd]).of_request(one));
    for correlation in [
        Correlation::default(),
        Correlation::of_request(other),
        Correlation::of_request(one),
    ] {
        fail(&bus, correlation);
    }
    let events = waiting_events(&mut ends);
    assert_eq!(types(&events), [EventType::ToolCallEnd]);
    assert_eq!(events[0].correlation.request_id, Some(one));
}

#[test]
fn every_type_is_found_by_the_name_it_is_written_with() {
    for event_type in EventType::ALL {
        assert_eq!(event_type.as_str().parse(), Ok(*event_type));
        assert_eq!(
            serde_json::to_value(event_type).unwrap(),
            event_type.as_str()
        );
    }
    assert_eq!(
        "thought".parse::<EventType>(),
        Err(UnknownEventType("thought".to_owned()))
    );
}
