//! Updates an index to the files of a workspace.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, SyncSender};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::SystemTime;

use super::lock::Lock;
use super::manifest::Entry;
use super::store::Store;
use super::{Index, IndexError, Progress, Report, meaning};
use crate::Language;
use crate::chunk::Chunker;
use crate::document::ChunkDocument;
use crate::lexical::Fields;
use crate::walk::{self, Content, Reason, Seen};

/// The bytes of text after which a long update commits, so that one that is
/// killed can be resumed.
const COMMIT_EVERY: u64 = 32 * 1024 * 1024;
/// The most results that are queued for each thread.
const WAITING: usize = 4;
/// The coarsest time resolution of a file system, in nanoseconds.
const TICK: i128 = 2_000_000_000;

/// A file that may have changed.
struct Job {
    path: String,
    /// Its entry in the manifest.
    known: Option<Entry>,
}

/// The result for a file.
struct Done {
    path: String,
    bytes: u64,
    outcome: Outcome,
}

enum Outcome {
    /// The content has not changed.
    Same(Entry),
    /// The content is new.
    New(Entry, Vec<ChunkDocument>),
    /// The file cannot be indexed.
    Skipped(Reason),
}

pub(super) fn update(
    index: &Index,
    cancel: &AtomicBool,
    progress: &mut dyn FnMut(Progress),
) -> Result<Report, IndexError> {
    ptk_sandbox::private_folder(&index.folder).map_err(|error| index.folder_failed(error))?;
    let lock = Lock::take(&index.folder).map_err(|error| index.folder_failed(error))?;
    let Some(_lock) = lock else {
        return Err(IndexError::Busy {
            folder: index.folder.clone(),
        });
    };
    let (mut store, rebuilt) = Store::open(index)?;
    let mut report = Report {
        rebuilt,
        ..Report::default()
    };
    let found = found(index, &mut report)?;
    let gone: Vec<String> = store
        .manifest
        .files
        .keys()
        .filter(|path| !found.contains_key(*path))
        .cloned()
        .collect();
    let mut changes = Changes {
        store: &mut store,
        report: &mut report,
        uncommitted: 0,
        is_dirty: false,
    };
    for path in gone {
        changes.remove(&path)?;
    }
    let (jobs, bytes) = jobs(&mut changes, found);
    if !jobs.is_empty() {
        changes.store.expect(bytes)?;
    }
    changes.run(index, jobs, cancel, progress)?;
    if changes.is_dirty {
        store.commit()?;
    }
    let manifest = store.finish()?;
    report.files = manifest
        .files
        .values()
        .filter(|it| it.reason.is_none())
        .count();
    report.chunks = manifest.chunks();
    report.skipped.sort();
    if let Some(embedder) = index.embedder()
        && !report.is_cancelled
        && index.exists()
    {
        meaning::update(index, embedder.as_ref(), cancel, &mut report, progress)?;
    }
    Ok(report)
}

/// The current files of the workspace, without those of the index itself.
fn found(index: &Index, report: &mut Report) -> Result<BTreeMap<String, Seen>, IndexError> {
    let files = walk::files(&index.workspace, &mut report.skipped);
    let mut files = files.map_err(|why| IndexError::Workspace {
        workspace: index.workspace.root().to_owned(),
        why,
    })?;
    let own = index.folder.canonicalize();
    let own = own.map_err(|error| index.folder_failed(error))?;
    if let Ok(own) = own.strip_prefix(index.workspace.root()) {
        files.retain(|path, _| !Path::new(path).starts_with(own));
    }
    Ok(files)
}

/// The files that have to be read, and their size in bytes.
fn jobs(changes: &mut Changes<'_, '_>, found: BTreeMap<String, Seen>) -> (Vec<Job>, u64) {
    let mut jobs = Vec::new();
    let mut bytes = 0;
    for (path, seen) in found {
        let known = changes.store.manifest.files.get(&path);
        match known {
            Some(entry) if entry.seen == seen && entry.is_settled => match entry.reason {
                Some(reason) => changes.report.skipped.add(path, reason),
                None => changes.report.unchanged += 1,
            },
            known => {
                bytes += seen.size;
                let known = known.cloned();
                jobs.push(Job { path, known });
            }
        }
    }
    (jobs, bytes)
}

/// A running update.
struct Changes<'s, 'i> {
    store: &'s mut Store<'i>,
    report: &'s mut Report,
    /// Bytes of text since the last commit.
    uncommitted: u64,
    is_dirty: bool,
}

impl Changes<'_, '_> {
    /// Reads files on all cores, and adds the results on this thread, so that a
    /// commit never contains a part of a file.
    fn run(
        &mut self,
        index: &Index,
        jobs: Vec<Job>,
        cancel: &AtomicBool,
        progress: &mut dyn FnMut(Progress),
    ) -> Result<(), IndexError> {
        let mut so_far = Progress {
            total: jobs.len(),
            ..Progress::default()
        };
        progress(so_far);
        let threads = thread::available_parallelism().map_or(1, std::num::NonZero::get);
        let threads = threads.min(jobs.len());
        let fields = self.store.fields.clone();
        let queue = Mutex::new(jobs.into_iter());
        let (sender, receiver) = mpsc::sync_channel(threads * WAITING);
        thread::scope(|scope| {
            for _ in 0..threads {
                let sender = sender.clone();
                let (queue, fields) = (&queue, &fields);
                let name = thread::Builder::new().name("ptk-index".to_owned());
                let started = name.spawn_scoped(scope, move || work(index, fields, queue, &sender));
                started.map_err(|error| index.folder_failed(error))?;
            }
            drop(sender);
            for done in receiver {
                if cancel.load(Ordering::Relaxed) {
                    self.report.is_cancelled = true;
                    break;
                }
                so_far.files += 1;
                so_far.bytes += done.bytes;
                so_far.chunks += self.take(done)?;
                progress(so_far);
            }
            Ok(())
        })
    }

    /// Adds a file to the index. Returns how many chunks it has.
    fn take(&mut self, done: Done) -> Result<usize, IndexError> {
        let Done {
            path,
            bytes,
            outcome,
        } = done;
        let known = self.store.manifest.files.get(&path);
        let (entry, documents) = match outcome {
            Outcome::Skipped(reason) => {
                self.report.skipped.add(&path, reason);
                self.remove(&path)?;
                return Ok(0);
            }
            Outcome::Same(entry) => {
                self.is_dirty |= known != Some(&entry);
                match entry.reason {
                    Some(reason) => self.report.skipped.add(&path, reason),
                    None => self.report.unchanged += 1,
                }
                self.store.manifest.files.insert(path, entry);
                return Ok(0);
            }
            Outcome::New(entry, documents) => (entry, documents),
        };
        self.is_dirty = true;
        let had_chunks = known.is_some_and(|known| known.chunks > 0);
        let was_in = known.is_some_and(|known| known.reason.is_none());
        if had_chunks {
            self.store.remove(&path)?;
        }
        match entry.reason {
            Some(reason) => {
                self.report.skipped.add(&path, reason);
                self.report.removed += usize::from(was_in);
            }
            None if was_in => self.report.changed += 1,
            None => self.report.added += 1,
        }
        let chunks = documents.len();
        self.store.add(documents)?;
        self.store.manifest.files.insert(path, entry);
        self.uncommitted += bytes;
        if self.uncommitted >= COMMIT_EVERY {
            self.store.commit()?;
            self.uncommitted = 0;
        }
        Ok(chunks)
    }

    /// Removes a file from the index, if it is there.
    fn remove(&mut self, path: &str) -> Result<(), IndexError> {
        let Some(entry) = self.store.manifest.files.remove(path) else {
            return Ok(());
        };
        self.is_dirty = true;
        if entry.reason.is_none() {
            self.report.removed += 1;
        }
        if entry.chunks > 0 {
            self.store.remove(path)?;
        }
        Ok(())
    }
}

/// Reads and chunks files until none is left, or the receiver is gone.
fn work(
    index: &Index,
    fields: &Fields,
    queue: &Mutex<std::vec::IntoIter<Job>>,
    sender: &SyncSender<Done>,
) {
    let mut chunker = Chunker::default();
    loop {
        let job = queue.lock().unwrap_or_else(PoisonError::into_inner).next();
        let Some(job) = job else { return };
        if sender.send(look(index, fields, &mut chunker, job)).is_err() {
            return;
        }
    }
}

/// Reads and chunks one file.
fn look(index: &Index, fields: &Fields, chunker: &mut Chunker, job: Job) -> Done {
    let Job { path, known } = job;
    let now = walk::nanoseconds(SystemTime::now());
    let content = match walk::read(&index.workspace, &path) {
        Ok(content) => content,
        Err(reason) => {
            return Done {
                path,
                bytes: 0,
                outcome: Outcome::Skipped(reason),
            };
        }
    };
    let Content { seen, hash, text } = content;
    let mut entry = Entry {
        seen,
        is_settled: seen.modified.saturating_add(TICK) < now,
        hash,
        chunks: 0,
        reason: text.is_none().then_some(Reason::Binary),
    };
    let bytes = seen.size;
    if let Some(known) = known.filter(|known| known.hash == hash) {
        entry.chunks = known.chunks;
        let outcome = Outcome::Same(entry);
        return Done {
            path,
            bytes,
            outcome,
        };
    }
    let text = text.unwrap_or_default();
    let language = Language::of(&path, &text);
    let chunks = chunker.places(&text, language).into_iter();
    let (place, text) = (Arc::from(path.as_str()), Arc::from(text));
    let documents: Vec<ChunkDocument> = chunks
        .map(|chunk| fields.document(&place, &text, language, chunk))
        .collect();
    entry.chunks = documents.len();
    Done {
        path,
        bytes,
        outcome: Outcome::New(entry, documents),
    }
}
