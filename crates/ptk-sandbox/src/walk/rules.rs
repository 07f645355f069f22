//! What a walk leaves out: by `.ignore`, `.gitignore`, `.git/info/exclude` and
//! the user's own ignore file, with git's order of precedence.
//!
//! They hold whether there is a `.git` or not. Those above the workspace hold
//! too, up to the root of the repository: a workspace may be a part of one.

use std::ffi::OsStr;
use std::fs::File;
use std::path::Path;
use std::sync::Arc;

use bstr::ByteSlice as _;
use ignore::gitignore::{Gitignore, GitignoreBuilder};

use crate::folder::{Folder, Names};
use crate::ignore_file::{IgnoreFile, Verdict};
use crate::kind::Kind;
use crate::place::Place;
use crate::system::with_slashes;

const EXCLUDE: &str = ".git/info/exclude";

/// The rules that hold in a folder. Cheap to clone.
#[derive(Debug, Clone, Default)]
pub struct IgnoreRules {
    ignore: Option<Arc<IgnoreFile>>,
    gitignore: Option<Arc<IgnoreFile>>,
    exclude: Option<Arc<IgnoreFile>>,
    global: Option<Arc<Gitignore>>,
    only_folders: bool,
}

impl IgnoreRules {
    /// All rules that hold in a folder before its own are read. Looks above
    /// the workspace: call it before the thread is confined.
    #[must_use]
    pub fn above(place: &Place) -> Self {
        let (global, _) = GitignoreBuilder::new(place.root()).build_global();
        let mut rules = Self {
            global: (!global.is_empty()).then(|| Arc::new(global)),
            ..Self::default()
        };
        let start = place.absolute();
        let inside = |folder: &Path| folder.starts_with(place.root());
        let folders: Vec<&Path> = start.ancestors().collect();
        let repository = folders
            .iter()
            .position(|folder| folder.join(".git").exists());
        let last = repository.map_or_else(
            || folders.iter().filter(|folder| inside(folder)).count(),
            |at| at + 1,
        );
        // The folder itself is left out: the walk reads its rules.
        let folders = folders.get(1..last).unwrap_or_default();
        for folder in folders.iter().rev() {
            rules.add(folder, |name| {
                let path = folder.join(name);
                if inside(folder) {
                    place.workspace().resolve(path.to_str()?).ok()?.open().ok()
                } else {
                    let is_file = path.symlink_metadata().is_ok_and(|found| found.is_file());
                    is_file.then(|| File::open(&path).ok())?
                }
            });
        }
        rules
    }

    /// Only folders that a `.gitignore` in the walk names, and `.git`: what is
    /// in them can be made again. Files are never left out, since an `.env`
    /// cannot.
    #[must_use]
    pub fn ignored_folders() -> Self {
        Self {
            only_folders: true,
            ..Self::default()
        }
    }

    /// The rules that hold in a folder: these and its own. A pipe that is
    /// called `.gitignore` is ignored.
    pub(super) fn within(mut self, folder: &Folder, names: &Names, path: &[u8]) -> Self {
        let (mut is_repository, mut has_files) = (false, false);
        for (name, kind) in names.iter() {
            is_repository |= name == b".git";
            has_files |= kind == Kind::File && matches!(name, b".gitignore" | b".ignore");
        }
        if !is_repository && !has_files {
            return self;
        }
        let path = path.to_path_lossy();
        let open = |name: &str| folder.open(OsStr::new(name)).ok();
        if self.only_folders {
            self.gitignore = read(&path, open(".gitignore"), self.gitignore);
            return self;
        }
        if is_repository {
            // From here on, another repository's rules hold.
            self.gitignore = None;
            self.exclude = None;
        }
        self.add(&path, |name| match name {
            EXCLUDE if !is_repository => None,
            EXCLUDE => folder
                .go_down(Path::new(".git/info"))
                .ok()?
                .open("exclude".as_ref())
                .ok(),
            name => open(name),
        });
        self
    }

    /// Adds the rules of a folder.
    fn add(&mut self, folder: &Path, open: impl Fn(&str) -> Option<File>) {
        if let Some(file) = open(EXCLUDE) {
            self.exclude = read(folder, Some(file), None);
        }
        self.gitignore = read(folder, open(".gitignore"), self.gitignore.take());
        self.ignore = read(folder, open(".ignore"), self.ignore.take());
    }

    /// The verdict on a path that begins as the walk's does.
    pub(super) fn verdict(&self, path: &[u8], is_folder: bool) -> Verdict {
        if self.only_folders && !is_folder {
            return Verdict::Silent;
        }
        let of = |file: &Option<Arc<IgnoreFile>>| match file {
            Some(file) => file.verdict(path, is_folder),
            None => Verdict::Silent,
        };
        of(&self.ignore)
            .or_else(|| of(&self.gitignore))
            .or_else(|| of(&self.exclude))
            .or_else(|| match &self.global {
                Some(global) => Verdict::of(&global.matched(path.to_path_lossy(), is_folder)),
                None => Verdict::Silent,
            })
    }

    /// Whether what has the name `.git` is passed over without a word.
    pub(super) fn passes_over_git(&self, is_folder: bool) -> bool {
        !self.only_folders || is_folder
    }
}

fn read(
    folder: &Path,
    file: Option<File>,
    above: Option<Arc<IgnoreFile>>,
) -> Option<Arc<IgnoreFile>> {
    IgnoreFile::read(file, &with_slashes(folder), above)
}
