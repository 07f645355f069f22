//! From the text of a path to a place: no file is touched, so none need exist.

mod scene;

use std::fs;

use ptk_sandbox::{Access, ErrorKind, Expect, PathError, Workspace, WorkspaceError};
use scene::Scene;

#[test]
fn a_relative_path_is_relative_to_the_first_root() {
    let scene = Scene::new();
    for (path, shown) in [
        ("a.txt", "a.txt"),
        ("./a.txt", "a.txt"),
        ("src//deep/./a.txt", "src/deep/a.txt"),
        ("src/", "src"),
        (".", "."),
        ("./", "."),
        ("a..b/..c/d..", "a..b/..c/d.."),
        ("...", "..."),
        ("~backup/x~", "~backup/x~"),
        ("./~/x", "~/x"),
        ("with space/ünïcödé 文件.txt", "with space/ünïcödé 文件.txt"),
    ] {
        let place = scene.place(path);
        assert_eq!(place.to_string(), shown, "{path}");
        assert_eq!(place.root(), scene.workspace.root());
        let expected = match shown {
            "." => scene.workspace.root().to_owned(),
            shown => scene.inside(shown),
        };
        assert_eq!(place.absolute(), expected, "{path}");
    }
}

#[test]
fn any_component_of_two_dots_is_refused() {
    let scene = Scene::new();
    let absolute = scene.inside("a/../b");
    for path in [
        "..",
        "../",
        "../secret",
        "a/..",
        "a/../b",
        "./../a",
        "a//..//b",
        "a/b/../../..",
        "~/../x",
        "/..",
        absolute.to_str().unwrap(),
    ] {
        let error = scene.workspace.resolve(path).unwrap_err();
        assert!(matches!(error, PathError::Traversal { .. }), "{path}");
        assert_eq!(error.to_string(), "Path traversal not allowed");
        assert_eq!(error.kind(), ErrorKind::Security);
    }
}

#[test]
fn an_absolute_path_must_lie_in_a_root() {
    let scene = Scene::new();
    let inside = scene.inside("src/a.txt");
    let place = scene.place(inside.to_str().unwrap());
    assert_eq!(place.to_string(), "src/a.txt");
    assert_eq!(place.absolute(), inside);
    assert_eq!(
        scene.place(scene.inside("").to_str().unwrap()).to_string(),
        "."
    );

    for path in ["/", "/etc/passwd", "//etc/passwd"] {
        let error = scene.workspace.resolve(path).unwrap_err();
        assert!(matches!(error, PathError::Outside { .. }), "{path}");
        assert_eq!(error.kind(), ErrorKind::Security);
    }
}

#[test]
fn a_folder_whose_name_only_begins_like_the_root_is_outside() {
    let scene = Scene::new();
    for name in ["space2/a.txt", "space.txt", "spac"] {
        let path = scene.beside(name);
        let error = scene.workspace.resolve(path.to_str().unwrap()).unwrap_err();
        assert!(matches!(error, PathError::Outside { .. }), "{name}");
    }
}

#[test]
fn a_root_is_known_by_the_name_it_was_opened_with_too() {
    let scene = Scene::new();
    let alias = scene.beside("alias");
    std::os::unix::fs::symlink(scene.workspace.root(), &alias).unwrap();

    let workspace = Workspace::open(&alias).unwrap();
    assert_eq!(workspace.root(), scene.workspace.root());
    for path in [alias.join("a.txt"), scene.inside("a.txt")] {
        let place = workspace.resolve(path.to_str().unwrap()).unwrap();
        assert_eq!(place.to_string(), "a.txt");
        assert_eq!(place.absolute(), scene.inside("a.txt"));
    }
}

#[test]
fn places_in_other_roots_show_themselves_absolute() {
    let scene = Scene::new();
    let more = scene.beside("outside");
    let workspace = scene.workspace.clone();
    let workspace = workspace.with_root(&more, Access::ReadOnly).unwrap();

    let path = more.join("secret.txt");
    let place = workspace.resolve(path.to_str().unwrap()).unwrap();
    assert_eq!(place.to_string(), path.to_str().unwrap());
    assert_eq!(place.root(), more);
    assert_eq!(scene::read(&place).unwrap(), scene::SECRET);
    // The workspace that it was made from is as it was.
    assert!(scene.workspace.resolve(path.to_str().unwrap()).is_err());
}

#[test]
fn the_innermost_root_holds_a_place_and_it_is_still_shown_relative() {
    let scene = Scene::new();
    fs::create_dir(scene.inside("vendor")).unwrap();
    let workspace = scene.workspace.clone();
    let workspace = workspace
        .with_root(scene.inside("vendor"), Access::ReadOnly)
        .unwrap();
    let place = workspace.resolve("vendor/a.txt").unwrap();
    assert_eq!(place.root(), scene.inside("vendor"));
    assert_eq!(place.to_string(), "vendor/a.txt");
}

#[test]
fn a_temporary_folder_can_be_added_and_is_nobody_elses() {
    let scene = Scene::new();
    let temp = std::env::temp_dir()
        .canonicalize()
        .unwrap()
        .join("some.txt");
    assert!(scene.workspace.resolve(temp.to_str().unwrap()).is_err());
    let workspace = scene.workspace.clone().with_temp().unwrap();
    let place = workspace.resolve(temp.to_str().unwrap()).unwrap();
    let private = workspace.temporary().unwrap().to_owned();
    assert_eq!(place.absolute(), private.join("some.txt"));
    place.replace(b"mine", Expect::Missing).unwrap();
    assert!(!temp.exists());
    // By its own name, too.
    let same = workspace.resolve(place.absolute().to_str().unwrap());
    assert_eq!(same.unwrap().absolute(), place.absolute());
    // The workspace itself lies in it, and stays the first.
    assert_eq!(workspace.resolve("a.txt").unwrap().to_string(), "a.txt");
    drop((workspace, place));
    assert!(!private.exists());
}

#[test]
fn paths_that_no_file_can_have_are_refused_with_a_reason() {
    let scene = Scene::new();
    for (path, message) in [
        ("", r#"Cannot use the path "": it is empty"#),
        (
            "a\0b",
            r#"Cannot use the path "a\u{0}b": it holds a NUL byte"#,
        ),
        ("~", r#"Cannot use the path "~": `~` is not expanded"#),
        (
            "~/a.txt",
            r#"Cannot use the path "~/a.txt": `~` is not expanded"#,
        ),
    ] {
        let error = scene.workspace.resolve(path).unwrap_err();
        assert_eq!(error.to_string(), message);
        assert_eq!(error.kind(), ErrorKind::User);
        assert_eq!(
            error.hint().unwrap(),
            "Write the path relative to the workspace, or absolute."
        );
    }
}

#[test]
fn a_workspace_must_be_a_folder_that_exists() {
    let scene = Scene::new();
    let missing = Workspace::open(scene.inside("missing")).unwrap_err();
    assert!(matches!(missing, WorkspaceError::NotFound { .. }));
    scene.write("file", "");
    let file = Workspace::open(scene.inside("file")).unwrap_err();
    assert!(matches!(file, WorkspaceError::NotAFolder { .. }));
    assert_eq!(
        file.to_string(),
        format!(
            "Cannot open the workspace {}: it is not a folder",
            scene.inside("file").display()
        ),
    );
}
