//! Writing: at once or not at all, and only over what the writer expects.

#![allow(
    clippy::unwrap_used,
    reason = "the lints allow these inside tests, but not in the functions that tests share"
)]

mod scene;

use std::fs;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::os::unix::net::UnixListener;

use ptk_sandbox::{Access, ErrorKind, Expect, Fingerprint, PathError, is_temporary_name};
use scene::{Scene, read, temporary_files};

fn set_mode(scene: &Scene, path: &str, mode: u32) {
    fs::set_permissions(scene.inside(path), fs::Permissions::from_mode(mode)).unwrap();
}

fn mode(scene: &Scene, path: &str) -> u32 {
    fs::metadata(scene.inside(path)).unwrap().mode() & 0o7777
}

#[test]
fn a_file_is_created_and_replaced_and_both_are_told() {
    let scene = Scene::new();
    let place = scene.place("a.txt");
    let created = place.replace(b"one", Expect::Missing).unwrap();
    assert!(created.created && created.durable);
    assert_eq!(created.fingerprint, Fingerprint::of(b"one"));
    assert_eq!(created.stamp, place.metadata().unwrap().stamp);

    let replaced = place.replace(b"", Expect::Anything).unwrap();
    assert!(!replaced.created);
    assert_ne!(replaced.stamp, created.stamp);
    assert_eq!(scene.content("a.txt"), "");
    scene.assert_untouched();
}

#[test]
fn a_reader_of_the_old_file_keeps_the_old_content() {
    let scene = Scene::new();
    scene.write("a.txt", "old");
    let mut before = scene.place("a.txt").open().unwrap();
    scene
        .place("a.txt")
        .replace(b"new", Expect::Anything)
        .unwrap();
    let mut content = String::new();
    std::io::Read::read_to_string(&mut before, &mut content).unwrap();
    assert_eq!(content, "old");
    assert_eq!(scene.content("a.txt"), "new");
}

#[test]
fn missing_means_missing() {
    let scene = Scene::new();
    scene.write("a.txt", "old");
    set_mode(&scene, "a.txt", 0o444);
    let error = scene
        .place("a.txt")
        .replace(b"new", Expect::Missing)
        .unwrap_err();
    assert!(matches!(error, PathError::AlreadyExists { .. }));
    assert_eq!(scene.content("a.txt"), "old");
    scene.assert_untouched();
}

#[test]
fn unchanged_means_the_same_content() {
    let scene = Scene::new();
    let place = scene.place("a.txt");
    let old = Fingerprint::of(b"old");
    let gone = place.replace(b"new", Expect::Unchanged(old)).unwrap_err();
    assert!(matches!(gone, PathError::Changed { .. }));
    assert!(!place.exists().unwrap());

    // Written again with the same content: nothing has changed.
    scene.write("a.txt", "old");
    scene.write("a.txt", "old");
    place.replace(b"new", Expect::Unchanged(old)).unwrap();
    let changed = place.replace(b"newer", Expect::Unchanged(old)).unwrap_err();
    assert!(matches!(changed, PathError::Changed { .. }));
    assert_eq!(changed.kind(), ErrorKind::User);
    assert_eq!(scene.content("a.txt"), "new");
    scene.assert_untouched();
}

#[test]
fn permissions_are_kept_without_the_bits_that_lend_rights() {
    let scene = Scene::new();
    for (before, after) in [
        (0o600, 0o600),
        (0o755, 0o755),
        (0o666, 0o666),
        (0o4755, 0o755),
        (0o2775, 0o775),
    ] {
        scene.write("a.sh", "old");
        set_mode(&scene, "a.sh", before);
        scene
            .place("a.sh")
            .replace(b"new", Expect::Anything)
            .unwrap();
        assert_eq!(mode(&scene, "a.sh"), after, "{before:o}");
    }
}

#[test]
fn a_new_file_has_the_permissions_of_a_new_file() {
    let scene = Scene::new();
    scene.place("new").replace(b"", Expect::Anything).unwrap();
    // What the system makes of 0o644 here, whatever the mask is.
    scene.write("reference", "");
    let reference = mode(&scene, "reference") & 0o644;
    assert_eq!(mode(&scene, "new"), reference);
}

#[test]
fn the_owner_is_kept_where_the_system_allows() {
    if !rustix::process::geteuid().is_root() {
        eprintln!("skipped: only root can give files away");
        return;
    }
    let scene = Scene::new();
    scene.write("a.txt", "old");
    set_mode(&scene, "a.txt", 0o640);
    std::os::unix::fs::chown(scene.inside("a.txt"), Some(65534), Some(65534)).unwrap();
    scene
        .place("a.txt")
        .replace(b"new", Expect::Anything)
        .unwrap();
    let metadata = fs::metadata(scene.inside("a.txt")).unwrap();
    assert_eq!((metadata.uid(), metadata.gid()), (65534, 65534));
    assert_eq!(mode(&scene, "a.txt"), 0o640);
}

#[test]
fn only_regular_files_are_replaced() {
    let scene = Scene::new();
    fs::create_dir(scene.inside("folder")).unwrap();
    let _socket = UnixListener::bind(scene.inside("socket")).unwrap();
    scene.write("file", "");
    for path in ["folder", "."] {
        let error = scene
            .place(path)
            .replace(b"x", Expect::Anything)
            .unwrap_err();
        assert!(
            matches!(error, PathError::IsAFolder { .. }),
            "{path}: {error:?}"
        );
    }
    let socket = scene.place("socket").replace(b"x", Expect::Anything);
    assert!(matches!(socket, Err(PathError::NotAFile { .. })));
    let beneath = scene.place("file/below").replace(b"x", Expect::Anything);
    assert!(matches!(beneath, Err(PathError::NotAFolder { .. })));
    let missing = scene
        .place("no/such/folder")
        .replace(b"x", Expect::Anything);
    assert!(matches!(missing, Err(PathError::NotFound { .. })));
    let parents = scene.place("file/below/deep").create_parents();
    assert!(matches!(parents, Err(PathError::NotAFolder { .. })));
    scene.place(".").create_parents().unwrap();
    scene.assert_untouched();
}

#[test]
fn a_read_only_root_is_not_written_to_even_within_one_that_can_be() {
    let scene = Scene::new();
    scene.write("vendor/a.txt", "old");
    let workspace = scene.workspace.clone();
    let workspace = workspace
        .with_root(scene.inside("vendor"), Access::ReadOnly)
        .unwrap();
    scene.link("vendor", "alias");
    for path in ["vendor/a.txt", "alias/a.txt", "vendor/new/b.txt"] {
        let place = workspace.resolve(path).unwrap();
        for result in [
            place.replace(b"new", Expect::Anything).map(drop),
            place.create_parents(),
            place.remove_file(),
        ] {
            assert!(
                matches!(result, Err(PathError::ReadOnlyRoot { .. })),
                "{path}"
            );
        }
    }
    // Nor is it moved away as a whole.
    let moved = workspace.resolve("vendor").unwrap();
    let moved = moved.rename_to(&workspace.resolve("mine").unwrap());
    assert!(matches!(moved, Err(PathError::RootItself { .. })));
    assert_eq!(scene.content("vendor/a.txt"), "old");
    assert!(!scene.inside("vendor/new").exists());
}

#[test]
fn files_are_removed_and_folders_are_not() {
    let scene = Scene::new();
    scene.write("folder/a.txt", "");
    let folder = scene.place("folder").remove_file();
    assert!(matches!(folder, Err(PathError::IsAFolder { .. })));
    scene.place("folder/a.txt").remove_file().unwrap();
    let again = scene.place("folder/a.txt").remove_file();
    assert!(matches!(again, Err(PathError::NotFound { .. })));
}

#[test]
fn a_file_or_folder_is_moved_but_never_over_another() {
    let scene = Scene::new();
    scene.write("from/a.txt", "a");
    scene.write("taken.txt", "kept");
    fs::create_dir(scene.inside("empty")).unwrap();
    let from = scene.place("from/a.txt");
    for taken in ["taken.txt", "empty", "from/a.txt"] {
        let error = from.rename_to(&scene.place(taken)).unwrap_err();
        assert!(
            matches!(error, PathError::AlreadyExists { .. }),
            "{error:?}"
        );
    }
    from.rename_to(&scene.place("b.txt")).unwrap();
    assert_eq!(read(&scene.place("b.txt")).unwrap(), "a");
    let gone = from.rename_to(&scene.place("c.txt"));
    assert!(matches!(gone, Err(PathError::NotFound { .. })));
    scene.place("from").rename_to(&scene.place("to")).unwrap();
    assert!(scene.inside("to").is_dir());
    assert_eq!(scene.content("taken.txt"), "kept");
    let root = scene.place(".").rename_to(&scene.place("x"));
    assert!(matches!(root, Err(PathError::RootItself { .. })));
}

#[test]
fn a_temporary_file_is_recognised_by_its_name() {
    for name in [".ptk-0123456789abcdef.tmp", ".ptk-0000000000000000.tmp"] {
        assert!(is_temporary_name(name.as_ref()));
    }
    for name in [
        ".ptk-0123456789ABCDEF.tmp",
        ".ptk-0123456789abcde.tmp",
        ".ptk-0123456789abcdef0.tmp",
        "ptk-0123456789abcdef.tmp",
        ".ptk-.tmp",
    ] {
        assert!(!is_temporary_name(name.as_ref()), "{name}");
    }
    let scene = Scene::new();
    scene.write("deep/.ptk-0123456789abcdef.tmp", "");
    assert_eq!(temporary_files(scene.workspace.root()).len(), 1);
}
