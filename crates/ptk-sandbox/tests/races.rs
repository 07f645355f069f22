//! Races that really race: one thread swaps what the other works on, or both
//! write the same file.

#![allow(
    clippy::unwrap_used,
    reason = "the lints allow these inside tests, but not in the functions that tests share"
)]

mod scene;

use std::fs;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::Path;
use std::sync::Barrier;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use ptk_sandbox::{Access, Expect, Kind, PathError};
use rustix::fs::{CWD, FileType, Mode, RenameFlags, mknodat, renameat_with};
use scene::{Scene, read, temporary_files};

/// How often the one thread reads, at least, while the other swaps.
const READS: usize = 5_000;
/// How often it writes: each write waits for the disk.
const WRITES: usize = 200;
/// How often threads do the same thing at the same time.
const DUELS: usize = 50;

fn exchange(a: &Path, b: &Path) {
    renameat_with(CWD, a, CWD, b, RenameFlags::EXCHANGE).unwrap();
}

/// Lets `work` run while `a` and `b` change places, as fast as they can.
/// Returns how often they did.
fn while_swapping(a: &Path, b: &Path, work: impl FnOnce()) -> usize {
    let done = AtomicBool::new(false);
    thread::scope(|scope| {
        let swapper = scope.spawn(|| {
            let mut swaps = 0;
            // An even number, so that everything ends where it began.
            while !done.load(Ordering::Relaxed) || swaps % 2 == 1 {
                exchange(a, b);
                swaps += 1;
            }
            swaps
        });
        let finished = Finished(&done);
        work();
        drop(finished);
        swapper.join().unwrap()
    })
}

/// Stops the other thread, after a failure too.
struct Finished<'a>(&'a AtomicBool);

impl Drop for Finished<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

#[test]
fn a_folder_swapped_with_a_link_to_outside_never_leads_there() {
    let scene = Scene::new();
    scene.write("folder/inside.txt", "inside");
    scene.link("../outside", "link");
    let (mut read_inside, mut refused) = (0, 0);
    let swaps = while_swapping(&scene.inside("folder"), &scene.inside("link"), || {
        let old = scene.place("folder/inside.txt");
        let taken = scene.place("folder/secret.txt");
        while read_inside + refused < READS || read_inside == 0 || refused == 0 {
            match read(&old) {
                Ok(content) => {
                    assert_eq!(content, "inside");
                    read_inside += 1;
                }
                Err(_) => refused += 1,
            }
            assert!(taken.open().is_err());
            if let Ok(entries) = scene.place("folder").read_dir() {
                let names = entries.map(|entry| entry.unwrap().name().to_owned());
                assert_eq!(names.collect::<Vec<_>>(), ["inside.txt"]);
            }
        }
        let new = scene.place("folder/new.txt");
        let newer = scene.place("folder/newer.txt");
        let deep = scene.place("folder/deep/er/new.txt");
        for _ in 0..WRITES {
            // Errors are fine here, and so is success; what counts is where.
            let _ = deep.create_parents();
            let _ = deep.replace(b"inside", Expect::Anything);
            let _ = old.replace(b"inside", Expect::Anything);
            let _ = taken.remove_file();
            let _ = new.replace(b"inside", Expect::Missing);
            let _ = new.rename_to(&newer);
            let _ = newer.remove_file();
        }
    });
    assert!(swaps > 1, "only {swaps} swaps");
    scene.assert_untouched();
}

#[test]
fn a_file_swapped_with_a_link_to_outside_never_leads_there() {
    let scene = Scene::new();
    scene.write("file", "inside");
    scene.link("../outside/secret.txt", "link");
    let (mut read_inside, mut refused) = (0, 0);
    while_swapping(&scene.inside("file"), &scene.inside("link"), || {
        let place = scene.place("file");
        while read_inside + refused < READS || read_inside == 0 || refused == 0 {
            match read(&place) {
                Ok(content) => {
                    assert_eq!(content, "inside");
                    read_inside += 1;
                }
                Err(error) => {
                    assert!(matches!(error, PathError::Outside { .. }), "{error:?}");
                    refused += 1;
                }
            }
        }
        for _ in 0..WRITES {
            let _ = place.replace(b"inside", Expect::Anything);
        }
    });
    scene.assert_untouched();
}

#[test]
fn a_folder_swapped_with_a_link_to_a_read_only_root_is_not_written_to_there() {
    let scene = Scene::new();
    fs::create_dir(scene.inside("folder")).unwrap();
    scene.write("vendor/kept.txt", "kept");
    scene.link("vendor", "link");
    let workspace = scene.workspace.clone();
    let workspace = workspace
        .with_root(scene.inside("vendor"), Access::ReadOnly)
        .unwrap();
    while_swapping(&scene.inside("folder"), &scene.inside("link"), || {
        let kept = workspace.resolve("folder/kept.txt").unwrap();
        for _ in 0..READS {
            assert!(kept.remove_file().is_err());
        }
        let new = workspace.resolve("folder/new.txt").unwrap();
        for _ in 0..WRITES {
            let _ = new.replace(b"new", Expect::Anything);
        }
    });
    assert_eq!(scene.content("vendor/kept.txt"), "kept");
    assert_eq!(fs::read_dir(scene.inside("vendor")).unwrap().count(), 1);
}

#[test]
fn a_file_swapped_with_a_pipe_does_not_hold_the_reader_up() {
    let scene = Scene::new();
    scene.write("file", "content");
    let pipe = scene.inside("pipe");
    mknodat(CWD, &pipe, FileType::Fifo, Mode::from_raw_mode(0o644), 0).unwrap();
    let (mut contents, mut refused) = (0, 0);
    while_swapping(&scene.inside("file"), &pipe, || {
        while contents + refused < READS || contents == 0 || refused == 0 {
            match read(&scene.place("file")) {
                Ok(content) => {
                    assert_eq!(content, "content");
                    contents += 1;
                }
                Err(PathError::NotAFile { kind, .. }) => {
                    assert_eq!(kind, Kind::Pipe);
                    refused += 1;
                }
                Err(other) => panic!("{other:?}"),
            }
        }
    });
}

#[test]
fn the_new_content_of_a_private_file_is_never_open_to_others() {
    let scene = Scene::new();
    scene.write("private", "");
    let private = fs::Permissions::from_mode(0o600);
    fs::set_permissions(scene.inside("private"), private).unwrap();
    let content = vec![b'x'; 3_000_000];
    thread::scope(|scope| {
        let watcher = scope.spawn(|| {
            // While it is being written, not only afterwards.
            let mut looks = 0;
            while looks < 5 {
                for path in temporary_files(scene.workspace.root()) {
                    // It may be gone, or have its name, before it is looked at.
                    if let Ok(metadata) = fs::metadata(path) {
                        assert_eq!(metadata.mode() & 0o077, 0);
                        looks += usize::from(metadata.len() < 3_000_000);
                    }
                }
            }
        });
        while !watcher.is_finished() {
            let place = scene.place("private");
            place.replace(&content, Expect::Anything).unwrap();
        }
    });
}

#[test]
fn writers_of_one_file_leave_one_content_whole() {
    let scene = Scene::new();
    // Longer than any write that the system does in one go.
    let contents: Vec<_> = "abcd"
        .chars()
        .map(|c| c.to_string().repeat(300_000))
        .collect();
    scene.write("a.txt", &contents[0]);
    let done = AtomicBool::new(false);
    thread::scope(|scope| {
        let reader = scope.spawn(|| {
            while !done.load(Ordering::Relaxed) {
                let seen = read(&scene.place("a.txt")).unwrap();
                assert!(contents.contains(&seen), "torn at {} bytes", seen.len());
            }
        });
        let finished = Finished(&done);
        thread::scope(|writers| {
            for content in &contents {
                writers.spawn(|| {
                    for _ in 0..10 {
                        let place = scene.place("a.txt");
                        place.replace(content.as_bytes(), Expect::Anything).unwrap();
                    }
                });
            }
        });
        drop(finished);
        reader.join().unwrap();
    });
    assert!(contents.contains(&scene.content("a.txt")));
    scene.assert_untouched();
}

#[test]
fn of_two_writers_of_a_missing_file_exactly_one_wins() {
    let scene = Scene::new();
    let start = Barrier::new(2);
    for round in 0..DUELS {
        let place = scene.place(&format!("{round}.txt"));
        let write = |content: &'static str| {
            start.wait();
            let result = place.replace(content.as_bytes(), Expect::Missing);
            result.map(|_| content)
        };
        let (one, two) = thread::scope(|scope| {
            let one = scope.spawn(|| write("one"));
            let two = scope.spawn(|| write("two"));
            (one.join().unwrap(), two.join().unwrap())
        });
        let winner = match (one, two) {
            (Ok(winner), Err(PathError::AlreadyExists { .. }))
            | (Err(PathError::AlreadyExists { .. }), Ok(winner)) => winner,
            both => panic!("{both:?}"),
        };
        assert_eq!(read(&place).unwrap(), winner);
    }
    assert!(temporary_files(scene.workspace.root()).is_empty());
}

#[test]
fn many_threads_create_the_same_parents() {
    let scene = Scene::new();
    for round in 0..DUELS {
        let place = scene.place(&format!("{round}/a/b/c/file"));
        thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| place.create_parents().unwrap());
            }
        });
        assert!(scene.inside(&format!("{round}/a/b/c")).is_dir());
    }
}
