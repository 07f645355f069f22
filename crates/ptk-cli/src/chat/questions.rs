//! The questions that wait for an answer, and how keys answer the first of them,
//! which is open.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use ptk::tools::Decision;

use super::text::Lines;
use crate::ask::PendingApproval;
use crate::question::{Question, refused};

/// How long a question must be visible before a key can answer it.
const UNREAD: Duration = Duration::from_millis(600);
/// How long a letter that chooses an answer waits before it counts: a user who
/// is typing a text has pressed the next key by then.
const SETTLING: Duration = Duration::from_millis(250);
/// How many lines a page of a question scrolls.
const PAGE: usize = 8;

/// An answer to a question.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Answer {
    Once,
    Session,
    /// This edit, and all others of this session.
    Edits,
    Always,
    No,
    /// No, with a message to the model.
    Because,
}

impl Answer {
    /// The possible answers to a question.
    pub(crate) fn to(question: &Question) -> Vec<Self> {
        let mut answers = vec![Self::Once];
        if question.has_session() {
            answers.push(Self::Session);
        }
        if question.is_edit {
            answers.push(Self::Edits);
        }
        if question.has_always() {
            answers.push(Self::Always);
        }
        answers.extend([Self::No, Self::Because]);
        answers
    }

    pub(crate) fn letter(self) -> char {
        match self {
            Self::Once => 'y',
            Self::Session => 's',
            Self::Edits => 'e',
            Self::Always => 'a',
            Self::No => 'n',
            Self::Because => 'w',
        }
    }

    fn decision(self) -> Decision {
        match self {
            Self::Once => Decision::Allow,
            Self::Session => Decision::AllowForSession,
            Self::Edits => Decision::AllowEdits,
            Self::Always => Decision::AllowAlways,
            Self::No | Self::Because => refused(""),
        }
    }
}

/// The effect of a key on the open question.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum KeyEffect {
    /// The question stays open.
    Open,
    /// The question stays open, and the user is told why.
    Told(&'static str),
    /// The question was answered.
    Answered,
    /// The answer is no, and the user types the reason next.
    Reason,
    /// The editor gets the keys from now on, and these first.
    Editor(Vec<KeyEvent>),
}

/// The questions that wait for an answer.
#[derive(Debug, Default)]
pub(crate) struct Questions {
    waiting: VecDeque<PendingApproval>,
    /// When the open question first became visible.
    seen_at: Option<Instant>,
    /// Whether the user has switched to it with Tab.
    is_read: bool,
    /// When a question was answered last.
    answered_at: Option<Instant>,
    /// The answer that is selected, but not given yet.
    picked: Option<Answer>,
    /// When a letter selected it. It is given once it is settled.
    picked_at: Option<Instant>,
    /// The body of the open question in lines of a width.
    pub(crate) body: Option<(usize, Lines)>,
    /// Whether some of the body is visible.
    pub(crate) is_seen: bool,
    /// The first visible line of the body.
    pub(crate) top: usize,
}

impl Questions {
    pub(crate) fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    pub(crate) fn len(&self) -> usize {
        self.waiting.len()
    }

    /// The open question.
    pub(crate) fn first(&self) -> Option<&Question> {
        self.waiting.front().map(|asked| &asked.question)
    }

    /// The answer that is selected, but not given yet.
    pub(crate) fn picked(&self) -> Option<Answer> {
        self.picked
    }

    /// Adds a question. Returns whether it is open now.
    pub(crate) fn push(&mut self, asked: PendingApproval) -> bool {
        self.waiting.push_back(asked);
        let is_first = self.waiting.len() == 1;
        if is_first {
            self.open();
        }
        is_first
    }

    /// Removes questions whose caller is gone. Returns whether one was removed,
    /// and whether it was the open one.
    pub(crate) fn forget_gone(&mut self) -> (bool, bool) {
        let before = self.waiting.len();
        let is_first = self.waiting.front().is_some_and(PendingApproval::is_gone);
        self.waiting.retain(|asked| !asked.is_gone());
        if is_first {
            self.open();
        }
        (before != self.waiting.len(), is_first)
    }

    fn open(&mut self) {
        self.seen_at = None;
        self.is_read = false;
        self.body = None;
        self.is_seen = false;
        self.top = 0;
        self.unpick();
    }

    /// Records that the open question has been drawn, and whether the user could
    /// see it.
    pub(crate) fn drawn(&mut self, is_visible: bool, now: Instant) {
        let is_seen = self.is_seen && is_visible;
        self.seen_at = self.seen_at.or(Some(now)).filter(|_| is_seen);
    }

    /// Records that the user has read the open question.
    pub(crate) fn read(&mut self) {
        self.is_read = true;
    }

    /// Whether the user can have read the open question. Keys typed before that
    /// do not answer it.
    fn is_read(&self, now: Instant) -> bool {
        let is_read = |at: Instant| self.is_read || now.duration_since(at) >= UNREAD;
        self.seen_at.is_some_and(is_read)
    }

    /// Gives the answer that a letter has selected, unless more was typed since.
    /// Returns whether it did.
    pub(crate) fn settle(&mut self, now: Instant) -> bool {
        let is_settled = |at: Instant| now.duration_since(at) >= SETTLING;
        match self.picked {
            Some(picked) if self.picked_at.is_some_and(is_settled) => {
                self.answer(picked.decision(), now);
                true
            }
            _ => false,
        }
    }

    fn unpick(&mut self) {
        self.picked = None;
        self.picked_at = None;
    }

    /// Answers the open question.
    pub(crate) fn answer(&mut self, decision: Decision, now: Instant) {
        if let Some(asked) = self.waiting.pop_front() {
            asked.answer(decision);
        }
        self.answered_at = Some(now);
        self.open();
    }

    /// Handles keys that scroll the open question. Returns whether this was one.
    pub(crate) fn moved(&mut self, key: KeyEvent) -> bool {
        if !key.modifiers.is_empty() {
            return false;
        }
        match key.code {
            KeyCode::Up => self.top = self.top.saturating_sub(1),
            KeyCode::Down => self.top += 1,
            KeyCode::PageUp => self.top = self.top.saturating_sub(PAGE),
            KeyCode::PageDown => self.top += PAGE,
            KeyCode::Home => self.top = 0,
            KeyCode::End => self.top = usize::MAX / 2,
            _ => return false,
        }
        true
    }

    /// Handles a key while the open question has the keys.
    pub(crate) fn key(&mut self, key: KeyEvent, now: Instant) -> KeyEffect {
        let Some(question) = self.first() else {
            return KeyEffect::Editor(vec![key]);
        };
        let answers = Answer::to(question);
        let is_word = matches!(key.code, KeyCode::Char(_) | KeyCode::Enter);
        if is_word && !self.is_read(now) {
            return self.unread_key(key, now);
        }
        let is_plain = key.modifiers.difference(KeyModifiers::SHIFT).is_empty();
        if is_word && !is_plain {
            return KeyEffect::Open;
        }
        match key.code {
            KeyCode::Enter => match self.picked {
                Some(Answer::Because) => KeyEffect::Reason,
                Some(picked) => {
                    self.answer(picked.decision(), now);
                    KeyEffect::Answered
                }
                None => KeyEffect::Told("Press one of the letters."),
            },
            KeyCode::Right => self.pick_next(&answers, 1),
            KeyCode::Left => self.pick_next(&answers, answers.len().saturating_sub(1)),
            KeyCode::Tab | KeyCode::Esc => {
                self.unpick();
                KeyEffect::Editor(Vec::new())
            }
            KeyCode::Char(c) => self.letter(c, key, &answers, now),
            _ => KeyEffect::Open,
        }
    }

    /// Selects the answer that stands so many places after the selected one.
    fn pick_next(&mut self, answers: &[Answer], places: usize) -> KeyEffect {
        let at = answers.iter().position(|it| Some(*it) == self.picked);
        let next = at.map_or(0, |at| (at + places) % answers.len());
        self.unpick();
        self.picked = answers.get(next).copied();
        KeyEffect::Open
    }

    /// Handles a key that came before the user can have read the question: it
    /// is for the editor, or for the previous question.
    fn unread_key(&self, key: KeyEvent, now: Instant) -> KeyEffect {
        if !self.is_seen {
            return KeyEffect::Told("What is asked cannot be seen here; make the window larger.");
        }
        let is_late = |at: Instant| now.duration_since(at) < UNREAD;
        if self.answered_at.is_some_and(is_late) || key.code == KeyCode::Enter {
            return KeyEffect::Told("That is another question.");
        }
        KeyEffect::Editor(vec![key])
    }

    /// Selects an answer by its letter. If the user types on, it is text for
    /// the editor.
    fn letter(&mut self, c: char, key: KeyEvent, answers: &[Answer], now: Instant) -> KeyEffect {
        let meant = answers
            .iter()
            .find(|it| it.letter() == c.to_ascii_lowercase());
        let typed = self.picked.filter(|_| self.picked_at.is_some());
        self.unpick();
        match (meant, typed) {
            (Some(Answer::Because), None) => KeyEffect::Reason,
            (Some(meant), None) => {
                self.picked = Some(*meant);
                self.picked_at = Some(now);
                KeyEffect::Open
            }
            (_, typed) => {
                let letter = |typed: Answer| KeyCode::Char(typed.letter());
                let typed = typed.map(|it| KeyEvent::new(letter(it), KeyModifiers::NONE));
                KeyEffect::Editor(typed.into_iter().chain([key]).collect())
            }
        }
    }
}
