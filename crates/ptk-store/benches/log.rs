//! What the log costs: a loop iteration's entries, and a session of 10,000
//! turns that is opened, listed, resumed and searched.
//!
//! ```sh
//! cargo bench -p ptk-store --bench log
//! ```

#![allow(clippy::print_stdout, reason = "it is a report")]

use std::error::Error;
use std::future::Future;
use std::path::Path;
use std::time::{Duration, Instant};

use cpu_time::ProcessTime;
use peak_alloc::PeakAlloc;
use ptk_events::{CallId, Correlation, RequestId};
use ptk_protocol::{Arguments, Message, ToolCall, ToolResult};
use ptk_store::export::write_json_lines;
use ptk_store::{
    CallBegan, CallEnded, Listing, LoggedCall, MemoryStore, ModelReplied, NewEntry, ReplyOutcome,
    ReplyParsed, RequestBegan, Search, SessionId, SessionInfo, SqliteStore, Store, Stretch,
    TurnBegan, TurnEnded, TurnOutcome, Window, resume,
};
use tokio::runtime::Runtime;

#[global_allocator]
static MEMORY: PeakAlloc = PeakAlloc;

const ITERATIONS: usize = 1000;
const TURNS: usize = 10_000;
/// The most time that an iteration's entries may take.
const IN_MEMORY: Duration = Duration::from_micros(50);
const WITH_THE_LOG: Duration = Duration::from_millis(1);
/// The most time that an operation on a long session may take.
const UNNOTICED: Duration = Duration::from_millis(30);

fn main() -> Result<(), Box<dyn Error>> {
    let folder = tempfile::tempdir()?;
    let runtime = Runtime::new()?;
    runtime.block_on(async {
        println!("The entries of a loop iteration: 4 appends, 5 entries, 3 KB");
        iterations("in memory", &MemoryStore::new(), IN_MEMORY).await?;
        let path = folder.path().join("short.db");
        iterations("SQLite", &SqliteStore::open(&path)?, WITH_THE_LOG).await?;
        opened(&path, "opening it")?;
        println!("\nA session of {TURNS} turns, {} entries", TURNS * 10);
        long_session(&folder.path().join("long.db")).await
    })
}

async fn iterations(name: &str, store: &dyn Store, bar: Duration) -> Result<(), Box<dyn Error>> {
    let session = SessionId::new();
    let turn = Correlation::of_request(RequestId::new());
    let mut times = Vec::with_capacity(ITERATIONS);
    let cpu = ProcessTime::now();
    for _ in 0..ITERATIONS {
        let start = Instant::now();
        for step in iteration(&turn)? {
            store.append(&session, step).await?;
        }
        times.push(start.elapsed());
    }
    let cpu = cpu.elapsed() / u32::try_from(ITERATIONS)?;
    times.sort();
    let of = |share: usize| {
        times
            .get(times.len() * share / 100)
            .copied()
            .unwrap_or_default()
    };
    println!(
        "{name:<32} {:>10.1?} median {:>10.1?} of 99 % {:>10.1?} CPU",
        of(50),
        of(99),
        cpu
    );
    missed(of(50), bar);
    Ok(())
}

/// The entries of one loop iteration, in the four batches in which they are
/// written.
fn iteration(turn: &Correlation) -> Result<[Vec<NewEntry>; 4], Box<dyn Error>> {
    let call = CallId::new();
    let arguments = Arguments::from_json(r#"{"path": "src/main.rs", "offset": 100}"#)?;
    let found = ToolCall::new("read_file", arguments.clone());
    let text = "I'll look at the file first, because the error names it. ".repeat(5);
    let asked = RequestBegan {
        iteration: 1,
        ..RequestBegan::default()
    };
    let parsed = ReplyParsed {
        reasoning: String::new(),
        outcome: ReplyOutcome::Calls,
        text: text.clone(),
        calls: vec![LoggedCall::new(call.clone(), found)],
        problems: Vec::new(),
        told: None,
    };
    let began = CallBegan {
        tool: "read_file".to_owned(),
        arguments,
    };
    let ended = CallEnded {
        state: None,
        tool: "read_file".to_owned(),
        duration_ms: 2,
        result: ToolResult::data("fn main() { println!(\"Hello\"); }\n".repeat(60).into()),
    };
    Ok([
        vec![NewEntry::new(asked).of(turn)],
        vec![
            NewEntry::new(ModelReplied::new(text)).of(turn),
            NewEntry::new(parsed).of(turn),
        ],
        vec![NewEntry::new(began).of(turn).about(call.clone())],
        vec![NewEntry::new(ended).of(turn).about(call)],
    ])
}

async fn long_session(path: &Path) -> Result<(), Box<dyn Error>> {
    let session = SessionId::new();
    let start = Instant::now();
    let store = SqliteStore::open(path)?;
    let info = SessionInfo::new().workspace("/home/ada/engine");
    store.append(&session, vec![NewEntry::new(info)]).await?;
    for number in 0..TURNS {
        let turn = Correlation::of_request(RequestId::new());
        let mut entries = vec![
            NewEntry::new(TurnBegan::default()).of(&turn),
            NewEntry::new(Message::user(format!("Question {number} on the engine"))).of(&turn),
        ];
        entries.extend(iteration(&turn)?.into_iter().flatten());
        entries.extend([
            NewEntry::new(RequestBegan::default()).of(&turn),
            NewEntry::new(ModelReplied::new(format!("Answer {number}"))).of(&turn),
            NewEntry::new(TurnEnded::new(TurnOutcome::Answered)).of(&turn),
        ]);
        store.append(&session, entries).await?;
    }
    println!("{:<32} {:>10.1?}", "written in", start.elapsed());
    drop(store);
    let size = std::fs::metadata(path)?.len() / 1_000_000;
    println!("{:<32} {size:>8} MB", "size of the file");

    opened(path, "opening")?;
    let store = SqliteStore::open(path)?;
    timed("listing sessions", UNNOTICED, || {
        store.sessions(Listing::new(50))
    })
    .await?;
    timed("its overview", UNNOTICED, || store.session(&session)).await?;
    timed("its last 50 entries", UNNOTICED, || {
        store.read(&session, Stretch::last(50))
    })
    .await?;
    timed("50 entries from the middle", UNNOTICED, || {
        store.read(&session, Stretch::after(50_000, 50))
    })
    .await?;
    timed("resuming it", UNNOTICED, || {
        resume(&store, &session, Window::default())
    })
    .await?;
    timed("a rare word", UNNOTICED, || {
        store.search(Search::new("7777", 50))
    })
    .await?;
    timed("a word of every turn", UNNOTICED, || {
        store.search(Search::new("engine", 50))
    })
    .await?;
    let long = Duration::MAX;
    timed("exporting it", long, || async {
        write_json_lines(&store, &session, &mut std::io::sink()).await
    })
    .await?;
    timed("checking all of it", long, || store.check()).await?;
    timed("rebuilding", long, || store.rebuild()).await?;
    timed("deleting it", long, || store.delete(&session)).await?;
    Ok(())
}

fn opened(path: &Path, name: &str) -> Result<(), Box<dyn Error>> {
    let mut times = Vec::new();
    for _ in 0..20 {
        let start = Instant::now();
        let store = SqliteStore::open(path)?;
        times.push(start.elapsed());
        drop(store);
    }
    times.sort();
    let median = times.get(10).copied().unwrap_or_default();
    println!("{name:<32} {median:>10.1?}");
    missed(median, UNNOTICED);
    Ok(())
}

/// Times the first run only, when nothing is cached on the connection.
async fn timed<T, E: Error + 'static, F: Future<Output = Result<T, E>>>(
    name: &str,
    bar: Duration,
    work: impl FnOnce() -> F,
) -> Result<(), Box<dyn Error>> {
    MEMORY.reset_peak_usage();
    let before = MEMORY.current_usage();
    let start = Instant::now();
    work().await?;
    let took = start.elapsed();
    let memory = MEMORY.peak_usage().saturating_sub(before) / 1024;
    println!("{name:<32} {took:>10.1?} {memory:>8} KiB at most");
    missed(took, bar);
    Ok(())
}

fn missed(took: Duration, bar: Duration) {
    if took > bar {
        println!("  MISSED: at most {bar:?}");
    }
}
