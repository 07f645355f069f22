//! Updates that are killed at any moment.

use std::fs;
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::atomic::AtomicBool;

use ptk_sandbox::Workspace;
use ptk_search::{Index, Query, SearchError};

use super::workspace::{Fixture, search, update};

/// How many updates are killed; more of them with `PTK_KILLS`.
const KILLS: u64 = 8;
/// How many files there are.
const FILES: u64 = 30;
/// The child says what it is at so many times before it is killed, at most.
const MOMENTS: u64 = 120;
/// Where the child finds its workspace.
const FOLDER: &str = "PTK_TEST_FOLDER";
const QUESTIONS: [&str; 4] = ["open", "part of file", "f7", "step"];

/// Numbers that are the same each time and look like chance.
fn number(seed: u64) -> u64 {
    let mixed = seed.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    (mixed ^ (mixed >> 29)).wrapping_mul(0xbf58_476d_1ce4_e5b9) >> 32
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

/// Changes files and brings the index up to date, again and again, and says
/// whatever it is at.
#[test]
#[ignore = "the one that is killed: it never ends"]
fn endless_updates() {
    let folder = std::env::var_os(FOLDER).expect("the test that kills says where");
    let folder = Path::new(&folder);
    let root = folder.join("project");
    let index = Index::new(folder.join("index"), Workspace::open(&root).unwrap());
    let mut out = std::io::stdout();
    let mut say = |what: &str| writeln!(out, "{what}").unwrap();
    let first = number(u64::from(std::process::id()));
    for step in first.. {
        change(&root, step);
        say("update");
        index
            .update(&AtomicBool::new(false), &mut |_| say("progress"))
            .unwrap();
        say("done");
    }
}

/// Runs the child until it has said so much, and kills it there.
fn kill_after(fixture: &Fixture, moments: u64) {
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args([
            "killing::endless_updates",
            "--exact",
            "--ignored",
            "--nocapture",
        ])
        .env(FOLDER, fixture.root().parent().unwrap())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    for _ in 0..moments {
        let line = lines.next();
        assert!(line.is_some_and(|line| line.is_ok()), "it ended by itself");
    }
    child.kill().unwrap();
    child.wait().unwrap();
}

#[test]
fn killing_leaves_an_index_that_goes_on() {
    let kills = std::env::var("PTK_KILLS").map_or(KILLS, |kills| kills.parse().unwrap());
    let fixture = Fixture::new();
    let mut searchable = 0;
    for kill in 0..kills {
        // The lines before the first update are the test harness's.
        kill_after(&fixture, 3 + number(kill) % MOMENTS);
        match fixture.index.searcher() {
            Ok(searcher) => {
                searcher.search(&Query::new("open part")).unwrap();
                searchable += 1;
            }
            Err(error) => assert!(matches!(error, SearchError::Missing { .. }), "{error:?}"),
        }
        let report = update(&fixture.index);
        assert_eq!(report.rebuilt, None, "after kill {kill}");
        let fresh = fixture.fresh();
        for text in QUESTIONS {
            let query = Query {
                top: 1000,
                ..Query::new(text)
            };
            let found = search(&fixture.index, &query);
            assert_eq!(found, search(&fresh, &query), "after kill {kill}: {text}");
        }
    }
    assert!(searchable > 0);
}
