//! What is recorded: what lies in the roots, but for what is left out, `.git`,
//! and folders that git ignores.

use std::collections::HashMap;
use std::fs::File;
use std::os::unix::ffi::OsStrExt as _;
use std::sync::Arc;

use rustix::fs::{CWD, Mode, OFlags};

use super::Recording;
use crate::ignore_file::IgnoreFile;

/// Opens a file, never waits, and follows no link.
pub(super) const READING: OFlags = OFlags::RDONLY
    .union(OFlags::CLOEXEC)
    .union(OFlags::NOFOLLOW)
    .union(OFlags::NONBLOCK);

/// Opens a folder to look into it.
pub(super) const LOOKING: OFlags = READING.union(OFlags::DIRECTORY);

/// The name of files that say what git ignores.
pub(super) const RULES: &[u8] = b".gitignore";

/// Which paths are recorded.
#[derive(Debug)]
pub(super) struct Cover {
    roots: Vec<Box<[u8]>>,
    left_out: Vec<Box<[u8]>>,
    /// What was found out about folders. It holds to the end: else files would
    /// seem to come and go with the rules.
    folders: HashMap<Box<[u8]>, Folder>,
}

#[derive(Debug, Clone)]
enum Folder {
    Covered(Known),
    /// It lies in this folder, which is not covered.
    Uncovered(Arc<[u8]>),
    Outside,
}

/// The rules for what is in a folder, as far as they were needed. Most folders
/// are changed themselves, and not what is in folders below.
#[derive(Debug, Clone)]
enum Known {
    /// The rules from the folders above.
    Above(Option<Arc<IgnoreFile>>),
    /// The folder's own rules, too.
    All(Option<Arc<IgnoreFile>>),
}

/// Whether a path is covered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Covered {
    Yes,
    /// It lies in this folder, which is not covered.
    Not(Arc<[u8]>),
    /// It lies elsewhere.
    Outside,
}

impl Cover {
    pub(super) fn new(recording: &Recording) -> Self {
        let bytes = |paths: &[std::path::PathBuf]| {
            let paths = paths.iter();
            paths.map(|it| it.as_os_str().as_bytes().into()).collect()
        };
        Self {
            roots: bytes(&recording.roots),
            left_out: bytes(&recording.left_out),
            folders: HashMap::new(),
        }
    }

    /// The folders below which something may be covered.
    pub(super) fn roots(&self) -> Vec<Vec<u8>> {
        self.roots.iter().map(|root| root.to_vec()).collect()
    }

    /// Whether what is in a folder is covered.
    pub(super) fn inside(&mut self, folder: &[u8]) -> Covered {
        match self.folder(folder) {
            Folder::Covered(_) => Covered::Yes,
            Folder::Uncovered(it) => Covered::Not(it),
            Folder::Outside => Covered::Outside,
        }
    }

    fn folder(&mut self, path: &[u8]) -> Folder {
        if let Some(known) = self.folders.get(path) {
            return known.clone();
        }
        let folder = self.find_out(path);
        self.folders.insert(path.into(), folder.clone());
        folder
    }

    fn find_out(&mut self, path: &[u8]) -> Folder {
        if self.left_out.iter().any(|it| is_in(path, it)) {
            return Folder::Outside;
        }
        let Some(root) = self.roots.iter().find(|root| is_in(path, root)) else {
            return Folder::Outside;
        };
        if path == &**root {
            return Folder::Covered(Known::Above(None));
        }
        let above = root.len() + usize::from(!root.ends_with(b"/"));
        let (folder, name) = split(path);
        match self.folder(folder) {
            Folder::Covered(known) => {
                let rules = self.rules(folder, above, known);
                let relative = path.get(above..).unwrap_or_default();
                let ignores = |rules: &Arc<IgnoreFile>| rules.ignores(relative);
                if name == b".git" || rules.as_ref().is_some_and(ignores) {
                    return Folder::Uncovered(path.into());
                }
                Folder::Covered(Known::Above(rules))
            }
            other => other,
        }
    }

    /// All rules for what is in a folder, whose path from `above` on is
    /// relative to its root.
    fn rules(&mut self, folder: &[u8], above: usize, known: Known) -> Option<Arc<IgnoreFile>> {
        let rules = match known {
            Known::All(rules) => return rules,
            Known::Above(rules) => rules,
        };
        let relative = folder.get(above..).unwrap_or_default();
        let rules = rules_in(folder, relative, rules);
        let known = Folder::Covered(Known::All(rules.clone()));
        self.folders.insert(folder.into(), known);
        rules
    }

    /// Keeps the rules of a folder as they are until the end, since they are
    /// about to change.
    pub(super) fn hold(&mut self, folder: &[u8]) {
        let Some(root) = self.roots.iter().find(|root| is_in(folder, root)) else {
            return;
        };
        let above = root.len() + usize::from(!root.ends_with(b"/"));
        if let Folder::Covered(known) = self.folder(folder) {
            self.rules(folder, above, known);
        }
    }
}

fn rules_in(
    folder: &[u8],
    relative: &[u8],
    above: Option<Arc<IgnoreFile>>,
) -> Option<Arc<IgnoreFile>> {
    let file = [folder, b"/", RULES].concat();
    let file = rustix::fs::openat(CWD, file.as_slice(), READING, Mode::empty());
    let file = file.map(File::from).ok();
    let file = file.filter(|file| file.metadata().is_ok_and(|it| it.is_file()));
    IgnoreFile::read(file, relative, above)
}

/// Whether a path is a folder or lies in it.
fn is_in(path: &[u8], folder: &[u8]) -> bool {
    let rest = path.strip_prefix(folder);
    rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(b"/") || folder == b"/")
}

/// The folder that a path lies in, and its name there.
pub(super) fn split(path: &[u8]) -> (&[u8], &[u8]) {
    let at = path.iter().rposition(|byte| *byte == b'/').unwrap_or(0);
    let name = path.get(at + 1..).unwrap_or_default();
    let folder = path.get(..at).unwrap_or_default();
    (if folder.is_empty() { b"/" } else { folder }, name)
}
