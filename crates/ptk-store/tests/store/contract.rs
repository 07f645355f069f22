//! The contract that every store keeps.

use std::time::{Duration, SystemTime};

use ptk_store::{
    Appended, Checked, EntryKind, InfoChanged, Listing, MAX_ENTRY, MemoryStore, NewEntry,
    Redaction, Retention, Search, SessionInfo, SqliteStore, Store, StoreError, Stretch,
};
use serde_json::json;

use super::{Scene, both, id, log, note, turn};

#[tokio::test]
async fn what_is_appended_is_read_as_it_was() {
    for store in both(&Scene::new()) {
        let session = id("s");
        let given = turn("Hello");
        let appended = store.append(&session, given.clone()).await.unwrap();
        assert_eq!(appended, Appended { first: 1, last: 9 });
        let read = log(&*store, &session).await;
        assert_eq!(read.len(), given.len());
        for (number, (entry, given)) in (1..).zip(read.iter().zip(&given)) {
            assert_eq!(entry.seq, number);
            assert_eq!(entry.ts, given.ts);
            assert_eq!(entry.correlation, given.correlation);
            assert_eq!(entry.kind(), *given.kind);
        }
        let none = store.append(&session, Vec::new()).await.unwrap();
        assert_eq!(none, Appended { first: 10, last: 9 });
        assert!(log(&*store, &id("another")).await.is_empty());
        assert_eq!(store.session(&id("another")).await.unwrap(), None);
    }
}

#[tokio::test]
async fn every_kind_of_entry_reads_back_as_it_was() {
    for store in both(&Scene::new()) {
        let session = id("s");
        let given = super::random::one_of_each();
        store.append(&session, given.clone()).await.unwrap();
        let kinds: Vec<EntryKind> = log(&*store, &session)
            .await
            .iter()
            .map(ptk_store::Entry::kind)
            .collect();
        let given: Vec<EntryKind> = given.iter().map(|entry| (*entry.kind).clone()).collect();
        assert_eq!(kinds, given);
    }
}

#[tokio::test]
async fn a_log_is_read_in_pages_from_either_end() {
    for store in both(&Scene::new()) {
        let session = id("s");
        let notes = (1..=30).map(|number| note(number.to_string())).collect();
        store.append(&session, notes).await.unwrap();
        let seqs = async |stretch| {
            let page = store.read(&session, stretch).await.unwrap();
            page.iter().map(|entry| entry.seq).collect::<Vec<_>>()
        };
        assert_eq!(seqs(Stretch::after(0, 3)).await, [1, 2, 3]);
        assert_eq!(seqs(Stretch::after(28, 10)).await, [29, 30]);
        assert!(seqs(Stretch::after(30, 10)).await.is_empty());
        assert_eq!(seqs(Stretch::last(2)).await, [29, 30]);
        assert_eq!(seqs(Stretch::before(3, 10)).await, [1, 2]);
        assert!(seqs(Stretch::before(1, 10)).await.is_empty());
    }
}

#[tokio::test]
async fn a_page_of_large_entries_is_short_and_never_empty() {
    for store in both(&Scene::new()) {
        let session = id("s");
        for _ in 0..4 {
            let large = note("x".repeat(3_000_000));
            store.append(&session, vec![large]).await.unwrap();
        }
        for stretch in [Stretch::after(0, 100), Stretch::last(100)] {
            assert_eq!(store.read(&session, stretch).await.unwrap().len(), 2);
        }
        assert_eq!(log(&*store, &session).await.len(), 4);
    }
}

#[tokio::test]
async fn an_overview_says_what_the_log_says() {
    for store in both(&Scene::new()) {
        let session = id("s");
        let info = SessionInfo::new()
            .workspace("/w")
            .model("small")
            .setting("timeout", 30);
        store
            .append(&session, vec![NewEntry::new(info)])
            .await
            .unwrap();
        store
            .append(&session, turn("What is\n  due?"))
            .await
            .unwrap();
        store.append(&session, turn("And now?")).await.unwrap();
        let change = InfoChanged(SessionInfo::new().title("Errands").model("large"));
        store
            .append(&session, vec![NewEntry::new(change)])
            .await
            .unwrap();

        let overview = store.session(&session).await.unwrap().unwrap();
        assert_eq!(overview.entries, 20);
        assert_eq!(
            (overview.turns, overview.calls, overview.messages),
            (2, 2, 6)
        );
        assert!(!overview.is_open);
        assert_eq!(overview.preview.as_deref(), Some("What is due?"));
        assert_eq!(overview.name(), "Errands");
        assert_eq!(overview.info.model.as_deref(), Some("large"));
        assert_eq!(overview.info.settings["timeout"], 30);
        assert_eq!(overview.usage.input_tokens, 200);
        assert_eq!(overview.usage.cost_micros, 14);
    }
}

#[tokio::test]
async fn sessions_are_listed_from_the_last_in_pages() {
    for store in both(&Scene::new()) {
        let start = SystemTime::UNIX_EPOCH + Duration::from_secs(1_800_000_000);
        for number in 0..25_u64 {
            let workspace = if number % 2 == 0 { "/even" } else { "/odd" };
            let mut entry = NewEntry::new(SessionInfo::new().workspace(workspace));
            // Two at a time, so that equal times have an order, too.
            entry.ts = start + Duration::from_secs(number / 2);
            let session = id(&format!("s{number:02}"));
            store.append(&session, vec![entry]).await.unwrap();
        }
        let mut names = Vec::new();
        let mut listing = Listing::new(4);
        loop {
            let page = store.sessions(listing).await.unwrap();
            let Some(last) = page.last() else { break };
            listing = Listing::new(4).after(last);
            names.extend(page.iter().map(|overview| overview.id.to_string()));
        }
        let expected: Vec<String> = (0..25)
            .rev()
            .map(|number| format!("s{number:02}"))
            .collect();
        assert_eq!(names, expected);

        let odd = store
            .sessions(Listing::new(100).workspace("/odd"))
            .await
            .unwrap();
        assert_eq!(odd.len(), 12);
        let twenties = store
            .sessions(Listing::new(100).prefix("s2"))
            .await
            .unwrap();
        assert_eq!(twenties.len(), 5);
    }
}

#[tokio::test]
async fn words_are_found_in_what_was_said() {
    for store in both(&Scene::new()) {
        let info = SessionInfo::new().workspace("/w");
        store
            .append(&id("a"), vec![NewEntry::new(info)])
            .await
            .unwrap();
        store
            .append(&id("a"), turn("Đọc file package.json"))
            .await
            .unwrap();
        store
            .append(&id("b"), turn("Why is the Café closed?"))
            .await
            .unwrap();
        let found = async |search: Search| {
            let hits = store.search(search).await.unwrap();
            let hits = hits.iter().map(|hit| (hit.session.to_string(), hit.seq));
            hits.collect::<Vec<_>>()
        };
        let in_b = [("b".to_owned(), 8), ("b".to_owned(), 2)];
        assert_eq!(found(Search::new("cafe", 9)).await, in_b);
        assert_eq!(found(Search::new("CLOSE wh", 9)).await, in_b);
        assert_eq!(found(Search::new("\"the café closed\"", 9)).await, in_b);
        assert_eq!(found(Search::new("cafe", 1)).await, in_b[..1]);
        assert_eq!(found(Search::new("cafe", 9).skip(1)).await, in_b[1..]);
        assert!(found(Search::new("\"closed café\"", 9)).await.is_empty());
        assert!(
            found(Search::new("cafe", 9).session(id("a")))
                .await
                .is_empty()
        );
        assert!(
            found(Search::new("cafe", 9).workspace("/w"))
                .await
                .is_empty()
        );
        assert_eq!(found(Search::new("đọc", 9).workspace("/w")).await.len(), 2);
        assert!(found(Search::new(" -\"*( ", 9)).await.is_empty());

        let hit = &store.search(Search::new("cafe", 9)).await.unwrap()[1];
        assert_eq!(hit.excerpt, "Why is the Café closed?");
        let place = hit.matches[0].clone();
        assert_eq!(hit.excerpt.get(place), Some("Café"));
        assert_eq!(hit.kind, "message");
    }
}

#[tokio::test]
async fn a_deleted_session_is_gone_from_everywhere() {
    for store in both(&Scene::new()) {
        store.append(&id("gone"), turn("apples")).await.unwrap();
        store.append(&id("kept"), turn("apples")).await.unwrap();
        assert!(store.delete(&id("gone")).await.unwrap());
        assert!(!store.delete(&id("gone")).await.unwrap());
        assert!(log(&*store, &id("gone")).await.is_empty());
        assert_eq!(store.session(&id("gone")).await.unwrap(), None);
        assert_eq!(store.sessions(Listing::new(9)).await.unwrap().len(), 1);
        let hits = store.search(Search::new("apples", 9)).await.unwrap();
        assert!(hits.iter().all(|hit| hit.session == id("kept")) && hits.len() == 2);
        let checked = store.check().await.unwrap();
        assert_eq!((checked.sessions, checked.entries), (1, 9));
        assert!(checked.damage.is_empty(), "{:?}", checked.damage);

        let again = store.append(&id("gone"), vec![note("anew")]).await.unwrap();
        assert_eq!(again.first, 1);
    }
}

/// Alone, and among many others: words are taken out in two ways.
#[tokio::test]
async fn nothing_of_a_deleted_session_stays_in_the_file() {
    for others in [0, 100] {
        let scene = Scene::new();
        let store = scene.open();
        for number in 0..others {
            let session = id(&format!("other{number}"));
            store
                .append(&session, turn("apples and pears"))
                .await
                .unwrap();
        }
        store
            .append(&id("s"), turn("my word is Xylophagous"))
            .await
            .unwrap();
        store.delete(&id("s")).await.unwrap();
        assert!(
            store
                .search(Search::new("xylo", 9))
                .await
                .unwrap()
                .is_empty()
        );
        let apples = store.search(Search::new("apples", 1000)).await.unwrap();
        assert_eq!(apples.len(), 2 * others);
        assert!(store.check().await.unwrap().damage.is_empty());
        drop(store);
        let bytes = std::fs::read(scene.path()).unwrap();
        let bytes = bytes.to_ascii_lowercase();
        assert!(!bytes.windows(8).any(|part| part == b"lophagou"));
    }
}

#[tokio::test]
async fn what_is_too_old_or_too_much_is_removed() {
    for store in both(&Scene::new()) {
        let now = SystemTime::UNIX_EPOCH + Duration::from_secs(1_800_000_000);
        let day = Duration::from_secs(24 * 60 * 60);
        for age in 0..10 {
            let mut entry = note("apples");
            entry.ts = now - age * day;
            store
                .append(&id(&format!("age{age}")), vec![entry])
                .await
                .unwrap();
        }
        let forever = Retention::forever();
        assert!(
            forever
                .apply(&*store, now)
                .await
                .unwrap()
                .deleted
                .is_empty()
        );
        let elsewhere = Retention::forever()
            .in_workspace("/elsewhere")
            .no_more_than(0);
        let removed = elsewhere.apply(&*store, now).await.unwrap();
        assert_eq!(removed.deleted, []);
        let week = Retention::forever().no_older_than(7 * day);
        let removed = week.apply(&*store, now).await.unwrap();
        assert_eq!(removed.deleted, [id("age8"), id("age9")]);
        let five = Retention::forever().no_more_than(5);
        let removed = five.apply(&*store, now).await.unwrap();
        assert_eq!(removed.deleted, [id("age5"), id("age6"), id("age7")]);
        assert_eq!(
            store.search(Search::new("apples", 99)).await.unwrap().len(),
            5
        );
        assert!(store.check().await.unwrap().damage.is_empty());
    }
}

#[tokio::test]
async fn no_secret_is_written() {
    let scene = Scene::new();
    let redaction = Redaction::new(|text| text.replace("hunter2", "[…]").into());
    let sqlite = SqliteStore::open_redacting(scene.path(), redaction.clone()).unwrap();
    let memory = MemoryStore::new().redacting(redaction);
    for store in [&sqlite as &dyn Store, &memory] {
        let session = id("s");
        store
            .append(&session, turn("my word is hunter2!"))
            .await
            .unwrap();
        let title = SessionInfo::new()
            .title("hunter2")
            .setting("key", "hunter2");
        store
            .append(&session, vec![NewEntry::new(title)])
            .await
            .unwrap();
        let text = format!("{:?}", log(store, &session).await);
        assert!(!text.contains("hunter2") && text.contains("my word is […]!"));
        let overview = store.session(&session).await.unwrap().unwrap();
        assert_eq!(overview.preview.as_deref(), Some("my word is […]!"));
        assert_eq!(overview.info.settings["key"], "[…]");
        assert!(
            store
                .search(Search::new("hunter2", 9))
                .await
                .unwrap()
                .is_empty()
        );
    }
    drop(sqlite);
    let bytes = std::fs::read(scene.path()).unwrap();
    assert!(!bytes.windows(7).any(|part| part == b"hunter2"));
}

#[tokio::test]
async fn an_entry_that_is_too_large_is_refused() {
    for store in both(&Scene::new()) {
        let large = note("x".repeat(MAX_ENTRY));
        let error = store
            .append(&id("s"), vec![note("small"), large])
            .await
            .unwrap_err();
        assert!(matches!(error, StoreError::TooLarge { .. }), "{error}");
        assert!(log(&*store, &id("s")).await.is_empty());
    }
}

#[tokio::test]
async fn what_only_a_newer_program_understands_is_kept_word_for_word() {
    for store in both(&Scene::new()) {
        let line = |kind, version, body| {
            format!(
                r#"{{"session":"s","seq":1,"ts":"2026-01-31T08:00:00.250Z","kind":"{kind}","version":{version},"body":{body}}}"#
            )
        };
        let lines = [
            line(
                "telepathy",
                1,
                r#"{"text":"…","n":123456789012345678901234567890}"#,
            ),
            line("note", 2, r#"{"words":["of","another","form"]}"#),
            line("note", 1, r#"{ "text": "with more", "colour": "red" }"#),
            line("message", 1, r#"{"text":7}"#),
        ];
        for (seq, line) in (1..).zip(&lines) {
            let entry: ptk_store::Entry = serde_json::from_str(line).unwrap();
            let given = entry.body.clone();
            store.append(&id("s"), vec![entry.into()]).await.unwrap();
            let read = &store
                .read(&id("s"), Stretch::after(seq - 1, 1))
                .await
                .unwrap()[0];
            assert_eq!(read.body, given);
        }
        let kinds: Vec<bool> = log(&*store, &id("s"))
            .await
            .iter()
            .map(|entry| matches!(entry.kind(), EntryKind::Unknown(_)))
            .collect();
        assert_eq!(kinds, [true, true, false, true]);
        store.rebuild().await.unwrap();
        assert!(store.delete(&id("s")).await.unwrap());
        assert_eq!(store.check().await.unwrap(), Checked::default());
    }
}

#[tokio::test]
async fn numbers_keep_every_digit() {
    for store in both(&Scene::new()) {
        let arguments = json!({"path": "x"})
            .to_string()
            .replace("\"x\"", "123456789012345678901234567890");
        let began = ptk_store::CallBegan {
            tool: "t".to_owned(),
            arguments: ptk_protocol::Arguments::from_json(&arguments).unwrap(),
        };
        store
            .append(&id("s"), vec![NewEntry::new(began)])
            .await
            .unwrap();
        match log(&*store, &id("s")).await[0].kind() {
            EntryKind::CallBegan(call) => assert_eq!(call.arguments.to_json(), arguments),
            other => panic!("{other:?}"),
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn many_at_once_are_all_written_in_their_order() {
    for store in both(&Scene::new()) {
        let tasks: Vec<_> = (0..20)
            .map(|task| {
                let store = std::sync::Arc::clone(&store);
                tokio::spawn(async move {
                    for number in 0..50 {
                        let entry = note(format!("{task} {number}"));
                        store
                            .append(&id(&format!("s{}", task % 4)), vec![entry])
                            .await
                            .unwrap();
                    }
                })
            })
            .collect();
        for task in tasks {
            task.await.unwrap();
        }
        for session in 0..4 {
            let texts: Vec<(u32, u32)> = log(&*store, &id(&format!("s{session}")))
                .await
                .iter()
                .map(|entry| match entry.kind() {
                    EntryKind::Note(note) => {
                        let (task, number) = note.text.split_once(' ').unwrap();
                        (task.parse().unwrap(), number.parse().unwrap())
                    }
                    other => panic!("{other:?}"),
                })
                .collect();
            assert_eq!(texts.len(), 250);
            for task in 0..20 {
                let numbers = texts.iter().filter(|(of, _)| *of == task);
                assert!(numbers.map(|(_, number)| number).is_sorted());
            }
        }
        assert!(store.check().await.unwrap().damage.is_empty());
    }
}
