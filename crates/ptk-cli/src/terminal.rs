//! The keyboard of whoever sits at the terminal.

use std::fs::File;
use std::io::{self, BufRead as _, IsTerminal as _, Read as _};
use std::sync::atomic::{AtomicBool, Ordering};
#[cfg(unix)]
use std::time::Duration;

/// The terminal of the process, whatever its stdin is.
const TERMINAL: &str = "/dev/tty";
/// How often a question looks whether it is still asked, in milliseconds.
#[cfg(unix)]
const BEAT: i64 = 100;

/// Where answers are typed.
#[derive(Debug)]
pub(crate) enum Keyboard {
    Stdin,
    /// Stdin is something else, such as the end of a pipe.
    Terminal(File),
}

impl Keyboard {
    /// That of the person who sees what is written to stderr, if there is one.
    pub(crate) fn find() -> Option<Self> {
        if !io::stderr().is_terminal() {
            return None;
        }
        if io::stdin().is_terminal() {
            return Some(Self::Stdin);
        }
        File::open(TERMINAL).ok().map(Self::Terminal)
    }

    /// What was typed before the question was there is no answer to it.
    pub(crate) fn forget_typed(&self) {
        #[cfg(unix)]
        {
            use rustix::termios::{QueueSelector, tcflush};
            let _ = match self {
                Self::Stdin => tcflush(io::stdin(), QueueSelector::IFlush),
                Self::Terminal(file) => tcflush(file, QueueSelector::IFlush),
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
        let read = match self {
            Self::Stdin => io::stdin().lock().read_line(&mut answer)?,
            // A terminal gives a line at a time.
            Self::Terminal(file) => {
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
            let one = match self {
                Self::Stdin => PollFd::new(&stdin, PollFlags::IN),
                Self::Terminal(file) => PollFd::new(file, PollFlags::IN),
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
