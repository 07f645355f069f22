//! The workspace at a moment: everything in it, without what git ignores.
//!
//! A tree remembers of each file its metadata and the hash of its content.
//! Where the metadata is still the same, the file is not read again: so a look
//! at a workspace that has not changed reads no content.

mod keep;
mod walk;

use std::collections::BTreeMap;
use std::path::PathBuf;

use bstr::ByteSlice as _;
use ptk_sandbox::{Kind, Moment, Node};
use serde::{Deserialize, Serialize};

pub(crate) use keep::{hash, keep};
pub(crate) use walk::{Limits, WalkError, look, moment};

use super::journal::Change;
use super::state::{Content, NodeAttributes, State};

/// The workspace at a moment.
#[derive(Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Tree {
    /// By their paths, each below the folder that holds it.
    pub(crate) folders: Vec<Folder>,
    /// Folders that were passed over, by their paths.
    pub(crate) uncovered: Vec<Bytes>,
}

/// Names and paths, which need not be text.
pub(crate) type Bytes = Box<[u8]>;

/// A folder and what is directly in it, by name.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Folder {
    pub(crate) path: Bytes,
    pub(crate) entries: Vec<Entry>,
}

/// A file, a link or a folder.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Entry {
    pub(crate) name: Bytes,
    pub(crate) stamp: Stamp,
    pub(crate) what: EntryKind,
    /// Whether it changed so shortly before it was looked at that it may
    /// change again without a trace.
    pub(crate) is_fresh: bool,
}

/// The metadata of an entry. If it is the same later, nothing has changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Stamp {
    pub(crate) mode: u32,
    pub(crate) size: u64,
    pub(crate) owner: (u32, u32),
    pub(crate) modified: Moment,
    pub(crate) changed: Moment,
    pub(crate) inode: u64,
}

/// The kind of an entry, and its content.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum EntryKind {
    /// A file that was not read: not yet, or because it cannot be.
    Unread,
    /// A file whose hash is known.
    Hashed([u8; 32]),
    /// A file whose content is kept.
    Kept([u8; 32]),
    Link(Bytes),
    Folder,
    Special(Bytes),
}

impl Stamp {
    fn of(node: &Node) -> Self {
        Self {
            mode: node.mode,
            size: node.size,
            owner: node.owner,
            modified: node.modified,
            changed: node.changed,
            inode: node.inode,
        }
    }
}

impl Entry {
    pub(crate) fn is_file(&self) -> bool {
        matches!(
            self.what,
            EntryKind::Unread | EntryKind::Hashed(_) | EntryKind::Kept(_)
        )
    }

    /// The state of the entry, for the journal.
    fn state(&self) -> State {
        let stamp = &self.stamp;
        let about = NodeAttributes {
            mode: stamp.mode,
            modified: stamp.modified,
            owner: stamp.owner,
        };
        let size = stamp.size;
        let file = |content| State::File {
            content,
            size,
            about,
        };
        match &self.what {
            EntryKind::Unread => file(None),
            EntryKind::Hashed(hash) | EntryKind::Kept(hash) => {
                file(Some(Content { hash: *hash, size }))
            }
            EntryKind::Link(target) => State::Link {
                target: path(target),
                about,
            },
            EntryKind::Folder => State::Folder { about },
            EntryKind::Special(what) => State::Special {
                what: String::from_utf8_lossy(what).into_owned(),
            },
        }
    }
}

fn kind_of(kind: Kind) -> EntryKind {
    match kind {
        Kind::File => EntryKind::Unread,
        Kind::Folder => EntryKind::Folder,
        kind => EntryKind::Special(kind.to_string().into_bytes().into()),
    }
}

pub(crate) fn path(bytes: &[u8]) -> PathBuf {
    bytes.to_path_lossy().into_owned()
}

impl Tree {
    pub(crate) fn folder(&self, path: &[u8]) -> Option<&Folder> {
        let at = self.folders.binary_search_by(|it| (*it.path).cmp(path));
        self.folders.get(at.ok()?)
    }

    /// The contents that the tree needs.
    pub(crate) fn contents(&self) -> impl Iterator<Item = Content> {
        let entries = self.folders.iter().flat_map(|folder| &folder.entries);
        entries.filter_map(|entry| match entry.what {
            EntryKind::Kept(hash) => Some(Content {
                hash,
                size: entry.stamp.size,
            }),
            _ => None,
        })
    }

    /// What differs between this tree and a later one.
    pub(crate) fn changes(&self, later: &Self) -> Vec<Change> {
        let mut changes = BTreeMap::new();
        for folder in &later.folders {
            let before = self.folder(&folder.path).map(|it| it.entries.as_slice());
            compare(
                folder,
                before.unwrap_or_default(),
                &folder.entries,
                &mut changes,
            );
        }
        for folder in &self.folders {
            let is_gone = later.folder(&folder.path).is_none();
            if is_gone && !later.is_passed_over(&folder.path) {
                compare(folder, &folder.entries, &[], &mut changes);
            }
        }
        let changes = changes.into_iter();
        changes
            .map(|(path, (before, after))| Change {
                path,
                before,
                after,
            })
            .collect()
    }

    /// Takes for unchanged what has changed after a moment.
    pub(crate) fn forget_later(&mut self, before: &Self, moment: Moment) {
        for folder in &mut self.folders {
            let known = before.folder(&folder.path).map(|it| it.entries.as_slice());
            let known = known.unwrap_or_default();
            folder.entries.retain_mut(|entry| {
                if entry.what == EntryKind::Folder || entry.stamp.changed <= moment {
                    return true;
                }
                let at = known.binary_search_by(|it| it.name.cmp(&entry.name));
                let then = at.ok().and_then(|at| known.get(at));
                if let Some(then) = then {
                    entry.clone_from(then);
                }
                then.is_some()
            });
        }
    }

    /// Whether a folder, or one above it, was passed over.
    fn is_passed_over(&self, path: &[u8]) -> bool {
        let path = path.to_path_lossy();
        path.ancestors().any(|it| {
            let it = it.as_os_str().as_encoded_bytes();
            self.uncovered
                .binary_search_by(|known| (**known).cmp(it))
                .is_ok()
        })
    }

    pub(crate) fn uncovered(&self) -> Vec<String> {
        let shown = |path: &Bytes| String::from_utf8_lossy(path).into_owned();
        self.uncovered.iter().map(shown).collect()
    }
}

/// What differs in one folder. Both lists are in the order of the names.
fn compare(
    folder: &Folder,
    before: &[Entry],
    after: &[Entry],
    changes: &mut BTreeMap<PathBuf, (State, State)>,
) {
    let mut note = |name: &[u8], before: State, after: State| {
        if !before.is_same(&after) {
            let path = path(&folder.path).join(name.to_os_str_lossy());
            changes.insert(path, (before, after));
        }
    };
    let (mut old, mut new) = (before.iter().peekable(), after.iter().peekable());
    loop {
        let order = match (old.peek(), new.peek()) {
            (None, None) => return,
            (Some(_), None) => std::cmp::Ordering::Less,
            (None, Some(_)) => std::cmp::Ordering::Greater,
            (Some(old), Some(new)) => old.name.cmp(&new.name),
        };
        let gone = if order.is_le() { old.next() } else { None };
        let come = if order.is_ge() { new.next() } else { None };
        match (gone, come) {
            (Some(old), Some(new)) if old.stamp == new.stamp && old.what == new.what => {}
            (Some(old), Some(new)) => note(&old.name, old.state(), new.state()),
            (Some(old), None) => note(&old.name, old.state(), State::Missing),
            (None, Some(new)) => note(&new.name, State::Missing, new.state()),
            (None, None) => return,
        }
    }
}
