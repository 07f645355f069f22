//! The files of a workspace, and their text.
//!
//! The walk and its ignore rules are those of `glob` and `grep`: `.gitignore`,
//! `.ignore`, `.git/info/exclude` and the user's own file, in a repository or
//! not; names that begin with a dot are left out. Links are not followed.

use std::collections::BTreeMap;
use std::fmt;
use std::io::{self, Read as _};
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

use bstr::ByteSlice as _;
use ptk_sandbox::walk::{IgnoreRules, LeftOut, Visitor, Walk, WalkEntry, WalkOptions};
use ptk_sandbox::{Kind, PathError, Stamp, Workspace};
use ptk_tools::tools::text_of;
use serde::{Deserialize, Serialize};

/// The largest file that is indexed; larger ones are data, not source.
pub const MAX_FILE: u64 = 1024 * 1024;
/// The most files in an index.
pub const MAX_FILES: usize = 200_000;
/// How many skipped files are named; the others are only counted.
pub const MAX_NAMED: usize = 1_000;
/// How often a file is read that changes while it is being read.
const ATTEMPTS: usize = 2;

/// Why a file is not in the index.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Reason {
    /// Larger than [`MAX_FILE`].
    TooLarge,
    /// Not text.
    Binary,
    /// A link, a pipe, a socket or a device.
    NotAFile,
    /// Cannot be opened or read.
    Unreadable,
    /// Gone before it could be read.
    Vanished,
    /// Changed each time it was read.
    Changing,
    /// Its name is not Unicode.
    Name,
    /// Beyond [`MAX_FILES`].
    TooMany,
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::TooLarge => "too large",
            Self::Binary => "binary",
            Self::NotAFile => "not a regular file",
            Self::Unreadable => "unreadable",
            Self::Vanished => "gone while it was read",
            Self::Changing => "changing while it was read",
            Self::Name => "a name that is not Unicode",
            Self::TooMany => "beyond the number of files that an index has",
        })
    }
}

/// The files that were skipped, and why.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Skipped {
    counts: BTreeMap<Reason, usize>,
    named: Vec<(String, Reason)>,
}

impl Skipped {
    pub(crate) fn add(&mut self, path: impl Into<String>, reason: Reason) {
        *self.counts.entry(reason).or_default() += 1;
        if self.named.len() < MAX_NAMED {
            self.named.push((path.into(), reason));
        }
    }

    /// Adds files that another part has skipped.
    fn merge(&mut self, other: Self) {
        for (reason, count) in other.counts {
            *self.counts.entry(reason).or_default() += count;
        }
        let room = MAX_NAMED.saturating_sub(self.named.len());
        self.named.extend(other.named.into_iter().take(room));
    }

    pub(crate) fn sort(&mut self) {
        self.named.sort();
    }

    /// How many files were skipped for each reason.
    pub fn counts(&self) -> impl Iterator<Item = (Reason, usize)> {
        self.counts.iter().map(|(reason, count)| (*reason, *count))
    }

    /// How many files were skipped.
    #[must_use]
    pub fn total(&self) -> usize {
        self.counts.values().sum()
    }

    /// The first [`MAX_NAMED`] skipped files, with the reasons.
    pub fn named(&self) -> impl Iterator<Item = (&str, Reason)> {
        self.named
            .iter()
            .map(|(path, reason)| (path.as_str(), *reason))
    }
}

/// Size and time of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Seen {
    pub(crate) size: u64,
    /// In nanoseconds since 1970; negative before.
    pub(crate) modified: i128,
}

impl Seen {
    fn new(size: u64, modified: Option<SystemTime>) -> Self {
        Self {
            size,
            modified: modified.map_or(0, nanoseconds),
        }
    }
}

/// A time in nanoseconds since 1970.
pub(crate) fn nanoseconds(time: SystemTime) -> i128 {
    let signed = |nanoseconds: u128| i128::try_from(nanoseconds).unwrap_or(i128::MAX);
    match time.duration_since(UNIX_EPOCH) {
        Ok(after) => signed(after.as_nanos()),
        Err(before) => -signed(before.duration().as_nanos()),
    }
}

/// The files of a workspace that the ignore rules allow, with `/` as the
/// separator in their paths. Fails if the workspace cannot be listed, so that
/// its files are not taken for deleted.
pub(crate) fn files(
    workspace: &Workspace,
    skipped: &mut Skipped,
) -> Result<BTreeMap<String, Seen>, String> {
    let place = workspace.place(workspace.root());
    let place = place.map_err(|error| error.to_string())?;
    let options = WalkOptions {
        hidden: false,
        depth: usize::MAX,
        everything: true,
    };
    let walk = Walk::new(&place, options, IgnoreRules::above(&place));
    let walk = walk.map_err(|error| error.to_string())?;
    let mut found = Vec::new();
    for mut visitor in walk.run(|_| true, Files::default) {
        if let Some(error) = visitor.failure {
            return Err(error.to_string());
        }
        found.append(&mut visitor.found);
        skipped.merge(visitor.skipped);
    }
    found.sort_unstable_by(|(one, _), (other, _)| one.cmp(other));
    for (path, _) in found.drain(found.len().min(MAX_FILES)..) {
        skipped.add(path, Reason::TooMany);
    }
    Ok(found.into_iter().collect())
}

/// Collects files with their sizes and times.
#[derive(Default)]
struct Files {
    found: Vec<(String, Seen)>,
    skipped: Skipped,
    /// Why the workspace itself cannot be listed.
    failure: Option<io::Error>,
}

impl Visitor for Files {
    const IS_WORK: bool = false;

    fn visit(&mut self, found: &WalkEntry<'_>) {
        if found.kind() == Kind::Folder {
            return;
        }
        let path = found.path();
        let Ok(path) = path.to_str() else {
            let path = path.to_str_lossy().into_owned();
            return self.skipped.add(path, Reason::Name);
        };
        let mut skip = |reason| self.skipped.add(path, reason);
        if found.kind() != Kind::File {
            return skip(Reason::NotAFile);
        }
        match found.metadata() {
            Ok(found) if found.size > MAX_FILE => skip(Reason::TooLarge),
            Ok(_) if self.found.len() >= MAX_FILES => skip(Reason::TooMany),
            Ok(found) => {
                let seen = Seen::new(found.size, found.modified);
                self.found.push((path.to_owned(), seen));
            }
            Err(_) => skip(Reason::Vanished),
        }
    }

    fn left_out(&mut self, what: LeftOut<'_>) {
        match what {
            LeftOut::Unreadable { path: b"", error } => self.failure = Some(error),
            LeftOut::Unreadable { path, .. } => {
                let path = path.strip_suffix(b"/").unwrap_or(path);
                let path = path.to_str_lossy().into_owned();
                self.skipped.add(path, Reason::Unreadable);
            }
            _ => {}
        }
    }
}

/// The content of a file.
#[derive(Debug)]
pub(crate) struct Content {
    pub(crate) seen: Seen,
    pub(crate) hash: [u8; blake3::OUT_LEN],
    /// `None` if it is not text.
    pub(crate) text: Option<String>,
}

/// Reads a file in a consistent state.
pub(crate) fn read(workspace: &Workspace, path: &str) -> Result<Content, Reason> {
    for _ in 0..ATTEMPTS {
        let place = workspace.place(Path::new(path)).map_err(refused)?;
        let file = place.open().map_err(refused)?;
        let before = Stamp::of(&file).map_err(failed)?;
        if before.size > MAX_FILE {
            return Err(Reason::TooLarge);
        }
        let mut bytes = Vec::with_capacity(usize::try_from(before.size).unwrap_or_default() + 1);
        (&file)
            .take(MAX_FILE + 1)
            .read_to_end(&mut bytes)
            .map_err(failed)?;
        let after = Stamp::of(&file).map_err(failed)?;
        if before == after && bytes.len() as u64 == after.size {
            return Ok(Content {
                seen: Seen::new(after.size, after.modified),
                hash: *blake3::hash(&bytes).as_bytes(),
                text: text_of(bytes),
            });
        }
    }
    Err(Reason::Changing)
}

#[allow(clippy::needless_pass_by_value, reason = "it is what `map_err` gives")]
fn refused(error: PathError) -> Reason {
    match error {
        PathError::NotFound { .. } | PathError::NotAFolder { .. } => Reason::Vanished,
        PathError::NotAFile { .. } | PathError::IsAFolder { .. } | PathError::Outside { .. } => {
            Reason::NotAFile
        }
        _ => Reason::Unreadable,
    }
}

#[allow(clippy::needless_pass_by_value, reason = "it is what `map_err` gives")]
fn failed(error: io::Error) -> Reason {
    match error.kind() {
        io::ErrorKind::NotFound => Reason::Vanished,
        _ => Reason::Unreadable,
    }
}

/// The current size and time of a file.
pub(crate) fn seen(workspace: &Workspace, path: &str) -> Option<Seen> {
    let place = workspace.place(Path::new(path)).ok()?;
    let found = place.symlink_metadata().ok()?;
    (found.kind == Kind::File).then(|| Seen::new(found.size, found.modified))
}
