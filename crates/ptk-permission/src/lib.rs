//! What calls of tools may do: rules, the commands in a command line, what is
//! dangerous about them, and who approves what no rule decides.
//!
//! [`Permissions`] decide by [`Rule`]s first. Only what no rule decides is
//! passed to an [`Approver`], whose approval may hold once, for the session or
//! always. A command line is parsed without running it, and a rule allows it
//! only if every command in it is certain.
//!
//! ```
//! use ptk_permission::shell::CommandLine;
//! use ptk_permission::{Declaration, Mode, Permissions};
//!
//! let rules = Declaration {
//!     allow: vec!["bash(cargo test *)".to_owned(), "edit(src/**)".to_owned()],
//!     deny: vec!["bash(git push *)".to_owned()],
//!     ..Declaration::default()
//! };
//! let permissions = Permissions::new(Mode::Ask).rules(rules.entries("my program")?);
//! assert_eq!(permissions.entries().len(), 3);
//!
//! let line = CommandLine::read("cargo test && git push");
//! assert_eq!(line.commands().len(), 2);
//! # Ok::<(), ptk_permission::RuleError>(())
//! ```
//!
//! | Module | Purpose |
//! |---|---|
//! | `effects`, `plan`, `signature` | what a tool may do, what a call is about to touch, and when two calls are the same |
//! | [`shell`] | the commands in a command line |
//! | [`danger`] | what a command is about to destroy |
//! | `rule`, `rules`, `declaration`, `user_file` | one rule, the rules in force, those of a configuration, and the user's file of rules |
//! | `toml_file` | TOML that people edit, and programs change |
//! | `stopping` | which rule stops a call, or may |
//! | `call`, `git`, `repositories` | the files that a call is about, those of git and of nested repositories among them |
//! | `hidden`, `neutral` | commands in the arguments of others, and commands that change nothing |
//! | `runs_later` | files that run later, outside the sandbox |
//! | `proposal`, `open` | the rule that a person is offered, and the options it covers |
//! | `permissions` | the decision: rules first, then the approver |

mod call;
pub mod danger;
mod declaration;
mod effects;
mod file_tools;
mod git;
mod hidden;
mod neutral;
mod open;
mod permissions;
mod plan;
mod proposal;
mod repositories;
mod rule;
mod rules;
mod runs_later;
pub mod shell;
mod signature;
mod stopping;
mod toml_file;
mod user_file;

use std::path::PathBuf;
use std::sync::Arc;

use futures_util::future::BoxFuture;
use ptk_protocol::Arguments;
use ptk_sandbox::command::Protections;

pub use call::{later_files, later_warnings};
pub use declaration::{Declaration, Mode};
pub use effects::{Effect, Effects};
pub use permissions::{
    DEFAULT_PATIENCE, Guarded, MissingProtections, PermissionRequest, Permissions, Permit, Refusal,
    RuleStore,
};
pub use plan::Plan;
pub use repositories::nested_git_paths;
pub use rule::{Rule, RuleError};
pub use rules::{Action, Entry};
pub use runs_later::{LaterEffect, RUN_LATER, RunsLater, refused_to_commands, runs_later};
pub use signature::Signature;
pub use toml_file::{FileError, TomlFile};
pub use user_file::UserFile;

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
    /// Whether [`Decision::AllowEdits`] covers this call.
    pub is_edit: bool,
    /// The rule that requires the question, if there is one.
    pub because: Option<&'a Entry>,
    /// The protections from its programs, where the machine cannot provide all
    /// of them. An approver has to know what is missing, and cannot approve it
    /// for good.
    pub unprotected: Option<&'a Protections>,
}

impl ApprovalRequest<'_> {
    /// What the call is for, in a few words: `write src/main.rs`.
    #[must_use]
    pub fn purpose(&self) -> String {
        let writes: Vec<String> = self.plan.writes.iter().map(ToString::to_string).collect();
        match (&self.plan.command, writes.is_empty()) {
            (Some(_), _) => "run".to_owned(),
            (None, false) => format!("write {}", writes.join(", ")),
            (None, true) => format!("do this ({})", self.effects),
        }
    }
}

/// What a command has changed, before that comes into the workspace.
#[derive(Debug, Clone, Copy)]
pub struct Review<'a> {
    /// The tool.
    pub tool: &'a str,
    /// Its arguments, checked.
    pub args: &'a Arguments,
    /// The paths that change.
    pub paths: &'a [PathBuf],
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
    /// It may run, and so may every other call of `write_file` and `edit`, until
    /// the session ends. Commands are not covered, nor is what a rule is about,
    /// nor files that take effect outside the sandbox. For a call that is not
    /// such an edit, it is an approval for this once.
    AllowEdits,
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
    /// called where a review is required. By default it is kept out.
    fn review<'a>(&'a self, _review: Review<'a>) -> BoxFuture<'a, Decision> {
        let why = "changes cannot be reviewed here".to_owned();
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
