//! The search in the conversation.

use super::draw::Canvas;

/// A search in progress.
#[derive(Debug, Default)]
pub(crate) struct Search {
    pub(crate) words: String,
    /// The matching lines: the item, and the number of the line in it.
    hits: Vec<(u64, usize)>,
    at: usize,
}

impl Search {
    pub(crate) fn push(&mut self, text: &str) {
        self.words.push_str(text);
        self.at = usize::MAX;
    }

    pub(crate) fn pop(&mut self) {
        self.words.pop();
        self.at = usize::MAX;
    }

    /// Finds the matching lines in the current layout.
    pub(crate) fn look(&mut self, canvas: &Canvas) {
        self.hits = if self.words.is_empty() {
            Vec::new()
        } else {
            canvas.lines_with(&self.words.to_lowercase())
        };
        // The newest match comes first.
        self.at = self.at.min(self.hits.len().saturating_sub(1));
    }

    pub(crate) fn step(&mut self, is_older: bool) {
        let count = self.hits.len().max(1);
        self.at = if is_older {
            (self.at + count - 1) % count
        } else {
            (self.at + 1) % count
        };
    }

    pub(crate) fn found(&self) -> Option<(u64, usize)> {
        self.hits.get(self.at).copied()
    }

    /// The number of matches, and which one is shown.
    pub(crate) fn told(&self) -> String {
        match self.hits.len() {
            0 if self.words.is_empty() => String::new(),
            0 => "not found".to_owned(),
            count => format!("{} of {count}", self.at + 1),
        }
    }
}
