//! What a word of a command means on this machine: which files, where they
//! lie, and how much there is in them.

use std::fs;
use std::path::{Component, Path, PathBuf};
use std::time::{Duration, Instant};

use globset::GlobBuilder;

use crate::shell::{Folder, Piece, Word};

/// How many files are counted.
const MAX_ENTRIES: u64 = 50_000;
/// How long it may take to count them.
const MAX_TIME: Duration = Duration::from_millis(200);
/// How many paths a pattern may become.
const MAX_PATHS: usize = 1000;
/// The system's folders for temporary files.
const TEMPORARY: [&str; 2] = ["/tmp", "/var/tmp"];

/// Where a command is about to run.
#[derive(Debug, Clone)]
pub struct Surroundings {
    /// The folder in which the line begins.
    pub folder: PathBuf,
    /// The folders in which tools may work, the workspace first.
    pub roots: Vec<PathBuf>,
    /// The folder that stands for the system's folders for temporary files,
    /// where commands have one of their own.
    pub temporary: Option<PathBuf>,
    /// The home folder of the user who runs it.
    pub home: Option<PathBuf>,
}

/// Where something lies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Location {
    /// It is, or holds, everything.
    Everything,
    /// It is, or holds, the home folder.
    Home,
    /// It is, or holds, the workspace or another root.
    Workspace,
    /// It is in the workspace, in another root, or in the folder for temporary
    /// files.
    Inside,
    /// It is outside all roots.
    Outside,
}

impl Surroundings {
    /// The folder in which a command of the line runs.
    pub(super) fn folder_of(&self, folder: &Folder) -> Option<PathBuf> {
        match folder {
            Folder::Start => Some(self.folder.clone()),
            Folder::Unsure(_) => None,
            Folder::At(word, before) => {
                let before = self.folder_of(before);
                let path = word.path(self.home.as_deref(), before.as_deref())?;
                let path = self.own_temporary(path, false);
                // If the folder does not exist, the command stays or stops:
                // that is not known.
                fs::canonicalize(path).ok().filter(|path| path.is_dir())
            }
        }
    }

    /// The path that a word means, patterns left as they are.
    pub(crate) fn path(&self, word: &Word, folder: &Folder) -> Option<PathBuf> {
        let folder = self.folder_of(folder);
        let path = word.path(self.home.as_deref(), folder.as_deref())?;
        Some(self.own_temporary(path, word.is_glob()))
    }

    /// The path itself, or what it stands for if it lies in the command's own
    /// folder for temporary files.
    fn own_temporary(&self, path: PathBuf, is_glob: bool) -> PathBuf {
        let translated = TEMPORARY.iter().find_map(|name| {
            let rest = path.strip_prefix(name).ok()?;
            let has_dots = rest.components().any(|it| it == Component::ParentDir);
            // Other folders are where they are, also below `/tmp`.
            let mut others = self.roots.iter().chain(&self.home);
            let is_other = others.any(|other| {
                path.starts_with(other)
                    || other.starts_with(&path)
                    || is_glob && other.starts_with(name)
            });
            (!has_dots && !is_other).then(|| rest.to_owned())
        });
        match (&self.temporary, translated) {
            (Some(temporary), Some(rest)) => temporary.join(rest),
            _ => path,
        }
    }

    /// The folder of which a pattern such as `*` names everything.
    pub(super) fn emptied(&self, word: &Word, folder: &Folder) -> Option<PathBuf> {
        let path = self.path(word, folder).filter(|_| word.is_glob())?;
        let name = path.file_name()?.to_str()?;
        let is_all = name.contains('*') && name.chars().all(|c| matches!(c, '*' | '?'));
        let folder = path.parent().filter(|_| is_all)?;
        Some(fs::canonicalize(folder).unwrap_or_else(|_| without_dots(folder)))
    }

    /// The files that a word means: several for a pattern, none if it fits none.
    pub(crate) fn files(&self, word: &Word, folder: &Folder) -> Option<Vec<PathBuf>> {
        let path = self.path(word, folder)?;
        if word.is_glob() {
            return expanded(&path);
        }
        Some(vec![real(&path)])
    }

    /// Where a path lies.
    pub(super) fn lies(&self, path: &Path) -> Location {
        if path == Path::new("/") {
            return Location::Everything;
        }
        let is_below = |root: &PathBuf| path.starts_with(root);
        if self.temporary.as_ref().is_some_and(is_below) {
            return Location::Inside;
        }
        if self
            .home
            .as_ref()
            .is_some_and(|home| home.starts_with(path))
        {
            return Location::Home;
        }
        if self.roots.iter().any(|root| root.starts_with(path)) {
            return Location::Workspace;
        }
        if self.roots.iter().any(is_below) {
            return Location::Inside;
        }
        Location::Outside
    }

    /// A path as a person would write it here.
    pub(super) fn shown(&self, path: &Path) -> String {
        let root = self.roots.first();
        let short = root.and_then(|root| path.strip_prefix(root).ok());
        match short {
            Some(short) if short.as_os_str().is_empty() => "the workspace".to_owned(),
            Some(short) => short.display().to_string(),
            None => self
                .temporary_name(path)
                .unwrap_or(path.to_owned())
                .display()
                .to_string(),
        }
    }

    /// The name by which a command knows a file in its folder for temporary
    /// files.
    fn temporary_name(&self, path: &Path) -> Option<PathBuf> {
        let rest = path.strip_prefix(self.temporary.as_ref()?).ok()?;
        let [name, ..] = TEMPORARY;
        Some(Path::new(name).join(rest))
    }
}

/// The path without links in the folders before its name, and without dots. The
/// last name stays: removing a link removes just that.
pub(super) fn real(path: &Path) -> PathBuf {
    let text = path.as_os_str().to_string_lossy();
    let is_entered = text.ends_with('/') || text.ends_with("/.") || text.ends_with("/..");
    let found = match (path.parent(), path.file_name()) {
        (Some(parent), Some(name)) if !is_entered => {
            fs::canonicalize(parent).map(|parent| parent.join(name))
        }
        _ => fs::canonicalize(path),
    };
    found.unwrap_or_else(|_| without_dots(path))
}

fn without_dots(path: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for component in path.components() {
        match component {
            Component::CurDir => {}
            Component::ParentDir => drop(plain.pop()),
            component => plain.push(component),
        }
    }
    plain
}

/// The paths that a pattern fits. `None` if they are too many to look at.
fn expanded(pattern: &Path) -> Option<Vec<PathBuf>> {
    let mut paths = vec![PathBuf::new()];
    for component in pattern.components() {
        let name = component.as_os_str().to_string_lossy();
        if !name.contains(['*', '?', '[']) {
            for path in &mut paths {
                path.push(component);
            }
            continue;
        }
        let mut next = Vec::new();
        for folder in &paths {
            next.extend(fitting(folder, &name));
            if next.len() > MAX_PATHS {
                return None;
            }
        }
        paths = next;
    }
    paths.retain(|path| path.symlink_metadata().is_ok());
    paths.sort();
    Some(paths.iter().map(|path| real(path)).collect())
}

fn fitting(folder: &Path, pattern: &str) -> Vec<PathBuf> {
    let glob = GlobBuilder::new(pattern).literal_separator(true).build();
    let (Ok(glob), Ok(entries)) = (glob, fs::read_dir(folder)) else {
        return Vec::new();
    };
    let glob = glob.compile_matcher();
    let names = entries.filter_map(Result::ok).filter(|entry| {
        let name = entry.file_name();
        let is_hidden = name.to_string_lossy().starts_with('.');
        glob.is_match(&name) && (!is_hidden || pattern.starts_with('.'))
    });
    let paths = names.map(|entry| folder.join(entry.file_name()));
    paths.take(MAX_PATHS + 1).collect()
}

/// How much there is in some files and folders.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Amount {
    pub(super) files: u64,
    pub(super) bytes: u64,
    /// Whether that is all; else there is more.
    pub(super) is_all: bool,
}

impl Amount {
    /// Counts files and folders, up to a limit. Links are not followed.
    pub(super) fn of(paths: &[PathBuf]) -> Self {
        let until = Instant::now() + MAX_TIME;
        let mut amount = Self {
            files: 0,
            bytes: 0,
            is_all: true,
        };
        let mut folders = Vec::new();
        for path in paths {
            amount.add(path, &mut folders);
        }
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
                if amount.files >= MAX_ENTRIES || Instant::now() > until {
                    amount.is_all = false;
                    return amount;
                }
                amount.add(&entry.path(), &mut folders);
            }
        }
        amount
    }

    fn add(&mut self, path: &Path, folders: &mut Vec<PathBuf>) {
        let Ok(metadata) = path.symlink_metadata() else {
            return;
        };
        if metadata.is_dir() {
            folders.push(path.to_owned());
        } else {
            self.files += 1;
            self.bytes += metadata.len();
        }
    }
}

impl std::fmt::Display for Amount {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let more = if self.is_all { "" } else { "more than " };
        let files = grouped(self.files);
        let s = if self.files == 1 { "" } else { "s" };
        write!(f, "{more}{files} file{s}, {}", size(self.bytes))
    }
}

/// A number with a comma before every three digits.
fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// A size for people to read.
pub(super) fn size(bytes: u64) -> String {
    const UNITS: [(&str, u64); 4] = [
        ("TB", 1_000_000_000_000),
        ("GB", 1_000_000_000),
        ("MB", 1_000_000),
        ("KB", 1000),
    ];
    let unit = UNITS.iter().find(|(_, size)| bytes >= *size);
    match unit {
        None if bytes == 1 => "1 byte".to_owned(),
        None => format!("{bytes} bytes"),
        Some((name, size)) => {
            let tenths = bytes / (size / 10);
            format!("{}.{} {name}", tenths / 10, tenths % 10)
        }
    }
}

/// Whether an absolute path can only mean everything: `/`, `//`, `/*`, `/./..`.
pub(super) fn is_everything(word: &Word) -> bool {
    let mut text = String::new();
    for piece in word.pieces() {
        match piece {
            Piece::Text(part) | Piece::Glob(part) => text.push_str(part),
            _ => return false,
        }
    }
    let mut parts = text.split('/');
    text.starts_with('/') && parts.all(|part| matches!(part, "" | "." | ".." | "*"))
}
