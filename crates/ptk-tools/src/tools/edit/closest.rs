//! The part of a file that is most like a text that is not in it. It is only
//! ever shown, never replaced.

use std::borrow::Cow;
use std::collections::HashMap;
use std::ops::Range;

use ptk_undo::unified;
use serde::Serialize;

use super::lines::{essence, line_of, without_break};
use crate::bound::floor;

/// How many lines are quoted.
const MAX_LINES: usize = 30;
/// How many of them stand before the first difference.
const BEFORE: usize = 5;
/// How many bytes are quoted.
const MAX_BYTES: usize = 4_000;
/// Longer lines are not compared by their letters.
const MAX_COMPARED: usize = 1_000;
/// Lines of a file that are compared by their letters.
const MAX_FILE_LINES: usize = 50_000;
/// Less alike is not worth showing.
const LEAST_ALIKE: f64 = 0.5;
/// A line counts by its length, up to here: a brace says little.
const MAX_WEIGHT: usize = 40;
/// Equal lines that weigh less are chance.
const LEAST_WEIGHT: usize = 6;

/// Places that are compared by their letters, those with the most equal lines.
const MAX_PLACES: usize = 8;
/// Lines of such a place that are compared.
const MAX_PAIRS: usize = 100;
/// How far away a line may be that was looked for, too.
const NEIGHBOURS: usize = 3;

/// A part of the file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(super) struct Closest {
    /// Which edit it is about, counted from one.
    pub(super) edit: usize,
    pub(super) start_line: usize,
    pub(super) end_line: usize,
    /// Exactly as in the file.
    pub(super) text: String,
    /// From the text that was looked for to the text of the file.
    pub(super) diff: String,
    /// First and last line of the whole part, where only some are quoted.
    #[serde(skip)]
    pub(super) all_lines: (usize, usize),
    /// Whether it is the place that was meant, not one that is like it.
    #[serde(skip)]
    pub(super) is_meant: bool,
}

impl Closest {
    /// The part of `text` that is most like `old`, if any is.
    pub(super) fn find(text: &str, old: &str, edit: usize) -> Option<Self> {
        let file: Vec<&str> = text.split_inclusive('\n').collect();
        let wanted: Vec<&str> = old.split_inclusive('\n').collect();
        let keys: Vec<Cow<'_, str>> = wanted.iter().map(|line| essence(line)).collect();
        let lines = by_equal_lines(&file, &keys).or_else(|| by_letters(&file, &wanted))?;
        let lines = with_neighbours(&file, &keys, lines);
        Self::quoted(&file, lines, old, edit)
    }

    /// The lines of `text` that a part of it is in, where `old` was found with
    /// tolerance.
    pub(super) fn at(text: &str, part: &Range<usize>, old: &str, edit: usize) -> Option<Self> {
        let file: Vec<&str> = text.split_inclusive('\n').collect();
        let last = part.end.saturating_sub(1).max(part.start);
        let lines = line_of(text, part.start) - 1..line_of(text, last);
        let quoted = Self::quoted(&file, lines, old, edit)?;
        Some(Self {
            is_meant: true,
            ..quoted
        })
    }

    fn quoted(file: &[&str], lines: Range<usize>, old: &str, edit: usize) -> Option<Self> {
        let all = file.get(lines.clone())?;
        let shown = around_difference(all, old);
        let mut quoted: String = all.get(shown.clone())?.concat();
        if !old.ends_with('\n') {
            quoted.truncate(without_break(&quoted).len());
        }
        quoted.truncate(floor(&quoted, MAX_BYTES));
        let end = |text: &str| {
            if text.ends_with('\n') {
                text.to_owned()
            } else {
                format!("{text}\n")
            }
        };
        let diff = unified(&end(old), &end(&all.concat()), 1, MAX_LINES);
        Some(Self {
            edit,
            start_line: lines.start + shown.start + 1,
            end_line: lines.start + shown.end,
            all_lines: (lines.start + 1, lines.end),
            text: quoted,
            diff,
            is_meant: false,
        })
    }
}

/// The lines to quote: all, or as many as there may be from shortly before the
/// first one that is not as in the quote.
fn around_difference(lines: &[&str], old: &str) -> Range<usize> {
    if lines.len() <= MAX_LINES {
        return 0..lines.len();
    }
    let pairs = lines.iter().zip(old.split_inclusive('\n'));
    let same = pairs.take_while(|(line, old)| without_break(line) == without_break(old));
    let start = same.count().saturating_sub(BEFORE);
    let start = start.min(lines.len() - MAX_LINES);
    start..start + MAX_LINES
}

/// Lines nearby that are still looked for: the file has others in between.
fn with_neighbours(file: &[&str], keys: &[Cow<'_, str>], lines: Range<usize>) -> Range<usize> {
    let Range { start, end } = lines;
    let key = |at: usize| file.get(at).map(|line| essence(line)).unwrap_or_default();
    let found: Vec<Cow<'_, str>> = (start..end).map(key).collect();
    let is_wanted = |at: &usize| {
        let key = key(*at);
        key.len() >= LEAST_WEIGHT && keys.contains(&key) && !found.contains(&key)
    };
    let first = (start.saturating_sub(NEIGHBOURS)..start).find(is_wanted);
    let last = (end..(end + NEIGHBOURS).min(file.len()))
        .rev()
        .find(is_wanted);
    first.unwrap_or(start)..last.map_or(end, |last| last + 1)
}

/// Lines that are not blank, with their numbers.
fn filled<'a>(keys: &'a [Cow<'_, str>]) -> Vec<(usize, &'a str)> {
    let all = keys.iter().map(AsRef::as_ref).enumerate();
    all.filter(|(_, key)| !key.is_empty()).collect()
}

/// Where most of the lines are equal, indentation and blank lines aside; of
/// several such places the one whose other lines are most alike.
fn by_equal_lines(file: &[&str], keys: &[Cow<'_, str>]) -> Option<Range<usize>> {
    let real: Vec<Cow<'_, str>> = file.iter().map(|line| essence(line)).collect();
    let (real, wanted) = (filled(&real), filled(keys));
    let mut places: HashMap<&str, Vec<usize>> = HashMap::new();
    for (at, (_, key)) in wanted.iter().enumerate() {
        places.entry(key).or_default().push(at);
    }
    let mut votes: HashMap<usize, usize> = HashMap::new();
    for (at, (_, key)) in real.iter().enumerate() {
        for offset in places.get(key).into_iter().flatten().take(8) {
            if let Some(start) = at.checked_sub(*offset) {
                *votes.entry(start).or_default() += weight(key);
            }
        }
    }
    let all: usize = wanted.iter().map(|(_, key)| weight(key)).sum();
    let mut votes: Vec<(usize, usize)> = votes.into_iter().collect();
    votes.retain(|(_, votes)| *votes >= LEAST_WEIGHT.min(all));
    votes.sort_by_key(|(start, votes)| (std::cmp::Reverse(*votes), *start));
    votes.truncate(MAX_PLACES);
    let window = |start: usize| real.get(start..(start + wanted.len()).min(real.len()));
    let scored = votes.iter().filter_map(|(start, _)| {
        let lines = window(*start)?;
        Some((alike(lines, &wanted), lines))
    });
    let (_, best) = scored.reduce(|best, next| if next.0 > best.0 { next } else { best })?;
    let ((first, _), (last, _)) = (best.first()?, best.last()?);
    Some(with_outer_blanks(file, keys, *first..last + 1))
}

/// The weight of a line: its length, up to a limit.
fn weight(key: &str) -> usize {
    key.len().min(MAX_WEIGHT)
}

/// How alike lines are, one by one.
fn alike(real: &[(usize, &str)], wanted: &[(usize, &str)]) -> f64 {
    let pairs = real.iter().zip(wanted).take(MAX_PAIRS);
    let pairs = pairs.map(|((_, real), (_, wanted))| {
        let weight = f64::from(u8::try_from(weight(wanted)).unwrap_or(u8::MAX));
        let is_short = real.len().max(wanted.len()) <= MAX_COMPARED;
        match real == wanted {
            true => weight,
            false if is_short => weight * strsim::sorensen_dice(real, wanted),
            false => 0.0,
        }
    });
    pairs.sum()
}

/// Lines with as many of the blank lines around them as the quote has.
fn with_outer_blanks(file: &[&str], keys: &[Cow<'_, str>], lines: Range<usize>) -> Range<usize> {
    let is_blank = |line: &&&str| essence(line).is_empty();
    let quoted = |key: &&Cow<'_, str>| key.is_empty();
    let before = keys.iter().take_while(quoted).count();
    let after = keys.iter().rev().take_while(quoted).count();
    let above = file.get(..lines.start).unwrap_or_default().iter().rev();
    let below = file.get(lines.end..).unwrap_or_default().iter();
    let above = above.take(before).take_while(is_blank).count();
    let below = below.take(after).take_while(is_blank).count();
    lines.start - above..lines.end + below
}

/// Finds lines by the most telling line and the line of the file most like it.
fn by_letters(file: &[&str], wanted: &[&str]) -> Option<Range<usize>> {
    let (offset, telling) = wanted
        .iter()
        .map(|line| line.trim())
        .enumerate()
        .max_by_key(|(at, line)| (line.len().min(MAX_COMPARED), std::cmp::Reverse(*at)))?;
    let telling = telling.get(..floor(telling, MAX_COMPARED))?;
    let mut best = (LEAST_ALIKE, None);
    for (at, line) in file.iter().enumerate().take(MAX_FILE_LINES) {
        let line = line.trim();
        if line.is_empty() || line.len() > MAX_COMPARED {
            continue;
        }
        let alike = if line.contains(telling) {
            1.0
        } else {
            strsim::sorensen_dice(telling, line)
        };
        if alike > best.0 {
            best = (alike, Some(at));
        }
    }
    let start = best.1?.saturating_sub(offset);
    Some(start..(start + wanted.len()).min(file.len()))
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILE: &str =
        "fn one() {\n    first();\n}\n\nfn two() {\n    second(1);\n    third();\n}\n";

    #[test]
    fn equal_lines_point_to_the_place() {
        let closest = Closest::find(FILE, "fn two() {\n    second(2);\n    third();\n", 1).unwrap();
        assert_eq!((closest.start_line, closest.end_line), (5, 7));
        assert_eq!(closest.text, "fn two() {\n    second(1);\n    third();\n");
        assert_eq!(
            closest.diff,
            "@@ -1,3 +1,3 @@\n fn two() {\n-    second(2);\n+    second(1);\n     third();\n"
        );
    }

    #[test]
    fn letters_do_where_no_line_is_equal() {
        let closest = Closest::find(FILE, "second(9)", 1).unwrap();
        assert_eq!(closest.text, "    second(1);");
        assert_eq!(Closest::find(FILE, "quite another thing", 1), None);
        assert_eq!(Closest::find("", "a", 1), None);
    }
}
