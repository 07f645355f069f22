//! The terminal for questions to the user: where they are written, and where
//! answers are typed.

use std::fs::{File, OpenOptions};
use std::io::{self, BufRead as _, IsTerminal as _, Read as _, Write as _};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
#[cfg(unix)]
use std::time::Duration;

use tokio::sync::Mutex;

use crate::printer;
use crate::view::Screen;

/// The controlling terminal of the process, whatever its stdin is.
const TERMINAL: &str = "/dev/tty";
/// How often a question checks whether it was dropped, in milliseconds.
#[cfg(unix)]
const BEAT: i64 = 100;

/// A terminal at which the user can be asked.
#[derive(Debug)]
pub(crate) struct Terminal {
    keyboard: Keyboard,
    screen: QuestionOutput,
}

/// Where answers are read.
#[derive(Debug)]
enum Keyboard {
    Stdin,
    /// Stdin is not a terminal, but for example a pipe.
    Terminal(File),
}

/// Where questions are written.
#[derive(Debug)]
enum QuestionOutput {
    Stderr,
    /// Stderr is not a terminal, but for example a file.
    Terminal(File),
}

impl Terminal {
    /// The user's terminal, if there is one. If stderr is redirected, the
    /// controlling terminal is used, as long as this process is in its
    /// foreground.
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

    /// Writes a text to the terminal.
    // Not locked while waiting, so that others can write meanwhile.
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

    /// Discards input that was typed before the question was shown.
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

    /// Reads the next line; `None` at the end of input.
    pub(crate) fn line(&self, gone: &AtomicBool) -> io::Result<Option<String>> {
        self.wait(gone)?;
        if gone.load(Ordering::Relaxed) {
            return Ok(None);
        }
        let mut answer = String::new();
        let read = match &self.keyboard {
            Keyboard::Stdin => io::stdin().lock().read_line(&mut answer)?,
            // A terminal returns one line at a time.
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

    /// Waits until there is input, or the question is dropped, so that it does
    /// not read the answer to the next one.
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
                // The terminal is gone, and a signal will end the process. This
                // is not an answer.
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

/// Held while a question is at the terminal: the next one waits.
static AT_TERMINAL: Mutex<()> = Mutex::const_new(());

/// Stops the thread that waits at the terminal when the question is dropped.
struct Gone {
    is_gone: Arc<AtomicBool>,
    terminal: Arc<Terminal>,
}

impl Drop for Gone {
    fn drop(&mut self) {
        if !self.is_gone.swap(true, Ordering::Relaxed) {
            // Further output begins on a new line.
            drop(self.terminal.say("\n"));
        }
    }
}

/// Puts a question on a blocking thread, until there is an answer or the caller
/// is gone. Meanwhile the screen shows nothing else.
pub(crate) async fn put<T: Send + 'static>(
    terminal: &Arc<Terminal>,
    screen: &Screen,
    ask: impl FnOnce(&Terminal, &AtomicBool) -> io::Result<T> + Send + 'static,
) -> io::Result<T> {
    let _alone = AT_TERMINAL.lock().await;
    let _quiet = screen.question();
    let gone = Gone {
        is_gone: Arc::default(),
        terminal: Arc::clone(terminal),
    };
    let flag = Arc::clone(&gone.is_gone);
    let at = Arc::clone(terminal);
    let answer = tokio::task::spawn_blocking(move || ask(&at, &flag)).await;
    gone.is_gone.store(true, Ordering::Relaxed);
    answer.unwrap_or_else(|error| Err(io::Error::other(error)))
}

/// Whether this process is in the terminal's foreground. One in the background
/// would be stopped when it reads.
#[cfg(unix)]
fn is_in_front(terminal: &File) -> bool {
    let front = rustix::termios::tcgetpgrp(terminal);
    front.is_ok_and(|group| group == rustix::process::getpgrp())
}

#[cfg(not(unix))]
fn is_in_front(_terminal: &File) -> bool {
    true
}
