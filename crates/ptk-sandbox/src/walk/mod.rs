//! The walk through a folder: several threads, no link followed, ignore rules
//! applied, in no particular order. A caller that needs an order sorts what was
//! found.
//!
//! Each folder is opened from the handle of the one that the walk began in, and
//! each file from that of its folder, so a name that is replaced meanwhile
//! leads nowhere else.

mod queue;
mod rules;
mod visit;

use std::fs::File;
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;

use bstr::ByteSlice as _;

pub use rules::IgnoreRules;
pub use visit::{LeftOut, Visitor, WalkEntry};

use self::queue::Queue;
use crate::error::PathError;
use crate::folder::{Folder, Names};
use crate::ignore_file::Verdict;
use crate::kind::Kind;
use crate::place::Place;
use crate::system::with_slashes;
use crate::temporary::is_temporary_name;

/// More threads than this wait for the disk and for each other.
const MAX_THREADS: usize = 12;
/// How many files of a folder a thread takes at a time, if looking at one is
/// real work.
const BATCH: usize = 32;
/// How long a path becomes before folders are opened from another one that is
/// nearer to them: a longer path takes longer to open, and has a limit.
const LONG: usize = 1024;

/// What a walk sees.
#[derive(Debug, Clone, Copy)]
pub struct WalkOptions {
    /// Names that begin with a dot, too.
    pub hidden: bool,
    /// How deep: one for the entries of the folder itself.
    pub depth: usize,
    /// Folders, links and whatever else has a name, too.
    pub everything: bool,
}

/// A walk that is about to begin.
///
/// ```
/// use ptk_sandbox::Workspace;
/// use ptk_sandbox::walk::{IgnoreRules, Visitor, Walk, WalkEntry, WalkOptions};
///
/// struct Paths(Vec<String>);
///
/// impl Visitor for Paths {
///     const IS_WORK: bool = false;
///
///     fn visit(&mut self, found: &WalkEntry<'_>) {
///         self.0.push(String::from_utf8_lossy(found.path()).into_owned());
///     }
/// }
///
/// # let folder = tempfile::tempdir()?;
/// # std::fs::create_dir_all(folder.path().join("src"))?;
/// # std::fs::write(folder.path().join("src/main.rs"), "")?;
/// # std::fs::write(folder.path().join("main.o"), "")?;
/// # std::fs::write(folder.path().join(".gitignore"), "*.o\n")?;
/// let place = Workspace::open(folder.path())?.resolve(".")?;
/// let options = WalkOptions {
///     hidden: false,
///     depth: usize::MAX,
///     everything: false,
/// };
/// let walk = Walk::new(&place, options, IgnoreRules::above(&place))?;
/// let threads = walk.run(|_files| true, || Paths(Vec::new()));
/// let found: Vec<String> = threads.into_iter().flat_map(|it| it.0).collect();
/// assert_eq!(found, ["src/main.rs"]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Walk {
    root: Arc<Folder>,
    /// The absolute path of the beginning, with a `/` at its end.
    prefix: Vec<u8>,
    /// Where the shown part of an absolute path begins.
    shown: usize,
    options: WalkOptions,
    rules: IgnoreRules,
}

#[derive(Debug)]
enum WalkJob {
    Folder(Pending),
    Files(Batch),
}

/// A folder that was seen and not yet opened.
#[derive(Debug)]
struct Pending {
    /// The path relative to the beginning, with a `/` at its end unless it is
    /// empty.
    path: Box<[u8]>,
    from: Ancestor,
    depth: usize,
    rules: IgnoreRules,
}

/// The folder that others are opened from.
#[derive(Debug, Clone)]
struct Ancestor {
    folder: Arc<Folder>,
    /// How long its path is.
    length: usize,
}

/// Some files of one folder.
#[derive(Debug)]
struct Batch {
    folder: Arc<Folder>,
    path: Arc<[u8]>,
    names: Vec<Box<[u8]>>,
}

/// A thread at work: its visitor, and buffers that it reuses.
struct Worker<'a, V> {
    walk: &'a Walk,
    goes_on: &'a (dyn Fn(u64) -> bool + Sync),
    /// The files that all threads have seen.
    files: &'a AtomicU64,
    visitor: V,
    names: Names,
    path: Vec<u8>,
}

impl Walk {
    /// A walk from a folder on; `rules` are those from above.
    ///
    /// # Errors
    ///
    /// If the folder cannot be opened.
    pub fn new(place: &Place, options: WalkOptions, rules: IgnoreRules) -> Result<Self, PathError> {
        let with_slash = |path: &Path| {
            let mut bytes = with_slashes(path).into_owned();
            if !bytes.ends_with(b"/") {
                bytes.push(b'/');
            }
            bytes
        };
        let prefix = with_slash(&place.absolute());
        let workspace = with_slash(place.workspace().root());
        let is_inside = prefix.starts_with(&workspace);
        Ok(Self {
            root: Arc::new(place.folder()?),
            prefix,
            shown: if is_inside { workspace.len() } else { 0 },
            options,
            rules,
        })
    }

    /// Opens a regular file that was found, by the path that was shown for it,
    /// and returns how long it is.
    ///
    /// # Errors
    ///
    /// If it is gone, or must not be read.
    pub fn reopen(&self, shown: &[u8]) -> io::Result<(File, u64)> {
        let path = shown.get(self.prefix.len() - self.shown..);
        let path = path.unwrap_or_default();
        let (folder, name) = path.rsplit_once_str("/").unwrap_or((b"", path));
        let folder = self.root.go_down(&folder.to_path_lossy())?;
        folder.open_sized(&name.to_os_str_lossy())
    }

    /// Runs the walk, and returns each thread's visitor. `goes_on` is called
    /// often, with the number of files seen so far, and ends the walk with
    /// `false`.
    pub fn run<V: Visitor>(
        &self,
        goes_on: impl Fn(u64) -> bool + Sync,
        visitor: impl Fn() -> V + Sync,
    ) -> Vec<V> {
        let queue = Queue::new(WalkJob::Folder(Pending {
            path: Box::default(),
            from: Ancestor {
                folder: Arc::clone(&self.root),
                length: 0,
            },
            depth: 1,
            rules: self.rules.clone(),
        }));
        let files = AtomicU64::new(0);
        let work = || {
            let mut worker = Worker {
                walk: self,
                goes_on: &goes_on,
                files: &files,
                visitor: visitor(),
                names: Names::default(),
                path: Vec::new(),
            };
            queue.run(|job, more| {
                match job {
                    WalkJob::Folder(folder) => worker.folder(folder, more),
                    WalkJob::Files(batch) => worker.batch(&batch),
                }
                worker.goes_on()
            });
            worker.visitor
        };
        let threads = match self.options.depth {
            1 if !V::IS_WORK => 1,
            _ => {
                thread::available_parallelism().map_or(1, |threads| threads.get().min(MAX_THREADS))
            }
        };
        thread::scope(|scope| {
            let others: Vec<_> = (1..threads)
                .filter_map(|_| {
                    let name = thread::Builder::new().name("ptk-walk".to_owned());
                    name.spawn_scoped(scope, work).ok()
                })
                .collect();
            let mut visitors = vec![work()];
            for other in others {
                match other.join() {
                    Ok(visitor) => visitors.push(visitor),
                    Err(panic) => std::panic::resume_unwind(panic),
                }
            }
            visitors
        })
    }
}

impl<V: Visitor> Worker<'_, V> {
    fn goes_on(&self) -> bool {
        (self.goes_on)(self.files.load(Ordering::Relaxed))
    }

    fn folder(&mut self, pending: Pending, more: &mut Vec<WalkJob>) {
        let walk = self.walk;
        self.path.clear();
        self.path.extend_from_slice(&walk.prefix);
        self.path.extend_from_slice(&pending.path);
        let mut from = pending.from;
        let below = pending.path.get(from.length..).unwrap_or_default();
        let opened = from.folder.go_down(&below.to_path_lossy());
        let opened = opened.and_then(|folder| {
            folder.list(&mut self.names)?;
            Ok(folder)
        });
        let folder = match opened {
            Ok(folder) => Arc::new(folder),
            Err(error) => {
                let path = self.path.get(walk.shown..).unwrap_or_default();
                return self.visitor.left_out(LeftOut::Unreadable { path, error });
            }
        };
        if below.len() > LONG {
            from = Ancestor {
                folder: Arc::clone(&folder),
                length: pending.path.len(),
            };
        }
        let path = pending.path.strip_suffix(b"/");
        self.visitor.opened(path.unwrap_or_default());
        let rules = pending.rules.within(&folder, &self.names, &self.path);
        let base = self.path.len();
        let relative = walk.prefix.len();
        let mut files = Vec::new();
        for (name, kind) in self.names.iter() {
            self.path.truncate(base);
            self.path.extend_from_slice(name);
            let found = WalkEntry {
                folder: &folder,
                name,
                absolute: &self.path,
                relative,
                shown: walk.shown,
                kind,
            };
            if !walk.finds(&found, &rules, &mut self.visitor) {
                continue;
            }
            let is_file = kind == Kind::File;
            if is_file && V::IS_WORK {
                files.push(name.into());
            } else if is_file || walk.options.everything {
                self.files.fetch_add(u64::from(is_file), Ordering::Relaxed);
                self.visitor.visit(&found);
            } else if kind != Kind::Folder {
                self.visitor.left_out(LeftOut::NotAFile(kind));
            }
            if kind == Kind::Folder && pending.depth < walk.options.depth {
                self.path.push(b'/');
                more.push(WalkJob::Folder(Pending {
                    path: self.path.get(relative..).unwrap_or_default().into(),
                    from: from.clone(),
                    depth: pending.depth + 1,
                    rules: rules.clone(),
                }));
            }
        }
        let path: Arc<[u8]> = pending.path.into();
        // On top of the folders, so that this one is closed before another is
        // opened.
        while !files.is_empty() {
            let batch = Batch {
                folder: Arc::clone(&folder),
                path: Arc::clone(&path),
                names: files.split_off(files.len().saturating_sub(BATCH)),
            };
            if files.is_empty() {
                self.batch(&batch);
            } else {
                more.push(WalkJob::Files(batch));
            }
        }
    }

    fn batch(&mut self, batch: &Batch) {
        let walk = self.walk;
        self.path.clear();
        self.path.extend_from_slice(&walk.prefix);
        self.path.extend_from_slice(&batch.path);
        let base = self.path.len();
        for name in &batch.names {
            if !self.goes_on() {
                return;
            }
            self.path.truncate(base);
            self.path.extend_from_slice(name);
            self.files.fetch_add(1, Ordering::Relaxed);
            self.visitor.visit(&WalkEntry {
                folder: &batch.folder,
                name,
                absolute: &self.path,
                relative: walk.prefix.len(),
                shown: walk.shown,
                kind: Kind::File,
            });
        }
    }
}

impl Walk {
    /// Whether the walk finds a name; tells the visitor what is left out.
    fn finds<V: Visitor>(
        &self,
        found: &WalkEntry<'_>,
        rules: &IgnoreRules,
        visitor: &mut V,
    ) -> bool {
        let is_folder = found.kind == Kind::Folder;
        if found.kind == Kind::File && !visitor.wants(found.path()) {
            return false;
        }
        if found.name == b".git" && rules.passes_over_git(is_folder) {
            return is_folder && visitor.enters(found.path(), true);
        }
        let is_hidden = found.name.starts_with(b".");
        let verdict = rules.verdict(found.absolute, is_folder);
        if verdict == Verdict::Silent && is_hidden && !self.options.hidden {
            visitor.left_out(LeftOut::Hidden);
            return false;
        }
        if is_hidden && is_temporary_name(&found.name.to_os_str_lossy()) {
            return false;
        }
        let is_ignored = verdict == Verdict::Ignored;
        let is_found = if is_folder {
            visitor.enters(found.path(), is_ignored)
        } else {
            !is_ignored
        };
        if !is_found && is_ignored {
            visitor.left_out(LeftOut::Ignored);
        }
        is_found
    }
}
