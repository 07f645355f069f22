//! Names of files, collected and paged: what `list_files` and `glob` share.

use std::cmp::Reverse;
use std::sync::Arc;
use std::time::SystemTime;

use bstr::ByteSlice as _;
use ptk_sandbox::walk::{IgnoreRules, LeftOut, Visitor, Walk, WalkEntry, WalkOptions};
use ptk_sandbox::{Kind, Place};
use serde::Serialize;

use super::page::page;
use super::start::{PathGlob, Pattern, folder};
use super::stop::{Stop, confined};
use super::tally::{Skipped, Tally};
use super::withheld::Withheld;
use crate::{CallContext, ToolError};

/// How many bytes of names, or of lines, a page has at most.
pub(crate) const MAX_PAGE: usize = 40 * 1024;

/// What is looked for.
#[derive(Debug)]
pub(crate) struct Find {
    pub(crate) directory: String,
    /// Without one, the entries of the directory itself.
    pub(crate) pattern: Option<String>,
    pub(crate) hidden: bool,
    pub(crate) order: Order,
    pub(crate) limit: usize,
    pub(crate) offset: usize,
}

/// The order of files.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Order {
    /// By path.
    Path,
    /// The most recently modified; ties by path.
    Newest,
}

/// Where a walk begins, with the rules from above, and what it looks for.
type Prepared = (Place, IgnoreRules, Option<Pattern>, Withheld);

impl Find {
    /// Finds files. `next` makes the call for the page from an offset on.
    pub(crate) async fn run(
        self,
        context: &CallContext,
        next: impl Fn(usize) -> String + Send + 'static,
    ) -> Result<FileList, ToolError> {
        let find = Arc::new(self);
        let prepare = {
            let (find, call) = (Arc::clone(&find), context.clone());
            move || find.prepare(&call)
        };
        let search = move |prepared: Result<Prepared, ToolError>, stop: &Stop| match prepared {
            Ok(prepared) => Ok(find.search(prepared, stop, next)),
            Err(missing) => Ok(FileList::nothing(&missing)),
        };
        confined(context, prepare, search).await
    }

    /// Prepares a walk. Fails if the directory is not there; where only the
    /// folder is missing that the pattern names, nothing matches, which is not
    /// a failure.
    fn prepare(&self, context: &CallContext) -> Result<Result<Prepared, ToolError>, ToolError> {
        let pattern = self.pattern.as_deref();
        let pattern = pattern.map(|text| Pattern::new(context, &self.directory, text));
        let pattern = pattern.transpose()?;
        let directory = folder(context, &self.directory)?;
        let place = match &pattern {
            None => Ok(directory),
            Some(pattern) => folder(context, &pattern.folder),
        };
        Ok(place.map(|place| {
            let rules = IgnoreRules::above(&place);
            let withheld = Withheld::new(context, &place);
            (place, rules, pattern, withheld)
        }))
    }

    fn search(
        &self,
        (place, rules, pattern, withheld): Prepared,
        stop: &Stop,
        next: impl Fn(usize) -> String,
    ) -> FileList {
        let collect = |pattern: Option<&Pattern>| {
            let options = WalkOptions {
                hidden: self.hidden || pattern.is_some_and(|pattern| pattern.names_hidden),
                depth: pattern.map_or(1, |pattern| pattern.depth),
                everything: pattern.is_none(),
            };
            let mut found: Vec<Named> = Vec::new();
            let mut tally = Tally::default();
            let visitor = || Collect {
                glob: pattern.map(|pattern| &pattern.glob),
                order: self.order,
                withheld: &withheld,
                found: Vec::new(),
                tally: Tally::default(),
            };
            match Walk::new(&place, options, rules.clone()) {
                Ok(walk) => {
                    for mut visitor in walk.run(|files| stop.goes_on(files), visitor) {
                        found.append(&mut visitor.found);
                        tally.add(visitor.tally);
                    }
                }
                Err(error) => tally.refused(&place, error),
            }
            (found, tally)
        };
        let (mut found, mut tally) = collect(pattern.as_ref());
        let mut widened = None;
        if found.is_empty()
            && !stop.is_set()
            && let (Some(pattern), Some(text)) = (&pattern, &self.pattern)
            && let Some((wider, note)) = pattern.wider(text)
        {
            (found, tally) = collect(Some(&wider));
            widened = (!found.is_empty()).then_some(note);
        }
        let total = found.len();
        let names = page(found, self.offset, self.limit);
        let outcome = WalkOutcome {
            tally: &tally,
            is_complete: !stop.is_set(),
            hint: self.hint(),
        };
        let names = names.into_iter().map(|(_, name)| name).collect();
        let mut list = FileList::new(names, self.offset, total, &outcome, next);
        let notes: Vec<String> = widened.into_iter().chain(list.note).collect();
        list.note = (!notes.is_empty()).then(|| notes.join(" "));
        list
    }

    fn hint(&self) -> String {
        match &self.pattern {
            None => "The folder is empty.".to_owned(),
            Some(pattern) if !pattern.contains('/') => {
                "No file matches, neither in the folder nor beneath it.".to_owned()
            }
            Some(_) => "No file matches.".to_owned(),
        }
    }
}

/// A name and its sort key: what sorts first comes first.
type Named = (Reverse<Option<SystemTime>>, Box<[u8]>);

/// Collects names, and times where they are sorted by them.
struct Collect<'a> {
    glob: Option<&'a PathGlob>,
    order: Order,
    withheld: &'a Withheld,
    found: Vec<Named>,
    tally: Tally,
}

impl Visitor for Collect<'_> {
    const IS_WORK: bool = false;

    fn wants(&self, relative: &[u8]) -> bool {
        self.glob.is_none_or(|glob| glob.matches(relative))
    }

    fn visit(&mut self, found: &WalkEntry<'_>) {
        self.tally.files += u64::from(found.kind() == Kind::File);
        if self.withheld.holds(found.shown()) {
            self.tally.withheld += 1;
            return;
        }
        let modified = match self.order {
            Order::Path => None,
            Order::Newest => found.metadata().ok().and_then(|found| found.modified),
        };
        let mut name = found.shown().to_vec();
        if found.kind() == Kind::Folder {
            name.push(b'/');
        }
        self.found
            .push((Reverse(modified), name.into_boxed_slice()));
    }

    fn left_out(&mut self, what: LeftOut<'_>) {
        self.tally.left_out(what);
    }
}

/// A page of names.
#[derive(Debug, Serialize)]
pub struct FileList {
    /// The paths on this page, relative to the workspace.
    pub files: Vec<String>,
    /// How many there are on this page.
    pub count: usize,
    /// How many there are in all.
    pub total: usize,
    /// The call that gives the next page, if there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next: Option<String>,
    /// A note on the result.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    skipped: Option<Skipped>,
}

impl FileList {
    /// An empty page, because the folder that the pattern begins with is
    /// missing.
    pub(crate) fn nothing(missing: &ToolError) -> Self {
        let note = match &missing.suggestion {
            Some(suggestion) => format!("No file matches. {}. {suggestion}", missing.message),
            None => format!("No file matches. {}.", missing.message),
        };
        Self {
            files: Vec::new(),
            count: 0,
            total: 0,
            next: None,
            note: Some(note),
            skipped: None,
        }
    }

    /// A page of these names, as far as they fit.
    pub(crate) fn new(
        names: Vec<Box<[u8]>>,
        offset: usize,
        total: usize,
        found: &WalkOutcome<'_>,
        next: impl FnOnce(usize) -> String,
    ) -> Self {
        let mut room = MAX_PAGE;
        let mut files = Vec::with_capacity(names.len());
        let mut lossy = 0_usize;
        for name in names {
            if name.len() > room && !files.is_empty() {
                break;
            }
            room = room.saturating_sub(name.len() + 4);
            lossy += usize::from(name.to_str().is_err());
            files.push(name.to_str_lossy().into_owned());
        }
        let behind = offset.saturating_add(files.len());
        let mut notes = Vec::new();
        if !found.is_complete {
            notes.push(format!(
                "The time was up before everything was seen: there are at least {total}."
            ));
        }
        if total == 0 {
            notes.push(found.nothing());
        } else if files.is_empty() {
            notes.push(format!(
                "The offset lies behind the end: there are {total} in all."
            ));
        }
        if lossy > 0 {
            notes.push(not_utf8(lossy));
        }
        Self {
            count: files.len(),
            total,
            next: (behind < total && !files.is_empty()).then(|| next(behind)),
            note: (!notes.is_empty()).then(|| notes.join(" ")),
            skipped: found.tally.skipped(),
            files,
        }
    }
}

/// The outcome of a walk.
pub(crate) struct WalkOutcome<'a> {
    pub(crate) tally: &'a Tally,
    pub(crate) is_complete: bool,
    /// The message if nothing was found, with what to try.
    pub(crate) hint: String,
}

impl WalkOutcome<'_> {
    /// The message if there is nothing, with possible reasons.
    pub(crate) fn nothing(&self) -> String {
        let reasons = self.tally.reasons();
        if reasons.is_empty() {
            return self.hint.clone();
        }
        format!("{} Not looked at: {}.", self.hint, reasons.join(", "))
    }
}

/// A note on names that are shown with replacements.
pub(crate) fn not_utf8(count: usize) -> String {
    let names = if count == 1 { "name is" } else { "names are" };
    format!("{count} {names} not valid UTF-8: shown with \u{FFFD}, not to be opened by that name.")
}
