//! What a command costs in the sandbox, against a bare `sh -c`, in turns in the
//! same run: by the clock until it has ended, and by CPU time.
//!
//! ```sh
//! cargo bench -p ptk-tools --bench commands
//! ```

#![allow(clippy::print_stdout, reason = "it is a report")]

mod timing;

use std::error::Error;
use std::process::Stdio;
use std::time::Duration;

use ptk_sandbox::Workspace;
use ptk_sandbox::command::{Command, Helper, Policy, Report};
use tokio::runtime::Runtime;

use timing::{median, timed};

const ROUNDS: usize = 200;
/// How much later than the bare one a command may have ended.
const BAR: Duration = Duration::from_millis(15);

fn main() -> Result<(), Box<dyn Error>> {
    let folder = tempfile::tempdir()?;
    let workspace = Workspace::open(folder.path())?.with_temp()?;
    let runtime = Runtime::new()?;
    let helper = Helper::at(env!("CARGO_BIN_EXE_ptk-helper"));
    let kept = |policy| Command {
        program: "/bin/sh".into(),
        arguments: vec!["-c".into(), "true".into()],
        folder: folder.path().to_owned(),
        variables: vec![("PATH".into(), "/usr/bin:/bin".into())],
        has_input: false,
        is_merged: false,
        policy,
        is_strict: false,
        held: None,
    };
    let sandboxed = kept(Some(Policy::new(&workspace)));
    let watched = kept(None);
    let mut times = [Vec::new(), Vec::new(), Vec::new()];
    let [bare, keeper, sandbox] = &mut times;
    for _ in 0..ROUNDS {
        bare.push(timed(|| runtime.block_on(run_bare()))?);
        keeper.push(timed(|| runtime.block_on(run_kept(&watched, &helper)))?);
        sandbox.push(timed(|| runtime.block_on(run_kept(&sandboxed, &helper)))?);
    }
    let names = ["sh -c true", "the same with a keeper", "in the sandbox"];
    let plain = median(&mut times[0].clone(), |time| time.0);
    for (name, mut times) in names.into_iter().zip(times) {
        let clock = median(&mut times, |time| time.0);
        let cpu = median(&mut times, |time| time.1);
        let more = clock.saturating_sub(plain);
        println!("{name:<24} {clock:>10.2?}   CPU {cpu:>10.2?}   {more:>10.2?} more");
        if more > BAR {
            println!("  MISSED: at most {BAR:?} more");
        }
    }
    Ok(())
}

async fn run_bare() -> Result<(), Box<dyn Error>> {
    let child = tokio::process::Command::new("/bin/sh")
        .args(["-c", "true"])
        .stdin(Stdio::null())
        .output();
    child.await?;
    Ok(())
}

async fn run_kept(command: &Command, helper: &Helper) -> Result<(), Box<dyn Error>> {
    let mut kept = command.start(Some(helper)).await?;
    while let Some(report) = kept.report().await {
        if let Report::Exited(_) = report {
            kept.control().end();
        }
    }
    Ok(())
}
