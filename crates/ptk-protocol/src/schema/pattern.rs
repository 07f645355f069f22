//! The cost of a schema's regular expressions.

use serde_json::{Map, Value};

/// The size of a class by Unicode property: its tables are about that many
/// times as large as a plain character.
const PROPERTY: u64 = 100;
/// The size of `\w`, `\d` and `\s`.
const CLASS: u64 = 10;

/// The regular expressions of a schema itself, without those of its parts.
pub(super) fn all(keywords: &Map<String, Value>) -> impl Iterator<Item = &str> {
    let own = keywords.get("pattern").and_then(Value::as_str);
    let names = keywords.get("patternProperties").and_then(Value::as_object);
    own.into_iter()
        .chain(names.into_iter().flat_map(Map::keys).map(String::as_str))
}

/// How large a regular expression is once its repetitions are multiplied out.
/// An estimate from above: invalid ones have a size as well.
pub(super) fn size(pattern: &str) -> u64 {
    // The size of each open group, and of the last element in it.
    let mut open: Vec<(u64, u64)> = vec![(0, 0)];
    let mut characters = pattern.chars().peekable();
    while let Some(character) = characters.next() {
        let element = match character {
            '(' => {
                open.push((0, 0));
                continue;
            }
            ')' => {
                let (whole, last) = if open.len() > 1 {
                    open.pop().unwrap_or_default()
                } else {
                    (0, 0)
                };
                whole.saturating_add(last).saturating_add(1)
            }
            '[' => {
                let mut is_escaped = false;
                let mut size = 1_u64;
                for inner in characters.by_ref() {
                    match inner {
                        _ if is_escaped => {
                            is_escaped = false;
                            size = size.saturating_add(escaped(inner));
                        }
                        '\\' => is_escaped = true,
                        ']' => break,
                        _ => {}
                    }
                }
                size
            }
            '{' => {
                let count = repeated(&mut characters);
                if let Some((_, last)) = open.last_mut() {
                    *last = last.saturating_mul(count.max(1));
                }
                continue;
            }
            '\\' => characters.next().map_or(1, escaped),
            _ => 1,
        };
        if let Some((whole, last)) = open.last_mut() {
            *whole = whole.saturating_add(*last);
            *last = element;
        }
    }
    open.into_iter().fold(0, |all: u64, (whole, last)| {
        all.saturating_add(whole).saturating_add(last)
    })
}

/// The size of an escape.
const fn escaped(letter: char) -> u64 {
    match letter {
        'p' | 'P' => PROPERTY,
        'w' | 'W' | 'd' | 'D' | 's' | 'S' => CLASS,
        _ => 1,
    }
}

/// The largest number between braces.
fn repeated(characters: &mut std::iter::Peekable<std::str::Chars<'_>>) -> u64 {
    let (mut most, mut number) = (0_u64, 0_u64);
    while let Some(next) = characters.peek().copied() {
        match (next.to_digit(10), next) {
            (Some(digit), _) => {
                number = number.saturating_mul(10).saturating_add(digit.into());
            }
            (None, ',' | ' ') => number = 0,
            (None, _) => break,
        }
        most = most.max(number);
        characters.next();
    }
    characters.next_if_eq(&'}');
    most
}

/// Whether a regular expression may need backtracking: it looks around, or
/// refers back.
pub(super) fn backtracks(pattern: &str) -> bool {
    let mut characters = pattern.chars();
    while let Some(character) = characters.next() {
        let behind = characters.as_str();
        match character {
            '\\' => {
                let escaped = characters.next();
                if escaped.is_some_and(|it| matches!(it, '1'..='9' | 'k' | 'g')) {
                    return true;
                }
            }
            '(' if ["?=", "?!", "?<=", "?<!", "?>", "?("]
                .iter()
                .any(|group| behind.starts_with(group)) =>
            {
                return true;
            }
            _ => {}
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn repetitions_are_multiplied_out() {
        for (pattern, expected) in [
            ("", 0),
            ("abc", 3),
            ("^[a-z]{8}$", 10),
            ("(ab{10}){10}", 120),
            ("((a{1000}){1000}){1000}", 1_001_001_000),
            ("\\p{L}", 100),
            ("[\\w.-]{1,64}", 704),
        ] {
            let size = size(pattern);
            assert!(
                size >= expected && size <= expected * 2 + 10,
                "{pattern}: {size}"
            );
        }
    }

    #[test]
    fn only_lookarounds_and_references_back_need_backtracking() {
        for pattern in ["(?=a)", "(?!a)b", "(a)\\1", "(?<=x)y", "(?<n>a)\\k<n>"] {
            assert!(backtracks(pattern), "{pattern}");
        }
        for pattern in ["^(?:a|b)+$", "(?i)x", "\\(?=", "a+b+", "\\d{3}"] {
            assert!(!backtracks(pattern), "{pattern}");
        }
    }
}
