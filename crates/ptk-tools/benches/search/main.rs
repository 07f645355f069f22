//! `grep`, `glob` and `list_files` against ripgrep on the same tree, in the same
//! run, by CPU time and by the clock.
//!
//! The tools are measured twice: in this process, where a call costs what it
//! costs a session, and as a process of their own, which starts and ends as
//! ripgrep does.
//!
//! ```sh
//! cargo bench -p ptk-tools --bench search            # 5,000 and 50,000 files
//! cargo bench -p ptk-tools --bench search -- 5000
//! RG=/path/to/rg cargo bench -p ptk-tools --bench search
//! ```

#![allow(clippy::print_stdout, reason = "it is a report")]

mod tree;

use std::error::Error;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use nix::sys::resource::{UsageWho, getrusage};
use nix::sys::time::TimeValLike as _;
use ptk_protocol::{Arguments, ToolCall};
use ptk_sandbox::Workspace;
use ptk_tools::tools::{Glob, Grep, ListFiles};
use ptk_tools::{CallRequest, Registry, ToolManager, Typed};
use tokio::runtime::Runtime;

const SIZES: [usize; 2] = [5_000, 50_000];
const ROUNDS: usize = 9;
/// How many times ripgrep's time a tool may take.
const BAR: f64 = 1.1;

struct Work {
    name: &'static str,
    tool: &'static str,
    args: &'static str,
    rg: &'static [&'static str],
}

const WORKS: &[Work] = &[
    Work {
        name: "grep, rare word",
        tool: "grep",
        args: r#"{"pattern": "needle_in_the_haystack"}"#,
        rg: &["-n", "needle_in_the_haystack"],
    },
    Work {
        name: "grep, common word",
        tool: "grep",
        args: r#"{"pattern": "Request"}"#,
        rg: &["-n", "Request"],
    },
    Work {
        name: "grep, regex",
        tool: "grep",
        args: r#"{"pattern": "(Request|Response) \\w+ (async|await) fn"}"#,
        rg: &["-n", r"(Request|Response) \w+ (async|await) fn"],
    },
    Work {
        name: "grep, no literal in it",
        tool: "grep",
        args: r#"{"pattern": "[A-Z]\\w{6,7} [a-z]{6} [a-z]{2} [a-z]{2}t "}"#,
        rg: &["-n", r"[A-Z]\w{6,7} [a-z]{6} [a-z]{2} [a-z]{2}t "],
    },
    Work {
        name: "grep, no match",
        tool: "grep",
        args: r#"{"pattern": "nothing_has_this_name"}"#,
        rg: &["-n", "nothing_has_this_name"],
    },
    Work {
        name: "grep, any case",
        tool: "grep",
        args: r#"{"pattern": "needle_IN_the", "case_sensitive": false}"#,
        rg: &["-n", "-i", "needle_IN_the"],
    },
    Work {
        name: "grep, files only",
        tool: "grep",
        args: r#"{"pattern": "Request", "output": "files"}"#,
        rg: &["-l", "Request"],
    },
    Work {
        name: "glob **/*.rs (by time)",
        tool: "glob",
        args: r#"{"pattern": "**/*.rs"}"#,
        rg: &["--files", "--sortr", "modified", "-g", "**/*.rs"],
    },
    Work {
        name: "glob **/*.rs (rg unsorted)",
        tool: "glob",
        args: r#"{"pattern": "**/*.rs"}"#,
        rg: &["--files", "-g", "**/*.rs"],
    },
    Work {
        name: "list_files **/*.ts",
        tool: "list_files",
        args: r#"{"pattern": "**/*.ts"}"#,
        rg: &["--files", "-g", "**/*.ts"],
    },
    Work {
        name: "list_files **/*",
        tool: "list_files",
        args: r#"{"pattern": "**/*"}"#,
        rg: &["--files"],
    },
];

/// CPU time and time by the clock.
#[derive(Clone, Copy)]
struct Cost {
    cpu: Duration,
    wall: Duration,
}

fn main() -> Result<(), Box<dyn Error>> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    if let [mode, root, tool, call] = args.as_slice()
        && mode == "--one"
    {
        return one(Path::new(root), tool, call);
    }
    let rg = std::env::var("RG").unwrap_or_else(|_| "rg".to_owned());
    let version = Command::new(&rg).arg("--version").output()?.stdout;
    let version = String::from_utf8_lossy(&version);
    println!("{}", version.lines().next().unwrap_or(""));
    let asked: Vec<usize> = args.iter().filter_map(|arg| arg.parse().ok()).collect();
    let sizes = if asked.is_empty() {
        SIZES.to_vec()
    } else {
        asked
    };
    let mut missed = 0;
    for files in sizes {
        let folder = tempfile::tempdir()?;
        tree::plant(folder.path(), files)?;
        missed += compare(folder.path(), files, &rg)?;
    }
    println!("\n{missed} of the CPU times miss the bar of {BAR} × ripgrep");
    Ok(())
}

fn compare(root: &Path, files: usize, rg: &str) -> Result<usize, Box<dyn Error>> {
    println!("\n{files} files; milliseconds, median of {ROUNDS}; CPU / clock");
    println!(
        "{:<28} {:>15} {:>15} {:>15} {:>13} {:>13}",
        "", "ripgrep", "in process", "as a process", "in/rg", "process/rg"
    );
    let runtime = Runtime::new()?;
    let mut missed = 0;
    for work in WORKS {
        agree(&runtime, root, work, rg)?;
        let mut costs: [Vec<Cost>; 3] = Default::default();
        for _ in 0..ROUNDS {
            let mut command = Command::new(rg);
            command.arg("--no-config").args(work.rg).arg(".");
            costs[0].push(child(command.current_dir(root))?);
            costs[1].push(in_process(&runtime, root, work)?);
            let mut command = Command::new(std::env::current_exe()?);
            command.arg("--one").arg(root).args([work.tool, work.args]);
            costs[2].push(child(&mut command)?);
        }
        let [theirs, inside, process] = costs.map(|all| median(&all));
        let ratio = |ours: Cost| {
            let cpu = ours.cpu.as_secs_f64() / theirs.cpu.as_secs_f64();
            let wall = ours.wall.as_secs_f64() / theirs.wall.as_secs_f64();
            (cpu, format!("{cpu:.2} / {wall:.2}"))
        };
        let (cpu, told) = ratio(inside);
        missed += usize::from(cpu > BAR);
        println!(
            "{:<28} {:>15} {:>15} {:>15} {:>13} {:>13}",
            work.name,
            shown(theirs),
            shown(inside),
            shown(process),
            told,
            ratio(process).1
        );
    }
    Ok(missed)
}

/// Checks that both find the same number, before they are timed.
fn agree(runtime: &Runtime, root: &Path, work: &Work, rg: &str) -> Result<(), Box<dyn Error>> {
    let mut command = Command::new(rg);
    command
        .arg("--no-config")
        .args(work.rg)
        .arg(".")
        .current_dir(root);
    let theirs = String::from_utf8_lossy(&command.output()?.stdout)
        .lines()
        .count();
    let call = ToolCall::new(work.tool, Arguments::from_json(work.args)?);
    let outcome = runtime.block_on(manager(root)?.execute(CallRequest::new(call)));
    let ours = outcome
        .result
        .fields
        .get("total")
        .and_then(serde_json::Value::as_u64);
    if ours != Some(theirs as u64) {
        return Err(format!("{}: ripgrep finds {theirs}, PTK {ours:?}", work.name).into());
    }
    Ok(())
}

fn shown(cost: Cost) -> String {
    let ms = |time: Duration| time.as_secs_f64() * 1_000.0;
    format!("{:.1} / {:.1}", ms(cost.cpu), ms(cost.wall))
}

fn median(all: &[Cost]) -> Cost {
    let middle = |time: fn(&Cost) -> Duration| {
        let mut times: Vec<Duration> = all.iter().map(time).collect();
        times.sort_unstable();
        times.get(times.len() / 2).copied().unwrap_or_default()
    };
    Cost {
        cpu: middle(|cost| cost.cpu),
        wall: middle(|cost| cost.wall),
    }
}

fn used(who: UsageWho) -> Result<Duration, Box<dyn Error>> {
    let usage = getrusage(who)?;
    let micros = usage.user_time().num_microseconds() + usage.system_time().num_microseconds();
    Ok(Duration::from_micros(micros.try_into()?))
}

fn child(command: &mut Command) -> Result<Cost, Box<dyn Error>> {
    let before = used(UsageWho::RUSAGE_CHILDREN)?;
    let started = Instant::now();
    // A file, because ripgrep may do less for the null device.
    let output = tempfile::tempfile()?;
    command.stdin(Stdio::null()).stdout(output).status()?;
    Ok(Cost {
        wall: started.elapsed(),
        cpu: used(UsageWho::RUSAGE_CHILDREN)?.saturating_sub(before),
    })
}

fn manager(root: &Path) -> Result<ToolManager, Box<dyn Error>> {
    let mut registry = Registry::new();
    registry.register(Typed::new(Grep))?;
    registry.register(Typed::new(Glob))?;
    registry.register(Typed::new(ListFiles))?;
    Ok(ToolManager::builder(Workspace::open(root)?)
        .tools(registry)
        .build())
}

fn in_process(runtime: &Runtime, root: &Path, work: &Work) -> Result<Cost, Box<dyn Error>> {
    let manager = manager(root)?;
    let call = ToolCall::new(work.tool, Arguments::from_json(work.args)?);
    let before = used(UsageWho::RUSAGE_SELF)?;
    let started = Instant::now();
    let outcome = runtime.block_on(manager.execute(CallRequest::new(call)));
    let cost = Cost {
        wall: started.elapsed(),
        cpu: used(UsageWho::RUSAGE_SELF)?.saturating_sub(before),
    };
    if !outcome.result.success {
        return Err(outcome.result.error.into());
    }
    Ok(cost)
}

/// One call, as a process of its own.
fn one(root: &Path, tool: &str, args: &str) -> Result<(), Box<dyn Error>> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    let manager = manager(root)?;
    let call = ToolCall::new(tool, Arguments::from_json(args)?);
    let outcome = runtime.block_on(manager.execute(CallRequest::new(call)));
    println!("{}", serde_json::to_string(&outcome.result.fields)?);
    Ok(())
}
