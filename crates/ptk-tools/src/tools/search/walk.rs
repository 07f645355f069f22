//! The walk through a folder: several threads, no link followed, ignore rules
//! kept, in no particular order. A caller that needs an order sorts what was
//! found.

use std::fs::File;
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;

use bstr::ByteSlice as _;
use ptk_sandbox::{Kind, Place, is_temporary_name};

use super::jail::{Folder, Jail, Listing};
use super::queue::Queue;
use super::rules::{Rules, Verdict};
use super::stop::Stop;
use super::tally::Tally;
use super::visit::{Sight, Visitor, WalkEntry};

/// More threads than this wait for the disk and for each other.
const MAX_THREADS: usize = 12;
/// How many files of a folder a thread takes at a time, if looking at one is
/// real work.
const BATCH: usize = 32;

/// A walk that is about to begin.
#[derive(Debug)]
pub(crate) struct Walk<'a> {
    jail: Jail,
    /// The absolute path of the beginning, with a `/` at its end.
    prefix: Vec<u8>,
    /// Where the shown part of an absolute path begins.
    shown: usize,
    sight: Sight,
    rules: Rules,
    stop: &'a Stop,
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
    depth: usize,
    rules: Rules,
}

/// Some files of one folder.
#[derive(Debug)]
struct Batch {
    folder: Arc<Folder>,
    path: Arc<[u8]>,
    names: Vec<Box<[u8]>>,
}

/// Buffers that a thread reuses.
#[derive(Default)]
struct Scratch {
    listing: Listing,
    path: Vec<u8>,
}

impl<'a> Walk<'a> {
    /// A walk from `place`, to be run on a thread that is confined; `rules` are
    /// those from above.
    pub(crate) fn new(place: &Place, sight: Sight, rules: Rules, stop: &'a Stop) -> Self {
        let with_slash = |path: &Path| {
            let mut bytes = path.as_os_str().as_encoded_bytes().to_vec();
            if !bytes.ends_with(b"/") {
                bytes.push(b'/');
            }
            bytes
        };
        let prefix = with_slash(&place.absolute());
        let workspace = with_slash(place.workspace().root());
        let is_inside = prefix.starts_with(&workspace);
        Self {
            jail: Jail::new(place),
            prefix,
            shown: if is_inside { workspace.len() } else { 0 },
            sight,
            rules,
            stop,
        }
    }

    /// Opens a file that was found, by the path that was shown for it.
    pub(crate) fn reopen(&self, shown: &[u8]) -> io::Result<(File, u64)> {
        let relative = shown.get(self.prefix.len() - self.shown..);
        self.jail.open(relative.unwrap_or_default())
    }

    /// Runs the walk. Returns each thread's visitor, and what was left out.
    pub(crate) fn run<V: Visitor>(&self, visitor: impl Fn() -> V + Sync) -> (Vec<V>, Tally) {
        let queue = Queue::new(WalkJob::Folder(Pending {
            path: Box::default(),
            depth: 1,
            rules: self.rules.clone(),
        }));
        let counted = AtomicU64::new(0);
        let work = || {
            let mut visitor = visitor();
            let mut tally = Tally::default();
            let mut scratch = Scratch::default();
            queue.run(|job, more| {
                let before = tally.files;
                match job {
                    WalkJob::Folder(folder) => {
                        self.folder(folder, &mut scratch, &mut visitor, &mut tally, more);
                    }
                    WalkJob::Files(batch) => {
                        self.files(&batch, &mut scratch, &mut visitor, &mut tally);
                    }
                }
                let new = tally.files - before;
                let all = counted.fetch_add(new, Ordering::Relaxed) + new;
                self.stop.seen(all);
                !self.stop.is_set()
            });
            (visitor, tally)
        };
        let threads = match self.sight.depth {
            1 if !V::IS_WORK => 1,
            _ => {
                thread::available_parallelism().map_or(1, |threads| threads.get().min(MAX_THREADS))
            }
        };
        let mut visitors = Vec::with_capacity(threads);
        let mut tally = Tally::default();
        thread::scope(|scope| {
            let others: Vec<_> = (1..threads)
                .filter_map(|_| {
                    let name = thread::Builder::new().name("ptk-search".to_owned());
                    name.spawn_scoped(scope, work).ok()
                })
                .collect();
            let mut take = |(visitor, one): (V, Tally)| {
                visitors.push(visitor);
                tally.add(one);
            };
            take(work());
            for other in others {
                match other.join() {
                    Ok(result) => take(result),
                    Err(panic) => std::panic::resume_unwind(panic),
                }
            }
        });
        (visitors, tally)
    }

    fn folder<V: Visitor>(
        &self,
        pending: Pending,
        scratch: &mut Scratch,
        visitor: &mut V,
        tally: &mut Tally,
        more: &mut Vec<WalkJob>,
    ) {
        let Scratch { listing, path } = scratch;
        path.clear();
        path.extend_from_slice(&self.prefix);
        path.extend_from_slice(&pending.path);
        let folder = match self.jail.folder(&pending.path, listing) {
            Ok(folder) => Arc::new(folder),
            Err(error) => {
                return tally.unreadable(path.get(self.shown..).unwrap_or_default(), &error);
            }
        };
        let rules = pending.rules.within(&folder, listing, path);
        let base = path.len();
        let relative = self.prefix.len();
        let mut names = Vec::new();
        for (name, kind) in listing.iter() {
            path.truncate(base);
            path.extend_from_slice(name);
            let is_folder = kind == Kind::Folder;
            let is_file = kind == Kind::File;
            if name == b".git"
                || is_file && !visitor.wants(path.get(relative..).unwrap_or_default())
            {
                continue;
            }
            if !self.sees(&rules, path, name, is_folder, tally) {
                continue;
            }
            if is_folder && pending.depth < self.sight.depth {
                path.push(b'/');
                more.push(WalkJob::Folder(Pending {
                    path: path.get(relative..).unwrap_or_default().into(),
                    depth: pending.depth + 1,
                    rules: rules.clone(),
                }));
                path.pop();
            }
            if is_file && V::IS_WORK {
                names.push(name.into());
            } else if is_file || self.sight.everything {
                tally.files += u64::from(is_file);
                let found = WalkEntry {
                    folder: &folder,
                    name,
                    absolute: path,
                    shown: self.shown,
                    kind,
                };
                visitor.visit(&found, tally);
            } else if !is_folder {
                tally.not_a_file(kind);
            }
        }
        let path: Arc<[u8]> = pending.path.into();
        // On top of the folders, so that this one is closed before another is
        // opened.
        while !names.is_empty() {
            let rest = names.split_off(names.len().saturating_sub(BATCH));
            let batch = Batch {
                folder: Arc::clone(&folder),
                path: Arc::clone(&path),
                names: rest,
            };
            if names.is_empty() {
                self.files(&batch, scratch, visitor, tally);
            } else {
                more.push(WalkJob::Files(batch));
            }
        }
    }

    /// Whether a name is seen; counts what is not.
    fn sees(
        &self,
        rules: &Rules,
        path: &[u8],
        name: &[u8],
        is_folder: bool,
        tally: &mut Tally,
    ) -> bool {
        let verdict = rules.verdict(&path.to_path_lossy(), is_folder);
        let is_hidden = name.starts_with(b".");
        match verdict {
            Verdict::Ignored => {
                tally.ignored += 1;
                false
            }
            Verdict::Silent if is_hidden && !self.sight.hidden => {
                tally.hidden += 1;
                false
            }
            _ => !(is_hidden && is_temporary_name(&name.to_os_str_lossy())),
        }
    }

    fn files<V: Visitor>(
        &self,
        batch: &Batch,
        scratch: &mut Scratch,
        visitor: &mut V,
        tally: &mut Tally,
    ) {
        let path = &mut scratch.path;
        path.clear();
        path.extend_from_slice(&self.prefix);
        path.extend_from_slice(&batch.path);
        let base = path.len();
        for name in &batch.names {
            if self.stop.is_set() {
                return;
            }
            path.truncate(base);
            path.extend_from_slice(name);
            tally.files += 1;
            let found = WalkEntry {
                folder: &batch.folder,
                name,
                absolute: path,
                shown: self.shown,
                kind: Kind::File,
            };
            visitor.visit(&found, tally);
        }
    }
}
