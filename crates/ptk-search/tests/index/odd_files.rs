//! Files that are not plain text in a plain folder.

use std::collections::BTreeMap;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::sync::mpsc;
use std::time::Duration;
use std::{fs, thread};

use ptk_search::Query;
use ptk_search::walk::{MAX_FILE, Reason};
use rustix::fs::{CWD, FileType, Mode, mknodat};

use super::workspace::Fixture;

/// A timeout that is longer than any machine takes for a few files.
const PATIENCE: Duration = Duration::from_secs(120);

fn pipe(fixture: &Fixture, name: &str) {
    let path = fixture.root().join(name);
    mknodat(CWD, &path, FileType::Fifo, Mode::from_raw_mode(0o644), 0).unwrap();
}

/// Runs a function on another thread, and fails if it does not end in time.
fn within_bounds<T: Send + 'static>(run: impl FnOnce() -> T + Send + 'static) -> T {
    let (sender, receiver) = mpsc::channel();
    thread::spawn(move || sender.send(run()));
    receiver.recv_timeout(PATIENCE).expect("it waits")
}

#[test]
fn what_is_no_text_is_left_out_and_named() {
    let fixture = Fixture::with(&[("good.rs", "fn good() {}\n")]);
    fixture.write("zeros.bin", b"a\0b");
    fixture.write("control.bin", b"\xfe\x01\x02");
    let large = usize::try_from(MAX_FILE).unwrap() + 1;
    fixture.write("large.txt", "word ".repeat(large / 5 + 1));
    fixture.write("exact.txt", "edge ".repeat(large / 5));
    fixture.write("empty.txt", "");
    symlink("loop", fixture.root().join("loop")).unwrap();
    symlink("good.rs", fixture.root().join("link.rs")).unwrap();
    symlink("/etc", fixture.root().join("outside")).unwrap();
    symlink("..", fixture.root().join("above")).unwrap();
    symlink("nowhere", fixture.root().join("dangling")).unwrap();
    pipe(&fixture, "pipe.rs");
    fixture.write("secret.rs", "fn secret() {}\n");
    let secret = fixture.root().join("secret.rs");
    fs::set_permissions(&secret, fs::Permissions::from_mode(0o000)).unwrap();
    let is_root = fs::read(&secret).is_ok();

    let (fixture, report) = within_bounds(move || {
        let report = fixture.update();
        (fixture, report)
    });
    let skipped: BTreeMap<&str, Reason> = report.skipped.named().collect();
    let mut expected = BTreeMap::from([
        ("above", Reason::NotAFile),
        ("control.bin", Reason::Binary),
        ("dangling", Reason::NotAFile),
        ("large.txt", Reason::TooLarge),
        ("link.rs", Reason::NotAFile),
        ("loop", Reason::NotAFile),
        ("outside", Reason::NotAFile),
        ("pipe.rs", Reason::NotAFile),
        ("zeros.bin", Reason::Binary),
    ]);
    if !is_root {
        expected.insert("secret.rs", Reason::Unreadable);
    }
    assert_eq!(skipped, expected);
    assert_eq!(report.files, 3 + usize::from(is_root));
    assert_eq!(report.skipped.total(), expected.len());
    let counts: BTreeMap<Reason, usize> = report.skipped.counts().collect();
    assert_eq!(counts[&Reason::Binary], 2);
    assert_eq!(fixture.hits("good").len(), 1);
    assert!(!fixture.hits("edge").is_empty());
    // Reported again, though they are not read again.
    assert_eq!(fixture.update().skipped.total(), expected.len());
}

#[test]
fn text_in_other_encodings_is_found() {
    let fixture = Fixture::new();
    let wide = |bytes: fn(u16) -> [u8; 2], mark: [u8; 2]| {
        let text = "# Größe\n\nwide words\n".encode_utf16().flat_map(bytes);
        mark.into_iter().chain(text).collect::<Vec<u8>>()
    };
    fixture.write("le.md", wide(u16::to_le_bytes, [0xff, 0xfe]));
    fixture.write("be.md", wide(u16::to_be_bytes, [0xfe, 0xff]));
    fixture.write("mark.md", "\u{feff}# Größe\n\nmarked words\n");
    fixture.write("latin.md", b"# Gr\xf6\xdfe\n\nlatin words\n");
    let broken = b"# Gr\xc3\xb6\xc3\x9fe\n\nbroken \xff words\n";
    fixture.write("broken.md", broken);
    fixture.update();
    let mut query = Query::new("größe");
    query.filter.symbols = vec!["GRÖSSE".to_lowercase(), "größe".to_owned()];
    let mut paths = fixture.ids(&query);
    paths.sort();
    let expected = ["be.md", "broken.md", "latin.md", "le.md", "mark.md"];
    assert_eq!(paths, expected.map(|name| format!("{name}#1:3")));
    // As `read_file` shows it, so that a result can be edited.
    let shown = ptk_tools::tools::text_of(broken.to_vec()).unwrap();
    assert_eq!(fixture.hits("broken")[0].text, shown.trim_end());
    assert!(!shown.contains('\u{fffd}'), "{shown:?}");
}

#[test]
fn ignore_rules_hold_without_a_repository() {
    let fixture = Fixture::with(&[
        (".gitignore", "target/\n*.log\n"),
        (".ignore", "private.rs\n!kept.log\n"),
        ("a.rs", "fn seen() {}\n"),
        ("private.rs", "fn seen() {}\n"),
        ("target/b.rs", "fn seen() {}\n"),
        ("x.log", "seen\n"),
        ("kept.log", "seen\n"),
        (".hidden.rs", "fn seen() {}\n"),
        (".git/config", "seen\n"),
        ("sub/.gitignore", "!y.log\nc.rs\n"),
        ("sub/y.log", "seen\n"),
        ("sub/c.rs", "fn seen() {}\n"),
    ]);
    fixture.update();
    let mut ids = fixture.ids(&Query::new("seen"));
    ids.sort();
    assert_eq!(ids, ["a.rs#1:1", "kept.log#1:1", "sub/y.log#1:1"]);
}

#[test]
fn a_pipe_in_place_of_rules_holds_nothing_up() {
    let fixture = Fixture::with(&[("a.rs", "fn a() {}\n"), ("sub/b.rs", "fn b() {}\n")]);
    pipe(&fixture, "sub/.gitignore");
    pipe(&fixture, ".ignore");
    let report = within_bounds(move || fixture.update());
    assert_eq!(report.files, 2);
}

#[test]
fn files_that_come_go_and_change_meanwhile_do_no_harm() {
    let fixture = Fixture::new();
    for number in 0..300 {
        fixture.write(
            &format!("f{number:03}.py"),
            format!("def f{number}():\n    pass\n"),
        );
    }
    let root = fixture.root();
    let mut step = 0;
    let report = fixture
        .index
        .update(&std::sync::atomic::AtomicBool::new(false), &mut |_| {
            let path = root.join(format!("f{:03}.py", 299 - step % 300));
            match step % 3 {
                0 => drop(fs::remove_file(path)),
                1 => fs::write(path, "def other():\n    return 1\n").unwrap(),
                _ => fs::write(path, vec![b'x'; step * 100]).unwrap(),
            }
            step += 1;
        });
    report.unwrap();
    let report = fixture.update();
    let fresh = fixture.fresh();
    for text in ["other", "f1", "pass", "def"] {
        let query = Query {
            top: 1000,
            ..Query::new(text)
        };
        assert_eq!(
            super::workspace::search(&fixture.index, &query),
            super::workspace::search(&fresh, &query)
        );
    }
    assert_eq!(report.files, 200);
}

#[test]
fn names_that_are_not_unicode_are_left_out() {
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt as _;

    let fixture = Fixture::with(&[("a.rs", "fn a() {}\n")]);
    let name = OsStr::from_bytes(b"b\xff.rs");
    if fs::write(fixture.root().join(name), "fn b() {}\n").is_err() {
        // The file system does not support such names.
        return;
    }
    let report = fixture.update();
    assert_eq!(
        report.skipped.counts().collect::<Vec<_>>(),
        [(Reason::Name, 1)]
    );
}
