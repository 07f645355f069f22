//! The state of a conversation follows from its log.

use std::collections::HashSet;

use proptest::prelude::*;
use ptk_events::{CallId, Correlation, RequestId};
use ptk_protocol::{Image, Message, Role, ToolCall, ToolResult};
use ptk_store::{
    Call, CallState, Compacted, Content, Entry, EntryKind, IMAGES_NOT_TAKEN, LoggedCall,
    ModelReplied, NativeCall, NewEntry, Next, ReplyOutcome, ReplyParsed, ReplyRejected, Transcript,
    TurnBegan, TurnEnded, TurnOutcome,
};
use serde_json::json;

use super::random::{deeds, entries, logged};
use super::{arguments, asked, began, ended, turn};

fn text(result: &ToolResult) -> String {
    result.payload().to_string()
}

fn fold(entries: &[NewEntry]) -> Transcript {
    logged(entries).iter().collect()
}

fn kinds(list: Vec<(EntryKind, Option<&str>)>) -> Vec<NewEntry> {
    list.into_iter()
        .map(|(kind, call)| match call {
            Some(call) => NewEntry::new(kind).about(call),
            None => NewEntry::new(kind),
        })
        .collect()
}

fn parsed(outcome: ReplyOutcome, calls: &[&str]) -> EntryKind {
    let call = |id: &&str| {
        let call = ToolCall::new("read_file", arguments(&json!({"path": id})));
        LoggedCall::new(CallId::from(*id), call)
    };
    ReplyParsed {
        reasoning: String::new(),
        outcome,
        text: "prose".to_owned(),
        calls: calls.iter().map(call).collect(),
        problems: Vec::new(),
        told: None,
    }
    .into()
}

/// A turn, step by step, and what comes next after each.
#[test]
fn every_step_says_what_comes_next() {
    let steps: Vec<(EntryKind, Option<&str>, Next)> = vec![
        (
            TurnBegan::default().into(),
            None,
            Next::Ask { again: false },
        ),
        (Message::user("Hi").into(), None, Next::Ask { again: false }),
        (asked(1), None, Next::Ask { again: true }),
        (
            ModelReplied::new("…").into(),
            None,
            Next::Parse { reply: 4 },
        ),
        (
            parsed(ReplyOutcome::Malformed, &[]),
            None,
            Next::Reject { reply: 4 },
        ),
        (
            ReplyRejected {
                text: "No.".to_owned(),
                attempt: 1,
            }
            .into(),
            None,
            Next::Ask { again: false },
        ),
        (asked(2), None, Next::Ask { again: true }),
        (
            ModelReplied::new("<call><call>").into(),
            None,
            Next::Parse { reply: 8 },
        ),
        (
            parsed(ReplyOutcome::Calls, &["a", "b"]),
            None,
            Next::Calls { reply: 8 },
        ),
        (began("read_file", "b"), Some("b"), Next::Calls { reply: 8 }),
        (ended("read_file", "B"), Some("b"), Next::Calls { reply: 8 }),
        (began("read_file", "a"), Some("a"), Next::Calls { reply: 8 }),
        (
            ended("read_file", "A"),
            Some("a"),
            Next::Ask { again: false },
        ),
        (asked(3), None, Next::Ask { again: true }),
        (
            ModelReplied::new("Done.").into(),
            None,
            Next::Parse { reply: 15 },
        ),
        (
            parsed(ReplyOutcome::Text, &[]),
            None,
            Next::End { reply: 15 },
        ),
        (
            TurnEnded::new(TurnOutcome::Answered).into(),
            None,
            Next::Prompt,
        ),
    ];
    let list: Vec<_> = steps
        .iter()
        .map(|(kind, call, _)| (kind.clone(), *call))
        .collect();
    let log = logged(&kinds(list));
    let mut transcript = Transcript::new();
    assert_eq!(transcript.next(), Next::Prompt);
    for (entry, (_, _, next)) in log.iter().zip(&steps) {
        transcript.absorb(entry);
        assert_eq!(transcript.next(), *next, "after {entry:?}");
    }
    let messages = transcript.messages(text);
    let told: Vec<(Role, &str)> = messages
        .iter()
        .map(|message| (message.role, message.content.as_str()))
        .collect();
    // The results stand in call order, whichever came first.
    assert_eq!(
        told,
        [
            (Role::User, "Hi"),
            (Role::Assistant, "…"),
            (Role::Tool, "No."),
            (Role::Assistant, "<call><call>"),
            (Role::Tool, "\"A\""),
            (Role::Tool, "\"B\""),
            (Role::Assistant, "Done."),
        ]
    );
}

#[test]
fn a_call_that_may_have_happened_is_said_to_be_so() {
    let transcript = fold(&kinds(vec![
        (TurnBegan::default().into(), None),
        (ModelReplied::new("<calls>").into(), None),
        (parsed(ReplyOutcome::Calls, &["done", "cut", "late"]), None),
        (began("read_file", "x"), Some("done")),
        (began("bash", "x"), Some("cut")),
        (ended("read_file", "fine"), Some("done")),
    ]));
    let Next::Calls { reply } = transcript.next() else {
        panic!("{:?}", transcript.next());
    };
    let states: Vec<&CallState> = transcript
        .calls_of(reply)
        .iter()
        .map(|call| &call.state)
        .collect();
    assert!(matches!(
        states[..],
        [
            CallState::Ended { .. },
            CallState::Uncertain { .. },
            CallState::Waiting
        ]
    ));
    let uncertain: Vec<&str> = transcript
        .uncertain()
        .map(|call| call.id.as_str())
        .collect();
    assert_eq!(uncertain, ["cut"]);
    let told: Vec<String> = transcript
        .messages(|result| result.error.clone())
        .into_iter()
        .map(|message| message.content)
        .collect();
    assert_eq!(told[1], "");
    assert!(told[2].contains("may or may not have happened"));
    assert!(told[3].contains("was not run"));
}

/// The rejection says what was wrong with all of them at once.
#[test]
fn calls_of_a_reply_that_cannot_be_used_have_no_results() {
    let rejected = ReplyRejected {
        text: "It was cut off.".to_owned(),
        attempt: 1,
    };
    let transcript = fold(&kinds(vec![
        (TurnBegan::default().into(), None),
        (ModelReplied::new("<PTK_CALL>{").into(), None),
        (parsed(ReplyOutcome::Malformed, &["a"]), None),
        (rejected.into(), None),
    ]));
    let messages = transcript.messages(text);
    let told: Vec<&str> = messages
        .iter()
        .map(|message| message.content.as_str())
        .collect();
    assert_eq!(told, ["<PTK_CALL>{", "It was cut off."]);
}

#[test]
fn native_calls_are_told_as_such() {
    let reply = ModelReplied {
        calls: vec![NativeCall {
            id: Some("call_0".to_owned()),
            name: "read_file".to_owned(),
            arguments: "{\"path\": \"a\"}".to_owned(),
        }],
        ..ModelReplied::new("")
    };
    let transcript = fold(&kinds(vec![
        (TurnBegan::default().into(), None),
        (reply.into(), None),
        (parsed(ReplyOutcome::Calls, &["a"]), None),
        (ended("read_file", "A"), Some("a")),
    ]));
    let messages = transcript.messages(text);
    assert_eq!(messages[0].tool_calls[0].id.as_deref(), Some("a"));
    assert_eq!(messages[1].tool_call_id.as_deref(), Some("a"));
}

#[test]
fn an_image_that_cannot_be_read_is_missing_and_its_message_is_not() {
    let image = Image::new(b"GIF89a").unwrap();
    let json = json!({
        "session": "s", "seq": 1, "ts": "2026-01-31T08:00:00.250Z", "kind": "message", "version": 1,
        "body": {"role": "user", "text": "See", "images": ["data:image/gif;base64,[…]", image.to_url(), 5]},
    });
    let entry: Entry = serde_json::from_str(&json.to_string()).unwrap();
    let EntryKind::Message(message) = entry.kind() else {
        panic!("{:?}", entry.kind());
    };
    assert_eq!(
        (message.text.as_str(), message.images),
        ("See", vec![image])
    );
}

#[test]
fn a_turn_whose_images_were_refused_is_marked() {
    for (code, has_reply, is_refused) in [
        (IMAGES_NOT_TAKEN, false, true),
        (IMAGES_NOT_TAKEN, true, false),
        ("LLM_CALL_FAILED", false, false),
    ] {
        let of = Correlation::of_request(RequestId::new());
        let mut log = turn("before");
        log.push(NewEntry::new(TurnBegan::default()).of(&of));
        log.push(NewEntry::new(Message::user("See")).of(&of));
        log.push(NewEntry::new(asked(1)).of(&of));
        if has_reply {
            log.push(NewEntry::new(ModelReplied::new("I see")).of(&of));
        }
        let ended = TurnEnded {
            code: Some(code.to_owned()),
            ..TurnEnded::new(TurnOutcome::Failed)
        };
        log.push(NewEntry::new(ended).of(&of));
        let transcript = fold(&log);
        let refused = transcript.items().iter().filter(|item| item.is_refused);
        assert_eq!(refused.count(), usize::from(is_refused), "{code}");
    }
}

#[test]
fn what_was_told_in_short_is_left_out() {
    let mut log = turn("first");
    log.extend(turn("second"));
    let compacted = Compacted::new("They talked.", 9);
    log.push(NewEntry::new(compacted));
    log.extend(turn("third"));
    let transcript = fold(&log);
    let messages = transcript.messages(text);
    assert_eq!(messages[0].role, Role::System);
    assert!(messages[0].content.ends_with("They talked."));
    assert_eq!(messages[1], Message::user("second"));
    assert!(messages.contains(&Message::user("third")));
    assert!(!messages.contains(&Message::user("first")));
    assert!(transcript.items().is_sorted_by_key(|item| item.seq));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, ..ProptestConfig::default() })]

    /// An entry need not be read back after it was written.
    #[test]
    fn entries_fold_alike_before_and_after_they_are_written(deeds in deeds()) {
        let entries = entries(&deeds);
        let mut transcript = Transcript::new();
        for (seq, entry) in (1..).zip(entries.clone()) {
            transcript.absorb_new(seq, entry);
        }
        prop_assert_eq!(transcript, fold(&entries));
    }

    /// Whatever a log says, its fold makes sense.
    #[test]
    fn any_log_folds_to_a_conversation(deeds in deeds()) {
        let log = logged(&entries(&deeds));
        let mut transcript = Transcript::new();
        let mut ended = HashSet::new();
        for entry in &log {
            transcript.absorb(entry);
            // What has ended is never uncertain again, and never to be run.
            for item in transcript.items() {
                for call in transcript.calls_of(item.seq) {
                    let key = (item.seq, call.id.clone());
                    if matches!(call.state, CallState::Ended { .. }) {
                        ended.insert(key);
                    } else {
                        prop_assert!(!ended.contains(&key));
                    }
                }
            }
            if let Next::Calls { reply } = transcript.next() {
                let calls = transcript.calls_of(reply);
                let is_open = |call: &Call| !matches!(call.state, CallState::Ended { .. });
                prop_assert!(calls.iter().any(is_open));
            }
        }
        prop_assert!(transcript.items().is_sorted_by_key(|item| item.seq));
        for item in transcript.items() {
            if let Content::Reply(reply) = &item.content {
                let ids: HashSet<_> = reply.calls.iter().map(|call| &call.id).collect();
                prop_assert_eq!(ids.len(), reply.calls.len());
            }
        }
        // Every call has a result behind it, before any other message.
        let messages = transcript.messages(text);
        for (at, message) in messages.iter().enumerate() {
            for (behind, call) in message.tool_calls.iter().enumerate() {
                let result = &messages[at + 1 + behind];
                prop_assert_eq!(&result.tool_call_id, &call.id);
            }
        }
    }

    /// Entry by entry or all at once, and cut anywhere: the same.
    #[test]
    fn a_fold_goes_on_where_it_stopped(deeds in deeds(), cut in 0..80_usize) {
        let log = logged(&entries(&deeds));
        let whole: Transcript = log.iter().collect();
        let (start, rest) = log.split_at(cut.min(log.len()));
        let mut transcript: Transcript = start.iter().collect();
        for entry in rest {
            transcript.absorb(entry);
        }
        prop_assert_eq!(transcript, whole);
    }
}
