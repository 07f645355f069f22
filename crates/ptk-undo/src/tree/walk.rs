//! A look at the whole workspace, by several threads at once.

use std::ffi::{OsStr, OsString};
use std::io;
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use ptk_sandbox::{Folder as Open, Kind, Moment, Node, Rules, Workspace, is_temporary_name};

use super::{Bytes, Entry, EntryKind, Folder, Stamp, Tree, kind_of};

/// More threads than this wait for each other.
const MAX_THREADS: usize = 8;
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
}

/// A folder that is yet to be looked at.
struct Task {
    above: Option<(Arc<Open>, OsString)>,
    path: Bytes,
    rules: Option<Arc<Rules>>,
}

struct Walk<'a> {
    workspace: &'a Workspace,
    known: &'a Tree,
    /// Whether the workspace is compared with `known`: what was covered before
    /// is looked at again, and nothing else of what was there.
    is_comparison: bool,
    limits: Limits,
    fresh: Moment,
    queue: Mutex<Queue>,
    news: Condvar,
    files: AtomicUsize,
    bytes: AtomicU64,
}

#[derive(Default)]
struct Queue {
    tasks: Vec<Task>,
    /// Tasks that are waiting or under way.
    open: usize,
    done: Tree,
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
    let walk = Walk {
        workspace,
        known,
        is_comparison,
        limits,
        fresh: moment(SystemTime::now() - FRESH),
        queue: Mutex::new(Queue {
            tasks: vec![Task {
                above: None,
                path: Box::default(),
                rules: None,
            }],
            open: 1,
            ..Queue::default()
        }),
        news: Condvar::new(),
        files: AtomicUsize::new(0),
        bytes: AtomicU64::new(0),
    };
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| {
        for _ in 1..threads.min(MAX_THREADS) {
            scope.spawn(|| walk.work());
        }
        walk.work();
    });
    let queue = walk.queue.into_inner();
    let queue = queue.unwrap_or_else(PoisonError::into_inner);
    if let Some(error) = queue.error {
        return Err(error);
    }
    let mut tree = queue.done;
    tree.folders.sort_unstable_by(|a, b| a.path.cmp(&b.path));
    tree.uncovered.sort_unstable();
    Ok(tree)
}

pub(crate) fn moment(time: SystemTime) -> Moment {
    let since = time.duration_since(UNIX_EPOCH).unwrap_or_default();
    let seconds = i64::try_from(since.as_secs()).unwrap_or(i64::MAX);
    (seconds, since.subsec_nanos())
}

impl Walk<'_> {
    fn queue(&self) -> std::sync::MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn next(&self) -> Option<Task> {
        let mut queue = self.queue();
        loop {
            if queue.open == 0 || queue.error.is_some() {
                return None;
            }
            if let Some(task) = queue.tasks.pop() {
                return Some(task);
            }
            queue = self
                .news
                .wait(queue)
                .unwrap_or_else(PoisonError::into_inner);
        }
    }

    fn work(&self) {
        let mut done = Tree::default();
        while let Some(task) = self.next() {
            let found = self.visit(task, &mut done);
            let mut queue = self.queue();
            queue.open -= 1;
            match found {
                Ok(tasks) => {
                    queue.open += tasks.len();
                    queue.tasks.extend(tasks);
                }
                Err(error) => queue.error = Some(error),
            }
            drop(queue);
            self.news.notify_all();
        }
        let mut queue = self.queue();
        queue.done.folders.append(&mut done.folders);
        queue.done.uncovered.append(&mut done.uncovered);
    }

    /// Looks at one folder; returns those in it.
    fn visit(&self, task: Task, done: &mut Tree) -> Result<Vec<Task>, WalkError> {
        let failed = |error| WalkError::Folder {
            path: String::from_utf8_lossy(&task.path).into_owned(),
            error,
        };
        let folder = match &task.above {
            None => self.workspace.folder(),
            Some((above, name)) => above.enter(name),
        };
        let folder = match folder {
            Ok(folder) => Arc::new(folder),
            Err(error) if task.above.is_some() && is_passed_over(&error) => {
                return Ok(pass_over(task, &error, done));
            }
            Err(error) => return Err(failed(error)),
        };
        let mut nodes = match folder.nodes() {
            Err(error) if task.above.is_some() && is_passed_over(&error) => {
                return Ok(pass_over(task, &error, done));
            }
            nodes => nodes.map_err(failed)?,
        };
        nodes.retain(|(name, _)| !is_temporary_name(name));
        nodes.sort_unstable_by(|(a, _), (b, _)| a.as_bytes().cmp(b.as_bytes()));
        let rules = if nodes.iter().any(|(name, _)| name == ".gitignore") {
            Rules::read(
                folder.open(OsStr::new(".gitignore")).ok(),
                &task.path,
                task.rules,
            )
        } else {
            task.rules
        };
        let known = self.known.folder(&task.path);
        let known = known.map_or(&[] as &[Entry], |known| &known.entries);
        let mut tasks = Vec::new();
        let mut entries = Vec::with_capacity(nodes.len());
        for (name, node) in nodes {
            let below = joined(&task.path, name.as_bytes());
            if node.kind == Kind::Folder && self.is_uncovered(&below, &name, rules.as_deref()) {
                done.uncovered.push(below);
                continue;
            }
            if node.kind == Kind::Folder {
                tasks.push(Task {
                    above: Some((Arc::clone(&folder), name.clone())),
                    path: below,
                    rules: rules.clone(),
                });
            }
            self.count(&node)?;
            entries.push(self.entry(&folder, name, &node, known));
        }
        done.folders.push(Folder {
            path: task.path,
            entries,
        });
        Ok(tasks)
    }

    /// Whether a folder is passed over. In a comparison, what was covered
    /// before is still covered, whatever the rules are by now, and vice versa:
    /// else files would seem to come and go.
    fn is_uncovered(&self, path: &Bytes, name: &OsStr, rules: Option<&Rules>) -> bool {
        let by_rules = || name == ".git" || rules.is_some_and(|rules| rules.ignores(path));
        if !self.is_comparison {
            return by_rules();
        }
        let was_uncovered = self.known.uncovered.binary_search(path).is_ok();
        was_uncovered || (self.known.folder(path).is_none() && by_rules())
    }

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

    fn entry(&self, folder: &Open, name: OsString, node: &Node, known: &[Entry]) -> Entry {
        let stamp = Stamp::of(node);
        let at = known.binary_search_by(|entry| (*entry.name).cmp(name.as_bytes()));
        let known = at.ok().and_then(|at| known.get(at));
        let known = known.filter(|known| known.stamp == stamp && !known.is_fresh);
        let what = match (known, node.kind) {
            (Some(known), _) => known.what.clone(),
            (None, Kind::Link) => {
                let target = folder.link_target(&name).unwrap_or_default();
                EntryKind::Link(target.into_os_string().into_vec().into())
            }
            (None, kind) => kind_of(kind),
        };
        Entry {
            name: name.into_vec().into(),
            stamp,
            what,
            is_fresh: node.changed >= self.fresh,
        }
    }
}

/// Passes over a folder that is gone meanwhile, or may not be looked into: then
/// it is not covered, for a command of its owner can change that.
fn pass_over(task: Task, error: &io::Error, done: &mut Tree) -> Vec<Task> {
    if error.kind() == io::ErrorKind::PermissionDenied {
        done.uncovered.push(task.path);
    }
    Vec::new()
}

fn is_passed_over(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::NotFound | io::ErrorKind::NotADirectory | io::ErrorKind::PermissionDenied
    )
}

fn joined(folder: &[u8], name: &[u8]) -> Bytes {
    if folder.is_empty() {
        return name.into();
    }
    [folder, b"/", name].concat().into()
}
