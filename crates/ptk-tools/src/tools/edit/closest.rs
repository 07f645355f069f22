//! The part of a file that is most like a text that is not in it. It is only
//! ever shown, never replaced.

use std::borrow::Cow;
use std::collections::HashMap;

use serde::Serialize;

use super::lines::{essence, without_break};
use crate::bound::floor;
use crate::tools::text::unified;

/// How many lines are quoted.
const MAX_LINES: usize = 30;
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
}

impl Closest {
    /// The part of `text` that is most like `old`, if any is.
    pub(super) fn find(text: &str, old: &str, edit: usize) -> Option<Self> {
        let file: Vec<&str> = text.split_inclusive('\n').collect();
        let wanted: Vec<&str> = old.split_inclusive('\n').collect();
        let keys: Vec<Cow<'_, str>> = wanted.iter().map(|line| essence(line)).collect();
        let start = by_equal_lines(&file, &keys).or_else(|| by_letters(&file, &wanted))?;
        let end = (start + wanted.len()).min(file.len());
        let (start, end) = with_neighbours(&file, &keys, start, end);
        let count = (end - start).min(MAX_LINES);
        let mut quoted: String = file.get(start..start + count)?.concat();
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
        let diff = unified(&end(old), &end(&quoted), 1, MAX_LINES);
        Some(Self {
            edit,
            start_line: start + 1,
            end_line: start + count,
            text: quoted,
            diff,
        })
    }
}

/// Lines nearby that were looked for, too: the file has others in between.
fn with_neighbours(
    file: &[&str],
    keys: &[Cow<'_, str>],
    start: usize,
    end: usize,
) -> (usize, usize) {
    let is_wanted = |at: &usize| {
        let key = file.get(*at).map(|line| essence(line)).unwrap_or_default();
        key.len() >= LEAST_WEIGHT && keys.contains(&key)
    };
    let first = (start.saturating_sub(NEIGHBOURS)..start).find(is_wanted);
    let last = (end..(end + NEIGHBOURS).min(file.len()))
        .rev()
        .find(is_wanted);
    (first.unwrap_or(start), last.map_or(end, |last| last + 1))
}

/// Where most of the lines are equal, indentation aside.
fn by_equal_lines(file: &[&str], keys: &[Cow<'_, str>]) -> Option<usize> {
    let mut places: HashMap<&str, Vec<usize>> = HashMap::new();
    for (at, key) in keys.iter().enumerate() {
        if !key.is_empty() {
            places.entry(key).or_default().push(at);
        }
    }
    let all: usize = keys.iter().map(|key| key.len().min(MAX_WEIGHT)).sum();
    let mut votes: HashMap<usize, usize> = HashMap::new();
    for (at, line) in file.iter().enumerate() {
        let key = essence(line);
        for offset in places.get(key.as_ref()).into_iter().flatten().take(8) {
            if let Some(start) = at.checked_sub(*offset) {
                *votes.entry(start).or_default() += key.len().min(MAX_WEIGHT);
            }
        }
    }
    let best = votes
        .into_iter()
        .max_by_key(|(start, votes)| (*votes, std::cmp::Reverse(*start)))?;
    (best.1 >= LEAST_WEIGHT.min(all)).then_some(best.0)
}

/// Where the most telling line has a line most like it.
fn by_letters(file: &[&str], wanted: &[&str]) -> Option<usize> {
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
    Some(best.1?.saturating_sub(offset))
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
