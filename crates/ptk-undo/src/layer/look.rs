//! The steps that move a layer into the workspace. Both are walked through side
//! by side, but no further than the layer goes.

use std::collections::HashSet;
use std::ffi::{OsStr, OsString};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use ptk_sandbox::{Attributes, Fingerprint, Folder, IgnoreFile, Kind, Node, Workspace};

use super::{Dropped, GIT, Layers, Part, marks};
use crate::journal::Change;
use crate::state::{NodeAttributes, State};
use crate::system;

/// The permissions that an owner needs to change what is in a folder.
const WRITABLE: u32 = 0o700;

/// The steps that are to be taken, and what to report.
#[derive(Debug, Default)]
pub(crate) struct Look {
    /// The steps in the order of their paths: a folder stands before what is in
    /// it.
    pub(super) steps: Vec<Step>,
    /// Folders of the workspace that were opened, and how they were before.
    pub(super) opened: Vec<(usize, PathBuf, Attributes)>,
    /// Folders of the layers that hide what is below.
    pub(super) opaque: Vec<PathBuf>,
    /// Folders in which something changes that cannot be undone.
    pub(crate) uncovered: Vec<String>,
    /// Paths that have been changed by others since the layers were made.
    pub(super) conflicts: Vec<PathBuf>,
}

/// One step: what is to be done about one path.
#[derive(Debug)]
pub(super) struct Step {
    pub(super) part: usize,
    /// The path in the root.
    pub(super) path: PathBuf,
    pub(super) what: LayerEntry,
    /// What is there, if anything is.
    pub(super) there: Option<Node>,
    /// The change for the journal. What a file held before is not known yet.
    pub(super) change: Option<Change>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum LayerEntry {
    /// Removes what is not a folder.
    Remove,
    /// Removes a folder with all that is in it.
    RemoveWhole,
    /// Removes a folder that is empty by then.
    RemoveFolder,
    /// Creates a folder.
    Create,
    /// Moves what is not a folder, in place of what is there.
    Put,
    /// Moves a folder with all that is in it.
    PutWhole,
    /// Sets the permissions and the time of a folder.
    Settle(Attributes),
}

/// What the steps are for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Attempt {
    /// To be shown: neither the workspace nor the layers are touched.
    Show,
    /// To be taken for the first time.
    First,
    /// To be taken again: another process was killed meanwhile. What has been
    /// changed since is left alone.
    Again,
}

impl Look {
    pub(crate) fn is_empty(&self) -> bool {
        self.steps.is_empty()
    }

    pub(crate) fn changes(&self) -> impl Iterator<Item = &Change> {
        self.steps.iter().filter_map(|step| step.change.as_ref())
    }
}

impl Layers {
    /// The steps for what the command has changed, unless the same was changed
    /// by others. Files up to `largest` bytes are read.
    pub(crate) fn look(
        &self,
        workspace: &Workspace,
        largest: u64,
        attempt: Attempt,
    ) -> Result<Look, Dropped> {
        let mut look = Look::default();
        for (number, part) in self.parts.iter().enumerate() {
            let mut looking = LayerInspection {
                layers: self,
                part,
                number,
                largest,
                attempt,
                look: &mut look,
                at: PathBuf::new(),
            };
            let looked = looking.all(workspace);
            let path = part.name(&looking.at);
            if let Err(error) = looked {
                self.close(workspace, &look);
                return Err(Dropped::Failed { path, error });
            }
        }
        look.uncovered.extend(self.changed_git());
        if attempt != Attempt::Again && !look.conflicts.is_empty() {
            self.close(workspace, &look);
            return Err(Dropped::Others(look.conflicts));
        }
        Ok(look)
    }
}

struct LayerInspection<'a> {
    layers: &'a Layers,
    part: &'a Part,
    number: usize,
    largest: u64,
    attempt: Attempt,
    look: &'a mut Look,
    /// The last path that was looked at, for error messages.
    at: PathBuf,
}

/// Whether undo covers a folder, and the rules by which that is decided for
/// those in it.
#[derive(Clone)]
struct Coverage {
    is_covered: bool,
    rules: Option<Arc<IgnoreFile>>,
}

impl Coverage {
    /// The coverage of what is in a folder, with the rules that lie there.
    fn inside(&self, folder: &Folder, path: &Path) -> Self {
        if !self.is_covered {
            return self.clone();
        }
        let rules = folder.open(OsStr::new(".gitignore")).ok();
        let rules = IgnoreFile::read(
            rules,
            path.as_os_str().as_encoded_bytes(),
            self.rules.clone(),
        );
        Self {
            is_covered: true,
            rules,
        }
    }

    /// The coverage of a folder in this one.
    fn of(&self, name: &OsStr, path: &Path) -> Self {
        let ignores = |rules: &IgnoreFile| rules.ignores(path.as_os_str().as_encoded_bytes());
        let is_ignored = name == GIT || self.rules.as_deref().is_some_and(ignores);
        Self {
            is_covered: self.is_covered && !is_ignored,
            rules: self.rules.clone(),
        }
    }
}

impl LayerInspection<'_> {
    fn all(&mut self, workspace: &Workspace) -> io::Result<()> {
        let upper = Folder::private(&self.part.upper())?;
        let lower = workspace.folder_to_change(&self.part.root)?;
        let coverage = Coverage {
            is_covered: true,
            rules: None,
        };
        self.folder(&upper, Some(&lower), Path::new(""), &coverage)
    }

    fn folder(
        &mut self,
        upper: &Folder,
        lower: Option<&Folder>,
        path: &Path,
        coverage: &Coverage,
    ) -> io::Result<()> {
        path.clone_into(&mut self.at);
        let whole = self.part.upper().join(path);
        let coverage = coverage.inside(lower.unwrap_or(upper), path);
        let mut nodes = upper.nodes()?;
        nodes.sort_unstable_by(|(a, _), (b, _)| a.cmp(b));
        if let Some(lower) = lower.filter(|_| !path.as_os_str().is_empty())
            && marks::is_opaque(&whole)?
        {
            self.hidden(lower, &nodes, path, &coverage)?;
            self.look.opaque.push(whole);
        }
        for (name, node) in nodes {
            let below = path.join(&name);
            below.clone_into(&mut self.at);
            let there = lower.map(|lower| lower.node(&name)).transpose()?.flatten();
            let was_folder = there.is_some_and(|there| there.kind == Kind::Folder);
            if below == Path::new(GIT) && was_folder {
                // Changed directly, not in the layer.
                continue;
            }
            let (upper, lower) = (upper, (lower, there));
            match node.kind {
                _ if marks::is_removal(&node) => {
                    if let (Some(lower), Some(there)) = lower {
                        self.gone(lower, &name, below, there, &coverage)?;
                    }
                }
                Kind::Folder => self.entered(upper, lower, &name, below, &node, &coverage)?,
                _ => self.file(upper, lower, &name, below, &node, &coverage)?,
            }
        }
        Ok(())
    }

    /// Removes what is there but not in a folder of the layer that hides it.
    fn hidden(
        &mut self,
        lower: &Folder,
        upper: &[(OsString, Node)],
        path: &Path,
        coverage: &Coverage,
    ) -> io::Result<()> {
        let known: HashSet<&OsStr> = upper.iter().map(|(name, _)| name.as_os_str()).collect();
        for (name, there) in lower.nodes()? {
            if !known.contains(name.as_os_str()) {
                self.gone(lower, &name, path.join(&name), there, coverage)?;
            }
        }
        Ok(())
    }

    /// Adds the steps for a folder of the layer.
    fn entered(
        &mut self,
        upper: &Folder,
        (lower, there): (Option<&Folder>, Option<Node>),
        name: &OsStr,
        path: PathBuf,
        node: &Node,
        coverage: &Coverage,
    ) -> io::Result<()> {
        let coverage = coverage.of(name, &path);
        let after = State::Folder {
            about: NodeAttributes::from(node),
        };
        let settle = LayerEntry::Settle(Attributes::from(node));
        if let (Some(lower), Some(there)) = (lower, there.filter(|it| it.kind == Kind::Folder)) {
            let change = (there.mode != node.mode)
                .then(|| self.change(&coverage, &path, state(lower, name, &there), after))
                .flatten();
            if change.is_some() {
                self.suspect(&path, &there);
            }
            self.uncovered(&coverage, &path);
            self.open(lower, name, &path, &there)?;
            let is_set_back = node.modified < self.layers.start;
            let is_set_back = is_set_back && node.modified != there.modified;
            if node.mode != there.mode || is_closed(&there) || is_set_back {
                self.push(path.clone(), settle, Some(there), change);
            }
            self.open_up(node, &path)?;
            let entered = upper.enter(name).and_then(|upper| {
                let lower = lower.enter(name)?;
                self.folder(&upper, Some(&lower), &path, &coverage)
            });
            return self.unless_closed(entered, &path);
        }
        let before = self.make_room(lower, there, name, &path, &coverage);
        self.uncovered(&coverage, &path);
        if !coverage.is_covered {
            self.push(path, LayerEntry::PutWhole, None, None);
            return Ok(());
        }
        let change = self.change(&coverage, &path, before, after);
        self.push(path.clone(), LayerEntry::Create, None, change);
        self.push(path.clone(), settle, None, None);
        self.open_up(node, &path)?;
        let entered = upper
            .enter(name)
            .and_then(|upper| self.folder(&upper, None, &path, &coverage));
        self.unless_closed(entered, &path)
    }

    /// The outcome for a folder. One that may not be looked into is not opened
    /// to be shown: that it changes is all that can be said.
    fn unless_closed(&mut self, entered: io::Result<()>, path: &Path) -> io::Result<()> {
        match entered {
            Err(error)
                if self.attempt == Attempt::Show
                    && error.kind() == io::ErrorKind::PermissionDenied =>
            {
                let name = self.part.name(path).display().to_string();
                self.look.uncovered.push(name);
                Ok(())
            }
            entered => entered,
        }
    }

    /// Removes a file where a folder is to be; returns what it was.
    fn make_room(
        &mut self,
        lower: Option<&Folder>,
        there: Option<Node>,
        name: &OsStr,
        path: &Path,
        coverage: &Coverage,
    ) -> State {
        let (Some(lower), Some(there)) = (lower, there) else {
            return State::Missing;
        };
        if coverage.is_covered {
            self.suspect(path, &there);
        }
        self.push(path.to_owned(), LayerEntry::Remove, Some(there), None);
        state(lower, name, &there)
    }

    /// Adds the steps for a file or a link of the layer.
    fn file(
        &mut self,
        upper: &Folder,
        (lower, there): (Option<&Folder>, Option<Node>),
        name: &OsStr,
        path: PathBuf,
        node: &Node,
        coverage: &Coverage,
    ) -> io::Result<()> {
        let after = if coverage.is_covered {
            self.state_with_content(upper, name, node)?
        } else {
            State::Missing
        };
        let (Some(lower), Some(there)) = (lower, there) else {
            let change = self.change(coverage, &path, State::Missing, after);
            self.push(path, LayerEntry::Put, None, change);
            return Ok(());
        };
        let before = state(lower, name, &there);
        let change = self.change(coverage, &path, before, after);
        if there.kind == Kind::Folder {
            let inside = self.look.steps.len();
            self.gone(lower, name, path.clone(), there, coverage)?;
            // One path has one change.
            if let Some(folder) = self.look.steps.iter_mut().skip(inside).last() {
                folder.change = None;
            }
            self.push(path, LayerEntry::Put, None, change);
        } else {
            if coverage.is_covered {
                self.suspect(&path, &there);
            }
            self.push(path, LayerEntry::Put, Some(there), change);
        }
        Ok(())
    }

    /// Adds the steps that remove what is there. A folder comes after what is
    /// in it.
    fn gone(
        &mut self,
        lower: &Folder,
        name: &OsStr,
        path: PathBuf,
        there: Node,
        coverage: &Coverage,
    ) -> io::Result<()> {
        let before = state(lower, name, &there);
        if there.kind != Kind::Folder {
            if coverage.is_covered {
                self.suspect(&path, &there);
            }
            let change = self.change(coverage, &path, before, State::Missing);
            self.push(path, LayerEntry::Remove, Some(there), change);
            return Ok(());
        }
        let coverage = coverage.of(name, &path);
        self.uncovered(&coverage, &path);
        if !coverage.is_covered {
            self.push(path, LayerEntry::RemoveWhole, Some(there), None);
            return Ok(());
        }
        self.open(lower, name, &path, &there)?;
        let entered = lower.enter(name).and_then(|folder| {
            let inside = coverage.inside(&folder, &path);
            for (name, there) in folder.nodes()? {
                self.gone(&folder, &name, path.join(&name), there, &inside)?;
            }
            Ok(())
        });
        self.unless_closed(entered, &path)?;
        let change = self.change(&coverage, &path, before, State::Missing);
        self.push(path, LayerEntry::RemoveFolder, Some(there), change);
        Ok(())
    }

    /// Opens a folder of the workspace that its owner may not change, as the
    /// command has done. It is closed again with the other steps, or by
    /// [`Layers::close`].
    fn open(&mut self, lower: &Folder, name: &OsStr, path: &Path, there: &Node) -> io::Result<()> {
        if is_closed(there) && self.attempt != Attempt::Show {
            let closed = Attributes::from(there);
            let open = Attributes {
                mode: there.mode | WRITABLE,
                ..closed
            };
            lower.set_attributes(name, &open)?;
            self.look
                .opened
                .push((self.number, path.to_owned(), closed));
        }
        Ok(())
    }

    /// Opens a folder of the layer that its owner may not change, at once.
    fn open_up(&self, node: &Node, path: &Path) -> io::Result<()> {
        if is_closed(node) && self.attempt != Attempt::Show {
            system::set_mode(&self.part.upper().join(path), node.mode | WRITABLE)?;
        }
        Ok(())
    }

    fn push(
        &mut self,
        path: PathBuf,
        what: LayerEntry,
        there: Option<Node>,
        change: Option<Change>,
    ) {
        self.look.steps.push(Step {
            part: self.number,
            path,
            what,
            there,
            change,
        });
    }

    fn change(
        &self,
        coverage: &Coverage,
        path: &Path,
        before: State,
        after: State,
    ) -> Option<Change> {
        coverage.is_covered.then(|| Change {
            path: self.part.name(path),
            before,
            after,
        })
    }

    /// Notes a conflict if a path was changed since the layer was made.
    fn suspect(&mut self, path: &Path, there: &Node) {
        if there.changed > self.layers.start {
            self.look.conflicts.push(self.part.name(path));
        }
    }

    fn uncovered(&mut self, coverage: &Coverage, path: &Path) {
        let name = self.part.name(path).display().to_string();
        let is_inside = self
            .look
            .uncovered
            .iter()
            .any(|it| Path::new(&name).starts_with(it));
        if !coverage.is_covered && !is_inside {
            self.look.uncovered.push(name);
        }
    }

    /// The state of a name in the layer.
    fn state_with_content(&self, folder: &Folder, name: &OsStr, node: &Node) -> io::Result<State> {
        let mut found = state(folder, name, node);
        if let State::File { content, size, .. } = &mut found
            && node.size <= self.largest
        {
            match folder.open(name) {
                Ok(file) => {
                    let held = Fingerprint::read(&file)?;
                    (*content, *size) = (Some(held.into()), held.size());
                }
                // It can be moved all the same.
                Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {}
                Err(error) => return Err(error),
            }
        }
        Ok(found)
    }
}

/// Whether its owner may not change what is in a folder.
const fn is_closed(folder: &Node) -> bool {
    folder.mode & WRITABLE != WRITABLE
}

/// The state of a name, without the content of a file.
fn state(folder: &Folder, name: &OsStr, node: &Node) -> State {
    let about = NodeAttributes::from(node);
    match node.kind {
        Kind::File => State::File {
            content: None,
            size: node.size,
            about,
        },
        Kind::Link => State::Link {
            target: folder.link_target(name).unwrap_or_default(),
            about,
        },
        Kind::Folder => State::Folder { about },
        kind => State::Special {
            what: kind.to_string(),
        },
    }
}
