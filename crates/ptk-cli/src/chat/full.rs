//! The full-screen chat: takes over the terminal, and restores it.

use std::io::{self, Write as _};
use std::panic;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use anyhow::{Context as _, Result};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use crossterm::event::{
    DisableBracketedPaste, DisableMouseCapture, EnableBracketedPaste, EnableMouseCapture, Event,
    EventStream, KeyboardEnhancementFlags, PopKeyboardEnhancementFlags,
    PushKeyboardEnhancementFlags,
};
use crossterm::terminal::{
    self, EnterAlternateScreen, LeaveAlternateScreen, SetTitle, disable_raw_mode, enable_raw_mode,
};
use futures_util::StreamExt as _;
use ptk::RunError;
use ptk::store::Store as _;
use ptk::view::{Conversation, Item, ItemKind};
use ratatui::Terminal;
use ratatui::backend::CrosstermBackend;
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};
use unicode_width::UnicodeWidthStr as _;

use super::app::{Action, App};
use super::complete::Files;
use super::compose::Draft;
use super::draw::{self, Light};
use super::history::PromptHistory;
use super::host::{Done, Host, News, unwritten};
use super::orders::{self, Told};
use super::overlay::Overlay;
use super::text::code;
use crate::agent::SessionHandle;
use crate::args::ChatArgs;
use crate::ask::{PendingQuestion, QuestionSender, QuestionTarget};
use crate::config::Settings;
use crate::exit::{self, Exit};
use crate::interrupt::{Interrupt, Interrupts};
use crate::printer;
use crate::sessions::{self, short};
use crate::view::{Screen, limit_reached, short_path};

/// The shortest time between two frames.
const FRAME: Duration = Duration::from_millis(16);
/// The time between frames if only the clock changes.
const TICK: Duration = Duration::from_millis(100);
/// How long to wait for an orderly exit before it is forced.
const GRACE: Duration = Duration::from_secs(2);
/// The columns beside a text in the message line.
const FLASH_MARGIN: usize = 4;
/// How many items at the end may already show the failure of a turn.
const LAST: usize = 3;
/// How long events are handled before the next key is checked.
const SLICE: Duration = Duration::from_millis(4);

/// Runs the chat in the full terminal until the user leaves.
pub(crate) async fn run(args: &ChatArgs) -> Result<Exit> {
    let settings = Arc::new(Settings::read(&args.agent.config)?);
    let handle = SessionHandle::wanted(&args.session, settings.folder()).await?;
    let is_open = handle.known.as_ref().is_some_and(sessions::is_resumable);
    let (sender, asked) = QuestionSender::new();
    let screen = Screen::kept();
    let mut host = Host::open(
        args.agent.clone(),
        settings,
        handle,
        screen,
        QuestionTarget::Face(sender),
    )
    .await?;
    let conversation = host.conversation().await?;
    let files = Files::new(host.tools().workspace().root().to_owned());
    files.look();
    // Loads the syntax definitions before the first code is shown.
    std::thread::spawn(code::prepare);
    let history = PromptHistory::of_user();
    if !is_open && !conversation.items().is_empty() {
        host.measure().await;
    }
    let mut app = App::new(conversation, files, &history.read());
    tell_place(&mut app, &host);
    for note in host.agent.notes.clone() {
        app.conversation.note(note);
    }
    if is_open {
        host.resume();
    }
    let leaving = leaving();
    let mut paper = ScreenSession::take()?;
    let mut chat = Chat {
        app,
        host,
        asked,
        leaving,
        history,
        prompt: None,
        is_coloured: is_coloured(),
        has_mouse: true,
    };
    let ended = chat.run(&mut paper).await;
    drop(paper);
    let left = chat.host.leave().await;
    let id = short(chat.host.id()).to_owned();
    let known = chat.host.store().session(chat.host.id()).await;
    if known.is_ok_and(|known| known.is_some()) {
        let go_on = format!("`ptk chat --session {id}` goes on.\n");
        drop(printer::stderr().write_all(go_on.as_bytes()));
    }
    left?;
    ended
}

/// Whether to use colours.
fn is_coloured() -> bool {
    printer::has_colours()
}

fn tell_place(app: &mut App, host: &Host) {
    app.servers = host.servers();
    app.status.model.clone_from(&host.agent.model);
    app.status.workspace = short_path(host.tools().workspace().root());
    app.status.context = host.context;
}

/// The terminal, while the chat has taken it over.
struct ScreenSession {
    terminal: Terminal<CrosstermBackend<io::Stdout>>,
    /// Whether it reports keys in the enhanced protocol.
    is_enhanced: bool,
    /// The previous panic hook.
    hook: Hook,
}

/// A panic hook.
type Hook = Arc<dyn Fn(&panic::PanicHookInfo<'_>) + Send + Sync>;

impl ScreenSession {
    fn take() -> Result<Self> {
        let is_enhanced = terminal::supports_keyboard_enhancement().unwrap_or(false);
        // It may fail halfway.
        let entered = enter(is_enhanced, true).inspect_err(|_| leave());
        entered.context("the terminal cannot be taken; try --plain")?;
        let hook: Hook = Arc::from(panic::take_hook());
        let own = std::thread::current().id();
        let before = Arc::clone(&hook);
        // A panic of the chat is reported on the restored terminal. One on
        // another thread is caught and reported there.
        panic::set_hook(Box::new(move |info| {
            if std::thread::current().id() == own {
                leave();
                before(info);
            }
        }));
        let backend = CrosstermBackend::new(printer::full_screen());
        let terminal = Terminal::new(backend);
        if terminal.is_err() {
            leave();
        }
        Ok(Self {
            terminal: terminal?,
            is_enhanced,
            hook,
        })
    }

    /// Gives the terminal to the shell until the chat is continued.
    fn suspend(&mut self, has_mouse: bool) -> Result<()> {
        leave();
        #[cfg(unix)]
        {
            use rustix::process::{Signal, getpid, kill_process};
            kill_process(getpid(), Signal::TSTP)?;
        }
        self.resume(has_mouse)
    }

    /// Takes the terminal over again.
    fn resume(&mut self, has_mouse: bool) -> Result<()> {
        enter(self.is_enhanced, has_mouse)?;
        self.terminal.clear()?;
        Ok(())
    }
}

impl Drop for ScreenSession {
    fn drop(&mut self) {
        leave();
        let hook = Arc::clone(&self.hook);
        if !std::thread::panicking() {
            panic::set_hook(Box::new(move |info| hook(info)));
        }
    }
}

fn enter(is_enhanced: bool, has_mouse: bool) -> io::Result<()> {
    enable_raw_mode()?;
    let mut out = printer::full_screen();
    crossterm::execute!(
        out,
        EnterAlternateScreen,
        EnableBracketedPaste,
        SetTitle("ptk")
    )?;
    if is_enhanced {
        let flags = KeyboardEnhancementFlags::DISAMBIGUATE_ESCAPE_CODES;
        crossterm::execute!(out, PushKeyboardEnhancementFlags(flags))?;
    }
    if has_mouse {
        crossterm::execute!(out, EnableMouseCapture)?;
    }
    Ok(())
}

/// Restores the terminal. If that fails, there is nowhere to report it.
fn leave() {
    let mut out = printer::full_screen();
    drop(crossterm::execute!(
        out,
        DisableMouseCapture,
        PopKeyboardEnhancementFlags,
        DisableBracketedPaste,
        LeaveAlternateScreen,
        crossterm::cursor::Show
    ));
    drop(disable_raw_mode());
}

struct Chat {
    app: App,
    host: Host,
    asked: UnboundedReceiver<PendingQuestion>,
    leaving: UnboundedReceiver<Interrupt>,
    history: PromptHistory,
    /// The last prompt.
    prompt: Option<String>,
    is_coloured: bool,
    has_mouse: bool,
}

/// Whether the chat continues.
enum Next {
    Go,
    /// The prompt is to be opened in the user's own editor.
    Compose,
    Leave(Exit),
}

impl Chat {
    async fn run(&mut self, paper: &mut ScreenSession) -> Result<Exit> {
        let mut input = EventStream::new();
        let mut tick = tokio::time::interval(TICK);
        let mut drawn = Instant::now();
        let mut is_fresh = false;
        // Whether something has happened that is not drawn yet.
        let mut is_stale = false;
        loop {
            if !is_fresh {
                self.draw(paper)?;
                drawn = Instant::now();
                (is_fresh, is_stale) = (true, false);
            }
            let rest = FRAME.saturating_sub(drawn.elapsed());
            tokio::select! {
                biased;
                event = input.next() => {
                    let Some(event) = event else {
                        // The terminal is gone.
                        return Ok(Exit::Interrupted);
                    };
                    match self.input(&event?, paper).await? {
                        Next::Go => {}
                        Next::Leave(exit) => return Ok(exit),
                        Next::Compose => {
                            // It reads what is typed, also for the editor.
                            drop(input);
                            // Dropping it wakes the next reader, who would take
                            // that for a terminal that does not answer.
                            crossterm::event::poll(Duration::ZERO)?;
                            let next = self.compose(paper).await;
                            input = EventStream::new();
                            if let Next::Leave(exit) = next? {
                                return Ok(exit);
                            }
                        }
                    }
                    is_fresh = false;
                }
                Some(interrupt) = self.leaving.recv() => match interrupt {
                    Interrupt::Leave => return Ok(Exit::Interrupted),
                    // In raw mode Ctrl-C is a key, so another process has sent
                    // the signal.
                    Interrupt::Stop => self.host.stop(),
                },
                Some(asked) = self.asked.recv() => {
                    self.app.ask(asked);
                    is_fresh = false;
                }
                news = self.host.news() => match news {
                    News::Done(done) => {
                        self.take_in_all();
                        self.done(done);
                        is_fresh = false;
                    }
                    News::Event(delivery) => {
                        self.app.deliver(&delivery);
                        self.take_in();
                        is_stale = true;
                        if rest.is_zero() {
                            is_fresh = false;
                        } else {
                            tick.reset_after(rest);
                        }
                    }
                },
                () = self.app.files.found() => {
                    self.app.files_found();
                    is_fresh = false;
                }
                _ = tick.tick() => {
                    let is_gone = self.app.forget_gone();
                    let is_answered = self.app.settle(Instant::now());
                    self.app.status.remark = self.host.screen.remarked();
                    let said = self.host.screen.take();
                    let is_changed = is_stale || is_gone || is_answered || said.is_some();
                    if let Some(text) = said {
                        self.app.conversation.note(text);
                    }
                    is_fresh = !(is_changed || self.app.is_busy() || self.host.is_busy());
                }
            }
            self.note_busy();
        }
    }

    /// Handles pending events, for a short time.
    fn take_in(&mut self) {
        let start = Instant::now();
        while let Ok(delivery) = self.host.events.try_recv() {
            self.app.deliver(&delivery);
            if start.elapsed() > SLICE {
                break;
            }
        }
    }

    fn take_in_all(&mut self) {
        while let Ok(delivery) = self.host.events.try_recv() {
            self.app.deliver(&delivery);
        }
    }

    fn note_busy(&mut self) {
        match (self.host.is_busy(), self.app.busy_since) {
            (true, None) => self.app.busy_since = Some(SystemTime::now()),
            (false, Some(_)) => self.app.busy_since = None,
            _ => {}
        }
    }

    fn draw(&mut self, paper: &mut ScreenSession) -> Result<()> {
        let light = Light {
            now: SystemTime::now(),
            is_coloured: self.is_coloured,
            tools: Some(self.host.tools()),
        };
        let app = &mut self.app;
        paper
            .terminal
            .draw(|frame| draw::draw(frame, app, &light))?;
        app.drawn(Instant::now());
        Ok(())
    }

    async fn input(&mut self, event: &Event, paper: &mut ScreenSession) -> Result<Next> {
        let actions = self.app.input(event, Instant::now());
        for text in std::mem::take(&mut self.app.to_keep) {
            self.history.keep(&text);
        }
        for action in actions {
            match self.act(action, paper).await? {
                Next::Go => {}
                next => return Ok(next),
            }
        }
        Ok(Next::Go)
    }

    /// Opens the prompt in the user's own editor, which has the terminal until
    /// it ends. What is running goes on meanwhile.
    async fn compose(&mut self, paper: &mut ScreenSession) -> Result<Next> {
        let draft = match Draft::new(&self.app.editor.whole()) {
            Ok(draft) => draft,
            Err(error) => {
                self.app.flash = Some(format!("{error:#}"));
                return Ok(Next::Go);
            }
        };
        leave();
        let mut next = Next::Go;
        let written = {
            let writing = draft.write();
            tokio::pin!(writing);
            loop {
                tokio::select! {
                    biased;
                    written = &mut writing => break written,
                    Some(interrupt) = self.leaving.recv() => {
                        // Ctrl-C is for the editor.
                        if interrupt == Interrupt::Leave {
                            next = Next::Leave(Exit::Interrupted);
                            break Ok(None);
                        }
                    }
                    Some(asked) = self.asked.recv() => self.app.ask(asked),
                    news = self.host.news() => match news {
                        News::Done(done) => {
                            self.take_in_all();
                            self.done(done);
                            self.note_busy();
                        }
                        News::Event(delivery) => self.app.deliver(&delivery),
                    },
                }
            }
        };
        paper.resume(self.has_mouse)?;
        match written {
            Ok(Some(text)) => self.app.composed(&text),
            Ok(None) => {}
            Err(error) => self.app.flash = Some(format!("{error:#}")),
        }
        Ok(next)
    }

    async fn act(&mut self, action: Action, paper: &mut ScreenSession) -> Result<Next> {
        match action {
            Action::Ask(prompt) => self.ask(prompt),
            Action::Run(line) => {
                if let Err(error) = self.host.run(&line) {
                    self.app.flash = Some(format!("{error:#}"));
                }
            }
            Action::Do(command) => return self.obey(command).await,
            Action::Stop => self.host.stop(),
            Action::Redraw => paper.terminal.clear()?,
            Action::Compose => return Ok(Next::Compose),
            Action::Suspend => paper.suspend(self.has_mouse)?,
            Action::Quit => return Ok(Next::Leave(Exit::Success)),
        }
        Ok(Next::Go)
    }

    async fn obey(&mut self, command: super::command::ChatCommand) -> Result<Next> {
        let number = match &command {
            super::command::ChatCommand::Inspect(number) => *number,
            _ => None,
        };
        let chosen = self.app.call(number).cloned();
        let told = orders::obey(
            command,
            &mut self.host,
            &self.app.conversation,
            chosen.as_ref(),
        );
        match told.await {
            Ok(Told::Note(text)) => self.app.conversation.note(text),
            Ok(Told::Page(title, text)) => self.app.overlay = Some(Overlay::page(title, text)),
            Ok(Told::List(title, entries)) => {
                self.app.overlay = Some(Overlay::list(title, entries));
            }
            Ok(Told::Switched(text, is_open)) => {
                self.switched(&text).await?;
                if is_open {
                    self.host.resume();
                }
            }
            Ok(Told::Begun) => {}
            Ok(Told::Copied(text)) => self.copy(&text)?,
            Ok(Told::Mouse) => self.toggle_mouse()?,
            Ok(Told::Quit) => return Ok(Next::Leave(Exit::Success)),
            Err(error) => self.failed(&error),
        }
        tell_place(&mut self.app, &self.host);
        Ok(Next::Go)
    }

    fn ask(&mut self, prompt: String) {
        self.host.ask(&prompt);
        self.prompt = Some(prompt);
    }

    /// Reports an error: in the message line, if it fits.
    fn failed(&mut self, error: &anyhow::Error) {
        let text = format!("{error:#}");
        let width = terminal::size().map_or(usize::MAX, |(width, _)| usize::from(width));
        if text.contains('\n') || text.width() + FLASH_MARGIN > width {
            self.app.conversation.fail(text);
        } else {
            self.app.flash = Some(text);
        }
    }

    /// Shows another conversation.
    async fn switched(&mut self, text: &str) -> Result<()> {
        let conversation: Conversation = self.host.conversation().await?;
        if !conversation.items().is_empty() {
            self.host.measure().await;
        }
        let files = self.app.files.clone();
        let mut app = App::new(conversation, files, &self.history.read());
        app.servers = self.host.servers();
        for note in self.host.agent.notes.clone() {
            app.conversation.note(note);
        }
        app.flash = Some(text.to_owned());
        self.app = app;
        Ok(())
    }

    /// Copies a text by an escape sequence, which also works in remote
    /// terminals.
    fn copy(&mut self, text: &str) -> Result<()> {
        let coded = STANDARD.encode(text);
        let mut out = printer::full_screen();
        write!(out, "\u{1b}]52;c;{coded}\u{7}")?;
        out.flush()?;
        self.app.flash = Some("In the clipboard, if the terminal lets it.".to_owned());
        Ok(())
    }

    fn toggle_mouse(&mut self) -> Result<()> {
        self.has_mouse = !self.has_mouse;
        let mut out = printer::full_screen();
        if self.has_mouse {
            crossterm::execute!(out, EnableMouseCapture)?;
        } else {
            crossterm::execute!(out, DisableMouseCapture)?;
        }
        self.app.flash = Some(if self.has_mouse {
            "The wheel scrolls, a click opens.".to_owned()
        } else {
            "The mouse selects text again; /mouse takes it back.".to_owned()
        });
        Ok(())
    }

    /// Handles the end of running work: reports it, and sends the next prompt.
    fn done(&mut self, done: Result<Done>) {
        let mut is_good = true;
        match done {
            Ok(Done::Turn(execution)) => {
                self.app.conversation.took(execution.usage);
                if let Some(limit) = execution.limit {
                    self.app
                        .conversation
                        .note(format!("{} Another prompt goes on.", limit_reached(limit)));
                }
                if let Some(error) = &execution.error {
                    is_good = false;
                    self.unanswered(error);
                }
            }
            Ok(Done::Command(outcome, written)) => {
                is_good = outcome.result.success;
                if let Err(error) = written {
                    self.app.conversation.fail(unwritten(&error).trim_start());
                }
            }
            Ok(Done::Said(Ok(text))) if text.is_empty() => {}
            Ok(Done::Said(Ok(text))) => self.app.conversation.note(text),
            Ok(Done::Redone(Ok(text))) => {
                self.host.undone.pop();
                self.app.conversation.note(text);
            }
            Ok(Done::Undone(Ok((id, text)))) => {
                self.host.undone.push(id);
                self.app
                    .conversation
                    .note(format!("{text}\n/redo has it back."));
            }
            Ok(Done::Said(Err(error)) | Done::Undone(Err(error)) | Done::Redone(Err(error)))
            | Err(error) => {
                let is_stopped = matches!(error.downcast_ref(), Some(RunError::Cancelled));
                if !is_stopped {
                    self.app.conversation.fail(format!("{error:#}"));
                }
                is_good = false;
            }
        }
        self.app.ended();
        self.app.status.context = self.host.context;
        self.prompt = None;
        if !is_good {
            // The queued prompts may no longer be wanted.
            self.app.take_back_queue();
        } else if let Some(prompt) = self.app.queue.pop_front() {
            self.ask(prompt);
        }
    }

    /// Handles a turn without an answer: reports the error unless an event did,
    /// and returns a prompt that was not sent to the editor.
    fn unanswered(&mut self, error: &RunError) {
        let text = error.to_string();
        let items = self.app.conversation.items().iter().rev();
        let is_told = |item: &Item| matches!(&item.kind, ItemKind::Notice(it) if it.text == text);
        if items.take(LAST).any(is_told) {
            return;
        }
        self.app.conversation.fail(text);
        if let Some(prompt) = self.prompt.take()
            && self.app.editor.is_empty()
        {
            self.app.editor.set(&prompt);
        }
    }
}

/// Receives signals on a task of its own, so that the user can leave even while
/// the screen is stuck.
fn leaving() -> UnboundedReceiver<Interrupt> {
    let (tell, told) = unbounded_channel();
    tokio::spawn(async move {
        let mut interrupts = Interrupts::new();
        loop {
            let interrupt = interrupts.next().await;
            let _ = tell.send(interrupt);
            if interrupt == Interrupt::Leave {
                tokio::time::sleep(GRACE).await;
                leave();
                exit::leave();
            }
        }
    });
    told
}
