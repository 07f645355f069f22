//! Moving the changes of a layer into the workspace. Each file is replaced in
//! one step, and what was there before has a second name in the store by then:
//! so whatever happens in between, all of it can be undone, or finished by
//! another process.

use std::ffi::OsStr;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use ptk_sandbox::{Attributes, Folder, Kind, Node, Workspace};

use super::look::{Attempt, LayerEntry, Look, Step};
use super::opened::Opened;
use super::{Dropped, Layers, marks};
use crate::content::Batch;
use crate::journal::Change;
use crate::state::{Content, State};
use crate::store::Store;
use crate::system;

impl Layers {
    /// Takes all steps, or none.
    pub(crate) fn apply(
        &self,
        workspace: &Workspace,
        look: &Look,
        attempt: Attempt,
    ) -> Result<(), Dropped> {
        let failed = |path: &Path, error| Dropped::Failed {
            path: path.to_owned(),
            error,
        };
        let applying = Applying::new(self, workspace, attempt);
        let mut applying = applying.map_err(|error| failed(&self.folder, error))?;
        let old = Folder::private(&self.old()).map_err(|error| failed(&self.folder, error))?;
        let mut done = Vec::new();
        let mut taken = Ok(());
        for (number, steps) in in_order(look).into_iter().enumerate() {
            if number == COMING {
                // From here on files leave the layer, and what is not in it any
                // more must not look as if it had been removed.
                taken = taken.and_then(|()| {
                    let unmarked = look.opaque.iter().try_for_each(|path| marks::remove(path));
                    unmarked.map_err(|error| (self.folder.clone(), error))
                });
            }
            taken = taken.and_then(|()| applying.take_all(&steps, &old, &mut done));
        }
        let Err((path, error)) = taken else {
            return Ok(());
        };
        let back = done.iter().rev().try_for_each(|step| {
            let taken = applying.take_back(step, &old);
            taken.map_err(|error| (self.name(step), error))
        });
        self.close(workspace, look);
        Err(match back {
            Err((at, also)) => Dropped::Torn {
                path,
                error,
                at,
                also,
            },
            Ok(()) if is_taken(&error) => Dropped::Others(vec![path]),
            Ok(()) => Dropped::Failed { path, error },
        })
    }

    /// Gives folders that were opened their permissions back, those inside
    /// first.
    pub(crate) fn close(&self, workspace: &Workspace, look: &Look) {
        for (part, path, closed) in look.opened.iter().rev() {
            let part = self.parts.get(*part);
            let root = part.and_then(|part| workspace.folder_to_change(&part.root).ok());
            let above = path.parent().unwrap_or(Path::new(""));
            let name = path.file_name().unwrap_or_default();
            let closed =
                root.map(|root| Opened::new(root).enter(above)?.set_attributes(name, closed));
            if let Some(Err(error)) = closed {
                tracing::warn!(%error, path = %path.display(), "a folder stays open");
            }
        }
    }

    fn name(&self, step: &Step) -> PathBuf {
        let part = self.parts.get(step.part);
        part.map_or_else(|| step.path.clone(), |part| part.name(&step.path))
    }

    /// Keeps what was replaced or removed; returns what has really changed.
    pub(crate) fn keep(&self, changes: Vec<Change>, store: &Store) -> io::Result<Vec<Change>> {
        let batch = store.contents.batch();
        let mut applied = Vec::new();
        let mut bytes = 0;
        for mut change in changes {
            if let State::File { content, size, .. } = &mut change.before {
                let old = self.old().join(key(&change.path));
                let Ok(found) = fs::symlink_metadata(&old) else {
                    // It is still there, so nothing has changed.
                    continue;
                };
                *size = found.len();
                if found.len() <= store.options.largest_file() {
                    let kept = keep_one(&old, &found, store, &batch)?;
                    bytes += kept.map_or(0, |(_, bytes)| bytes);
                    *content = kept.map(|(content, _)| content);
                }
            }
            if !change.before.is_same(&change.after) {
                applied.push(change);
            }
        }
        store.added(bytes + batch.finish()?);
        Ok(applied)
    }
}

/// The name under which what was at a path waits.
fn key(path: &Path) -> String {
    blake3::hash(path.as_os_str().as_encoded_bytes())
        .to_hex()
        .to_string()
}

/// Moves a file to the contents. Returns its content, and how many bytes that
/// added.
fn keep_one(
    old: &Path,
    found: &fs::Metadata,
    store: &Store,
    batch: &Batch<'_>,
) -> io::Result<Option<(Content, u64)>> {
    // A process that has this file under another name may write to it.
    let is_shared = system::has_other_names(found);
    if !is_shared {
        system::make_readable(old, found)?;
    }
    let mut file = match fs::File::open(old) {
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => return Ok(None),
        file => file?,
    };
    if is_shared {
        return Ok(Some((batch.keep(&mut file)?, 0)));
    }
    let content = Content::from(ptk_sandbox::Fingerprint::read(&file)?);
    if store.contents.has(&content) {
        return Ok(Some((content, 0)));
    }
    fs::rename(old, store.contents.folder().join(content.name()))?;
    Ok(Some((content, content.size)))
}

/// The first group of steps that moves what is in the layer to the workspace.
const COMING: usize = 2;

/// The steps in groups: files are removed first, then folders; then folders are
/// created and files moved, and last the permissions of folders are set, since
/// they may forbid the rest.
fn in_order(look: &Look) -> [Vec<&Step>; 5] {
    let of = |wanted: fn(LayerEntry) -> bool| {
        let steps = look.steps.iter().filter(|step| wanted(step.what));
        steps.collect::<Vec<_>>()
    };
    let mut settled = of(|it| matches!(it, LayerEntry::Settle(_)));
    settled.reverse();
    [
        of(|it| matches!(it, LayerEntry::Remove | LayerEntry::RemoveWhole)),
        of(|it| it == LayerEntry::RemoveFolder),
        of(|it| it == LayerEntry::Create),
        of(|it| matches!(it, LayerEntry::Put | LayerEntry::PutWhole)),
        settled,
    ]
}

/// Whether another process was faster.
fn is_taken(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::AlreadyExists | io::ErrorKind::DirectoryNotEmpty
    )
}

struct Applying<'a> {
    layers: &'a Layers,
    attempt: Attempt,
    /// For each root the layer, and what it lies over.
    parts: Vec<(Opened, Opened)>,
}

/// The location of a step.
struct At<'a> {
    upper: &'a mut Opened,
    lower: &'a mut Opened,
    above: &'a Path,
    name: &'a OsStr,
}

impl<'a> At<'a> {
    fn lower(&mut self) -> io::Result<&Folder> {
        self.lower.enter(self.above)
    }

    fn both(self) -> io::Result<(&'a Folder, &'a Folder)> {
        Ok((self.upper.enter(self.above)?, self.lower.enter(self.above)?))
    }
}

impl<'a> Applying<'a> {
    fn new(layers: &'a Layers, workspace: &Workspace, attempt: Attempt) -> io::Result<Self> {
        let parts = layers.parts.iter().map(|part| {
            let upper = Folder::private(&part.upper())?;
            let lower = workspace.folder_to_change(&part.root)?;
            Ok((Opened::new(upper), Opened::new(lower)))
        });
        Ok(Self {
            parts: parts.collect::<io::Result<_>>()?,
            layers,
            attempt,
        })
    }

    fn at<'s>(&'s mut self, step: &'s Step) -> io::Result<At<'s>> {
        let part = self.parts.get_mut(step.part);
        let (upper, lower) = part.ok_or(io::ErrorKind::NotFound)?;
        Ok(At {
            upper,
            lower,
            above: step.path.parent().unwrap_or(Path::new("")),
            name: step.path.file_name().unwrap_or_default(),
        })
    }

    /// Takes steps until one fails.
    fn take_all<'s>(
        &mut self,
        steps: &[&'s Step],
        old: &Folder,
        done: &mut Vec<&'s Step>,
    ) -> Result<(), (PathBuf, io::Error)> {
        for step in steps {
            let taken = self.take(step, old);
            if taken.map_err(|error| (self.layers.name(step), error))? {
                done.push(step);
            }
        }
        Ok(())
    }

    /// Takes a step. Returns whether there was one to take.
    fn take(&mut self, step: &Step, old: &Folder) -> io::Result<bool> {
        match self.try_to_take(step, old) {
            Err(error) if is_taken(&error) && self.attempt == Attempt::Again => Ok(false),
            taken => taken.map(|()| true),
        }
    }

    fn try_to_take(&mut self, step: &Step, old: &Folder) -> io::Result<()> {
        let key = key(&self.layers.name(step));
        let key = OsStr::new(&key);
        let upper = self.layers.parts.get(step.part).map(super::Part::upper);
        let upper = upper.ok_or(io::ErrorKind::NotFound)?.join(&step.path);
        if let (LayerEntry::Remove | LayerEntry::Put, Some(there)) = (step.what, &step.there) {
            self.put_aside(step, there, old, key)?;
        }
        let mut at = self.at(step)?;
        let name = at.name;
        match step.what {
            LayerEntry::Settle(attributes) => at.lower()?.set_attributes(name, &attributes),
            LayerEntry::Remove => at.lower()?.remove_file(name),
            LayerEntry::RemoveWhole => {
                at.lower.forget();
                at.lower()?.hand_over(name, old, key)
            }
            LayerEntry::RemoveFolder => {
                at.lower.forget();
                at.lower()?.remove_folder(name)
            }
            LayerEntry::Create => at.lower()?.create_folder(name),
            LayerEntry::Put => {
                marks::remove(&upper)?;
                let (upper, lower) = at.both()?;
                if step.there.is_some() {
                    upper.replace(name, lower, name)
                } else {
                    upper.hand_over(name, lower, name)
                }
            }
            LayerEntry::PutWhole => {
                remove_marks(&upper)?;
                let (upper, lower) = at.both()?;
                upper.hand_over(name, lower, name)
            }
        }
    }

    /// Gives what is there a second name, if it is what was seen.
    fn put_aside(&mut self, step: &Step, seen: &Node, old: &Folder, key: &OsStr) -> io::Result<()> {
        let taken = || Err(io::ErrorKind::AlreadyExists.into());
        let is_again = self.attempt == Attempt::Again;
        let is_theirs = is_again && seen.changed > self.layers.start;
        let copy = self.layers.old().join(key);
        let mut at = self.at(step)?;
        let name = at.name;
        let lower = at.lower()?;
        if is_again && let Some(aside) = old.node(key)? {
            return if aside.inode == seen.inode {
                Ok(())
            } else {
                taken()
            };
        }
        if is_theirs {
            return taken();
        }
        if lower.link(name, old, key).is_err() && seen.kind == Kind::File {
            // A file of another user, or one with very many names.
            io::copy(&mut lower.open(name)?, &mut fs::File::create(copy)?)?;
            old.set_attributes(key, &Attributes::from(seen))?;
        }
        let same = |now: Node| {
            (now.inode, now.size, now.modified) == (seen.inode, seen.size, seen.modified)
        };
        if lower.node(name)?.is_some_and(same) {
            return Ok(());
        }
        old.remove_file(key)?;
        taken()
    }

    /// Undoes a step.
    fn take_back(&mut self, step: &Step, old: &Folder) -> io::Result<()> {
        let key = key(&self.layers.name(step));
        let key = OsStr::new(&key);
        let mut at = self.at(step)?;
        let name = at.name;
        let before = step.there.as_ref().map(Attributes::from);
        match (step.what, before) {
            (LayerEntry::Settle(_), Some(before)) => at.lower()?.set_attributes(name, &before),
            // The folder is removed anyway.
            (LayerEntry::Settle(_), None) => Ok(()),
            (LayerEntry::Remove | LayerEntry::RemoveWhole, _) => {
                old.hand_over(key, at.lower()?, name)
            }
            (LayerEntry::RemoveFolder, before) => {
                at.lower()?.create_folder(name)?;
                let before = before.ok_or(io::ErrorKind::NotFound)?;
                at.lower()?.set_attributes(name, &before)
            }
            (LayerEntry::Create, _) => {
                at.lower.forget();
                at.lower()?.remove_folder(name)
            }
            (LayerEntry::Put, Some(_)) => old.replace(key, at.lower()?, name),
            (LayerEntry::Put, None) => at.lower()?.remove_file(name),
            (LayerEntry::PutWhole, _) => {
                let (upper, lower) = at.both()?;
                lower.hand_over(name, upper, name)
            }
        }
    }
}

/// Takes the marks from all that is in a folder.
fn remove_marks(folder: &Path) -> io::Result<()> {
    marks::remove(folder)?;
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let kind = entry.file_type()?;
        if kind.is_dir() {
            remove_marks(&entry.path())?;
        } else if kind.is_file() {
            marks::remove(&entry.path())?;
        }
    }
    Ok(())
}
