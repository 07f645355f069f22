//! Sessions as files.

use std::time::{Duration, SystemTime};

use ptk_events::{CallId, Correlation, RequestId};
use ptk_protocol::{ErrorCode, ErrorType, ExecutionError, Message, ToolCall, ToolResult};
use ptk_store::export::{Thoughts, import_json_lines, write_json_lines, write_markdown};
use ptk_store::{
    CallCut, CallEnded, CallHeld, Compacted, EntryKind, Failure, InfoChanged, Listing, LoggedCall,
    LoggedProblem, MemoryStore, ModelReplied, NewEntry, Next, RanByHand, ReplyBroken, ReplyOutcome,
    ReplyParsed, ReplyRejected, SessionImported, SessionInfo, Store, StoreError, Transcript,
    TurnBegan, TurnEnded, TurnOutcome, Turns, Usage, fork,
};
use serde_json::json;

use super::{Scene, arguments, asked, began, both, ended, id, log, turn};

async fn exported(store: &dyn Store, name: &str) -> Vec<u8> {
    let mut lines = Vec::new();
    write_json_lines(store, &id(name), &mut lines)
        .await
        .unwrap();
    lines
}

#[tokio::test]
async fn json_lines_that_are_taken_in_give_the_same_log() {
    let scene = Scene::new();
    let from = MemoryStore::new();
    from.append(&id("one"), super::random::one_of_each())
        .await
        .unwrap();
    for number in 0..200 {
        from.append(&id("two"), turn(&format!("Question {number}")))
            .await
            .unwrap();
    }
    let mut lines = exported(&from, "one").await;
    lines.extend(exported(&from, "two").await);
    for store in both(&scene) {
        let imported = import_json_lines(&*store, &mut &lines[..], None)
            .await
            .unwrap();
        assert_eq!(imported.sessions, [id("one"), id("two")]);
        assert_eq!(
            imported.entries,
            1800 + super::random::one_of_each().len() as u64
        );
        for name in ["one", "two"] {
            let (there, here) = (log(&from, &id(name)).await, log(&*store, &id(name)).await);
            let (imported, added) = here.split_at(there.len());
            for (entry, original) in imported.iter().zip(&there) {
                let is_stripped = [
                    "session_created",
                    "session_changed",
                    "turn_began",
                    "model_replied",
                    "call_ended",
                    "value_set",
                    "newer",
                ];
                if !is_stripped.contains(&original.body.kind()) {
                    assert_eq!(entry, original);
                }
                assert_eq!((entry.seq, entry.ts), (original.seq, original.ts));
                assert_eq!(entry.correlation, original.correlation);
            }
            let mark = SessionImported {
                through: there.len() as u64,
            };
            let last = added.last().unwrap();
            assert_eq!(last.kind(), EntryKind::SessionImported(mark.clone()));
            let overview = store.session(&id(name)).await.unwrap().unwrap();
            assert_eq!(overview.imported, Some(mark));
            assert!(!overview.is_open);
        }
    }
}

#[tokio::test]
async fn no_setting_of_a_file_is_imported() {
    let from = MemoryStore::new();
    let info = SessionInfo::new()
        .title("T")
        .workspace("/w")
        .provider("cmd:evil")
        .model("m")
        .dialect("xml")
        .setting("approve", "auto");
    let began = TurnBegan {
        settings: info.settings.clone(),
    };
    let entries: Vec<EntryKind> = vec![
        info.clone().into(),
        InfoChanged(info).into(),
        began.into(),
        Message::user("Hello").into(),
    ];
    let entries = entries.into_iter().map(NewEntry::new).collect();
    from.append(&id("s"), entries).await.unwrap();
    let lines = exported(&from, "s").await;
    for store in both(&Scene::new()) {
        import_json_lines(&*store, &mut &lines[..], Some("/here"))
            .await
            .unwrap();
        let overview = store.session(&id("s")).await.unwrap().unwrap();
        let expected = SessionInfo::new().title("T").workspace("/here");
        assert_eq!(overview.info, expected);
        let log = log(&*store, &id("s")).await;
        assert_eq!(log[2].kind(), EntryKind::TurnBegan(TurnBegan::default()));
        // The turn was open, and its prompt is not the user's.
        let transcript: Transcript = log.iter().collect();
        assert_eq!(transcript.next(), Next::Prompt);
        // A fork is imported, too, however little it takes along.
        let forked = fork(&*store, &id("s"), Turns::First(0)).await.unwrap();
        let fork = store.session(&forked.unwrap().session).await.unwrap();
        assert!(fork.unwrap().imported.is_some());
    }
}

#[tokio::test]
async fn an_import_that_fails_leaves_nothing() {
    let from = MemoryStore::new();
    from.append(&id("new"), turn("Hello")).await.unwrap();
    let lines = String::from_utf8(exported(&from, "new").await).unwrap();
    let all: Vec<&str> = lines.lines().collect();
    for store in both(&Scene::new()) {
        store.append(&id("old"), turn("Hello")).await.unwrap();
        let before = log(&*store, &id("old")).await;
        let old = lines.replace("\"new\"", "\"old\"");
        let gap = [&all[..3], &all[4..]].concat().join("\n");
        let late = all[2..].join("\n");
        let cut = lines.get(..lines.len() - 40).unwrap();
        for (text, line) in [
            (old.as_str(), 1),
            (&gap, 4),
            (&late, 1),
            (cut, 9),
            ("{}\n", 1),
        ] {
            let error = import_json_lines(&*store, &mut text.as_bytes(), None)
                .await
                .unwrap_err();
            assert!(
                matches!(error, StoreError::Import { line: at, .. } if at == line),
                "{error}"
            );
            assert_eq!(store.sessions(Listing::new(9)).await.unwrap().len(), 1);
        }
        assert_eq!(log(&*store, &id("old")).await, before);
    }
}

#[tokio::test]
async fn a_session_that_is_not_there_is_exported_as_nothing() {
    let store = MemoryStore::new();
    assert!(exported(&store, "none").await.is_empty());
    let mut text = Vec::new();
    assert!(
        !write_markdown(&store, &id("none"), Thoughts::LeftOut, &mut text)
            .await
            .unwrap()
    );
    assert!(text.is_empty());
}

#[tokio::test]
async fn markdown_can_be_read_by_people() {
    let store = MemoryStore::new();
    let turn = Correlation::of_request(RequestId::new());
    let failed = CallEnded {
        state: None,
        tool: "bash".to_owned(),
        duration_ms: 1,
        result: ToolResult::failure(ErrorType::UserError, "No such command: mlik"),
    };
    let parsed = ReplyParsed {
        reasoning: String::new(),
        outcome: ReplyOutcome::Calls,
        text: "I'll look at it.".to_owned(),
        calls: Vec::new(),
        problems: Vec::new(),
        told: None,
    };
    let reply = ModelReplied {
        usage: Some(Usage {
            input_tokens: 1200,
            output_tokens: 34,
            cost_micros: 1_250_000,
            ..Usage::default()
        }),
        ..ModelReplied::new("I'll look at it. <PTK_CALL>…</PTK_CALL>")
    };
    let rejected = ReplyRejected {
        text: "The call was cut off.\nSend it again.".to_owned(),
        attempt: 1,
    };
    let error = ExecutionError::new(
        ErrorCode::MaxIterationsReached,
        "Max iterations reached (10)",
    );
    let entries: Vec<(EntryKind, Option<&str>)> = vec![
        (
            SessionInfo::new()
                .title("Errands")
                .workspace("/home/ada")
                .model("small")
                .into(),
            None,
        ),
        (TurnBegan::default().into(), None),
        (Message::user("What is due?").into(), None),
        (asked(1), None),
        (reply.into(), None),
        (parsed.into(), None),
        (began("read_file", "notes.md"), Some("c1")),
        (began("bash", "x"), Some("c2")),
        (failed.into(), Some("c2")),
        (
            ended("read_file", "# Notes\n```sh\nbuy milk\n```\n"),
            Some("c1"),
        ),
        (ModelReplied::new("<PTK_CALL>{\"tool").into(), None),
        (rejected.into(), None),
        (ModelReplied::new("Milk.").into(), None),
        (Failure::new("The model is gone").into(), None),
        (TurnEnded::failed(&error).into(), None),
        (Compacted::new("Ada needs milk.", 8).into(), None),
        (began("bash", "buy"), Some("c3")),
    ];
    let start = SystemTime::UNIX_EPOCH + Duration::from_secs(1_800_000_000);
    let entries = (0..).zip(entries).map(|(number, (kind, call))| {
        let mut entry = NewEntry::new(kind).of(&turn);
        entry.ts = start + Duration::from_secs(number);
        call.map_or(entry.clone(), |call| entry.about(call))
    });
    store.append(&id("s"), entries.collect()).await.unwrap();
    let mut text = Vec::new();
    assert!(
        write_markdown(&store, &id("s"), Thoughts::LeftOut, &mut text)
            .await
            .unwrap()
    );
    insta::assert_snapshot!(String::from_utf8(text).unwrap());
}

/// Each call stands where the model made it, whatever became of it.
#[tokio::test]
async fn calls_stand_where_they_were_made() {
    let store = MemoryStore::new();
    let turn = Correlation::of_request(RequestId::new());
    let found = |name: &str, problem: Option<&str>| LoggedCall {
        problems: problem
            .map(|message| LoggedProblem {
                code: "schema".to_owned(),
                message: message.to_owned(),
            })
            .into_iter()
            .collect(),
        ..LoggedCall::new(
            CallId::from(name),
            ToolCall::new(name, arguments(&json!({"of": name}))).with_reasoning("to know"),
        )
    };
    let parsed = ReplyParsed {
        outcome: ReplyOutcome::Calls,
        text: "Let me see.".to_owned(),
        calls: vec![
            found("slow", None),
            found("unfit", Some("`of` is not a number")),
            found("quick", None),
            found("cut", None),
            found("held", None),
            found("late", None),
        ],
        problems: Vec::new(),
        reasoning: "One after the other.".to_owned(),
        told: None,
    };
    let unfit = CallEnded {
        state: None,
        tool: "unfit".to_owned(),
        duration_ms: 0,
        result: ToolResult::failure(ErrorType::ValidationError, "`of` is not a number"),
    };
    let cut = CallCut {
        tool: "cut".to_owned(),
        duration_ms: 9,
        result: ToolResult::failure(ErrorType::SystemError, "cut was cancelled"),
    };
    let held = CallHeld {
        tool: "held".to_owned(),
    };
    let by_hand = RanByHand {
        tool: "bash".to_owned(),
        arguments: arguments(&json!({"command": "date"})),
        duration_ms: 3,
        result: ToolResult::success([("output", "Monday".into())]),
        told: String::new(),
    };
    let entries: Vec<(EntryKind, Option<&str>)> = vec![
        (TurnBegan::default().into(), None),
        (Message::user("What is due?").into(), None),
        (asked(1), None),
        (ModelReplied::new("…").into(), None),
        (parsed.into(), None),
        (unfit.into(), Some("unfit")),
        (began("slow", "s"), Some("slow")),
        (began("quick", "q"), Some("quick")),
        (ended("quick", "soon"), Some("quick")),
        (Message::user("Hurry.").into(), None),
        (ended("slow", "at last"), Some("slow")),
        (began("cut", "c"), Some("cut")),
        (cut.into(), Some("cut")),
        (began("held", "h"), Some("held")),
        (held.into(), Some("held")),
        (TurnEnded::new(TurnOutcome::Cancelled).into(), None),
        (by_hand.into(), Some("by-hand")),
        (TurnBegan::default().into(), None),
        (Message::user("And now?").into(), None),
        (
            ReplyBroken {
                text: "Nothing, as".to_owned(),
                reason: "it broke off".to_owned(),
                ..ReplyBroken::default()
            }
            .into(),
            None,
        ),
    ];
    let entries = entries.into_iter().map(|(kind, call)| {
        let entry = NewEntry::new(kind).of(&turn);
        call.map_or(entry.clone(), |call| entry.about(call))
    });
    store.append(&id("s"), entries.collect()).await.unwrap();
    let mut text = Vec::new();
    write_markdown(&store, &id("s"), Thoughts::Shown, &mut text)
        .await
        .unwrap();
    let text = String::from_utf8(text).unwrap();
    let said = text.find("## You").unwrap();
    insta::assert_snapshot!(text.get(said..).unwrap());
}
