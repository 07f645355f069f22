//! Who may approve a call that changes something.
//!
//! [`Permissions`] decide by [`Rule`]s first. Only what no rule decides is
//! passed to an [`Approver`], whose approval may hold once, for the session or
//! always.
//!
//! | Module | Purpose |
//! |---|---|
//! | `rule`, `rules`, `user_file` | one rule, the rules in force, and the user's file of rules |
//! | `stopping` | which rule stops a call, or may |
//! | `call`, `git`, `repositories` | the files that a call is about, those of git and of nested repositories among them |
//! | `hidden`, `neutral` | commands in the arguments of others, and commands that change nothing |
//! | `runs_later` | files that run later, outside the sandbox |
//! | `proposal`, `open` | the rule that a person is offered, and the options it covers |
//! | `permissions` | the decision: rules first, then the approver |

mod call;
mod git;
mod hidden;
mod neutral;
mod open;
mod permissions;
mod proposal;
mod repositories;
mod rule;
mod rules;
mod runs_later;
mod stopping;
mod user_file;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use futures_util::future::BoxFuture;
use ptk_events::CallEvents;
use ptk_protocol::Arguments;
use ptk_sandbox::command::Protections;

pub(crate) use call::{later_files, later_warnings};
pub(crate) use permissions::{Asking, Bare, Guarded, Permit, Refusal};
pub use permissions::{DEFAULT_PATIENCE, Keeper, Mode, Permissions};
pub(crate) use repositories::nested_git_paths;
pub use rule::{Rule, RuleError};
pub use rules::{Action, Declaration, Entry};
pub(crate) use runs_later::refused_to_commands;
pub use runs_later::{Later, RUN_LATER, RunsLater, runs_later};
pub use user_file::{FileError, UserFile};

use crate::undo::Change;
use crate::{Effects, Plan};

/// A question to the approver before a call with effects runs.
#[derive(Debug, Clone, Copy)]
pub struct ApprovalRequest<'a> {
    /// The tool.
    pub tool: &'a str,
    /// Its arguments, checked.
    pub args: &'a Arguments,
    /// What it may do.
    pub effects: Effects,
    /// What it is about to touch: the diff or the command, and what is
    /// dangerous about it.
    pub plan: &'a Plan,
    /// The rules that would allow this call, and others like it. Empty where
    /// only this one call should be approved.
    pub rules: &'a [Rule],
    /// The rule that requires the question, if there is one.
    pub because: Option<&'a Entry>,
    /// The protections from its programs, where the machine cannot provide all
    /// of them. An approver has to know what is missing, and cannot approve it
    /// for good.
    pub unprotected: Option<&'a Protections>,
}

/// What a command has changed, before that comes into the workspace.
#[derive(Debug, Clone, Copy)]
pub struct Review<'a> {
    /// The tool.
    pub tool: &'a str,
    /// Its arguments, checked.
    pub args: &'a Arguments,
    /// The change of each path. What files held before is not known yet.
    pub changes: &'a [Change],
    /// Folders in which more changes, such as those that git ignores.
    pub uncovered: &'a [String],
    /// The changes as a diff.
    pub diff: &'a str,
}

/// The answer of an [`Approver`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Decision {
    /// It may run, this once.
    Allow,
    /// It may run, and so may whatever the proposed rules cover, until the
    /// session ends.
    AllowForSession,
    /// It may run, and so may whatever the proposed rules cover, for good: the
    /// rules are written down. Without protections it is for the session only.
    AllowAlways,
    /// It may not; the reason reaches the model. The same call is refused for
    /// the rest of the session.
    Deny(String),
    /// It may not, but the same call may be asked about again.
    DenyOnce(String),
}

/// Decides about calls: a person or a program.
pub trait Approver: Send + Sync {
    /// Decides about a call. An approver that asks a person waits here. Dropped
    /// when the call is cancelled, or not answered in time: then the question
    /// is to go away.
    fn decide<'a>(&'a self, request: ApprovalRequest<'a>) -> BoxFuture<'a, Decision>;

    /// Decides whether what a command has changed comes into the workspace:
    /// called where
    /// [`ToolManagerBuilder::review`](crate::ToolManagerBuilder::review) wants
    /// it. By default it is kept out.
    fn review<'a>(&'a self, _review: Review<'a>) -> BoxFuture<'a, Decision> {
        let why = "nobody looks at changes here".to_owned();
        Box::pin(std::future::ready(Decision::DenyOnce(why)))
    }

    /// Whether a person decides. Only a person can approve programs that the
    /// machine cannot protect in full.
    fn is_person(&self) -> bool {
        false
    }
}

/// Observes the questions about a call, and their approval. What comes next
/// waits until the witness is done, so that a log can prove later that a call
/// was never allowed.
pub trait Witness: Send + Sync {
    /// Called before the question is put.
    fn asked(&self) -> BoxFuture<'_, ()>;

    /// Called when the question was approved, before the call acts.
    fn agreed(&self) -> BoxFuture<'_, ()>;
}

/// An approver whose questions are reported: to the witness of the call, and as
/// events.
pub(crate) struct Watched<'a> {
    pub(crate) approver: &'a dyn Approver,
    pub(crate) witness: Option<&'a dyn Witness>,
    pub(crate) events: &'a CallEvents,
    /// Whether there was a question.
    pub(crate) is_asked: AtomicBool,
}

impl Approver for Watched<'_> {
    fn decide<'a>(&'a self, request: ApprovalRequest<'a>) -> BoxFuture<'a, Decision> {
        Box::pin(async move {
            self.is_asked.store(true, Ordering::Relaxed);
            if let Some(witness) = self.witness {
                witness.asked().await;
            }
            if self.is_person() {
                self.events.held();
            }
            let decision = self.approver.decide(request).await;
            let is_agreed = !matches!(decision, Decision::Deny(_) | Decision::DenyOnce(_));
            if let Some(witness) = self.witness.filter(|_| is_agreed) {
                witness.agreed().await;
            }
            decision
        })
    }

    fn is_person(&self) -> bool {
        self.approver.is_person()
    }
}

impl<T: Approver + ?Sized> Approver for Arc<T> {
    fn decide<'a>(&'a self, request: ApprovalRequest<'a>) -> BoxFuture<'a, Decision> {
        (**self).decide(request)
    }

    fn review<'a>(&'a self, review: Review<'a>) -> BoxFuture<'a, Decision> {
        (**self).review(review)
    }

    fn is_person(&self) -> bool {
        (**self).is_person()
    }
}

/// Approves everything.
#[derive(Debug, Clone, Copy, Default)]
pub struct AllowAll;

impl Approver for AllowAll {
    fn decide<'a>(&'a self, _request: ApprovalRequest<'a>) -> BoxFuture<'a, Decision> {
        Box::pin(std::future::ready(Decision::Allow))
    }

    fn review<'a>(&'a self, _review: Review<'a>) -> BoxFuture<'a, Decision> {
        Box::pin(std::future::ready(Decision::Allow))
    }
}

/// Denies everything that changes something, because no approver is available
/// or because that is what was wanted.
#[derive(Debug, Clone)]
pub struct DenyAll {
    reason: String,
}

impl DenyAll {
    /// Denies with this reason, which the model sees.
    pub fn new(reason: impl Into<String>) -> Self {
        Self {
            reason: reason.into(),
        }
    }
}

impl Default for DenyAll {
    fn default() -> Self {
        Self::new("calls that change something are not allowed here")
    }
}

impl Approver for DenyAll {
    fn decide<'a>(&'a self, _request: ApprovalRequest<'a>) -> BoxFuture<'a, Decision> {
        Box::pin(std::future::ready(Decision::DenyOnce(self.reason.clone())))
    }
}
