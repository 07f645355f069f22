//! What there is to check: the files of the workspace by name, as far as a
//! short look goes.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use bstr::ByteSlice as _;
use ptk_sandbox::walk::{IgnoreRules, Visitor, Walk, WalkEntry, WalkOptions};
use ptk_sandbox::{Kind, Place, Workspace};

use crate::{CallContext, ToolError};

/// How deep projects are looked for: files of the workspace itself, and of six
/// levels of folders in it.
const MAX_DEPTH: usize = 7;
/// How deep they are looked for in any case.
const NEAR: usize = 3;
/// Files that are looked at.
const MAX_FILES: u64 = 50_000;
/// Folders that hold code of others, or generated files.
const SKIPPED: [&str; 9] = [
    "node_modules",
    "target",
    "vendor",
    "venv",
    "__pycache__",
    "dist",
    "build",
    "out",
    "site-packages",
];

/// The scope of a call.
#[derive(Debug)]
pub(super) struct Scope {
    /// The file or folder that was named.
    pub(super) only: Option<Place>,
    pub(super) is_folder: bool,
    /// The root that is checked.
    pub(super) root: PathBuf,
    pub(super) workspace: Workspace,
    /// The files of the workspace, or the one that was named.
    files: Vec<PathBuf>,
}

impl Scope {
    /// Finds the files of the scope.
    pub(super) fn new(context: &CallContext, file: Option<&str>) -> Result<Self, ToolError> {
        let workspace = context.workspace().clone();
        let Some(file) = file.filter(|file| !file.is_empty()) else {
            let root = context.resolve(".")?;
            return Ok(Self {
                only: None,
                is_folder: true,
                root: root.absolute(),
                workspace,
                files: files(&root),
            });
        };
        let place = context.resolve(file)?;
        let is_folder = place.metadata()?.kind == Kind::Folder;
        let files = if is_folder {
            files(&place)
        } else {
            vec![place.absolute()]
        };
        Ok(Self {
            is_folder,
            root: place.root().to_owned(),
            workspace,
            files,
            only: Some(place),
        })
    }

    /// The file that was named, if it is one.
    pub(super) fn file(&self) -> Option<PathBuf> {
        let only = self.only.as_ref().filter(|_| !self.is_folder);
        only.map(Place::absolute)
    }

    /// The files whose names are like this, those nearer to the root first.
    pub(super) fn matching(&self, is_like: impl Fn(&str) -> bool) -> Vec<PathBuf> {
        let files = self.files.iter();
        let matching = files.filter(|path| name(path).is_some_and(&is_like));
        matching.cloned().collect()
    }

    /// The folders of the projects that have a file of this name: those at or
    /// above what was named, or else those beneath that do not lie in each
    /// other.
    pub(super) fn projects(&self, marks: &[&str]) -> Vec<PathBuf> {
        if let Some(folder) = self.above(marks) {
            return vec![folder];
        }
        let mut found: Vec<PathBuf> = Vec::new();
        for path in self.matching(|name| marks.contains(&name)) {
            let Some(folder) = path.parent() else {
                continue;
            };
            if !found.iter().any(|known| folder.starts_with(known)) {
                found.push(folder.to_owned());
            }
        }
        found
    }

    /// The nearest folder, from what was named up to the root, that has a file
    /// of this name.
    pub(super) fn above(&self, marks: &[&str]) -> Option<PathBuf> {
        let start = match &self.only {
            Some(place) => place.absolute(),
            None => self.root.clone(),
        };
        let within = |folder: &&Path| folder.starts_with(&self.root);
        let mut folders = start.ancestors().take_while(within);
        let has_mark = |folder: &&Path| marks.iter().any(|mark| folder.join(mark).is_file());
        folders.find(has_mark).map(Path::to_owned)
    }
}

pub(super) fn name(path: &Path) -> Option<&str> {
    path.file_name()?.to_str()
}

/// Whether a file name ends like this.
pub(super) fn has_extension(name: &str, extensions: &[&str]) -> bool {
    let extension = Path::new(name).extension().and_then(|all| all.to_str());
    extension.is_some_and(|extension| extensions.contains(&extension))
}

/// The files beneath a folder, those nearer to it first, without what ignore
/// rules leave out. What cannot be read is passed over.
fn files(root: &Place) -> Vec<PathBuf> {
    let options = WalkOptions {
        hidden: true,
        depth: MAX_DEPTH,
        everything: false,
    };
    let mut found = BTreeSet::new();
    // First what is near: a large folder must not use up the limit before.
    for depth in [NEAR, MAX_DEPTH] {
        let options = WalkOptions { depth, ..options };
        let Ok(walk) = Walk::new(root, options, IgnoreRules::above(root)) else {
            return Vec::new();
        };
        let visitors = walk.run(|files| files < MAX_FILES, Files::default);
        let paths = visitors.into_iter().flat_map(|it| it.0);
        found.extend(paths.map(|path| (path.components().count(), path)));
    }
    let root = root.absolute();
    found.iter().map(|(_, path)| root.join(path)).collect()
}

/// Collects files, but enters no hidden folders and none with code of others.
#[derive(Default)]
struct Files(Vec<PathBuf>);

impl Visitor for Files {
    const IS_WORK: bool = false;

    fn enters(&mut self, path: &[u8], is_ignored: bool) -> bool {
        let path = path.to_path_lossy();
        let is_skipped = |name| SKIPPED.contains(&name) || name.starts_with('.');
        !is_ignored && !name(&path).is_some_and(is_skipped)
    }

    fn visit(&mut self, found: &WalkEntry<'_>) {
        self.0.push(found.path().to_path_lossy().into_owned());
    }
}
