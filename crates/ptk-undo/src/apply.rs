//! Carrying out an undo: each file is put back in one step, so that a reader
//! finds what was there before or after, whatever happens in between. What an
//! undo is about to do stands in the journal, so that another process can
//! finish it.

use ptk_sandbox::{Attributes, Expect, Kind, PathError, Place, is_temporary_name};

use crate::error::{Conflict, ConflictReason, UndoError};
use crate::journal::{Begin, Change, End, Line, Record, Watched};
use crate::plan::{ListedCall, Others, Selection, Undo, UndoPlan, undoer};
use crate::state::State;
use crate::store::{UnderWay, now};
use crate::watch;

/// The permissions that an owner needs to change what is in a folder.
const WRITABLE: u32 = 0o700;

/// The result of an undo.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct UndoReport {
    /// The id of the undo, by which it can be undone itself.
    pub id: String,
    /// The calls that were undone, newest first.
    pub calls: Vec<ListedCall>,
    /// The change of each path.
    pub steps: Vec<Change>,
    /// The paths that were left alone.
    pub left: Vec<Conflict>,
}

impl Undo {
    /// Undoes the last call that changed files.
    ///
    /// # Errors
    ///
    /// As for [`Undo::plan`], and if files cannot be written.
    pub fn last(&self) -> Result<UndoReport, UndoError> {
        self.apply(self.plan(&Selection::Last, Others::Refuse)?)
    }

    /// Undoes a call, or an undo.
    ///
    /// # Errors
    ///
    /// As for [`Undo::last`].
    pub fn call(&self, id: &str) -> Result<UndoReport, UndoError> {
        self.apply(self.plan(&Selection::Call(id.to_owned()), Others::Refuse)?)
    }

    /// Undoes all calls of a turn.
    ///
    /// # Errors
    ///
    /// As for [`Undo::last`].
    pub fn turn(&self, id: &str) -> Result<UndoReport, UndoError> {
        let turn = Selection::Turn(Some(id.to_owned()));
        self.apply(self.plan(&turn, Others::Refuse)?)
    }

    /// Undoes all calls of a session.
    ///
    /// # Errors
    ///
    /// As for [`Undo::last`].
    pub fn session(&self, id: &str) -> Result<UndoReport, UndoError> {
        let session = Selection::Session(id.to_owned());
        self.apply(self.plan(&session, Others::Refuse)?)
    }

    /// Carries out a planned undo.
    ///
    /// # Errors
    ///
    /// If a file was changed meanwhile, or cannot be written. Then everything
    /// is as before; if even that fails, [`Undo::finish`] goes on.
    pub fn apply(&self, plan: UndoPlan) -> Result<UndoReport, UndoError> {
        let id = crate::new_id("undo");
        let _alone = self.store.undoing().map_err(|it| self.store.failed(it))?;
        self.check(&plan)?;
        let kept = self.store.keep_all().map_err(|it| self.store.failed(it))?;
        self.keep_present(&plan.steps)?;
        let begin = Begin {
            entry: id.clone(),
            call: id.clone(),
            tool: "undo".to_owned(),
            turn: id.clone(),
            session: id.clone(),
            at: now(),
            what: what(&plan.calls),
            watch: Watched::Undo {
                entries: plan.entries,
                steps: plan.steps.clone(),
            },
        };
        let under_way = self
            .store
            .under_way(&id)
            .map_err(|it| self.store.failed(it))?;
        self.append(&Line::Begin(begin))?;
        drop(kept);
        if let Err(error) = self.carry_out(&plan.steps, &mut |_, error| Err(error)) {
            self.take_back(&id, &plan.steps, under_way)?;
            return Err(error);
        }
        self.ended(&id, plan.steps.clone(), under_way)?;
        Ok(UndoReport {
            id,
            calls: plan.calls,
            steps: plan.steps,
            left: plan.left,
        })
    }

    /// Checks that no other process has undone it meanwhile, and that all that
    /// is to be put back is there.
    fn check(&self, plan: &UndoPlan) -> Result<(), UndoError> {
        let records = self.records()?;
        for record in &records {
            if record.is_undone && plan.entries.contains(&record.begin.entry) {
                return Err(UndoError::Already {
                    call: record.begin.call.clone(),
                    by: undoer(&records, record).unwrap_or_default(),
                });
            }
        }
        for content in plan.steps.iter().filter_map(|step| step.after.content()) {
            let kept = self.store.contents.open(&content);
            kept.map_err(|error| self.store.failed(error))?;
        }
        Ok(())
    }

    /// Undoes the steps that were taken.
    fn take_back(&self, id: &str, steps: &[Change], under_way: UnderWay) -> Result<(), UndoError> {
        let mut back = Vec::new();
        for step in steps {
            let now = State::of(&self.workspace.place(&step.path)?, u64::MAX)?;
            if now.is_same(&step.after) && !now.is_same(&step.before) {
                back.push(Change {
                    path: step.path.clone(),
                    before: now,
                    after: step.before.clone(),
                });
            }
        }
        self.carry_out(&back, &mut |_, error| Err(error))?;
        self.append(&Line::End(End {
            entry: id.to_owned(),
            at: now(),
            taken_back: true,
            ..End::default()
        }))?;
        under_way.ended();
        Ok(())
    }

    /// Finishes an undo that was interrupted; `None` if there is none. Files
    /// that have been changed since are left alone, and so are those that
    /// cannot be put back.
    ///
    /// # Errors
    ///
    /// If what is kept, or the workspace, cannot be read.
    pub fn finish(&self) -> Result<Option<UndoReport>, UndoError> {
        let abandoned = self.store.abandoned();
        let abandoned = abandoned.map_err(|error| self.store.failed(error))?;
        let records = self.records()?;
        for (entry, under_way) in abandoned {
            let record = records.iter().find(|it| it.begin.entry == entry);
            let Some(record) = record.filter(|it| it.end.is_none()) else {
                continue;
            };
            if let Watched::Undo { entries, steps } = &record.begin.watch {
                for folder in steps.iter().filter_map(|step| step.path.parent()) {
                    self.remove_leftovers(&self.workspace.place(folder)?)?;
                }
                let (mut steps, mut left) = self.still_possible(steps)?;
                let mut failed = Vec::new();
                self.carry_out(&steps, &mut |step, error| {
                    failed.push(Conflict {
                        path: step.path.clone(),
                        why: ConflictReason::Failed(error.to_string()),
                    });
                    Ok(())
                })?;
                steps.retain(|step| !failed.iter().any(|it| it.path == step.path));
                left.append(&mut failed);
                self.ended(&entry, steps.clone(), under_way)?;
                let is_of = |it: &&Record| entries.contains(&it.begin.entry);
                let calls = records.iter().rev().filter(is_of);
                return Ok(Some(UndoReport {
                    id: record.begin.call.clone(),
                    calls: calls.map(ListedCall::of).collect(),
                    steps,
                    left,
                }));
            }
        }
        Ok(None)
    }

    fn append(&self, line: &Line) -> Result<(), UndoError> {
        let appended = self.store.append(line).map(drop);
        appended.map_err(|error| self.store.failed(error))
    }

    fn ended(&self, id: &str, changes: Vec<Change>, under_way: UnderWay) -> Result<(), UndoError> {
        self.append(&Line::End(End {
            entry: id.to_owned(),
            at: now(),
            changes,
            ..End::default()
        }))?;
        under_way.ended();
        self.store.collect_if_due();
        Ok(())
    }

    /// Keeps what is there now, so that the undo can be undone.
    fn keep_present(&self, steps: &[Change]) -> Result<(), UndoError> {
        let batch = self.store.contents.batch();
        for step in steps {
            if step.before.content().is_some() {
                let place = self.workspace.place(&step.path)?;
                watch::keep(&place, &self.store, &batch)?;
            }
        }
        let bytes = batch.finish().map_err(|error| self.store.failed(error))?;
        self.store.added(bytes);
        Ok(())
    }

    /// The steps of an interrupted undo that are done or can be done still.
    /// Where nothing is, something may have been taken away to make room.
    fn still_possible(&self, steps: &[Change]) -> Result<(Vec<Change>, Vec<Conflict>), UndoError> {
        let (mut possible, mut left) = (Vec::new(), Vec::new());
        for step in steps {
            let now = State::of(&self.workspace.place(&step.path)?, u64::MAX)?;
            let is_half_done =
                matches!(now, State::Missing) || (now.is_folder() && step.after.is_folder());
            if now.is_same(&step.before) || now.is_same(&step.after) || is_half_done {
                possible.push(step.clone());
            } else {
                left.push(Conflict {
                    path: step.path.clone(),
                    why: ConflictReason::Other,
                });
            }
        }
        Ok((possible, left))
    }

    /// Takes all steps: removes files first, then folders, then creates folders
    /// and files, and sets the permissions of folders last, since they may
    /// forbid the rest. Steps are in the order of their paths: a folder stands
    /// before what is in it. `failed` decides whether to go on after a step
    /// that could not be taken.
    fn carry_out(
        &self,
        steps: &[Change],
        failed: &mut dyn FnMut(&Change, UndoError) -> Result<(), UndoError>,
    ) -> Result<(), UndoError> {
        type Taken = fn(&Undo, &Change) -> Result<(), UndoError>;
        let down = || steps.iter();
        let up = || steps.iter().rev();
        let mut each = |steps: &mut dyn Iterator<Item = &Change>, take: Taken| {
            for step in steps {
                take(self, step).or_else(|error| failed(step, error))?;
            }
            Ok::<(), UndoError>(())
        };
        each(&mut down(), Self::open_folder)?;
        each(&mut up(), Self::remove)?;
        each(&mut up(), Self::remove_folder)?;
        each(&mut down(), Self::create_folder)?;
        each(&mut down(), Self::put)?;
        each(&mut up(), Self::settle_folder)
    }

    /// Makes a folder writable that forbids changes and stays or is removed.
    fn open_folder(&self, step: &Change) -> Result<(), UndoError> {
        let State::Folder { about } = step.before else {
            return Ok(());
        };
        if about.mode & WRITABLE == WRITABLE {
            return Ok(());
        }
        let place = self.workspace.place(&step.path)?;
        if place.node()?.is_some_and(|node| node.kind == Kind::Folder) {
            place.set_attributes(&Attributes {
                mode: about.mode | WRITABLE,
                ..Attributes::from(about)
            })?;
        }
        Ok(())
    }

    /// Removes what is not a folder, where nothing or a folder is to be.
    fn remove(&self, step: &Change) -> Result<(), UndoError> {
        let place = self.workspace.place(&step.path)?;
        let goes = !matches!(step.before, State::Missing | State::Folder { .. });
        let makes_room = matches!(step.after, State::Missing | State::Folder { .. });
        if goes && makes_room && self.is_still(&place, &step.before)? {
            place.remove_file()?;
        }
        Ok(())
    }

    /// Removes a folder where none is to be, unless it is gone, or another
    /// program has put something into it.
    fn remove_folder(&self, step: &Change) -> Result<(), UndoError> {
        if !step.before.is_folder() || step.after.is_folder() {
            return Ok(());
        }
        let place = self.workspace.place(&step.path)?;
        let node = place.node()?;
        if node.is_some_and(|node| node.kind == Kind::Folder) {
            self.remove_leftovers(&place)?;
            if place.read_dir()?.next().is_none() {
                place.remove_folder()?;
            }
        }
        Ok(())
    }

    /// Removes what a process that was killed has left of its writes in a
    /// folder.
    fn remove_leftovers(&self, folder: &Place) -> Result<(), UndoError> {
        let entries = match folder.read_dir() {
            Ok(entries) => entries,
            Err(PathError::NotFound { .. } | PathError::NotAFolder { .. }) => return Ok(()),
            Err(error) => return Err(error.into()),
        };
        for entry in entries {
            let entry = entry?;
            let place = entry.place();
            if is_temporary_name(entry.name())
                && let Some(node) = place.node()?
                && node.kind != Kind::Folder
                && node.changed < self.opened
            {
                place.remove_file()?;
            }
        }
        Ok(())
    }

    /// Creates a folder that can be written to for now.
    fn create_folder(&self, step: &Change) -> Result<(), UndoError> {
        let State::Folder { about } = step.after else {
            return Ok(());
        };
        let place = self.workspace.place(&step.path)?;
        if place.node()?.is_none() {
            place.create_parents()?;
            place.create_folder()?;
            return Ok(());
        }
        let mode = about.mode | WRITABLE;
        Ok(place.set_attributes(&Attributes {
            mode,
            ..Attributes::from(about)
        })?)
    }

    fn settle_folder(&self, step: &Change) -> Result<(), UndoError> {
        if let State::Folder { about } = step.after {
            let place = self.workspace.place(&step.path)?;
            place.set_attributes(&Attributes::from(about))?;
        }
        Ok(())
    }

    /// Whether something is there as it was when the undo was planned.
    fn is_still(&self, place: &Place, then: &State) -> Result<bool, UndoError> {
        let now = State::of(place, u64::MAX)?;
        if now.is_same(then) {
            return Ok(true);
        }
        if matches!(now, State::Missing) {
            return Ok(false);
        }
        Err(self.changed_meanwhile(place))
    }

    fn changed_meanwhile(&self, place: &Place) -> UndoError {
        UndoError::Conflicts(vec![Conflict {
            path: watch::name(&self.workspace, place),
            why: ConflictReason::Other,
        }])
    }

    /// Puts a file or a link where one is to be.
    fn put(&self, step: &Change) -> Result<(), UndoError> {
        if !matches!(step.after, State::File { .. } | State::Link { .. }) {
            return Ok(());
        }
        let place = self.workspace.place(&step.path)?;
        let now = State::of(&place, u64::MAX)?;
        if now.is_same(&step.after) {
            return Ok(());
        }
        let is_free = matches!(now, State::Missing);
        if !is_free && !now.is_same(&step.before) {
            return Err(self.changed_meanwhile(&place));
        }
        if is_free {
            place.create_parents()?;
        }
        match &step.after {
            State::Link { target, about } => {
                place.restore_link(target, &Attributes::from(*about))?;
            }
            State::File {
                content: Some(content),
                about,
                ..
            } if now.content() == Some(*content) => {
                place.set_attributes(&Attributes::from(*about))?;
            }
            State::File {
                content: Some(content),
                about,
                ..
            } => {
                let kept = self.store.contents.open(content);
                let mut kept = kept.map_err(|error| self.store.failed(error))?;
                let expect = match now.content() {
                    Some(content) => Expect::Unchanged(content.fingerprint()),
                    None if is_free => Expect::Missing,
                    None => Expect::Anything,
                };
                place.restore_file(&mut kept, &Attributes::from(*about), expect)?;
            }
            _ => {}
        }
        Ok(())
    }
}

/// The calls that an undo takes back, in a line.
fn what(calls: &[ListedCall]) -> String {
    let calls: Vec<&str> = calls.iter().map(|call| call.call.as_str()).collect();
    calls.join(", ")
}
