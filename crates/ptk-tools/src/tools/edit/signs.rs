//! Quotes, dashes and such: what they stand for where they are, and how the
//! file writes them.

use std::collections::HashMap;
use std::ops::Range;

use super::lookalikes::plain;
use super::unclear::Unclear;

/// How far away characters may be that show the role of a quote.
const MAX_AWAY: usize = 16;

/// A sign of the old text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Sign<'a> {
    /// Where in the old text.
    pub(super) range: Range<usize>,
    written: &'a str,
    file: &'a str,
}

/// What a sign stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Role {
    /// A quote before something.
    Opening,
    /// A quote behind something, or an apostrophe.
    Closing,
    /// A quote between spaces.
    Loose,
    /// Another sign between such characters.
    Between(Beside, Beside),
}

/// What stands beside a sign.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Beside {
    Space,
    Digit,
    /// The same sign again.
    Same,
    Other,
}

impl<'a> Sign<'a> {
    /// A sign; `None` for letters, digits and spaces, which have only one form.
    pub(super) fn new(range: Range<usize>, written: &'a str, file: &'a str) -> Option<Self> {
        let is_word = |c: char| c.is_ascii_alphanumeric() || c.is_whitespace();
        (!written.contains(is_word)).then_some(Self {
            range,
            written,
            file,
        })
    }

    /// Whether the file has another character for it.
    pub(super) fn is_other(&self) -> bool {
        self.written != self.file
    }
}

fn is_quote(c: char) -> bool {
    matches!(c, '"' | '\'') || matches!(plain(c), Some("\"" | "'"))
}

impl Role {
    /// The role of a sign, by what stands before it, backwards, and behind it.
    pub(super) fn of(
        mut before: impl Iterator<Item = char>,
        sign: &str,
        mut behind: impl Iterator<Item = char>,
    ) -> Self {
        if !sign.chars().all(is_quote) {
            let beside = |c: Option<char>| Beside::new(c, sign);
            return Self::Between(beside(before.next()), beside(behind.next()));
        }
        // Quotes in quotes, and what marks emphasis, do not count.
        let is_seen = |c: &char| !is_quote(*c) && !matches!(c, '*' | '_' | '~' | '`');
        let closes = |c: char| c.is_alphanumeric() || ".,;!?)]}%\u{2026}".contains(c);
        let (mut before, mut behind) = (before.take(MAX_AWAY), behind.take(MAX_AWAY));
        match (before.find(is_seen), behind.find(is_seen)) {
            (Some(before), _) if closes(before) => Self::Closing,
            (_, Some(behind)) if !behind.is_whitespace() => Self::Opening,
            _ => Self::Loose,
        }
    }

    /// Whether a sign that stays is still the same sign.
    pub(super) fn may_become(self, new: Self) -> bool {
        match (self, new) {
            (Self::Between(before, behind), Self::Between(new_before, new_behind)) => {
                let is_repeated = |beside: Beside| beside == Beside::Same;
                is_repeated(before) == is_repeated(new_before)
                    && is_repeated(behind) == is_repeated(new_behind)
            }
            (old, new) => old == new,
        }
    }
}

impl Beside {
    fn new(c: Option<char>, sign: &str) -> Self {
        match c {
            None => Self::Space,
            Some(c) if c.is_whitespace() => Self::Space,
            Some(c) if sign.starts_with(c) => Self::Same,
            Some(c) if c.is_numeric() => Self::Digit,
            Some(_) => Self::Other,
        }
    }
}

/// The signs of some words of the file.
#[derive(Debug, Default)]
pub(super) struct Signs<'a> {
    /// Those that the file writes otherwise, the longest first.
    others: Vec<&'a str>,
    /// What the file has for a sign in a role; `None` if it is not the same
    /// everywhere.
    file: HashMap<(&'a str, Role), Option<&'a str>>,
}

impl<'a> Signs<'a> {
    pub(super) fn new(signs: impl Iterator<Item = (Sign<'a>, Role)>) -> Self {
        let mut found = Self::default();
        for (sign, role) in signs {
            if sign.is_other() && !found.others.contains(&sign.written) {
                found.others.push(sign.written);
            }
            let file = found.file.entry((sign.written, role));
            let file = file.or_insert(Some(sign.file));
            *file = file.filter(|file| *file == sign.file);
        }
        found
            .others
            .sort_by_key(|sign| std::cmp::Reverse(sign.len()));
        found
    }

    /// The sign that a text begins with, if the file writes it otherwise.
    pub(super) fn at_start_of(&self, text: &str) -> Option<&'a str> {
        let mut others = self.others.iter().copied();
        others.find(|sign| text.starts_with(sign))
    }

    /// A sign as the file writes it in this role; as it is given, if the file
    /// does not show it.
    ///
    /// # Errors
    ///
    /// If it is a quote, and the file does not show it: half of a pair looks
    /// wrong.
    pub(super) fn in_file(&self, sign: &'a str, role: Role) -> Result<&'a str, Unclear> {
        match self.file.get(&(sign, role)).copied().flatten() {
            Some(file) => Ok(file),
            None if sign.chars().all(is_quote) => Err(Unclear::Signs),
            None => Ok(sign),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_quote_has_a_role() {
        let role =
            |before: &str, behind: &str| Role::of(before.chars().rev(), "\"", behind.chars());
        assert_eq!(role("", "a"), Role::Opening);
        assert_eq!(role("say: ", "a"), Role::Opening);
        assert_eq!(role("f(", "a"), Role::Opening);
        assert_eq!(role("f('", "a"), Role::Opening);
        assert_eq!(role("a", ""), Role::Closing);
        assert_eq!(role("a.", " b"), Role::Closing);
        assert_eq!(role("a", "s"), Role::Closing);
        assert_eq!(role("a ", " b"), Role::Loose);
    }
}
