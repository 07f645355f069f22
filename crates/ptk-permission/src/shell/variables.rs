//! Variables whose values stand in the text itself: `D=build; rm -r $D`.
//!
//! Only those count that are given a value at one place, and that nothing else
//! in the text names: no `read D`, no `unset D`, no second `D=`. So a value
//! that is known at one place is the value everywhere behind it.

use std::collections::HashMap;

use super::word::Piece;

/// How many variables are known at a time.
const MAX_VARIABLES: usize = 32;
/// At how many places a variable is replaced by its value.
const MAX_USES: usize = 50;
/// How long a value may be, in bytes.
const MAX_LENGTH: usize = 256;
/// How many words a value may become.
const MAX_WORDS: usize = 16;
/// Variables that the shell itself sets, or keeps others from setting.
const OF_THE_SHELL: [&str; 16] = [
    "BASHPID", "EUID", "HOME", "IFS", "LINENO", "OLDPWD", "OPTARG", "OPTIND", "PPID", "PWD",
    "RANDOM", "REPLY", "SECONDS", "SHLVL", "UID", "_",
];

/// How often the names of variables stand in a text.
#[derive(Debug, Default)]
pub(super) struct Names(HashMap<String, Mentions>);

#[derive(Debug, Default)]
struct Mentions {
    /// As `$D` and `${D}`.
    uses: usize,
    /// In any other way.
    others: usize,
}

impl Names {
    pub(super) fn of(text: &str) -> Self {
        let mut names = Self::default();
        let is_part = |c: char| c.is_ascii_alphanumeric() || c == '_';
        let mut at = 0;
        for name in text.split(|c| !is_part(c)) {
            let before = text.get(..at).unwrap_or_default();
            let behind = text.get(at + name.len()..).unwrap_or_default();
            at += name.len() + behind.chars().next().map_or(0, char::len_utf8);
            if name.is_empty() {
                continue;
            }
            let is_use = before.ends_with('$') || before.ends_with("${") && behind.starts_with('}');
            let mentions = names.0.entry(name.to_owned()).or_default();
            if is_use {
                mentions.uses += 1;
            } else {
                mentions.others += 1;
            }
        }
        names
    }

    /// Whether a variable is given a value at one place, and used.
    pub(super) fn is_plain(&self, name: &str) -> bool {
        let is_plain = |it: &Mentions| it.others == 1 && (1..=MAX_USES).contains(&it.uses);
        // Words end elsewhere with another IFS.
        !OF_THE_SHELL.contains(&name)
            && !self.0.contains_key("IFS")
            && self.0.get(name).is_some_and(is_plain)
    }
}

/// The variables that are given values, as the walk through the text finds
/// them: it reads what quotes and braces make of a name, [`Names`] does not.
#[derive(Debug, Clone, Default)]
pub(super) struct Given(HashMap<String, usize>);

impl Given {
    /// Counts one more place that gives this variable a value. Without a name,
    /// it may be any.
    pub(super) fn note(&mut self, name: &str) {
        *self.0.entry(name.to_owned()).or_default() += 1;
    }

    /// Takes the larger of both counts for each variable.
    pub(super) fn add(&mut self, other: &Self) {
        for (name, count) in &other.0 {
            let known = self.0.entry(name.clone()).or_default();
            *known = (*known).max(*count);
        }
    }

    /// Whether the variables that seem to have one value have no other.
    pub(super) fn is_sure(&self, names: &Names) -> bool {
        let is_once = |(name, count): (&String, &usize)| *count == 1 || !names.is_plain(name);
        !self.0.contains_key("") && self.0.iter().all(is_once)
    }
}

/// The values of variables at a place of the text.
#[derive(Debug, Clone, Default)]
pub(super) struct Variables(HashMap<String, Variable>);

#[derive(Debug, Clone)]
struct Variable {
    value: Vec<Piece>,
    /// Whether programs get it, too.
    is_exported: bool,
}

impl Variables {
    /// The value, where it is known.
    pub(super) fn get(&self, name: &str) -> Option<&[Piece]> {
        self.0.get(name).map(|it| it.value.as_slice())
    }

    /// Sets the value from here on, unless it is too long.
    pub(super) fn set(&mut self, name: &str, value: Vec<Piece>, is_exported: bool) {
        let texts = value.iter().filter_map(|piece| match piece {
            Piece::Text(text) | Piece::Glob(text) => Some(text),
            _ => None,
        });
        let (length, words) = texts.fold((0, 0), |(length, words), text| {
            (length + text.len(), words + text.split_whitespace().count())
        });
        if self.0.len() < MAX_VARIABLES && length <= MAX_LENGTH && words <= MAX_WORDS {
            let variable = Variable { value, is_exported };
            self.0.insert(name.to_owned(), variable);
        }
    }

    /// The variables that another shell gets.
    pub(super) fn exported(&self) -> Self {
        let exported = self.0.iter().filter(|(_, it)| it.is_exported);
        Self(exported.map(|(k, v)| (k.clone(), v.clone())).collect())
    }
}
