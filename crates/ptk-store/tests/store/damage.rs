//! Damaged files and other ones that are not databases: a clear error, and the
//! file stays as it is.

use std::fs;

use ptk_store::{Listing, Redaction, Search, SqliteStore, Store, StoreError};

use super::{Scene, id, log, note, turn};

/// Opens it in both ways, which has to fail and leave the file as it is.
fn refused(scene: &Scene) -> StoreError {
    let before = fs::read(scene.path()).unwrap();
    let error = SqliteStore::open(scene.path()).unwrap_err();
    assert!(
        fs::read(scene.path()).unwrap() == before,
        "the file changed: {error}"
    );
    let to_read = SqliteStore::open_read_only(scene.path()).unwrap_err();
    assert!(
        fs::read(scene.path()).unwrap() == before,
        "the file changed: {to_read}"
    );
    assert_eq!(to_read.to_string(), error.to_string());
    error
}

fn folder_of(scene: &Scene) -> Vec<String> {
    let folder = fs::read_dir(scene.path().parent().unwrap()).unwrap();
    let names = folder.map(|file| file.unwrap().file_name().into_string().unwrap());
    names.filter(|name| !name.contains(".writers")).collect()
}

#[tokio::test]
async fn a_file_that_is_no_database() {
    let scene = Scene::new();
    fs::create_dir(scene.path().parent().unwrap()).unwrap();
    for bytes in ["a letter".repeat(100).as_bytes(), b"x", &[0; 4096]] {
        fs::write(scene.path(), bytes).unwrap();
        let error = refused(&scene);
        assert!(matches!(error, StoreError::NotADatabase { .. }), "{error}");
    }
    assert_eq!(folder_of(&scene), ["sessions.db"]);
    insta::assert_snapshot!(scene.neutral(&refused(&scene).to_string()), @"/…/state/sessions.db is not a database, so nothing was written to it; move it away, or name another file");
}

#[test]
fn a_folder_in_its_place() {
    let scene = Scene::new();
    fs::create_dir_all(scene.path()).unwrap();
    let error = SqliteStore::open(scene.path()).unwrap_err();
    assert!(matches!(error, StoreError::NotADatabase { .. }), "{error}");
}

#[tokio::test]
async fn a_garbled_header() {
    let scene = Scene::new().filled().await;
    let mut bytes = fs::read(scene.path()).unwrap();
    bytes[..16].copy_from_slice(b"Squeak format 3\0");
    fs::write(scene.path(), bytes).unwrap();
    let error = refused(&scene);
    assert!(matches!(error, StoreError::NotADatabase { .. }), "{error}");
}

#[tokio::test]
async fn the_database_of_another_program() {
    let scene = Scene::new();
    fs::create_dir(scene.path().parent().unwrap()).unwrap();
    scene.edit("CREATE TABLE log (x); INSERT INTO log VALUES (1);");
    let error = refused(&scene);
    insta::assert_snapshot!(scene.neutral(&error.to_string()), @"/…/state/sessions.db is a database, but not one of ptk's, so nothing was written to it; name another file");
}

#[tokio::test]
async fn a_file_that_was_cut_off_anywhere() {
    let scene = Scene::new().filled().await;
    let bytes = fs::read(scene.path()).unwrap();
    for length in [
        50,
        99,
        512,
        4096,
        5000,
        bytes.len() / 2,
        bytes.len() - 4096,
        bytes.len() - 1,
    ] {
        fs::write(scene.path(), &bytes[..length]).unwrap();
        let error = refused(&scene);
        assert!(
            matches!(error, StoreError::Damaged { .. }),
            "{length}: {error}"
        );
    }
}

#[tokio::test]
async fn an_empty_file_beside_what_was_written_last() {
    let scene = Scene::new();
    let store = scene.open();
    store.append(&id("s"), turn("Hello")).await.unwrap();
    let mut wal = scene.path().into_os_string();
    wal.push("-wal");
    let written = fs::read(&wal).unwrap();
    drop(store);
    fs::write(scene.path(), "").unwrap();
    fs::write(&wal, &written).unwrap();
    let error = refused(&scene);
    assert!(matches!(error, StoreError::Damaged { .. }), "{error}");
    assert!(fs::read(&wal).unwrap() == written);
}

/// Overwrites each page in turn. Whatever is damaged, nothing wrong is ever
/// read: either the right entries, or an error.
#[tokio::test]
async fn pages_with_flipped_bits() {
    let scene = Scene::new().filled().await;
    let whole = scene.open();
    let expected = log(&whole, &id("two")).await;
    drop(whole);
    let bytes = fs::read(scene.path()).unwrap();
    let mut refusals = 0;
    for page in 0..bytes.len() / 4096 {
        for (from, to, mask) in [
            (0, 4096, 0x55),
            (8, 12, 0xff),
            (3000, 3001, 0x01),
            (4000, 4010, 0x20),
        ] {
            if page == 0 && from < 100 {
                continue;
            }
            let mut damaged = bytes.clone();
            for byte in &mut damaged[page * 4096 + from..page * 4096 + to] {
                *byte ^= mask;
            }
            fs::write(scene.path(), &damaged).unwrap();
            let Ok(store) = SqliteStore::open_read_only(scene.path()) else {
                assert!(fs::read(scene.path()).unwrap() == damaged);
                refusals += 1;
                continue;
            };
            let mut read = Vec::new();
            let mut last = 0;
            loop {
                let page = store
                    .read(&id("two"), ptk_store::Stretch::after(last, 20))
                    .await;
                match page {
                    Ok(page) if page.is_empty() => {
                        assert_eq!(read, expected, "page {page:?}");
                        break;
                    }
                    Ok(page) => {
                        last = page.last().unwrap().seq;
                        read.extend(page);
                    }
                    Err(StoreError::Damaged { .. }) => {
                        refusals += 1;
                        break;
                    }
                    Err(error) => panic!("{error}"),
                }
            }
            assert!(fs::read(scene.path()).unwrap() == damaged);
        }
    }
    assert!(refusals > 20, "only {refusals} were noticed");
}

#[tokio::test]
async fn an_entry_that_was_changed_is_not_believed() {
    let scene = Scene::new().filled().await;
    scene.edit(
        "DROP TRIGGER log_is_only_appended_to;
         UPDATE log SET body = replace(body, 'Question 3', 'Question 4') WHERE session = 'one';",
    );
    let store = SqliteStore::open_read_only(scene.path()).unwrap();
    let error = store
        .read(&id("one"), ptk_store::Stretch::after(0, 100))
        .await
        .unwrap_err();
    insta::assert_snapshot!(scene.neutral(&error.to_string()), @"The session database /…/state/sessions.db is damaged (entry 29 of session one is not as it was written), and was left as it is; restore it from a backup, or move it away together with its -wal file to begin anew");
    let checked = store.check().await.unwrap();
    assert!(
        checked.damage.iter().any(|line| line.contains("entry 29")),
        "{:?}",
        checked.damage
    );
    assert_eq!(log(&store, &id("two")).await.len(), 90);
}

#[tokio::test]
async fn a_missing_entry_is_noticed() {
    let scene = Scene::new().filled().await;
    scene.edit("DELETE FROM log WHERE session = 'one' AND seq = 5");
    let store = SqliteStore::open_read_only(scene.path()).unwrap();
    let checked = store.check().await.unwrap();
    assert!(
        checked
            .damage
            .contains(&"entry 5 of session one is missing".to_owned()),
        "{:?}",
        checked.damage
    );
}

#[tokio::test]
async fn nothing_more_is_written_once_damage_was_found() {
    let scene = Scene::new().filled().await;
    let store = scene.open();
    store.append(&id("s"), vec![note("first")]).await.unwrap();
    // The overview of another session is not valid any more.
    scene.edit("UPDATE sessions SET overview = '{' WHERE session = 'one'");
    let error = store.append(&id("one"), vec![note("x")]).await.unwrap_err();
    assert!(matches!(error, StoreError::IndexDamaged { .. }), "{error}");
    let error = store
        .append(&id("s"), vec![note("second")])
        .await
        .unwrap_err();
    assert!(matches!(error, StoreError::IndexDamaged { .. }), "{error}");
    assert_eq!(log(&store, &id("s")).await.len(), 1);
    assert!(
        !store
            .search(Search::new("question", 5))
            .await
            .unwrap()
            .is_empty()
    );
}

/// Overwrites each page of the derived data. The error says that nothing is
/// lost and what to do, and doing it helps.
#[tokio::test]
async fn a_damaged_index_is_made_anew_from_the_log() {
    let scene = Scene::new().filled().await;
    let whole = scene.open();
    let expected = log(&whole, &id("two")).await;
    let listed = whole.sessions(Listing::new(10)).await.unwrap();
    drop(whole);
    let bytes = fs::read(scene.path()).unwrap();
    let pages = scene.pages_of("tbl_name = 'sessions' OR tbl_name GLOB 'spoken_words*'");
    assert!(pages.len() >= 6, "{pages:?}");
    for page in pages {
        let start = (page - 1) * 4096;
        let mut damaged = bytes.clone();
        for byte in &mut damaged[start..start + 4096] {
            *byte ^= 0x55;
        }
        fs::write(scene.path(), &damaged).unwrap();
        let error = refused(&scene);
        assert!(
            matches!(error, StoreError::IndexDamaged { .. }),
            "page {page}: {error}"
        );
        assert!(error.to_string().contains("open_rebuilding"), "{error}");
        let store = SqliteStore::open_rebuilding(scene.path(), Redaction::default()).unwrap();
        assert_eq!(log(&store, &id("two")).await, expected, "page {page}");
        assert_eq!(store.sessions(Listing::new(10)).await.unwrap(), listed);
        let found = store.search(Search::new("question", 10)).await.unwrap();
        assert!(!found.is_empty());
        store.append(&id("two"), turn("Hello again")).await.unwrap();
        assert_eq!(store.check().await.unwrap().damage, Vec::<String>::new());
        drop(store);
        scene.open();
    }
}

/// The damage is noticed while the store is open, too: no entry is lost, and
/// the same store repairs it.
#[tokio::test]
async fn an_index_that_is_damaged_meanwhile_is_mended_by_the_same_store() {
    let scene = Scene::new().filled().await;
    let store = scene.open();
    let expected = log(&store, &id("two")).await;
    scene.edit("UPDATE sessions SET overview = 'nonsense'");
    let error = store.session(&id("two")).await.unwrap_err();
    assert!(matches!(error, StoreError::IndexDamaged { .. }), "{error}");
    let error = store.append(&id("two"), turn("Hello")).await.unwrap_err();
    assert!(matches!(error, StoreError::IndexDamaged { .. }), "{error}");
    store.rebuild().await.unwrap();
    assert_eq!(log(&store, &id("two")).await, expected);
    store.append(&id("two"), turn("Hello")).await.unwrap();
}

#[tokio::test]
async fn a_damaged_log_is_not_rebuilt() {
    let scene = Scene::new().filled().await;
    let mut bytes = fs::read(scene.path()).unwrap();
    let page = scene.pages_of("name = 'log'")[0];
    for byte in &mut bytes[(page - 1) * 4096..page * 4096] {
        *byte ^= 0x55;
    }
    fs::write(scene.path(), &bytes).unwrap();
    let error = SqliteStore::open_rebuilding(scene.path(), Redaction::default()).unwrap_err();
    assert!(matches!(error, StoreError::Damaged { .. }), "{error}");
    assert!(fs::read(scene.path()).unwrap() == bytes);
}

/// As if a process had been killed while rebuilding the index.
#[tokio::test]
async fn an_index_that_is_half_gone_is_made_anew() {
    let scene = Scene::new().filled().await;
    let store = scene.open();
    let expected = log(&store, &id("two")).await;
    drop(store);
    scene.edit(
        "PRAGMA writable_schema = ON;
         DELETE FROM sqlite_schema WHERE tbl_name = 'sessions' OR tbl_name GLOB 'spoken*';",
    );
    let error = refused(&scene);
    assert!(matches!(error, StoreError::IndexDamaged { .. }), "{error}");
    let store = SqliteStore::open_rebuilding(scene.path(), Redaction::default()).unwrap();
    assert_eq!(log(&store, &id("two")).await, expected);
    assert_eq!(store.check().await.unwrap().damage, Vec::<String>::new());
}
