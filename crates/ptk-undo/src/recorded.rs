//! Commands whose changes are recorded: what they are about to change is in a
//! pack before they change it. When they have ended, the pack also holds in
//! short what they have left. So the files can be hashed later: a change by
//! others in between shows.

use std::collections::{HashMap, HashSet};
use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, Read, Seek as _, SeekFrom};
use std::path::{Path, PathBuf};
use std::thread;

use bstr::{ByteSlice as _, ByteVec as _};
use ptk_sandbox::command::{After, Aftermath, Before, Record, Recording, Records};
use ptk_sandbox::{Attributes, Folder, Kind, Moment, Node, Workspace};

use crate::found::FoundChanges;
use crate::journal::Change;
use crate::layer;
use crate::packs::Packed;
use crate::state::{Content, NodeAttributes, State};
use crate::store::Store;

/// Files up to this size are read at once: to make room for more takes longer.
const SMALL: u64 = 64 * 1024;

/// Bytes of contents that are held in memory, so that they are not read twice.
const MOST_HELD: u64 = 8 * 1024 * 1024;
/// How many paths are worth a second thread.
const MANY: usize = 40;

/// The record of one call.
#[derive(Debug)]
pub(crate) struct Recorded {
    entry: String,
}

/// A path that was about to be changed.
struct RecordedPath {
    path: PathBuf,
    before: Before,
    /// Where its content begins in the pack, and that content, unless it is
    /// large.
    start: u64,
    content: Option<Vec<u8>>,
    /// What the command has left there, if that was recorded.
    after: Option<After>,
}

impl Recorded {
    pub(crate) fn new(entry: &str) -> Self {
        let entry = entry.to_owned();
        Self { entry }
    }

    /// The recording that a command is started with.
    pub(crate) fn recording(&self, workspace: &Workspace, store: &Store) -> Recording {
        let roots = layer::roots(workspace).into_iter();
        Recording {
            roots: roots.map(Path::to_owned).collect(),
            left_out: workspace
                .temporary()
                .map(Path::to_owned)
                .into_iter()
                .collect(),
            refused: Vec::new(),
            allowed: Vec::new(),
            pack: store.contents.packs.of(&self.entry),
            largest: store.options.largest_file(),
            most: store.options.most_bytes(),
        }
    }

    /// The changes of all paths that were about to be changed. What was changed
    /// after `until` is not the command's.
    pub(crate) fn end(
        &self,
        workspace: &Workspace,
        store: &Store,
        until: Option<Moment>,
    ) -> io::Result<FoundChanges> {
        let packs = &store.contents.packs;
        let (mut seen, uncovered) = self.read(store)?;
        // What lies in one folder is looked at one after another.
        seen.sort_unstable_by(|one, two| one.path.cmp(&two.path));
        let looking = RecordedInspection {
            pack: packs.of(&self.entry),
            workspace,
            largest: store.options.largest_file(),
            until,
        };
        let (changes, packed) = looking.all(&seen)?;
        if packed.is_empty() {
            packs.remove(&self.entry)?;
        } else {
            packs.index(&self.entry, &packed)?;
            store.added(packs.of(&self.entry).metadata()?.len());
        }
        let uncovered = uncovered.iter().map(|path| looking.name(path));
        Ok(FoundChanges {
            changes,
            uncovered: uncovered.map(|it| it.display().to_string()).collect(),
            ..FoundChanges::default()
        })
    }

    /// The records of the pack, and the folders that are not covered.
    fn read(&self, store: &Store) -> io::Result<(Vec<RecordedPath>, Vec<PathBuf>)> {
        let (mut seen, mut uncovered) = (Vec::new(), Vec::new());
        let mut records = match Records::open(&store.contents.packs.of(&self.entry)) {
            Ok(records) => records,
            // No program was started.
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                return Ok((seen, uncovered));
            }
            Err(error) => return Err(error),
        };
        let (mut known, mut held) = (HashSet::new(), 0);
        while let Some(Record { path, before }) = records.read()? {
            // Of several programs in one call, the first has seen it before.
            if !known.insert(path.clone()) {
                continue;
            }
            let path = path.into_path_buf_lossy();
            if before == Before::Uncovered {
                uncovered.push(path);
                continue;
            }
            let start = records.position();
            let content = match before {
                Before::File {
                    size,
                    is_kept: true,
                    ..
                } if size <= SMALL && held + size <= MOST_HELD => {
                    held += size;
                    let mut content = Vec::new();
                    records.content().read_to_end(&mut content)?;
                    Some(content)
                }
                _ => None,
            };
            seen.push(RecordedPath {
                path,
                before,
                start,
                content,
                after: None,
            });
        }
        if let Some(aftermath) = records.aftermath() {
            let paths = aftermath.paths.into_iter();
            let mut left: HashMap<Vec<u8>, After> =
                paths.map(|after| (after.path.clone(), after)).collect();
            for seen in &mut seen {
                seen.after = left.remove(seen.path.as_os_str().as_encoded_bytes());
            }
        }
        Ok((seen, uncovered))
    }

    /// What the command has left, if all its processes have ended.
    pub(crate) fn aftermath(&self, store: &Store) -> Option<Aftermath> {
        // If it cannot be read, the workspace is inspected.
        let read = Aftermath::read(&store.contents.packs.of(&self.entry));
        read.ok().flatten()
    }
}

/// Finds out what has become of recorded paths.
struct RecordedInspection<'a> {
    pack: PathBuf,
    workspace: &'a Workspace,
    largest: u64,
    until: Option<Moment>,
}

impl RecordedInspection<'_> {
    /// Compares all paths, by two threads if there are many: returns what has
    /// changed, and what is needed of the pack to put it back.
    fn all(&self, seen: &[RecordedPath]) -> io::Result<(Vec<Change>, Vec<Packed>)> {
        if seen.len() < MANY {
            return self.some(seen);
        }
        let (one, two) = seen.split_at(seen.len() / 2);
        thread::scope(|scope| {
            let two = scope.spawn(|| self.some(two));
            let (mut changes, mut packed) = self.some(one)?;
            let broken = |_| io::Error::other("a thread broke down");
            let more = two.join().map_err(broken)??;
            changes.extend(more.0);
            packed.extend(more.1);
            Ok((changes, packed))
        })
    }

    fn some(&self, seen: &[RecordedPath]) -> io::Result<(Vec<Change>, Vec<Packed>)> {
        let (mut changes, mut packed) = (Vec::new(), Vec::new());
        for root in layer::roots(self.workspace) {
            let mut inside = seen
                .iter()
                .filter(|seen| seen.path.starts_with(root))
                .peekable();
            if inside.peek().is_none() {
                continue;
            }
            let root_folder = self.workspace.folder_to_change(root)?;
            let mut last: Option<(&Path, Option<Folder>)> = None;
            for seen in inside {
                let relative = seen.path.strip_prefix(root).unwrap_or(&seen.path);
                let above = relative.parent().unwrap_or(Path::new(""));
                let folder = match last.take() {
                    Some((path, folder)) if path == above => folder,
                    _ => entered(&root_folder, above)?,
                };
                if let Some((before, after)) = self.compare(folder.as_ref(), seen)? {
                    if let Some(Content { hash, size }) = before.content() {
                        let start = seen.start;
                        packed.push(Packed { hash, size, start });
                    }
                    let path = self.name(&seen.path);
                    changes.push(Change {
                        path,
                        before,
                        after,
                    });
                }
                last = Some((above, folder));
            }
        }
        Ok((changes, packed))
    }

    /// The path in the journal.
    fn name(&self, path: &Path) -> PathBuf {
        let relative = path.strip_prefix(self.workspace.root());
        relative.unwrap_or(path).to_owned()
    }

    /// What was there and what is there, if they differ.
    fn compare(
        &self,
        folder: Option<&Folder>,
        seen: &RecordedPath,
    ) -> io::Result<Option<(State, State)>> {
        let name = seen.path.file_name().unwrap_or_default();
        if let Some(left) = &seen.after {
            let Some(after) = self.left(folder, name, &seen.before, left)? else {
                return Ok(None);
            };
            let before = self.before(seen)?;
            return Ok((!before.is_same(&after)).then_some((before, after)));
        }
        let node = folder.map(|folder| folder.node(name)).transpose()?;
        let node = node.flatten();
        let after = match (folder, node) {
            (_, Some(node)) if self.until.is_some_and(|until| node.changed > until) => {
                return Ok(None);
            }
            // Not even touched.
            (_, Some(node)) if is_untouched(&seen.before, &node) => return Ok(None),
            (Some(folder), Some(node)) => now(folder, name, &node, self.largest)?,
            _ if seen.before == Before::Missing => return Ok(None),
            _ => State::Missing,
        };
        let before = self.before(seen)?;
        Ok((!before.is_same(&after)).then_some((before, after)))
    }

    /// What the command has left; `None` if it has not even touched it.
    fn left(
        &self,
        folder: Option<&Folder>,
        name: &OsStr,
        before: &Before,
        left: &After,
    ) -> io::Result<Option<State>> {
        let Some(node) = &left.node else {
            return Ok((*before != Before::Missing).then_some(State::Missing));
        };
        if is_untouched(before, node) {
            return Ok(None);
        }
        let about = NodeAttributes::from(node);
        let file = |content| State::File {
            content,
            size: node.size,
            about,
        };
        let known = left.hash.map(|hash| Content {
            hash,
            size: node.size,
        });
        let state = match (node.kind, folder) {
            (Kind::Folder, _) => State::Folder { about },
            (Kind::File, _) if known.is_some() => file(known),
            (Kind::File, _) if node.size > self.largest => file(None),
            (Kind::File | Kind::Link, None) => State::Unknown,
            (Kind::File | Kind::Link, Some(folder)) => {
                let is_still = || {
                    let now = folder.node(name)?;
                    io::Result::Ok(now.filter(|now| is_same(now, node)))
                };
                match is_still()? {
                    None => State::Unknown,
                    Some(now) => {
                        let state = self::now(folder, name, &now, self.largest);
                        // It may have been changed while it was read.
                        match is_still()? {
                            Some(_) => state?,
                            None => State::Unknown,
                        }
                    }
                }
            }
            (kind, _) => State::Special {
                what: kind.to_string(),
            },
        };
        Ok(Some(state))
    }

    /// The state before the command, for the journal.
    fn before(&self, seen: &RecordedPath) -> io::Result<State> {
        let about = |attributes: &Attributes| NodeAttributes {
            mode: attributes.mode,
            modified: attributes.modified,
            owner: attributes.owner,
        };
        Ok(match &seen.before {
            Before::File {
                attributes,
                size,
                is_kept,
                ..
            } => State::File {
                content: match &seen.content {
                    Some(content) => Some(hashed(content.as_slice(), *size)?),
                    None if *is_kept => {
                        let mut pack = File::open(&self.pack)?;
                        pack.seek(SeekFrom::Start(seen.start))?;
                        Some(hashed(pack, *size)?)
                    }
                    None => None,
                },
                size: *size,
                about: about(attributes),
            },
            Before::Link { attributes, target } => State::Link {
                target: target.to_path_lossy().into_owned(),
                about: about(attributes),
            },
            Before::Folder { attributes } => State::Folder {
                about: about(attributes),
            },
            Before::Special(what) => State::Special { what: what.clone() },
            _ => State::Missing,
        })
    }
}

/// A folder below a root; `None` if there is none, or it is behind a link.
fn entered(root: &Folder, path: &Path) -> io::Result<Option<Folder>> {
    match root.go_down(path) {
        Ok(folder) => Ok(Some(folder)),
        Err(error) if is_nowhere(&error) => Ok(None),
        Err(error) => Err(error),
    }
}

fn is_untouched(before: &Before, node: &Node) -> bool {
    matches!(before, Before::File { changed, .. } if *changed == node.changed)
}

/// Whether a file or a link is unchanged since it was looked at.
fn is_same(now: &Node, then: &Node) -> bool {
    let key = |node: &Node| (node.kind, node.inode, node.size, node.changed);
    key(now) == key(then)
}

/// The size and hash of what can be read, up to a size.
fn hashed(from: impl Read, size: u64) -> io::Result<Content> {
    let mut from = from.take(size);
    let mut hasher = blake3::Hasher::new();
    if size <= SMALL {
        let mut bytes = Vec::with_capacity(usize::try_from(size).unwrap_or_default());
        from.read_to_end(&mut bytes)?;
        hasher.update(&bytes);
    } else {
        hasher.update_reader(from)?;
    }
    Ok(Content {
        hash: *hasher.finalize().as_bytes(),
        size: hasher.count(),
    })
}

fn now(folder: &Folder, name: &OsStr, node: &Node, largest: u64) -> io::Result<State> {
    let about = NodeAttributes::from(node);
    Ok(match node.kind {
        Kind::File => {
            let file = (node.size <= largest).then(|| folder.open(name));
            let content = match file {
                Some(Ok(file)) => Some(hashed(file, node.size)?),
                Some(Err(error)) if error.kind() != io::ErrorKind::PermissionDenied => {
                    return Err(error);
                }
                _ => None,
            };
            State::File {
                size: content.map_or(node.size, |content: Content| content.size),
                content,
                about,
            }
        }
        Kind::Link => State::Link {
            target: folder.link_target(name)?,
            about,
        },
        Kind::Folder => State::Folder { about },
        kind => State::Special {
            what: kind.to_string(),
        },
    })
}

/// Whether there is no such folder.
fn is_nowhere(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::NotFound | io::ErrorKind::NotADirectory
    )
}
