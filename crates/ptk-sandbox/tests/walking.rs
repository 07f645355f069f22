//! The walk through everything below a folder.

#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, reason = "tests")]

mod scene;

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use ptk_sandbox::walk::{IgnoreRules, LeftOut, Visitor, Walk, WalkEntry, WalkOptions};
use ptk_sandbox::{Kind, Place};
use scene::Scene;

const ALL: WalkOptions = WalkOptions {
    hidden: true,
    depth: usize::MAX,
    everything: true,
};
const FILES: WalkOptions = WalkOptions {
    hidden: false,
    depth: usize::MAX,
    everything: false,
};

/// Writes down everything that a walk tells it.
#[derive(Default)]
struct Notes(BTreeSet<String>);

impl Visitor for Notes {
    const IS_WORK: bool = false;

    fn opened(&mut self, path: &[u8]) {
        self.0.insert(format!("open {}", path.escape_ascii()));
    }

    fn visit(&mut self, found: &WalkEntry<'_>) {
        let path = found.path().escape_ascii();
        let text = found.open().ok().map(|(file, size)| {
            let text = std::io::read_to_string(file).unwrap();
            assert_eq!(text.len() as u64, size);
            text
        });
        let text = text.unwrap_or_else(|| found.kind().to_string());
        self.0.insert(format!("{path}: {text}"));
    }

    fn left_out(&mut self, what: LeftOut<'_>) {
        self.0.insert(match what {
            LeftOut::Unreadable { path, error } => {
                format!("unreadable {}: {:?}", path.escape_ascii(), error.kind())
            }
            what => format!("{what:?}"),
        });
    }
}

/// The same, where each visit is shared among threads.
#[derive(Default)]
struct Shared(Notes);

impl Visitor for Shared {
    const IS_WORK: bool = true;

    fn visit(&mut self, found: &WalkEntry<'_>) {
        self.0.visit(found);
    }
}

fn walked(place: &Place, options: WalkOptions, rules: IgnoreRules) -> BTreeSet<String> {
    let walk = Walk::new(place, options, rules).unwrap();
    let notes = walk.run(|_| true, Notes::default);
    notes.into_iter().flat_map(|it| it.0).collect()
}

fn set<const N: usize>(lines: [&str; N]) -> BTreeSet<String> {
    lines.map(str::to_owned).into()
}

fn furnished() -> Scene {
    let scene = Scene::new();
    scene.write("a", "A");
    scene.write("sub/deep/b", "B");
    scene.write(".hidden/c", "C");
    scene.link("../outside", "out");
    scene.link("sub", "in");
    scene.link("../outside/secret.txt", "sub/secret");
    scene
}

#[test]
fn everything_is_found_once_and_no_link_is_followed() {
    let scene = furnished();
    let expected = set([
        "open ",
        "open sub",
        "open sub/deep",
        "open .hidden",
        "a: A",
        "sub: a folder",
        "sub/deep: a folder",
        "sub/deep/b: B",
        ".hidden: a folder",
        ".hidden/c: C",
        "out: a link",
        "in: a link",
        "sub/secret: a link",
    ]);
    let rules = IgnoreRules::above(&scene.place("."));
    assert_eq!(walked(&scene.place("."), ALL, rules), expected);
}

#[test]
fn a_walk_begins_behind_a_link_that_stays_in_the_workspace() {
    let scene = furnished();
    let expected = set(["open ", "open deep", "deep/b: B", "NotAFile(Link)"]);
    for start in ["in", "sub"] {
        let place = scene.place(start);
        assert_eq!(walked(&place, FILES, IgnoreRules::default()), expected);
    }
    scene.link(scene.inside("sub"), "absolute");
    let place = scene.place("absolute");
    assert_eq!(walked(&place, FILES, IgnoreRules::default()), expected);
    assert!(Walk::new(&scene.place("out"), FILES, IgnoreRules::default()).is_err());
}

#[test]
fn files_of_a_folder_are_shared_among_threads_and_each_is_visited_once() {
    let scene = Scene::new();
    for number in 0..200 {
        scene.write(&format!("sub/{number}"), &number.to_string());
    }
    let walk = Walk::new(&scene.place("."), FILES, IgnoreRules::default()).unwrap();
    let all: Vec<String> = walk
        .run(|_| true, Shared::default)
        .into_iter()
        .flat_map(|it| it.0.0)
        .collect();
    assert_eq!(all.len(), 200);
    let (file, size) = walk.reopen(b"sub/17").unwrap();
    assert_eq!(
        (std::io::read_to_string(file).unwrap().as_str(), size),
        ("17", 2)
    );

    let first = walk.run(|files| files < 10, Shared::default);
    let first: usize = first.iter().map(|it| it.0.0.len()).sum();
    assert!((10..200).contains(&first), "{first}");
}

#[test]
fn ignore_rules_apply_as_git_does() {
    let scene = Scene::new();
    for file in [
        "a.log",
        "keep.log",
        ".seen",
        "sub/b.log",
        "sub/x",
        "repo/c.log",
        "repo/own",
        "excluded",
    ] {
        scene.write(file, "");
    }
    scene.write(".gitignore", "*.log\n!keep.log\n!.seen\nnested/\n");
    scene.write(".git/info/exclude", "excluded\n");
    scene.write("sub/.ignore", "x\n!b.log\n");
    scene.write("nested/d", "");
    scene.write("repo/.git/HEAD", "");
    scene.write("repo/.gitignore", "own\n");
    let rules = IgnoreRules::above(&scene.place("."));
    let expected = set([
        "open ",
        "open sub",
        "open repo",
        "keep.log: ",
        ".seen: ",
        "sub/b.log: ",
        "repo/c.log: ",
        "Ignored",
        "Hidden",
    ]);
    assert_eq!(walked(&scene.place("."), FILES, rules), expected);
    // A walk that begins below has the rules from above.
    let rules = IgnoreRules::above(&scene.place("sub"));
    let expected = set(["open ", "b.log: ", "Ignored", "Hidden"]);
    assert_eq!(walked(&scene.place("sub"), FILES, rules), expected);
}

#[test]
fn where_only_folders_are_ignored_no_file_is_left_out() {
    let scene = Scene::new();
    scene.write(".gitignore", "target/\n.env\n");
    scene.write(".env", "S");
    scene.write("target/x", "");
    scene.write(".git/HEAD", "");
    scene.write("module/.git", "gitdir");
    let expected = set([
        "open ",
        "open module",
        ".gitignore: target/\n.env\n",
        ".env: S",
        "module: a folder",
        "module/.git: gitdir",
        "Ignored",
    ]);
    let found = walked(&scene.place("."), ALL, IgnoreRules::ignored_folders());
    assert_eq!(found, expected);
}

#[test]
fn what_cannot_be_opened_is_told_and_the_rest_is_found() {
    let scene = furnished();
    let odd = scene
        .inside("odd")
        .join(Path::new(std::ffi::OsStr::from_bytes(b"\xff")));
    fs::create_dir_all(odd.parent().unwrap()).unwrap();
    fs::write(&odd, "odd").unwrap();
    rustix::fs::mkfifoat(rustix::fs::CWD, scene.inside(".gitignore"), 0o644.into()).unwrap();
    fs::set_permissions(scene.inside("sub/deep"), fs::Permissions::from_mode(0o000)).unwrap();
    let rules = IgnoreRules::above(&scene.place("."));
    let found = walked(&scene.place("."), ALL, rules);
    assert!(found.contains("odd/\\xff: odd"), "{found:?}");
    assert!(
        found.contains(&format!(".gitignore: {}", Kind::Pipe)),
        "{found:?}"
    );
    if !rustix::process::geteuid().is_root() {
        assert!(
            found.contains("unreadable sub/deep/: PermissionDenied"),
            "{found:?}"
        );
    }
    fs::set_permissions(scene.inside("sub/deep"), fs::Permissions::from_mode(0o755)).unwrap();
}

#[test]
fn no_folder_is_too_deep() {
    use rustix::fs::{CWD, Mode, OFlags, mkdirat, openat};

    let scene = Scene::new();
    let name = "n".repeat(250);
    let folder = OFlags::RDONLY | OFlags::DIRECTORY;
    let mut at = openat(CWD, scene.inside(""), folder, Mode::empty()).unwrap();
    for _ in 0..40 {
        mkdirat(&at, &name, Mode::RWXU).unwrap();
        at = openat(&at, &name, folder, Mode::empty()).unwrap();
    }
    let found = walked(&scene.place("."), ALL, IgnoreRules::default());
    let opened = found.iter().filter(|it| it.starts_with("open "));
    assert_eq!(opened.count(), 41);
}

/// Where a filter of system calls does not know `openat2`, as in some
/// containers, folders are entered name by name.
#[test]
fn without_the_newest_calls_the_walk_finds_the_same() {
    use std::collections::BTreeMap;

    use seccompiler::{SeccompAction, SeccompFilter, apply_filter};

    let scene = furnished();
    let place = scene.place(".");
    let expected = walked(&place, ALL, IgnoreRules::default());
    let attempt = move || {
        let filter = SeccompFilter::new(
            BTreeMap::from([(libc::SYS_openat2, Vec::new())]),
            SeccompAction::Allow,
            SeccompAction::Errno(libc::ENOSYS.unsigned_abs()),
            std::env::consts::ARCH.try_into().unwrap(),
        );
        let filter: seccompiler::BpfProgram = filter.unwrap().try_into().unwrap();
        apply_filter(&filter).unwrap();
        walked(&place, ALL, IgnoreRules::default())
    };
    // The filter is that of a thread, and of what it starts.
    let found = std::thread::spawn(attempt).join().unwrap();
    assert_eq!(found, expected);
}
