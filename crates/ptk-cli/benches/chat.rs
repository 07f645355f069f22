//! How soon a key is seen in `ptk chat`: from its press until the terminal has
//! it on the screen, while nothing happens, while a tool floods the screen, and
//! while a model speaks.
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

use terminal::{PATIENCE, Size, Terminal};

/// What a key may take.
const BAR: Duration = Duration::from_millis(16);
const KEYS: usize = 200;
/// Between two keys: as somebody types who types fast.
const PAUSE: Duration = Duration::from_millis(37);
const SIZE: Size = Size {
    rows: NonZero::new(40).unwrap(),
    columns: NonZero::new(120).unwrap(),
};
/// Empties what is written.
const CLEAR: &str = "\u{15}";
/// Bytes that the tool writes.
const FLOOD: u32 = 3_000_000_000;

/// A chat with this model.
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

/// How long each key took.
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

/// The most memory that it has had.
fn memory(terminal: &Terminal) -> String {
    // It is what the terminal is for.
    let Ok(pid) = rustix::termios::tcgetpgrp(&terminal.keyboard) else {
        return String::new();
    };
    let status = fs::read_to_string(format!("/proc/{}/status", pid.as_raw_nonzero()));
    let status = status.unwrap_or_default();
    let line = status.lines().find(|line| line.starts_with("VmHWM"));
    let size = line.and_then(|line| line.split_whitespace().nth(1));
    let size: f64 = size.and_then(|size| size.parse().ok()).unwrap_or(0.0);
    format!("{:.0} MB", size / 1000.0)
}

fn report(what: &str, times: &[Duration], memory: &str) {
    let at = |part: usize| {
        let time = times.get(times.len() * part / 100).or(times.last());
        time.map_or(0.0, |time| time.as_secs_f64() * 1000.0)
    };
    let late = times.iter().filter(|time| **time > BAR).count();
    println!(
        "{what:<24} median {:5.1} ms   95 % {:5.1} ms   most {:5.1} ms   later than {} ms: {late} of {}   memory {memory}",
        at(50),
        at(95),
        at(100),
        BAR.as_millis(),
        times.len(),
    );
}

fn main() -> Result<(), Box<dyn Error>> {
    let folder = tempfile::tempdir()?;
    fs::create_dir(folder.path().join("space"))?;
    let script = folder.path().join("script.json");
    let flood = format!("yes {} | head -c {FLOOD}", "x".repeat(78));
    let call = json!({"tool": "bash", "args": {"command": flood, "timeout": 120}});
    let replies = json!([format!("<PTK_CALL>{call}</PTK_CALL>"), "Done."]);
    fs::write(&script, replies.to_string())?;
    let speaker = folder.path().join("speak.sh");
    fs::write(
        &speaker,
        "cat > /dev/null\nexec perl -e '$| = 1; for (1..60000) { print \"word$_ \"; print \"\\n\\n\" if $_ % 80 == 0; select(undef, undef, undef, 0.001) }'\n",
    )?;
    let scripted = format!("script:{}", script.display());

    let mut terminal = chat(&scripted, folder.path())?;
    let times = keys(&mut terminal)?;
    report("nothing happens", &times, &memory(&terminal));

    terminal.types(CLEAR)?;
    terminal.types("go\r")?;
    terminal.shows("│ xxxx")?;
    let start = Instant::now();
    let times = keys(&mut terminal)?;
    let is_on = terminal.screen.screen().contents().contains("1 call runs");
    report("a tool floods it", &times, &memory(&terminal));
    if is_on {
        let end = |screen: &str| screen.contains("Done.");
        terminal.until(PATIENCE * 2, end)?;
        let rate = f64::from(FLOOD) / start.elapsed().as_secs_f64() / 1e6;
        println!("  it wrote at least {rate:.0} MB a second");
    } else {
        println!("  the flood was over before the keys were");
    }
    drop(terminal);

    let provider = format!("cmd:sh {}", speaker.display());
    let mut terminal = chat(&provider, folder.path())?;
    terminal.types("go\r")?;
    terminal.shows("word100 ")?;
    let times = keys(&mut terminal)?;
    report("a model speaks", &times, &memory(&terminal));
    Ok(())
}
