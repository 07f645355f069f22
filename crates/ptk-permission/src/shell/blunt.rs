//! A reading that ignores quotes.
//!
//! Where it is not certain that the shell reads a text as PTK does, a part that
//! was taken for data may be a command. This reading takes every line and every
//! part of a list for a command, quoted or not. It never lets anything run: it
//! only finds what is refused or denied.

use std::collections::HashSet;

use super::walk::Walk;
use super::{ShellCommand, ansi_c};

/// How much of a text is looked at, in bytes. The system starts no command
/// that is longer.
const MAX_LENGTH: usize = 128 * 1024;
/// How deep texts within texts are looked at.
const DEPTH: u8 = 3;
/// Words of the shell before a command.
const RESERVED: [&str; 12] = [
    "if", "then", "elif", "else", "do", "while", "until", "time", "coproc", "!", "{", "}",
];
/// Texts on which shells, and their parsers, are known to disagree.
const TRAPS: [&str; 9] = [
    "<<", "$'", "$\"", "\\\n", "\\`", ";&", "coproc", "shopt", "alias",
];

/// Whether a text has something that is often read differently.
pub(super) fn has_traps(text: &str) -> bool {
    let is_trap = |c: char| c.is_control() && !matches!(c, '\n' | '\t') || is_odd_blank(c);
    TRAPS.iter().any(|trap| text.contains(trap)) || text.contains(is_trap)
}

/// Every command that may stand in a text, whatever quotes it.
pub(super) fn commands(text: &str) -> Vec<ShellCommand> {
    let mut commands = Vec::new();
    let end = (0..=MAX_LENGTH.min(text.len())).rev();
    let text = end.into_iter().find_map(|end| text.get(..end));
    let text = without_quotes(text.unwrap_or_default());
    let mut seen = HashSet::new();
    for part in text.split('\n') {
        let part = without_reserved(part.trim());
        // An alias of a command is as good as the command.
        let part = match (part.starts_with("alias "), part.split_once('=')) {
            (true, Some((_, command))) => command,
            _ => part,
        };
        if part.is_empty() || !seen.insert(part) {
            continue;
        }
        let mut walk = Walk::new();
        walk.text(part, DEPTH);
        let found = walk.end().commands;
        commands.extend(found.into_iter().filter(|it| it.program().is_some()));
    }
    commands
}

fn without_reserved(mut part: &str) -> &str {
    while let Some((first, rest)) = part.split_once([' ', '\t']) {
        if !RESERVED.contains(&first) {
            break;
        }
        part = rest.trim_start();
    }
    part
}

/// The text without quotes and backslashes, one command a line.
fn without_quotes(text: &str) -> String {
    let text = with_decoded(&text.replace("\\\n", ""));
    let mut plain = String::with_capacity(text.len());
    let mut rest = text.as_str();
    while let Some(c) = rest.chars().next() {
        let after = rest.get(c.len_utf8()..).unwrap_or_default();
        if let Some(behind) = rest.strip_prefix("$((").and_then(behind_number) {
            plain.push('0');
            rest = behind;
            continue;
        }
        match c {
            '\'' | '"' | '\\' => {}
            '$' if after.starts_with(['\'', '"']) => {}
            '&' if plain.ends_with(['>', '<']) => {}
            c if is_end(c) || c == '|' && (after.starts_with('|') || plain.ends_with('\n')) => {
                plain.push('\n');
            }
            c => plain.push(c),
        }
        rest = after;
    }
    plain
}

/// What stands behind an arithmetic expression of names, numbers and operators.
fn behind_number(text: &str) -> Option<&str> {
    let (number, behind) = text.split_once("))")?;
    let is_part = |c: char| c.is_ascii_alphanumeric() || " _+-*/%<>=!?:,".contains(c);
    number.chars().all(is_part).then_some(behind)
}

/// The text with what stands between `$'` and `'` decoded.
fn with_decoded(text: &str) -> String {
    let mut parts = text.split("$'");
    let mut plain = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        match part.split_once('\'') {
            Some((quoted, behind)) => {
                plain.push_str(&ansi_c::decoded(quoted).unwrap_or_else(|| quoted.to_owned()));
                plain.push_str(behind);
            }
            None => plain.push_str(part),
        }
    }
    plain
}

/// Whether a command ends there, whatever quotes it.
fn is_end(c: char) -> bool {
    "`();&".contains(c) || c.is_control() && c != '\t' || is_odd_blank(c)
}

/// A blank that only some shells take for one.
fn is_odd_blank(c: char) -> bool {
    c.is_whitespace() && !c.is_ascii()
}
