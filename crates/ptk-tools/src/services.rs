//! What the calls of one session share.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use ptk_permission::{Guarded, Rule};
use ptk_sandbox::Workspace;
use ptk_sandbox::command::{Helper, Policy, Protections};
use ptk_undo::Recorder;
use tokio::sync::OnceCell;

use crate::activity::Activity;
use crate::outputs::Outputs;
use crate::session_state::SessionState;
use crate::{Sandbox, SnippetFormat, Unprotected};

/// The workspace, and the state that calls share.
#[derive(Debug)]
pub(crate) struct Services {
    pub(crate) workspace: Workspace,
    /// The helper that commands are started by.
    pub(crate) helper: Option<Helper>,
    /// What commands may do.
    pub(crate) policy: Option<Policy>,
    /// What to do about commands that the machine cannot protect in full.
    pub(crate) unprotected: Unprotected,
    /// Their protections, if they are not complete; once it is known.
    pub(crate) incomplete: OnceCell<Option<Protections>>,
    pub(crate) outputs: Arc<Outputs>,
    writing: Mutex<()>,
    /// State of tools.
    pub(crate) state: SessionState,
    pub(crate) snippet_format: SnippetFormat,
    /// Rules that forbid to show files.
    pub(crate) withheld: Vec<Rule>,
    /// Keeps what calls are about to change.
    pub(crate) undo: Option<Arc<Recorder>>,
    /// Whether changes of commands are reviewed before they are kept.
    pub(crate) is_reviewed: bool,
    /// Counts what may have changed files.
    pub(crate) activity: Arc<Activity>,
}

impl Services {
    pub(crate) fn new(
        workspace: Workspace,
        helper: Option<Helper>,
        sandbox: &Sandbox,
        outputs: Arc<Outputs>,
        snippet_format: SnippetFormat,
    ) -> Self {
        let policy = sandbox.policy(&workspace);
        Self {
            policy,
            unprotected: sandbox.unprotected,
            incomplete: OnceCell::new(),
            workspace,
            helper,
            outputs,
            writing: Mutex::default(),
            state: SessionState::default(),
            snippet_format,
            withheld: Vec::new(),
            undo: None,
            is_reviewed: false,
            activity: Arc::default(),
        }
    }

    /// Locks writing, from the look at a file to its replacement, for code that
    /// blocks anyway: of two calls that change one file at once, the second
    /// sees what the first has made of it. One lock for all files, since one
    /// file may have several names.
    pub(crate) fn writing(&self) -> MutexGuard<'_, ()> {
        self.writing.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The same services, with everything kept before it changes.
    pub(crate) fn with_undo(self, undo: Option<Recorder>) -> Self {
        let has_helper = self.policy.is_some() && self.helper.is_some();
        let undo = undo.map(|undo| {
            Arc::new(if has_helper {
                undo.with_helper(self.is_reviewed)
            } else {
                undo
            })
        });
        Self { undo, ..self }
    }

    /// The same services, with a review of what commands have changed.
    pub(crate) fn reviewed(self, is_reviewed: bool) -> Self {
        Self {
            is_reviewed,
            ..self
        }
    }

    /// The same services, with files and folders that no command writes.
    pub(crate) fn guarding(mut self, guarded: &[Guarded]) -> Self {
        if let Some(policy) = &mut self.policy {
            for guarded in guarded {
                match guarded {
                    Guarded::File(path) => policy.guard(path),
                    Guarded::Folder(path) => policy.guard_folder(path),
                }
            }
        }
        self
    }

    /// The same services, with rules for files that are not to be shown.
    pub(crate) fn withholding(self, withheld: Vec<Rule>) -> Self {
        Self { withheld, ..self }
    }
}
