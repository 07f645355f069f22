//! A confined thread reads in the workspace and nowhere else.

#![cfg(target_os = "linux")]
#![allow(
    clippy::unwrap_used,
    clippy::print_stderr,
    reason = "the lints allow these inside tests, but not in the functions that tests share"
)]

mod scene;

use std::fs;
use std::io::ErrorKind;
use std::path::Path;
use std::thread;

use ptk_sandbox::Access;
use ptk_sandbox::confine::{self, Confinement};
use scene::{SECRET, Scene, read};

/// Runs a check on a confined thread, if the kernel can confine it.
fn confined(scene: &Scene, check: impl FnOnce() + Send) {
    thread::scope(|scope| {
        let thread = scope.spawn(|| {
            if let Confinement::None { reason } = confine::read_only(&scene.workspace) {
                eprintln!("skipped: {reason}");
            } else {
                check();
            }
        });
        thread.join().unwrap();
    });
}

fn assert_denied<T: std::fmt::Debug>(result: std::io::Result<T>) {
    assert_eq!(result.unwrap_err().kind(), ErrorKind::PermissionDenied);
}

#[test]
fn a_confined_thread_reads_and_lists_inside_and_not_outside() {
    let scene = Scene::new();
    scene.write("src/a.txt", "hello");
    scene.link("/etc/passwd", "passwd");
    scene.link(scene.beside("outside"), "folder");
    scene.link("src", "inside");
    confined(&scene, || {
        // By path, as a search does.
        assert_eq!(scene.content("src/a.txt"), "hello");
        assert_eq!(scene.content("inside/a.txt"), "hello");
        assert_eq!(fs::read_dir(scene.inside("src")).unwrap().count(), 1);
        // And through the jail.
        assert_eq!(read(&scene.place("src/a.txt")).unwrap(), "hello");

        assert_denied(fs::read("/etc/passwd"));
        assert_denied(fs::read(scene.inside("passwd")));
        assert_denied(fs::read(scene.beside("outside/secret.txt")));
        assert_denied(fs::read(scene.inside("folder/secret.txt")));
        assert_denied(fs::read_dir(scene.inside("folder")));
        assert_denied(fs::read_dir("/"));
    });
}

#[test]
fn a_confined_thread_writes_nothing_and_starts_nothing() {
    let scene = Scene::new();
    scene.write("a.txt", "kept");
    confined(&scene, || {
        assert_denied(fs::write(scene.inside("a.txt"), "new"));
        assert_denied(fs::write(scene.inside("b.txt"), "new"));
        assert_denied(fs::remove_file(scene.inside("a.txt")));
        assert_denied(fs::create_dir(scene.inside("folder")));
        assert_denied(std::process::Command::new("/bin/true").status());
    });
    assert_eq!(scene.content("a.txt"), "kept");
    scene.assert_untouched();
}

#[test]
fn threads_that_a_confined_one_starts_are_confined_and_others_are_not() {
    let scene = Scene::new();
    let secret = scene.beside("outside/secret.txt");
    let read_secret = || fs::read_to_string(&secret);
    confined(&scene, || {
        assert_denied(thread::scope(|scope| {
            scope.spawn(read_secret).join().unwrap()
        }));
    });
    assert_eq!(read_secret().unwrap(), SECRET);
    let other = thread::scope(|scope| scope.spawn(read_secret).join().unwrap());
    assert_eq!(other.unwrap(), SECRET);
}

#[test]
fn every_root_is_readable() {
    let mut scene = Scene::new();
    let more = scene.beside("outside");
    scene.workspace = scene
        .workspace
        .clone()
        .with_root(&more, Access::ReadOnly)
        .unwrap();
    confined(&scene, || {
        assert_eq!(fs::read_to_string(more.join("secret.txt")).unwrap(), SECRET);
    });
}

#[test]
fn what_is_said_to_be_full_confinement_is_what_a_new_kernel_gives() {
    let scene = Scene::new();
    let confinement = thread::scope(|scope| {
        let thread = scope.spawn(|| {
            let confinement = confine::read_only(&scene.workspace);
            (confinement, fs::read("/etc/passwd").is_ok())
        });
        thread.join().unwrap()
    });
    match confinement {
        (Confinement::None { reason }, readable) => {
            assert!(!reason.is_empty());
            assert_eq!(readable, Path::new("/etc/passwd").exists());
        }
        (_, readable) => assert!(!readable),
    }
}
