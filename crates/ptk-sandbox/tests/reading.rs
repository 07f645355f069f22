//! Reading and listing: regular files and folders, nothing that blocks.

#![allow(
    clippy::unwrap_used,
    reason = "the lints allow these inside tests, but not in the functions that tests share"
)]

mod scene;

use std::ffi::OsString;
use std::fs;
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::os::unix::net::UnixListener;

use ptk_sandbox::{Access, Fingerprint, Kind, PathError, Stamp, Workspace};
use rustix::fs::{CWD, FileType, Mode, mknodat};
use scene::{Scene, read};

fn make_pipe(scene: &Scene, path: &str) {
    let path = scene.inside(path);
    mknodat(CWD, &path, FileType::Fifo, Mode::from_raw_mode(0o644), 0).unwrap();
}

#[test]
fn a_file_is_read_and_described() {
    let scene = Scene::new();
    scene.write("src/a.txt", "hello");
    let place = scene.place("src/a.txt");
    assert_eq!(read(&place).unwrap(), "hello");
    assert!(place.exists().unwrap());

    let metadata = place.metadata().unwrap();
    assert_eq!(
        (metadata.kind, metadata.size, metadata.names),
        (Kind::File, 5, 1)
    );
    assert_eq!(metadata.stamp, Stamp::of(&place.open().unwrap()).unwrap());
    assert_eq!(metadata.stamp.modified, metadata.modified);
    assert_eq!(scene.place(".").metadata().unwrap().kind, Kind::Folder);
    assert_eq!(
        scene.place(".").symlink_metadata().unwrap().kind,
        Kind::Folder
    );
}

#[test]
fn a_missing_file_is_not_found_whatever_is_missing() {
    let scene = Scene::new();
    scene.write("file", "");
    for path in ["missing", "missing/too"] {
        let place = scene.place(path);
        assert!(matches!(place.open(), Err(PathError::NotFound { .. })));
        assert!(matches!(place.read_dir(), Err(PathError::NotFound { .. })));
        assert!(!place.exists().unwrap());
    }
    let beneath_a_file = scene.place("file/below");
    assert!(matches!(
        beneath_a_file.open(),
        Err(PathError::NotAFolder { .. })
    ));
    assert!(!beneath_a_file.exists().unwrap());
}

#[test]
fn pipes_sockets_devices_and_folders_are_refused_and_never_waited_for() {
    let scene = Scene::new();
    make_pipe(&scene, "pipe");
    let _socket = UnixListener::bind(scene.inside("socket")).unwrap();
    fs::create_dir(scene.inside("folder")).unwrap();
    scene.link("pipe", "link");

    for (path, expected) in [
        ("pipe", Kind::Pipe),
        ("socket", Kind::Socket),
        ("link", Kind::Pipe),
    ] {
        match scene.place(path).open() {
            Err(PathError::NotAFile { kind, .. }) => assert_eq!(kind, expected),
            other => panic!("{path}: {other:?}"),
        }
        assert_eq!(scene.place(path).metadata().unwrap().kind, expected);
        assert!(scene.place(path).fingerprint().is_err());
    }
    let folder = scene.place("folder").open();
    assert!(matches!(folder, Err(PathError::IsAFolder { .. })));

    let devices = Workspace::open("/dev").unwrap();
    let zero = devices.resolve("zero").unwrap().open();
    assert!(matches!(
        zero,
        Err(PathError::NotAFile {
            kind: Kind::Device,
            ..
        })
    ));
}

#[test]
fn a_folder_is_listed_with_kinds_and_sizes() {
    let scene = Scene::new();
    scene.write("a.txt", "hello");
    scene.write("folder/b.txt", "");
    scene.link("/etc/passwd", "link");
    make_pipe(&scene, "pipe");

    let mut entries: Vec<_> = scene
        .place(".")
        .read_dir()
        .unwrap()
        .map(Result::unwrap)
        .collect();
    entries.sort_by(|a, b| a.name().cmp(b.name()));
    let seen: Vec<_> = entries
        .iter()
        .map(|e| (e.name().to_str().unwrap(), e.kind()))
        .collect();
    assert_eq!(
        seen,
        [
            ("a.txt", Kind::File),
            ("folder", Kind::Folder),
            ("link", Kind::Link),
            ("pipe", Kind::Pipe),
        ]
    );
    assert_eq!(entries[0].size().unwrap(), 5);
    // The link itself, not what it leads to.
    assert_eq!(entries[2].size().unwrap(), "/etc/passwd".len() as u64);
    assert_eq!(entries[0].place(), scene.place("a.txt"));

    fs::remove_file(scene.inside("a.txt")).unwrap();
    let gone = entries[0].size().unwrap_err();
    assert_eq!(
        gone.to_string(),
        "Cannot inspect a.txt: there is no such file or folder"
    );
    let file = scene.place("folder/b.txt").read_dir();
    assert!(matches!(file, Err(PathError::NotAFolder { .. })));
}

#[test]
fn names_that_are_not_utf8_are_listed_and_can_be_read() {
    let scene = Scene::new();
    let name = OsString::from_vec(b"menu \xe9\n.txt".to_vec());
    fs::write(scene.workspace.root().join(&name), "latin").unwrap();
    let entry = scene
        .place(".")
        .read_dir()
        .unwrap()
        .next()
        .unwrap()
        .unwrap();
    assert_eq!(entry.name().as_bytes(), name.as_bytes());
    assert_eq!(read(&entry.place()).unwrap(), "latin");
    assert_eq!(entry.place().to_string(), "menu \u{fffd}\n.txt");
    // A message stays on one line.
    fs::remove_file(scene.workspace.root().join(&name)).unwrap();
    assert_eq!(
        entry.place().open().unwrap_err().to_string(),
        "Cannot read menu \u{fffd}\\n.txt: there is no such file or folder"
    );
}

#[test]
fn names_with_spaces_and_of_any_script_are_read_and_written() {
    let scene = Scene::new();
    for name in [
        "with space.txt",
        "ünïcödé",
        "文件/名.txt",
        "🦀",
        "-rf",
        "$(id)",
        "a\\b",
    ] {
        let place = scene.place(name);
        place.create_parents().unwrap();
        place
            .replace(name.as_bytes(), ptk_sandbox::Expect::Missing)
            .unwrap();
        assert_eq!(read(&place).unwrap(), name);
        assert_eq!(scene.content(name), name);
    }
}

#[test]
fn a_name_or_path_that_is_too_long_is_said_to_be_and_not_repeated_in_full() {
    let scene = Scene::new();
    let long_path = "folder/".repeat(2_000);
    for path in ["n".repeat(256), long_path] {
        let place = scene.place(&path);
        for error in [
            place.open().map(drop).unwrap_err(),
            place
                .replace(b"", ptk_sandbox::Expect::Anything)
                .map(drop)
                .unwrap_err(),
            place.metadata().map(drop).unwrap_err(),
        ] {
            assert!(
                matches!(
                    error,
                    PathError::TooLong { .. } | PathError::NotFound { .. }
                ),
                "{error:?}"
            );
            assert!(error.to_string().chars().count() < 400);
        }
        assert!(matches!(place.open(), Err(PathError::TooLong { .. })));
    }
    let longest = scene.place(&"n".repeat(255));
    longest.replace(b"", ptk_sandbox::Expect::Missing).unwrap();
    scene.assert_untouched();
}

#[test]
fn a_fingerprint_is_that_of_the_content_and_of_nothing_else() {
    let scene = Scene::new();
    let long = "x".repeat(1_000_000);
    for content in ["", "hello", &long] {
        scene.write("a.txt", content);
        let seen = scene.place("a.txt").fingerprint().unwrap();
        assert_eq!(seen, Fingerprint::of(content.as_bytes()));
        assert_eq!(seen.size(), content.len() as u64);
    }
    assert_ne!(Fingerprint::of(b"a"), Fingerprint::of(b"b"));
    assert_eq!(
        Fingerprint::of(b"").to_string(),
        "af1349b9f5f9a1a6a0404dea36dcc9499bcb25c9adc112b7cc9a93cae41f3262"
    );
}

#[test]
fn a_read_only_root_is_read_and_listed() {
    let scene = Scene::new();
    scene.write("a.txt", "hello");
    let root = scene.workspace.root().to_owned();
    let workspace = scene
        .workspace
        .clone()
        .with_root(root, Access::ReadOnly)
        .unwrap();
    assert_eq!(read(&workspace.resolve("a.txt").unwrap()).unwrap(), "hello");
    assert_eq!(
        workspace.resolve(".").unwrap().read_dir().unwrap().count(),
        1
    );
}
