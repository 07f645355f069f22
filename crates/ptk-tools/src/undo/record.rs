//! Calls on their way into the journal: said before they run, and again with
//! what they have changed.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use ptk_events::{CallId, RequestId};
use ptk_sandbox::{Moment, Workspace};

use super::journal::{Apply, Begin, Change, End, Line, Record, Watched};
use super::layer::{self, Attempt, Dropped, LayerError, Layers, Shown};
use super::recorded::Recorded;
use super::state::State;
use super::store::{Store, UnderWay, now};
use super::tree::Tree;
use super::watch::{Found, Terms, Watch};
use super::{Commands, Options, UndoError};
use crate::{Effect, Effects, Plan};

/// Characters of what a call does.
const MAX_WHAT: usize = 200;
/// Paths that a note names.
const MAX_NAMED: usize = 5;

/// Keeps what the calls of one session are about to change.
#[derive(Debug)]
pub(crate) struct Recorder {
    workspace: Workspace,
    options: Options,
    session: String,
    turn: AtomicU64,
    store: Mutex<Option<Arc<Store>>>,
    last: Mutex<Option<Last>>,
    /// Whether commands may be recorded.
    can_record: AtomicBool,
    /// Whether they may work over layers.
    has_layers: AtomicBool,
}

/// The workspace as it was seen last.
#[derive(Debug)]
struct Last {
    /// The tree in the store whose contents this one relies on. Others may have
    /// saved another one since, and these contents may be gone.
    base: String,
    is_saved: bool,
    tree: Arc<Tree>,
}

/// The call that is about to run.
#[derive(Debug)]
pub(crate) struct Call<'a> {
    pub(crate) id: &'a CallId,
    pub(crate) request: Option<RequestId>,
    pub(crate) tool: &'a str,
    pub(crate) effects: Effects,
    pub(crate) plan: &'a Plan,
}

/// A call whose pre-images are kept. Dropped without [`Kept::end`], it is
/// settled by whoever comes next.
#[derive(Debug)]
pub(crate) struct Kept {
    recorder: Arc<Recorder>,
    store: Arc<Store>,
    begin: Begin,
    watch: Watch,
    beside: Vec<String>,
    /// Whether the command goes on when the call has ended.
    runs_on: bool,
    /// How long the journal was when the call began.
    length: u64,
    under_way: UnderWay,
}

impl Recorder {
    pub(crate) fn new(workspace: Workspace, options: Options, session: String) -> Self {
        Self {
            workspace,
            options,
            session,
            turn: AtomicU64::new(0),
            store: Mutex::default(),
            last: Mutex::default(),
            can_record: AtomicBool::new(false),
            has_layers: AtomicBool::new(false),
        }
    }

    /// The same for commands that a helper starts: it can do more than to look
    /// at the workspace. What somebody is to look at first has to be in layers.
    pub(crate) fn with_helper(self, is_reviewed: bool) -> Self {
        let wanted = self.options.commands;
        let can_record = wanted == Commands::Record && !is_reviewed;
        self.can_record.store(can_record, Ordering::Relaxed);
        let has_layers = wanted != Commands::Look;
        self.has_layers.store(has_layers, Ordering::Relaxed);
        self
    }

    /// From now on, calls belong to another turn.
    pub(crate) fn begin_turn(&self) {
        self.turn.fetch_add(1, Ordering::Relaxed);
    }

    fn store(&self) -> Result<Arc<Store>, UndoError> {
        let mut store = self.store.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(store) = &*store {
            return Ok(Arc::clone(store));
        }
        let opened = Arc::new(Store::open(&self.workspace, &self.options)?);
        Ok(Arc::clone(store.insert(opened)))
    }

    /// Keeps what the call may change, before it runs; `None` for a call that
    /// changes no files. Blocks.
    pub(crate) fn begin(self: &Arc<Self>, call: &Call<'_>) -> Result<Option<Kept>, UndoError> {
        if !call.effects.has(Effect::Write) {
            return Ok(None);
        }
        let store = self.store()?;
        let failed = |error| store.failed(error);
        settle_abandoned(&self.workspace, &store)?;
        let _kept = store.keep_all().map_err(failed)?;
        let beside = store.running().map_err(failed)?;
        layer::clear_ended(&store, &beside).map_err(failed)?;
        let entry = CallId::new().to_string();
        let watch = self.watch(call, &store, &entry)?;
        let under_way = store.under_way(&entry).map_err(failed)?;
        let begin = self.line(call, entry, &watch);
        let length = store.append(&Line::Begin(begin.clone()));
        let length = length.map_err(failed)?;
        Ok(Some(Kept {
            recorder: Arc::clone(self),
            begin,
            watch,
            beside,
            runs_on: call.plan.runs_on,
            length,
            under_way,
            store: Arc::clone(&store),
        }))
    }

    fn watch(&self, call: &Call<'_>, store: &Store, entry: &str) -> Result<Watch, UndoError> {
        let plan = call.plan;
        if !plan.writes.is_empty() && !call.effects.has(Effect::Execute) {
            return Watch::places(&self.workspace, store, &plan.writes);
        }
        if plan.command.is_none() {
            return self.watch_tree(store);
        }
        self.watch_command(plan.runs_on, store, entry)
    }

    fn watch_command(&self, runs_on: bool, store: &Store, entry: &str) -> Result<Watch, UndoError> {
        if self.can_record.load(Ordering::Relaxed) {
            return Ok(Watch::Recorded(Recorded::new(entry)));
        }
        // What runs on is to see what others do, and to be seen by them.
        if !runs_on && self.has_layers.load(Ordering::Relaxed) {
            match Layers::create(&self.workspace, store, entry) {
                Ok(layers) => return Ok(Watch::Layers(layers)),
                Err(LayerError::Store(error)) => return Err(store.failed(error)),
                Err(LayerError::Impossible(why)) => without(&self.has_layers, &why),
            }
        }
        self.watch_tree(store)
    }

    fn watch_tree(&self, store: &Store) -> Result<Watch, UndoError> {
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        let base = store.last_tree_name();
        let seen = last.take().filter(|last| base.as_ref() == Some(&last.base));
        let known = match seen {
            Some(Last {
                is_saved: true,
                base,
                tree,
            }) => Some((base, tree)),
            Some(Last { tree, .. }) => Some((String::new(), tree)),
            None => store.last_tree(),
        };
        let watch = Watch::tree(&self.workspace, store, known.as_ref())?;
        if let Watch::Tree(name, tree) = &watch {
            *last = Some(Last {
                base: name.clone(),
                is_saved: true,
                tree: Arc::clone(tree),
            });
        }
        Ok(watch)
    }

    /// The workspace was looked at after a call.
    fn seen(&self, base: String, tree: Tree) {
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        *last = Some(Last {
            base,
            is_saved: false,
            tree: Arc::new(tree),
        });
    }

    fn line(&self, call: &Call<'_>, entry: String, watch: &Watch) -> Begin {
        let turn = self.turn.load(Ordering::Relaxed);
        let turn = match call.request {
            Some(request) => request.to_string(),
            None if turn == 0 => self.session.clone(),
            None => format!("{}/{turn}", self.session),
        };
        Begin {
            entry,
            call: call.id.to_string(),
            tool: call.tool.to_owned(),
            turn,
            session: self.session.clone(),
            at: now(),
            what: what(call.plan),
            watch: watch.watched(),
        }
    }
}

/// This way cannot be had here, now or later.
fn without(way: &AtomicBool, why: &str) {
    tracing::debug!(why, "commands are undone in another way");
    way.store(false, Ordering::Relaxed);
}

/// What a call does, in a line.
fn what(plan: &Plan) -> String {
    let places = || plan.writes.iter().map(ToString::to_string);
    let command = plan.command.as_ref().map(|(command, _)| command.clone());
    let what = command.unwrap_or_else(|| places().collect::<Vec<_>>().join(", "));
    what.chars().take(MAX_WHAT).collect()
}

/// What there is to say about a call that has ended.
#[derive(Debug, Default)]
pub(crate) struct Settled {
    /// About undoing it.
    pub(crate) note: Option<String>,
    /// Why nothing of what it changed was kept.
    pub(crate) dropped: Option<String>,
}

impl Settled {
    /// It is not known what it has changed.
    pub(crate) fn unknown(note: String) -> Self {
        Self {
            note: Some(note),
            dropped: None,
        }
    }
}

impl Kept {
    /// The layers that a command is to work over, if it is.
    pub(crate) const fn layers(&self) -> Option<&Layers> {
        match &self.watch {
            Watch::Layers(layers) => Some(layers),
            _ => None,
        }
    }

    /// What a command of the call is to be started with.
    pub(crate) fn terms(&self) -> std::io::Result<Terms> {
        let mut terms = Terms::default();
        match &self.watch {
            Watch::Layers(layers) => terms.layers = layers.begin()?,
            Watch::Recorded(recorded) => {
                let recording = recorded.recording(&self.recorder.workspace, &self.store);
                terms.recorded = Some(recording);
            }
            _ => {}
        }
        Ok(terms)
    }

    /// The system does not know this way, for this reason: another one is
    /// begun, before the command runs. Blocks.
    pub(crate) fn otherwise(&mut self, why: &str) -> Result<(), UndoError> {
        let store = Arc::clone(&self.store);
        let failed = |error| store.failed(error);
        let recorder = &self.recorder;
        match &self.watch {
            Watch::Layers(layers) => {
                layers.remove();
                without(&recorder.has_layers, why);
            }
            _ => without(&recorder.can_record, why),
        }
        let _kept = store.keep_all().map_err(failed)?;
        self.watch = recorder.watch_command(self.runs_on, &store, &self.begin.entry)?;
        self.begin.watch = self.watch.watched();
        let begin = Line::Begin(self.begin.clone());
        self.length = store.append(&begin).map_err(failed)?;
        Ok(())
    }

    /// What would come into the workspace, for somebody to look at. Blocks.
    pub(crate) fn show(&self) -> Option<Shown> {
        let layers = self.layers().filter(|layers| layers.is_settled())?;
        let largest = self.store.options.largest_file();
        // What keeps it out is told when it is to come in.
        layers.show(&self.recorder.workspace, largest).ok()
    }

    /// Whoever has looked at it does not want it. Blocks.
    pub(crate) fn refuse(self, why: &str) -> Result<Settled, UndoError> {
        let why = Dropped::Refused(why.to_owned());
        let end = End {
            entry: self.begin.entry.clone(),
            at: now(),
            ..End::default()
        };
        let ended = self.store.append(&Line::End(end));
        ended.map_err(|error| self.store.failed(error))?;
        if let Some(layers) = self.layers() {
            layers.remove();
        }
        self.ended();
        Ok(Settled {
            note: None,
            dropped: Some(why.to_string()),
        })
    }

    /// The call has ended: says to the journal what it has changed, and gives
    /// back what there is to say about that. Blocks.
    pub(crate) fn end(self) -> Result<Settled, UndoError> {
        let store = Arc::clone(&self.store);
        let failed = |error| store.failed(error);
        if let Watch::Layers(layers) = &self.watch {
            let settled = self.bring_in(layers)?;
            self.ended();
            return Ok(settled);
        }
        let (blind, base) = match &self.watch {
            Watch::Blind(why) => (Some(why.clone()), None),
            Watch::Tree(name, _) => (None, Some(name.clone())),
            _ => (None, None),
        };
        let workspace = &self.recorder.workspace;
        let found = self.watch.end(workspace, &store, None)?;
        if let (Some(base), Some(tree)) = (base, found.tree) {
            self.recorder.seen(base, tree);
        }
        let lock = store.lock().map_err(failed)?;
        let is_alone = self.beside.is_empty() && store.length() == self.length;
        let records = if is_alone {
            Vec::new()
        } else {
            store.records().map_err(failed)?
        };
        let begin = &self.begin;
        let others = Others::since(&records, &begin.entry, begin.at, &self.beside);
        let end = End {
            entry: begin.entry.clone(),
            at: now(),
            changes: others.taken_out_of(found.changes),
            uncovered: found.uncovered,
            beside: others.beside,
            ..End::default()
        };
        let note = match blind {
            Some(why) => Some(format!("This call cannot be undone: {why}.")),
            None => note(&end, &store.options),
        };
        store.append_locked(&Line::End(end)).map_err(failed)?;
        drop(lock);
        self.under_way.ended();
        store.collect_if_due();
        Ok(Settled {
            note,
            dropped: None,
        })
    }

    /// Brings what is in the layers into the workspace, all or nothing.
    fn bring_in(&self, layers: &Layers) -> Result<Settled, UndoError> {
        let store = &self.store;
        let failed = |error| store.failed(error);
        let _kept = store.keep_all().map_err(failed)?;
        let _lock = store.lock().map_err(failed)?;
        let mut end = End {
            entry: self.begin.entry.clone(),
            at: now(),
            ..End::default()
        };
        let dropped = if layers.is_settled() {
            self.apply(layers, &mut end)?.err()
        } else {
            Some(Dropped::Unfinished)
        };
        let note = note(&end, &store.options);
        store.append_locked(&Line::End(end)).map_err(failed)?;
        let dropped = match dropped {
            None => {
                layers.remove_old();
                None
            }
            Some(why @ Dropped::Torn { .. }) => Some(match layers.put_by(store) {
                Ok(folder) => format!("{why}; what was there is in {}", folder.display()),
                Err(error) => format!("{why}; what was there cannot be put by: {error}"),
            }),
            Some(why) => {
                layers.remove();
                Some(why.to_string())
            }
        };
        Ok(Settled { note, dropped })
    }

    /// Applies layers, and notes what that has changed.
    fn apply(&self, layers: &Layers, end: &mut End) -> Result<Result<(), Dropped>, UndoError> {
        let (store, workspace) = (&self.store, &self.recorder.workspace);
        let failed = |error| store.failed(error);
        let largest = store.options.largest_file();
        let look = match layers.look(workspace, largest, Attempt::First) {
            Ok(look) => look,
            Err(why) => return Ok(Err(why)),
        };
        if look.is_empty() {
            end.uncovered = look.uncovered;
            return Ok(Ok(()));
        }
        let changes: Vec<Change> = look.changes().cloned().collect();
        let apply = Apply {
            entry: end.entry.clone(),
            changes: changes.clone(),
        };
        let written = store.append_locked(&Line::Apply(apply));
        if let Err(error) = written {
            layers.close(workspace, &look);
            let path = store.path("");
            return Ok(Err(Dropped::Failed { path, error }));
        }
        if let Err(why) = layers.apply(workspace, &look, Attempt::First) {
            return Ok(Err(why));
        }
        end.changes = layers.keep(changes, store).map_err(failed)?;
        end.uncovered = look.uncovered;
        Ok(Ok(()))
    }

    fn ended(self) {
        self.under_way.ended();
        self.store.collect_if_due();
    }
}

/// What there is to say about undoing a call.
fn note(end: &End, options: &Options) -> Option<String> {
    let lost: Vec<PathBuf> = end
        .changes
        .iter()
        .filter(|change| !change.before.is_kept())
        .map(|change| change.path.clone())
        .collect();
    let mut notes = Vec::new();
    if !lost.is_empty() {
        notes.push(format!(
            "This call cannot be undone as a whole: what was in {} before could not be kept (larger than {} MB, not readable, or no file).",
            named(lost.iter().map(|path| path.display().to_string())),
            options.max_file_mb,
        ));
    }
    if !end.uncovered.is_empty() {
        let folders = named(end.uncovered.iter().cloned());
        notes.push(format!("Undo does not cover {folders}."));
    }
    (!notes.is_empty()).then(|| notes.join(" "))
}

pub(super) fn named(names: impl ExactSizeIterator<Item = String>) -> String {
    let more = names.len().saturating_sub(MAX_NAMED);
    let mut told = names.take(MAX_NAMED).collect::<Vec<_>>().join(", ");
    if more > 0 {
        told.push_str(&format!(" and {more} more"));
    }
    told
}

/// What other calls have changed while one ran.
struct Others {
    claims: HashMap<PathBuf, Vec<Change>>,
    /// What calls under way have said they would write, and what was there.
    announced: HashMap<PathBuf, State>,
    beside: Vec<String>,
}

impl Others {
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

    /// The changes without those of others. Where others came first, the call's
    /// own begins where theirs ended; where the call came first, it ends where
    /// theirs began.
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

/// Calls whose process is gone: what has changed until shortly after counts as
/// theirs. An undo that was interrupted is left for whoever finishes it.
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
        let found = Watch::resumed(workspace, store, &record.begin)
            .and_then(|watch| end_again(watch, record, workspace, store, under_way.last_seen()));
        // What cannot be found out now cannot be found out later, either, and
        // must not keep other calls from running.
        let lost = found.as_ref().err().map(ToString::to_string);
        let found = found.unwrap_or_default();
        let others = Others::since(&records, &entry, record.begin.at, &[]);
        let end = End {
            entry,
            at: now(),
            changes: others.taken_out_of(found.changes),
            uncovered: found.uncovered,
            beside: others.beside,
            interrupted: true,
            lost,
            ..End::default()
        };
        store.append(&Line::End(end)).map_err(failed)?;
        under_way.ended();
    }
    Ok(())
}

/// Ends the watch over a call that was killed. Layers that were being brought
/// into the workspace are brought there; others are dropped.
fn end_again(
    watch: Watch,
    record: &Record,
    workspace: &Workspace,
    store: &Store,
    last_seen: Option<Moment>,
) -> Result<Found, UndoError> {
    let Watch::Layers(layers) = watch else {
        return watch.end(workspace, store, last_seen);
    };
    let mut found = Found::default();
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
