//! A look at the whole workspace.

use std::io;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use ptk_sandbox::walk::{IgnoreRules, LeftOut, Visitor, Walk, WalkEntry, WalkOptions};
use ptk_sandbox::{Kind, Moment, Node, Workspace};

use super::{Bytes, Entry, EntryKind, Folder, Stamp, Tree, kind_of};

/// A file that changed so shortly before is read again, since some systems
/// count time in steps of some milliseconds.
const FRESH: Duration = Duration::from_millis(20);

/// How large a workspace may be.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Limits {
    pub(crate) files: usize,
    pub(crate) bytes: u64,
    /// Larger files do not count: they are not kept.
    pub(crate) file: u64,
}

/// Why there is no tree.
#[derive(Debug, thiserror::Error)]
pub(crate) enum WalkError {
    #[error("the workspace has more than {0} files")]
    Files(usize),
    #[error("the files of the workspace hold more than {} MB", .0 / (1024 * 1024))]
    Bytes(u64),
    #[error("the folder {path:?} cannot be looked at: {error}")]
    Folder { path: String, error: io::Error },
    #[error("the workspace cannot be looked at: {0}")]
    Workspace(String),
}

/// What all threads share.
struct Look<'a> {
    known: &'a Tree,
    /// Whether the workspace is compared with `known`: what was covered before
    /// is looked at again, and nothing else of what was there.
    is_comparison: bool,
    limits: Limits,
    fresh: Moment,
    files: AtomicUsize,
    bytes: AtomicU64,
    is_over: AtomicBool,
}

/// What one thread found.
struct Found<'a> {
    look: &'a Look<'a>,
    tree: Tree,
    /// What is known of the folder that was opened last.
    known: &'a [Entry],
    /// Whether that folder can be listed, but what is in it not looked at.
    is_closed: bool,
    error: Option<WalkError>,
}

/// Looks at everything. What `known` says of files that have not changed since
/// is taken over, others are [`EntryKind::Unread`].
pub(crate) fn look(
    workspace: &Workspace,
    known: &Tree,
    is_comparison: bool,
    limits: Limits,
) -> Result<Tree, WalkError> {
    let look = Look {
        known,
        is_comparison,
        limits,
        fresh: moment(SystemTime::now() - FRESH),
        files: AtomicUsize::new(0),
        bytes: AtomicU64::new(0),
        is_over: AtomicBool::new(false),
    };
    let options = WalkOptions {
        hidden: true,
        depth: usize::MAX,
        everything: true,
    };
    let place = workspace.place(workspace.root());
    let walk = place.and_then(|it| Walk::new(&it, options, IgnoreRules::ignored_folders()));
    let walk = walk.map_err(|error| WalkError::Workspace(error.to_string()))?;
    let goes_on = |_| !look.is_over.load(Ordering::Relaxed);
    let mut tree = Tree::default();
    for mut found in walk.run(goes_on, || Found::new(&look)) {
        if let Some(error) = found.error {
            return Err(error);
        }
        tree.folders.append(&mut found.tree.folders);
        tree.uncovered.append(&mut found.tree.uncovered);
    }
    for folder in &mut tree.folders {
        let by_name = |a: &Entry, b: &Entry| a.name.cmp(&b.name);
        folder.entries.sort_unstable_by(by_name);
    }
    tree.folders.sort_unstable_by(|a, b| a.path.cmp(&b.path));
    tree.uncovered.sort_unstable();
    // What lies in an uncovered folder need not be named.
    tree.uncovered.dedup_by(|inner, outer| {
        let below = inner.strip_prefix(&**outer);
        below.is_some_and(|below| below.starts_with(b"/"))
    });
    Ok(tree)
}

pub(crate) fn moment(time: SystemTime) -> Moment {
    let since = time.duration_since(UNIX_EPOCH).unwrap_or_default();
    let seconds = i64::try_from(since.as_secs()).unwrap_or(i64::MAX);
    (seconds, since.subsec_nanos())
}

impl<'a> Found<'a> {
    fn new(look: &'a Look<'a>) -> Self {
        Self {
            look,
            tree: Tree::default(),
            known: &[],
            is_closed: false,
            error: None,
        }
    }

    /// Does not cover the folder that was opened last.
    fn close(&mut self) {
        if !std::mem::replace(&mut self.is_closed, true)
            && let Some(folder) = self.tree.folders.pop()
        {
            self.tree.uncovered.push(folder.path);
        }
    }

    fn fail(&mut self, error: WalkError) {
        self.error.get_or_insert(error);
        self.look.is_over.store(true, Ordering::Relaxed);
    }
}

impl Visitor for Found<'_> {
    const IS_WORK: bool = false;

    /// In a comparison, what was covered before is still covered, whatever the
    /// rules are by now, and vice versa: else files would seem to come and go.
    fn enters(&mut self, path: &[u8], is_ignored: bool) -> bool {
        let known = self.look.known;
        let is_uncovered = if self.look.is_comparison {
            let is_known = |it: &Bytes| (**it).cmp(path);
            known.uncovered.binary_search_by(is_known).is_ok()
                || (known.folder(path).is_none() && is_ignored)
        } else {
            is_ignored
        };
        if is_uncovered {
            self.tree.uncovered.push(path.into());
        }
        !is_uncovered
    }

    fn opened(&mut self, path: &[u8]) {
        let known = self.look.known.folder(path);
        self.known = known.map_or(&[], |known| &known.entries);
        self.is_closed = false;
        self.tree.folders.push(Folder {
            path: path.into(),
            entries: Vec::new(),
        });
    }

    fn visit(&mut self, found: &WalkEntry<'_>) {
        let node = match found.node() {
            Ok(Some(node)) => node,
            Ok(None) => return,
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied => return self.close(),
            Err(error) => {
                let path = String::from_utf8_lossy(found.path()).into_owned();
                return self.fail(WalkError::Folder { path, error });
            }
        };
        if let Err(error) = self.look.count(&node) {
            return self.fail(error);
        }
        let entry = self.look.entry(found, &node, self.known);
        if !self.is_closed
            && let Some(folder) = self.tree.folders.last_mut()
        {
            folder.entries.push(entry);
        }
    }

    /// A folder that is gone meanwhile is passed over. One that may not be
    /// looked into is not covered: a command of its owner can change that.
    fn left_out(&mut self, what: LeftOut<'_>) {
        let LeftOut::Unreadable { path, error } = what else {
            return;
        };
        let path = path.strip_suffix(b"/").unwrap_or(path);
        match error.kind() {
            io::ErrorKind::NotFound | io::ErrorKind::NotADirectory if !path.is_empty() => {}
            io::ErrorKind::PermissionDenied if !path.is_empty() => {
                self.tree.uncovered.push(path.into());
            }
            _ => {
                let path = String::from_utf8_lossy(path).into_owned();
                self.fail(WalkError::Folder { path, error });
            }
        }
    }
}

impl Look<'_> {
    fn count(&self, node: &Node) -> Result<(), WalkError> {
        let limits = &self.limits;
        if self.files.fetch_add(1, Ordering::Relaxed) >= limits.files {
            return Err(WalkError::Files(limits.files));
        }
        if node.kind == Kind::File && node.size <= limits.file {
            let before = self.bytes.fetch_add(node.size, Ordering::Relaxed);
            if before.saturating_add(node.size) > limits.bytes {
                return Err(WalkError::Bytes(limits.bytes));
            }
        }
        Ok(())
    }

    fn entry(&self, found: &WalkEntry<'_>, node: &Node, known: &[Entry]) -> Entry {
        let stamp = Stamp::of(node);
        let at = known.binary_search_by(|entry| (*entry.name).cmp(found.name()));
        let known = at.ok().and_then(|at| known.get(at));
        let known = known.filter(|known| known.stamp == stamp && !known.is_fresh);
        let what = match (known, node.kind) {
            (Some(known), _) => known.what.clone(),
            (None, Kind::Link) => {
                let target = found.link_target().unwrap_or_default();
                EntryKind::Link(target.into_os_string().into_encoded_bytes().into())
            }
            (None, kind) => kind_of(kind),
        };
        Entry {
            name: found.name().into(),
            stamp,
            what,
            is_fresh: node.changed >= self.fresh,
        }
    }
}
