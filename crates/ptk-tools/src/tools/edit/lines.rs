//! Search by whole lines, whatever their indentation, and whatever blank lines
//! there are between them.

use std::borrow::Cow;
use std::collections::HashMap;
use std::ops::Range;

use super::carry::Sighting;
use super::indent::{Shift, indentation};
use super::unclear::Unclear;
use super::view::{Blur, View};

/// A blank line.
const BLANK: u32 = 0;
/// A line that the file does not have.
const UNKNOWN: u32 = u32::MAX;

/// The lines of a file, equal ones under the same number.
#[derive(Debug)]
pub(super) struct Lines<'t> {
    text: &'t str,
    numbers: HashMap<Cow<'t, str>, u32>,
    all: Vec<TextLine>,
    /// The lines that are not blank.
    filled: Vec<usize>,
}

#[derive(Debug, Clone, Copy)]
struct TextLine {
    start: usize,
    /// Before the line break.
    end: usize,
    /// Behind the line break.
    next: usize,
    number: u32,
}

/// A place that matches line by line.
#[derive(Debug)]
pub(super) struct LineMatch {
    /// The lines that are not blank, as indices.
    filled: Vec<usize>,
    /// The lines of the place, blank ones at its ends left out where the
    /// search left them out.
    lines: Range<usize>,
    pub(super) shift: Shift,
}

impl<'t> Lines<'t> {
    pub(super) fn new(text: &'t str) -> Self {
        let mut found = Self {
            text,
            numbers: HashMap::new(),
            all: Vec::new(),
            filled: Vec::new(),
        };
        let mut start = 0;
        for line in text.split_inclusive('\n') {
            let next = start + line.len();
            let key = essence(line);
            let number = if key.is_empty() {
                BLANK
            } else {
                found.filled.push(found.all.len());
                let new = u32::try_from(found.numbers.len() + 1).unwrap_or(UNKNOWN - 1);
                *found.numbers.entry(key).or_insert(new)
            };
            let end = start + without_break(line).len();
            found.all.push(TextLine {
                start,
                end,
                next,
                number,
            });
            start = next;
        }
        found
    }

    fn number(&self, line: &str) -> u32 {
        match essence(line) {
            key if key.is_empty() => BLANK,
            key => self.numbers.get(&key).copied().unwrap_or(UNKNOWN),
        }
    }

    fn line(&self, at: usize) -> &'t str {
        let line = self.all.get(at);
        line.and_then(|line| self.text.get(line.start..line.end))
            .unwrap_or_default()
    }

    /// The places whose lines are those of `old`, indented by one rule.
    pub(super) fn find(&self, old: &str) -> Vec<LineMatch> {
        let wanted: Vec<&str> = old.split_inclusive('\n').collect();
        let numbers: Vec<u32> = wanted.iter().map(|line| self.number(line)).collect();
        let file: Vec<u32> = self.all.iter().map(|line| line.number).collect();
        let places = positions(&file, &numbers).into_iter().filter_map(|at| {
            let lines = at..at + wanted.len();
            let filled = lines.clone().filter(|line| file.get(*line) != Some(&BLANK));
            self.place(&wanted, filled.collect(), lines)
        });
        places.collect()
    }

    /// The places whose lines are those of `old`, blank ones aside.
    pub(super) fn find_without_blanks(&self, old: &str) -> Vec<LineMatch> {
        let wanted: Vec<&str> = old.split_inclusive('\n').collect();
        let numbers = wanted.iter().map(|line| self.number(line));
        let numbers: Vec<u32> = numbers.filter(|number| *number != BLANK).collect();
        let file = self.filled.iter().filter_map(|at| self.all.get(*at));
        let file: Vec<u32> = file.map(|line| line.number).collect();
        let places = positions(&file, &numbers).into_iter().filter_map(|at| {
            let filled = self.filled.get(at..at + numbers.len())?.to_vec();
            let lines = *filled.first()?..*filled.last()? + 1;
            self.place(&wanted, filled, lines)
        });
        places.collect()
    }

    fn place(&self, wanted: &[&str], filled: Vec<usize>, lines: Range<usize>) -> Option<LineMatch> {
        let written = wanted.iter().filter(|line| !essence(line).is_empty());
        let real = filled.iter().map(|at| indentation(self.line(*at)));
        let pairs: Vec<(&str, &str)> = written.map(|line| indentation(line)).zip(real).collect();
        let shift = Shift::between(&pairs)?;
        Some(LineMatch {
            filled,
            lines,
            shift,
        })
    }

    /// The range that is replaced, with the last line break or without.
    pub(super) fn range(&self, place: &LineMatch, with_break: bool) -> Option<Range<usize>> {
        let first = self.all.get(place.lines.start)?;
        let last = self.all.get(place.lines.end.checked_sub(1)?)?;
        Some(first.start..if with_break { last.next } else { last.end })
    }

    /// The line break of a line; where the last one has none, that of the line
    /// above.
    fn line_break(&self, at: usize) -> &'t str {
        let of = |at: usize| {
            let line = self.all.get(at)?;
            self.text
                .get(line.end..line.next)
                .filter(|found| !found.is_empty())
        };
        of(at).or_else(|| of(at.checked_sub(1)?)).unwrap_or("\n")
    }

    /// The line break behind a place.
    pub(super) fn last_break(&self, place: &LineMatch) -> &'t str {
        self.line_break(place.lines.end.saturating_sub(1))
    }

    /// The new text for a place that has the lines of `old` under another
    /// indentation: lines that stay are taken from the file.
    ///
    /// # Errors
    ///
    /// If it is not clear how the others are indented, or which quotes they
    /// have.
    pub(super) fn keep_lines(
        &self,
        place: &LineMatch,
        old: &str,
        new: &str,
    ) -> Result<String, Unclear> {
        let old: Vec<&str> = old.split_inclusive('\n').collect();
        let new: Vec<&str> = new.split_inclusive('\n').collect();
        let pairing = Pairing::new(&old, &new);
        let written = self.written(place.lines.clone(), &old, &new)?;
        let mut text = String::new();
        for (at, line) in new.iter().enumerate() {
            match pairing.kept.get(&at) {
                Some(old_at) => text.push_str(self.line(place.lines.start + old_at)),
                None => text.push_str(&place.changed(written.get(at))?),
            }
            if line.ends_with('\n') {
                text.push_str(self.line_break(place.lines.start + pairing.nearest(at)));
            }
        }
        Ok(text)
    }

    /// The new lines without their line breaks, under their own indentation:
    /// what they share with the old ones is as in these lines of the file.
    fn written(
        &self,
        file: impl Iterator<Item = usize>,
        old: &[&str],
        new: &[&str],
    ) -> Result<Vec<String>, Unclear> {
        let bare = |line: &str| line.trim().to_owned();
        let file: Vec<String> = file.map(|at| bare(self.line(at))).collect();
        let old: Vec<String> = old.iter().map(|line| bare(line)).collect();
        let new: Vec<&str> = new.iter().map(|line| without_break(line)).collect();
        let as_given = || new.iter().map(|line| (*line).to_owned()).collect();
        let (file, old) = (file.join("\n"), old.join("\n"));
        let view = View::new(&file, Blur::Lookalikes);
        let wanted = View::new(&old, Blur::Lookalikes);
        if file == old || view.as_str() != wanted.as_str() {
            return Ok(as_given());
        }
        let indents: Vec<&str> = new.iter().map(|line| indentation(line)).collect();
        let contents = new.iter().zip(&indents);
        let contents = contents.map(|(line, indent)| line.get(indent.len()..).unwrap_or_default());
        let sighting = Sighting {
            text: &file,
            start: 0,
            view: &view,
            at: 0,
            wanted: &wanted,
            old: &old,
            new: &contents.collect::<Vec<_>>().join("\n"),
            around: ("", ""),
        };
        let carried = sighting.carried()?;
        let lines: Vec<&str> = carried.split('\n').collect();
        if lines.len() != new.len() {
            return Ok(as_given());
        }
        let lines = indents.iter().zip(lines);
        Ok(lines
            .map(|(indent, line)| format!("{indent}{line}"))
            .collect())
    }

    /// The new text for a place that has other blank lines than `old`: lines
    /// that stay are taken from the file, and so are the blank lines between
    /// two of them.
    ///
    /// # Errors
    ///
    /// If blank lines would be lost that `old` does not show, or it is not
    /// clear how a line is indented.
    pub(super) fn keep_blanks(
        &self,
        place: &LineMatch,
        old: &str,
        new: &str,
    ) -> Result<String, Unclear> {
        let old = Spaced::new(old);
        let new = Spaced::new(new);
        let kept = Pairing::new(&old.lines, &new.lines).kept;
        let written = self.written(place.filled.iter().copied(), &old.lines, &new.lines)?;
        if !new.lines.is_empty() && !place.gaps_stay(&old, &new, &kept) {
            return Err(Unclear::BlankLines);
        }
        let mut text = String::new();
        let mut near = self.line_break(place.lines.start);
        for at in 0..new.lines.len() {
            let before = at.checked_sub(1);
            let from = kept
                .get(&at)
                .and_then(|old_at| Some((*old_at, *place.filled.get(*old_at)?)));
            let follows = before.and_then(|before| kept.get(&before)).copied();
            match (from, follows) {
                (Some((old_at, here)), Some(previous))
                    if previous + 1 == old_at && old.gap(old_at) == new.gap(at) =>
                {
                    let gap = self.gap(place, previous, here);
                    text.push_str(gap.ok_or(Unclear::BlankLines)?);
                }
                _ if before.is_some() => text.push_str(&near.repeat(new.gap(at))),
                _ => {}
            }
            if let Some((_, here)) = from {
                text.push_str(self.line(here));
                near = self.line_break(here);
            } else {
                text.push_str(&place.changed(written.get(at))?);
            }
            if at + 1 < new.lines.len() {
                text.push_str(near);
            }
        }
        Ok(text)
    }

    /// What stands between a line of a place and another one.
    fn gap(&self, place: &LineMatch, above: usize, line: usize) -> Option<&'t str> {
        let above = *place.filled.get(above)?;
        self.text
            .get(self.all.get(above)?.next..self.all.get(line)?.start)
    }
}

impl LineMatch {
    /// A line that was written, indented as in the file.
    fn changed(&self, line: Option<&String>) -> Result<String, Unclear> {
        let shifted = line.and_then(|line| self.shift.reindent(line));
        shifted.ok_or(Unclear::Indentation)
    }

    /// Whether all blank lines of the file that `old` does not show stay
    /// between the lines that they are between.
    fn gaps_stay(&self, old: &Spaced<'_>, new: &Spaced<'_>, kept: &HashMap<usize, usize>) -> bool {
        let stays: HashMap<usize, usize> = kept.iter().map(|(new, old)| (*old, *new)).collect();
        self.filled.windows(2).enumerate().all(|(above, pair)| {
            let [first, second] = pair else {
                return true;
            };
            let below = above + 1;
            let gap = second - first - 1;
            if gap == 0 || gap == old.gap(below) {
                return true;
            }
            match (stays.get(&above), stays.get(&below)) {
                (Some(first), Some(second)) => {
                    first + 1 == *second && new.gap(*second) == old.gap(below)
                }
                _ => false,
            }
        })
    }
}

/// Which new lines belong to which old ones, line breaks aside.
#[derive(Debug)]
pub(super) struct Pairing {
    /// The new lines that stay as they were, each with the old line that it is.
    pub(super) kept: HashMap<usize, usize>,
    /// For each new line the old one that it is, replaces or follows.
    nearest: Vec<usize>,
}

impl Pairing {
    pub(super) fn new(old: &[&str], new: &[&str]) -> Self {
        let bare = |lines: &[&str]| -> Vec<String> {
            let lines = lines.iter().map(|line| without_break(line).to_owned());
            lines.collect()
        };
        let ops = similar::capture_diff_slices(similar::Algorithm::Myers, &bare(old), &bare(new));
        let mut kept = HashMap::new();
        let mut nearest = Vec::with_capacity(new.len());
        for op in ops {
            let from = op.old_range();
            if matches!(op, similar::DiffOp::Equal { .. }) {
                kept.extend(op.new_range().zip(from.clone()));
            }
            let last = from.end.saturating_sub(1);
            nearest.extend((0..op.new_range().len()).map(|step| (from.start + step).min(last)));
        }
        Self { kept, nearest }
    }

    pub(super) fn nearest(&self, new: usize) -> usize {
        self.nearest.get(new).copied().unwrap_or(0)
    }
}

/// Lines that are not blank, and how many blank ones stand before each.
struct Spaced<'a> {
    lines: Vec<&'a str>,
    gaps: Vec<usize>,
}

impl<'a> Spaced<'a> {
    fn new(text: &'a str) -> Self {
        let mut spaced = Self {
            lines: Vec::new(),
            gaps: Vec::new(),
        };
        let mut gap = 0;
        for line in text.split_inclusive('\n') {
            if essence(line).is_empty() {
                gap += 1;
            } else {
                spaced.lines.push(line);
                spaced.gaps.push(std::mem::take(&mut gap));
            }
        }
        spaced
    }

    fn gap(&self, at: usize) -> usize {
        self.gaps.get(at).copied().unwrap_or(0)
    }
}

pub(super) fn without_break(line: &str) -> &str {
    let line = line.strip_suffix('\n').unwrap_or(line);
    line.strip_suffix('\r').unwrap_or(line)
}

/// The line that a byte is in, counted from one.
pub(super) fn line_of(text: &str, at: usize) -> usize {
    let before = text.as_bytes().get(..at).unwrap_or_default();
    memchr::memchr_iter(b'\n', before).count() + 1
}

/// A line without its indentation, lookalikes and white space at its end.
pub(super) fn essence(line: &str) -> Cow<'_, str> {
    if line.is_ascii() {
        return Cow::Borrowed(line.trim());
    }
    let view = View::new(line, Blur::Lookalikes);
    Cow::Owned(view.as_str().trim().to_owned())
}

/// Where a sequence occurs in another, overlapping or not, in one pass (Knuth,
/// Morris, Pratt).
fn positions(text: &[u32], wanted: &[u32]) -> Vec<usize> {
    if wanted.iter().all(|number| *number == BLANK) || wanted.contains(&UNKNOWN) {
        return Vec::new();
    }
    let mut falls = vec![0; wanted.len()];
    let step = |falls: &[usize], mut matched: usize, number: u32| {
        while matched > 0 && wanted.get(matched) != Some(&number) {
            matched = falls.get(matched - 1).copied().unwrap_or(0);
        }
        matched + usize::from(wanted.get(matched) == Some(&number))
    };
    let mut matched = 0;
    for (at, number) in wanted.iter().enumerate().skip(1) {
        matched = step(&falls, matched, *number);
        if let Some(fall) = falls.get_mut(at) {
            *fall = matched;
        }
    }
    let mut found = Vec::new();
    matched = 0;
    for (at, number) in text.iter().enumerate() {
        matched = step(&falls, matched, *number);
        if matched == wanted.len() {
            found.push(at + 1 - matched);
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sequences_are_found_overlapping_or_not() {
        assert_eq!(positions(&[1, 2, 1, 2, 1], &[1, 2, 1]), [0, 2]);
        assert_eq!(positions(&[1, 1, 2], &[1, 2]), [1]);
        assert_eq!(positions(&[0, 0], &[0]), Vec::<usize>::new());
    }
}
