//! The output, copied from the input in runs as long as possible.

use crate::ProblemCode;

use super::undoubled::Backslashes;
use super::{Fix, MAX_FIXES};

const BLANK: [char; 4] = [' ', '\t', '\r', '\n'];

/// Writes the output. Everything before `copied` in the input has been
/// processed; the rest is copied when something has to be changed, or at the
/// end.
pub(super) struct RepairWriter<'a> {
    text: &'a str,
    copied: usize,
    out: String,
    fixes: Vec<Fix>,
    /// Whether escapes are what JSON says, because the input is valid as far as
    /// it goes.
    pub(super) trusts_escapes: bool,
}

impl<'a> RepairWriter<'a> {
    pub(super) fn new(text: &'a str) -> Self {
        Self {
            text,
            copied: 0,
            out: String::with_capacity(text.len() + 16),
            fixes: Vec::new(),
            trusts_escapes: false,
        }
    }

    /// What the backslashes of a string say about each other.
    pub(super) fn backslashes(&self, content: &str) -> Backslashes {
        if self.trusts_escapes {
            Backslashes::default()
        } else {
            Backslashes::of(content)
        }
    }

    pub(super) fn note(&mut self, code: ProblemCode, at: usize) {
        if self.fixes.len() < MAX_FIXES {
            self.fixes.push(Fix { code, at });
        }
    }

    pub(super) fn is_untouched(&self) -> bool {
        self.fixes.is_empty()
    }

    /// Copies the input up to `to`.
    pub(super) fn copy_to(&mut self, to: usize) {
        if let Some(run) = self.text.get(self.copied..to) {
            self.out.push_str(run);
            self.copied = to;
        }
    }

    /// Skips the input from `from` to `to`.
    pub(super) fn skip(&mut self, from: usize, to: usize) {
        self.copy_to(from);
        self.copied = self.copied.max(to);
    }

    /// Writes `new` in place of the input from `from` to `to`.
    pub(super) fn replace(&mut self, from: usize, to: usize, new: &str) {
        self.skip(from, to);
        self.out.push_str(new);
    }

    /// Writes `new` at the place of the input's `at`.
    pub(super) fn insert(&mut self, at: usize, new: &str) {
        self.replace(at, at, new);
    }

    pub(super) fn push(&mut self, character: char) {
        self.out.push(character);
    }

    /// Where in the output the input's `at` will stand.
    pub(super) fn position(&self, at: usize) -> usize {
        self.out.len() + at.saturating_sub(self.copied)
    }

    /// Writes `new` before the output's `position`; the input is read up to `at`.
    pub(super) fn insert_back(&mut self, at: usize, position: usize, new: char) {
        self.copy_to(at);
        if self.out.is_char_boundary(position) {
            self.out.insert(position, new);
        }
    }

    /// Whether `character` is the last before the output's `position`.
    pub(super) fn ends_before(&mut self, at: usize, position: usize, character: char) -> bool {
        self.copy_to(at);
        let before = self.out.get(..position).unwrap_or_default();
        before.trim_end_matches(BLANK).ends_with(character)
    }

    /// Removes the ASCII character at the output's `position`.
    pub(super) fn take_back(&mut self, at: usize, position: usize) {
        self.copy_to(at);
        if self.out.as_bytes().get(position).is_some_and(u8::is_ascii) {
            self.out.remove(position);
        }
    }

    /// Where the output's array that begins at `start` ends, if nothing but a
    /// comma at `comma` follows it.
    pub(super) fn array_end(
        &mut self,
        at: usize,
        start: usize,
        comma: Option<usize>,
    ) -> Option<usize> {
        self.copy_to(at);
        let value = self.out.get(start..comma.unwrap_or(self.out.len()))?;
        let is_array = value.starts_with('[') && value.trim_end_matches(BLANK).ends_with(']');
        let length = value.trim_end_matches(BLANK).len();
        is_array.then(|| start + length - 1)
    }

    /// Removes the closing quote of the string before `at`, if there is one.
    pub(super) fn reopen_string(&mut self, at: usize) -> bool {
        self.copy_to(at);
        match self.out.trim_end_matches(BLANK).strip_suffix('"') {
            Some(open) => {
                self.out.truncate(open.len());
                true
            }
            None => false,
        }
    }

    pub(super) fn finish(mut self) -> (String, Vec<Fix>) {
        let end = self.out.trim_end_matches(BLANK).len();
        self.out.truncate(end);
        let start = self.out.len() - self.out.trim_start_matches(BLANK).len();
        self.out.drain(..start);
        (self.out, self.fixes)
    }
}
