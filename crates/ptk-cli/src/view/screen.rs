//! The line at the bottom of a terminal that says what is going on, and who
//! may write to the terminal meanwhile.

use std::fmt::Write as _;
use std::io::Write as _;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use super::words::fitting;
use crate::printer::{self, AnsiColor, Style};

const FRAMES: [char; 10] = ['⠋', '⠙', '⠹', '⠸', '⠼', '⠴', '⠦', '⠧', '⠇', '⠏'];
const WHEEL: Style = AnsiColor::Cyan.on_default();
const FAINT: Style = Style::new().dimmed();
/// Goes to the beginning of the line, and removes what stands in it.
const CLEAR: &str = "\r\u{1b}[K";
/// Columns beside what is going on: the wheel, and what a terminal shows of a
/// Ctrl-C, which must not begin another line.
const BESIDE: usize = 5;
/// In fewer columns there is no room for the time.
const NARROW: usize = 16;
/// The width of a terminal that does not tell it.
const WIDTH: usize = 80;

/// The terminal that progress is shown on. Clones are the same one.
#[derive(Debug, Clone, Default)]
pub(crate) struct Screen {
    state: Arc<Mutex<ScreenState>>,
}

/// What becomes of what is said.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum Voice {
    /// It is written.
    #[default]
    Plain,
    /// It is written, and there is a line that moves.
    Live,
    /// Nothing is written at all.
    Quiet,
    /// It is kept for whoever shows it.
    Kept,
}

#[derive(Debug, Default)]
struct ScreenState {
    voice: Voice,
    doing: Option<(String, Instant)>,
    /// What else there is to say about that.
    remark: Option<String>,
    frame: usize,
    is_drawn: bool,
    /// How many questions are open: nothing else is written meanwhile.
    questions: usize,
    /// What is written once they are answered.
    waiting: String,
}

impl Screen {
    /// With a line that moves, if stderr is a terminal.
    pub(crate) fn live() -> Self {
        let screen = Self::default();
        let is_plain = std::env::var_os("TERM").is_none_or(|term| term == "dumb");
        if printer::is_stderr_terminal() && !is_plain {
            screen.lock().voice = Voice::Live;
        }
        screen
    }

    /// Without a word.
    pub(crate) fn quiet() -> Self {
        let screen = Self::default();
        screen.lock().voice = Voice::Quiet;
        screen
    }

    /// Without a word: what is said is kept until somebody takes it.
    pub(crate) fn kept() -> Self {
        let screen = Self::default();
        screen.lock().voice = Voice::Kept;
        screen
    }

    /// What was said, without colours.
    pub(crate) fn take(&self) -> Option<String> {
        let text = std::mem::take(&mut self.lock().waiting);
        let text = printer::plain(&text);
        Some(text.trim().to_owned()).filter(|text| !text.is_empty())
    }

    fn lock(&self) -> MutexGuard<'_, ScreenState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Says what is going on from now on, and since when; or that nothing is.
    pub(crate) fn doing(&self, what: Option<(String, Instant)>) {
        let mut state = self.lock();
        state.doing = what;
        if state.doing.is_none() {
            state.clear();
        }
    }

    /// Says something more about what is going on, until it is taken back.
    #[cfg(feature = "local")]
    pub(crate) fn remark(&self, remark: Option<String>) {
        self.lock().remark = remark;
    }

    /// What more there is to say about what is going on.
    pub(crate) fn remarked(&self) -> Option<String> {
        self.lock().remark.clone()
    }

    /// Moves the line.
    pub(crate) fn tick(&self) {
        let mut state = self.lock();
        state.frame = (state.frame + 1) % FRAMES.len();
        state.draw();
    }

    /// Writes lines to stderr, above the one that moves.
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

    /// As much of a text as fits beside so many columns; all of it where it is
    /// not shown on a terminal.
    pub(crate) fn fitting(&self, text: &str, beside: usize) -> String {
        if self.lock().voice != Voice::Live {
            return text.to_owned();
        }
        fitting(text, width().saturating_sub(beside))
    }

    /// As much of the end of a text as fits into a line beside so many columns.
    pub(crate) fn ending(&self, text: &str, beside: usize) -> String {
        if self.lock().voice != Voice::Live {
            return text.to_owned();
        }
        let backwards: String = text.chars().rev().collect();
        let ending = fitting(&backwards, width().saturating_sub(beside));
        ending.chars().rev().collect()
    }

    /// As much of a text as fits into half of a line.
    pub(crate) fn half(&self, text: &str) -> String {
        self.fitting(text, width() / 2)
    }

    pub(crate) fn is_quiet(&self) -> bool {
        self.lock().voice == Voice::Quiet
    }

    /// Makes room for what others write, on stdout or for a question.
    pub(crate) fn make_room(&self) {
        self.lock().clear();
    }

    /// Keeps everybody else quiet until it is dropped.
    pub(crate) fn question(&self) -> ScreenPause {
        let mut state = self.lock();
        state.clear();
        state.questions += 1;
        ScreenPause(self.clone())
    }
}

/// A question is open.
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
        let width = width();
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

/// If stderr is gone, nobody is left to be told.
fn write(text: &str) {
    let mut stderr = printer::stderr();
    drop(stderr.write_all(text.as_bytes()));
    drop(stderr.flush());
}

fn width() -> usize {
    #[cfg(unix)]
    if let Ok(size) = rustix::termios::tcgetwinsize(printer::stderr_handle())
        && size.ws_col > 0
    {
        return usize::from(size.ws_col);
    }
    WIDTH
}
