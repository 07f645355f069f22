//! What is there to the last bit, and putting it back.

#![allow(
    clippy::unwrap_used,
    reason = "the lints allow it inside tests, but not in the functions that tests share"
)]

use std::fs;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, symlink};
use std::path::Path;

use ptk_sandbox::{Attributes, Expect, Fingerprint, Kind, PathError, Workspace};

const ABOUT: Attributes = Attributes {
    mode: 0o750,
    modified: (1_000_000_000, 123_456_789),
    owner: (0, 0),
};

/// The attributes of a test file, which belongs to the user who runs the test.
fn about(folder: &Path) -> Attributes {
    let metadata = fs::metadata(folder).unwrap();
    Attributes {
        owner: (metadata.uid(), metadata.gid()),
        ..ABOUT
    }
}

#[test]
fn a_file_comes_back_with_its_permissions_and_its_time() {
    let folder = tempfile::tempdir().unwrap();
    let workspace = Workspace::open(folder.path()).unwrap();
    let place = workspace.resolve("a").unwrap();
    let about = about(folder.path());
    place
        .restore_file(&mut &b"old"[..], &about, Expect::Missing)
        .unwrap();
    assert_eq!(fs::read(folder.path().join("a")).unwrap(), b"old");
    let node = place.node().unwrap().unwrap();
    assert_eq!(Attributes::from(&node), about);

    let expect = Expect::Unchanged(Fingerprint::of(b"else"));
    let error = place.restore_file(&mut &b"new"[..], &about, expect);
    assert!(matches!(error, Err(PathError::Changed { .. })));
    let error = place.restore_file(&mut &b"new"[..], &about, Expect::Missing);
    assert!(matches!(error, Err(PathError::AlreadyExists { .. })));
    assert_eq!(fs::read(folder.path().join("a")).unwrap(), b"old");
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
}

#[test]
fn a_link_takes_the_place_of_a_file_and_a_file_that_of_a_link() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a");
    let workspace = Workspace::open(folder.path()).unwrap();
    let place = workspace.resolve("a").unwrap();
    let about = about(folder.path());
    fs::write(&path, "file").unwrap();
    place
        .restore_link(Path::new("/nowhere/at all"), &about)
        .unwrap();
    assert_eq!(fs::read_link(&path).unwrap(), Path::new("/nowhere/at all"));
    assert_eq!(place.link_target().unwrap(), Path::new("/nowhere/at all"));
    let node = place.node().unwrap().unwrap();
    assert_eq!((node.kind, node.modified), (Kind::Link, about.modified));

    place
        .restore_file(&mut &b"file"[..], &about, Expect::Anything)
        .unwrap();
    assert_eq!(fs::read(&path).unwrap(), b"file");
}

#[test]
fn folders_come_and_go_and_only_empty_ones_go() {
    let folder = tempfile::tempdir().unwrap();
    let workspace = Workspace::open(folder.path()).unwrap();
    let place = workspace.resolve("d").unwrap();
    place.create_folder().unwrap();
    place.set_attributes(&about(folder.path())).unwrap();
    let metadata = fs::metadata(folder.path().join("d")).unwrap();
    assert_eq!(metadata.permissions().mode() & 0o7777, 0o750);
    assert_eq!(metadata.mtime(), ABOUT.modified.0);

    fs::write(folder.path().join("d/file"), "").unwrap();
    assert!(place.remove_folder().is_err());
    fs::remove_file(folder.path().join("d/file")).unwrap();
    place.remove_folder().unwrap();
    assert_eq!(place.node().unwrap(), None);
}

#[test]
fn nothing_is_put_back_outside() {
    let folder = tempfile::tempdir().unwrap();
    let space = folder.path().join("space");
    fs::create_dir(&space).unwrap();
    symlink(folder.path(), space.join("out")).unwrap();
    let workspace = Workspace::open(&space).unwrap();
    let place = workspace.resolve("out/a").unwrap();
    let about = about(folder.path());
    let error = place.restore_file(&mut &b"x"[..], &about, Expect::Anything);
    assert!(matches!(error, Err(PathError::Outside { .. })));
    assert!(place.restore_link(Path::new("x"), &about).is_err());
    assert!(place.create_folder().is_err());
    assert!(place.is_direct().is_err());
    assert!(workspace.place(Path::new("../a")).is_err());
    assert!(!folder.path().join("a").exists());
}

#[test]
fn a_folder_tells_what_is_in_it_and_follows_no_link() {
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir(folder.path().join("d")).unwrap();
    fs::write(folder.path().join("d/f"), "text").unwrap();
    symlink("d", folder.path().join("l")).unwrap();
    let root = Workspace::open(folder.path()).unwrap().folder().unwrap();
    let mut nodes = root.nodes().unwrap();
    nodes.sort_by(|(a, _), (b, _)| a.cmp(b));
    let kinds: Vec<Kind> = nodes.iter().map(|(_, node)| node.kind).collect();
    assert_eq!(kinds, [Kind::Folder, Kind::Link]);
    assert!(root.enter("l".as_ref()).is_err());
    assert_eq!(root.link_target("l".as_ref()).unwrap(), Path::new("d"));
    let inner = root.enter("d".as_ref()).unwrap();
    assert_eq!(inner.nodes().unwrap().len(), 1);
    assert!(inner.open("f".as_ref()).is_ok());
    assert!(root.open("d".as_ref()).is_err());
}
