//! The new text as the file would have written it: what the edit leaves alone
//! keeps the characters of the file.

use std::ops::Range;
use std::time::Duration;

use similar::{DiffOp, TextDiff};
use unicode_normalization::char::canonical_combining_class;

use super::signs::{Role, Sign, Signs};
use super::unclear::Unclear;
use super::view::View;

/// A long text is compared coarsely rather than long.
const MAX_TIME: Duration = Duration::from_millis(200);

/// A text that was found in a view of the file, and what takes its place.
#[derive(Debug, Clone, Copy)]
pub(super) struct Sighting<'a> {
    /// The text of the file.
    pub(super) text: &'a str,
    /// Where in it the old text begins.
    pub(super) start: usize,
    pub(super) view: &'a View,
    /// Where in the view the old text begins.
    pub(super) at: usize,
    pub(super) wanted: &'a View,
    pub(super) old: &'a str,
    pub(super) new: &'a str,
    /// What stands before the old text in the file, and behind it.
    pub(super) around: (&'a str, &'a str),
}

/// A part of the new text, and the part of the old text that it belongs to.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Piece {
    /// Both are the same.
    Kept(Both),
    /// Something new, within words that changed as a whole.
    Written { part: Both, words: Both },
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Both {
    old: Range<usize>,
    new: Range<usize>,
}

impl Sighting<'_> {
    /// The new text where all that it shares with the old one is as in the
    /// file: words, the beginning and end of a word that changed, and the
    /// quotes and dashes in it.
    ///
    /// # Errors
    ///
    /// If it is not clear which of the file's quotes or dashes one of the new
    /// text is.
    pub(super) fn carried(&self) -> Result<String, Unclear> {
        let mut result = String::new();
        // Where the part that was kept last ends, in the old text and the file.
        let mut last = (0, None);
        let pieces = pieces(self.old, self.new);
        let behind = pieces.iter().skip(1).map(Some).chain([None]);
        for (piece, next) in pieces.iter().zip(behind) {
            match piece {
                Piece::Kept(both) => last = (both.old.end, self.keep(both, &mut result)),
                Piece::Written { part, words } => {
                    if part.old.is_empty() && part.old.start == last.0 {
                        result.push_str(self.unseen(last.1, part, next));
                    }
                    self.check_affixes(part, words)?;
                    self.write(part, words, &mut result)?;
                }
            }
        }
        Ok(result)
    }

    /// Where a place in the old text is in its view, if it is there between
    /// two characters of the view and of the file.
    fn edge(&self, old: usize) -> Option<usize> {
        let edge = self.wanted.edge(old)?;
        self.view.is_edge(self.at + edge).then_some(edge)
    }

    /// What stands in the file for a part of the old text.
    fn in_file(&self, old: &Range<usize>) -> Option<Range<usize>> {
        let (start, end) = (self.edge(old.start)?, self.edge(old.end)?);
        self.view.original(self.at + start..self.at + end)
    }

    /// Adds what stays. Returns where it ends in the file.
    fn keep(&self, both: &Both, result: &mut String) -> Option<usize> {
        let Range { start, end } = both.old.clone();
        let is_edge = |at: &usize| self.old.is_char_boundary(*at) && self.edge(*at).is_some();
        let first = (start..=end).find(is_edge).unwrap_or(end);
        let last = (first..=end).rev().find(is_edge).unwrap_or(first);
        let Some(mut kept) = self.in_file(&(first..last)) else {
            result.push_str(part(self.old, &both.old));
            return None;
        };
        if first == 0 {
            kept.start = self.start;
        }
        result.push_str(part(self.old, &(start..first)));
        result.push_str(part(self.text, &kept));
        // White space that is not at the end of a line any more.
        let seen = self.edge(last).map_or(last, |edge| self.wanted.seen(edge));
        let behind = part(self.new, &(both.new.start + (last - start)..self.new.len()));
        let is_moved = seen < last && !starts_with_break(behind);
        let rest = if is_moved { seen } else { last };
        result.push_str(part(self.old, &(rest..end)));
        (rest == end).then_some(kept.end)
    }

    /// What the file has, but the view does not, where something is inserted.
    /// White space at the end of a line stays there.
    fn unseen(&self, from: Option<usize>, inserted: &Both, next: Option<&Piece>) -> &str {
        let Some(Piece::Kept(next)) = next.filter(|_| from.is_some()) else {
            return "";
        };
        let new = part(self.new, &inserted.new);
        let behind = part(self.old, &next.old);
        let is_line_end = starts_with_break(behind.trim_start_matches([' ', '\t']));
        if is_line_end && !starts_with_break(new) {
            return "";
        }
        let to = self.edge(next.old.start).and_then(|edge| {
            let at = self.at + edge;
            Some(self.view.original(at..self.view.next_edge(at)?)?.start)
        });
        from.zip(to)
            .and_then(|(from, to)| self.text.get(from..to))
            .unwrap_or_default()
    }

    /// The quotes, dashes and such of a part of the old text.
    fn signs(&self, old: &Range<usize>) -> Vec<Sign<'_>> {
        let mut signs = Vec::new();
        let mut start = old.start;
        let ends = (old.start + 1..=old.end).filter(|at| self.old.is_char_boundary(*at));
        for end in ends {
            if self.edge(start).is_none() {
                start = end;
            } else if let Some(file) = self.in_file(&(start..end)) {
                signs.extend(Sign::new(
                    start..end,
                    part(self.old, &(start..end)),
                    part(self.text, &file),
                ));
                start = end;
            }
        }
        signs
    }

    fn role(&self, text: &str, sign: &Range<usize>) -> Role {
        let before = text.get(..sign.start).unwrap_or_default();
        let behind = text.get(sign.end..).unwrap_or_default();
        Role::of(
            before.chars().rev().chain(self.around.0.chars().rev()),
            part(text, sign),
            behind.chars().chain(self.around.1.chars()),
        )
    }

    /// Refuses signs at the ends of words that stay, but as other signs.
    fn check_affixes(&self, piece: &Both, words: &Both) -> Result<(), Unclear> {
        for sign in self.signs(&words.old) {
            let Range { start, end } = sign.range;
            let new_start = if end <= piece.old.start {
                words.new.start + (start - words.old.start)
            } else if start >= piece.old.end {
                words.new.end - (words.old.end - start)
            } else {
                continue;
            };
            let new = new_start..new_start + (end - start);
            let role = || self.role(self.old, &(start..end));
            if sign.is_other() && !role().may_become(self.role(self.new, &new)) {
                return Err(Unclear::Signs);
            }
        }
        Ok(())
    }

    /// Adds what is new, with the signs that the file has in that role.
    fn write(&self, piece: &Both, words: &Both, result: &mut String) -> Result<(), Unclear> {
        let signs = self.signs(&words.old);
        let known = Signs::new(signs.into_iter().map(|sign| {
            let role = self.role(self.old, &sign.range);
            (sign, role)
        }));
        let mut at = piece.new.start;
        while at < piece.new.end {
            let rest = part(self.new, &(at..piece.new.end));
            if let Some(sign) = known.at_start_of(rest) {
                let range = at..at + sign.len();
                let role = self.role(self.new, &range);
                result.push_str(known.in_file(sign, role)?);
                at = range.end;
            } else {
                let next = rest.chars().next();
                result.extend(next);
                at += next.map_or(1, char::len_utf8);
            }
        }
        Ok(())
    }
}

fn part<'t>(text: &'t str, range: &Range<usize>) -> &'t str {
    text.get(range.clone()).unwrap_or_default()
}

/// The new text in pieces, compared by words, and words that changed by the
/// characters at their ends.
fn pieces(old: &str, new: &str) -> Vec<Piece> {
    let diff = TextDiff::configure().timeout(MAX_TIME).diff_words(old, new);
    let mut pieces: Vec<Piece> = Vec::new();
    let (mut at_old, mut at_new) = (0, 0);
    for op in diff.ops() {
        let old_words = op.old_range().map_while(|word| diff.old_slice(word));
        let new_words = op.new_range().map_while(|word| diff.new_slice(word));
        let old_length: usize = old_words.map(str::len).sum();
        let new_length: usize = new_words.map(str::len).sum();
        let words = Both {
            old: at_old..at_old + old_length,
            new: at_new..at_new + new_length,
        };
        (at_old, at_new) = (words.old.end, words.new.end);
        match op {
            DiffOp::Equal { .. } => push_kept(&mut pieces, words),
            _ => push_changed(&mut pieces, old, new, &words),
        }
    }
    pieces
}

fn push_kept(pieces: &mut Vec<Piece>, both: Both) {
    if both.old.is_empty() {
        return;
    }
    match pieces.last_mut() {
        Some(Piece::Kept(last))
            if (last.old.end, last.new.end) == (both.old.start, both.new.start) =>
        {
            last.old.end = both.old.end;
            last.new.end = both.new.end;
        }
        _ => pieces.push(Piece::Kept(both)),
    }
}

fn push_changed(pieces: &mut Vec<Piece>, old: &str, new: &str, words: &Both) {
    let (from, to) = (part(old, &words.old), part(new, &words.new));
    let before = common_start(from, to);
    let rest = |text: &'_ str| text.len() - before;
    let behind = common_end(from, to).min(rest(from)).min(rest(to));
    let (old_end, new_end) = (words.old.end - behind, words.new.end - behind);
    push_kept(
        pieces,
        Both {
            old: words.old.start..words.old.start + before,
            new: words.new.start..words.new.start + before,
        },
    );
    pieces.push(Piece::Written {
        part: Both {
            old: words.old.start + before..old_end,
            new: words.new.start + before..new_end,
        },
        words: words.clone(),
    });
    push_kept(
        pieces,
        Both {
            old: old_end..words.old.end,
            new: new_end..words.new.end,
        },
    );
}

/// How long the same beginning of two texts is, in whole letters.
fn common_start(one: &str, other: &str) -> usize {
    let same = one.chars().zip(other.chars()).take_while(|(a, b)| a == b);
    let mut length: usize = same.map(|(c, _)| c.len_utf8()).sum();
    let continues = |text: &str, at: usize| text.get(at..).is_some_and(starts_with_mark);
    while continues(one, length) || continues(other, length) {
        let last = one.get(..length).and_then(|kept| kept.chars().next_back());
        let Some(last) = last else { break };
        length -= last.len_utf8();
    }
    length
}

/// How long the same end of two texts is, in whole letters.
fn common_end(one: &str, other: &str) -> usize {
    let same = one.chars().rev().zip(other.chars().rev());
    let mut length: usize = same
        .take_while(|(a, b)| a == b)
        .map(|(c, _)| c.len_utf8())
        .sum();
    while let Some(kept) = one
        .get(one.len() - length..)
        .filter(|kept| starts_with_mark(kept))
    {
        length -= kept.chars().next().map_or(length, char::len_utf8);
    }
    length
}

fn starts_with_break(text: &str) -> bool {
    text.starts_with('\n') || text.starts_with("\r\n")
}

fn starts_with_mark(text: &str) -> bool {
    let first = text.chars().next();
    first.is_some_and(|c| canonical_combining_class(c) != 0)
}
