//! What it costs that a command can be undone: the same command in the sandbox
//! without undo, recorded, and over a layer as for a review, in turns in the same
//! run, by the clock and by CPU time.
//!
//! What a recorded command has changed is looked at after its result is there,
//! and the next command that may change something waits for that. So a recorded
//! one is measured at rest, and right behind another one, too.
//!
//! ```sh
//! cargo bench -p ptk-tools --bench undo            # 5,000 and 50,000 files
//! cargo bench -p ptk-tools --bench undo -- 1000    # another number
//! ```

#![allow(clippy::print_stdout, reason = "it is a report")]

mod timing;
#[path = "search/tree.rs"]
mod tree;

use std::error::Error;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use ptk_protocol::{Arguments, ToolCall};
use ptk_sandbox::Workspace;
use ptk_sandbox::command::Helper;
use ptk_tools::tools::bash::Bash;
use ptk_tools::{AllowAll, CallRequest, Registry, ToolManager, ToolManagerBuilder};
use ptk_undo::{Options, Undo};
use serde_json::json;
use tokio::runtime::Runtime;

use timing::{Time, median, timed};

const ROUNDS: usize = 21;
/// Without undo, recorded, and reviewed.
const WAYS: usize = 3;
/// Files that a command touches.
const TOUCHED: usize = 100;
/// How much longer a command may take, in percent.
const BAR: f64 = 10.0;

fn main() -> Result<(), Box<dyn Error>> {
    let asked: Vec<usize> = std::env::args().filter_map(|it| it.parse().ok()).collect();
    let sizes = if asked.is_empty() {
        vec![5_000, 50_000]
    } else {
        asked
    };
    for files in sizes {
        measure(files)?;
    }
    Ok(())
}

fn measure(files: usize) -> Result<(), Box<dyn Error>> {
    let folder = tempfile::tempdir()?;
    let root = folder.path().join("space");
    fs::create_dir(&root)?;
    tree::plant(&root, files)?;
    let touched = some_files(&root)?.join(" ");
    let runtime = Runtime::new()?;
    let options = |name: &str| Options {
        folder: Some(folder.path().join(name)),
        ..Options::default()
    };
    let ways = [
        builder(&root)?.build(),
        builder(&root)?.undo(options("recorded")).build(),
        builder(&root)?
            .undo(options("reviewed"))
            .review(true)
            .build(),
    ];
    println!("{files} files");
    for (name, command) in [
        ("nothing", "true".to_owned()),
        (
            "append to 100 files",
            format!("for f in {touched}; do echo x >> $f; done"),
        ),
        (
            "sed -i on 100 files",
            format!("sed -i 's/let/let/' {touched}"),
        ),
        (
            "the same, one by one",
            format!("for f in {touched}; do sed -i 's/let/let/' $f; done"),
        ),
        (
            "search all, then sed -i",
            format!("grep -rl let . | wc -l; sed -i 's/let/let/' {touched}"),
        ),
    ] {
        let call = |tools: &ToolManager| {
            let args = Arguments::from_json(&json!({ "command": command }).to_string())?;
            let request = CallRequest::new(ToolCall::new("bash", args));
            let outcome = runtime.block_on(tools.execute(request));
            if outcome.result.success {
                Ok(())
            } else {
                Err(Box::<dyn Error>::from(outcome.result.error))
            }
        };
        let rest = || -> Result<(), Box<dyn Error>> {
            Undo::open(Workspace::open(&root)?, &options("recorded"))?;
            Ok(())
        };
        let mut times = [const { Vec::new() }; WAYS];
        let mut behind = Vec::new();
        for tools in &ways {
            call(tools)?;
        }
        for _ in 0..ROUNDS {
            for (tools, times) in ways.iter().zip(&mut times) {
                rest()?;
                times.push(timed(|| call(tools))?);
            }
            let [_, recorded, ..] = &ways;
            rest()?;
            call(recorded)?;
            behind.push(timed(|| call(recorded))?);
        }
        report(name, times, behind);
    }
    Ok(())
}

fn report(name: &str, times: [Vec<Time>; WAYS], mut behind: Vec<Time>) {
    let [plain, recorded, reviewed] = times.map(|mut times| {
        let clock = median(&mut times, |time| time.0);
        (clock, median(&mut times, |time| time.1))
    });
    let behind = median(&mut behind, |time| time.0);
    let more = |way: Time, of: fn(Time) -> Duration| {
        (of(way).as_secs_f64() / of(plain).as_secs_f64() - 1.0) * 100.0
    };
    let (clock, cpu) = (more(recorded, |it| it.0), more(recorded, |it| it.1));
    println!(
        "  {name:<24} {:>8.2?} without, {:>8.2?} recorded ({clock:+.1} %, CPU {cpu:+.1} %; behind another {behind:.2?}), {:>8.2?} over a layer",
        plain.0, recorded.0, reviewed.0
    );
    if clock > BAR {
        println!("    MISSED: at most {BAR} % more");
    }
}

/// Files that are spread over the tree.
fn some_files(root: &Path) -> Result<Vec<String>, Box<dyn Error>> {
    let mut all = Vec::new();
    find(root, &mut all)?;
    all.sort();
    let step = (all.len() / TOUCHED).max(1);
    let some = all.iter().step_by(step).take(TOUCHED);
    let relative = some.filter_map(|path| path.strip_prefix(root).ok()?.to_str());
    Ok(relative.map(str::to_owned).collect())
}

fn find(folder: &Path, all: &mut Vec<PathBuf>) -> Result<(), Box<dyn Error>> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() && !path.ends_with(".git") && !path.ends_with("generated") {
            find(&path, all)?;
        } else if path.extension().is_some_and(|ending| ending == "rs") {
            all.push(path);
        }
    }
    Ok(())
}

fn builder(root: &Path) -> Result<ToolManagerBuilder, Box<dyn Error>> {
    let mut registry = Registry::new();
    Bash::default().register(&mut registry)?;
    Ok(ToolManager::builder(Workspace::open(root)?)
        .helper(Helper::at(env!("CARGO_BIN_EXE_ptk-helper")))
        .tools(registry)
        .approver(AllowAll))
}
