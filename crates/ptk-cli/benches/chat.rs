//! How soon a key is seen in `ptk chat`: from its press until the terminal has
//! it on the screen, while nothing happens, while a tool floods the screen, and
//! while a model speaks.
//!
//! ```sh
//! cargo bench -p ptk-cli --bench chat
//! ```

#![allow(clippy::print_stdout, reason = "it is a report")]

use std::error::Error;
use std::fs::{self, File};
use std::io::{Read as _, Write as _};
use std::num::NonZero;
use std::process::Command;
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use rexpect::process::PtyProcess;
use rustix::termios::{Winsize, tcsetwinsize};
use serde_json::json;

/// What a key may take.
const BAR: Duration = Duration::from_millis(16);
const KEYS: usize = 200;
/// Between two keys: as somebody types who types fast.
const PAUSE: Duration = Duration::from_millis(37);
const ROWS: NonZero<u16> = NonZero::new(40).unwrap();
const COLUMNS: NonZero<u16> = NonZero::new(120).unwrap();
/// Bytes that the tool writes.
const FLOOD: u32 = 3_000_000_000;
/// How long is waited for anything at all.
const PATIENCE: Duration = Duration::from_secs(60);

struct Terminal {
    /// Ends with it.
    _process: PtyProcess,
    keyboard: File,
    output: Receiver<Vec<u8>>,
    screen: vt100::Parser,
}

impl Terminal {
    fn new(provider: &str, folder: &std::path::Path) -> Result<Self, Box<dyn Error>> {
        let mut command = Command::new(env!("CARGO_BIN_EXE_ptk"));
        command
            .args(["chat", "--approve", "auto", "--provider", provider])
            .current_dir(folder.join("space"))
            .env("PTK_STATE", folder.join("state"))
            .env("XDG_CONFIG_HOME", folder.join("config"))
            .env("TERM", "xterm-256color");
        let process = PtyProcess::new(command)?;
        let mut reader = process.get_file_handle()?;
        tcsetwinsize(
            &reader,
            Winsize {
                ws_row: ROWS.get(),
                ws_col: COLUMNS.get(),
                ws_xpixel: 0,
                ws_ypixel: 0,
            },
        )?;
        let (tell, output) = channel();
        std::thread::spawn(move || {
            let mut bytes = vec![0; 65536];
            while let Ok(count @ 1..) = reader.read(&mut bytes) {
                let read = bytes.get(..count).unwrap_or_default().to_vec();
                if tell.send(read).is_err() {
                    break;
                }
            }
        });
        Ok(Self {
            keyboard: process.get_file_handle()?,
            _process: process,
            output,
            screen: vt100::Parser::new(ROWS, COLUMNS, 0),
        })
    }

    /// Shows what has come until the screen is so. Whether it ever was.
    fn until(
        &mut self,
        most: Duration,
        is_so: impl Fn(&str) -> bool,
    ) -> Result<bool, Box<dyn Error>> {
        let end = Instant::now() + most;
        while !is_so(&self.screen.screen().contents()) {
            let left = end.saturating_duration_since(Instant::now());
            let Ok(bytes) = self.output.recv_timeout(left) else {
                return Ok(false);
            };
            // What a terminal is asked, it answers.
            let has = |part: &[u8]| bytes.windows(part.len()).any(|it| it == part);
            if has(b"\x1b[c") {
                self.keyboard.write_all(b"\x1b[?62c")?;
            }
            self.screen.process(&bytes);
        }
        Ok(true)
    }

    fn shows(&mut self, text: &str) -> Result<(), Box<dyn Error>> {
        if self.until(PATIENCE, |screen| screen.contains(text))? {
            return Ok(());
        }
        Err(format!("never shown: {text}\n{}", self.screen.screen().contents()).into())
    }

    /// How long each key took.
    fn keys(&mut self) -> Result<Vec<Duration>, Box<dyn Error>> {
        let mut times = Vec::new();
        let mut typed = String::new();
        for number in 0..KEYS {
            let letter = char::from(b'a' + u8::try_from(number % 26)?);
            if typed.len() > 60 {
                self.keyboard.write_all(&[0x15])?;
                typed.clear();
                self.shows("Ask something.")?;
            }
            typed.push(letter);
            let line = format!("› {typed}");
            let start = Instant::now();
            self.keyboard.write_all(letter.to_string().as_bytes())?;
            self.shows(&line)?;
            times.push(start.elapsed());
            self.until(PAUSE, |_| false)?;
        }
        times.sort_unstable();
        Ok(times)
    }

    fn memory(&self) -> String {
        // It is what the terminal is for.
        let Ok(pid) = rustix::termios::tcgetpgrp(&self.keyboard) else {
            return String::new();
        };
        let status = fs::read_to_string(format!("/proc/{}/status", pid.as_raw_nonzero()));
        let status = status.unwrap_or_default();
        let line = status.lines().find(|line| line.starts_with("VmHWM"));
        let size = line.and_then(|line| line.split_whitespace().nth(1));
        let size: f64 = size.and_then(|size| size.parse().ok()).unwrap_or(0.0);
        format!("{:.0} MB", size / 1000.0)
    }
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

    let mut terminal = Terminal::new(&scripted, folder.path())?;
    terminal.shows("Ask something.")?;
    let times = terminal.keys()?;
    report("nothing happens", &times, &terminal.memory());

    terminal.keyboard.write_all(&[0x15])?;
    terminal.keyboard.write_all(b"go\r")?;
    terminal.shows("│ xxxx")?;
    let start = Instant::now();
    let times = terminal.keys()?;
    let is_on = terminal.screen.screen().contents().contains("1 call runs");
    report("a tool floods it", &times, &terminal.memory());
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
    let mut terminal = Terminal::new(&provider, folder.path())?;
    terminal.shows("Ask something.")?;
    terminal.keyboard.write_all(b"go\r")?;
    terminal.shows("word100 ")?;
    let times = terminal.keys()?;
    report("a model speaks", &times, &terminal.memory());
    Ok(())
}
