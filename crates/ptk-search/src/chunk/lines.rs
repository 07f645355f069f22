//! Turns an outline into chunks: assigns lines to items, and splits long runs.

use std::ops::Range;

use super::kind::Kind;
use super::outline::Item;
use super::piece::{Chunk, Lines};

/// The target size of a chunk, in lines.
const TARGET_LINES: usize = 60;
/// The target size of a chunk, in bytes: what embedding models accept.
const TARGET_BYTES: usize = 1_500;
/// A chunk may exceed the target by up to a third before it is split, because a
/// short rest is of little use by itself.
const SLACK: (usize, usize) = (4, 3);
/// How much a blank line before a line favours a cut there, in columns of
/// indentation.
const BLANK_LINE: usize = 6;
/// The width of a tab in columns.
const TAB: usize = 4;

/// A text and the positions of its lines.
pub(super) struct Source<'a> {
    pub(super) text: &'a str,
    /// The offset of each line, and the end of the text.
    starts: Vec<usize>,
}

impl<'a> Source<'a> {
    pub(super) fn new(text: &'a str) -> Self {
        let mut starts = vec![0];
        starts.extend(memchr::memchr_iter(b'\n', text.as_bytes()).map(|at| at + 1));
        if starts.last() != Some(&text.len()) {
            starts.push(text.len());
        }
        Self { text, starts }
    }

    pub(super) fn count(&self) -> usize {
        self.starts.len() - 1
    }

    /// The text of these lines, without the last line break.
    pub(super) fn slice(&self, first: usize, last: usize) -> &'a str {
        self.text.get(self.place(first, last)).unwrap_or_default()
    }

    /// The byte range of these lines.
    fn place(&self, first: usize, last: usize) -> Range<usize> {
        let from = self.starts.get(first).copied().unwrap_or_default();
        let to = self.starts.get(last + 1).copied().unwrap_or(from);
        let lines = self.text.get(from..to).unwrap_or_default();
        let lines = lines.strip_suffix('\n').unwrap_or(lines);
        let lines = lines.strip_suffix('\r').unwrap_or(lines);
        from..from + lines.len()
    }

    fn line(&self, number: usize) -> &'a str {
        self.slice(number, number)
    }

    fn is_blank(&self, number: usize) -> bool {
        let line = self.line(number);
        // Most lines are decided by their first visible character.
        match line.bytes().find(|byte| !byte.is_ascii_whitespace()) {
            Some(byte) if byte.is_ascii_graphic() => false,
            _ => line.trim().is_empty(),
        }
    }

    /// The number of the line that contains a byte.
    pub(super) fn line_of(&self, byte: usize) -> usize {
        let behind = self.starts.partition_point(|start| *start <= byte);
        behind.saturating_sub(1).min(self.count().saturating_sub(1))
    }

    fn bytes(&self, first: usize, last: usize) -> usize {
        let at = |line: usize| self.starts.get(line).copied().unwrap_or(self.text.len());
        at(last + 1).saturating_sub(at(first))
    }
}

/// A run of lines with one owner.
#[derive(Debug, Clone, Copy)]
struct Run {
    first: usize,
    last: usize,
    /// The item, counted from one; zero for lines that no item owns.
    owner: usize,
}

/// Cuts a text with this outline into chunks. Nested items come after the item
/// that contains them. Lines that no item owns get the kind `rest`.
pub(super) fn chunks(source: &Source<'_>, items: &[Item], rest: Kind) -> Vec<Chunk<Range<usize>>> {
    let mut chunks = Vec::new();
    for run in runs(source, &paint(source, items)) {
        let item = run.owner.checked_sub(1).and_then(|at| items.get(at));
        split(source, run, |first, last| {
            chunks.push(Chunk {
                lines: Lines {
                    first: first + 1,
                    last: last + 1,
                },
                symbol: item.and_then(|item| item.symbol.clone()),
                kind: item.map_or(rest, |item| item.kind),
                scope: item.map(|item| item.scope.clone()).unwrap_or_default(),
                text: source.place(first, last),
            });
        });
    }
    chunks
}

/// The owner of each line. A line that two items share belongs to the first,
/// unless one lies within the other.
fn paint(source: &Source<'_>, items: &[Item]) -> Vec<usize> {
    let mut owners = vec![0_usize; source.count()];
    for (at, item) in items.iter().enumerate() {
        let lines = owners.get_mut(item.first..=item.last).unwrap_or_default();
        for owner in lines {
            let before = owner.checked_sub(1).and_then(|before| items.get(before));
            if before.is_none_or(|before| before.last >= item.last) {
                *owner = at + 1;
            }
        }
    }
    owners
}

/// Groups lines by owner, without surrounding blank lines. Lines without a
/// word, such as a closing bracket, go with those before them.
fn runs(source: &Source<'_>, owners: &[usize]) -> Vec<Run> {
    let mut runs: Vec<Run> = Vec::new();
    let mut current: Option<Run> = None;
    for (line, owner) in owners.iter().copied().enumerate() {
        if source.is_blank(line) {
            continue;
        }
        match &mut current {
            Some(run) if run.owner == owner => run.last = line,
            _ => {
                if let Some(run) = current.replace(Run {
                    first: line,
                    last: line,
                    owner,
                }) {
                    push(source, &mut runs, run);
                }
            }
        }
    }
    if let Some(run) = current {
        push(source, &mut runs, run);
    }
    runs
}

fn push(source: &Source<'_>, runs: &mut Vec<Run>, run: Run) {
    let says = |run: &Run| {
        let text = source.slice(run.first, run.last);
        text.contains(char::is_alphanumeric)
    };
    // Some languages close blocks with `end` instead of `}`.
    let closes = || source.slice(run.first, run.last).trim() == "end";
    match runs.last_mut() {
        Some(before) if !says(&run) || closes() => before.last = run.last,
        Some(before) if !says(before) => {
            *before = Run {
                first: before.first,
                ..run
            };
        }
        _ => runs.push(run),
    }
}

/// Calls `tell` for the pieces of a run: one, or several of bounded size, cut
/// where the text is indented least.
fn split(source: &Source<'_>, run: Run, mut tell: impl FnMut(usize, usize)) {
    let fits = |first: usize, last: usize, (times, by): (usize, usize)| {
        (last - first + 1) * by <= TARGET_LINES * times
            && source.bytes(first, last) * by <= TARGET_BYTES * times
    };
    let mut first = run.first;
    while !fits(first, run.last, SLACK) {
        // A line is never split, however long it is.
        let mut furthest = first;
        while furthest < run.last && fits(first, furthest + 1, (1, 1)) {
            furthest += 1;
        }
        if furthest >= run.last {
            break;
        }
        let earliest = first + (furthest - first) / 3 + 1;
        let cut = (earliest..=furthest + 1)
            .rev()
            .filter(|line| !source.is_blank(*line))
            .min_by_key(|line| cost(source, *line))
            .unwrap_or(furthest + 1);
        let mut last = cut - 1;
        while last > first && source.is_blank(last) {
            last -= 1;
        }
        tell(first, last);
        first = cut;
        while first < run.last && source.is_blank(first) {
            first += 1;
        }
    }
    tell(first, run.last);
}

/// The cost of a cut before a line.
fn cost(source: &Source<'_>, line: usize) -> usize {
    let text = source.line(line);
    let body = text.trim_start();
    let blanks = text.len() - body.len();
    let tabs = text.bytes().take(blanks).filter(|byte| *byte == b'\t');
    let indentation = blanks + tabs.count() * (TAB - 1);
    // A closing line belongs to the block that it closes.
    let closes = body.starts_with(['}', ')', ']', '{'])
        || body.starts_with("else")
        || body.starts_with("end");
    let bonus = if line > 0 && source.is_blank(line - 1) {
        BLANK_LINE
    } else {
        0
    };
    (indentation + BLANK_LINE + if closes { 4 * TAB } else { 0 }) - bonus
}
