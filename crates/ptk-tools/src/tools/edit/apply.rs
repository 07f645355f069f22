//! Applying edits to a text: all of them on the original, or none.

use std::ops::Range;

use super::change::{Change, Replacement};
use super::find::{EditSearch, Haystack, Splice, Strictness, Tolerance};
use super::lines::line_of;
use super::refusal::{Refused, Scene, Why};
use crate::ToolError;

/// A file's text with all edits made.
#[derive(Debug)]
pub(super) struct Applied {
    pub(super) text: String,
    /// One for each edit, in their order.
    pub(super) edits: Vec<AppliedEdit>,
}

/// The outcome of one edit.
#[derive(Debug)]
pub(super) struct AppliedEdit {
    pub(super) matched: Tolerance,
    pub(super) numbers_removed: bool,
    /// First and last line of each new text, in the new file. The last is the
    /// line above the first if nothing is left.
    pub(super) lines: Vec<(usize, usize)>,
}

/// Makes all edits on a text.
pub(super) fn apply(
    scene: &Scene<'_>,
    asked: &[Replacement],
    strictness: Strictness,
) -> Result<Applied, ToolError> {
    let changes: Vec<Change> = asked
        .iter()
        .enumerate()
        .map(|(at, asked)| Change::new(&scene.without_mark(asked, at + 1)?, at + 1))
        .collect::<Result<_, _>>()?;
    let haystack = Haystack::new(scene.text);
    let mut refused = Vec::new();
    let mut splices: Vec<(usize, Splice)> = Vec::new();
    let mut edits = Vec::with_capacity(changes.len());
    for (at, change) in changes.iter().enumerate() {
        let (search, numbers_removed) = find(scene.text, &haystack, change, at + 1, strictness)?;
        let why = match search {
            EditSearch::Found(found, matched) => {
                splices.extend(found.into_iter().map(|splice| (at, splice)));
                edits.push(AppliedEdit {
                    matched,
                    numbers_removed,
                    lines: Vec::new(),
                });
                continue;
            }
            EditSearch::Several(ranges, tolerance) => Why::Several(ranges, tolerance),
            EditSearch::Unclear(range, tolerance, why) => Why::Unclear(range, tolerance, why),
            EditSearch::Nothing => Why::Nothing,
        };
        refused.push(Refused {
            edit: at + 1,
            change,
            why,
        });
    }
    if !refused.is_empty() {
        return Err(scene.refuse(&refused, &changes));
    }
    splices.sort_by_key(|(_, splice)| splice.range.start);
    refuse_overlaps(scene, &splices)?;
    let text = splice(scene.text, &splices, &mut edits);
    if text == scene.text {
        return Err(ToolError::validation(format!(
            "{} says so already: nothing would change",
            scene.name
        ))
        .suggest("Go on, or say in new_string what is to be different."));
    }
    Ok(Applied { text, edits })
}

/// Looks for a text as it was given, then without line numbers, if these are
/// those of the lines where it is.
fn find(
    text: &str,
    haystack: &Haystack<'_>,
    change: &Change,
    number: usize,
    strictness: Strictness,
) -> Result<(EditSearch, bool), ToolError> {
    let exact = haystack.find(change, Strictness::ExactOnly);
    if !matches!(exact, EditSearch::Nothing) {
        return Ok((exact, false));
    }
    if let Some((first, bare)) = change.without_numbers(number)? {
        let found = haystack.find(&bare, strictness);
        if is_at_line(text, &found, first) {
            return Ok((found, true));
        }
    }
    Ok((haystack.find(change, strictness), false))
}

/// Whether something was found that begins with this line, as in a listing.
/// The numbers count up, so blank lines may not be others than quoted.
fn is_at_line(text: &str, found: &EditSearch, line: usize) -> bool {
    let is_there = |range: &Range<usize>| {
        let before = text.get(..range.start).unwrap_or_default();
        let above = before.rfind('\n').map_or(0, |at| at + 1);
        let indentation = before.get(above..).unwrap_or_default();
        line_of(text, range.start) == line && indentation.trim().is_empty()
    };
    match found {
        EditSearch::Found(_, Tolerance::BlankLines)
        | EditSearch::Unclear(_, Tolerance::BlankLines, _)
        | EditSearch::Nothing => false,
        EditSearch::Unclear(range, ..) => is_there(range),
        EditSearch::Found(splices, _) => splices.iter().any(|splice| is_there(&splice.range)),
        EditSearch::Several(ranges, _) => ranges.iter().any(is_there),
    }
}

fn refuse_overlaps(scene: &Scene<'_>, splices: &[(usize, Splice)]) -> Result<(), ToolError> {
    for pair in splices.windows(2) {
        let [(first, before), (second, after)] = pair else {
            continue;
        };
        if before.range.end > after.range.start {
            let (low, high) = (first.min(second) + 1, first.max(second) + 1);
            let line = line_of(scene.text, after.range.start);
            return Err(ToolError::validation(format!(
                "Edits {low} and {high} overlap at line {line} of {}. Nothing was changed",
                scene.name
            ))
            .suggest(
                "Every edit is looked up in the file as it is now. Make one edit of those that \
                 overlap.",
            ));
        }
    }
    Ok(())
}

/// Puts the new parts in, and notes the lines that they take.
fn splice(text: &str, splices: &[(usize, Splice)], edits: &mut [AppliedEdit]) -> String {
    let mut result = String::with_capacity(text.len());
    let (mut copied, mut line) = (0, 1);
    for (edit, Splice { range, new }) in splices {
        let kept = text.get(copied..range.start).unwrap_or_default();
        line += breaks(kept);
        result.push_str(kept);
        result.push_str(new);
        let lines = breaks(new);
        let is_open = !new.is_empty() && !new.ends_with('\n');
        let last = (line + lines + usize::from(is_open)).saturating_sub(1);
        if let Some(made) = edits.get_mut(*edit) {
            made.lines.push((line, last));
        }
        line += lines;
        copied = range.end;
    }
    result.push_str(text.get(copied..).unwrap_or_default());
    result
}

fn breaks(text: &str) -> usize {
    memchr::memchr_iter(b'\n', text.as_bytes()).count()
}
