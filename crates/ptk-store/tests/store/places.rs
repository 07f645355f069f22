//! Files, folders and disks.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::Command;

use ptk_store::{SqliteStore, Store, StoreError};

use super::{Scene, id, log, note, turn};

fn mode(path: &Path) -> u32 {
    fs::metadata(path).unwrap().permissions().mode() & 0o777
}

#[tokio::test]
async fn nobody_else_may_read_what_was_said() {
    let scene = Scene::new();
    let store = scene.open();
    store.append(&id("s"), turn("Hello")).await.unwrap();
    let path = scene.path();
    assert_eq!(mode(path.parent().unwrap()), 0o700);
    for file in fs::read_dir(path.parent().unwrap()).unwrap() {
        let file = file.unwrap().path();
        let expected = if file.is_dir() { 0o700 } else { 0o600 };
        assert_eq!(mode(&file), expected, "{}", file.display());
    }
    drop(store);
    fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).unwrap();
    drop(scene.open());
    assert_eq!(mode(&path), 0o600);
}

#[tokio::test]
async fn a_path_may_hold_any_character() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("50% of #1? söme dir/a b.db");
    let store = SqliteStore::open(&path).unwrap();
    store.append(&id("s"), turn("Hello")).await.unwrap();
    drop(store);
    let store = SqliteStore::open_read_only(&path).unwrap();
    assert_eq!(log(&store, &id("s")).await.len(), 9);
}

#[test]
fn what_is_missing_is_not_made_by_a_reader() {
    let scene = Scene::new();
    let error = SqliteStore::open_read_only(scene.path()).unwrap_err();
    assert!(matches!(error, StoreError::Missing { .. }), "{error}");
    assert!(!scene.path().exists());
}

#[tokio::test]
async fn a_reader_cannot_write() {
    let scene = Scene::new().filled().await;
    let store = SqliteStore::open_read_only(scene.path()).unwrap();
    let error = store.append(&id("s"), vec![note("x")]).await.unwrap_err();
    assert!(
        matches!(error, StoreError::OpenedReadOnly { .. }),
        "{error}"
    );
    let error = store.delete(&id("one")).await.unwrap_err();
    assert!(
        matches!(error, StoreError::OpenedReadOnly { .. }),
        "{error}"
    );
}

/// A small file system of its own; `None`, with a message, where mounting is
/// not allowed.
struct Mounted<'a>(&'a Path);

impl<'a> Mounted<'a> {
    fn new(folder: &'a Path, options: &str) -> Option<Self> {
        let status = Command::new("mount")
            .args(["-t", "tmpfs", "-o", options, "tmpfs"])
            .arg(folder)
            .status();
        if status.is_ok_and(|status| status.success()) {
            return Some(Self(folder));
        }
        eprintln!("skipped: no small disk can be mounted here");
        None
    }

    fn remount(&self, options: &str) {
        let status = Command::new("mount")
            .args(["-o", options])
            .arg(self.0)
            .status();
        assert!(status.unwrap().success());
    }
}

impl Drop for Mounted<'_> {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("-l").arg(self.0).status();
    }
}

#[tokio::test]
async fn a_full_disk_loses_nothing_and_is_said_to_be_full() {
    let folder = tempfile::tempdir().unwrap();
    let Some(disk) = Mounted::new(folder.path(), "size=1m") else {
        return;
    };
    let path = folder.path().join("sessions.db");
    let store = SqliteStore::open(&path).unwrap();
    let mut written = 0;
    let error = loop {
        let entry = note(format!("{written} {}", "x".repeat(20_000)));
        match store.append(&id("s"), vec![entry]).await {
            Ok(_) => written += 1,
            Err(error) => break error,
        }
        assert!(written < 100, "the disk never got full");
    };
    assert!(matches!(error, StoreError::DiskFull { .. }), "{error}");
    assert!(written > 3);
    assert_eq!(log(&store, &id("s")).await.len(), written);

    disk.remount("remount,size=8m");
    store
        .append(&id("s"), vec![note("there is room again")])
        .await
        .unwrap();
    assert_eq!(log(&store, &id("s")).await.len(), written + 1);
    assert!(store.check().await.unwrap().damage.is_empty());
    drop(store);
    drop(disk);
}

#[tokio::test]
async fn a_folder_that_cannot_be_written_is_said_to_be_so_and_can_be_read() {
    let folder = tempfile::tempdir().unwrap();
    let Some(disk) = Mounted::new(folder.path(), "size=8m") else {
        return;
    };
    let path = folder.path().join("sessions.db");
    let store = SqliteStore::open(&path).unwrap();
    store.append(&id("s"), turn("Hello")).await.unwrap();
    drop(store);
    disk.remount("remount,ro");

    let error = SqliteStore::open(&path).unwrap_err();
    assert!(matches!(error, StoreError::ReadOnly { .. }), "{error}");
    let error = SqliteStore::open(folder.path().join("new.db")).unwrap_err();
    assert!(matches!(error, StoreError::ReadOnly { .. }), "{error}");

    let store = SqliteStore::open_read_only(&path).unwrap();
    assert_eq!(log(&store, &id("s")).await.len(), 9);
    drop(store);
    drop(disk);
}
