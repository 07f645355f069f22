//! Databases of other versions, and data that can be rebuilt.

use std::fs;

use ptk_store::{Listing, Search, SqliteStore, Store, StoreError, rename};

use super::{Scene, id, log, note, turn};

#[tokio::test]
async fn a_newer_database_is_left_as_it_is() {
    let scene = Scene::new().filled().await;
    scene.edit("PRAGMA user_version = 7");
    let before = fs::read(scene.path()).unwrap();
    for error in [
        SqliteStore::open(scene.path()).unwrap_err(),
        SqliteStore::open_read_only(scene.path()).unwrap_err(),
    ] {
        insta::allow_duplicates! {
            insta::assert_snapshot!(scene.neutral(&error.to_string()), @"The session database /…/state/sessions.db was made by a newer ptk (schema 7; this one knows 1 to 3), and was left as it is; install that ptk, or name another file");
        }
    }
    assert!(fs::read(scene.path()).unwrap() == before);
}

#[tokio::test]
async fn a_database_that_becomes_newer_is_not_written_any_more() {
    let scene = Scene::new();
    let store = scene.open();
    store.append(&id("s"), vec![note("x")]).await.unwrap();
    scene.edit("PRAGMA user_version = 7");
    for result in [
        store.append(&id("s"), vec![note("y")]).await.map(|_| ()),
        store.delete(&id("s")).await.map(|_| ()),
        store.rebuild().await,
    ] {
        assert!(
            matches!(result, Err(StoreError::NewerSchema { .. })),
            "{result:?}"
        );
    }
}

/// Schema 1, as it was: the log, and nothing that follows from it.
const SCHEMA_1: &str = "
CREATE TABLE log (
    position INTEGER PRIMARY KEY,
    session TEXT NOT NULL,
    seq INTEGER NOT NULL,
    ts INTEGER NOT NULL,
    kind TEXT NOT NULL,
    version INTEGER NOT NULL,
    request_id TEXT,
    parent_id TEXT,
    call_id TEXT,
    body TEXT NOT NULL,
    digest INTEGER NOT NULL,
    UNIQUE (session, seq)
) STRICT;
CREATE TRIGGER log_is_only_appended_to BEFORE UPDATE ON log
BEGIN SELECT RAISE(ABORT, 'the log is only appended to'); END;
CREATE TABLE holders (
    session TEXT PRIMARY KEY,
    writer TEXT NOT NULL
) STRICT, WITHOUT ROWID;
PRAGMA application_id = 0x50544b53;
PRAGMA user_version = 1;
";

/// Puts the same log into a database of schema 1.
fn make_older(scene: &Scene) {
    let newer = scene.path().with_file_name("newer.db");
    fs::rename(scene.path(), &newer).unwrap();
    scene.edit(SCHEMA_1);
    scene.edit(&format!(
        "ATTACH '{}' AS newer; INSERT INTO log SELECT * FROM newer.log;",
        newer.display()
    ));
}

#[tokio::test]
async fn an_older_database_is_brought_up_to_date() {
    let scene = Scene::new().filled().await;
    let store = scene.open();
    let listed = store.sessions(Listing::new(10)).await.unwrap();
    let found = store.search(Search::new("question", 100)).await.unwrap();
    drop(store);
    make_older(&scene);

    let error = SqliteStore::open_read_only(scene.path()).unwrap_err();
    assert!(
        matches!(error, StoreError::OlderSchema { found: 1, .. }),
        "{error}"
    );

    let store = scene.open();
    assert_eq!(store.sessions(Listing::new(10)).await.unwrap(), listed);
    assert_eq!(
        store.search(Search::new("question", 100)).await.unwrap(),
        found
    );
    assert!(listed.len() == 3 && found.len() == 60);
    store.append(&id("one"), turn("one more")).await.unwrap();
    assert_eq!(log(&store, &id("one")).await.len(), 99);
    drop(store);
    SqliteStore::open_read_only(scene.path()).unwrap();
}

#[tokio::test]
async fn what_follows_from_the_log_is_made_anew_from_it() {
    let scene = Scene::new().filled().await;
    let store = scene.open();
    let listed = store.sessions(Listing::new(10)).await.unwrap();
    let found = store.search(Search::new("question", 100)).await.unwrap();

    // Changed while the store is open.
    scene.edit(
        "UPDATE sessions SET updated = 0, workspace = 'wrong';
         DELETE FROM sessions WHERE session = 'one';
         INSERT INTO spoken_words (spoken_words) VALUES ('delete-all');",
    );
    assert_eq!(store.sessions(Listing::new(10)).await.unwrap().len(), 2);
    store.rebuild().await.unwrap();
    assert_eq!(store.sessions(Listing::new(10)).await.unwrap(), listed);
    assert_eq!(
        store.search(Search::new("question", 100)).await.unwrap(),
        found
    );
    assert!(store.check().await.unwrap().damage.is_empty());
    drop(store);

    // Removed while no store is open.
    for gone in [
        "DROP TABLE spoken_words",
        "DROP TABLE sessions",
        "DROP VIEW spoken",
    ] {
        scene.edit(gone);
        let store = scene.open();
        assert_eq!(store.sessions(Listing::new(10)).await.unwrap(), listed);
        assert_eq!(
            store.search(Search::new("question", 100)).await.unwrap(),
            found
        );
    }
}

#[tokio::test]
async fn an_overview_that_does_not_agree_with_the_log_is_made_anew() {
    let scene = Scene::new().filled().await;
    scene.edit("DELETE FROM sessions WHERE session = 'one'");
    let store = scene.open();
    let appended = store.append(&id("one"), vec![note("x")]).await.unwrap();
    assert_eq!(appended.first, 91);
    let overview = store.session(&id("one")).await.unwrap().unwrap();
    assert_eq!((overview.entries, overview.turns), (91, 10));
}

#[test]
fn the_log_cannot_be_changed() {
    let scene = Scene::new();
    drop(scene.open());
    scene.edit("INSERT INTO log VALUES (1, 's', 1, 0, 'note', 1, NULL, NULL, NULL, '{}', 0)");
    let connection = rusqlite::Connection::open(scene.path()).unwrap();
    let error = connection
        .execute("UPDATE log SET body = '[]'", [])
        .unwrap_err();
    assert!(error.to_string().contains("only appended to"), "{error}");
}

/// Schema 2 did not have titles in its index.
#[tokio::test]
async fn titles_of_an_older_database_are_found() {
    let scene = Scene::new().filled().await;
    let store = scene.open();
    rename(&store, &id("one"), "Errands").await.unwrap();
    drop(store);
    scene.edit(
        "DROP VIEW spoken;
         CREATE VIEW spoken AS SELECT position, session, json_extract(body, '$.text') AS text
         FROM log WHERE kind IN ('message', 'model_replied', 'compacted', 'note');
         INSERT INTO spoken_words (spoken_words) VALUES ('rebuild');
         PRAGMA user_version = 2;",
    );
    let store = scene.open();
    let found = store.search(Search::new("errands", 10)).await.unwrap();
    assert_eq!(found.len(), 1);
    assert_eq!(found[0].session, id("one"));
    let spoken = store.search(Search::new("question", 100)).await.unwrap();
    assert_eq!(spoken.len(), 60);
}
