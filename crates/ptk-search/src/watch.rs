//! Notices changes of files in a workspace.
//!
//! Events of the file system are collected for a moment and reported as a set
//! of paths. If events were lost, everything has to be checked. Either way
//! [`Index::update`](crate::Index::update) finds out what really changed.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::time::Duration;

use ignore::gitignore::Gitignore;
use notify::{EventKind, RecommendedWatcher, RecursiveMode};
use notify_debouncer_full::{DebounceEventResult, Debouncer, RecommendedCache, new_debouncer};
use ptk_sandbox::Workspace;

/// The most paths that are reported; more are reported as "everything".
const MAX_PATHS: usize = 1_000;

/// The files that changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Changes {
    /// These paths, relative to the workspace.
    Paths(BTreeSet<PathBuf>),
    /// It is not known which: check everything.
    Everything,
}

/// Watches a workspace until it is dropped.
pub struct Watcher {
    _debouncer: Debouncer<RecommendedWatcher, RecommendedCache>,
}

impl std::fmt::Debug for Watcher {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Watcher")
    }
}

/// Why a workspace cannot be watched.
#[derive(Debug, thiserror::Error)]
#[error("Cannot watch {}. Bring the index up to date with `ptk index` instead", workspace.display())]
pub struct WatchError {
    /// The workspace.
    pub workspace: PathBuf,
    /// The cause.
    pub source: notify::Error,
}

impl Watcher {
    /// Starts to watch. Calls `changed`, on a thread of its own, when nothing
    /// more has happened for about `quiet`, or when some time has passed.
    ///
    /// Changes in `.git`, of files that the workspace's own `.gitignore` names,
    /// and in the folder `except` are not reported.
    ///
    /// # Errors
    ///
    /// If the file system does not support it, or there are too many folders.
    pub fn new(
        workspace: &Workspace,
        except: &Path,
        quiet: Duration,
        mut changed: impl FnMut(Changes) + Send + 'static,
    ) -> Result<Self, WatchError> {
        let root = workspace.root().to_owned();
        let failed = |source| WatchError {
            workspace: workspace.root().to_owned(),
            source,
        };
        let mut sight = Sight::new(root.clone(), except.to_owned());
        let handler = move |events: DebounceEventResult| {
            if let Some(changes) = sight.changes(events) {
                changed(changes);
            }
        };
        let mut debouncer = new_debouncer(quiet, None, handler).map_err(failed)?;
        debouncer
            .watch(&root, RecursiveMode::Recursive)
            .map_err(failed)?;
        Ok(Self {
            _debouncer: debouncer,
        })
    }
}

/// Decides which changes are reported.
struct Sight {
    root: PathBuf,
    except: PathBuf,
    rules: Gitignore,
}

impl Sight {
    fn new(root: PathBuf, except: PathBuf) -> Self {
        let rules = rules(&root);
        Self {
            root,
            except,
            rules,
        }
    }

    fn changes(&mut self, events: DebounceEventResult) -> Option<Changes> {
        let Ok(events) = events else {
            return Some(Changes::Everything);
        };
        let mut paths = BTreeSet::new();
        for event in events {
            if event.need_rescan() {
                return Some(Changes::Everything);
            }
            if matches!(event.kind, EventKind::Access(_)) {
                continue;
            }
            for path in &event.paths {
                let Ok(relative) = path.strip_prefix(&self.root) else {
                    continue;
                };
                if relative == Path::new(".gitignore") {
                    self.rules = rules(&self.root);
                }
                if self.tells(path, relative) {
                    paths.insert(relative.to_owned());
                }
            }
        }
        match paths.len() {
            0 => None,
            1..=MAX_PATHS => Some(Changes::Paths(paths)),
            _ => Some(Changes::Everything),
        }
    }

    fn tells(&self, path: &Path, relative: &Path) -> bool {
        let is_git = relative.components().any(|part| part.as_os_str() == ".git");
        let is_ignored = || {
            let found = self.rules.matched_path_or_any_parents(relative, false);
            found.is_ignore()
        };
        !is_git && !path.starts_with(&self.except) && !is_ignored()
    }
}

/// The rules of the workspace's own `.gitignore`, if it is a regular file.
fn rules(root: &Path) -> Gitignore {
    let path = root.join(".gitignore");
    let is_file = path.symlink_metadata().is_ok_and(|found| found.is_file());
    if is_file {
        Gitignore::new(path).0
    } else {
        Gitignore::empty()
    }
}
