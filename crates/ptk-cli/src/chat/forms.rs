//! The forms that wait to be filled in, and how keys fill in the first of them,
//! which is open.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use ptk::tools::form::{Field, FieldKind, Form, FormAnswer};
use serde_json::Map;

use super::editor::Editor;
use crate::ask::PendingForm;
use crate::view::clean::in_line;

/// How long a form must be visible before a key can change it.
const UNREAD: Duration = Duration::from_millis(600);

/// The effect of a key on the open form.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum FormEffect {
    /// The form stays open.
    Open,
    /// The form was sent or declined.
    Answered,
    /// The editor gets the keys from now on, and these first.
    Editor(Vec<KeyEvent>),
}

/// The forms that wait to be filled in.
#[derive(Debug, Default)]
pub(crate) struct Forms {
    waiting: VecDeque<PendingForm>,
    /// What is typed into each field of the open form.
    typed: Vec<Editor>,
    /// The field that gets the keys; behind the last one, the buttons.
    at: usize,
    /// Whether the button for declining is chosen.
    is_declining: bool,
    /// What is wrong with the field that gets the keys.
    error: Option<String>,
    /// When the open form first became visible.
    seen_at: Option<Instant>,
    /// Whether the user has switched to it with Tab.
    is_read: bool,
    /// Whether it was drawn.
    pub(crate) is_seen: bool,
}

impl Forms {
    pub(crate) fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    pub(crate) fn len(&self) -> usize {
        self.waiting.len()
    }

    /// The open form.
    pub(crate) fn first(&self) -> Option<&Form> {
        self.waiting.front().map(|asked| &asked.question)
    }

    /// What is typed into the fields.
    pub(crate) fn typed(&self) -> &[Editor] {
        &self.typed
    }

    /// The field that gets the keys; behind the last one, the buttons.
    pub(crate) fn at(&self) -> usize {
        self.at
    }

    pub(crate) fn is_declining(&self) -> bool {
        self.is_declining
    }

    pub(crate) fn error(&self) -> Option<&str> {
        self.error.as_deref()
    }

    /// Adds a form. Returns whether it is open now.
    pub(crate) fn push(&mut self, asked: PendingForm) -> bool {
        self.waiting.push_back(asked);
        let is_first = self.waiting.len() == 1;
        if is_first {
            self.open();
        }
        is_first
    }

    /// Removes forms whose caller is gone. Returns whether one was removed, and
    /// whether it was the open one.
    pub(crate) fn forget_gone(&mut self) -> (bool, bool) {
        let before = self.waiting.len();
        let is_first = self.waiting.front().is_some_and(PendingForm::is_gone);
        self.waiting.retain(|asked| !asked.is_gone());
        if is_first {
            self.open();
        }
        (before != self.waiting.len(), is_first)
    }

    fn open(&mut self) {
        let fields = self.first().map_or(&[][..], |form| &form.fields);
        let typed = fields.iter().map(|field| {
            let mut editor = Editor::with_hint(&in_line(&field.wanted()));
            if let Some(default) = &field.default {
                editor.set(&in_line(&field.typed(default)));
            }
            editor
        });
        self.typed = typed.collect();
        self.at = 0;
        self.is_declining = false;
        self.error = None;
        self.seen_at = None;
        self.is_read = false;
        self.is_seen = false;
    }

    /// Records that the open form has been drawn, and whether the user could see
    /// it.
    pub(crate) fn drawn(&mut self, is_visible: bool, now: Instant) {
        let is_seen = self.is_seen && is_visible;
        self.seen_at = self.seen_at.or(Some(now)).filter(|_| is_seen);
    }

    /// Records that the user has read the open form.
    pub(crate) fn read(&mut self) {
        self.is_read = true;
    }

    /// Whether the user can have read the open form. Keys typed before that are
    /// for the editor.
    fn is_read(&self, now: Instant) -> bool {
        let is_read = |at: Instant| self.is_read || now.duration_since(at) >= UNREAD;
        self.seen_at.is_some_and(is_read)
    }

    fn answer(&mut self, answer: FormAnswer) -> FormEffect {
        if let Some(asked) = self.waiting.pop_front() {
            asked.answer(answer);
        }
        self.open();
        FormEffect::Answered
    }

    /// Puts a text into the field that gets the keys.
    pub(crate) fn paste(&mut self, text: &str) {
        if let Some(editor) = self.typed.get_mut(self.at) {
            editor.paste(text.lines().next().unwrap_or_default());
        }
    }

    /// Handles a key while the open form has the keys.
    pub(crate) fn key(&mut self, key: KeyEvent, now: Instant) -> FormEffect {
        let Some(form) = self.first() else {
            return FormEffect::Editor(vec![key]);
        };
        let field = form.fields.get(self.at).cloned();
        let count = form.fields.len();
        let is_word = matches!(key.code, KeyCode::Char(_) | KeyCode::Enter);
        if is_word && !self.is_read(now) {
            return match key.code {
                KeyCode::Enter => FormEffect::Open,
                _ => FormEffect::Editor(vec![key]),
            };
        }
        match key.code {
            KeyCode::Esc => return FormEffect::Editor(Vec::new()),
            KeyCode::Up | KeyCode::BackTab => self.go_to(self.at.saturating_sub(1)),
            KeyCode::Down | KeyCode::Tab => self.go_to((self.at + 1).min(count)),
            KeyCode::Enter => return self.enter(field.as_ref()),
            KeyCode::Left | KeyCode::Right if field.is_none() => {
                self.is_declining = !self.is_declining;
            }
            _ => {
                if let Some(field) = field {
                    self.change(&field, key);
                }
            }
        }
        FormEffect::Open
    }

    fn go_to(&mut self, at: usize) {
        self.at = at;
        self.error = None;
    }

    /// Goes on to the next field if this one fits, and at the end sends all.
    fn enter(&mut self, field: Option<&Field>) -> FormEffect {
        match field {
            Some(field) => {
                let typed = self.typed.get(self.at).map(Editor::whole);
                match field.read(&typed.unwrap_or_default()) {
                    Ok(_) => self.go_to(self.at + 1),
                    Err(error) => self.error = Some(error),
                }
                FormEffect::Open
            }
            None if self.is_declining => self.answer(FormAnswer::Declined),
            None => self.send(),
        }
    }

    /// Sends the values, unless one does not fit.
    fn send(&mut self) -> FormEffect {
        let fields = self.first().map_or(&[][..], |form| &form.fields);
        let mut values = Map::new();
        let mut wrong = None;
        for (at, (field, editor)) in fields.iter().zip(&self.typed).enumerate() {
            match field.read(&editor.whole()) {
                Ok(Some(value)) => {
                    values.insert(field.name.clone(), value);
                }
                Ok(None) => {}
                Err(error) => {
                    wrong = Some((at, error));
                    break;
                }
            }
        }
        if let Some((at, error)) = wrong {
            self.go_to(at);
            self.error = Some(error);
            return FormEffect::Open;
        }
        self.answer(FormAnswer::Filled(values))
    }

    /// Changes the value of a field by a key.
    fn change(&mut self, field: &Field, key: KeyEvent) {
        let Some(editor) = self.typed.get_mut(self.at) else {
            return;
        };
        self.error = None;
        let labels: Vec<&str> = match &field.kind {
            FieldKind::OneOf(choices) => choices.iter().map(|it| it.label.as_str()).collect(),
            FieldKind::YesNo => vec!["yes", "no"],
            _ => Vec::new(),
        };
        let step = match key.code {
            KeyCode::Right | KeyCode::Char(' ') => 1,
            KeyCode::Left => labels.len().saturating_sub(1),
            _ => 0,
        };
        // A value that is typed has spaces of its own.
        let is_typed = key.code == KeyCode::Char(' ')
            && !editor.is_empty()
            && !labels.contains(&editor.text().as_str());
        if step > 0 && !labels.is_empty() && !is_typed {
            let text = editor.text();
            let at = labels.iter().position(|label| *label == text);
            let next = at.map_or(0, |at| (at + step) % labels.len());
            editor.set(&in_line(labels.get(next).copied().unwrap_or_default()));
            return;
        }
        let is_line = key.code == KeyCode::Char('j');
        if !(is_line && key.modifiers.contains(KeyModifiers::CONTROL)) {
            editor.key(key);
        }
    }
}
