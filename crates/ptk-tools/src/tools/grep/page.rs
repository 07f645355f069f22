//! The page of matches that a result shows.

use bstr::ByteSlice as _;
use ptk_sandbox::Kind;
use serde::Serialize;
use serde_json::{Map, Value};

use super::args::{GrepArgs, GrepOutput};
use crate::SnippetFormat;
use crate::tools::search::collect::{Line, Window};
use crate::tools::search::files::{MAX_PAGE, WalkOutcome, not_utf8};
use crate::tools::search::matches::{Counted, Matched, Search};
use crate::tools::search::page::{defaults_of, next_call};
use crate::tools::search::tally::{Skipped, shown};
use crate::tools::search::withheld::Withheld;

/// The result of [`Grep`](super::Grep).
#[derive(Debug, Default, Serialize)]
pub struct GrepResult {
    #[serde(skip_serializing_if = "Option::is_none")]
    matches: Option<Vec<String>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    files: Option<Vec<String>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    counts: Option<Map<String, Value>>,
    /// How many results there are on this page.
    count: usize,
    /// How many there are in all.
    total: u64,
    /// In how many files.
    total_files: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    next: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    note: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    skipped: Option<Skipped>,
}

/// The page of matches that is shown.
pub(super) struct Page<'a> {
    /// The name of the tool, for the call that gives the next page.
    pub(super) tool: &'static str,
    pub(super) args: &'a GrepArgs,
    pub(super) search: &'a Search<'a>,
    pub(super) counted: &'a Counted,
    /// How it was found, if not as the pattern says.
    pub(super) note: Option<String>,
}

impl Page<'_> {
    /// The result with this page, and how to go on.
    pub(super) fn result(&self) -> GrepResult {
        let files = &self.counted.files;
        let mut result = match self.args.output {
            GrepOutput::Content => self.lines(),
            GrepOutput::Files => {
                let names: Vec<String> = self.page().map(|file| name(&file.path)).collect();
                GrepResult {
                    count: names.len(),
                    files: Some(names),
                    ..GrepResult::default()
                }
            }
            GrepOutput::Count => {
                let counts = self
                    .page()
                    .map(|file| (name(&file.path), file.count.into()));
                let counts: Map<String, Value> = counts.collect();
                GrepResult {
                    count: counts.len(),
                    counts: Some(counts),
                    ..GrepResult::default()
                }
            }
        };
        result.total_files = files.len();
        result.total = match self.args.output {
            GrepOutput::Files => files.len() as u64,
            GrepOutput::Content | GrepOutput::Count => files.iter().map(|file| file.count).sum(),
        };
        let pages = match self.args.output {
            GrepOutput::Content => result.total,
            GrepOutput::Files | GrepOutput::Count => files.len() as u64,
        };
        let behind = self.args.offset.saturating_add(result.count);
        if (behind as u64) < pages && result.count > 0 {
            let defaults = defaults_of(&[("pattern", &self.args.pattern)]);
            let defaults = defaults.as_ref().unwrap_or(self.args);
            let next = next_call(self.tool, self.args, defaults, &["pattern"], behind);
            result.next = Some(next);
        }
        result.skipped = self.counted.tally.skipped();
        result.note = self.note(&result, pages);
        result
    }

    fn page(&self) -> impl Iterator<Item = &Matched> {
        let mut room = MAX_PAGE;
        let files = self.counted.files.iter().skip(self.args.offset);
        files.take(self.args.max_results).take_while(move |file| {
            let fits = room > 0;
            room = room.saturating_sub(file.path.len() + 8);
            fits
        })
    }

    /// The matches from `offset` on, as far as they fit.
    fn lines(&self) -> GrepResult {
        let around = self.args.context;
        let mut matches = Vec::new();
        let mut skip = self.args.offset;
        let mut taken = 0;
        let mut room = MAX_PAGE;
        for file in &self.counted.files {
            let count = usize::try_from(file.count).unwrap_or(usize::MAX);
            if skip >= count {
                skip -= count;
                continue;
            }
            let take = self.args.max_results - taken;
            if take == 0 || room == 0 {
                break;
            }
            let window = Window { skip, take, room };
            skip = 0;
            let excerpt = self
                .search
                .excerpt(self.counted, &file.path, window, around);
            // A file that was changed or removed in between has nothing to
            // show any more.
            let Ok(excerpt) = excerpt else { continue };
            self.search.note_read(&file.path, &excerpt);
            let shown = if self.search.context.snippet_format() == SnippetFormat::Always {
                self.search.snippets(&file.path, &excerpt.lines)
            } else {
                if around > 0 && !matches.is_empty() {
                    matches.push("--".to_owned());
                }
                render(&file.path, &excerpt.lines, around > 0)
            };
            let size: usize = shown.iter().map(|line| line.len() + 4).sum();
            room = room.saturating_sub(size);
            matches.extend(shown);
            taken += excerpt.taken;
        }
        GrepResult {
            count: taken,
            matches: Some(matches),
            ..GrepResult::default()
        }
    }

    fn note(&self, result: &GrepResult, pages: u64) -> Option<String> {
        let mut notes: Vec<String> = self.note.clone().into_iter().collect();
        if !self.counted.is_complete {
            notes.push(format!(
                "The time was up after {} files: there are at least {} results. Search a smaller \
                 folder, or give a glob.",
                self.counted.tally.files, result.total
            ));
        }
        if pages == 0 {
            let outcome = WalkOutcome {
                tally: &self.counted.tally,
                is_complete: true,
                hint: self.hint(),
            };
            notes.push(outcome.nothing());
        } else if result.count == 0 {
            notes.push(format!(
                "The offset lies behind the end: there are {pages} in all."
            ));
        }
        let lossy = self.page().filter(|file| file.path.to_str().is_err());
        let lossy = lossy.count();
        if lossy > 0 {
            notes.push(not_utf8(lossy));
        }
        (!notes.is_empty()).then(|| notes.join(" "))
    }

    fn hint(&self) -> String {
        let files = self.counted.tally.files;
        let mut hint = match (files, &self.args.glob) {
            (0, Some(glob)) => return format!("No file matches the glob \"{glob}\"."),
            (0, None) => return "No file to search.".to_owned(),
            (1, _) => "No match in 1 file.".to_owned(),
            _ => format!("No match in {files} files."),
        };
        if let Some(file) = self.named_file() {
            // Not as a call: one that stands in a result counts as copied.
            hint.push_str(&format!(" {file} is a file, which read_file shows."));
            return hint;
        }
        if self.args.case_sensitive == Some(true)
            && self.args.pattern.chars().any(char::is_alphabetic)
        {
            hint.push_str(" Capital and small letters differ unless case_sensitive is false.");
        }
        let is_special = |c| r"\.+*?()|[]{}^$".contains(c);
        if !self.args.literal && self.args.pattern.contains(is_special) {
            hint.push_str(
                " The pattern is a regular expression; literal searches for it as it stands.",
            );
        }
        hint
    }

    /// The file that has the pattern for its path, if it may be seen.
    fn named_file(&self) -> Option<String> {
        let context = self.search.context;
        let place = context.resolve(&self.args.pattern).ok()?;
        let is_file = place.metadata().is_ok_and(|it| it.kind == Kind::File);
        let name = place.to_string();
        let is_withheld = Withheld::new(context, &place).holds(name.as_bytes());
        (is_file && !is_withheld).then_some(name)
    }
}

fn name(path: &[u8]) -> String {
    path.to_str_lossy().into_owned()
}

fn render(path: &[u8], lines: &[Line], with_breaks: bool) -> Vec<String> {
    let path = shown(path);
    let mut rendered = Vec::with_capacity(lines.len());
    let mut last = None;
    for line in lines {
        if with_breaks && last.is_some_and(|last| line.number > last + 1) {
            rendered.push("--".to_owned());
        }
        last = Some(line.number);
        let mark = if line.is_match { ':' } else { '-' };
        rendered.push(format!("{path}{mark}{}{mark}{}", line.number, line.text));
    }
    rendered
}
