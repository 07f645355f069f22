//! Lines that are spelt out: "first line is … and the second line is …".

use super::words::{Word, words};

/// How many words are looked through.
const MOST_WORDS: usize = 2_000;

const ORDINALS: &[&str] = &["first", "second", "third", "fourth", "fifth", "sixth"];

const NUMBERS: &[(&str, usize)] = &[
    ("two", 2),
    ("three", 3),
    ("four", 4),
    ("five", 5),
    ("six", 6),
];

/// The lines that a request spells out, joined.
pub(super) fn spoken(text: &str) -> Option<String> {
    by_ordinals(text).or_else(|| by_number(text))
}

/// "the first line is A and the second line is B".
fn by_ordinals(text: &str) -> Option<String> {
    let words = words(text, MOST_WORDS);
    let mut starts = Vec::new();
    for (at, pair) in words.windows(2).enumerate() {
        let [ordinal, line] = pair else { continue };
        let expected = ORDINALS.get(starts.len());
        let elided = !starts.is_empty() && expected == Some(&ordinal.folded.as_str());
        let is_line = line.folded == "line";
        if expected == Some(&ordinal.folded.as_str()) && (is_line || elided) {
            starts.push((at, at + 1 + usize::from(is_line)));
        }
    }
    if starts.len() < 2 {
        return None;
    }
    let ends = starts
        .iter()
        .skip(1)
        .map(|(at, _)| *at)
        .chain([words.len()]);
    let lines: Option<Vec<&str>> = starts
        .iter()
        .zip(ends)
        .map(|((_, start), end)| said(text, words.get(*start..end)?))
        .collect();
    Some(lines?.join("\n"))
}

/// What is said between two of them.
fn said<'a>(text: &'a str, words: &[Word<'_>]) -> Option<&'a str> {
    let lead = [
        "is", "says", "reads", "be", "should", "say", "being", "saying",
    ];
    let trail = [
        "and", "then", "the", "a", "with", "as", "whose", "its", "which",
    ];
    let start = words
        .iter()
        .position(|word| !lead.contains(&word.folded.as_str()))?;
    let end = words
        .iter()
        .rposition(|word| !trail.contains(&word.folded.as_str()))?;
    let (first, last) = (words.get(start)?, words.get(end)?);
    unquoted(text.get(first.start..last.end)?)
}

/// "with three lines: A, B and C".
fn by_number(text: &str) -> Option<String> {
    let words = words(text, MOST_WORDS);
    let at = words.windows(2).position(|pair| {
        matches!(pair, [number, lines] if lines.folded == "lines" && number_of(number).is_some())
    })?;
    let count = number_of(words.get(at)?)?;
    let last = words.get(at + 1)?;
    let rest = text.get(last.end..)?;
    let rest = rest.trim_start_matches([':', ',', ' ', '-', '\n']);
    let rest = rest.strip_suffix(['?', '.']).unwrap_or(rest);
    for separator in ["\n", " / ", "; ", ", "] {
        let parts: Vec<&str> = rest.split(separator).filter_map(item).collect();
        if parts.len() == count {
            return Some(parts.join("\n"));
        }
    }
    let (before, behind) = rest.rsplit_once(" and ")?;
    let parts: Vec<&str> = before
        .split(", ")
        .chain([behind])
        .filter_map(item)
        .collect();
    (parts.len() == count).then(|| parts.join("\n"))
}

fn item(part: &str) -> Option<&str> {
    let part = part.trim();
    unquoted(part.strip_prefix("and ").unwrap_or(part))
}

fn unquoted(text: &str) -> Option<&str> {
    let text = text.trim().trim_end_matches([',', ';']);
    let text = text.trim_matches(['"', '\'', '“', '”', '`']);
    (!text.is_empty()).then_some(text)
}

fn number_of(word: &Word<'_>) -> Option<usize> {
    let named = NUMBERS.iter().find(|(name, _)| *name == word.folded);
    let digits = word.folded.parse().ok();
    named.map(|(_, number)| *number).or(digits)
}

#[cfg(test)]
mod tests {
    use super::spoken;

    #[test]
    fn lines_that_are_spelt_out_are_joined() {
        for request in [
            "create a.txt, first line is red apples and the second line is pears",
            "create a.txt whose first line says 'red apples', second line says 'pears'",
            "create a.txt with two lines: red apples and pears",
            "create a.txt with 2 lines, \"red apples\" and \"pears\"",
        ] {
            assert_eq!(
                spoken(request).as_deref(),
                Some("red apples\npears"),
                "{request}"
            );
        }
        assert_eq!(
            spoken("a file with three lines: one, two and three").as_deref(),
            Some("one\ntwo\nthree")
        );
    }

    #[test]
    fn other_requests_spell_out_no_lines() {
        assert_eq!(spoken("show the first line of a.txt"), None);
        assert_eq!(spoken("the last two lines"), None);
    }
}
