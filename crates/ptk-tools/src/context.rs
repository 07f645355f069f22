//! The context of a call while it runs.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;

use ptk_events::{CallEvents, CallId, Correlation, OutputStream};
use ptk_sandbox::{Fingerprint, Place, Workspace};
use ptk_undo::{CommandSetup, KeptCall, UndoError};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::files::{Ranges, Touched};
use crate::services::Services;
use crate::{
    CallRequest, Conversation, Failure, Outputs, ResultLimit, SnippetFormat, ToolError, Unprotected,
};

/// One call: its id, its cancellation, its events, and the workspace it is in.
/// Cheap to clone.
#[derive(Debug, Clone)]
pub struct CallContext {
    inner: Arc<CallState>,
}

#[derive(Debug)]
struct CallState {
    call_id: CallId,
    correlation: Correlation,
    events: CallEvents,
    cancel: CancellationToken,
    deadline: OnceLock<Instant>,
    services: Arc<Services>,
    prompt: Option<Arc<str>>,
    conversation: Conversation,
    limit: Option<ResultLimit>,
    touched: Mutex<Vec<Touched>>,
    told: Mutex<Option<Failure>>,
    planned: Mutex<Vec<(Place, Option<Fingerprint>)>>,
    kept: Mutex<Option<KeptCall>>,
    may_go_unprotected: AtomicBool,
    may_write_later: OnceLock<Vec<PathBuf>>,
}

impl CallContext {
    /// The context of this call. It is part of `conversation` if it names none.
    pub(crate) fn new(
        request: &CallRequest,
        events: CallEvents,
        services: Arc<Services>,
        conversation: &Conversation,
    ) -> Self {
        let conversation = request.conversation.as_ref().unwrap_or(conversation);
        Self {
            inner: Arc::new(CallState {
                call_id: request.call_id.clone(),
                correlation: request.correlation(),
                events,
                cancel: request.cancel.clone(),
                deadline: OnceLock::new(),
                services,
                prompt: request.prompt.clone(),
                conversation: conversation.clone(),
                limit: request.limit.clone(),
                touched: Mutex::default(),
                told: Mutex::default(),
                planned: Mutex::default(),
                kept: Mutex::default(),
                may_go_unprotected: AtomicBool::new(false),
                may_write_later: OnceLock::new(),
            }),
        }
    }

    /// The id that all events of the call carry.
    #[must_use]
    pub fn call_id(&self) -> &CallId {
        &self.inner.call_id
    }

    /// The request that the call belongs to, and what caused it.
    #[must_use]
    pub fn correlation(&self) -> &Correlation {
        &self.inner.correlation
    }

    /// The user's last prompt, if the call belongs to a conversation.
    #[must_use]
    pub fn prompt(&self) -> Option<&str> {
        self.inner.prompt.as_deref()
    }

    /// Whether rules forbid to show anything of a file, given by its path in
    /// the workspace.
    #[must_use]
    pub fn is_withheld(&self, path: &Path) -> bool {
        let mut rules = self.inner.services.withheld.iter();
        rules.any(|rule| rule.fits_path(path))
    }

    /// The folders in which the tool may work.
    #[must_use]
    pub fn workspace(&self) -> &Workspace {
        &self.inner.services.workspace
    }

    /// Resolves a path that a model wrote.
    ///
    /// # Errors
    ///
    /// If the path leads out of the workspace or cannot be one.
    pub fn resolve(&self, path: &str) -> Result<Place, ToolError> {
        Ok(self.workspace().resolve(path)?)
    }

    /// Outputs that are too long for a result, kept whole.
    #[must_use]
    pub fn outputs(&self) -> &Outputs {
        &self.inner.services.outputs
    }

    /// Which results are to have code in the snippet format.
    #[must_use]
    pub fn snippet_format(&self) -> SnippetFormat {
        self.inner.services.snippet_format
    }

    /// The conversation that the call belongs to.
    #[must_use]
    pub fn conversation(&self) -> &Conversation {
        &self.inner.conversation
    }

    /// How long the result may be for the model, where that is known.
    pub(crate) fn limit(&self) -> Option<&ResultLimit> {
        self.inner.limit.as_ref()
    }

    pub(crate) fn services(&self) -> &Arc<Services> {
        &self.inner.services
    }

    /// The token that is cancelled when the call is to stop.
    #[must_use]
    pub fn cancellation(&self) -> &CancellationToken {
        &self.inner.cancel
    }

    /// Whether the call is to stop. Long work checks it now and then.
    #[must_use]
    pub fn is_cancelled(&self) -> bool {
        self.inner.cancel.is_cancelled()
    }

    /// How much time is left.
    #[must_use]
    pub fn remaining(&self) -> Duration {
        let deadline = self.inner.deadline.get();
        deadline.map_or(Duration::MAX, |deadline| {
            deadline.saturating_duration_since(Instant::now())
        })
    }

    /// Sets the time that the call has from now on.
    pub(crate) fn allow(&self, time: Duration) {
        // Set once: a call runs once.
        let _ = self.inner.deadline.set(Instant::now() + time);
    }

    /// Allows programs without the protections that are missing here.
    pub(crate) fn allow_unprotected(&self) {
        self.inner.may_go_unprotected.store(true, Ordering::Release);
    }

    /// Allows the call to write these files, which take effect later.
    pub(crate) fn allow_later(&self, files: Vec<PathBuf>) {
        // A call is decided about once.
        let _ = self.inner.may_write_later.set(files);
    }

    /// The files that take effect later and that the call may write.
    pub(crate) fn allowed_later(&self) -> &[PathBuf] {
        let files = self.inner.may_write_later.get();
        files.map(Vec::as_slice).unwrap_or_default()
    }

    /// Whether programs have a folder for temporary files of their own: they
    /// run in the sandbox, or not without a person's consent.
    pub(crate) fn has_own_temporary(&self) -> bool {
        let services = &self.inner.services;
        services.policy.is_some() && services.unprotected != Unprotected::Allow
    }

    /// Whether programs are not run without a protection that they are to have.
    pub(crate) fn is_strict(&self) -> bool {
        let is_agreed = self.inner.may_go_unprotected.load(Ordering::Acquire);
        self.inner.services.unprotected != Unprotected::Allow && !is_agreed
    }

    pub(crate) fn events(&self) -> &CallEvents {
        &self.inner.events
    }

    /// Shows a piece of output while the tool still runs.
    pub fn emit(&self, stream: OutputStream, chunk: &str) {
        self.inner.events.chunk(stream, chunk);
    }

    /// Reports how far the work has come, for whatever takes longer than a
    /// second.
    pub fn progress(&self, message: &str) {
        self.emit(OutputStream::Progress, message);
    }

    /// Remembers that these lines of a file were shown, and what it held.
    pub fn note_read(&self, place: Place, fingerprint: Fingerprint, lines: Ranges) {
        self.note(Touched::Read {
            place,
            fingerprint,
            lines,
        });
    }

    /// Remembers what the file holds after a write.
    pub fn note_write(&self, place: Place, fingerprint: Fingerprint) {
        self.note(Touched::Wrote { place, fingerprint });
    }

    fn note(&self, touched: Touched) {
        let mut all = self
            .inner
            .touched
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        all.push(touched);
    }

    /// Remembers what a file held when the call was planned, `None` for no
    /// file: the approval of the call is for changing that.
    pub fn note_planned(&self, place: Place, content: Option<Fingerprint>) {
        let planned = &self.inner.planned;
        let mut planned = planned.lock().unwrap_or_else(PoisonError::into_inner);
        planned.push((place, content));
    }

    /// Whether a file, or its absence, is what it was when the call was
    /// planned.
    #[must_use]
    pub fn is_as_planned(&self, place: &Place, content: Option<Fingerprint>) -> bool {
        let planned = &self.inner.planned;
        let planned = planned.lock().unwrap_or_else(PoisonError::into_inner);
        let then = planned.iter().rev().find(|(known, _)| known == place);
        then.is_none_or(|(_, then)| *then == content)
    }

    /// Remembers a failure that the user is to see.
    pub(crate) fn tell(&self, failure: Failure) {
        let told = &self.inner.told;
        *told.lock().unwrap_or_else(PoisonError::into_inner) = Some(failure);
    }

    /// The failure that the user is to see, if the call failed.
    pub(crate) fn told(&self) -> Option<Failure> {
        let told = &self.inner.told;
        told.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    /// Stores what was kept before the call runs.
    pub(crate) fn put_kept(&self, kept: Option<KeptCall>) {
        let slot = &self.inner.kept;
        *slot.lock().unwrap_or_else(PoisonError::into_inner) = kept;
    }

    /// Takes what was kept: the caller then has to record what has changed.
    pub(crate) fn take_kept(&self) -> Option<KeptCall> {
        let slot = &self.inner.kept;
        slot.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    /// Whether a command of the call is to work over layers.
    pub(crate) fn has_layers(&self) -> bool {
        let kept = self.inner.kept.lock();
        let kept = kept.unwrap_or_else(PoisonError::into_inner);
        kept.as_ref().is_some_and(KeptCall::has_layers)
    }

    /// The terms that a command of the call is started on. Layers are in use
    /// until [`CallContext::leave_layers`] is called.
    pub(crate) fn command_setup(&self) -> io::Result<CommandSetup> {
        let kept = self.inner.kept.lock();
        let kept = kept.unwrap_or_else(PoisonError::into_inner);
        kept.as_ref()
            .map_or_else(|| Ok(CommandSetup::default()), KeptCall::command_setup)
    }

    /// Ends the use of layers, when nothing of the command is left.
    pub(crate) fn leave_layers(&self) {
        let kept = self.inner.kept.lock();
        let kept = kept.unwrap_or_else(PoisonError::into_inner);
        if let Some(kept) = &*kept {
            kept.leave_layers();
        }
    }

    /// Keeps what is there in another way before a command runs, because it
    /// could not be started on these terms, for this reason. Blocks.
    pub(crate) fn fall_back(&self, why: &str) -> Result<(), UndoError> {
        let kept = self.inner.kept.lock();
        let mut kept = kept.unwrap_or_else(PoisonError::into_inner);
        kept.as_mut().map_or(Ok(()), |kept| kept.fall_back(why))
    }

    /// Takes the files that the call has touched so far.
    pub(crate) fn take_touched(&self) -> Vec<Touched> {
        let mut all = self
            .inner
            .touched
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        std::mem::take(&mut *all)
    }

    /// Runs work that blocks, such as reading files, on a thread for blocking
    /// work.
    ///
    /// # Errors
    ///
    /// Those of the work, and a system error if it panics.
    pub async fn blocking<T, F>(&self, work: F) -> Result<T, ToolError>
    where
        T: Send + 'static,
        F: FnOnce() -> Result<T, ToolError> + Send + 'static,
    {
        match tokio::task::spawn_blocking(work).await {
            Ok(result) => result,
            Err(error) => Err(ToolError::system(format!(
                "The tool broke down: {}",
                panic_message(error)
            ))),
        }
    }
}

/// The message of a task that panicked.
pub(crate) fn panic_message(error: tokio::task::JoinError) -> String {
    let Ok(panic) = error.try_into_panic() else {
        return "it was cancelled".to_owned();
    };
    let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
    text.or_else(|| panic.downcast_ref::<String>().cloned())
        .unwrap_or_else(|| "it panicked".to_owned())
}
