//! The state of the chat, and how keys change it. It does not draw, and never
//! blocks.

use std::collections::{HashSet, VecDeque};
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use crossterm::event::{
    Event, KeyCode, KeyEvent, KeyEventKind, KeyModifiers, MouseButton, MouseEvent, MouseEventKind,
};
use ptk::ContextUse;
use ptk::events::{Delivery, EventKind};
use ptk::view::{CallView, Conversation, Item, ItemKind};

use super::command::{self, ChatCommand};
use super::complete::{self, Candidate, Files};
use super::draw::Canvas;
use super::editor::Editor;
use super::forms::{FormEffect, Forms};
use super::orders;
use super::overlay::{Overlay, Said};
use super::questions::{KeyEffect, Questions};
use super::search::Search;
use crate::ask::PendingQuestion;
use crate::mcp::Servers;
use crate::question::refused;

/// The time in which a second Ctrl-C ends the chat.
const TWICE: Duration = Duration::from_secs(2);
/// The message while something is being stopped.
const STOPPING: &str = "Stopping. Ctrl-C once more leaves.";
/// The most bytes of a prompt that the history keeps in full.
const MAX_REMEMBERED: usize = 20_000;
/// How many lines the mouse wheel scrolls.
const WHEEL: usize = 3;

/// An action that the user requested.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Action {
    /// Sends a prompt to the model.
    Ask(String),
    /// Runs a command line.
    Run(String),
    /// Runs a command of the chat.
    Do(ChatCommand),
    /// Stops the running work.
    Stop,
    /// Redraws the screen.
    Redraw,
    /// Suspends the chat to the shell.
    Suspend,
    /// Opens the prompt in the user's own editor.
    Compose,
    /// Ends the chat.
    Quit,
}

/// The part of the screen that gets the keys.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Focus {
    Editor,
    /// The open question.
    Question,
    /// The message to the model that goes with a denial.
    Word,
    /// The open form.
    Form,
}

/// The content of the status line.
#[derive(Debug, Clone, Default)]
pub(crate) struct Status {
    pub(crate) model: String,
    pub(crate) workspace: String,
    /// The use of the model's context window, once it was measured.
    pub(crate) context: Option<ContextUse>,
    /// A remark about what is running, beside the conversation.
    pub(crate) remark: Option<String>,
}

/// The completions of a word, while one is chosen.
#[derive(Debug)]
pub(crate) struct Offer {
    pub(crate) candidates: Vec<Candidate>,
    pub(crate) chosen: usize,
}

/// The state of the chat.
pub(crate) struct App {
    pub(crate) conversation: Conversation,
    pub(crate) editor: Editor,
    pub(crate) questions: Questions,
    pub(crate) forms: Forms,
    pub(crate) focus: Focus,
    pub(crate) word: Editor,
    pub(crate) overlay: Option<Overlay>,
    pub(crate) search: Option<Search>,
    pub(crate) offer: Option<Offer>,
    /// Prompts to send when the turn has ended.
    pub(crate) queue: VecDeque<String>,
    /// Prompts that are to be kept for later chats.
    pub(crate) to_keep: Vec<String>,
    /// The items that are expanded.
    pub(crate) open: HashSet<u64>,
    /// The item that is selected.
    pub(crate) chosen: Option<u64>,
    pub(crate) status: Status,
    /// A message that is shown until the next key.
    pub(crate) flash: Option<String>,
    pub(crate) canvas: Canvas,
    pub(crate) files: Files,
    /// What MCP servers offer.
    pub(crate) servers: Arc<Servers>,
    /// When the running work began.
    pub(crate) busy_since: Option<SystemTime>,
    stopped_at: Option<Instant>,
}

impl App {
    /// The chat about a conversation. `history` are prompts of earlier chats.
    pub(crate) fn new(conversation: Conversation, files: Files, history: &[String]) -> Self {
        let mut editor = Editor::default();
        for text in history {
            editor.remember(text);
        }
        for item in conversation.items() {
            if let ItemKind::Prompt(text) = &item.kind
                && !history.contains(text)
            {
                editor.remember(text);
            }
        }
        let by_hand = conversation.items().iter().filter(|it| is_by_hand(it));
        let open = by_hand.map(|item| item.id).collect();
        Self {
            conversation,
            editor,
            questions: Questions::default(),
            forms: Forms::default(),
            focus: Focus::Editor,
            word: Editor::default(),
            overlay: None,
            search: None,
            offer: None,
            queue: VecDeque::new(),
            to_keep: Vec::new(),
            open,
            chosen: None,
            status: Status::default(),
            flash: None,
            canvas: Canvas::default(),
            files,
            servers: Arc::default(),
            busy_since: None,
            stopped_at: None,
        }
    }

    /// Handles an event.
    pub(crate) fn deliver(&mut self, delivery: &Delivery) {
        self.conversation.deliver(delivery);
        if let Delivery::Event(event) = delivery
            && matches!(event.kind, EventKind::ToolCallStart { .. })
        {
            let last = self.conversation.items().last();
            self.open
                .extend(last.filter(|it| is_by_hand(it)).map(|it| it.id));
        }
    }

    /// Adds a question or a form.
    pub(crate) fn ask(&mut self, put: PendingQuestion) {
        let is_open = match put {
            PendingQuestion::Call(asked) => self.questions.push(asked),
            // A form waits until the questions about calls are answered.
            PendingQuestion::Form(asked) => self.forms.push(asked) && self.questions.is_empty(),
        };
        if is_open {
            self.turn_to_question();
        }
    }

    /// Gives the keys to the open question or form, but does not interrupt a
    /// user who is typing.
    fn turn_to_question(&mut self) {
        self.word.take();
        self.focus = if self.editor.is_empty() {
            self.waiting().unwrap_or(Focus::Editor)
        } else {
            Focus::Editor
        };
    }

    /// What waits for an answer, if something does.
    fn waiting(&self) -> Option<Focus> {
        if !self.questions.is_empty() {
            return Some(Focus::Question);
        }
        (!self.forms.is_empty()).then_some(Focus::Form)
    }

    /// Whether something waits for an answer.
    pub(crate) fn is_asked(&self) -> bool {
        self.waiting().is_some()
    }

    /// Records that the current state has been drawn.
    pub(crate) fn drawn(&mut self, now: Instant) {
        self.questions.drawn(self.overlay.is_none(), now);
        self.forms.drawn(self.overlay.is_none(), now);
    }

    /// Removes questions whose caller is gone. Returns whether one was removed.
    pub(crate) fn forget_gone(&mut self) -> bool {
        let questions = self.questions.forget_gone();
        let forms = self.forms.forget_gone();
        if questions.1 || forms.1 {
            self.turn_to_question();
        }
        questions.0 || forms.0
    }

    /// Gives the answer that a letter has selected, unless more was typed since.
    /// Returns whether it did.
    pub(crate) fn settle(&mut self, now: Instant) -> bool {
        let is_answered = self.questions.settle(now);
        if is_answered {
            self.turn_to_question();
        }
        is_answered
    }

    /// Records that what was running has ended.
    pub(crate) fn ended(&mut self) {
        self.busy_since = None;
        self.flash.take_if(|flash| flash == STOPPING);
    }

    /// Offers the files that were found since the `@` was typed.
    pub(crate) fn files_found(&mut self) {
        if self.focus != Focus::Editor || !self.editor.word().0.starts_with('@') {
            return;
        }
        let chosen = self.offer.as_ref();
        let chosen = chosen.and_then(|offer| offer.candidates.get(offer.chosen));
        let chosen = chosen.map(|chosen| chosen.text.clone());
        self.offer_completions();
        if let (Some(offer), Some(chosen)) = (&mut self.offer, chosen) {
            let at = offer.candidates.iter().position(|it| it.text == chosen);
            offer.chosen = at.unwrap_or(0);
        }
    }

    /// Whether something is running that can be stopped.
    pub(crate) fn is_busy(&self) -> bool {
        self.busy_since.is_some()
    }

    /// Handles input of the user.
    pub(crate) fn input(&mut self, event: &Event, now: Instant) -> Vec<Action> {
        match event {
            Event::Key(key) if key.kind != KeyEventKind::Release => self.key(*key, now),
            Event::Paste(text) => {
                self.flash = None;
                self.paste(text);
                Vec::new()
            }
            Event::Mouse(mouse) => {
                self.mouse(*mouse);
                Vec::new()
            }
            Event::Resize(..) => vec![Action::Redraw],
            _ => Vec::new(),
        }
    }

    fn paste(&mut self, text: &str) {
        match (&mut self.search, &mut self.overlay, self.focus) {
            (Some(search), ..) => search.push(text),
            (None, Some(overlay), _) => overlay.paste(text),
            (None, None, Focus::Word) => self.word.paste(text),
            (None, None, Focus::Form) => self.forms.paste(text),
            (None, None, _) => {
                self.focus = Focus::Editor;
                self.editor.paste(text);
                self.complete();
            }
        }
    }

    fn mouse(&mut self, mouse: MouseEvent) {
        if let Some(overlay) = &mut self.overlay {
            match mouse.kind {
                MouseEventKind::ScrollUp => overlay.scroll(false, WHEEL),
                MouseEventKind::ScrollDown => overlay.scroll(true, WHEEL),
                _ => {}
            }
            return;
        }
        match mouse.kind {
            MouseEventKind::ScrollUp => self.canvas.scroll_up(WHEEL),
            MouseEventKind::ScrollDown => self.canvas.scroll_down(WHEEL),
            MouseEventKind::Down(MouseButton::Left) => {
                if let Some(id) = self.canvas.item_at(mouse.row) {
                    self.chosen = Some(id);
                    self.toggle(id);
                }
            }
            _ => {}
        }
    }

    fn key(&mut self, key: KeyEvent, now: Instant) -> Vec<Action> {
        self.flash = None;
        let ctrl = key.modifiers.contains(KeyModifiers::CONTROL);
        match key.code {
            KeyCode::Char('c') if ctrl => return self.ctrl_c(now),
            KeyCode::Char('z') if ctrl => return vec![Action::Suspend],
            KeyCode::Char('l') if ctrl => return vec![Action::Redraw],
            _ => {}
        }
        if self.search.is_some() {
            self.search_key(key);
            return Vec::new();
        }
        if self.overlay.is_some() {
            return self.overlay_key(key);
        }
        if self.focus == Focus::Question && self.questions.moved(key) || self.moved(key) {
            return Vec::new();
        }
        match self.focus {
            Focus::Question => self.question_key(key, now),
            Focus::Form => self.form_key(key, now),
            Focus::Word => {
                self.word_key(key, now);
                Vec::new()
            }
            Focus::Editor => self.editor_key(key),
        }
    }

    /// Handles Ctrl-C: stops the running work; pressed twice, ends the chat.
    fn ctrl_c(&mut self, now: Instant) -> Vec<Action> {
        if self.is_busy()
            && self
                .stopped_at
                .is_none_or(|at| now.duration_since(at) > TWICE)
        {
            self.stopped_at = Some(now);
            return self.stop();
        }
        if !self.editor.is_empty() {
            let text = self.editor.take();
            self.editor.remember(&text);
            self.offer = None;
            return Vec::new();
        }
        let is_second = self
            .stopped_at
            .is_some_and(|at| now.duration_since(at) <= TWICE);
        if is_second {
            return vec![Action::Quit];
        }
        self.stopped_at = Some(now);
        self.flash = Some("Ctrl-C once more leaves.".to_owned());
        Vec::new()
    }

    /// Stops the running work, and moves queued prompts back into the editor,
    /// so that none is sent by accident.
    fn stop(&mut self) -> Vec<Action> {
        self.take_back_queue();
        self.flash = Some(STOPPING.to_owned());
        vec![Action::Stop]
    }

    /// Handles keys that scroll or select, in any state.
    fn moved(&mut self, key: KeyEvent) -> bool {
        let ctrl = key.modifiers.contains(KeyModifiers::CONTROL);
        let alt = key.modifiers.contains(KeyModifiers::ALT);
        let shift = key.modifiers.contains(KeyModifiers::SHIFT);
        let page = self.canvas.page();
        match key.code {
            KeyCode::PageUp => self.canvas.scroll_up(page),
            KeyCode::PageDown => self.canvas.scroll_down(page),
            KeyCode::Up if shift => self.canvas.scroll_up(1),
            KeyCode::Down if shift => self.canvas.scroll_down(1),
            KeyCode::Home if ctrl => self.canvas.scroll_up(usize::MAX),
            KeyCode::End if ctrl => self.canvas.scroll_down(usize::MAX),
            KeyCode::Up if alt => self.choose(false),
            KeyCode::Down if alt => self.choose(true),
            KeyCode::Char('o') if ctrl => {
                if let Some(id) = self.chosen.or_else(|| self.last_that_opens()) {
                    self.toggle(id);
                }
            }
            KeyCode::Char('t') if ctrl => self.toggle_all(),
            KeyCode::Char('f') if ctrl => self.search = Some(Search::default()),
            _ => return false,
        }
        true
    }

    fn ids_that_open(&self) -> Vec<u64> {
        let items = self.conversation.items().iter();
        items
            .filter(|item| opens(item))
            .map(|item| item.id)
            .collect()
    }

    fn last_that_opens(&self) -> Option<u64> {
        self.ids_that_open().last().copied()
    }

    fn choose(&mut self, is_next: bool) {
        let ids = self.ids_that_open();
        let at = self
            .chosen
            .and_then(|id| ids.iter().position(|it| *it == id));
        let next = match (at, is_next) {
            (Some(at), true) => ids.get(at + 1),
            (Some(at), false) => at.checked_sub(1).and_then(|at| ids.get(at)),
            (None, true) => None,
            (None, false) => ids.last(),
        };
        // After the last item, nothing is selected.
        self.chosen = next.copied().or(self.chosen.filter(|_| !is_next));
        if let Some(id) = self.chosen {
            self.canvas.reveal(id, 0);
        }
    }

    fn toggle(&mut self, id: u64) {
        let is_there = self
            .conversation
            .items()
            .iter()
            .any(|item| item.id == id && opens(item));
        if is_there && !self.open.remove(&id) {
            self.open.insert(id);
        }
    }

    fn toggle_all(&mut self) {
        let ids = self.ids_that_open();
        if ids.iter().all(|id| self.open.contains(id)) {
            self.open.clear();
        } else {
            self.open.extend(ids);
        }
    }

    fn question_key(&mut self, key: KeyEvent, now: Instant) -> Vec<Action> {
        match self.questions.key(key, now) {
            KeyEffect::Open => {}
            KeyEffect::Told(told) => self.flash = Some(told.to_owned()),
            KeyEffect::Answered => self.turn_to_question(),
            KeyEffect::Reason => {
                self.word.take();
                self.focus = Focus::Word;
            }
            KeyEffect::Editor(keys) => return self.turn_to_editor(keys),
        }
        Vec::new()
    }

    /// Gives the keys to the editor, these first.
    fn turn_to_editor(&mut self, keys: Vec<KeyEvent>) -> Vec<Action> {
        self.focus = Focus::Editor;
        let keys = keys.into_iter();
        keys.flat_map(|key| self.editor_key(key)).collect()
    }

    fn form_key(&mut self, key: KeyEvent, now: Instant) -> Vec<Action> {
        match self.forms.key(key, now) {
            FormEffect::Open => {}
            FormEffect::Answered => self.turn_to_question(),
            FormEffect::Editor(keys) => return self.turn_to_editor(keys),
        }
        Vec::new()
    }

    fn word_key(&mut self, key: KeyEvent, now: Instant) {
        match key.code {
            KeyCode::Esc => self.focus = Focus::Question,
            KeyCode::Enter => {
                let word = self.word.take();
                self.questions.answer(refused(&word), now);
                self.turn_to_question();
            }
            _ => {
                self.word.key(key);
            }
        }
    }

    fn editor_key(&mut self, key: KeyEvent) -> Vec<Action> {
        if self.offer_key(key) {
            return Vec::new();
        }
        let ctrl = key.modifiers.contains(KeyModifiers::CONTROL);
        let wants_line = key
            .modifiers
            .intersects(KeyModifiers::ALT | KeyModifiers::SHIFT);
        match key.code {
            KeyCode::Enter if !wants_line => return self.enter(),
            KeyCode::Char('d') if ctrl && self.editor.is_empty() => return vec![Action::Quit],
            KeyCode::Char('g') if ctrl => return vec![Action::Compose],
            KeyCode::Esc if self.is_busy() => return self.stop(),
            KeyCode::Esc => self.chosen = None,
            KeyCode::Tab if self.is_asked() => {
                self.focus = self.waiting().unwrap_or(Focus::Editor);
                self.questions.read();
                self.forms.read();
            }
            KeyCode::Tab => self.complete(),
            _ => {
                self.editor.key(key);
                self.complete();
            }
        }
        Vec::new()
    }

    /// Handles keys for the completions.
    fn offer_key(&mut self, key: KeyEvent) -> bool {
        let Some(offer) = &mut self.offer else {
            return false;
        };
        let count = offer.candidates.len();
        match key.code {
            KeyCode::Down => offer.chosen = (offer.chosen + 1) % count.max(1),
            KeyCode::Up => offer.chosen = (offer.chosen + count.saturating_sub(1)) % count.max(1),
            KeyCode::Esc => self.offer = None,
            KeyCode::Tab => self.accept(),
            KeyCode::Enter if !self.is_said_as_it_stands() => self.accept(),
            _ => return false,
        }
        true
    }

    /// Whether the word already equals the selected completion.
    fn is_said_as_it_stands(&self) -> bool {
        let (word, _) = self.editor.word();
        let offer = self.offer.as_ref();
        let chosen = offer.and_then(|offer| offer.candidates.get(offer.chosen));
        chosen.is_none_or(|chosen| chosen.text == word)
    }

    fn accept(&mut self) {
        let Some(offer) = self.offer.take() else {
            return;
        };
        if let Some(chosen) = offer.candidates.get(offer.chosen) {
            // After a folder, completion continues.
            let end = if chosen.text.ends_with('/') { "" } else { " " };
            self.editor.replace_word(&format!("{}{end}", chosen.text));
        }
        self.complete();
    }

    fn complete(&mut self) {
        if self.editor.word().0 == "@" {
            self.files.look();
        }
        self.offer_completions();
    }

    fn offer_completions(&mut self) {
        let (word, is_first) = self.editor.word();
        let candidates = complete::candidates(&word, is_first, &self.files, &self.servers);
        self.offer = (!candidates.is_empty()).then_some(Offer {
            candidates,
            chosen: 0,
        });
    }

    fn enter(&mut self) -> Vec<Action> {
        self.offer = None;
        // A trailing backslash continues the prompt on a new line.
        if let Some(open) = self.editor.text().strip_suffix('\\') {
            self.editor.set(&format!("{open}\n"));
            return Vec::new();
        }
        let text = self.editor.whole();
        if text.trim().is_empty() {
            return Vec::new();
        }
        if let Some(command) = command::read(&text) {
            return match command {
                Ok(command) => {
                    self.remember();
                    vec![Action::Do(command)]
                }
                Err(error) => {
                    self.flash = Some(error);
                    Vec::new()
                }
            };
        }
        if let Some(line) = text.strip_prefix('!') {
            if line.trim().is_empty() {
                self.flash = Some("! runs what stands behind it: !git status".to_owned());
                return Vec::new();
            }
            if self.is_busy() {
                self.flash = Some("Something is still running; Esc stops it.".to_owned());
                return Vec::new();
            }
            let line = line.trim().to_owned();
            self.remember();
            return vec![Action::Run(line)];
        }
        self.remember();
        self.canvas.scroll_down(usize::MAX);
        if self.is_busy() {
            self.queue.push_back(text.trim().to_owned());
            return Vec::new();
        }
        vec![Action::Ask(text.trim().to_owned())]
    }

    fn remember(&mut self) {
        let shown = self.editor.text();
        let whole = self.editor.take();
        // A prompt that is too long to edit is not kept in full.
        let is_short = whole.len() <= MAX_REMEMBERED;
        let kept = if is_short { whole } else { shown };
        self.editor.remember(&kept);
        // As in shells, a space before a text keeps it out of the history.
        if !kept.starts_with(' ') {
            self.to_keep.push(kept);
        }
    }

    /// Puts a text that was written elsewhere into the editor.
    pub(crate) fn composed(&mut self, text: &str) {
        self.editor.take();
        self.editor.set(text);
        self.offer = None;
    }

    /// Moves queued prompts back into the editor.
    pub(crate) fn take_back_queue(&mut self) {
        let mut texts: Vec<String> = self.queue.drain(..).collect();
        if !texts.is_empty() {
            if !self.editor.is_empty() {
                texts.push(self.editor.take());
            }
            self.editor.set(&texts.join("\n"));
        }
    }

    fn overlay_key(&mut self, key: KeyEvent) -> Vec<Action> {
        let page = self.canvas.page();
        let Some(overlay) = &mut self.overlay else {
            return Vec::new();
        };
        match overlay.key(key, page) {
            Said::Nothing => Vec::new(),
            Said::Close => {
                self.overlay = None;
                Vec::new()
            }
            Said::Do(command) => {
                self.overlay = None;
                vec![Action::Do(command)]
            }
        }
    }

    fn search_key(&mut self, key: KeyEvent) {
        let Some(search) = &mut self.search else {
            return;
        };
        match key.code {
            KeyCode::Esc => self.search = None,
            KeyCode::Backspace => search.pop(),
            KeyCode::Char(c) if !key.modifiers.contains(KeyModifiers::CONTROL) => {
                search.push(c.encode_utf8(&mut [0; 4]));
            }
            KeyCode::Down => search.step(false),
            KeyCode::Enter | KeyCode::Up | KeyCode::Char('f') => search.step(true),
            _ => {}
        }
        if let Some(search) = &mut self.search {
            search.look(&self.canvas);
            if let Some((id, line)) = search.found() {
                self.canvas.reveal(id, line);
            }
        }
    }

    /// The call of this number, counted from one; by default the selected or
    /// the last one.
    pub(crate) fn call(&self, number: Option<usize>) -> Option<&CallView> {
        if number.is_some() {
            return orders::call(&self.conversation, number);
        }
        let mut items = self.conversation.items().iter();
        let chosen = items.find_map(|item| match &item.kind {
            ItemKind::Call(call) if Some(item.id) == self.chosen => Some(&**call),
            _ => None,
        });
        chosen.or_else(|| orders::call(&self.conversation, None))
    }
}

/// Whether an item can be expanded.
pub(crate) fn opens(item: &Item) -> bool {
    matches!(item.kind, ItemKind::Call(_) | ItemKind::Thought(_))
}

/// Whether an item is a call that the user ran; those are shown expanded.
fn is_by_hand(item: &Item) -> bool {
    matches!(&item.kind, ItemKind::Call(call) if call.by_hand)
}
