//! The contents of files that were not read yet.

use std::fs::File;
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

use bstr::ByteSlice as _;
use ptk_sandbox::{Fingerprint, Folder as Open, Workspace};

use super::{Entry, EntryKind, Folder, Tree};
use crate::content::{Batch, Contents};
use crate::state::Content;

/// Two are enough to have the disk and a processor at work at once.
const THREADS: usize = 2;

/// Keeps all contents that are not kept yet, of files up to `largest` bytes.
/// What cannot be read stays unread. Returns whether anything was added.
pub(crate) fn keep(
    workspace: &Workspace,
    tree: &mut Tree,
    contents: &Contents,
    batch: &Batch<'_>,
    largest: u64,
) -> io::Result<bool> {
    let wants = |entry: &Entry| match entry.what {
        EntryKind::Unread => entry.stamp.size <= largest,
        EntryKind::Hashed(_) => true,
        _ => false,
    };
    read(workspace, tree, wants, |entry, file| {
        if let EntryKind::Hashed(hash) = entry.what {
            let size = entry.stamp.size;
            if contents.has(&Content { hash, size }) {
                return Ok((EntryKind::Kept(hash), size));
            }
        }
        // A full disk must not pass for a file that cannot be read.
        let content = batch.keep(file)?;
        Ok((EntryKind::Kept(content.hash), content.size))
    })
}

/// Hashes all files that were not read yet, up to `largest` bytes.
pub(crate) fn hash(workspace: &Workspace, tree: &mut Tree, largest: u64) -> io::Result<bool> {
    let wants = |entry: &Entry| entry.what == EntryKind::Unread && entry.stamp.size <= largest;
    read(workspace, tree, wants, |_, file| {
        let found = Fingerprint::read(file)?;
        Ok((EntryKind::Hashed(found.hash()), found.size()))
    })
}

/// Reads the files that are wanted, and notes what they hold. A file that
/// cannot be opened stays as it is.
fn read(
    workspace: &Workspace,
    tree: &mut Tree,
    wants: impl Fn(&Entry) -> bool + Sync,
    what: impl Fn(&Entry, &mut File) -> io::Result<(EntryKind, u64)> + Sync,
) -> io::Result<bool> {
    let is_wanted =
        |folder: &&mut Folder| folder.entries.iter().any(|it| it.is_file() && wants(it));
    let wanted: Vec<&mut Folder> = tree.folders.iter_mut().filter(is_wanted).collect();
    if wanted.is_empty() {
        return Ok(false);
    }
    let any = AtomicBool::new(false);
    let failed = Mutex::new(None);
    let wanted = Mutex::new(wanted.into_iter());
    let work = || {
        let next = || wanted.lock().ok().and_then(|mut wanted| wanted.next());
        while let Some(folder) = next() {
            let Ok(open) = enter(workspace, &folder.path) else {
                continue;
            };
            for entry in &mut folder.entries {
                if !(entry.is_file() && wants(entry)) {
                    continue;
                }
                let Ok(mut file) = open.open(&entry.name.to_os_str_lossy()) else {
                    continue;
                };
                match what(entry, &mut file) {
                    Ok((what, size)) => {
                        entry.what = what;
                        // It may have grown since; then it is read again.
                        entry.stamp.size = size;
                    }
                    Err(error) => {
                        *failed.lock().unwrap_or_else(PoisonError::into_inner) = Some(error);
                        return;
                    }
                }
                any.store(true, Ordering::Relaxed);
            }
        }
    };
    std::thread::scope(|scope| {
        for _ in 1..THREADS {
            scope.spawn(work);
        }
        work();
    });
    match failed.into_inner().unwrap_or_else(PoisonError::into_inner) {
        Some(error) => Err(error),
        None => Ok(any.into_inner()),
    }
}

fn enter(workspace: &Workspace, path: &[u8]) -> io::Result<Open> {
    workspace.folder()?.go_down(&path.to_path_lossy())
}
