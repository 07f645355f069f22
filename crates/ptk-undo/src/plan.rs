//! What can be undone, and the plan of an undo.

use std::collections::{BTreeMap, HashSet};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use ptk_sandbox::{Moment, Workspace, is_temporary_name};

use crate::error::{Conflict, ConflictReason, UndoError};
use crate::journal::{Change, Record};
use crate::settle::settle_abandoned;
use crate::state::{State, is_direct};
use crate::store::Store;
use crate::tree::moment;
use crate::{Options, watch};

/// Undoes calls.
///
/// ```
/// use ptk_sandbox::Workspace;
/// use ptk_undo::{Options, Undo};
///
/// # let folder = tempfile::tempdir()?;
/// # let options = Options { folder: Some(folder.path().join("state")), ..Options::default() };
/// # std::fs::create_dir(folder.path().join("space"))?;
/// # let workspace = Workspace::open(folder.path().join("space"))?;
/// let undo = Undo::open(workspace, &options)?;
/// assert_eq!(undo.list()?.len(), 0);
/// assert_eq!(undo.last().unwrap_err().to_string(), "There is nothing to undo in this workspace");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Undo {
    pub(super) workspace: Workspace,
    pub(super) store: Store,
    /// When it was opened. Temporary files from before are leftovers.
    pub(super) opened: Moment,
}

/// Which calls are to be undone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Selection {
    /// The last call that changed files.
    Last,
    /// The call, or the undo, of this id.
    Call(String),
    /// All calls of a turn; of the last one where none is named.
    Turn(Option<String>),
    /// All calls of a session.
    Session(String),
}

/// What to do with files that have been changed by others since.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Others {
    /// Nothing is undone if there is one.
    #[default]
    Refuse,
    /// They are left alone, and the rest is undone.
    Keep,
}

/// A call that changed files, or may have.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct ListedCall {
    /// The id of the call, or of the undo.
    pub call: String,
    /// The tool; `undo` for an undo.
    pub tool: String,
    /// A description in a line.
    pub what: String,
    /// The turn it belongs to.
    pub turn: String,
    /// The session it belongs to.
    pub session: String,
    /// When it began, in milliseconds since 1970.
    pub at: u64,
    /// What it changed.
    pub changes: Vec<Change>,
    /// Folders that were not looked at.
    pub uncovered: Vec<String>,
    /// Calls that ran at the same time, whose changes may be among these.
    pub beside: Vec<String>,
    /// Whether it was undone.
    pub undone: bool,
    /// Whether its process ended before it did: what changed until the next
    /// call counts as its own.
    pub interrupted: bool,
    /// Why it cannot be undone.
    pub blind: Option<String>,
}

impl ListedCall {
    pub(super) fn of(record: &Record) -> Self {
        let begin = &record.begin;
        let end = record.end.clone().unwrap_or_default();
        Self {
            call: begin.call.clone(),
            tool: begin.tool.clone(),
            what: begin.what.clone(),
            turn: begin.turn.clone(),
            session: begin.session.clone(),
            at: begin.at,
            changes: end.changes,
            uncovered: end.uncovered,
            beside: end.beside,
            undone: record.is_undone,
            interrupted: end.interrupted,
            blind: record.blind().map(str::to_owned),
        }
    }
}

/// The plan of an undo.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct UndoPlan {
    /// The calls that are undone, newest first.
    pub calls: Vec<ListedCall>,
    /// The change of each path.
    pub steps: Vec<Change>,
    /// The paths that are left alone.
    pub left: Vec<Conflict>,
    pub(super) entries: Vec<String>,
}

impl Undo {
    /// Opens what was kept for a workspace. Calls that were interrupted are
    /// settled first.
    ///
    /// # Errors
    ///
    /// If it cannot be read, or the workspace cannot be looked at.
    pub fn open(workspace: Workspace, options: &Options) -> Result<Self, UndoError> {
        let store = Store::open(&workspace, options)?;
        settle_abandoned(&workspace, &store)?;
        let opened = moment(SystemTime::now());
        Ok(Self {
            workspace,
            store,
            opened,
        })
    }

    pub(super) fn records(&self) -> Result<Vec<Record>, UndoError> {
        let records = self.store.records();
        records.map_err(|error| self.store.failed(error))
    }

    /// Everything that changed files, or may have, the newest first.
    ///
    /// # Errors
    ///
    /// If the journal cannot be read.
    pub fn list(&self) -> Result<Vec<ListedCall>, UndoError> {
        let records = self.records()?;
        let told = records.iter().rev().filter(|record| matters(record));
        Ok(told.map(ListedCall::of).collect())
    }

    /// Plans an undo.
    ///
    /// # Errors
    ///
    /// If there is nothing to undo, it was not kept, or it was changed by
    /// others since.
    pub fn plan(&self, selection: &Selection, others: Others) -> Result<UndoPlan, UndoError> {
        let records = self.records()?;
        let mut chosen = select(&records, selection)?;
        if others == Others::Keep && chosen.len() > 1 {
            chosen.retain(|record| record.blind().is_none());
        }
        for record in &chosen {
            if let Some(why) = record.blind() {
                return Err(UndoError::NotKept {
                    call: record.begin.call.clone(),
                    tool: record.begin.tool.clone(),
                    why: why.to_owned(),
                });
            }
        }
        let mut planning = Planning::of(&chosen);
        planning.look(self, &records)?;
        planning.check_folders(self)?;
        planning.add_parents(self)?;
        let is_nothing_left = planning.steps.is_empty() && others == Others::Keep;
        if !planning.conflicts.is_empty() && (others == Others::Refuse || is_nothing_left) {
            return Err(UndoError::Conflicts(planning.conflicts));
        }
        Ok(UndoPlan {
            calls: chosen.iter().map(|record| ListedCall::of(record)).collect(),
            entries: chosen
                .iter()
                .map(|record| record.begin.entry.clone())
                .collect(),
            steps: planning.steps.into_values().collect(),
            left: planning.conflicts,
        })
    }
}

/// Whether a call has changed files, or may have.
fn matters(record: &Record) -> bool {
    record.end.is_some() && (!record.changes().is_empty() || record.blind().is_some())
}

/// The selected calls, newest first.
fn select<'r>(records: &'r [Record], selection: &Selection) -> Result<Vec<&'r Record>, UndoError> {
    let open = || {
        let calls = records.iter().rev().filter(|record| matters(record));
        calls.filter(|record| !record.is_undo() && !record.is_undone)
    };
    let unknown = |what, id: &str| UndoError::Unknown {
        what,
        id: id.to_owned(),
    };
    let chosen: Vec<&Record> = match selection {
        Selection::Last => open().take(1).collect(),
        Selection::Call(id) => vec![find(records, id)?],
        Selection::Turn(None) => {
            let turn = open().next().map(|record| record.begin.turn.as_str());
            open()
                .filter(|it| Some(it.begin.turn.as_str()) == turn)
                .collect()
        }
        Selection::Turn(Some(id)) => open().filter(|it| it.begin.turn == *id).collect(),
        Selection::Session(id) => open().filter(|it| it.begin.session == *id).collect(),
    };
    match (chosen.is_empty(), selection) {
        (false, _) => Ok(chosen),
        (true, Selection::Turn(Some(id))) => Err(unknown("turn", id)),
        (true, Selection::Session(id)) => Err(unknown("session", id)),
        (true, _) => Err(UndoError::Nothing),
    }
}

/// The call of an id, or of its beginning where that is unique.
fn find<'r>(records: &'r [Record], id: &str) -> Result<&'r Record, UndoError> {
    let matching = |is: &dyn Fn(&str) -> bool| -> Vec<&'r Record> {
        let all = records.iter().rev().filter(|record| matters(record));
        all.filter(|record| is(&record.begin.call)).collect()
    };
    let mut found = matching(&|call| call == id);
    if found.is_empty() && !id.is_empty() {
        found = matching(&|call| call.starts_with(id));
        if found.len() > 1 {
            found.clear();
        }
    }
    let open = found.iter().find(|record| !record.is_undone);
    match (open, found.first()) {
        (Some(record), _) => Ok(record),
        (None, Some(record)) => Err(UndoError::Already {
            call: record.begin.call.clone(),
            by: undoer(records, record).unwrap_or_default(),
        }),
        (None, None) => Err(UndoError::Unknown {
            what: "call",
            id: id.to_owned(),
        }),
    }
}

/// The undo that undid a call.
pub(super) fn undoer(records: &[Record], undone: &Record) -> Option<String> {
    let by = records
        .iter()
        .rev()
        .find(|record| !record.is_undone && record.undoes().contains(&undone.begin.entry));
    by.map(|record| record.begin.call.clone())
}

struct Planning {
    /// For each path what is there now, and what is to be there.
    steps: BTreeMap<PathBuf, Change>,
    conflicts: Vec<Conflict>,
}

impl Planning {
    /// The changes of several calls, newest first, reversed. Where one does not
    /// begin where the older one ended, something else has changed the path in
    /// between.
    fn of(chosen: &[&Record]) -> Self {
        let mut planning = Self {
            steps: BTreeMap::new(),
            conflicts: Vec::new(),
        };
        let mut broken = HashSet::new();
        for change in chosen.iter().flat_map(|record| record.changes()) {
            let path = &change.path;
            let Some(step) = planning.steps.get_mut(path) else {
                let step = Change {
                    path: path.clone(),
                    before: change.after.clone(),
                    after: change.before.clone(),
                };
                planning.steps.insert(path.clone(), step);
                continue;
            };
            if step.after.is_same(&change.after) {
                step.after = change.before.clone();
            } else {
                broken.insert(path.clone());
            }
        }
        for path in broken {
            planning.leave(&path, ConflictReason::Other);
        }
        planning
    }

    fn leave(&mut self, path: &Path, why: ConflictReason) {
        self.steps.remove(path);
        self.conflicts.push(Conflict {
            path: path.to_owned(),
            why,
        });
        self.conflicts.sort_by(|a, b| a.path.cmp(&b.path));
    }

    /// Compares the steps with what is there now.
    fn look(&mut self, undo: &Undo, records: &[Record]) -> Result<(), UndoError> {
        let paths: Vec<PathBuf> = self.steps.keys().cloned().collect();
        for path in paths {
            let Some(step) = self.steps.get_mut(&path) else {
                continue;
            };
            let now = State::of(&undo.workspace.place(&path)?, u64::MAX)?;
            let is_there = now.is_same(&step.after)
                || (now.is_folder() && step.after.is_folder() && !step.before.is_folder());
            if is_there {
                self.steps.remove(&path);
            } else if !now.is_same(&step.before) {
                self.leave(&path, who(records, &path, &now));
            } else if !undo.can_put_back(&step.after) {
                self.leave(&path, ConflictReason::NotKept);
            } else {
                step.before = now;
            }
        }
        self.leave_behind_links(undo)?;
        self.leave_below();
        Ok(())
    }

    /// Leaves alone what would be put behind a link, unless the link is removed
    /// first.
    fn leave_behind_links(&mut self, undo: &Undo) -> Result<(), UndoError> {
        let mut behind = Vec::new();
        for step in self.steps.values() {
            let comes = !matches!(step.after, State::Missing);
            if comes && !is_direct(&undo.workspace.place(&step.path)?)? {
                let mut above = step.path.ancestors().skip(1);
                let folder = |it: &Path| self.steps.get(it).is_some_and(|it| it.after.is_folder());
                if !above.any(folder) {
                    behind.push(step.path.clone());
                }
            }
        }
        for path in behind {
            self.leave(&path, ConflictReason::Other);
        }
        Ok(())
    }

    /// Leaves alone what would be put below a path that is left alone.
    fn leave_below(&mut self) {
        let left: Vec<PathBuf> = self.conflicts.iter().map(|it| it.path.clone()).collect();
        let is_below = |path: &Path| {
            left.iter()
                .any(|left| path != left && path.starts_with(left))
        };
        let below: Vec<PathBuf> = self
            .steps
            .values()
            .filter(|step| is_below(&step.path) && !matches!(step.after, State::Missing))
            .map(|step| step.path.clone())
            .collect();
        for path in below {
            self.leave(&path, ConflictReason::Other);
        }
    }

    /// Checks that a folder is removed only if nothing else is in it. If not,
    /// it stays; where something else is to take its place, that is a conflict.
    fn check_folders(&mut self, undo: &Undo) -> Result<(), UndoError> {
        let goes = |step: &&Change| step.before.is_folder() && !step.after.is_folder();
        let folders: Vec<PathBuf> = self
            .steps
            .values()
            .filter(goes)
            .map(|step| step.path.clone())
            .rev()
            .collect();
        for path in folders {
            let mut is_free = true;
            for entry in undo.workspace.place(&path)?.read_dir()? {
                let entry = entry?;
                if is_temporary_name(entry.name()) {
                    continue;
                }
                let name = watch::name(&undo.workspace, &entry.place());
                let step = self.steps.get(&name);
                is_free &= step.is_some_and(|step| matches!(step.after, State::Missing));
            }
            let stays = self.steps.get(&path).map(|step| &step.after);
            match stays {
                Some(State::Missing) if !is_free => drop(self.steps.remove(&path)),
                Some(_) if !is_free => self.leave(&path, ConflictReason::Occupied),
                _ => {}
            }
        }
        Ok(())
    }

    /// Adds folders that others have removed, for what is put into them, with
    /// the attributes of the folder above them. They are steps of their own:
    /// undoing the undo removes them again.
    fn add_parents(&mut self, undo: &Undo) -> Result<(), UndoError> {
        let comes = |step: &&Change| !matches!(step.after, State::Missing);
        let coming: Vec<PathBuf> = self
            .steps
            .values()
            .filter(comes)
            .map(|step| step.path.clone())
            .collect();
        for path in coming {
            let mut missing = Vec::new();
            for folder in path.ancestors().skip(1) {
                if self.steps.contains_key(folder) {
                    break;
                }
                match State::of(&undo.workspace.place(folder)?, 0)? {
                    State::Missing => missing.push(folder.to_owned()),
                    like if like.is_folder() => {
                        for path in missing.drain(..) {
                            let step = Change {
                                path: path.clone(),
                                before: State::Missing,
                                after: like.clone(),
                            };
                            self.steps.insert(path, step);
                        }
                        break;
                    }
                    _ => {
                        self.leave(&path, ConflictReason::Other);
                        break;
                    }
                }
            }
        }
        Ok(())
    }
}

/// What has changed a path since.
fn who(records: &[Record], path: &Path, now: &State) -> ConflictReason {
    let made_it = |record: &&Record| {
        let mut changes = record.changes().iter();
        changes.any(|change| change.path == path && change.after.is_same(now))
    };
    let standing = records.iter().rev().filter(|record| !record.is_undone);
    match standing.clone().find(made_it) {
        Some(record) => ConflictReason::Call(record.begin.call.clone()),
        None => ConflictReason::Other,
    }
}

impl Undo {
    fn can_put_back(&self, state: &State) -> bool {
        match state.content() {
            Some(content) => self.store.contents.can_open(&content),
            None => state.is_kept(),
        }
    }
}
