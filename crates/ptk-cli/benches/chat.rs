//! Key latency of `ptk chat`: from a key press until the terminal shows it,
//! while idle, while a tool floods the screen, while a model streams, and while
//! both happen.
//!
//! ```sh
//! cargo bench -p ptk-cli --bench chat
//! ```

#![allow(clippy::print_stdout, reason = "it is a report")]

#[path = "support/terminal.rs"]
mod terminal;

use std::error::Error;
use std::fs;
use std::num::NonZero;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use serde_json::json;

use terminal::{Size, Terminal};

/// The most time that a key may take.
const BAR: Duration = Duration::from_millis(16);
const KEYS: usize = 200;
/// The time between two keys of a fast typist.
const PAUSE: Duration = Duration::from_millis(37);
const SIZE: Size = Size {
    rows: NonZero::new(40).unwrap(),
    columns: NonZero::new(120).unwrap(),
};
/// The key that clears the editor.
const CLEAR: &str = "\u{15}";
/// The command of the tool: it writes until it is stopped.
const FLOOD: &str =
    "yes xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx";
/// A model behind a command: it first calls the tool if there is a call, and
/// then streams a thousand words a second.
const SPEAKER: &str = r#"cat > /dev/null
if [ -e call ]; then cat call; rm call; exit; fi
exec perl -e '$| = 1; for (1..60000) { print "word$_ "; print "\n\n" if $_ % 80 == 0; select(undef, undef, undef, 0.001) }'
"#;

/// Starts a chat with this model.
fn chat(provider: &str, folder: &Path) -> Result<Terminal, Box<dyn Error>> {
    let mut command = Command::new(env!("CARGO_BIN_EXE_ptk"));
    command
        .args(["chat", "--approve", "auto", "--provider", provider])
        .current_dir(folder.join("space"))
        .env("PTK_STATE", folder.join("state"))
        .env("XDG_CONFIG_HOME", folder.join("config"))
        .env("TERM", "xterm-256color");
    let mut terminal = Terminal::new(command, SIZE)?;
    terminal.shows("Ask something.")?;
    Ok(terminal)
}

/// Measures how long each key takes.
fn keys(terminal: &mut Terminal) -> Result<Vec<Duration>, Box<dyn Error>> {
    let mut times = Vec::new();
    let mut typed = String::new();
    for number in 0..KEYS {
        let letter = char::from(b'a' + u8::try_from(number % 26)?);
        if typed.len() > 60 {
            terminal.types(CLEAR)?;
            typed.clear();
            terminal.shows("Ask something.")?;
        }
        typed.push(letter);
        let line = format!("› {typed}");
        let start = Instant::now();
        terminal.types(letter.encode_utf8(&mut [0; 4]))?;
        terminal.shows(&line)?;
        times.push(start.elapsed());
        terminal.until(PAUSE, |_| false)?;
    }
    times.sort_unstable();
    Ok(times)
}

/// A figure of the kernel about the chat: the first number after `name` in a
/// file of its folder in `/proc`.
fn figure(terminal: &Terminal, file: &str, name: &str) -> Result<f64, Box<dyn Error>> {
    // The chat is the terminal's foreground process.
    let pid = rustix::termios::tcgetpgrp(&terminal.keyboard)?.as_raw_nonzero();
    let text = fs::read_to_string(format!("/proc/{pid}/{file}"))?;
    let mut lines = text.lines().filter_map(|line| line.strip_prefix(name));
    let rest = lines.next().ok_or("the kernel does not say it")?;
    let number = rest.trim_start_matches(':').split_whitespace().next();
    Ok(number.ok_or("there is no number")?.parse()?)
}

/// Types, and prints the latencies.
fn measure(what: &str, terminal: &mut Terminal) -> Result<(), Box<dyn Error>> {
    let (start, before) = (Instant::now(), figure(terminal, "io", "rchar")?);
    let times = keys(terminal)?;
    let read = figure(terminal, "io", "rchar")? - before;
    let rate = read / start.elapsed().as_secs_f64() / 1e6;
    let most = figure(terminal, "status", "VmHWM")? / 1000.0;
    report(what, &times);
    println!("  it read {rate:.1} MB a second, and has had {most:.0} MB of memory");
    Ok(())
}

fn report(what: &str, times: &[Duration]) {
    let at = |part: usize| {
        let time = times.get(times.len() * part / 100).or(times.last());
        time.map_or(0.0, |time| time.as_secs_f64() * 1000.0)
    };
    let late = times.iter().filter(|time| **time > BAR).count();
    println!(
        "{what:<24} median {:5.1} ms   95 % {:5.1} ms   most {:5.1} ms   later than {} ms: {late} of {}",
        at(50),
        at(95),
        at(100),
        BAR.as_millis(),
        times.len(),
    );
}

fn main() -> Result<(), Box<dyn Error>> {
    let folder = tempfile::tempdir()?;
    let space = folder.path().join("space");
    fs::create_dir(&space)?;
    let flood = |background: bool| {
        let args = json!({"command": FLOOD, "timeout": 120, "run_in_background": background});
        let call = json!({"tool": "bash", "args": args});
        format!("<PTK_CALL>{call}</PTK_CALL>")
    };
    let script = folder.path().join("script.json");
    fs::write(&script, json!([flood(false), "Done."]).to_string())?;
    let scripted = format!("script:{}", script.display());
    let speaker = folder.path().join("speak.sh");
    fs::write(&speaker, SPEAKER)?;
    let speaking = format!("cmd:sh {}", speaker.display());

    let mut terminal = chat(&scripted, folder.path())?;
    measure("nothing happens", &mut terminal)?;
    terminal.types(CLEAR)?;
    terminal.types("go\r")?;
    terminal.shows("│ xxxx")?;
    measure("a tool floods it", &mut terminal)?;
    drop(terminal);

    let mut terminal = chat(&speaking, folder.path())?;
    terminal.types("go\r")?;
    terminal.shows("word100 ")?;
    measure("a model speaks", &mut terminal)?;
    drop(terminal);

    fs::write(space.join("call"), flood(true))?;
    let mut terminal = chat(&speaking, folder.path())?;
    terminal.types("go\r")?;
    terminal.shows("word100 ")?;
    measure("both", &mut terminal)
}
