//! Entries of all kinds, and logs that a session might write.

use proptest::prelude::*;
use ptk_events::{CallId, Correlation, RequestId};
use ptk_protocol::{ErrorType, Image, Message, ToolCall, ToolResult};
use ptk_store::{
    CallAllowed, CallCut, CallEnded, CallHeld, ChosenFile, Cleared, Compacted, Entry, EntryKind,
    Failure, Fork, HelperAsked, HelperReplied, HelperTask, InfoChanged, LoggedCall, LoggedProblem,
    ModelReplied, NativeCall, NewEntry, Note, RanByHand, ReplyBroken, ReplyOutcome, ReplyParsed,
    ReplyRejected, SessionImported, SessionInfo, TurnBegan, TurnEnded, TurnOutcome, Usage,
    ValueSet,
};
use serde_json::json;

use super::{arguments, asked, began, ended, id};

fn helper_asked() -> HelperAsked {
    HelperAsked {
        task: HelperTask::Shorten,
        provider: "p".to_owned(),
        model: Some("m".to_owned()),
    }
}

fn helper_replied() -> HelperReplied {
    HelperReplied {
        task: HelperTask::ChooseFiles,
        provider: "p".to_owned(),
        model: Some("m".to_owned()),
        text: "t".to_owned(),
        files: vec![ChosenFile {
            path: "a".to_owned(),
            error: Some("e".to_owned()),
            content: Some("c".to_owned()),
        }],
        error: Some("e".to_owned()),
        usage: Some(Usage::default()),
        duration_ms: 1,
    }
}

/// Entries of imports, broken replies, and calls that were held or cut.
fn unfinished(failed: &CallEnded) -> Vec<EntryKind> {
    vec![
        SessionImported { through: 3 }.into(),
        ReplyBroken {
            text: "half a".to_owned(),
            reasoning: "hm".to_owned(),
            calls: Vec::new(),
            reason: "it broke off".to_owned(),
            usage: None,
            duration_ms: 7,
        }
        .into(),
        CallHeld {
            tool: "t".to_owned(),
        }
        .into(),
        CallAllowed {
            tool: "t".to_owned(),
        }
        .into(),
        CallCut {
            tool: "t".to_owned(),
            duration_ms: 1,
            result: failed.result.clone(),
        }
        .into(),
        RanByHand {
            tool: "t".to_owned(),
            arguments: arguments(&json!({"a": 0.10})),
            duration_ms: 1,
            result: failed.result.clone(),
            told: String::new(),
        }
        .into(),
    ]
}

fn session_info() -> SessionInfo {
    SessionInfo::new()
        .title("T")
        .workspace("/w")
        .provider("p")
        .model("m")
        .dialect("ptk")
        .setting("a", json!({"b": 1}))
}

fn value_set() -> ValueSet {
    ValueSet {
        key: "k".to_owned(),
        value: json!({"a": 1}),
    }
}

/// An entry of each kind, with everything in it.
pub(super) fn one_of_each() -> Vec<NewEntry> {
    let call = ToolCall::new("t", arguments(&json!({"a": [1, null]}))).with_reasoning("why");
    let logged = LoggedCall {
        status: Some(ptk_protocol::Status::Repaired),
        dialect: Some("ptk".to_owned()),
        problems: vec![LoggedProblem {
            code: "fence".to_owned(),
            message: "It stood in a fence".to_owned(),
        }],
        ..LoggedCall::new(CallId::from("c1"), call.clone())
    };
    let reply = ModelReplied {
        text: "…".to_owned(),
        reasoning: "hm".to_owned(),
        calls: vec![NativeCall {
            id: Some("x".to_owned()),
            name: "t".to_owned(),
            arguments: "{not json".to_owned(),
        }],
        finish_reason: Some("stop".to_owned()),
        usage: Some(Usage {
            input_tokens: 1,
            cached_tokens: 2,
            cache_write_tokens: 7,
            output_tokens: 3,
            reasoning_tokens: 4,
            cost_micros: 5,
        }),
        state: Some(json!({"signature": "s"})),
        duration_ms: 6,
    };
    let info = session_info();
    let failed = CallEnded {
        state: None,
        tool: "t".to_owned(),
        duration_ms: 1,
        result: ToolResult::failure(ErrorType::SecurityError, "no").with_suggestion("ask"),
    };
    let said = Message {
        tool_calls: vec![call.with_id("c0")],
        ..Message::assistant("a\u{0}b \u{1f600}")
    };
    let unfinished = unfinished(&failed);
    let kinds: Vec<EntryKind> = vec![
        info.clone().into(),
        InfoChanged(info).into(),
        Fork {
            session: id("another"),
            through: 2,
            turns: 0,
        }
        .into(),
        TurnBegan::default().into(),
        said.into(),
        asked(1),
        reply.into(),
        ReplyParsed {
            reasoning: String::new(),
            outcome: ReplyOutcome::Calls,
            text: "t".to_owned(),
            calls: vec![logged],
            problems: Vec::new(),
            told: None,
        }
        .into(),
        began("t", "x"),
        failed.into(),
        helper_asked().into(),
        helper_replied().into(),
        ReplyRejected {
            text: "r".to_owned(),
            attempt: 2,
        }
        .into(),
        Compacted {
            images: Image::new(b"GIF89a").into_iter().collect(),
            ..Compacted::new("s", 3)
        }
        .into(),
        Cleared {}.into(),
        value_set().into(),
        TurnEnded::new(TurnOutcome::Cancelled).into(),
        Failure::new("f").into(),
        Note {
            data: Some(json!([1])),
            ..Note::new("n")
        }
        .into(),
    ];
    let correlation = Correlation::of_request(RequestId::new())
        .caused_by("parent")
        .with_call("c1");
    kinds
        .into_iter()
        .chain(unfinished)
        .map(|kind| NewEntry::new(kind).of(&correlation))
        .collect()
}

/// A random event of a log, by small numbers: which turn, which call.
#[derive(Debug, Clone)]
pub(super) enum Deed {
    Begin,
    Say,
    Ask,
    Reply { calls: u8, native: bool },
    Parse(ReplyOutcome),
    CallBegins(u8),
    CallEnds(u8),
    Reject,
    Compact(u8),
    Clear,
    End,
    Note,
}

pub(super) fn deeds() -> impl Strategy<Value = Vec<Deed>> {
    let deed = prop_oneof![
        4 => Just(Deed::Begin),
        3 => Just(Deed::Say),
        3 => Just(Deed::Ask),
        4 => (0..4_u8, any::<bool>()).prop_map(|(calls, native)| Deed::Reply { calls, native }),
        4 => prop_oneof![Just(ReplyOutcome::Text), Just(ReplyOutcome::Calls), Just(ReplyOutcome::Malformed)].prop_map(Deed::Parse),
        6 => (0..4_u8).prop_map(Deed::CallBegins),
        6 => (0..4_u8).prop_map(Deed::CallEnds),
        1 => Just(Deed::Reject),
        1 => (0..20_u8).prop_map(Deed::Compact),
        1 => Just(Deed::Clear),
        2 => Just(Deed::End),
        1 => Just(Deed::Note),
    ];
    prop::collection::vec(deed, 0..80)
}

/// The log of these events. The ids of calls are those of the last reply.
pub(super) fn entries(deeds: &[Deed]) -> Vec<NewEntry> {
    let mut turn = Correlation::default();
    let mut reply = 0;
    let mut calls = 0;
    let call_id = |reply: usize, call: u8| CallId::from(format!("call {reply}.{call}"));
    let entry = |(number, deed): (usize, &Deed)| {
        let mut about = None;
        let kind: EntryKind = match deed {
            Deed::Begin => {
                turn = Correlation::of_request(RequestId::new());
                TurnBegan::default().into()
            }
            Deed::Say => Message::user(format!("said {number}")).into(),
            Deed::Ask => asked(1),
            Deed::Reply {
                calls: count,
                native,
            } => {
                (reply, calls) = (number, *count);
                let native = (0..*count).filter(|_| *native).map(|call| NativeCall {
                    id: None,
                    name: format!("tool {call}"),
                    arguments: "{}".to_owned(),
                });
                ModelReplied {
                    calls: native.collect(),
                    ..ModelReplied::new(format!("reply {number}"))
                }
                .into()
            }
            Deed::Parse(outcome) => ReplyParsed {
                reasoning: String::new(),
                outcome: *outcome,
                text: "prose".to_owned(),
                calls: (0..calls)
                    .map(|call| {
                        let found = ToolCall::new(format!("tool {call}"), arguments(&json!({})));
                        LoggedCall::new(call_id(reply, call), found)
                    })
                    .collect(),
                problems: Vec::new(),
                told: None,
            }
            .into(),
            Deed::CallBegins(call) => {
                about = Some(call_id(reply, *call));
                began("tool", "x")
            }
            Deed::CallEnds(call) => {
                about = Some(call_id(reply, *call));
                ended("tool", "done")
            }
            Deed::Reject => ReplyRejected {
                text: "again".to_owned(),
                attempt: 1,
            }
            .into(),
            Deed::Compact(back) => {
                let through = (number as u64 + 1).saturating_sub(u64::from(*back) + 1);
                Compacted::new("in short", through).into()
            }
            Deed::Clear => Cleared {}.into(),
            Deed::End => TurnEnded::new(TurnOutcome::Answered).into(),
            Deed::Note => Note::new("aside").into(),
        };
        let entry = NewEntry::new(kind).of(&turn);
        match about {
            Some(call) => entry.about(call),
            None => entry,
        }
    };
    deeds.iter().enumerate().map(entry).collect()
}

/// The same entries as they would be read from a store.
pub(super) fn logged(new: &[NewEntry]) -> Vec<Entry> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .build()
        .unwrap();
    runtime.block_on(async {
        let store = ptk_store::MemoryStore::new();
        ptk_store::Store::append(&store, &id("s"), new.to_vec())
            .await
            .unwrap();
        super::log(&store, &id("s")).await
    })
}
