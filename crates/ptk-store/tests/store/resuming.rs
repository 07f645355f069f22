//! Conversations that are resumed from the end of their log.

use proptest::prelude::*;
use ptk_protocol::{Image, Message, ToolResult};
use ptk_store::{
    Compacted, MemoryStore, NewEntry, Next, Note, SessionInfo, Store, Transcript, TurnBegan,
    Window, resume,
};

use super::random::{deeds, entries};
use super::{Scene, asked, both, id, log, turn};

fn text(result: &ToolResult) -> String {
    result.payload().to_string()
}

#[tokio::test]
async fn only_whole_turns_within_the_window_are_taken_up() {
    for store in both(&Scene::new()) {
        let info = SessionInfo::new().model("small");
        store
            .append(&id("s"), vec![NewEntry::new(info)])
            .await
            .unwrap();
        for number in 0..50 {
            store
                .append(&id("s"), turn(&format!("Question {number}")))
                .await
                .unwrap();
        }
        let window = Window {
            turns: 3,
            ..Window::default()
        };
        let transcript = resume(&*store, &id("s"), window).await.unwrap().unwrap();
        assert_eq!(transcript.messages(text)[0], Message::user("Question 47"));
        assert!(!transcript.is_whole());
        assert_eq!(transcript.last(), 451);
        assert_eq!(transcript.info().model.as_deref(), Some("small"));

        let small = Window {
            bytes: 1,
            ..Window::default()
        };
        let transcript = resume(&*store, &id("s"), small).await.unwrap().unwrap();
        assert_eq!(transcript.messages(text)[0], Message::user("Question 49"));

        let all = resume(&*store, &id("s"), Window::default())
            .await
            .unwrap()
            .unwrap();
        assert!(all.is_whole());
        let folded: Transcript = log(&*store, &id("s")).await.iter().collect();
        assert_eq!(all, folded);
        assert!(resume(&*store, &id("none"), small).await.unwrap().is_none());
    }
}

/// Images take few tokens, however many bytes they have.
#[tokio::test]
async fn images_do_not_fill_the_window() {
    let store = MemoryStore::new();
    let image = Image::new(&[&b"GIF89a"[..], &[7; 5000]].concat()).unwrap();
    for number in 0..4 {
        let mut entries = turn(&format!("Question {number}"));
        let prompt = Message {
            images: vec![image.clone(); 2],
            ..Message::user("See")
        };
        entries.insert(1, NewEntry::new(prompt));
        store.append(&id("s"), entries).await.unwrap();
    }
    let window = Window {
        bytes: 20_000,
        ..Window::default()
    };
    let transcript = resume(&store, &id("s"), window).await.unwrap().unwrap();
    assert!(transcript.is_whole());
    let kept = transcript.messages(text);
    let images: usize = kept.iter().map(|message| message.images.len()).sum();
    assert_eq!(images, 8);
}

/// Where it begins does not move with every turn.
#[tokio::test]
async fn a_long_conversation_begins_with_the_same_turn_for_a_while() {
    let store = MemoryStore::new();
    let window = Window {
        turns: 10,
        ..Window::default()
    };
    let mut firsts = Vec::new();
    for number in 0..40 {
        let entries = turn(&format!("Question {number}"));
        store.append(&id("s"), entries).await.unwrap();
        let transcript = resume(&store, &id("s"), window).await.unwrap().unwrap();
        let asked = transcript.messages(text);
        let asked = asked.iter().filter(|it| it.content.starts_with("Question"));
        let count = asked.clone().count();
        assert!(count == number + 1 || (6..=10).contains(&count), "{count}");
        firsts.push(asked.clone().next().unwrap().content.clone());
    }
    firsts.dedup();
    let expected = [0, 5, 10, 15, 20, 25, 30].map(|number| format!("Question {number}"));
    assert_eq!(firsts, expected);
}

#[tokio::test]
async fn a_turn_goes_on_though_its_beginning_is_told_in_short() {
    let store = MemoryStore::new();
    let mut log = turn("before");
    log.extend([
        NewEntry::new(TurnBegan::default()),
        NewEntry::new(Message::user("long work")),
    ]);
    log.extend((1..=3).map(|iteration| NewEntry::new(asked(iteration))));
    log.extend((0..1000).map(|number| NewEntry::new(Note::new(number.to_string()))));
    let compacted = Compacted::new("Much was done.", log.len() as u64);
    log.push(NewEntry::new(compacted));
    log.push(NewEntry::new(asked(4)));
    store.append(&id("s"), log).await.unwrap();
    let transcript = resume(&store, &id("s"), Window::default())
        .await
        .unwrap()
        .unwrap();
    assert_eq!(transcript.next(), Next::Ask { again: true });
    assert_eq!(transcript.iterations(), 4);
    assert_eq!(transcript.items().len(), 1);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, ..ProptestConfig::default() })]

    /// The resumed part is the end of the conversation from the whole log.
    #[test]
    fn a_resumed_conversation_is_the_end_of_the_whole_one(deeds in deeds(), turns in 1..4_usize) {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        runtime.block_on(async {
            let store = MemoryStore::new();
            store.append(&id("s"), entries(&deeds)).await.unwrap();
            let whole: Transcript = log(&store, &id("s")).await.iter().collect();
            let window = Window { turns, ..Window::default() };
            let Some(part) = resume(&store, &id("s"), window).await.unwrap() else {
                return Ok(());
            };
            prop_assert_eq!(part.open_turn(), whole.open_turn());
            prop_assert_eq!(part.last(), whole.last());
            if part.is_whole() {
                prop_assert_eq!(part.items(), whole.items());
                prop_assert_eq!(part.next(), whole.next());
            }
            Ok(())
        })?;
    }
}
