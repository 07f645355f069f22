//! Variables that a command line sets.

use super::{Piece, ShellCommand, Word, substitution};

/// A variable that gets a value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Assigned {
    /// The name; empty where only the shell will know it.
    pub(crate) name: String,
    /// Whether its value runs nothing, wherever the shell may read it again.
    pub(crate) is_harmless: bool,
    /// Whether programs get it, and not only the shell.
    pub(crate) is_passed: bool,
}

impl Assigned {
    /// A variable that programs get, with this value.
    pub(super) fn passed(name: &str, value: &[Word]) -> Self {
        Self {
            name: name.to_owned(),
            is_harmless: value.iter().all(is_harmless),
            is_passed: true,
        }
    }

    /// A variable of the shell's, such as that of a loop.
    pub(super) fn own(name: &str, values: &[Word]) -> Self {
        Self {
            is_passed: false,
            ..Self::passed(name, values)
        }
    }

    /// A variable that gets an unknown value.
    fn unknown(name: &str, is_passed: bool) -> Self {
        Self {
            name: name.to_owned(),
            is_harmless: false,
            is_passed,
        }
    }
}

/// Whether a value runs nothing.
fn is_harmless(word: &Word) -> bool {
    let mut texts = word.pieces().iter().map(|piece| match piece {
        Piece::Text(text) | Piece::Glob(text) => Some(text),
        _ => None,
    });
    texts.all(|text| text.is_some_and(|it| it.chars().all(substitution::is_harmless)))
}

/// The variables that a command of the shell sets, by its words.
pub(super) fn by(command: &ShellCommand) -> Vec<Assigned> {
    let args = command.args();
    match command.name() {
        Some("read" | "mapfile" | "readarray" | "getopts" | "wait") => named(args, false),
        Some("printf") => match args.first() {
            Some(format) if format.start().starts_with("-v") => {
                named(args.get(..2).unwrap_or(args), false)
            }
            Some(format) if format.literal().is_none() => vec![Assigned::unknown("", false)],
            _ => Vec::new(),
        },
        Some("declare" | "typeset" | "local") if args.iter().any(is_reference) => {
            vec![Assigned::unknown("", true)]
        }
        Some("export" | "declare" | "typeset" | "local" | "readonly" | "unset" | "let") => {
            named(args, true)
        }
        _ => Vec::new(),
    }
}

/// Whether an option makes names refer to other variables.
fn is_reference(option: &Word) -> bool {
    let letters = option.start().strip_prefix('-');
    letters.is_some_and(|it| !it.starts_with('-') && it.contains('n'))
}

fn named(args: &[Word], is_passed: bool) -> Vec<Assigned> {
    let names = args.iter().filter_map(|arg| {
        let is_named = arg.literal().is_some() || arg.start().contains('=');
        if !is_named {
            return Some(Assigned::unknown("", is_passed));
        }
        let text = arg.start();
        let text = text.strip_prefix("-v").unwrap_or(text);
        let end = text.find(['=', '[', '+']).unwrap_or(text.len());
        let name = text.get(..end).filter(|name| is_name(name))?;
        Some(Assigned::unknown(name, is_passed))
    });
    names.collect()
}

/// The variable of `{name}>file`, if a word is one.
pub(super) fn of_descriptor(word: &str) -> Option<Assigned> {
    let inner = word.strip_prefix('{')?.strip_suffix('}')?;
    let name = inner.split('[').next()?;
    is_name(name).then(|| Assigned::unknown(name, false))
}

fn is_name(text: &str) -> bool {
    let is_part = |c: char| c.is_ascii_alphanumeric() || c == '_';
    !text.is_empty() && !text.starts_with(|c: char| c.is_ascii_digit()) && text.chars().all(is_part)
}
