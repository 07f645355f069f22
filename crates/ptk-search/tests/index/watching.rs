//! Changes are reported while they are made.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::mpsc::{self, Receiver};
use std::time::{Duration, Instant};

use ptk_search::watch::{Changes, Watcher};

use super::workspace::Fixture;

/// How long nothing must happen before changes are reported.
const QUIET: Duration = Duration::from_millis(50);
/// A timeout that is longer than any machine takes to report.
const PATIENCE: Duration = Duration::from_secs(60);

fn watched(fixture: &Fixture) -> (Watcher, Receiver<Changes>) {
    let (sender, receiver) = mpsc::channel();
    let workspace = fixture.index.workspace();
    let except = fixture.index.folder();
    let watcher = Watcher::new(workspace, except, QUIET, move |changes| {
        let _ = sender.send(changes);
    });
    (watcher.unwrap(), receiver)
}

/// Receives changes until all of these paths were among them. Returns
/// everything that was reported.
fn told(receiver: &Receiver<Changes>, wanted: &[&str]) -> BTreeSet<PathBuf> {
    let end = Instant::now() + PATIENCE;
    let mut seen = BTreeSet::new();
    while !wanted
        .iter()
        .all(|path| seen.contains(&PathBuf::from(path)))
    {
        let left = end.saturating_duration_since(Instant::now());
        match receiver.recv_timeout(left).expect("it is told") {
            Changes::Paths(paths) => seen.extend(paths),
            Changes::Everything => return wanted.iter().map(PathBuf::from).collect(),
        }
    }
    seen
}

#[test]
fn what_is_written_renamed_and_removed_is_told_and_then_found() {
    let fixture = Fixture::with(&[("a.rs", "fn a() {}\n"), ("old.rs", "fn old() {}\n")]);
    fixture.update();
    let (_watcher, receiver) = watched(&fixture);
    fixture.write("a.rs", "fn another() {}\n");
    told(&receiver, &["a.rs"]);
    fixture.write("deep/new.rs", "fn fresh() {}\n");
    told(&receiver, &["deep"]);
    let root = fixture.root();
    std::fs::rename(root.join("old.rs"), root.join("renamed.rs")).unwrap();
    told(&receiver, &["renamed.rs"]);
    fixture.remove("renamed.rs");
    told(&receiver, &["renamed.rs"]);
    // A file in a folder that was created after the watch began.
    fixture.write("deep/newer.rs", "fn newer() {}\n");
    told(&receiver, &["deep/newer.rs"]);
    fixture.update();
    assert_eq!(fixture.hits("another").len(), 1);
    assert_eq!(fixture.hits("fresh newer").len(), 2);
    assert!(fixture.hits("old").is_empty());
}

#[test]
fn what_nobody_indexes_is_not_told() {
    let fixture = Fixture::with(&[
        (".gitignore", "target/\n"),
        ("target/x", ""),
        (".git/y", ""),
    ]);
    let (_watcher, receiver) = watched(&fixture);
    fixture.write("target/out.rs", "fn out() {}\n");
    fixture.write(".git/index", "x");
    fixture.write("seen.rs", "fn seen() {}\n");
    let seen = told(&receiver, &["seen.rs"]);
    let rest: Vec<_> = seen
        .iter()
        .filter(|path| !path.ends_with("seen.rs"))
        .collect();
    assert!(rest.is_empty(), "{rest:?}");
}
