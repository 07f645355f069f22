//! Processes that write and are killed: this program, started again.

use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{self, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use ptk_store::{Listing, SqliteStore, Store, Turns, fork};

use super::{Scene, id, log, note};

const FILE: &str = "PTK_STORE_TEST_FILE";
const TASK: &str = "PTK_STORE_TEST_TASK";

/// A process that writes and says after each entry that it is written.
pub(super) struct Child {
    process: process::Child,
    acknowledged: Arc<AtomicU64>,
    listener: Option<JoinHandle<()>>,
}

impl Child {
    pub(super) fn start(scene: &Scene, task: &str) -> Self {
        let mut process = Command::new(std::env::current_exe().unwrap())
            .args(["killing::child_writes", "--exact", "--nocapture"])
            .env(FILE, scene.path())
            .env(TASK, task)
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let lines = BufReader::new(process.stderr.take().unwrap()).lines();
        let acknowledged = Arc::new(AtomicU64::new(0));
        let told = Arc::clone(&acknowledged);
        let listener = thread::spawn(move || {
            for line in lines {
                let Ok(line) = line else { return };
                match line.strip_prefix("written ").map(str::parse) {
                    Some(Ok(seq)) => drop(told.fetch_max(seq, Ordering::SeqCst)),
                    // The last one, cut off.
                    Some(Err(_)) => {}
                    None => eprintln!("child: {line}"),
                }
            }
        });
        Self {
            process,
            acknowledged,
            listener: Some(listener),
        }
    }

    pub(super) fn id(&self) -> u32 {
        self.process.id()
    }

    /// The last entry of which it said that it is written.
    pub(super) fn acknowledged(&self) -> u64 {
        self.acknowledged.load(Ordering::SeqCst)
    }

    pub(super) fn wait_for(&mut self, seq: u64) {
        while self.acknowledged() < seq {
            assert!(self.process.try_wait().unwrap().is_none(), "it ended");
            thread::sleep(Duration::from_millis(1));
        }
    }

    pub(super) fn kill(&mut self) {
        self.process.kill().unwrap();
        self.process.wait().unwrap();
        if let Some(listener) = self.listener.take() {
            listener.join().unwrap();
        }
    }

    pub(super) fn finish(mut self) {
        assert!(self.process.wait().unwrap().success());
    }
}

/// The child process. Without its task, it is not a test.
#[tokio::test]
async fn child_writes() {
    let (Some(file), Ok(task)) = (std::env::var_os(FILE), std::env::var(TASK)) else {
        return;
    };
    let store = SqliteStore::open(file).unwrap();
    if task == "forks" {
        for number in 1_u64.. {
            fork(&store, &id("long"), Turns::All).await.unwrap();
            let _ = writeln!(std::io::stderr(), "written {number}");
        }
    }
    let (session, count) = match task.strip_prefix("hundred-") {
        Some(number) => (id(&format!("child-{number}")), 100),
        None => (id("child"), u64::MAX),
    };
    let start = store.session(&session).await.unwrap();
    let start = start.map_or(0, |overview| overview.entries);
    for number in start + 1..=start.saturating_add(count) {
        let text = format!(
            "entry {number} {}",
            "x".repeat(usize::try_from(number * 37 % 3000).unwrap())
        );
        let appended = store.append(&session, vec![note(text)]).await.unwrap();
        assert_eq!(appended.last, number);
        let _ = writeln!(std::io::stderr(), "written {number}");
    }
}

#[tokio::test]
async fn killing_the_writer_loses_nothing_that_was_acknowledged() {
    let scene = Scene::new();
    let mut total = 0;
    for round in 0..25_u64 {
        let mut child = Child::start(&scene, "endless");
        // At any moment: while it opens, recovers, writes, checkpoints.
        if round % 5 != 0 {
            child.wait_for(total + 1);
        }
        thread::sleep(Duration::from_micros(round * 7919 % 40_000));
        child.kill();
        let acknowledged = child.acknowledged().max(total);

        if !scene.path().exists() {
            continue;
        }
        let store = scene.open();
        let entries = log(&store, &id("child")).await;
        let written = entries.len() as u64;
        // One more may have been written and not been acknowledged.
        assert!(
            (acknowledged..=acknowledged + 1).contains(&written),
            "{acknowledged} acknowledged, {written} there"
        );
        let checked = store.check().await.unwrap();
        assert!(checked.damage.is_empty(), "{:?}", checked.damage);
        assert_eq!(checked.entries, written);
        let overview = store.session(&id("child")).await.unwrap();
        assert_eq!(overview.map_or(0, |overview| overview.entries), written);
        total = written;
    }
    assert!(total > 100, "only {total} entries were written");
}

#[tokio::test]
async fn a_fork_that_is_killed_is_whole_or_not_there() {
    let scene = Scene::new();
    let store = scene.open();
    let entries: Vec<_> = (0..1500).map(|it| note(format!("entry {it}"))).collect();
    store.append(&id("long"), entries).await.unwrap();
    drop(store);
    for round in 0..12_u64 {
        let mut child = Child::start(&scene, "forks");
        child.wait_for(1);
        thread::sleep(Duration::from_micros(round * 7919 % 40_000));
        child.kill();
        let store = scene.open();
        let sessions = store.sessions(Listing::new(1000)).await.unwrap();
        for session in &sessions {
            let is_fork = session.id != id("long");
            assert_eq!(session.forked_from.is_some(), is_fork, "{session:?}");
            assert_eq!(session.entries, 1500 + u64::from(is_fork));
            if is_fork {
                store.delete(&session.id).await.unwrap();
            }
        }
        assert!(store.check().await.unwrap().damage.is_empty());
    }
}
