//! Overlays of the conversation: a text to read, or a list to choose from.

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

use super::command::ChatCommand;
use super::text::Lines;

/// An overlay of the conversation.
#[derive(Debug)]
pub(crate) enum Overlay {
    Page(Page),
    List(List),
}

/// A text to read.
#[derive(Debug)]
pub(crate) struct Page {
    pub(crate) title: String,
    /// The text as Markdown.
    pub(crate) text: String,
    pub(crate) top: usize,
    /// The text in lines of a width.
    pub(crate) lines: Option<(u16, Lines)>,
}

/// A list to choose from.
#[derive(Debug)]
pub(crate) struct List {
    pub(crate) title: String,
    entries: Vec<Entry>,
    /// The text that filters the list.
    pub(crate) filter: String,
    pub(crate) chosen: usize,
}

/// An entry of a list.
#[derive(Debug, Clone)]
pub(crate) struct Entry {
    pub(crate) name: String,
    pub(crate) about: String,
    /// The command to run if it is chosen.
    pub(crate) command: ChatCommand,
}

/// The reaction to a key.
#[derive(Debug)]
pub(crate) enum Said {
    Nothing,
    Close,
    Do(ChatCommand),
}

impl Overlay {
    pub(crate) fn page(title: impl Into<String>, text: impl Into<String>) -> Self {
        Self::Page(Page {
            title: title.into(),
            text: text.into(),
            top: 0,
            lines: None,
        })
    }

    pub(crate) fn list(title: impl Into<String>, entries: Vec<Entry>) -> Self {
        Self::List(List {
            title: title.into(),
            entries,
            filter: String::new(),
            chosen: 0,
        })
    }

    pub(crate) fn paste(&mut self, text: &str) {
        if let Self::List(list) = self {
            list.filter.push_str(text.trim());
            list.chosen = 0;
        }
    }

    pub(crate) fn scroll(&mut self, is_down: bool, lines: usize) {
        let at = match self {
            Self::Page(page) => &mut page.top,
            Self::List(list) => &mut list.chosen,
        };
        *at = if is_down {
            at.saturating_add(lines)
        } else {
            at.saturating_sub(lines)
        };
    }

    pub(crate) fn key(&mut self, key: KeyEvent, page: usize) -> Said {
        match self {
            Self::Page(it) => it.key(key, page),
            Self::List(it) => it.key(key),
        }
    }
}

impl Page {
    fn key(&mut self, key: KeyEvent, page: usize) -> Said {
        match key.code {
            KeyCode::Up => self.top = self.top.saturating_sub(1),
            KeyCode::Down => self.top = self.top.saturating_add(1),
            KeyCode::PageUp => self.top = self.top.saturating_sub(page),
            KeyCode::PageDown | KeyCode::Char(' ') => self.top = self.top.saturating_add(page),
            KeyCode::Home => self.top = 0,
            KeyCode::End => self.top = usize::MAX / 2,
            _ => return Said::Close,
        }
        Said::Nothing
    }
}

impl List {
    /// The entries that match the filter.
    pub(crate) fn entries(&self) -> Vec<&Entry> {
        let words: Vec<String> = self
            .filter
            .split_whitespace()
            .map(str::to_lowercase)
            .collect();
        let fits = |entry: &&Entry| {
            let text = format!("{} {}", entry.name, entry.about).to_lowercase();
            words.iter().all(|word| text.contains(word))
        };
        self.entries.iter().filter(fits).collect()
    }

    fn key(&mut self, key: KeyEvent) -> Said {
        let count = self.entries().len();
        match key.code {
            KeyCode::Esc => return Said::Close,
            KeyCode::Enter => {
                let chosen = self.entries().get(self.chosen).map(|it| it.command.clone());
                return chosen.map_or(Said::Nothing, Said::Do);
            }
            KeyCode::Up => self.chosen = self.chosen.saturating_sub(1),
            KeyCode::Down => self.chosen = (self.chosen + 1).min(count.saturating_sub(1)),
            KeyCode::Backspace => {
                self.filter.pop();
                self.chosen = 0;
            }
            KeyCode::Char(c) if !key.modifiers.contains(KeyModifiers::CONTROL) => {
                self.filter.push(c);
                self.chosen = 0;
            }
            _ => {}
        }
        Said::Nothing
    }
}
