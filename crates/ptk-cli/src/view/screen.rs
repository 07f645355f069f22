//! The status line at the bottom of a terminal, and the coordination of other
//! output with it.

use std::fmt::Write as _;
use std::io::Write as _;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use super::words::fitting;
use crate::printer::{self, AnsiColor, Style};

const FRAMES: [char; 10] = ['⠋', '⠙', '⠹', '⠸', '⠼', '⠴', '⠦', '⠧', '⠇', '⠏'];
const WHEEL: Style = AnsiColor::Cyan.on_default();
const FAINT: Style = Style::new().dimmed();
/// Moves to the beginning of the line, and clears it.
const CLEAR: &str = "\r\u{1b}[K";
/// The columns beside the status: the spinner, and the `^C` that a terminal
/// echoes, which must not wrap.
const BESIDE: usize = 5;
/// The fewest columns with which the time is shown.
const NARROW: usize = 16;
/// The width of a terminal that does not report it.
const WIDTH: usize = 80;

/// The terminal that progress is shown on. Clones share it.
#[derive(Debug, Clone, Default)]
pub(crate) struct Screen {
    state: Arc<Mutex<ScreenState>>,
}

/// How messages are shown.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum Voice {
    /// They are written.
    #[default]
    Plain,
    /// They are written, and there is a status line.
    Live,
    /// They are dropped.
    Quiet,
    /// They are kept for the chat to show.
    Kept,
}

#[derive(Debug, Default)]
struct ScreenState {
    voice: Voice,
    doing: Option<(String, Instant)>,
    /// A remark about what is running.
    remark: Option<String>,
    frame: usize,
    is_drawn: bool,
    /// The number of open questions: nothing else is written meanwhile.
    questions: usize,
    /// Text to write when they are answered.
    waiting: String,
}

impl Screen {
    /// A screen with a status line, if stderr is a terminal.
    pub(crate) fn live() -> Self {
        let screen = Self::default();
        let is_plain = std::env::var_os("TERM").is_none_or(|term| term == "dumb");
        if printer::is_stderr_terminal() && !is_plain {
            screen.lock().voice = Voice::Live;
        }
        screen
    }

    /// A screen that shows nothing.
    pub(crate) fn quiet() -> Self {
        let screen = Self::default();
        screen.lock().voice = Voice::Quiet;
        screen
    }

    /// A screen that keeps messages until they are taken.
    pub(crate) fn kept() -> Self {
        let screen = Self::default();
        screen.lock().voice = Voice::Kept;
        screen
    }

    /// Takes the kept messages, without colours.
    pub(crate) fn take(&self) -> Option<String> {
        let text = std::mem::take(&mut self.lock().waiting);
        let text = printer::plain(&text);
        Some(text.trim().to_owned()).filter(|text| !text.is_empty())
    }

    fn lock(&self) -> MutexGuard<'_, ScreenState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Sets what is running, and since when; `None` if nothing is.
    pub(crate) fn doing(&self, what: Option<(String, Instant)>) {
        let mut state = self.lock();
        state.doing = what;
        if state.doing.is_none() {
            state.clear();
        }
    }

    /// Sets or removes a remark about what is running.
    #[cfg(feature = "local")]
    pub(crate) fn remark(&self, remark: Option<String>) {
        self.lock().remark = remark;
    }

    /// The current remark.
    pub(crate) fn remarked(&self) -> Option<String> {
        self.lock().remark.clone()
    }

    /// Redraws the status line.
    pub(crate) fn tick(&self) {
        let mut state = self.lock();
        state.frame = (state.frame + 1) % FRAMES.len();
        state.draw();
    }

    /// Writes lines to stderr, above the status line.
    pub(crate) fn print(&self, text: &str) {
        let mut state = self.lock();
        if state.voice == Voice::Quiet {
            return;
        }
        if state.questions > 0 || state.voice == Voice::Kept {
            state.waiting.push_str(text);
            return;
        }
        state.clear();
        write(text);
    }

    /// Cuts a text to the line, less this many columns; without a status line,
    /// returns all of it.
    pub(crate) fn fitting(&self, text: &str, beside: usize) -> String {
        if self.lock().voice != Voice::Live {
            return text.to_owned();
        }
        fitting(text, columns().saturating_sub(beside))
    }

    /// The end of a text that fits in the line, less this many columns.
    pub(crate) fn ending(&self, text: &str, beside: usize) -> String {
        if self.lock().voice != Voice::Live {
            return text.to_owned();
        }
        let backwards: String = text.chars().rev().collect();
        let ending = fitting(&backwards, columns().saturating_sub(beside));
        ending.chars().rev().collect()
    }

    /// Cuts a text to half of a line.
    pub(crate) fn half(&self, text: &str) -> String {
        self.fitting(text, columns() / 2)
    }

    pub(crate) fn is_quiet(&self) -> bool {
        self.lock().voice == Voice::Quiet
    }

    /// Clears the status line, for output on stdout or a question.
    pub(crate) fn make_room(&self) {
        self.lock().clear();
    }

    /// Holds back all other output until the result is dropped.
    pub(crate) fn question(&self) -> ScreenPause {
        let mut state = self.lock();
        state.clear();
        state.questions += 1;
        ScreenPause(self.clone())
    }
}

/// Holds back output while a question is open.
#[derive(Debug)]
pub(crate) struct ScreenPause(Screen);

impl Drop for ScreenPause {
    fn drop(&mut self) {
        let mut state = self.0.lock();
        state.questions -= 1;
        if state.questions == 0 {
            let waiting = std::mem::take(&mut state.waiting);
            write(&waiting);
        }
    }
}

impl ScreenState {
    fn clear(&mut self) {
        if std::mem::take(&mut self.is_drawn) {
            write(&printer::control(CLEAR));
        }
    }

    fn draw(&mut self) {
        let Some((what, since)) = &self.doing else {
            return;
        };
        if self.voice != Voice::Live || self.questions > 0 {
            return;
        }
        let width = columns();
        let time = match since.elapsed().as_secs() {
            seconds if seconds > 0 && width >= NARROW => format!("  {seconds} s"),
            _ => String::new(),
        };
        let room = width.saturating_sub(BESIDE + time.len());
        let remark = self.remark.iter().map(|remark| format!(" │ {remark}"));
        let what: String = std::iter::once(what.clone()).chain(remark).collect();
        let what = fitting(&what, room);
        let frame = FRAMES.get(self.frame).unwrap_or(&'…');
        let mut line = printer::control(CLEAR);
        let _ = write!(line, "{WHEEL}{frame}{WHEEL:#} {what}{FAINT}{time}{FAINT:#}");
        self.is_drawn = true;
        write(&line);
    }
}

/// Writes to stderr. If it is closed, there is nowhere to report it.
fn write(text: &str) {
    let mut stderr = printer::stderr();
    drop(stderr.write_all(text.as_bytes()));
    drop(stderr.flush());
}

/// The columns of the terminal at stderr.
pub(crate) fn columns() -> usize {
    #[cfg(unix)]
    if let Ok(size) = rustix::termios::tcgetwinsize(printer::stderr_handle())
        && size.ws_col > 0
    {
        return usize::from(size.ws_col);
    }
    WIDTH
}
