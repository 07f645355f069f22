//! PTK's reading of command lines, compared with what real shells run.
//!
//! Random command lines, rich in quotes, here-documents, continuations and odd
//! characters, are read by PTK. Those that it calls certain are run by bash and
//! by dash, in an empty folder where every program is a stub that writes down
//! its arguments. Whatever a shell executes has to be among the commands that
//! were read, and whatever file appears among the redirections.
//!
//! `PTK_SHELL_LINES` says how many certain lines each shell runs, and
//! `PTK_SHELL_SEED` where the random numbers begin.

#![cfg(target_os = "linux")]
#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::print_stderr,
    reason = "the lints allow these inside tests, but not in the functions that tests share"
)]

mod generate;
mod run;

use std::sync::atomic::{AtomicU64, Ordering};

use ptk_permission::shell::{CommandLine, RedirectMode, ShellCommand};

use crate::generate::Generator;
use crate::run::{Executed, Scene, Shell};

/// How many certain lines each shell runs by default.
const LINES: u64 = 1200;
/// How many lines are worked on at a time.
const THREADS: u64 = 2;

fn setting(name: &str, default: u64) -> u64 {
    std::env::var(name).map_or(default, |text| text.parse().unwrap())
}

/// Whether a shell ran something that was not read; what it was.
fn unseen(line: &CommandLine, executed: &Executed) -> Option<String> {
    let program = executed.programs.iter().find(|words| {
        !line.commands().iter().any(|command| {
            let literals = command.words().iter().map(|word| word.literal());
            if command.is_known() {
                return literals.eq(words.iter().map(|word| Some(word.as_str())));
            }
            // Of a command with variables only the program is known.
            command.program() == words.first().map(String::as_str)
        })
    });
    let is_written = |name: &str| {
        let redirects = line.commands().iter().flat_map(ShellCommand::redirects);
        let mut written = redirects.filter(|it| it.mode() != RedirectMode::Read);
        written.any(|it| it.target().literal().is_none_or(|target| target == name))
    };
    let file = executed.files.iter().find(|name| !is_written(name));
    program
        .map(|words| format!("ran {words:?}"))
        .or_else(|| file.map(|name| format!("wrote {name:?}")))
}

#[test]
fn certain_lines_run_what_was_read_and_nothing_else() {
    let (lines, seed) = (
        setting("PTK_SHELL_LINES", LINES),
        setting("PTK_SHELL_SEED", 1),
    );
    let shells: Vec<Shell> = Shell::all();
    assert!(!shells.is_empty());
    let (made, ran, executions) = (AtomicU64::new(0), AtomicU64::new(0), AtomicU64::new(0));
    let faults = std::sync::Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for thread in 0..THREADS {
            let (made, ran, executions, faults) = (&made, &ran, &executions, &faults);
            let shells = &shells;
            scope.spawn(move || {
                let mut generator = Generator::new(seed.wrapping_mul(1_000_003) + thread);
                let mut scene = Scene::new();
                while ran.load(Ordering::Relaxed) < lines {
                    let text = generator.line();
                    made.fetch_add(1, Ordering::Relaxed);
                    let line = CommandLine::read(&text);
                    if !line.is_certain() || !run::is_runnable(&text, &line) {
                        continue;
                    }
                    generator.keep(&text);
                    let count = ran.fetch_add(1, Ordering::Relaxed) + 1;
                    if count.is_multiple_of(100_000) {
                        eprintln!("{count} lines");
                    }
                    for shell in shells {
                        let executed = scene.run(shell, &text, generator.number());
                        let programs = executed.programs.len() as u64;
                        executions.fetch_add(programs, Ordering::Relaxed);
                        if let Some(what) = unseen(&line, &executed) {
                            let fault = format!("{}: {what}\n{text:?}", shell.name());
                            eprintln!("{fault}");
                            faults.lock().unwrap().push(fault);
                        }
                    }
                }
            });
        }
    });
    let (made, ran) = (made.into_inner(), ran.into_inner());
    let executions = executions.into_inner();
    eprintln!("{made} lines read, {ran} of them certain and run, {executions} programs executed");
    let faults = faults.into_inner().unwrap();
    assert!(faults.is_empty(), "{}: {faults:#?}", faults.len());
    // Lines that run nothing would prove nothing.
    assert!(executions > ran, "{executions}");
}
