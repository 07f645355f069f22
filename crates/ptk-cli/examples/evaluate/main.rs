//! Measures a model on the requests of `evals/`: runs `ptk` for each, in a
//! fresh copy of its workspace, and counts right calls and right answers.
//!
//! ```text
//! evaluate [--quiet] [--json FILE] [--only PREFIX_OR_KIND] [--every N] [--at-least N] PTK REQUESTS.toml [FLAG…]
//! ```
//!
//! All flags behind the file go to `ptk run`. How runs are judged is described
//! in `evals/README.md`.
#![allow(
    clippy::print_stdout,
    clippy::print_stderr,
    clippy::disallowed_methods,
    reason = "what it prints is what it is for"
)]

mod judge;
mod requests;
mod run;
mod table;

use std::fs::{self, File};
use std::io::{self, IsTerminal as _, Write as _};
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::{Context as _, Result, bail};
use serde_json::{Value, json};
use tokio::runtime::{Builder, Runtime};

use judge::Verdict;
use requests::Request;
use run::Run;
use table::Table;

const USAGE: &str = "usage: evaluate [--quiet] [--json FILE] [--only PREFIX_OR_KIND] [--every N] [--at-least N] PTK REQUESTS.toml [FLAG…]";
/// Characters of an answer that are printed.
const MAX_ANSWER: usize = 300;
/// The exit code after Ctrl-C.
const INTERRUPTED: u8 = 130;

struct Options {
    /// Whether to print nothing about single requests.
    is_quiet: bool,
    /// The file for one line of JSON for each request.
    json: Option<PathBuf>,
    /// A kind, or a prefix of ids.
    only: Option<String>,
    /// The step between the requests that are run.
    every: NonZeroUsize,
    /// How many first calls have to be right.
    at_least: usize,
    ptk: PathBuf,
    requests: PathBuf,
    /// For `ptk run`.
    flags: Vec<String>,
}

impl Options {
    fn parse(mut args: impl Iterator<Item = String>) -> Result<Self> {
        let (mut is_quiet, mut json, mut only) = (false, None, None);
        let (mut every, mut at_least) = (NonZeroUsize::MIN, 0);
        let ptk = loop {
            let arg = args.next().context(USAGE)?;
            match arg.as_str() {
                "--quiet" => is_quiet = true,
                "--json" => json = Some(PathBuf::from(value(&arg, args.next())?)),
                "--only" => only = Some(value(&arg, args.next())?),
                "--every" => {
                    let number = value(&arg, args.next())?.parse::<NonZeroUsize>();
                    every = number.context("--every needs a whole number, 1 or more")?;
                }
                "--at-least" => {
                    let number = value(&arg, args.next())?.parse();
                    at_least = number.context("--at-least needs a whole number")?;
                }
                flag if flag.starts_with('-') => bail!("There is no flag {flag}\n{USAGE}"),
                path => break PathBuf::from(path),
            }
        };
        Ok(Self {
            is_quiet,
            json,
            only,
            every,
            at_least,
            ptk,
            requests: args.next().context(USAGE)?.into(),
            flags: args.collect(),
        })
    }

    /// Whether a request is selected.
    fn takes(&self, request: &Request) -> bool {
        self.only
            .as_ref()
            .is_none_or(|only| request.kind.name() == only || request.id.starts_with(only))
    }
}

fn value(flag: &str, value: Option<String>) -> Result<String> {
    value.with_context(|| format!("{flag} needs a value\n{USAGE}"))
}

fn main() -> Result<ExitCode> {
    let options = Options::parse(std::env::args().skip(1))?;
    let found = |path: &Path| fs::canonicalize(path).with_context(|| path.display().to_string());
    let ptk = found(&options.ptk)?;
    let file = found(&options.requests)?;
    let requests = requests::read(&file)?;
    let requests = requests.iter().filter(|request| options.takes(request));
    let requests: Vec<&Request> = requests.step_by(options.every.get()).collect();
    if requests.is_empty() {
        bail!("No request in {} is asked for", file.display());
    }
    let evals = file.ancestors().nth(2).unwrap_or(&file);
    let workspaces = evals.join("workspaces");
    let mut json = options.json.as_deref().map(new_file).transpose()?;
    let (_runtime, is_interrupted) = watch_for_interrupt()?;
    let mut table = Table::default();
    let (mut right, mut forged) = (0, 0);
    // One path for all of them: it is part of the prompt, which a server can
    // then cache.
    let folder = tempfile::tempdir()?;
    let root = found(folder.path())?.join("workspace");
    for (number, request) in (1..).zip(&requests) {
        run::copy(&workspaces.join(&request.workspace), &root)?;
        let run = run::run(&ptk, &root, &request.ask, &options.flags)?;
        if run.is_interrupted && is_interrupted.load(Ordering::Relaxed) {
            break;
        }
        let verdict = Verdict::new(request, &run, &root);
        fs::remove_dir_all(&root)?;
        table.add(request.kind, &verdict, &run);
        right += usize::from(verdict.is_first_call_right);
        forged += usize::from(verdict.is_result_forged);
        if let Some(json) = &mut json {
            writeln!(
                json,
                "{}",
                record(request, &verdict, &run, options.is_quiet)
            )?;
        }
        let progress = format!("{number}/{}", requests.len());
        if options.is_quiet {
            count_up(&progress, number == requests.len());
        } else {
            tell(&progress, request, &verdict, &run);
        }
        if is_interrupted.load(Ordering::Relaxed) {
            break;
        }
    }
    print!("{table}");
    if is_interrupted.load(Ordering::Relaxed) {
        eprintln!("Interrupted: not all requests were run");
        return Ok(ExitCode::from(INTERRUPTED));
    }
    if options.at_least > 0 && (right < options.at_least || forged > 0) {
        eprintln!(
            "{right} first calls were right, of at least {}; {forged} made-up results were shown",
            options.at_least
        );
        return Ok(ExitCode::FAILURE);
    }
    Ok(ExitCode::SUCCESS)
}

/// Creates a file. An existing one may hold results of hours and is kept.
fn new_file(path: &Path) -> Result<File> {
    let file = File::create_new(path);
    file.with_context(|| format!("{} cannot be created; name a new file", path.display()))
}

/// Makes Ctrl-C set a flag, as long as the runtime exists, so that the counts
/// are still printed. It also ends the running `ptk`.
fn watch_for_interrupt() -> Result<(Runtime, Arc<AtomicBool>)> {
    let runtime = Builder::new_multi_thread()
        .worker_threads(1)
        .enable_all()
        .build()?;
    let is_interrupted = Arc::new(AtomicBool::new(false));
    let flag = Arc::clone(&is_interrupted);
    runtime.spawn(async move {
        if tokio::signal::ctrl_c().await.is_ok() {
            flag.store(true, Ordering::Relaxed);
        }
    });
    Ok((runtime, is_interrupted))
}

/// A request and its run as a line of JSON.
fn record(request: &Request, verdict: &Verdict, run: &Run, is_quiet: bool) -> Value {
    let seconds = run.duration.as_secs_f64();
    let code = run.failure.as_ref().map(|failure| &failure.code);
    let mut record = json!({
        "id": request.id,
        "kind": request.kind.name(),
        "language": request.language,
        "first_call": verdict.is_first_call_right,
        "calls": verdict.are_calls_right,
        "files": verdict.are_files_right,
        "answer": verdict.is_answer_right,
        "done": verdict.is_done(),
        "needless": verdict.needless_calls,
        "forged": verdict.is_result_forged,
        "input_tokens": run.input_tokens,
        "output_tokens": run.output_tokens,
        "seconds": (seconds * 1000.0).round() / 1000.0,
        "error": code,
    });
    if !is_quiet && let Some(fields) = record.as_object_mut() {
        let calls = run.calls.iter();
        let calls = calls.map(
            |call| json!({"tool": call.tool, "arguments": call.arguments, "result": call.result}),
        );
        fields.insert("tool_calls".to_owned(), calls.collect());
        fields.insert("message".to_owned(), json!(run.answer));
        let reason = run.failure.as_ref().map(|failure| &failure.message);
        fields.insert("error_message".to_owned(), json!(reason));
    }
    record
}

/// Prints only how many requests were run.
fn count_up(progress: &str, is_last: bool) {
    // On a terminal, over the last count.
    match (io::stderr().is_terminal(), is_last) {
        (false, _) => eprintln!("{progress}"),
        (true, true) => eprintln!("\r{progress}"),
        (true, false) => eprint!("\r{progress}"),
    }
}

/// Prints the result of a request, and what the run did if it was wrong.
fn tell(progress: &str, request: &Request, verdict: &Verdict, run: &Run) {
    let parts = [
        (verdict.is_first_call_right, "first call"),
        (verdict.are_calls_right, "calls"),
        (verdict.are_files_right, "files"),
        (verdict.is_answer_right, "answer"),
        (!verdict.is_result_forged, "forged result"),
    ];
    let wrong = parts.iter().filter(|(is_right, _)| !is_right);
    let wrong: Vec<&str> = wrong.map(|(_, name)| *name).collect();
    let wrong = match wrong.as_slice() {
        [] => String::new(),
        wrong => format!("; wrong: {}", wrong.join(", ")),
    };
    let (id, seconds) = (&request.id, run.duration.as_secs_f64());
    let state = if verdict.is_done() {
        "done"
    } else {
        "not done"
    };
    eprintln!("{progress} {id}: {state}, {seconds:.1} s{wrong}");
    if verdict.is_done() {
        return;
    }
    println!("{id} {:?}", request.ask);
    for call in &run.calls {
        let arguments = Value::Object(call.arguments.clone()).to_string();
        println!("    {} {}", printable(&call.tool), printable(&arguments));
    }
    if let Some(failure) = &run.failure {
        println!("    {}: {:?}", printable(&failure.code), failure.message);
    }
    if let Some(answer) = &run.answer {
        let answer: String = answer.chars().take(MAX_ANSWER).collect();
        println!("    {answer:?}");
    }
}

/// The text without control characters.
fn printable(text: &str) -> String {
    text.replace(char::is_control, "?")
}
