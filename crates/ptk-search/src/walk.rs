//! The files of a workspace, and their text.
//!
//! Ignore rules hold as they do for `glob` and `grep`: `.gitignore`, `.ignore`,
//! `.git/info/exclude` and the user's own file, in a repository or not; names
//! that begin with a dot are left out. No link is followed. Files are opened
//! through the workspace's jail, which never waits for a pipe or a device.

use std::collections::BTreeMap;
use std::fmt;
use std::io::{self, Read as _};
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

use ignore::{DirEntry, WalkBuilder};
use ptk_sandbox::{PathError, Stamp, Workspace, is_temporary_name};
use ptk_tools::tools::text_of;
use serde::{Deserialize, Serialize};

/// A larger file is data, not source.
pub const MAX_FILE: u64 = 1024 * 1024;
/// An index has no more files.
pub const MAX_FILES: usize = 200_000;
/// So many files that were left out are named; the rest is counted.
pub const MAX_NAMED: usize = 1_000;
/// A folder whose ignore file is larger is left out, because the rules in it
/// cannot be kept.
const MAX_RULES: u64 = 1024 * 1024;
/// A file that changes while it is read is read again so many times.
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

/// What was left out, and why.
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

    pub(crate) fn sort(&mut self) {
        self.named.sort();
    }

    /// How many files were left out for each reason.
    pub fn counts(&self) -> impl Iterator<Item = (Reason, usize)> {
        self.counts.iter().map(|(reason, count)| (*reason, *count))
    }

    /// How many were left out.
    #[must_use]
    pub fn total(&self) -> usize {
        self.counts.values().sum()
    }

    /// Which were left out, the first [`MAX_NAMED`] of them.
    pub fn named(&self) -> impl Iterator<Item = (&str, Reason)> {
        self.named
            .iter()
            .map(|(path, reason)| (path.as_str(), *reason))
    }
}

/// What the system says of a file.
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

/// A moment in nanoseconds since 1970.
pub(crate) fn nanoseconds(time: SystemTime) -> i128 {
    let signed = |nanoseconds: u128| i128::try_from(nanoseconds).unwrap_or(i128::MAX);
    match time.duration_since(UNIX_EPOCH) {
        Ok(after) => signed(after.as_nanos()),
        Err(before) => -signed(before.duration().as_nanos()),
    }
}

/// The files of a workspace that the rules let through, by their paths with
/// `/` between the names. An error where nothing can be said of any file, so
/// that not all of them are taken for gone.
pub(crate) fn files(
    workspace: &Workspace,
    skipped: &mut Skipped,
) -> Result<BTreeMap<String, Seen>, String> {
    let root = workspace.root();
    let mut files = BTreeMap::new();
    let listed = workspace.place(root).and_then(|place| place.read_dir());
    listed.map_err(|error| error.to_string())?;
    if !has_plain_rules(root) {
        return Err("an ignore file in it is no regular file, or too large".to_owned());
    }
    let mut builder = WalkBuilder::new(root);
    builder
        .require_git(false)
        .parents(is_in_repository(root))
        .filter_entry(is_entered);
    for entry in builder.build() {
        match entry {
            Ok(entry) => take(root, &entry, &mut files, skipped),
            Err(error) => skipped.add(place_of(root, &error), Reason::Unreadable),
        }
    }
    Ok(files)
}

/// The folder that cannot be listed.
fn place_of(root: &Path, error: &ignore::Error) -> String {
    match error {
        ignore::Error::WithPath { path, .. } => {
            let relative = path.strip_prefix(root).unwrap_or(path);
            relative.to_string_lossy().into_owned()
        }
        ignore::Error::WithDepth { err, .. } => place_of(root, err),
        _ => String::new(),
    }
}

fn take(root: &Path, entry: &DirEntry, files: &mut BTreeMap<String, Seen>, skipped: &mut Skipped) {
    let Some(kind) = entry.file_type().filter(|kind| !kind.is_dir()) else {
        return;
    };
    let relative = entry.path().strip_prefix(root).unwrap_or(entry.path());
    let Some(path) = relative.to_str() else {
        return skipped.add(relative.to_string_lossy(), Reason::Name);
    };
    if !kind.is_file() {
        return skipped.add(path, Reason::NotAFile);
    }
    match entry.metadata() {
        Ok(found) if found.len() > MAX_FILE => skipped.add(path, Reason::TooLarge),
        Ok(_) if files.len() >= MAX_FILES => skipped.add(path, Reason::TooMany),
        Ok(found) => {
            let path = path.replace(std::path::MAIN_SEPARATOR, "/");
            files.insert(path, Seen::new(found.len(), found.modified().ok()));
        }
        Err(_) => skipped.add(path, Reason::Vanished),
    }
}

/// Rules above the workspace hold if it is a part of a repository.
fn is_in_repository(root: &Path) -> bool {
    let mut above = root.ancestors().skip(1);
    !root.join(".git").exists()
        && above.any(|folder| folder.join(".git").exists())
        && root.ancestors().all(has_plain_rules)
}

fn is_entered(entry: &DirEntry) -> bool {
    let is_folder = entry.file_type().is_some_and(|kind| kind.is_dir());
    let name = entry.file_name();
    name != ".git" && !is_temporary_name(name) && (!is_folder || has_plain_rules(entry.path()))
}

/// Whether the ignore files of a folder can be read without waiting: a pipe
/// with such a name would hold the walk up for ever.
fn has_plain_rules(folder: &Path) -> bool {
    [".gitignore", ".ignore", ".git/info/exclude"]
        .iter()
        .all(|name| match folder.join(name).metadata() {
            Ok(found) => found.is_file() && found.len() <= MAX_RULES,
            Err(_) => true,
        })
}

/// A file as it was read.
#[derive(Debug)]
pub(crate) struct Content {
    pub(crate) seen: Seen,
    pub(crate) hash: [u8; blake3::OUT_LEN],
    /// `None` if it is no text.
    pub(crate) text: Option<String>,
}

/// Reads a file whole, as it was at one moment.
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

/// What the system says of a file now.
pub(crate) fn seen(workspace: &Workspace, path: &str) -> Option<Seen> {
    let place = workspace.place(Path::new(path)).ok()?;
    let found = place.symlink_metadata().ok()?;
    (found.kind == ptk_sandbox::Kind::File).then(|| Seen::new(found.size, found.modified))
}
