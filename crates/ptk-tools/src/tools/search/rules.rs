//! What a walk leaves out: `.ignore`, `.gitignore`, `.git/info/exclude` and the
//! user's own ignore file, with git's order of precedence.
//!
//! They hold whether there is a `.git` or not. Those above the workspace hold
//! too, up to the root of the repository: a workspace may be a part of one.

use std::fs::File;
use std::io::{self, Read as _};
use std::path::Path;
use std::sync::Arc;

use bstr::ByteSlice as _;
use ignore::Match;
use ignore::gitignore::{Gitignore, GitignoreBuilder};
use ptk_sandbox::{Kind, Place};

use super::jail::{Folder, Listing};

/// How much of an ignore file is read.
const MAX_FILE: u64 = 1024 * 1024;

/// The rules that hold in a folder. Cheap to clone.
#[derive(Debug, Clone, Default)]
pub(crate) struct Rules {
    ignore: Option<Arc<Level>>,
    gitignore: Option<Arc<Level>>,
    exclude: Option<Arc<Gitignore>>,
    global: Option<Arc<Gitignore>>,
}

/// The rules of one file, and those above it.
#[derive(Debug)]
struct Level {
    rules: Gitignore,
    above: Option<Arc<Self>>,
}

/// The verdict of the rules on a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Verdict {
    Silent,
    Ignored,
    /// Named as an exception, so that it is seen even where it is hidden.
    Wanted,
}

impl Rules {
    /// The rules that hold in a folder before its own are read. Looks above the
    /// workspace, so it runs before the thread is confined.
    pub(crate) fn above(place: &Place) -> Self {
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
            let read = |name: &str| {
                if inside(folder) {
                    let path = folder.join(name);
                    let place = place.workspace().resolve(path.to_str()?).ok()?;
                    text(place.open().ok()?).ok()
                } else {
                    let path = folder.join(name);
                    let is_file = path.symlink_metadata().is_ok_and(|found| found.is_file());
                    is_file.then(|| text(File::open(&path).ok()?).ok())?
                }
            };
            if let Some(text) = read(".git/info/exclude") {
                rules.exclude(folder, &text);
            }
            if let Some(text) = read(".gitignore") {
                rules.gitignore(folder, &text);
            }
            if let Some(text) = read(".ignore") {
                rules.ignore(folder, &text);
            }
        }
        rules
    }

    /// The rules that hold in a folder: these and its own, found by their
    /// names. For a walk that has no listing of the folder at hand.
    pub(crate) fn beneath(mut self, place: &Place) -> Self {
        let folder = place.absolute();
        let named = |name: &str| place.workspace().resolve(folder.join(name).to_str()?).ok();
        let read = |name: &str| text(named(name)?.open().ok()?).ok();
        if named(".git").is_some_and(|git| git.exists().unwrap_or(false)) {
            self.enter_repository();
            if let Some(text) = read(".git/info/exclude") {
                self.exclude(&folder, &text);
            }
        }
        if let Some(text) = read(".gitignore") {
            self.gitignore(&folder, &text);
        }
        if let Some(text) = read(".ignore") {
            self.ignore(&folder, &text);
        }
        self
    }

    /// The rules that hold in a folder: these and its own. A pipe that is
    /// called `.gitignore` is ignored.
    pub(crate) fn within(mut self, folder: &Folder, listing: &Listing, path: &[u8]) -> Self {
        let mut own = [None; 3];
        for (name, kind) in listing.iter() {
            match (name, kind) {
                (b".git", _) => own[0] = Some(".git"),
                (b".gitignore", Kind::File) => own[1] = Some(".gitignore"),
                (b".ignore", Kind::File) => own[2] = Some(".ignore"),
                _ => {}
            }
        }
        if own == [None; 3] {
            return self;
        }
        let root = path.to_path_lossy();
        let read = |name: &str| text(folder.open(name.as_bytes()).ok()?.0).ok();
        let [git, gitignore, ignore] = own;
        if git.is_some() {
            self.enter_repository();
            if let Some(text) = folder.exclude() {
                self.exclude(&root, &text);
            }
        }
        if let Some(text) = gitignore.and_then(read) {
            self.gitignore(&root, &text);
        }
        if let Some(text) = ignore.and_then(read) {
            self.ignore(&root, &text);
        }
        self
    }

    /// Drops the rules from above, since another repository's hold from here
    /// on.
    fn enter_repository(&mut self) {
        self.gitignore = None;
        self.exclude = None;
    }

    fn exclude(&mut self, folder: &Path, text: &[u8]) {
        self.exclude = parse(folder, text).map(Arc::new);
    }

    fn gitignore(&mut self, folder: &Path, text: &[u8]) {
        push(&mut self.gitignore, parse(folder, text));
    }

    fn ignore(&mut self, folder: &Path, text: &[u8]) {
        push(&mut self.ignore, parse(folder, text));
    }

    /// The verdict on an absolute path.
    pub(crate) fn verdict(&self, path: &Path, is_folder: bool) -> Verdict {
        let one = |rules: &Gitignore| match rules.matched(path, is_folder) {
            Match::None => Verdict::Silent,
            Match::Ignore(_) => Verdict::Ignored,
            Match::Whitelist(_) => Verdict::Wanted,
        };
        let all = |first: &Option<Arc<Level>>| {
            let levels = std::iter::successors(first.as_deref(), |level| level.above.as_deref());
            levels
                .map(|level| one(&level.rules))
                .find(|verdict| verdict.speaks())
        };
        let one = |rules: &Option<Arc<Gitignore>>| {
            rules.as_deref().map(one).filter(|verdict| verdict.speaks())
        };
        all(&self.ignore)
            .or_else(|| all(&self.gitignore))
            .or_else(|| one(&self.exclude))
            .or_else(|| one(&self.global))
            .unwrap_or(Verdict::Silent)
    }
}

impl Verdict {
    fn speaks(self) -> bool {
        self != Self::Silent
    }
}

/// The text of an ignore file, as far as one is read.
pub(crate) fn text(file: File) -> io::Result<Vec<u8>> {
    let mut text = Vec::new();
    file.take(MAX_FILE).read_to_end(&mut text)?;
    Ok(text)
}

fn push(levels: &mut Option<Arc<Level>>, rules: Option<Gitignore>) {
    if let Some(rules) = rules {
        let above = levels.take();
        *levels = Some(Arc::new(Level { rules, above }));
    }
}

/// Parses an ignore file. A line that is not a rule is left out, as git does.
fn parse(folder: &Path, text: &[u8]) -> Option<Gitignore> {
    let mut builder = GitignoreBuilder::new(folder);
    for line in text.lines() {
        let _ = builder.add_line(None, &line.to_str_lossy());
    }
    builder.build().ok().filter(|rules| !rules.is_empty())
}
