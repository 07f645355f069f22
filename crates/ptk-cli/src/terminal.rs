//! The terminal of whoever can be asked: where questions are written, and
//! where answers are typed.

use std::fs::{File, OpenOptions};
use std::io::{self, BufRead as _, IsTerminal as _, Read as _, Write as _};
use std::sync::atomic::{AtomicBool, Ordering};
#[cfg(unix)]
use std::time::Duration;

use crate::printer;

/// The terminal of the process, whatever its stdin is.
const TERMINAL: &str = "/dev/tty";
/// How often a question looks whether it is still asked, in milliseconds.
#[cfg(unix)]
const BEAT: i64 = 100;

/// Somebody who can be asked.
#[derive(Debug)]
pub(crate) struct Terminal {
    keyboard: Keyboard,
    screen: QuestionOutput,
}

/// Where answers are typed.
#[derive(Debug)]
enum Keyboard {
    Stdin,
    /// Stdin is something else, such as the end of a pipe.
    Terminal(File),
}

/// Where questions are written.
#[derive(Debug)]
enum QuestionOutput {
    Stderr,
    /// Stderr is something else, such as a file.
    Terminal(File),
}

impl Terminal {
    /// That of the person who sees what is written, if there is one. Where
    /// stderr goes elsewhere, whoever has begun the command is asked at the
    /// terminal that it was begun at, as long as it is in the foreground there.
    pub(crate) fn find() -> Option<Self> {
        let screen = if printer::is_stderr_terminal() {
            QuestionOutput::Stderr
        } else {
            let has_other = io::stdin().is_terminal() || printer::is_stdout_terminal();
            let opened = OpenOptions::new().write(true).open(TERMINAL).ok();
            let file = opened.filter(|file| has_other && is_in_front(file))?;
            QuestionOutput::Terminal(file)
        };
        let keyboard = if io::stdin().is_terminal() {
            Keyboard::Stdin
        } else {
            Keyboard::Terminal(File::open(TERMINAL).ok()?)
        };
        Some(Self { keyboard, screen })
    }

    /// Writes something there.
    // Not locked while waiting: others may have something to say meanwhile.
    pub(crate) fn say(&self, text: &str) -> io::Result<()> {
        match &self.screen {
            QuestionOutput::Stderr => {
                let mut stderr = printer::stderr();
                stderr.write_all(text.as_bytes())?;
                stderr.flush()
            }
            QuestionOutput::Terminal(file) => {
                let text = printer::for_terminal(file, text);
                let mut file = file;
                file.write_all(&text)
            }
        }
    }

    /// What was typed before the question was there is no answer to it.
    pub(crate) fn forget_typed(&self) {
        #[cfg(unix)]
        {
            use rustix::termios::{QueueSelector, tcflush};
            let _ = match &self.keyboard {
                Keyboard::Stdin => tcflush(io::stdin(), QueueSelector::IFlush),
                Keyboard::Terminal(file) => tcflush(file, QueueSelector::IFlush),
            };
        }
    }

    /// The next line, or nothing where there is none to come.
    pub(crate) fn line(&self, gone: &AtomicBool) -> io::Result<Option<String>> {
        self.wait(gone)?;
        if gone.load(Ordering::Relaxed) {
            return Ok(None);
        }
        let mut answer = String::new();
        let read = match &self.keyboard {
            Keyboard::Stdin => io::stdin().lock().read_line(&mut answer)?,
            // A terminal gives a line at a time.
            Keyboard::Terminal(file) => {
                let mut bytes = [0; 1024];
                let mut file = file;
                let read = file.read(&mut bytes)?;
                answer.push_str(&String::from_utf8_lossy(
                    bytes.get(..read).unwrap_or_default(),
                ));
                read
            }
        };
        Ok((read > 0).then_some(answer))
    }

    /// Waits until there is something to read, or nobody asks any more: a
    /// question that went away must not take the next answer.
    #[cfg(unix)]
    fn wait(&self, gone: &AtomicBool) -> io::Result<()> {
        use rustix::event::{PollFd, PollFlags, Timespec, poll};
        let stdin = io::stdin();
        let beat = Timespec {
            tv_sec: 0,
            tv_nsec: BEAT * 1_000_000,
        };
        while !gone.load(Ordering::Relaxed) {
            let one = match &self.keyboard {
                Keyboard::Stdin => PollFd::new(&stdin, PollFlags::IN),
                Keyboard::Terminal(file) => PollFd::new(file, PollFlags::IN),
            };
            let mut one = [one];
            let found = poll(&mut one, Some(&beat));
            if one.iter().any(|it| it.revents().contains(PollFlags::HUP)) {
                // The terminal is gone, and a signal is on its way that says
                // so. That is no answer.
                std::thread::sleep(Duration::from_millis(BEAT.unsigned_abs()));
                continue;
            }
            match found {
                Ok(0) | Err(rustix::io::Errno::INTR) => {}
                Ok(_) => return Ok(()),
                Err(error) => return Err(error.into()),
            }
        }
        Ok(())
    }

    #[cfg(not(unix))]
    fn wait(&self, _gone: &AtomicBool) -> io::Result<()> {
        Ok(())
    }
}

/// Whether this process has the terminal. Whoever works in the background
/// would be stopped when it reads there.
#[cfg(unix)]
fn is_in_front(terminal: &File) -> bool {
    let front = rustix::termios::tcgetpgrp(terminal);
    front.is_ok_and(|group| group == rustix::process::getpgrp())
}

#[cfg(not(unix))]
fn is_in_front(_terminal: &File) -> bool {
    true
}
