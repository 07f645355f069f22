//! Calls that have ended: what they have changed is written to the journal, by
//! their own process, or by the next one if that was killed.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::Arc;

use bstr::ByteSlice as _;
use ptk_sandbox::command::Aftermath;
use ptk_sandbox::{Moment, Workspace};

use crate::error::named;
use crate::found::FoundChanges;
use crate::journal::{Begin, Change, End, Line, Record, Watched};
use crate::layer::Attempt;
use crate::state::State;
use crate::store::{Store, UnderWay, now};
use crate::tree::Tree;
use crate::watch::Watch;
use crate::{Options, UndoError};

/// The note if there was no room for what a command was about to change.
const FULL: &str = "The undo store is full: what could not be kept there was not changed, and the command was told that the disk is full.";

/// A call that has ended, on its way into the journal.
#[derive(Debug)]
pub(super) struct Ending {
    pub(super) workspace: Workspace,
    pub(super) store: Arc<Store>,
    pub(super) begin: Begin,
    pub(super) watch: Watch,
    pub(super) beside: Vec<String>,
    /// How long the journal was when the call began.
    pub(super) length: u64,
    pub(super) under_way: UnderWay,
}

impl Ending {
    /// Writes to the journal what the call has changed. Returns a note on that,
    /// and the workspace as it was found.
    pub(super) fn run(self) -> Result<(Option<String>, Option<Tree>), UndoError> {
        let (store, begin) = (&*self.store, &self.begin);
        let failed = |error| store.failed(error);
        let blind = match &self.watch {
            Watch::Blind(why) => Some(format!("This call cannot be undone: {why}.")),
            _ => None,
        };
        let found = self.watch.end(&self.workspace, store, None)?;
        let lock = store.lock().map_err(failed)?;
        let is_alone = self.beside.is_empty() && store.length() == self.length;
        let records = if is_alone {
            Vec::new()
        } else {
            store.records().map_err(failed)?
        };
        let others = ConcurrentChanges::since(&records, &begin.entry, begin.at, &self.beside);
        let end = End {
            entry: begin.entry.clone(),
            at: now(),
            changes: others.taken_out_of(found.changes),
            uncovered: found.uncovered,
            beside: others.beside,
            ..End::default()
        };
        let note = blind.or_else(|| note(&end, &store.options));
        store.append_locked(&Line::End(end)).map_err(failed)?;
        drop(lock);
        self.under_way.ended();
        store.collect_if_due();
        Ok((note, found.tree))
    }
}

/// A note about undoing a call.
pub(super) fn note(end: &End, options: &Options) -> Option<String> {
    let lost = end.changes.iter().filter(|change| !change.before.is_kept());
    let lost: Vec<String> = lost
        .map(|change| change.path.display().to_string())
        .collect();
    said(lost, &end.uncovered, options)
}

/// The same note for a recorded command, before its changes are in the journal.
pub(super) fn foretold(
    aftermath: &Aftermath,
    workspace: &Workspace,
    options: &Options,
) -> Option<String> {
    let names = |paths: &[Vec<u8>]| -> Vec<String> {
        let relative = |path: &Vec<u8>| {
            let path = path.to_path_lossy();
            let relative = path.strip_prefix(workspace.root()).unwrap_or(&path);
            relative.display().to_string()
        };
        paths.iter().map(relative).collect()
    };
    let told = said(
        names(&aftermath.lost),
        &names(&aftermath.uncovered),
        options,
    );
    let full = aftermath.is_full.then(|| FULL.to_owned());
    let told: Vec<String> = full.into_iter().chain(told).collect();
    (!told.is_empty()).then(|| told.join(" "))
}

fn said(lost: Vec<String>, uncovered: &[String], options: &Options) -> Option<String> {
    let mut notes = Vec::new();
    if !lost.is_empty() {
        notes.push(format!(
            "This call cannot be undone as a whole: what was in {} before could not be kept (larger than {} MB, not readable, or no file).",
            named(lost.into_iter()),
            options.max_file_mb,
        ));
    }
    if !uncovered.is_empty() {
        let folders = named(uncovered.iter().cloned());
        notes.push(format!("Undo does not cover {folders}."));
    }
    (!notes.is_empty()).then(|| notes.join(" "))
}

/// What other calls have changed while one ran.
struct ConcurrentChanges {
    claims: HashMap<PathBuf, Vec<Change>>,
    /// What calls under way have declared to write, and what was there.
    announced: HashMap<PathBuf, State>,
    beside: Vec<String>,
}

impl ConcurrentChanges {
    fn since(records: &[Record], entry: &str, at: u64, beside: &[String]) -> Self {
        let mut others = Self {
            claims: HashMap::new(),
            announced: HashMap::new(),
            beside: Vec::new(),
        };
        for record in records {
            let begin = &record.begin;
            let is_later = record.end.as_ref().is_none_or(|end| end.at >= at);
            let was_there = begin.at >= at || beside.contains(&begin.entry);
            if begin.entry == entry || !is_later || !was_there {
                continue;
            }
            if matches!(begin.watch, Watched::Tree(_) | Watched::Blind(_)) {
                others.beside.push(begin.call.clone());
            }
            if let (None, Watched::Places(seen)) = (&record.end, &begin.watch) {
                let announced = seen.iter().cloned().map(|seen| (seen.path, seen.state));
                others.announced.extend(announced);
            }
            for change in record.changes() {
                let claims = others.claims.entry(change.path.clone());
                claims.or_default().push(change.clone());
            }
        }
        others
    }

    /// The changes without those of other calls. Where another call came first,
    /// the call's own change begins where that ended; where the call came
    /// first, it ends where the other began.
    fn taken_out_of(&self, changes: Vec<Change>) -> Vec<Change> {
        let own = changes.into_iter().filter_map(|mut change| {
            let announced = self.announced.get(&change.path);
            if announced.is_some_and(|before| before.is_same(&change.before)) {
                return None;
            }
            let Some(claims) = self.claims.get(&change.path) else {
                return Some(change);
            };
            let (first, last) = (claims.first()?, claims.last()?);
            if first.before.is_same(&change.before) {
                change.before = last.after.clone();
            } else {
                change.after = first.before.clone();
            }
            (!change.before.is_same(&change.after)).then_some(change)
        });
        own.collect()
    }
}

/// Settles calls whose process is gone: what has changed until shortly after
/// counts as theirs. An interrupted undo is left for
/// [`Undo::finish`](crate::Undo::finish).
pub(super) fn settle_abandoned(workspace: &Workspace, store: &Store) -> Result<(), UndoError> {
    let failed = |error| store.failed(error);
    let abandoned = store.abandoned().map_err(failed)?;
    if abandoned.is_empty() {
        return Ok(());
    }
    let records = store.records().map_err(failed)?;
    for (entry, under_way) in abandoned {
        let record = records.iter().find(|record| record.begin.entry == entry);
        let Some(record) = record.filter(|record| record.end.is_none()) else {
            under_way.ended();
            continue;
        };
        if record.is_undo() {
            continue;
        }
        let is_settling = under_way.is_settling();
        let found = Watch::resumed(workspace, store, &record.begin)
            .and_then(|watch| end_again(watch, record, workspace, store, under_way.last_seen()));
        // What cannot be found out now cannot be found out later, either, and
        // must not keep other calls from running.
        let lost = found.as_ref().err().map(ToString::to_string);
        let found = found.unwrap_or_default();
        let others = ConcurrentChanges::since(&records, &entry, record.begin.at, &[]);
        let end = End {
            entry,
            at: now(),
            changes: others.taken_out_of(found.changes),
            uncovered: found.uncovered,
            beside: others.beside,
            interrupted: !is_settling,
            lost,
            ..End::default()
        };
        store.append(&Line::End(end)).map_err(failed)?;
        under_way.ended();
    }
    Ok(())
}

/// Ends the watch over a call that was killed. Layers that were being moved
/// into the workspace are moved there; others are dropped.
fn end_again(
    watch: Watch,
    record: &Record,
    workspace: &Workspace,
    store: &Store,
    last_seen: Option<Moment>,
) -> Result<FoundChanges, UndoError> {
    let Watch::Layers(layers) = watch else {
        return watch.end(workspace, store, last_seen);
    };
    let mut found = FoundChanges::default();
    if let Some(apply) = &record.apply {
        let failed = |error| store.failed(error);
        let _kept = store.keep_all().map_err(failed)?;
        let look = layers.look(workspace, 0, Attempt::Again);
        let applied = look.and_then(|look| {
            layers.apply(workspace, &look, Attempt::Again)?;
            Ok(look.uncovered)
        });
        found.changes = layers.keep(apply.changes.clone(), store).map_err(failed)?;
        found.uncovered =
            applied.map_err(|why| UndoError::Workspace(std::io::Error::other(why.to_string())))?;
    }
    layers.remove();
    Ok(found)
}
