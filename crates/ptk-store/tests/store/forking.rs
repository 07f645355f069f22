//! Renamed and forked sessions.

use ptk_protocol::{Message, Role, ToolResult};
use ptk_store::{
    Compacted, EntryKind, Fork, MAX_TITLE, NewEntry, Next, Search, SessionInfo, Store, StoreError,
    TurnBegan, Turns, Window, export, fork, rename, resume,
};

use super::{Scene, both, id, log, turn};

async fn messages(store: &dyn Store, session: &ptk_store::SessionId) -> Vec<Message> {
    let transcript = resume(store, session, Window::default()).await.unwrap();
    let transcript = transcript.unwrap();
    assert_eq!(transcript.next(), Next::Prompt);
    transcript.messages(|result: &ToolResult| result.payload().to_string())
}

/// A session with a beginning and so many turns.
async fn session_of(store: &dyn Store, turns: u64) {
    let info = SessionInfo::new().workspace("/w");
    let first = vec![NewEntry::new(info)];
    store.append(&id("s"), first).await.unwrap();
    for number in 1..=turns {
        let prompt = format!("Question {number}");
        store.append(&id("s"), turn(&prompt)).await.unwrap();
    }
}

#[tokio::test]
async fn a_fork_has_the_same_beginning_and_the_original_stays_as_it_is() {
    for store in both(&Scene::new()) {
        session_of(&*store, 3).await;
        let original = log(&*store, &id("s")).await;
        let overview = store.session(&id("s")).await.unwrap();

        let forked = fork(&*store, &id("s"), Turns::First(2)).await.unwrap();
        let forked = forked.unwrap();
        assert_eq!((forked.turns, forked.entries), (2, 20));
        assert!(!forked.is_open_turn_left);
        let copy = log(&*store, &forked.session).await;
        for (copied, entry) in copy.iter().zip(original.iter().take(19)) {
            assert_eq!((copied.seq, copied.ts), (entry.seq, entry.ts));
            assert_eq!(copied.correlation, entry.correlation);
            assert_eq!(copied.body.json(), entry.body.json());
        }
        let origin = Fork {
            session: id("s"),
            through: 19,
            turns: 2,
        };
        let last = copy.last().unwrap();
        assert_eq!(last.kind(), EntryKind::SessionForked(origin.clone()));
        let overview_of_fork = store.session(&forked.session).await.unwrap().unwrap();
        assert_eq!(overview_of_fork.forked_from, Some(origin));
        assert_eq!(overview_of_fork.turns, 2);
        assert_eq!(overview_of_fork.info.workspace.as_deref(), Some("/w"));

        // A message in one session does not appear in the other.
        let more = turn("Something else");
        store.append(&forked.session, more).await.unwrap();
        assert_eq!(log(&*store, &id("s")).await, original);
        assert_eq!(store.session(&id("s")).await.unwrap(), overview);
        let said = messages(&*store, &forked.session).await;
        let prompts = said.iter().filter(|message| message.role == Role::User);
        let expected = ["Question 1", "Question 2", "Something else"].map(Message::user);
        assert!(prompts.eq(&expected), "{said:?}");
        assert!(store.check().await.unwrap().damage.is_empty());
    }
}

#[tokio::test]
async fn a_fork_of_all_leaves_out_the_turn_that_is_open() {
    for store in both(&Scene::new()) {
        session_of(&*store, 1).await;
        let whole = messages(&*store, &id("s")).await;
        let open = vec![
            NewEntry::new(TurnBegan::default()),
            NewEntry::new(Message::user("Not yet")),
        ];
        store.append(&id("s"), open).await.unwrap();
        let forked = fork(&*store, &id("s"), Turns::All).await.unwrap().unwrap();
        assert!(forked.is_open_turn_left);
        assert_eq!(forked.turns, 1);
        assert_eq!(messages(&*store, &forked.session).await, whole);

        // A fork of a fork comes from that.
        let again = fork(&*store, &forked.session, Turns::All).await.unwrap();
        let again = again.unwrap();
        let overview = store.session(&again.session).await.unwrap().unwrap();
        assert_eq!(overview.forked_from.unwrap().session, forked.session);
        assert_eq!(messages(&*store, &again.session).await, whole);
    }
}

/// Entries name others by their numbers, which are the same in a fork.
#[tokio::test]
async fn a_fork_knows_the_summary_that_its_beginning_had() {
    for store in both(&Scene::new()) {
        session_of(&*store, 2).await;
        let compacted = Compacted::new("They asked something.", 10);
        let compacted = vec![NewEntry::new(compacted)];
        store.append(&id("s"), compacted).await.unwrap();
        store.append(&id("s"), turn("Question 3")).await.unwrap();
        let forked = fork(&*store, &id("s"), Turns::All).await.unwrap().unwrap();
        let said = messages(&*store, &forked.session).await;
        assert_eq!(said, messages(&*store, &id("s")).await);
        assert!(!said.contains(&Message::user("Question 1")), "{said:?}");
        // Before it was summed up, it was not.
        let forked = fork(&*store, &id("s"), Turns::First(1)).await.unwrap();
        let said = messages(&*store, &forked.unwrap().session).await;
        assert!(said.contains(&Message::user("Question 1")), "{said:?}");
    }
}

#[tokio::test]
async fn what_cannot_be_forked_is_refused_and_leaves_nothing() {
    for store in both(&Scene::new()) {
        let open = vec![NewEntry::new(TurnBegan::default())];
        store.append(&id("open"), open).await.unwrap();
        session_of(&*store, 2).await;
        let error = fork(&*store, &id("open"), Turns::All).await.unwrap_err();
        insta::allow_duplicates! {
            insta::assert_snapshot!(error, @"Session open cannot be forked: none of its turns has ended; resume the one that is open, or go on with another prompt");
        }
        let error = fork(&*store, &id("s"), Turns::First(3)).await.unwrap_err();
        insta::allow_duplicates! {
            insta::assert_snapshot!(error, @"Session s cannot be forked: it has 2 turns that have ended, and not 3; take fewer");
        }
        let none = fork(&*store, &id("nobody"), Turns::All).await.unwrap();
        assert_eq!(none, None);
        let checked = store.check().await.unwrap();
        assert_eq!(checked.sessions, 2);
    }
}

/// More than is read and written at once.
#[tokio::test]
async fn a_long_session_is_forked_whole() {
    for store in both(&Scene::new()) {
        session_of(&*store, 130).await;
        let forked = fork(&*store, &id("s"), Turns::All).await.unwrap().unwrap();
        assert_eq!((forked.turns, forked.entries), (130, 1172));
        let copy = log(&*store, &forked.session).await;
        let original = log(&*store, &id("s")).await;
        let same = copy.iter().zip(&original);
        assert_eq!(same.filter(|(a, b)| a.body == b.body).count(), 1171);
    }
}

#[tokio::test]
async fn a_title_is_shown_found_and_taken_away() {
    for store in both(&Scene::new()) {
        session_of(&*store, 1).await;
        let name = async || {
            let overview = store.session(&id("s")).await.unwrap().unwrap();
            overview.name().to_owned()
        };
        let heading = async || {
            let mut page = Vec::new();
            let thoughts = export::Thoughts::LeftOut;
            export::write_markdown(&*store, &id("s"), thoughts, &mut page)
                .await
                .unwrap();
            let page = String::from_utf8(page).unwrap();
            page.lines().next().unwrap().to_owned()
        };
        assert!(
            rename(&*store, &id("s"), " Errands\n of  Ada ")
                .await
                .unwrap()
        );
        assert_eq!(name().await, "Errands of Ada");
        assert_eq!(heading().await, "# Errands of Ada");
        let found = store.search(Search::new("errands", 10)).await.unwrap();
        assert_eq!(found.len(), 1);
        assert_eq!(
            (found[0].kind.as_str(), found[0].excerpt.as_str()),
            ("session_changed", "Errands of Ada")
        );
        store.rebuild().await.unwrap();
        let again = store.search(Search::new("errands", 10)).await.unwrap();
        assert_eq!(again, found);

        // A fork is called so, too.
        let forked = fork(&*store, &id("s"), Turns::All).await.unwrap().unwrap();
        let forked = store.session(&forked.session).await.unwrap().unwrap();
        assert_eq!(forked.name(), "Errands of Ada");

        assert!(rename(&*store, &id("s"), " ").await.unwrap());
        assert_eq!(name().await, "Question 1");
        assert_eq!(heading().await, "# Question 1");
    }
}

#[tokio::test]
async fn a_title_that_is_too_long_changes_nothing() {
    for store in both(&Scene::new()) {
        session_of(&*store, 1).await;
        let before = log(&*store, &id("s")).await;
        let error = rename(&*store, &id("s"), &"é".repeat(MAX_TITLE + 1))
            .await
            .unwrap_err();
        assert!(
            matches!(error, StoreError::LongTitle { length: 201 }),
            "{error}"
        );
        assert_eq!(log(&*store, &id("s")).await, before);
        assert!(
            rename(&*store, &id("s"), &"é".repeat(MAX_TITLE))
                .await
                .unwrap()
        );
        assert!(!rename(&*store, &id("nobody"), "x").await.unwrap());
        assert_eq!(store.session(&id("nobody")).await.unwrap(), None);
    }
}
