//! Which files were read and written, and what they held: a file is overwritten
//! only if all of it was seen as it is now.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

use ptk_sandbox::{Fingerprint, Place};
use serde::{Deserialize, Serialize};

use crate::ToolError;

/// How many files are remembered; of the oldest it is forgotten that they were
/// read.
const MAX_FILES: usize = 10_000;

/// A file that the call has read or written.
#[derive(Debug, Clone)]
pub(crate) enum Touched {
    Read {
        place: Place,
        fingerprint: Fingerprint,
        lines: Ranges,
    },
    Wrote {
        place: Place,
        fingerprint: Fingerprint,
    },
}

impl Touched {
    /// Marks that the file was read, but its lines were not shown.
    pub(crate) fn hide(&mut self) {
        if let Self::Read { lines, .. } = self {
            lines.clear();
        }
    }
}

/// Lines of a file, as ranges that neither touch nor overlap.
///
/// ```
/// use ptk_tools::Ranges;
///
/// let mut seen = Ranges::new(10);
/// seen.add(1, 4);
/// seen.add(5, 9);
/// assert!(!seen.is_whole());
/// assert_eq!(seen.to_string(), "1-9 of 10");
/// seen.add(10, 10);
/// assert!(seen.is_whole());
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ranges {
    /// First and last line of each, counted from one, in order.
    ranges: Vec<(usize, usize)>,
    /// How many lines the file has.
    lines: usize,
}

impl Ranges {
    /// No line yet of a file with this many lines.
    #[must_use]
    pub const fn new(lines: usize) -> Self {
        Self {
            ranges: Vec::new(),
            lines,
        }
    }

    /// All lines of a file.
    #[must_use]
    pub fn whole(lines: usize) -> Self {
        let mut ranges = Self::new(lines);
        ranges.add(1, lines);
        ranges
    }

    /// Adds the lines from `first` to `last`, both included.
    pub fn add(&mut self, mut first: usize, mut last: usize) {
        if first > last {
            return;
        }
        self.ranges.retain(|(start, end)| {
            let apart = *end + 1 < first || last + 1 < *start;
            if !apart {
                first = first.min(*start);
                last = last.max(*end);
            }
            apart
        });
        let at = self.ranges.partition_point(|(start, _)| *start < first);
        self.ranges.insert(at, (first, last));
    }

    /// Removes all lines.
    pub fn clear(&mut self) {
        self.ranges.clear();
    }

    /// Adds all lines of another set.
    pub fn extend(&mut self, other: &Self) {
        for (first, last) in &other.ranges {
            self.add(*first, *last);
        }
    }

    /// Whether no line is missing.
    #[must_use]
    pub fn is_whole(&self) -> bool {
        self.lines == 0 || matches!(self.ranges.as_slice(), [(1, last)] if *last >= self.lines)
    }
}

impl std::fmt::Display for Ranges {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let ranges = self.ranges.iter().map(|(first, last)| {
            if first == last {
                first.to_string()
            } else {
                format!("{first}-{last}")
            }
        });
        let ranges: Vec<String> = ranges.collect();
        write!(f, "{} of {}", ranges.join(", "), self.lines)
    }
}

/// A file that a call has shown or written, as it was then. A session that
/// continues in another process [remembers] it there.
///
/// [remembers]: crate::Conversation::remember
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SeenFile {
    path: PathBuf,
    size: u64,
    /// In hexadecimal digits.
    hash: String,
    lines: Ranges,
}

impl SeenFile {
    fn new(path: PathBuf, fingerprint: Fingerprint, lines: Ranges) -> Self {
        Self {
            path,
            size: fingerprint.size(),
            hash: fingerprint.to_string(),
            lines,
        }
    }

    /// The fingerprint; `None` if the stored hash is invalid.
    fn fingerprint(&self) -> Option<Fingerprint> {
        let hash = blake3::Hash::from_hex(&self.hash).ok()?;
        Some(Fingerprint::from_hash(self.size, *hash.as_bytes()))
    }
}

/// What is known of a file.
#[derive(Debug, Clone)]
struct Seen {
    fingerprint: Fingerprint,
    lines: Ranges,
    /// When it was seen last, as a count.
    at: u64,
}

/// The files that were read or written.
#[derive(Debug, Default)]
pub(crate) struct Files {
    seen: Mutex<(HashMap<PathBuf, Seen>, u64)>,
}

/// Whether a file may be overwritten.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Knowledge {
    /// All of it was seen as it is now.
    Whole,
    /// It was never read.
    None,
    /// Only these lines were seen.
    Part(Ranges),
    /// It is not what it was when it was seen.
    Changed,
}

impl Files {
    fn lock(&self) -> std::sync::MutexGuard<'_, (HashMap<PathBuf, Seen>, u64)> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes over what a call has touched, and returns the files.
    pub(crate) fn take(&self, touched: Vec<Touched>) -> Vec<SeenFile> {
        let files = touched.into_iter().map(|touch| match touch {
            Touched::Read {
                place,
                fingerprint,
                lines,
            } => (place.absolute(), fingerprint, lines),
            Touched::Wrote { place, fingerprint } => {
                (place.absolute(), fingerprint, Ranges::new(0))
            }
        });
        let files: Vec<_> = files.collect();
        self.learn(files.iter().cloned());
        let seen = files.into_iter();
        seen.map(|(path, fingerprint, lines)| SeenFile::new(path, fingerprint, lines))
            .collect()
    }

    /// Takes over what was seen before.
    pub(crate) fn remember(&self, files: impl IntoIterator<Item = SeenFile>) {
        self.learn(files.into_iter().filter_map(|file| {
            let fingerprint = file.fingerprint()?;
            Some((file.path, fingerprint, file.lines))
        }));
    }

    /// Forgets the lines of these files.
    pub(crate) fn hide(&self, files: impl IntoIterator<Item = SeenFile>) {
        let mut guard = self.lock();
        for file in files {
            let now = file.fingerprint();
            if let Some(seen) = guard.0.get_mut(&file.path)
                && Some(seen.fingerprint) == now
                && file.lines.lines > 0
            {
                seen.lines = Ranges::new(file.lines.lines);
            }
        }
    }

    fn learn(&self, files: impl Iterator<Item = (PathBuf, Fingerprint, Ranges)>) {
        let mut guard = self.lock();
        let (seen, count) = &mut *guard;
        for (path, fingerprint, lines) in files {
            *count += 1;
            let entry = seen.entry(path).or_insert_with(|| Seen {
                fingerprint,
                lines: lines.clone(),
                at: *count,
            });
            if entry.fingerprint == fingerprint && entry.lines.is_whole() {
                // All of it is known, so a part adds nothing.
            } else if entry.fingerprint == fingerprint && entry.lines.lines == lines.lines {
                entry.lines.extend(&lines);
            } else {
                entry.fingerprint = fingerprint;
                entry.lines = lines;
            }
            entry.at = *count;
        }
        if seen.len() > MAX_FILES {
            let mut ages: Vec<u64> = seen.values().map(|file| file.at).collect();
            ages.sort_unstable();
            let limit = ages.get(seen.len() - MAX_FILES).copied().unwrap_or(0);
            seen.retain(|_, file| file.at >= limit);
        }
    }

    /// What is known of a file that holds `now`.
    pub(crate) fn knowledge(&self, place: &Place, now: Fingerprint) -> Knowledge {
        match self.lock().0.get(&place.absolute()) {
            None => Knowledge::None,
            Some(seen) if seen.fingerprint != now => Knowledge::Changed,
            Some(seen) if seen.lines.is_whole() => Knowledge::Whole,
            Some(seen) => Knowledge::Part(seen.lines.clone()),
        }
    }

    /// Forgets everything.
    pub(crate) fn clear(&self) {
        self.lock().0.clear();
    }
}

impl Knowledge {
    /// Refuses to overwrite what was not seen.
    pub(crate) fn may_overwrite(&self, place: &Place) -> Result<(), ToolError> {
        match self.refusal(place) {
            None => Ok(()),
            Some(error) => Err(error
                .advise("To change a part of it, use edit. To replace it, remove the file first.")),
        }
    }

    fn refusal(&self, place: &Place) -> Option<ToolError> {
        let read_it = || format!("Use read_file(path=\"{place}\") first, then write it.");
        let (message, suggestion) = match self {
            Self::Whole => return None,
            Self::None => (
                format!("{place} exists and was not read; writing it would lose what it holds"),
                format!("{} To change a part of it, use edit.", read_it()),
            ),
            Self::Part(lines) if lines.ranges.is_empty() => (
                format!(
                    "None of the {} lines of {place} were shown; writing it would lose them",
                    lines.lines
                ),
                "Read it in parts, or use edit to change a part of it.".to_owned(),
            ),
            Self::Part(lines) => (
                format!(
                    "Only lines {lines} of {place} were read; writing it would lose the others"
                ),
                "Read the other lines, too, or use edit to change a part of it.".to_owned(),
            ),
            Self::Changed => (
                format!("{place} has changed since it was read"),
                format!("Another program has written it. {}", read_it()),
            ),
        };
        Some(ToolError::validation(message).suggest(suggestion))
    }
}
