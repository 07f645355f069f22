//! Commands whose changes are recorded: what they are about to change is in a
//! pack before they change it, and afterwards it is looked at what became of
//! that.

use std::collections::HashSet;
use std::ffi::OsStr;
use std::io::{self, Read};
use std::os::unix::ffi::OsStringExt as _;
use std::path::{Path, PathBuf};

use ptk_sandbox::command::{Before, Record, Recording, Records};
use ptk_sandbox::{Attributes, Folder, Kind, Moment, Node, Workspace};

use super::journal::Change;
use super::layer;
use super::opened::Opened;
use super::packs::Packed;
use super::state::{About, Content, State};
use super::store::Store;
use super::watch::Found;

/// Files up to this size are read at once: to make room for more takes longer.
const SMALL: u64 = 64 * 1024;

/// The record of one call.
#[derive(Debug)]
pub(crate) struct Recorded {
    entry: String,
}

/// Something that was about to be changed.
struct Seen {
    path: PathBuf,
    before: State,
    /// When anything of it was last changed.
    changed: Option<Moment>,
    /// Where its content begins in the pack.
    start: u64,
}

impl Recorded {
    pub(crate) fn new(entry: &str) -> Self {
        let entry = entry.to_owned();
        Self { entry }
    }

    /// What a command is to be started with.
    pub(crate) fn recording(&self, workspace: &Workspace, store: &Store) -> Recording {
        let roots = layer::roots(workspace).into_iter();
        Recording {
            roots: roots.map(Path::to_owned).collect(),
            left_out: workspace
                .temporary()
                .map(Path::to_owned)
                .into_iter()
                .collect(),
            pack: store.contents.packs.of(&self.entry),
            largest: store.options.largest_file(),
            most: store.options.most_bytes(),
        }
    }

    /// What has become of all that was about to be changed. What was changed
    /// after a moment that is given is somebody else's.
    pub(crate) fn end(
        &self,
        workspace: &Workspace,
        store: &Store,
        until: Option<Moment>,
    ) -> io::Result<Found> {
        let packs = &store.contents.packs;
        let (mut seen, uncovered) = self.read(store)?;
        let first = workspace.root();
        let named = |path: PathBuf| match path.strip_prefix(first) {
            Ok(relative) => relative.to_owned(),
            Err(_) => path,
        };
        // What lies in one folder is looked at one after another.
        seen.sort_unstable_by(|one, two| one.path.cmp(&two.path));
        let (mut changes, mut packed) = (Vec::new(), Vec::new());
        for root in layer::roots(workspace) {
            let mut opened = Opened::new(workspace.folder_to_change(root)?);
            let inside = seen.iter().filter(|seen| seen.path.starts_with(root));
            for seen in inside {
                let relative = seen.path.strip_prefix(root).unwrap_or(&seen.path);
                let largest = store.options.largest_file();
                let Some(after) = after(&mut opened, relative, seen, largest, until)? else {
                    continue;
                };
                if let Some(Content { hash, size }) = seen.before.content() {
                    let start = seen.start;
                    packed.push(Packed { hash, size, start });
                }
                changes.push(Change {
                    path: named(seen.path.clone()),
                    before: seen.before.clone(),
                    after,
                });
            }
        }
        if packed.is_empty() {
            packs.remove(&self.entry)?;
        } else {
            packs.index(&self.entry, &packed)?;
            store.added(packs.of(&self.entry).metadata()?.len());
        }
        let uncovered = uncovered.into_iter().map(named);
        Ok(Found {
            changes,
            uncovered: uncovered.map(|it| it.display().to_string()).collect(),
            ..Found::default()
        })
    }

    /// What the pack says, and the folders in it that are not covered.
    fn read(&self, store: &Store) -> io::Result<(Vec<Seen>, Vec<PathBuf>)> {
        let (mut seen, mut uncovered) = (Vec::new(), Vec::new());
        let mut records = match Records::open(&store.contents.packs.of(&self.entry)) {
            Ok(records) => records,
            // No program was started.
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                return Ok((seen, uncovered));
            }
            Err(error) => return Err(error),
        };
        let mut known = HashSet::new();
        while let Some(Record { path, before }) = records.read()? {
            // Of several programs in one call, the first has seen it before.
            if !known.insert(path.clone()) {
                continue;
            }
            let path = PathBuf::from(std::ffi::OsString::from_vec(path));
            let start = records.position();
            let changed = match &before {
                Before::File { changed, .. } => Some(*changed),
                Before::Uncovered => {
                    uncovered.push(path);
                    continue;
                }
                _ => None,
            };
            seen.push(Seen {
                path,
                before: state(before, &mut records)?,
                changed,
                start,
            });
        }
        Ok((seen, uncovered))
    }
}

/// What was there, as the journal says it.
fn state(before: Before, records: &mut Records) -> io::Result<State> {
    let about = |attributes: Attributes| About {
        mode: attributes.mode,
        modified: attributes.modified,
        owner: attributes.owner,
    };
    Ok(match before {
        Before::File {
            attributes,
            size,
            is_kept,
            ..
        } => State::File {
            content: if is_kept {
                Some(hashed(records.content(), size)?)
            } else {
                None
            },
            size,
            about: about(attributes),
        },
        Before::Link { attributes, target } => State::Link {
            target: PathBuf::from(std::ffi::OsString::from_vec(target)),
            about: about(attributes),
        },
        Before::Folder { attributes } => State::Folder {
            about: about(attributes),
        },
        Before::Special(what) => State::Special { what },
        _ => State::Missing,
    })
}

/// What can be read, up to a size.
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

/// What is there now, if it is something else.
fn after(
    opened: &mut Opened,
    path: &Path,
    seen: &Seen,
    largest: u64,
    until: Option<Moment>,
) -> io::Result<Option<State>> {
    let name = path.file_name().unwrap_or_default();
    let folder = match opened.enter(path.parent().unwrap_or(Path::new(""))) {
        Ok(folder) => Some(folder),
        // What is behind a link has another path.
        Err(error) if is_nowhere(&error) => None,
        Err(error) => return Err(error),
    };
    let node = folder
        .map(|folder| folder.node(name))
        .transpose()?
        .flatten();
    let after = match (folder, node) {
        (_, Some(node)) if until.is_some_and(|until| node.changed > until) => return Ok(None),
        // Not even touched.
        (_, Some(node)) if seen.changed == Some(node.changed) => return Ok(None),
        (Some(folder), Some(node)) => now(folder, name, &node, largest)?,
        _ => State::Missing,
    };
    Ok((!seen.before.is_same(&after)).then_some(after))
}

fn now(folder: &Folder, name: &OsStr, node: &Node, largest: u64) -> io::Result<State> {
    let about = About::from(node);
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
    let is_link = rustix::io::Errno::from_io_error(error) == Some(rustix::io::Errno::LOOP);
    is_link
        || matches!(
            error.kind(),
            io::ErrorKind::NotFound | io::ErrorKind::NotADirectory
        )
}
