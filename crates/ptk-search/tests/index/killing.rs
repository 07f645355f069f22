//! Updates that are killed at any time.

use std::fs;
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use ptk_sandbox::Workspace;
use ptk_search::embed::{EmbedError, Embedder, Table};
use ptk_search::{Index, Meaning, Query, SearchError, Which};

use super::small_table;
use super::workspace::{Fixture, search, update};

/// How many updates are killed; `PTK_KILLS` sets another number.
const KILLS: u64 = 8;
/// How many files there are.
const FILES: u64 = 30;
/// The most progress lines of the child before it is killed.
const MOMENTS: u64 = 120;
/// The same, if only the lines about vectors count.
const MEANT_MOMENTS: u64 = 12;
/// The variable with the child's workspace.
const FOLDER: &str = "PTK_TEST_FOLDER";
/// The variable that says whether the child makes vectors, too.
const MEANT: &str = "PTK_TEST_MEANT";
const QUESTIONS: [&str; 4] = ["open", "part of file", "f7", "step"];

/// Deterministic pseudo-random numbers.
fn number(seed: u64) -> u64 {
    let mixed = seed.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    (mixed ^ (mixed >> 29)).wrapping_mul(0xbf58_476d_1ce4_e5b9) >> 32
}

/// The meanings of the words in the files.
const MEANINGS: [(&str, usize); 9] = [
    ("▁open", 0),
    ("▁part", 1),
    ("▁file", 2),
    ("▁step", 3),
    ("1", 4),
    ("2", 5),
    ("3", 6),
    ("5", 7),
    ("7", 8),
];

fn say(what: &str) {
    let mut out = std::io::stdout();
    writeln!(out, "{what}").unwrap();
}

/// A table that prints a line when it is used.
#[derive(Debug)]
struct Telling(Table);

impl Embedder for Telling {
    fn id(&self) -> &str {
        self.0.id()
    }

    fn dimensions(&self) -> usize {
        self.0.dimensions()
    }

    fn embed(&self, texts: &[&str]) -> Result<Vec<Vec<f32>>, EmbedError> {
        say("vectors");
        let made = self.0.embed(texts);
        say("vectors made");
        made
    }
}

/// Changes, removes and renames some files.
fn change(root: &Path, step: u64) {
    for turn in 0..4 {
        let which = number(step * 10 + turn);
        let path = root.join(format!("f{}.rs", which % FILES));
        match which / FILES % 5 {
            0 => drop(fs::remove_file(path)),
            1 => drop(fs::rename(&path, root.join(format!("f{}.rs", which % 7)))),
            _ => {
                let parts = (0..which % 40).map(|part| {
                    format!("/// Part of file {which}.\nfn open_{part}() {{ step({step}) }}\n\n")
                });
                fs::write(path, parts.collect::<String>()).unwrap();
            }
        }
    }
}

/// Changes files and updates the index, again and again, and prints its
/// progress.
#[test]
#[ignore = "the one that is killed: it never ends"]
fn endless_updates() {
    let folder = std::env::var_os(FOLDER).expect("the test that kills says where");
    let folder = Path::new(&folder);
    let root = folder.join("project");
    let mut index = Index::new(folder.join("index"), Workspace::open(&root).unwrap());
    if std::env::var_os(MEANT).is_some() {
        let table = tempfile::tempdir().unwrap();
        let table = small_table::of(&MEANINGS, table.path());
        index = index.with_embedder(Arc::new(Telling(table)));
    }
    let first = number(u64::from(std::process::id()));
    for step in first.. {
        change(&root, step);
        say("update");
        index
            .update(&AtomicBool::new(false), &mut |progress| {
                say(if progress.embedded > 0 {
                    "vectors kept"
                } else {
                    "progress"
                });
            })
            .unwrap();
        say("done");
    }
}

/// Runs the child until it has printed this many lines, and kills it. If it
/// makes vectors, only the lines about them count.
fn kill_after(fixture: &Fixture, moments: u64, is_meant: bool) {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command
        .args([
            "killing::endless_updates",
            "--exact",
            "--ignored",
            "--nocapture",
        ])
        .env(FOLDER, fixture.root().parent().unwrap())
        .stdout(Stdio::piped());
    if is_meant {
        command.env(MEANT, "1");
    }
    let mut child = command.spawn().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let mut left = moments;
    while left > 0 {
        let line = lines.next().and_then(Result::ok);
        let line = line.expect("it does not end by itself");
        left -= u64::from(!is_meant || line.contains("vectors"));
    }
    child.kill().unwrap();
    child.wait().unwrap();
}

fn kills() -> u64 {
    std::env::var("PTK_KILLS").map_or(KILLS, |kills| kills.parse().unwrap())
}

/// Checks that the index can be searched, or was never begun. True if it can.
fn is_searchable(index: &Index) -> bool {
    match index.searcher() {
        Ok(searcher) => {
            searcher.search(&Query::new("open part")).unwrap();
            true
        }
        Err(error) => {
            assert!(matches!(error, SearchError::Missing { .. }), "{error:?}");
            false
        }
    }
}

/// Checks that an index gives the same results as a new one.
fn assert_same(index: &Index, fresh: &Index, which: Which, kill: u64) {
    for text in QUESTIONS {
        let query = Query {
            top: 1000,
            which,
            ..Query::new(text)
        };
        let found = search(index, &query);
        assert_eq!(found, search(fresh, &query), "after kill {kill}: {text}");
    }
}

#[test]
fn killing_leaves_an_index_that_goes_on() {
    let fixture = Fixture::new();
    let mut searchable = 0;
    for kill in 0..kills() {
        // The lines before the first update are the test harness's.
        kill_after(&fixture, 3 + number(kill) % MOMENTS, false);
        searchable += u64::from(is_searchable(&fixture.index));
        let report = update(&fixture.index);
        assert_eq!(report.rebuilt, None, "after kill {kill}");
        assert_same(&fixture.index, &fixture.fresh(), Which::Both, kill);
    }
    assert!(searchable > 0);
}

#[test]
fn killing_leaves_vectors_that_are_gone_on_with() {
    let fixture = Fixture::new();
    let folder = tempfile::tempdir().unwrap();
    let table = Arc::new(small_table::of(&MEANINGS, folder.path()));
    let index = fixture.index.clone().with_embedder(table.clone());
    let mut unfinished = 0;
    for kill in 0..kills() {
        kill_after(&fixture, 1 + number(kill) % MEANT_MOMENTS, true);
        assert!(is_searchable(&index), "vectors come last");
        let meaning = index.searcher().unwrap().meaning();
        unfinished += u64::from(meaning != Meaning::Whole);
        let report = update(&index);
        assert_eq!(report.rebuilt, None, "after kill {kill}");
        assert_eq!(index.searcher().unwrap().meaning(), Meaning::Whole);
        let fresh = fixture.unmade().with_embedder(table.clone());
        update(&fresh);
        assert_same(&index, &fresh, Which::Dense, kill);
        assert_same(&index, &fresh, Which::Both, kill);
    }
    assert!(
        unfinished > 0,
        "none was killed before its vectors were kept"
    );
}
