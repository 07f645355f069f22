//! What a walk saw, and what it left out and why.

use std::io;

use bstr::ByteSlice as _;
use ptk_sandbox::walk::LeftOut;
use ptk_sandbox::{Kind, PathError, Place};
use serde::Serialize;

/// How many names of unreadable files a result shows.
const NAMED: usize = 5;
/// How many of them a walk remembers, to name the first.
const REMEMBERED: usize = 1_000;

/// Counts of a walk.
#[derive(Debug, Default)]
pub(crate) struct Tally {
    /// Files that were looked at.
    pub(crate) files: u64,
    /// Files and folders that the ignore rules left out.
    ignored: u64,
    /// Files and folders whose names begin with a dot.
    hidden: u64,
    /// Files that are not text.
    pub(crate) binary: u64,
    /// Files that a rule forbids to show.
    pub(crate) withheld: u64,
    links: u64,
    special: u64,
    unreadable: u64,
    named: Vec<String>,
}

/// What was left out, for the model; only what there is.
#[derive(Debug, Serialize, PartialEq, Eq)]
pub(crate) struct Skipped {
    #[serde(skip_serializing_if = "is_zero")]
    binary: u64,
    #[serde(skip_serializing_if = "is_zero")]
    not_allowed: u64,
    #[serde(skip_serializing_if = "is_zero")]
    unreadable: u64,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    unreadable_first: Vec<String>,
}

#[allow(
    clippy::trivially_copy_pass_by_ref,
    reason = "serde hands over a reference"
)]
const fn is_zero(count: &u64) -> bool {
    *count == 0
}

impl Tally {
    /// Counts a file or folder that cannot be read. One that is gone by now was
    /// deleted in the meantime, which is not an error.
    pub(crate) fn unreadable(&mut self, path: &[u8], error: &io::Error) {
        if error.kind() == io::ErrorKind::NotFound {
            return;
        }
        self.unreadable += 1;
        let path = if path.is_empty() { b"." } else { path };
        if self.named.len() < REMEMBERED {
            self.named.push(format!("{}: {error}", shown(path)));
        }
    }

    /// Counts the folder of a search that cannot be opened.
    pub(crate) fn refused(&mut self, place: &Place, error: PathError) {
        let path = place.to_string();
        self.unreadable(path.as_bytes(), &io::Error::other(error));
    }

    /// Counts what a walk left out.
    pub(crate) fn left_out(&mut self, what: LeftOut<'_>) {
        match what {
            LeftOut::Ignored => self.ignored += 1,
            LeftOut::Hidden => self.hidden += 1,
            LeftOut::NotAFile(Kind::Link) => self.links += 1,
            LeftOut::Unreadable { path, error } => self.unreadable(path, &error),
            _ => self.special += 1,
        }
    }

    pub(crate) fn add(&mut self, other: Self) {
        self.files += other.files;
        self.ignored += other.ignored;
        self.hidden += other.hidden;
        self.binary += other.binary;
        self.withheld += other.withheld;
        self.links += other.links;
        self.special += other.special;
        self.unreadable += other.unreadable;
        self.named.extend(other.named);
    }

    /// What was left out, which is reported even where something was found.
    pub(crate) fn skipped(&self) -> Option<Skipped> {
        let mut named = self.named.clone();
        named.sort_unstable();
        named.truncate(NAMED);
        let skipped = Skipped {
            binary: self.binary,
            not_allowed: self.withheld,
            unreadable: self.unreadable,
            unreadable_first: named,
        };
        (self.binary + self.withheld + self.unreadable > 0).then_some(skipped)
    }

    /// What may be the reason that nothing was found.
    pub(crate) fn reasons(&self) -> Vec<String> {
        let counts = [
            (self.ignored, "left out by ignore rules"),
            (self.hidden, "hidden"),
            (self.links, "links, which are not followed"),
            (self.special, "neither files nor folders"),
            (self.binary, "binary"),
            (self.withheld, "forbidden by a rule"),
            (self.unreadable, "unreadable"),
        ];
        let told = counts.into_iter().filter(|(count, _)| *count > 0);
        told.map(|(count, what)| format!("{count} {what}"))
            .collect()
    }
}

/// A path as a text shows it: on one line, whatever is in it.
pub(crate) fn shown(path: &[u8]) -> String {
    let text = path.to_str_lossy();
    if !text.contains(char::is_control) {
        return text.into_owned();
    }
    let escaped = text.chars().map(|c| match c {
        c if c.is_control() => c.escape_default().to_string(),
        c => c.to_string(),
    });
    escaped.collect()
}
