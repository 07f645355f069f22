//! Several stores that have one database open: in this process, and in others.

use ptk_store::{Listing, Retention, SqliteStore, Store, StoreError, Turns, fork, rename};
use std::time::{Duration, SystemTime};

use super::killing::Child;
use super::{Scene, id, log, note, turn};

#[tokio::test]
async fn others_read_while_one_writes() {
    let scene = Scene::new();
    let mut child = Child::start(&scene, "endless");
    child.wait_for(20);
    let reader = SqliteStore::open_read_only(scene.path()).unwrap();
    let mut last = 0;
    for _ in 0..20 {
        let seen = child.acknowledged();
        let read = log(&reader, &id("child")).await;
        let numbers: Vec<u64> = read.iter().map(|entry| entry.seq).collect();
        assert_eq!(numbers, (1..=read.len() as u64).collect::<Vec<_>>());
        assert!(read.len() as u64 >= seen.max(last));
        last = read.len() as u64;
        let listed = reader.sessions(Listing::new(5)).await.unwrap();
        assert!(listed[0].entries >= last);
    }
    child.kill();
}

#[tokio::test]
async fn a_session_is_written_by_one_process_and_others_are_told_which() {
    let scene = Scene::new();
    let mut child = Child::start(&scene, "endless");
    child.wait_for(5);
    let store = scene.open();
    let error = store
        .append(&id("child"), vec![note("mine")])
        .await
        .unwrap_err();
    let StoreError::Held { session, by } = &error else {
        panic!("{error}");
    };
    assert_eq!((session, by.pid), (&id("child"), child.id()));
    let age = SystemTime::now().duration_since(by.since).unwrap();
    assert!(age < Duration::from_secs(60));
    assert!(error.to_string().starts_with(&format!(
        "Session child is being written by process {} on {} since ",
        child.id(),
        by.host
    )));
    assert_eq!(store.writer(&id("child")).await.unwrap().as_ref(), Some(by));
    assert!(matches!(
        store.delete(&id("child")).await,
        Err(StoreError::Held { .. })
    ));
    let all = Retention::forever().no_more_than(0);
    let removed = all.apply(&store, SystemTime::now()).await.unwrap();
    assert_eq!(removed.in_use, [id("child")]);

    // A session of one's own can be written meanwhile.
    store.append(&id("mine"), turn("Hello")).await.unwrap();

    // Once the other is dead, its session is free.
    child.kill();
    assert_eq!(store.writer(&id("child")).await.unwrap(), None);
    let before = log(&store, &id("child")).await.len() as u64;
    let appended = store
        .append(&id("child"), vec![note("mine")])
        .await
        .unwrap();
    assert_eq!(appended.first, before + 1);
}

#[tokio::test]
async fn a_session_can_be_handed_over() {
    let scene = Scene::new();
    let (one, other) = (scene.open(), scene.open());
    one.append(&id("s"), vec![note("1")]).await.unwrap();
    let held = other.append(&id("s"), vec![note("2")]).await;
    assert!(matches!(held, Err(StoreError::Held { .. })));
    one.release(&id("s")).await.unwrap();
    other.append(&id("s"), vec![note("2")]).await.unwrap();
    let held = one.append(&id("s"), vec![note("3")]).await;
    assert!(matches!(held, Err(StoreError::Held { .. })));
    drop(other);
    let appended = one.append(&id("s"), vec![note("3")]).await.unwrap();
    assert_eq!(appended.first, 3);
}

#[tokio::test]
async fn a_session_of_another_can_be_forked_but_not_renamed() {
    let scene = Scene::new();
    let (one, other) = (scene.open(), scene.open());
    one.append(&id("s"), turn("1")).await.unwrap();
    let held = rename(&other, &id("s"), "Mine").await;
    assert!(matches!(held, Err(StoreError::Held { .. })));
    let forked = fork(&other, &id("s"), Turns::All).await.unwrap().unwrap();
    // The other store holds neither of them now.
    let more = one.append(&forked.session, turn("2")).await.unwrap();
    assert_eq!(more.first, 11);
    let more = one.append(&id("s"), turn("2")).await.unwrap();
    assert_eq!(more.first, 10);
}

#[tokio::test]
async fn one_who_may_not_write_holds_up_nobody_else() {
    let scene = Scene::new();
    let (one, other) = (scene.open(), scene.open());
    one.append(&id("held"), vec![note("1")]).await.unwrap();
    let (held, free) = (id("held"), id("free"));
    let (refused, written) = tokio::join!(
        other.append(&held, vec![note("2")]),
        other.append(&free, vec![note("2")])
    );
    assert!(matches!(refused, Err(StoreError::Held { .. })));
    written.unwrap();
}

#[tokio::test]
async fn nothing_is_left_of_those_who_have_closed_it() {
    let scene = Scene::new();
    for _ in 0..3 {
        let store = scene.open();
        store.append(&id("s"), vec![note("x")]).await.unwrap();
    }
    let mut child = Child::start(&scene, "endless");
    child.wait_for(3);
    child.kill();
    drop(scene.open());
    let writers = scene.path().with_file_name("sessions.db.writers");
    assert_eq!(std::fs::read_dir(writers).unwrap().count(), 0);
}

/// Many processes at once, each with a session of its own, all opening a
/// database that is not there yet.
#[tokio::test]
async fn many_processes_write_at_once() {
    let scene = Scene::new();
    let children: Vec<Child> = (0..6)
        .map(|number| Child::start(&scene, &format!("hundred-{number}")))
        .collect();
    for child in children {
        child.finish();
    }
    let store = scene.open();
    let listed = store.sessions(Listing::new(10)).await.unwrap();
    assert_eq!(listed.len(), 6);
    assert!(listed.iter().all(|overview| overview.entries == 100));
    assert!(store.check().await.unwrap().damage.is_empty());
}
