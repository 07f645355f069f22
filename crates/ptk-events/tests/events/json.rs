use std::time::{Duration, SystemTime, UNIX_EPOCH};

use ptk_events::{
    Channel, CompactionWay, Correlation, Event, EventKind, EventType, MessagePart, OutputStream,
    RunMetadata, ShownCode, Step, StepOutcome, ToolStep,
};
use ptk_protocol::{ErrorType, ToolResult};
use serde_json::json;

use super::note;

/// An event of each type, with as many fields as it can have.
fn samples() -> Vec<Event> {
    let took = Duration::from_micros(1500);
    let kinds = [
        EventKind::TurnBegan {
            prompt: "What?".to_owned(),
        },
        EventKind::Iteration {
            iteration: 2,
            call_type: "tool_call".to_owned(),
        },
        EventKind::MessageChunk {
            part: MessagePart::Text,
            chunk: "Do".to_owned(),
        },
        EventKind::MessageRestarted {
            reason: "The reply broke off".to_owned(),
        },
        EventKind::ReceiveMessage {
            message: "Done.".to_owned(),
            metadata: RunMetadata {
                iterations: 3,
                tool_calls: 2,
                snippets: ShownCode::of("<code=\"/a.rs\" #1:2>\nfn a() {}\n</code>"),
            },
        },
        EventKind::Compacted {
            way: CompactionWay::Summarised,
            messages: Some(12),
        },
        EventKind::Note {
            message: "The model repeats itself".to_owned(),
        },
        EventKind::HelperReplied {
            task: "choose_files".to_owned(),
            model: "small-1".to_owned(),
            files: vec!["a.txt".to_owned()],
            error: Some("It took too long".to_owned()),
            duration_ms: 12,
        },
        EventKind::ToolCallRequested {
            tool: "grep".to_owned(),
            arguments: json!({"pattern": "x", "limit": 3}),
            reasoning: Some("It is somewhere".to_owned()),
            repairs: vec!["A comma was missing".to_owned()],
        },
        EventKind::ToolCallStart {
            tool: "grep".to_owned(),
            arguments: json!({"pattern": "x", "limit": 3}),
        },
        EventKind::ToolCallHeld {
            tool: "grep".to_owned(),
        },
        EventKind::ToolStep(
            ToolStep::new(Step::PreImage, StepOutcome::Refused, took).with_detail("too large"),
        ),
        EventKind::ToolOutputChunk {
            stream: OutputStream::Stdout,
            chunk: "a\n\u{1b}é".to_owned(),
        },
        EventKind::ToolCallEnd {
            tool: "grep".to_owned(),
            success: false,
            duration_ms: 12,
            result: ToolResult::failure(ErrorType::UserError, "No such folder")
                .with_suggestion("List the folder."),
        },
        EventKind::Error {
            tool: Some("grep".to_owned()),
            message: "No such folder".to_owned(),
            error_type: Some(ErrorType::UserError),
        },
    ];
    let request = "01890a5d-ac96-774b-bcce-b302099a8057";
    let correlation = Correlation::of_request(request.parse().unwrap_or_default())
        .caused_by("call_0")
        .with_call("call_1");
    kinds
        .into_iter()
        .map(|kind| Event {
            ts: UNIX_EPOCH + Duration::from_millis(1_769_846_400_007),
            correlation: correlation.clone(),
            channel: Channel::Background,
            kind,
        })
        .collect()
}

#[test]
fn each_type_is_one_flat_line() {
    let lines: Vec<_> = samples()
        .iter()
        .map(|event| serde_json::to_string(event).unwrap())
        .collect();
    insta::assert_snapshot!(lines.join("\n"), @r#"
    {"type":"turn_began","ts":"2026-01-31T08:00:00.007Z","request_id":"01890a5d-ac96-774b-bcce-b302099a8057","parent_id":"call_0","call_id":"call_1","channel":"background","prompt":"What?"}
    {"type":"iteration","ts":"2026-01-31T08:00:00.007Z","request_id":"01890a5d-ac96-774b-bcce-b302099a8057","parent_id":"call_0","call_id":"call_1","channel":"background","iteration":2,"call_type":"tool_call"}
    {"type":"message_chunk","ts":"2026-01-31T08:00:00.007Z","request_id":"01890a5d-ac96-774b-bcce-b302099a8057","parent_id":"call_0","call_id":"call_1","channel":"background","part":"text","chunk":"Do"}
    {"type":"message_restarted","ts":"2026-01-31T08:00:00.007Z","request_id":"01890a5d-ac96-774b-bcce-b302099a8057","parent_id":"call_0","call_id":"call_1","channel":"background","reason":"The reply broke off"}
    {"type":"receive_message","ts":"2026-01-31T08:00:00.007Z","request_id":"01890a5d-ac96-774b-bcce-b302099a8057","parent_id":"call_0","call_id":"call_1","channel":"background","message":"Done.","metadata":{"iterations":3,"tool_calls":2,"snippets":[{"path":"/a.rs","start":1,"end":2,"problems":["the header says 2 lines, but there are 1"]}]}}
    {"type":"compacted","ts":"2026-01-31T08:00:00.007Z","request_id":"01890a5d-ac96-774b-bcce-b302099a8057","parent_id":"call_0","call_id":"call_1","channel":"background","way":"summarised","messages":12}
    {"type":"note","ts":"2026-01-31T08:00:00.007Z","request_id":"01890a5d-ac96-774b-bcce-b302099a8057","parent_id":"call_0","call_id":"call_1","channel":"background","message":"The model repeats itself"}
    {"type":"helper_replied","ts":"2026-01-31T08:00:00.007Z","request_id":"01890a5d-ac96-774b-bcce-b302099a8057","parent_id":"call_0","call_id":"call_1","channel":"background","task":"choose_files","model":"small-1","files":["a.txt"],"error":"It took too long","duration_ms":12}
    {"type":"tool_call_requested","ts":"2026-01-31T08:00:00.007Z","request_id":"01890a5d-ac96-774b-bcce-b302099a8057","parent_id":"call_0","call_id":"call_1","channel":"background","tool":"grep","arguments":{"pattern":"x","limit":3},"reasoning":"It is somewhere","repairs":["A comma was missing"]}
    {"type":"tool_call_start","ts":"2026-01-31T08:00:00.007Z","request_id":"01890a5d-ac96-774b-bcce-b302099a8057","parent_id":"call_0","call_id":"call_1","channel":"background","tool":"grep","arguments":{"pattern":"x","limit":3}}
    {"type":"tool_call_held","ts":"2026-01-31T08:00:00.007Z","request_id":"01890a5d-ac96-774b-bcce-b302099a8057","parent_id":"call_0","call_id":"call_1","channel":"background","tool":"grep"}
    {"type":"tool_step","ts":"2026-01-31T08:00:00.007Z","request_id":"01890a5d-ac96-774b-bcce-b302099a8057","parent_id":"call_0","call_id":"call_1","channel":"background","step":"pre_image","outcome":"refused","detail":"too large","duration_us":1500}
    {"type":"tool_output_chunk","ts":"2026-01-31T08:00:00.007Z","request_id":"01890a5d-ac96-774b-bcce-b302099a8057","parent_id":"call_0","call_id":"call_1","channel":"background","stream":"stdout","chunk":"a\n\u001bé"}
    {"type":"tool_call_end","ts":"2026-01-31T08:00:00.007Z","request_id":"01890a5d-ac96-774b-bcce-b302099a8057","parent_id":"call_0","call_id":"call_1","channel":"background","tool":"grep","success":false,"duration_ms":12,"result":{"success":false,"error":"No such folder","error_type":"user_error","suggestion":"List the folder."}}
    {"type":"error","ts":"2026-01-31T08:00:00.007Z","request_id":"01890a5d-ac96-774b-bcce-b302099a8057","parent_id":"call_0","call_id":"call_1","channel":"background","tool":"grep","message":"No such folder","error_type":"user_error"}
    "#);
}

#[test]
fn what_does_not_apply_is_left_out() {
    let least = |kind| {
        serde_json::to_string(&Event {
            ts: UNIX_EPOCH,
            correlation: Correlation::default(),
            channel: Channel::Realtime,
            kind,
        })
        .unwrap()
    };
    let asked = EventKind::ToolCallRequested {
        tool: "grep".to_owned(),
        arguments: json!({}),
        reasoning: None,
        repairs: Vec::new(),
    };
    let step = ToolStep::new(Step::Find, StepOutcome::Passed, Duration::ZERO);
    insta::assert_snapshot!(
        [least(note("no")), least(asked), least(EventKind::ToolStep(step))].join("\n"),
        @r#"
        {"type":"error","ts":"1970-01-01T00:00:00.000Z","channel":"realtime","message":"no"}
        {"type":"tool_call_requested","ts":"1970-01-01T00:00:00.000Z","channel":"realtime","tool":"grep","arguments":{}}
        {"type":"tool_step","ts":"1970-01-01T00:00:00.000Z","channel":"realtime","step":"find","outcome":"passed","duration_us":0}
        "#
    );
}

#[test]
fn every_event_reads_back_as_it_was() {
    let mut events = samples();
    let types: Vec<_> = events.iter().map(|event| event.kind.name()).collect();
    assert_eq!(types, EventType::ALL);
    events.extend(
        samples()
            .into_iter()
            .map(|event| Event::new(Correlation::default(), Channel::Realtime, event.kind)),
    );
    for event in events {
        let line = serde_json::to_string(&event).unwrap();
        assert_eq!(serde_json::from_str::<Event>(&line).unwrap(), event);
    }
}

#[test]
fn an_event_has_the_time_at_which_it_was_made() {
    let before = SystemTime::now() - Duration::from_millis(1);
    let event = Event::new(Correlation::default(), Channel::Realtime, note(""));
    assert!(before < event.ts && event.ts <= SystemTime::now());
}

#[test]
fn a_time_that_cannot_be_written_is_no_panic() {
    let at = |ts| Event {
        ts,
        ..Event::new(Correlation::default(), Channel::Realtime, note(""))
    };
    let early = serde_json::to_string(&at(UNIX_EPOCH - Duration::from_secs(1))).unwrap();
    assert!(early.contains("1970-01-01T00:00:00.000Z"));
    let late = at(UNIX_EPOCH + Duration::from_secs(400_000_000_000));
    assert!(serde_json::to_string(&late).is_err());
}

#[test]
fn a_line_that_is_no_event_is_refused_with_the_reason() {
    for (line, reason) in [
        (
            r#"{"type":"error","ts":"noon","channel":"realtime","message":""}"#,
            "not a time: `noon`",
        ),
        (
            r#"{"type":"thought","ts":"2026-01-31T08:00:00Z","channel":"realtime"}"#,
            "unknown variant `thought`",
        ),
    ] {
        let error = serde_json::from_str::<Event>(line).unwrap_err().to_string();
        assert!(error.contains(reason), "{error}");
    }
}

#[test]
fn names_that_were_written_before_are_read() {
    for (before, now) in [
        (
            r#"{"type": "iteration", "iteration": 2, "callType": "text"}"#,
            r#"{"type": "iteration", "iteration": 2, "call_type": "text"}"#,
        ),
        (
            r#"{"type": "toolCall", "tool": "grep", "args": {"pattern": "x"}}"#,
            r#"{"type": "tool_call_requested", "tool": "grep", "arguments": {"pattern": "x"}}"#,
        ),
        (
            r#"{"type": "receiveMessage", "message": "Hi", "metadata": {"iterations": 1, "toolCalls": 2}}"#,
            r#"{"type": "receive_message", "message": "Hi", "metadata": {"iterations": 1, "tool_calls": 2}}"#,
        ),
    ] {
        let [before, now] = [before, now].map(serde_json::from_str::<EventKind>);
        assert_eq!(before.unwrap(), now.unwrap());
    }
    assert_eq!("receiveMessage".parse(), Ok(EventType::ReceiveMessage));
}
