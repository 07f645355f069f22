//! Links: followed as long as they stay in the workspace, however they are
//! written, and never out of it.

#![allow(
    clippy::unwrap_used,
    reason = "the lints allow these inside tests, but not in the functions that tests share"
)]

mod scene;

use std::fs;

use ptk_sandbox::{Access, ErrorKind, Expect, Kind, PathError, Place, Workspace};
use scene::{SECRET, Scene, read};

fn assert_outside<T: std::fmt::Debug>(result: Result<T, PathError>, what: &str) {
    let error = result.unwrap_err();
    assert!(
        matches!(error, PathError::Outside { .. }),
        "{what}: {error:?}"
    );
    assert_eq!(error.kind(), ErrorKind::Security);
}

/// Every way to get at a file, which must not lead out.
fn assert_no_way_to(place: &Place) {
    assert_outside(place.open(), "open");
    assert_outside(place.metadata(), "metadata");
    assert_outside(place.read_dir(), "read_dir");
    assert_outside(place.fingerprint(), "fingerprint");
    assert_outside(place.replace(b"broken in", Expect::Anything), "replace");
    assert_outside(place.replace(b"broken in", Expect::Missing), "create");
    assert_outside(place.create_parents(), "create_parents");
}

#[test]
fn a_link_to_a_file_outside_is_not_followed() {
    let scene = Scene::new();
    scene.link(scene.beside("outside/secret.txt"), "absolute");
    scene.link("../outside/secret.txt", "relative");
    scene.link("../outside/missing.txt", "dangling");
    scene.link("absolute", "chain");
    for name in ["absolute", "relative", "dangling", "chain"] {
        let place = scene.place(name);
        assert_no_way_to(&place);
        // The link itself is inside.
        assert_eq!(place.symlink_metadata().unwrap().kind, Kind::Link);
        assert!(place.exists().unwrap());
    }
    scene.assert_untouched();
}

#[test]
fn a_link_to_a_folder_outside_leads_to_nothing_in_it() {
    let scene = Scene::new();
    scene.link(scene.beside("outside"), "absolute");
    scene.link("../outside", "relative");
    scene.link("/", "root");
    scene.link("..", "parent");
    let deep = format!("root{}", scene.beside("outside/secret.txt").display());
    for name in [
        "absolute/secret.txt",
        "relative/secret.txt",
        "relative/new.txt",
        "relative/new/folder/file.txt",
        "parent/outside/secret.txt",
        &deep,
    ] {
        let place = scene.place(name);
        assert_no_way_to(&place);
        assert_outside(place.symlink_metadata(), "symlink_metadata");
        assert_outside(place.exists(), "exists");
        assert_outside(place.remove_file(), "remove_file");
        assert_outside(place.rename_to(&scene.place("stolen")), "rename_to");
        scene.write("own.txt", "own");
        assert_outside(scene.place("own.txt").rename_to(&place), "rename_to");
    }
    assert_outside(scene.place("relative").read_dir(), "read_dir");
    scene.assert_untouched();
}

#[test]
fn whether_there_is_something_outside_is_not_told() {
    let scene = Scene::new();
    scene.link("../outside", "out");
    let there = scene
        .place("out/secret.txt")
        .open()
        .unwrap_err()
        .to_string();
    let not_there = scene
        .place("out/missing.txt")
        .open()
        .unwrap_err()
        .to_string();
    assert_eq!(
        there.replace("secret", "…"),
        not_there.replace("missing", "…")
    );
}

#[test]
fn links_that_stay_inside_are_followed_for_reading_and_listing() {
    let scene = Scene::new();
    scene.write("real/deep/a.txt", "hello");
    scene.link("real/deep/a.txt", "relative");
    scene.link(scene.inside("real/deep/a.txt"), "absolute");
    scene.link("real", "folder");
    scene.link(scene.inside("real"), "absolute_folder");
    scene.link("../absolute_folder/deep/../deep/./a.txt", "real/winding");
    scene.link("../space/real/deep/a.txt", "out_and_in");
    scene.link("relative", "chain1");
    scene.link("chain1", "chain2");
    for name in [
        "relative",
        "absolute",
        "folder/deep/a.txt",
        "absolute_folder/deep/a.txt",
        "absolute_folder/winding",
        "out_and_in",
        "chain2",
    ] {
        assert_eq!(read(&scene.place(name)).unwrap(), "hello", "{name}");
        assert_eq!(scene.place(name).metadata().unwrap().kind, Kind::File);
    }
    for name in ["folder", "absolute_folder"] {
        assert_eq!(scene.place(name).read_dir().unwrap().count(), 2);
        let listed = scene
            .place(name)
            .read_dir()
            .unwrap()
            .next()
            .unwrap()
            .unwrap();
        assert!(listed.place().to_string().starts_with(name));
    }
}

#[test]
fn links_from_root_to_root_are_followed_with_the_rights_of_where_they_lead() {
    let scene = Scene::new();
    let workspace = scene.workspace.clone();
    let workspace = workspace
        .with_root(scene.beside("outside"), Access::ReadOnly)
        .unwrap();
    scene.link("../outside", "more");
    let place = workspace.resolve("more/secret.txt").unwrap();
    assert_eq!(read(&place).unwrap(), SECRET);
    for result in [
        place.replace(b"x", Expect::Anything).map(drop),
        place.remove_file(),
        place.create_parents(),
        place.rename_to(&workspace.resolve("stolen").unwrap()),
    ] {
        let error = result.unwrap_err();
        assert!(matches!(error, PathError::ReadOnlyRoot { .. }), "{error:?}");
        assert_eq!(error.kind(), ErrorKind::Permission);
    }
    scene.assert_untouched();
}

#[test]
fn links_in_a_circle_end() {
    let scene = Scene::new();
    scene.link("b", "a");
    scene.link("a", "b");
    scene.link("self/self", "self");
    scene.link(scene.inside("absolute"), "absolute");
    for name in ["a", "b", "self", "absolute", "a/x"] {
        let place = scene.place(name);
        for error in [
            place.open().map(drop).unwrap_err(),
            place.replace(b"", Expect::Anything).map(drop).unwrap_err(),
        ] {
            assert!(
                matches!(error, PathError::LinkLoop { .. }),
                "{name}: {error:?}"
            );
        }
    }
    scene.assert_untouched();
}

#[test]
fn a_link_stays_a_link_and_what_it_leads_to_is_replaced() {
    let scene = Scene::new();
    scene.write("real/a.txt", "old");
    scene.link("real/a.txt", "relative");
    scene.link(scene.inside("real/a.txt"), "absolute");
    scene.link("real/new.txt", "dangling");
    for (name, real) in [
        ("relative", "real/a.txt"),
        ("absolute", "real/a.txt"),
        ("dangling", "real/new.txt"),
    ] {
        scene
            .place(name)
            .replace(name.as_bytes(), Expect::Anything)
            .unwrap();
        assert_eq!(scene.content(real), name);
        assert_eq!(
            scene.place(name).symlink_metadata().unwrap().kind,
            Kind::Link
        );
        let real_kind = scene.place(real).symlink_metadata().unwrap().kind;
        assert_eq!(real_kind, Kind::File);
    }
    scene.assert_untouched();
}

#[test]
fn removing_and_renaming_a_link_means_the_link() {
    let scene = Scene::new();
    scene.write("a.txt", "kept");
    scene.link("a.txt", "inside");
    scene.link("../outside/secret.txt", "outside");
    scene.place("inside").remove_file().unwrap();
    scene
        .place("outside")
        .rename_to(&scene.place("moved"))
        .unwrap();
    assert!(!scene.place("inside").exists().unwrap());
    assert_eq!(scene.content("a.txt"), "kept");
    assert_eq!(
        scene.place("moved").symlink_metadata().unwrap().kind,
        Kind::Link
    );
    scene.place("moved").remove_file().unwrap();
    scene.assert_untouched();
}

#[test]
fn a_hard_link_to_a_file_outside_is_not_written_through() {
    let scene = Scene::new();
    fs::hard_link(scene.beside("outside/secret.txt"), scene.inside("twin")).unwrap();
    assert_eq!(scene.place("twin").metadata().unwrap().names, 2);
    let written = scene.place("twin").replace(b"new", Expect::Anything);
    assert_eq!(written.unwrap().names, 2);
    assert_eq!(scene.content("twin"), "new");
    assert_eq!(scene.place("twin").metadata().unwrap().names, 1);
    scene.assert_untouched();
}

#[test]
fn parents_are_created_through_links_that_stay_inside() {
    let scene = Scene::new();
    fs::create_dir(scene.inside("real")).unwrap();
    scene.link(scene.inside("real"), "link");
    scene.link("real/later", "dangling");
    for (path, real) in [
        ("link/x/y/a.txt", "real/x/y/a.txt"),
        ("dangling/z/a.txt", "real/later/z/a.txt"),
    ] {
        let place = scene.place(path);
        place.create_parents().unwrap();
        place.create_parents().unwrap();
        place.replace(b"new", Expect::Missing).unwrap();
        assert_eq!(scene.content(real), "new");
    }
}

#[test]
fn the_links_of_the_system_behind_processes_are_not_followed() {
    let workspace = Workspace::open("/proc/self").unwrap();
    for path in ["cwd", "root/etc/passwd", "exe"] {
        let place = workspace.resolve(path).unwrap();
        assert!(place.open().is_err(), "{path}");
        assert!(place.read_dir().is_err(), "{path}");
    }
}
