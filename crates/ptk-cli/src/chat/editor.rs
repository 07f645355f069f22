//! The prompt editor: several lines, with a history.

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use ratatui::style::Style;
use ratatui_textarea::{CursorMove, TextArea, WrapMode};
use unicode_segmentation::UnicodeSegmentation as _;

use super::text::{style, wrap};

/// The placeholder of an empty editor.
const HINT: &str = "Ask something. /help tells what else there is.";
/// A paste with more lines, or more characters, is shown as a placeholder.
const MAX_LINES: usize = 12;
const MAX_CHARACTERS: usize = 1500;
/// The most entries of the history.
const MAX_HISTORY: usize = 500;

/// The prompt editor.
#[derive(Debug)]
pub(crate) struct Editor {
    area: TextArea<'static>,
    history: Vec<String>,
    /// The position in the history, if one of its texts is shown.
    at: Option<usize>,
    /// The text that was being written before the history was browsed.
    draft: String,
    /// The pasted texts, under their placeholders.
    pastes: Vec<(String, String)>,
    /// What is shown while there is no text.
    hint: String,
}

impl Default for Editor {
    fn default() -> Self {
        Self::with_hint(HINT)
    }
}

fn area(text: &str, hint: &str) -> TextArea<'static> {
    let lines = text.split('\n').map(str::to_owned).collect();
    let mut area = TextArea::new(lines);
    area.set_wrap_mode(WrapMode::WordOrGlyph);
    area.set_cursor_line_style(Style::new());
    // The terminal's own cursor is used, because input methods look for it.
    area.set_cursor_style(Style::new());
    area.set_placeholder_text(hint);
    area.set_placeholder_style(style::FAINT);
    area.set_tab_length(4);
    area.move_cursor(CursorMove::Bottom);
    area.move_cursor(CursorMove::End);
    area
}

impl Editor {
    /// An empty editor, with a text that is shown while it is.
    pub(crate) fn with_hint(hint: &str) -> Self {
        Self {
            area: area("", hint),
            history: Vec::new(),
            at: None,
            draft: String::new(),
            pastes: Vec::new(),
            hint: hint.to_owned(),
        }
    }

    pub(crate) fn area(&self) -> &TextArea<'static> {
        &self.area
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.area.is_empty()
    }

    /// The text as it is shown, with placeholders.
    pub(crate) fn text(&self) -> String {
        self.area.lines().join("\n")
    }

    /// The text with all pastes in full.
    pub(crate) fn whole(&self) -> String {
        let text = self.text();
        let mut whole = String::new();
        let mut rest = text.as_str();
        // A placeholder inside a pasted text is not replaced.
        while let Some((at, short, pasted)) = self.first_paste(rest) {
            whole.push_str(rest.get(..at).unwrap_or_default());
            whole.push_str(pasted);
            rest = rest.get(at + short.len()..).unwrap_or_default();
        }
        whole.push_str(rest);
        whole
    }

    /// The first placeholder in a text.
    fn first_paste(&self, text: &str) -> Option<(usize, &str, &str)> {
        let pastes = self.pastes.iter();
        let found = pastes.filter_map(|(short, pasted)| {
            let at = text.find(short.as_str())?;
            Some((at, short.as_str(), pasted.as_str()))
        });
        found.min_by_key(|(at, ..)| *at)
    }

    /// Replaces the text.
    pub(crate) fn set(&mut self, text: &str) {
        self.area = area(text, &self.hint);
    }

    /// Takes the text, and clears the editor.
    pub(crate) fn take(&mut self) -> String {
        let text = self.whole();
        self.set("");
        self.pastes.clear();
        self.at = None;
        text
    }

    /// Adds a text to the history.
    pub(crate) fn remember(&mut self, text: &str) {
        if text.trim().is_empty() || self.history.last().is_some_and(|last| last == text) {
            return;
        }
        self.history.push(text.to_owned());
        let excess = self.history.len().saturating_sub(MAX_HISTORY);
        self.history.drain(..excess);
    }

    /// The number of rows at this width, counted up to about `most`.
    pub(crate) fn rows(&self, width: usize, most: usize) -> usize {
        let mut rows = 0;
        for line in self.area.lines() {
            // A long line takes all of them.
            let is_long = line.len() > width.saturating_mul(most).saturating_mul(4);
            // The cursor may be after the last character.
            let spans = [ratatui::text::Span::raw(line.as_str()), " ".into()];
            rows += if is_long {
                most
            } else {
                wrap::wrapped(&spans, width, &[], &[]).len()
            };
            if rows >= most {
                break;
            }
        }
        rows
    }

    /// Handles a key; returns whether the editor uses it.
    pub(crate) fn key(&mut self, key: KeyEvent) -> bool {
        let has = |modifier| key.modifiers.contains(modifier);
        let is_plain = key.modifiers.difference(KeyModifiers::SHIFT).is_empty();
        match key.code {
            KeyCode::Enter => self.area.insert_newline(),
            KeyCode::Char('j') if has(KeyModifiers::CONTROL) => self.area.insert_newline(),
            KeyCode::Char('u') if has(KeyModifiers::CONTROL) => {
                self.area.delete_line_by_head();
            }
            KeyCode::Char('z') if has(KeyModifiers::ALT) => {
                self.area.undo();
            }
            KeyCode::Up if is_plain && self.is_in_first_line() => return self.older(),
            KeyCode::Down if is_plain && self.is_in_last_line() => return self.newer(),
            KeyCode::Char(c) if is_plain => self.area.insert_char(c),
            _ => return self.area.input(key),
        }
        true
    }

    fn is_in_first_line(&self) -> bool {
        self.area.cursor().0 == 0
    }

    fn is_in_last_line(&self) -> bool {
        self.area.cursor().0 + 1 == self.area.lines().len()
    }

    fn older(&mut self) -> bool {
        let at = match self.at {
            Some(0) => return true,
            Some(at) => at - 1,
            None if self.history.is_empty() => return true,
            None => {
                self.draft = self.text();
                self.history.len() - 1
            }
        };
        self.show(at)
    }

    fn newer(&mut self) -> bool {
        match self.at {
            Some(at) if at + 1 < self.history.len() => self.show(at + 1),
            Some(_) => {
                self.at = None;
                let draft = std::mem::take(&mut self.draft);
                self.set(&draft);
                true
            }
            None => true,
        }
    }

    fn show(&mut self, at: usize) -> bool {
        if let Some(text) = self.history.get(at).cloned() {
            self.at = Some(at);
            self.set(&text);
        }
        true
    }

    /// Pastes a text. A long one is shown as a placeholder, and sent in full.
    pub(crate) fn paste(&mut self, text: &str) {
        let text = text.replace("\r\n", "\n").replace('\r', "\n");
        let lines = text.lines().count();
        if lines <= MAX_LINES && text.chars().count() <= MAX_CHARACTERS {
            self.area.insert_str(&text);
            return;
        }
        let number = self.pastes.len() + 1;
        let lines = if lines == 1 {
            format!("{} characters", text.graphemes(true).count())
        } else {
            format!("{lines} lines")
        };
        let short = format!("[paste {number}: {lines}]");
        self.area.insert_str(&short);
        self.pastes.push((short, text));
    }

    /// The word before the cursor, and whether it is the first.
    pub(crate) fn word(&self) -> (String, bool) {
        let at = self.area.cursor();
        let line = self.area.lines().get(at.0);
        let before: String = line.map_or("", String::as_str).chars().take(at.1).collect();
        let blank = before.char_indices().rfind(|(_, c)| c.is_whitespace());
        let start = blank.map_or(0, |(at, c)| at + c.len_utf8());
        let word = before.get(start..).unwrap_or_default().to_owned();
        (word, at.0 == 0 && start == 0)
    }

    /// Replaces the word before the cursor.
    pub(crate) fn replace_word(&mut self, with: &str) {
        let (word, _) = self.word();
        for _ in word.chars() {
            self.area.delete_char();
        }
        self.area.insert_str(with);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn press(editor: &mut Editor, code: KeyCode) {
        editor.key(KeyEvent::new(code, KeyModifiers::NONE));
    }

    fn typed(editor: &mut Editor, text: &str) {
        for c in text.chars() {
            press(editor, KeyCode::Char(c));
        }
    }

    #[test]
    fn composed_and_wide_characters_are_kept() {
        let mut editor = Editor::default();
        typed(&mut editor, "Đọc tệp 日本語 👨‍👩‍👧 e\u{302}\u{301}");
        assert_eq!(editor.text(), "Đọc tệp 日本語 👨‍👩‍👧 e\u{302}\u{301}");
        // Input methods replace the characters they have typed.
        typed(&mut editor, "tieng");
        for _ in 0..3 {
            press(&mut editor, KeyCode::Backspace);
        }
        typed(&mut editor, "ếng");
        assert!(editor.text().ends_with("tiếng"));
    }

    #[test]
    fn older_texts_come_back_and_the_draft_is_not_lost() {
        let mut editor = Editor::default();
        editor.remember("first");
        editor.remember("second\nof two lines");
        editor.remember("second\nof two lines");
        typed(&mut editor, "draft");
        press(&mut editor, KeyCode::Up);
        assert_eq!(editor.text(), "second\nof two lines");
        press(&mut editor, KeyCode::Up);
        press(&mut editor, KeyCode::Up);
        assert_eq!(editor.text(), "first");
        press(&mut editor, KeyCode::Up);
        assert_eq!(editor.text(), "first");
        press(&mut editor, KeyCode::Down);
        press(&mut editor, KeyCode::Down);
        assert_eq!(editor.text(), "draft");
    }

    #[test]
    fn a_long_paste_is_short_and_sent_in_full() {
        let mut editor = Editor::default();
        let long = "line\r\n".repeat(100);
        typed(&mut editor, "See ");
        editor.paste(&long);
        editor.paste(" and");
        editor.paste(&"x".repeat(2000));
        assert_eq!(
            editor.text(),
            "See [paste 1: 100 lines] and[paste 2: 2000 characters]"
        );
        let whole = editor.take();
        assert_eq!(
            whole,
            format!("See {} and{}", "line\n".repeat(100), "x".repeat(2000))
        );
        assert!(editor.is_empty());
        // A placeholder inside a pasted text is not replaced.
        let first = format!("{}[paste 2: 30 lines]", "a\n".repeat(20));
        editor.paste(&first);
        editor.paste(&"b\n".repeat(30));
        assert_eq!(editor.take(), format!("{first}{}", "b\n".repeat(30)));
    }

    #[test]
    fn the_word_at_the_cursor_can_be_replaced() {
        let mut editor = Editor::default();
        typed(&mut editor, "Đọc @src/ma");
        assert_eq!(editor.word(), ("@src/ma".to_owned(), false));
        editor.replace_word("@src/main.rs ");
        assert_eq!(editor.text(), "Đọc @src/main.rs ");
        editor.set("/he");
        assert_eq!(editor.word(), ("/he".to_owned(), true));
    }
}
