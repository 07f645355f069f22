//! Writing calls to the journal: before they run, and again with what they have
//! changed.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};

use ptk_sandbox::{Place, Workspace};

use crate::journal::{Apply, Begin, Change, End, Line};
use crate::layer::{self, Attempt, Dropped, LayerError, Layers, PendingChanges, Refusal};
use crate::recorded::Recorded;
use crate::settle::{self, Ending, settle_abandoned};
use crate::store::{Store, UnderWay, now};
use crate::tree::Tree;
use crate::watch::{CommandSetup, Watch};
use crate::{Options, UndoError};

/// Characters of the description of a call.
const MAX_WHAT: usize = 200;

/// Keeps what the calls of one session are about to change.
#[derive(Debug)]
pub struct Recorder {
    workspace: Workspace,
    options: Options,
    session: String,
    turn: AtomicU64,
    store: Mutex<Option<Arc<Store>>>,
    last: Mutex<Option<LastTree>>,
    /// Whether commands can be recorded.
    can_record: AtomicBool,
    /// Whether the changes of commands are reviewed, in layers.
    is_reviewed: bool,
    /// Calls that have ended, and whose changes are being looked at.
    settling: Mutex<Vec<JoinHandle<()>>>,
}

impl Drop for Recorder {
    /// Waits until all changes are in the journal.
    fn drop(&mut self) {
        self.settled();
    }
}

/// The workspace as it was seen last.
#[derive(Debug)]
struct LastTree {
    /// The tree in the store whose contents this one relies on. Another process
    /// may have saved another one since, and these contents may be gone.
    base: String,
    is_saved: bool,
    tree: Arc<Tree>,
}

/// A call that is about to change files.
#[derive(Debug, Clone, Copy)]
pub struct ChangingCall<'a> {
    /// The id of the call.
    pub id: &'a str,
    /// The turn that the call belongs to. By default, the turns of the
    /// [`Recorder`] are counted.
    pub turn: Option<&'a str>,
    /// The name of the tool.
    pub tool: &'a str,
    /// A description for people, such as the command. It is cut to one line of
    /// bounded length.
    pub what: &'a str,
    /// What is known about its changes.
    pub writes: Writes<'a>,
}

/// What is known about the changes of a call before it runs.
#[derive(Debug, Clone, Copy)]
pub enum Writes<'a> {
    /// It changes these files and no others.
    Places(&'a [Place]),
    /// It runs a command, which may change anything.
    Command {
        /// Whether the command may continue after the call has ended.
        runs_on: bool,
    },
    /// It may change anything in this process.
    Anything,
}

/// A call whose pre-images are kept. Dropped without [`KeptCall::end`], it is
/// settled before the next call.
#[derive(Debug)]
pub struct KeptCall {
    recorder: Arc<Recorder>,
    store: Arc<Store>,
    begin: Begin,
    watch: Watch,
    beside: Vec<String>,
    /// How long the journal was when the call began.
    length: u64,
    under_way: UnderWay,
}

impl Recorder {
    /// A recorder for one session in this workspace.
    #[must_use]
    pub fn new(workspace: Workspace, options: Options, session: String) -> Self {
        Self {
            workspace,
            options,
            session,
            turn: AtomicU64::new(0),
            store: Mutex::default(),
            last: Mutex::default(),
            can_record: AtomicBool::new(false),
            is_reviewed: false,
            settling: Mutex::default(),
        }
    }

    /// The same recorder for commands that a helper starts, which can record
    /// them. Changes that are reviewed are in layers instead.
    #[must_use]
    pub fn with_helper(mut self, is_reviewed: bool) -> Self {
        self.can_record = AtomicBool::new(!is_reviewed);
        self.is_reviewed = is_reviewed;
        self
    }

    /// Begins another turn, to which calls belong from now on.
    pub fn begin_turn(&self) {
        self.turn.fetch_add(1, Ordering::Relaxed);
    }

    /// Finds out in the background what a call has changed.
    fn later(&self, ending: Ending) {
        let settle = move || {
            // It is tried again before the next call.
            if let Err(error) = ending.run() {
                tracing::warn!(%error, "what a call has changed is not in the journal yet");
            }
        };
        let thread = thread::Builder::new().name("undo".to_owned()).spawn(settle);
        let mut settling = self.settling.lock().unwrap_or_else(PoisonError::into_inner);
        settling.retain(|thread| !thread.is_finished());
        settling.extend(thread);
    }

    /// Waits until the changes of all calls that have ended are known.
    fn settled(&self) {
        let mut settling = self.settling.lock().unwrap_or_else(PoisonError::into_inner);
        for thread in settling.drain(..) {
            // If a thread has panicked, that is left to the next call.
            let _ = thread.join();
        }
    }

    fn store(&self) -> Result<Arc<Store>, UndoError> {
        let mut store = self.store.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(store) = &*store {
            return Ok(Arc::clone(store));
        }
        let opened = Arc::new(Store::open(&self.workspace, &self.options)?);
        Ok(Arc::clone(store.insert(opened)))
    }

    /// Keeps what the call may change, before it runs. Blocks.
    ///
    /// # Errors
    ///
    /// If something cannot be kept: then the call should not run.
    pub fn begin(self: &Arc<Self>, call: &ChangingCall<'_>) -> Result<KeptCall, UndoError> {
        self.settled();
        let store = self.store()?;
        let failed = |error| store.failed(error);
        settle_abandoned(&self.workspace, &store)?;
        let _kept = store.keep_all().map_err(failed)?;
        let beside = store.running().map_err(failed)?;
        layer::clear_ended(&store, &beside).map_err(failed)?;
        let entry = crate::new_id("call");
        let watch = self.watch(call, &store, &entry)?;
        let under_way = store.under_way(&entry).map_err(failed)?;
        let begin = self.line(call, entry, &watch);
        let length = store.append(&Line::Begin(begin.clone()));
        let length = length.map_err(failed)?;
        Ok(KeptCall {
            recorder: Arc::clone(self),
            begin,
            watch,
            beside,
            length,
            under_way,
            store: Arc::clone(&store),
        })
    }

    fn watch(
        &self,
        call: &ChangingCall<'_>,
        store: &Store,
        entry: &str,
    ) -> Result<Watch, UndoError> {
        match call.writes {
            Writes::Places(places) => Watch::places(&self.workspace, store, places),
            Writes::Command { runs_on } => self.watch_command(runs_on, store, entry),
            Writes::Anything => self.watch_tree(store),
        }
    }

    fn watch_command(&self, runs_on: bool, store: &Store, entry: &str) -> Result<Watch, UndoError> {
        if self.can_record.load(Ordering::Relaxed) {
            return Ok(Watch::Recorded(Recorded::new(entry)));
        }
        // What runs on in the background is to see changes of others, and they
        // its own.
        if self.is_reviewed && !runs_on {
            match Layers::create(&self.workspace, store, entry) {
                Ok(layers) => return Ok(Watch::Layers(layers)),
                Err(LayerError::Store(error)) => return Err(store.failed(error)),
                Err(LayerError::Impossible(why)) => {
                    tracing::debug!(why, "changes cannot be reviewed");
                }
            }
        }
        self.watch_tree(store)
    }

    fn watch_tree(&self, store: &Store) -> Result<Watch, UndoError> {
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        let base = store.last_tree_name();
        let seen = last.take().filter(|last| base.as_ref() == Some(&last.base));
        let known = match seen {
            Some(LastTree {
                is_saved: true,
                base,
                tree,
            }) => Some((base, tree)),
            Some(LastTree { tree, .. }) => Some((String::new(), tree)),
            None => store.last_tree(),
        };
        let watch = Watch::tree(&self.workspace, store, known.as_ref())?;
        if let Watch::Tree(name, tree) = &watch {
            *last = Some(LastTree {
                base: name.clone(),
                is_saved: true,
                tree: Arc::clone(tree),
            });
        }
        Ok(watch)
    }

    /// Remembers the workspace as it was after a call.
    fn seen(&self, base: String, tree: Tree) {
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        *last = Some(LastTree {
            base,
            is_saved: false,
            tree: Arc::new(tree),
        });
    }

    fn line(&self, call: &ChangingCall<'_>, entry: String, watch: &Watch) -> Begin {
        let turn = self.turn.load(Ordering::Relaxed);
        let turn = match call.turn {
            Some(turn) => turn.to_owned(),
            None if turn == 0 => self.session.clone(),
            None => format!("{}/{turn}", self.session),
        };
        Begin {
            entry,
            call: call.id.to_owned(),
            tool: call.tool.to_owned(),
            turn,
            session: self.session.clone(),
            at: now(),
            what: call.what.chars().take(MAX_WHAT).collect(),
            watch: watch.watched(),
        }
    }
}

/// The notes on a call that has ended.
#[derive(Debug, Default)]
pub struct CallNotes {
    /// A note about undoing it.
    pub note: Option<String>,
    /// Why nothing of what it changed was kept.
    pub dropped: Option<String>,
}

impl CallNotes {
    /// The notes if it is not known what the call has changed.
    #[must_use]
    pub fn unknown(note: String) -> Self {
        Self {
            note: Some(note),
            dropped: None,
        }
    }
}

impl KeptCall {
    /// Whether a command of the call works over layers, so that its changes can
    /// be reviewed before they come into the workspace.
    #[must_use]
    pub const fn has_layers(&self) -> bool {
        matches!(self.watch, Watch::Layers(_))
    }

    /// Ends the use of layers, when nothing of the command is left.
    pub fn leave_layers(&self) {
        if let Some(layers) = self.layers() {
            layers.ended();
        }
    }

    /// The layers that a command works over, if it does.
    const fn layers(&self) -> Option<&Layers> {
        match &self.watch {
            Watch::Layers(layers) => Some(layers),
            _ => None,
        }
    }

    /// The terms that a command of the call is started on.
    ///
    /// # Errors
    ///
    /// If the layers cannot be used.
    pub fn command_setup(&self) -> std::io::Result<CommandSetup> {
        let mut command_setup = CommandSetup {
            lock: Some(self.under_way.path().to_owned()),
            ..CommandSetup::default()
        };
        match &self.watch {
            Watch::Layers(layers) => command_setup.layers = layers.begin()?,
            Watch::Recorded(recorded) => {
                let recording = recorded.recording(&self.recorder.workspace, &self.store);
                command_setup.recorded = Some(recording);
            }
            _ => {}
        }
        Ok(command_setup)
    }

    /// Looks at the workspace instead before the command runs, because the
    /// system cannot record it, for this reason. Blocks.
    ///
    /// # Errors
    ///
    /// If it cannot be kept in this way either.
    pub fn fall_back(&mut self, why: &str) -> Result<(), UndoError> {
        tracing::debug!(why, "commands are undone by looking at the workspace");
        let store = Arc::clone(&self.store);
        let failed = |error| store.failed(error);
        let recorder = &self.recorder;
        recorder.can_record.store(false, Ordering::Relaxed);
        let _kept = store.keep_all().map_err(failed)?;
        self.watch = recorder.watch_tree(&store)?;
        self.begin.watch = self.watch.watched();
        let begin = Line::Begin(self.begin.clone());
        self.length = store.append(&begin).map_err(failed)?;
        Ok(())
    }

    /// The changes that would come into the workspace, for a review; `None` if
    /// there are no layers. Blocks.
    ///
    /// # Errors
    ///
    /// Why they cannot be shown, and are to be [refused](Self::refuse).
    pub fn show(&self) -> Result<Option<PendingChanges>, Refusal> {
        let Some(layers) = self.layers() else {
            return Ok(None);
        };
        if !layers.is_settled() {
            return Err(Refusal(Dropped::Unfinished));
        }
        let largest = self.store.options.largest_file();
        let shown = layers.show(&self.recorder.workspace, largest);
        shown.map(Some).map_err(Refusal)
    }

    /// Drops the changes. Blocks.
    ///
    /// # Errors
    ///
    /// If the journal cannot be written.
    pub fn refuse(self, refusal: &Refusal) -> Result<CallNotes, UndoError> {
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
        Ok(CallNotes {
            note: None,
            dropped: Some(refusal.0.to_string()),
        })
    }

    /// Ends the call: writes to the journal what it has changed, and returns
    /// the notes on that. Blocks.
    ///
    /// # Errors
    ///
    /// If the changes cannot be found or written down. They are looked for again before the next
    /// call.
    pub fn end(self) -> Result<CallNotes, UndoError> {
        let store = Arc::clone(&self.store);
        if let Watch::Layers(layers) = &self.watch {
            let settled = self.bring_in(layers)?;
            self.ended();
            return Ok(settled);
        }
        if let Watch::Recorded(recorded) = &self.watch
            && let Some(aftermath) = recorded.aftermath(&store)
        {
            let note = settle::foretold(&aftermath, &self.recorder.workspace, &store.options);
            self.under_way.settles();
            let recorder = Arc::clone(&self.recorder);
            recorder.later(self.ending());
            return Ok(CallNotes {
                note,
                dropped: None,
            });
        }
        let base = match &self.watch {
            Watch::Tree(name, _) => Some(name.clone()),
            _ => None,
        };
        let recorder = Arc::clone(&self.recorder);
        let (note, tree) = self.ending().run()?;
        if let (Some(base), Some(tree)) = (base, tree) {
            recorder.seen(base, tree);
        }
        Ok(CallNotes {
            note,
            dropped: None,
        })
    }

    fn ending(self) -> Ending {
        Ending {
            workspace: self.recorder.workspace.clone(),
            store: self.store,
            begin: self.begin,
            watch: self.watch,
            beside: self.beside,
            length: self.length,
            under_way: self.under_way,
        }
    }

    /// Moves the changes in the layers into the workspace, all or nothing.
    fn bring_in(&self, layers: &Layers) -> Result<CallNotes, UndoError> {
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
        let note = settle::note(&end, &store.options);
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
        Ok(CallNotes { note, dropped })
    }

    /// Applies layers, and records what that has changed.
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
