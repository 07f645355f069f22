//! An updated index equals a new one.

use std::fs::{self, File};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, SystemTime};

use proptest::prelude::*;
use ptk_search::{IndexError, Query};

use super::workspace::{Fixture, search, update};

const NAMES: [&str; 5] = ["a.rs", "b.py", "deep/c.md", "deep/er/d.txt", "e.js"];
const TEXTS: [&str; 8] = [
    "",
    "fn open() {}\n\nfn close() {}\n",
    "fn open() {}\n\nfn shut() {}\n",
    "def open():\n    close()\n\ndef read_all():\n    pass\n",
    "# Open\n\nHow to read.\n\n# Close\n\nHow to shut.\n",
    "open close read shut all how to\n",
    "open open open\n\nread\n",
    "\0binary",
];
const QUESTIONS: [&str; 5] = ["open", "close shut", "read_all", "how to open", "a.rs deep"];

#[derive(Debug, Clone)]
enum Step {
    Write(usize, usize),
    Remove(usize),
    Rename(usize, usize),
    Ignore(usize),
    Update,
}

fn step() -> impl Strategy<Value = Step> {
    let name = 0..NAMES.len();
    prop_oneof![
        5 => (name.clone(), 0..TEXTS.len()).prop_map(|(name, text)| Step::Write(name, text)),
        1 => name.clone().prop_map(Step::Remove),
        2 => (name.clone(), name.clone()).prop_map(|(from, to)| Step::Rename(from, to)),
        1 => name.prop_map(Step::Ignore),
        3 => Just(Step::Update),
    ]
}

fn take(fixture: &Fixture, step: &Step) {
    let path = |name: usize| fixture.root().join(NAMES[name]);
    match step {
        Step::Write(name, text) => fixture.write(NAMES[*name], TEXTS[*text]),
        Step::Remove(name) => drop(fs::remove_file(path(*name))),
        Step::Rename(from, to) => {
            fs::create_dir_all(path(*to).parent().unwrap()).unwrap();
            let _ = fs::rename(path(*from), path(*to));
        }
        Step::Ignore(name) => fixture.write(".gitignore", NAMES[*name]),
        Step::Update => drop(fixture.update()),
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn any_sequence_of_changes_gives_what_a_new_index_gives(
        steps in proptest::collection::vec(step(), 1..20)
    ) {
        let fixture = Fixture::new();
        for step in &steps {
            take(&fixture, step);
        }
        let report = fixture.update();
        let fresh = fixture.fresh();
        for text in QUESTIONS {
            let query = Query { top: 100, ..Query::new(text) };
            prop_assert_eq!(search(&fixture.index, &query), search(&fresh, &query));
        }
        let keys = |index: &ptk_search::Index| index.searcher().unwrap().keys().unwrap();
        prop_assert_eq!(keys(&fixture.index), keys(&fresh));
        prop_assert_eq!(report.chunks as u64, fresh.searcher().unwrap().chunks());
    }
}

/// Sets a time so long ago that every clock has ticked since.
fn settle(fixture: &Fixture, path: &str) -> SystemTime {
    let long_ago = SystemTime::now() - Duration::from_secs(3600);
    let file = File::options()
        .write(true)
        .open(fixture.root().join(path))
        .unwrap();
    file.set_modified(long_ago).unwrap();
    long_ago
}

#[test]
fn only_what_may_have_changed_is_read() {
    let fixture = Fixture::with(&[("a.rs", "fn a() {}\n"), ("b.rs", "fn b() {}\n")]);
    settle(&fixture, "a.rs");
    settle(&fixture, "b.rs");
    let report = fixture.update();
    assert_eq!((report.added, report.unchanged, report.files), (2, 0, 2));
    let read = |fixture: &Fixture| {
        let mut read = 0;
        let update = fixture
            .index
            .update(&AtomicBool::new(false), &mut |progress| {
                read = progress.total;
            });
        (read, update.unwrap())
    };
    let (files, report) = read(&fixture);
    assert_eq!((files, report.unchanged), (0, 2));
    fixture.write("b.rs", "fn b2() {}\n");
    let (files, report) = read(&fixture);
    assert_eq!((files, report.changed, report.unchanged), (1, 1, 1));
    // Touched only: it is read, and nothing changes.
    settle(&fixture, "b.rs");
    let (files, report) = read(&fixture);
    assert_eq!((files, report.changed, report.unchanged), (1, 0, 2));
    fixture.remove("a.rs");
    let (files, report) = read(&fixture);
    assert_eq!((files, report.removed, report.files), (0, 1, 1));
}

#[test]
fn a_change_within_a_tick_of_the_clock_is_noticed() {
    let fixture = Fixture::with(&[("a.rs", "fn one() {}\n")]);
    fixture.update();
    let path = fixture.root().join("a.rs");
    let modified = fs::metadata(&path).unwrap().modified().unwrap();
    // The same size, and the same time as far as the file system shows.
    fixture.write("a.rs", "fn two() {}\n");
    let file = File::options().write(true).open(&path).unwrap();
    file.set_modified(modified).unwrap();
    fixture.update();
    assert_eq!(fixture.hits("two").len(), 1);
    assert!(fixture.hits("one").is_empty());
}

#[test]
fn what_was_done_before_it_was_cancelled_is_kept() {
    let fixture = Fixture::new();
    for number in 0..200 {
        fixture.write(
            &format!("f{number:03}.rs"),
            format!("fn f{number}() {{}}\n"),
        );
    }
    let cancel = AtomicBool::new(false);
    let report = fixture.index.update(&cancel, &mut |progress| {
        cancel.store(progress.files >= 10, Ordering::Relaxed);
    });
    let report = report.unwrap();
    assert!(report.is_cancelled);
    assert_eq!(report.files, 10);
    let report = fixture.update();
    assert_eq!(
        (report.files, report.added, report.is_cancelled),
        (200, 190, false)
    );
    assert_eq!(report.rebuilt, None);
}

#[test]
fn one_writes_at_a_time_and_readers_do_not_wait() {
    let fixture = Fixture::with(&[("a.rs", "fn first() {}\n")]);
    fixture.update();
    fixture.write("b.rs", "fn second() {}\n");
    let mut tried = 0;
    let report = fixture.index.update(&AtomicBool::new(false), &mut |_| {
        let other = fixture.index.update(&AtomicBool::new(false), &mut |_| {});
        assert!(matches!(other, Err(IndexError::Busy { .. })), "{other:?}");
        assert_eq!(fixture.hits("first").len(), 1);
        tried += 1;
    });
    assert_eq!(report.unwrap().added, 1);
    assert!(tried > 0);
    assert_eq!(fixture.hits("second").len(), 1);
}

#[test]
fn an_index_within_the_workspace_does_not_index_itself() {
    let fixture = Fixture::with(&[("a.rs", "fn a() {}\n")]);
    let folder = fixture.root().join("index");
    let index = ptk_search::Index::new(&folder, fixture.index.workspace().clone());
    update(&index);
    let report = update(&index);
    assert_eq!((report.files, report.skipped.total()), (1, 0));
}

#[test]
fn progress_counts_up_to_the_end() {
    let fixture = Fixture::with(&[("a.rs", "fn a() {}\n"), ("b.rs", "fn b() {}\nfn c() {}\n")]);
    let mut seen = Vec::new();
    let report = fixture
        .index
        .update(&AtomicBool::new(false), &mut |progress| {
            seen.push(progress);
        });
    assert!(report.is_ok());
    assert!(
        seen.windows(2)
            .all(|pair| pair[0].files + 1 == pair[1].files)
    );
    let last = seen.last().unwrap();
    assert_eq!(
        (last.files, last.total, last.chunks, last.bytes),
        (2, 2, 3, 30)
    );
}
