//! Why an edit is refused, and what helps.

use std::ops::Range;

use serde_json::{Value, json};

use super::change::{Change, Replacement};
use super::closest::Closest;
use super::find::Tolerance;
use super::lines::line_of;
use super::unclear::Unclear;
use super::view::occurrences;
use crate::ToolError;

/// Edits whose closest text is shown.
const MAX_CLOSEST: usize = 3;
/// Places that are listed.
const MAX_PLACES: usize = 10;
/// A shorter text may be anywhere.
const LEAST_TELLING: usize = 16;
/// Characters of a line in a list of places.
const MAX_LINE: usize = 100;

/// The byte order mark.
const MARK: char = '\u{feff}';

/// An edit that cannot be made, and why.
#[derive(Debug)]
pub(super) struct Refused<'a> {
    /// Counted from one.
    pub(super) edit: usize,
    pub(super) change: &'a Change,
    pub(super) why: Why,
}

#[derive(Debug)]
pub(super) enum Why {
    Nothing,
    Several(Vec<Range<usize>>, Tolerance),
    Unclear(Range<usize>, Tolerance, Unclear),
}

/// The file that the edits are about.
#[derive(Debug, Clone, Copy)]
pub(super) struct Scene<'a> {
    /// The file as the model may call it.
    pub(super) name: &'a str,
    pub(super) text: &'a str,
    /// How many edits there are.
    pub(super) edits: usize,
    /// Whether the file has changed since it was read.
    pub(super) is_stale: bool,
    /// Whether a byte order mark stands before the text.
    pub(super) has_mark: bool,
}

impl Scene<'_> {
    /// What was asked for without the byte order mark, which is not part of
    /// the text.
    ///
    /// # Errors
    ///
    /// If nothing but the mark is to be replaced.
    pub(super) fn without_mark(
        &self,
        asked: &Replacement,
        number: usize,
    ) -> Result<Replacement, ToolError> {
        let bare = |text: &str| match text.strip_prefix(MARK) {
            Some(rest) if self.has_mark && !self.text.starts_with(MARK) => rest.to_owned(),
            _ => text.to_owned(),
        };
        let old_string = bare(&asked.old_string);
        if old_string.is_empty() && !asked.old_string.is_empty() {
            return Err(ToolError::validation(format!(
                "old_string of edit {number} is nothing but the byte order mark, which edit leaves \
                 as it is"
            ))
            .suggest("Leave this edit out. write_file writes a file without the mark."));
        }
        Ok(Replacement {
            old_string,
            new_string: bare(&asked.new_string),
            replace_all: asked.replace_all,
        })
    }

    /// One failure for all edits that cannot be made.
    pub(super) fn refuse(&self, refused: &[Refused<'_>], all: &[Change]) -> ToolError {
        let mut messages = Vec::new();
        let mut advice = Vec::new();
        let mut fields: Vec<(&str, Value)> = Vec::new();
        let mut closest = Vec::new();
        let mut places = Vec::new();
        let mut all_can_change = true;
        for refused in refused {
            let prefix = self.prefix(refused.edit);
            match &refused.why {
                Why::Nothing => {
                    if let Some(edit) = written_by(all, refused.change) {
                        messages.push(format!("{prefix}{}", self.not_yet(edit)));
                        advice.push(format!("Make one edit of {edit} and {}.", refused.edit));
                        continue;
                    }
                    messages.push(format!("{prefix}{}", self.missing(refused.change)));
                    if closest.len() < MAX_CLOSEST && !self.is_done(refused.change) {
                        closest.extend(Closest::find(self.text, &refused.change.old, refused.edit));
                    }
                }
                Why::Several(ranges, tolerance) => {
                    messages.push(format!("{prefix}{}", self.several(ranges, *tolerance)));
                    places.extend(self.places(refused.edit, ranges));
                    all_can_change &= tolerance.is_by_characters();
                }
                Why::Unclear(range, tolerance, why) => {
                    let told = self.unclear(range, *tolerance, *why);
                    messages.push(format!("{prefix}{told}"));
                    advice.push(format!("{prefix}{}", why.advice()));
                    let there = Closest::at(self.text, range, &refused.change.old, refused.edit);
                    closest.extend(there.filter(|_| closest.len() < MAX_CLOSEST));
                }
            }
        }
        if self.edits > 1 {
            messages.push("Nothing was changed".to_owned());
        }
        if self.is_stale {
            messages.push(format!(
                "{} has changed since it was read, so only an exact match counts",
                self.name
            ));
            advice.push(format!("Read {} again.", self.name));
        }
        if !places.is_empty() {
            let or = if all_can_change {
                ", or set replace_all to change all of them"
            } else {
                ""
            };
            advice.push(format!(
                "Quote more lines around the text exactly, so that only one place matches{or}."
            ));
            fields.push(("places", Value::Array(places)));
        }
        advice.extend(closest.iter().map(|closest| self.quote(closest)));
        if !closest.is_empty() {
            fields.push(("closest", json!(closest)));
        }
        if advice.is_empty() {
            advice.push(self.look_first(refused));
        }
        let error = ToolError::validation(messages.join(". ")).suggest(advice.join("\n"));
        fields
            .into_iter()
            .fold(error, |error, (name, value)| error.with(name, value))
    }

    fn prefix(&self, edit: usize) -> String {
        match self.edits {
            1 => String::new(),
            edits => format!("Edit {edit} of {edits}: "),
        }
    }

    /// Whether the new text is there already, as a line of its own or long
    /// enough not to be there by chance.
    fn is_done(&self, change: &Change) -> bool {
        let new = change.new.trim();
        let is_line = || self.text.lines().any(|line| line.trim() == new);
        !new.is_empty()
            && self.text.contains(&change.new)
            && (new.len() >= LEAST_TELLING || is_line())
    }

    fn missing(&self, change: &Change) -> String {
        let name = self.name;
        if self.text.is_empty() {
            return format!("old_string is not in {name}: the file is empty");
        }
        if !self.is_done(change) {
            return format!("old_string is not in {name}");
        }
        let found = occurrences(self.text, &change.new);
        let line = found.first().map_or(1, |at| line_of(self.text, *at));
        format!(
            "old_string is not in {name}, but new_string is, at line {line}: the edit seems to \
             have been made already"
        )
    }

    fn not_yet(&self, edit: usize) -> String {
        format!(
            "old_string is not in {} yet, only in new_string of edit {edit}: every edit is looked \
             up in the file as it is now",
            self.name
        )
    }

    fn several(&self, ranges: &[Range<usize>], tolerance: Tolerance) -> String {
        let lines = ranges.iter().take(MAX_PLACES);
        let lines: Vec<String> = lines
            .map(|range| line_of(self.text, range.start).to_string())
            .collect();
        let more = if ranges.len() > MAX_PLACES {
            ", …"
        } else {
            ""
        };
        let aside = match tolerance {
            Tolerance::Exact => String::new(),
            tolerance => format!(" ({})", tolerance.told()),
        };
        format!(
            "old_string is in {} {} times{aside}: at lines {}{more}",
            self.name,
            ranges.len(),
            lines.join(", ")
        )
    }

    fn unclear(&self, range: &Range<usize>, tolerance: Tolerance, why: Unclear) -> String {
        format!(
            "old_string is in {} ({}), at line {}, but {}",
            self.name,
            tolerance.told(),
            line_of(self.text, range.start),
            why.told()
        )
    }

    fn places(&self, edit: usize, ranges: &[Range<usize>]) -> Vec<Value> {
        let place = |range: &Range<usize>| {
            let before = self.text.get(..range.start).unwrap_or_default();
            let start = before.rfind('\n').map_or(0, |at| at + 1);
            let line = self.text.get(start..).and_then(|rest| rest.lines().next());
            let line: String = line.unwrap_or_default().chars().take(MAX_LINE).collect();
            json!({"edit": edit, "line": line_of(self.text, range.start), "text": line})
        };
        ranges.iter().take(MAX_PLACES).map(place).collect()
    }

    fn quote(&self, closest: &Closest) -> String {
        let Closest {
            start_line,
            end_line,
            text,
            diff,
            ..
        } = closest;
        let (first, last) = closest.all_lines;
        let mut lines = if first == last {
            format!("line {first}")
        } else {
            format!("lines {first}-{last}")
        };
        if (first, last) != (*start_line, *end_line) {
            lines.push_str(&format!("; {start_line}-{end_line} are"));
        }
        format!(
            "{}{} {lines}:\n{text}\nold_string (-) differs from the file (+):\n\
             {diff}Use the file's text as old_string, if that is what you mean.",
            self.prefix(closest.edit),
            if closest.is_meant {
                "The file has in"
            } else {
                "The closest text is in"
            },
        )
    }

    fn look_first(&self, refused: &[Refused<'_>]) -> String {
        if self.text.is_empty() {
            return "Use write_file to give it a content.".to_owned();
        }
        let is_done = |refused: &Refused<'_>| self.is_done(refused.change);
        if refused.iter().all(is_done) {
            return "Nothing is left to do for it; read the file to be sure.".to_owned();
        }
        let name = self.name;
        format!(
            "Nothing in it is similar. Use read_file(path=\"{name}\") and quote its text exactly."
        )
    }
}

/// The other edit that would write what this one looks for.
fn written_by(all: &[Change], change: &Change) -> Option<usize> {
    let is_in = |other: &Change| other != change && other.new.contains(&change.old);
    all.iter().position(is_in).map(|at| at + 1)
}
