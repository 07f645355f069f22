//! The search for the text that an edit replaces: exactly first, then with
//! more and more tolerance, each step only where the one before found nothing.

use std::cell::OnceCell;
use std::ops::Range;

use serde::Serialize;
use unicode_normalization::char::canonical_combining_class;

use super::carry::Sighting;
use super::change::Change;
use super::endings::{Endings, with_mixed_endings};
use super::indent::Shift;
use super::lines::{LineMatch, Lines, essence, without_break};
use super::unclear::Unclear;
use super::view::{Blur, View, occurrences_where};

/// What the search did not care about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Tolerance {
    Exact,
    LineEndings,
    TrailingWhitespace,
    Lookalikes,
    Indentation,
    BlankLines,
}

impl Tolerance {
    /// Whether places are found character by character. Those that are found
    /// by lines are too different to change several of them unseen.
    pub(super) const fn is_by_characters(self) -> bool {
        !matches!(self, Self::Indentation | Self::BlankLines)
    }

    pub(super) const fn told(self) -> &'static str {
        match self {
            Self::Exact => "exactly",
            Self::LineEndings => "line endings aside",
            Self::TrailingWhitespace => "white space at the ends of lines aside",
            Self::Lookalikes => "quotes, dashes and other lookalikes aside",
            Self::Indentation => "indentation aside",
            Self::BlankLines => "blank lines aside",
        }
    }
}

/// How much tolerance there may be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Strictness {
    ExactOnly,
    Tolerant,
}

/// A part of the file, and what takes its place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Splice {
    pub(super) range: Range<usize>,
    pub(super) new: String,
}

/// The outcome of a search.
#[derive(Debug)]
pub(super) enum EditSearch {
    Found(Vec<Splice>, Tolerance),
    /// The text is at several places, and the edit does not say that all are
    /// meant.
    Several(Vec<Range<usize>>, Tolerance),
    /// The text is there, but what the new one is to be does not follow.
    Unclear(Range<usize>, Tolerance, Unclear),
    Nothing,
}

/// A text that is searched, with what was worked out about it so far.
pub(super) struct Haystack<'t> {
    text: &'t str,
    views: [OnceCell<View>; 3],
    lines: OnceCell<Lines<'t>>,
    endings: OnceCell<Endings>,
}

impl<'t> Haystack<'t> {
    pub(super) fn new(text: &'t str) -> Self {
        Self {
            text,
            views: [const { OnceCell::new() }; 3],
            lines: OnceCell::new(),
            endings: OnceCell::new(),
        }
    }

    /// Where the old text of a change is.
    pub(super) fn find(&self, change: &Change, strictness: Strictness) -> EditSearch {
        let counts = |at: usize| !self.cuts_letter(at + change.old.len());
        let exact = occurrences_where(self.text, &change.old, counts);
        if !exact.is_empty() {
            let places = exact.into_iter().map(|at| (at..at + change.old.len(), ()));
            return settle(places.collect(), Tolerance::Exact, change, |range, ()| {
                let is_meant = self.has_meant_endings(range, change);
                let new = change.new.clone();
                Ok(if is_meant {
                    new
                } else {
                    self.with_endings(range, change, new)
                })
            });
        }
        // Nothing but white space is everywhere, one way or another.
        if strictness == Strictness::ExactOnly || essence(&change.old).is_empty() {
            return EditSearch::Nothing;
        }
        let blurs = [
            (Blur::LineEndings, Tolerance::LineEndings),
            (Blur::TrailingSpace, Tolerance::TrailingWhitespace),
            (Blur::Lookalikes, Tolerance::Lookalikes),
        ];
        for (blur, tolerance) in blurs {
            let found = self.blurred(change, blur, tolerance);
            if !matches!(found, EditSearch::Nothing) {
                return found;
            }
        }
        self.by_lines(change)
            .unwrap_or_else(|| self.without_blanks(change))
    }

    /// Whether an accent stands here that belongs to the letter before.
    fn cuts_letter(&self, at: usize) -> bool {
        let behind = self.text.get(at..).and_then(|rest| rest.chars().next());
        behind.is_some_and(|c| canonical_combining_class(c) != 0)
    }

    fn view(&self, blur: Blur) -> Option<&View> {
        let cell = self.views.get(blur as usize)?;
        Some(cell.get_or_init(|| View::new(self.text, blur)))
    }

    /// Finds the text as it is in a blurred view.
    fn blurred(&self, change: &Change, blur: Blur, tolerance: Tolerance) -> EditSearch {
        let Some(view) = self.view(blur) else {
            return EditSearch::Nothing;
        };
        let wanted = View::new(&change.old, blur);
        if wanted.as_str().trim().is_empty() {
            return EditSearch::Nothing;
        }
        let part = |range: Range<usize>| self.text.get(range).unwrap_or_default();
        // White space before the first line break was a line of its own.
        let first_line = change.old.split('\n').next().unwrap_or_default();
        let needs_line_start =
            wanted.as_str().starts_with('\n') && !without_break(first_line).is_empty();
        let is_line_start =
            |at: usize| at == 0 || view.as_str().as_bytes().get(at - 1) == Some(&b'\n');
        let original = |at: usize| {
            let range = view.original(at..at + wanted.as_str().len());
            range.filter(|range| !self.cuts_letter(range.end))
        };
        let counts = |at: usize| original(at).is_some() && (!needs_line_start || is_line_start(at));
        let found = occurrences_where(view.as_str(), wanted.as_str(), counts);
        let places = found.into_iter().filter_map(|at| {
            let range = original(at)?;
            let start = match part(0..range.start).rfind('\n') {
                _ if !needs_line_start => range.start,
                above => above.map_or(0, |above| above + 1),
            };
            Some((start..range.end, at))
        });
        settle(places.collect(), tolerance, change, |range, at| {
            let sighting = Sighting {
                text: self.text,
                start: range.start,
                view,
                at,
                wanted: &wanted,
                old: &change.old,
                new: &change.new,
                around: (part(0..range.start), part(range.end..self.text.len())),
            };
            let new = match tolerance {
                Tolerance::LineEndings => change.new.clone(),
                _ => sighting.carried()?,
            };
            Ok(self.with_endings(range, change, new))
        })
    }

    /// Whether line breaks that were quoted exactly are to become others:
    /// nothing else changes, or they differ within both texts.
    fn has_meant_endings(&self, range: &Range<usize>, change: &Change) -> bool {
        let is_mixed = || {
            let replaced = self.text.get(range.clone()).unwrap_or_default();
            Endings::of(replaced) == Endings::Mixed && change.new.contains("\r\n")
        };
        let is_same = || Endings::Lf.applied(&change.old) == Endings::Lf.applied(&change.new);
        change.old.contains("\r\n") && (is_same() || is_mixed())
    }

    /// The new text with the line breaks that belong there: those of what it
    /// replaces, of the file, or of the line.
    fn with_endings(&self, replaced: &Range<usize>, change: &Change, new: String) -> String {
        let part = |range: Range<usize>| self.text.get(range).unwrap_or_default();
        let (before, behind) = (part(0..replaced.start), part(replaced.end..self.text.len()));
        // The line break that the text begins with may be one of two bytes.
        let is_cut = before.ends_with('\r') && part(replaced.clone()).starts_with('\n');
        let start = replaced.start - usize::from(is_cut);
        let inside = part(start..replaced.end);
        let rest = match behind.find('\n') {
            Some(at) if !inside.ends_with('\n') => at + 1,
            _ => 0,
        };
        let lines = part(start..replaced.end + rest);
        let file = *self.endings.get_or_init(|| Endings::of(self.text));
        let new = match (Endings::of(inside), file) {
            (Endings::Mixed, _) => with_mixed_endings(lines, change, new),
            (Endings::None, Endings::Mixed) => match Endings::of(lines) {
                Endings::None => {
                    let above = before.rfind('\n').map_or("", |at| part(0..at + 1));
                    let is_crlf = above.ends_with("\r\n");
                    (if is_crlf { Endings::Crlf } else { Endings::Lf }).applied(&new)
                }
                line => line.applied(&new),
            },
            (Endings::None, file) => file.applied(&new),
            (inside, _) => inside.applied(&new),
        };
        match new.strip_prefix('\r') {
            Some(rest) if is_cut && rest.starts_with('\n') => rest.to_owned(),
            _ => new,
        }
    }

    fn lines(&self) -> &Lines<'t> {
        self.lines.get_or_init(|| Lines::new(self.text))
    }

    /// Finds whole lines under another indentation. Where the indentation is
    /// the same, it was white space at the end, or the last line break. `None`
    /// if there are no such lines.
    fn by_lines(&self, change: &Change) -> Option<EditSearch> {
        let lines = self.lines();
        let places = lines.find(&change.old);
        let (same, shifted): (Vec<_>, Vec<_>) = places
            .into_iter()
            .partition(|place| place.shift == Shift::Same);
        let (places, tolerance) = match (same.is_empty(), shifted) {
            (false, _) => (same, Tolerance::TrailingWhitespace),
            (true, shifted) => (shifted, Tolerance::Indentation),
        };
        if places.is_empty() {
            return None;
        }
        let with_break = change.old.ends_with('\n');
        let found = places.into_iter().filter_map(|place| {
            let range = lines.range(&place, with_break)?;
            Some((range, place))
        });
        let new = |place: &LineMatch| lines.keep_lines(place, &change.old, &change.new);
        Some(self.settle_lines(found.collect(), tolerance, change, new))
    }

    /// Finds whole lines with other blank lines between them. Blank lines at
    /// the ends of the old text must be at the ends of the new one, too: then
    /// they are left alone.
    fn without_blanks(&self, change: &Change) -> EditSearch {
        let (old, _, _) = trimmed(&change.old);
        let new = new_without_outer_blanks(&change.old, &change.new);
        let lines = self.lines();
        let with_break = old.ends_with('\n');
        let found = lines
            .find_without_blanks(old)
            .into_iter()
            .filter_map(|place| Some((lines.range(&place, with_break)?, place)));
        let new = |place: &LineMatch| {
            let new = new.ok_or(Unclear::BlankLines)?;
            let mut kept = lines.keep_blanks(place, old, new)?;
            if new.ends_with('\n') && !kept.ends_with('\n') {
                kept.push_str(lines.last_break(place));
            }
            Ok(kept)
        };
        self.settle_lines(found.collect(), Tolerance::BlankLines, change, new)
    }

    /// Settles places found by lines. All count, also those without a new text.
    fn settle_lines(
        &self,
        found: Vec<(Range<usize>, LineMatch)>,
        tolerance: Tolerance,
        change: &Change,
        new: impl Fn(&LineMatch) -> Result<String, Unclear>,
    ) -> EditSearch {
        settle(found, tolerance, change, |range, place| {
            let mut new = new(&place)?;
            let replaced = self.text.get(range.clone()).unwrap_or_default();
            if change.old.ends_with('\n') && !replaced.ends_with('\n') && new.ends_with('\n') {
                // The last line of the file had none.
                new.truncate(without_break(&new).len());
            }
            Ok(new)
        })
    }
}

/// Settles for one place, or all if all are meant, as long as all have a new
/// text.
fn settle<T>(
    places: Vec<(Range<usize>, T)>,
    tolerance: Tolerance,
    change: &Change,
    new: impl Fn(&Range<usize>, T) -> Result<String, Unclear>,
) -> EditSearch {
    if places.is_empty() {
        return EditSearch::Nothing;
    }
    let may_be_several = change.replace_all && tolerance.is_by_characters();
    if places.len() > 1 && !may_be_several {
        let ranges = places.into_iter().map(|(range, _)| range);
        return EditSearch::Several(ranges.collect(), tolerance);
    }
    let mut splices: Vec<Splice> = Vec::with_capacity(places.len());
    for (range, found) in places {
        let is_free = splices
            .last()
            .is_none_or(|last| last.range.end <= range.start);
        if is_free {
            match new(&range, found) {
                Ok(new) => splices.push(Splice { range, new }),
                Err(why) => return EditSearch::Unclear(range, tolerance, why),
            }
        }
    }
    EditSearch::Found(splices, tolerance)
}

/// The new text without the blank lines at its ends; `None` if the old one has
/// others.
fn new_without_outer_blanks<'a>(old: &str, new: &'a str) -> Option<&'a str> {
    let (_, old_before, old_after) = trimmed(old);
    let (new_text, new_before, new_after) = trimmed(new);
    let is_same = new_text.is_empty() || (old_before, old_after) == (new_before, new_after);
    is_same.then_some(new_text)
}

/// The text without blank lines at its ends, and how many there were.
fn trimmed(text: &str) -> (&str, usize, usize) {
    let lines: Vec<&str> = text.split_inclusive('\n').collect();
    let is_blank = |line: &&&str| essence(line).is_empty();
    let before = lines.iter().take_while(is_blank).count();
    let after = lines.iter().skip(before).rev().take_while(is_blank).count();
    let length =
        |lines: &mut dyn Iterator<Item = &&str>| lines.map(|line| line.len()).sum::<usize>();
    let start = length(&mut lines.iter().take(before));
    let end = text.len() - length(&mut lines.iter().rev().take(after));
    (text.get(start..end).unwrap_or_default(), before, after)
}
