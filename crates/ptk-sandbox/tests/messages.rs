//! The messages for people and models, word for word.

#![allow(
    clippy::unwrap_used,
    reason = "the lints allow these inside tests, but not in the functions that tests share"
)]

mod scene;

use std::fs;

use ptk_sandbox::{Access, Expect, Fingerprint, PathError};
use scene::{Scene, told};

fn assert_told<T: std::fmt::Debug>(scene: &Scene, result: Result<T, PathError>, expected: &str) {
    assert_eq!(told(scene, &result.unwrap_err()), expected);
}

#[test]
fn every_error_says_what_was_attempted_on_what_and_what_to_do() {
    let scene = Scene::new();
    scene.write("file", "old");
    fs::create_dir(scene.inside("folder")).unwrap();
    scene.link("../outside/secret.txt", "link");
    scene.link("loop", "loop");
    let _socket = std::os::unix::net::UnixListener::bind(scene.inside("socket")).unwrap();
    let place = |path: &str| scene.place(path);

    assert_told(
        &scene,
        place("src/missing.rs").open(),
        "Cannot read src/missing.rs: there is no such file or folder\n\
         List the folder above it to see what there is.",
    );
    assert_told(
        &scene,
        place("missing/a.rs").replace(b"", Expect::Anything),
        "Cannot write missing/a.rs: there is no such file or folder\n\
         Create the folders above it first.",
    );
    assert_told(
        &scene,
        place("socket").open(),
        "Cannot read socket: it is a socket, not a regular file\n\
         Choose a regular file.",
    );
    assert_told(
        &scene,
        place("folder").open(),
        "Cannot read folder: it is a folder\n\
         List the folder, or give the path of a file in it.",
    );
    assert_told(
        &scene,
        place("folder").remove_file(),
        "Cannot remove folder: it is a folder\n\
         Give the path of a file.",
    );
    assert_told(
        &scene,
        place("file").read_dir(),
        "Cannot list file: it, or a part of its path, is not a folder\n\
         Check each part of the path; one of them is a file.",
    );
    assert_told(
        &scene,
        place("link").open(),
        "Cannot read link: it leads outside the allowed folders (/…/space)\n\
         Use a path in /…/space.",
    );
    assert_told(
        &scene,
        place("loop").metadata(),
        "Cannot inspect loop: too many links, or links in a circle\n\
         Give the path of the file itself, without links.",
    );
    assert_told(
        &scene,
        place(".").rename_to(&place("other")),
        "Cannot rename .: it is, or holds, a folder that is opened as a root\n\
         Choose a file or folder within it.",
    );
    assert_told(
        &scene,
        place("file").replace(b"", Expect::Unchanged(Fingerprint::of(b"older"))),
        "Cannot write file: its content is not what was last seen\n\
         Read the file again, then repeat the change on what it says.",
    );
    assert_told(
        &scene,
        place("file").replace(b"", Expect::Missing),
        "Cannot write file: it exists already\n\
         Read what is there, or choose another name.",
    );
    assert_told(
        &scene,
        place("file/a/b").create_parents(),
        "Cannot create the folders of file/a/b: it, or a part of its path, is not a folder\n\
         Check each part of the path; one of them is a file.",
    );
    let long = "n".repeat(300);
    let shown = format!("{}…{}", "n".repeat(120), "n".repeat(120));
    assert_told(
        &scene,
        place(&long).open(),
        &format!(
            "Cannot read {shown}: the path or a name in it is too long\n\
             Choose a shorter name; 255 bytes is the usual limit."
        ),
    );
}

#[test]
fn a_path_that_leads_outside_is_told_with_the_folders_that_are_allowed() {
    let scene = Scene::new();
    let workspace = scene.workspace.clone();
    let workspace = workspace
        .with_root(scene.beside("outside"), Access::ReadOnly)
        .unwrap();
    assert_told(
        &scene,
        workspace.resolve("/etc/passwd"),
        "Cannot use /etc/passwd: it leads outside the allowed folders (/…/space, /…/outside)\n\
         Use a path in /…/space, /…/outside.",
    );
    assert_told(
        &scene,
        workspace.resolve("a/../b"),
        "Path traversal not allowed\n\
         Write the path without `..`, relative to the workspace or absolute.",
    );
    let secret = scene.beside("outside/secret.txt");
    let secret = workspace.resolve(secret.to_str().unwrap()).unwrap();
    assert_told(
        &scene,
        secret.remove_file(),
        "Cannot remove /…/outside/secret.txt: /…/outside is read-only here\n\
         Write to a path in the workspace instead.",
    );
}
