//! Hooks that let a host act during a run: one for each occasion, each with
//! actions of its own.

use std::fmt;
use std::sync::Arc;

use ptk_events::CallId;
use ptk_protocol::{Arguments, ToolResult};
use ptk_store::ReplyOutcome;

use crate::{LoopKind, RunError};

/// A reply that was parsed.
#[derive(Debug, Clone, Copy)]
pub struct IterationInfo<'a> {
    /// The number of the reply in the run, counted from one.
    pub iteration: u32,
    /// The kind of the reply.
    pub kind: ReplyKind,
    /// The prose.
    pub content: &'a str,
    /// How many calls were run before this reply.
    pub tool_calls_so_far: u32,
}

/// The kind of a reply.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReplyKind {
    /// An answer.
    Text,
    /// Calls of tools.
    ToolCall,
    /// A reply that cannot be used; the model is sent a correction.
    Malformed,
}

impl ReplyKind {
    /// The name of the kind, as hosts know it.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Text => "text",
            Self::ToolCall => "tool_call",
            Self::Malformed => "malformed",
        }
    }
}

impl From<ReplyOutcome> for ReplyKind {
    fn from(outcome: ReplyOutcome) -> Self {
        match outcome {
            ReplyOutcome::Text => Self::Text,
            ReplyOutcome::Calls => Self::ToolCall,
            ReplyOutcome::Malformed => Self::Malformed,
        }
    }
}

/// What a hook does after a reply.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum IterationAction {
    /// The run goes on.
    Continue,
    /// The run stops, for this reason.
    Stop(String),
}

/// A call that is about to run.
#[derive(Debug, Clone, Copy)]
pub struct CallInfo<'a> {
    /// The id under which the call runs.
    pub id: &'a CallId,
    /// The tool's name.
    pub tool: &'a str,
    /// The arguments of the call.
    pub arguments: &'a Arguments,
    /// The model's reason for the call.
    pub reasoning: Option<&'a str>,
}

/// What a hook does with a call.
#[derive(Debug, Clone, PartialEq)]
pub enum CallAction {
    /// The call runs.
    Run,
    /// The call runs with other arguments.
    RunWith(Arguments),
    /// The call does not run, and this is its result.
    Answer(ToolResult),
    /// The run stops, for this reason.
    Stop(String),
}

/// What a hook does with a run that failed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ErrorAction {
    /// The run fails.
    Fail,
    /// The run ends with this answer instead.
    Answer(String),
}

/// A loop that the model is in.
#[derive(Debug, Clone, Copy)]
pub struct Duplicate<'a> {
    /// The kind of loop.
    pub kind: LoopKind,
    /// The tool of the last call.
    pub tool: &'a str,
    /// How often the model repeated itself.
    pub count: u32,
    /// Whether the model was warned before.
    pub is_told: bool,
}

/// What a hook does with a model that repeats itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DuplicateAction {
    /// The model is warned. If it was warned before, it has to answer without
    /// tools, and the run fails if it calls one even then.
    TellThenStop,
    /// The model is not warned.
    Ignore,
    /// The run fails.
    Stop,
}

/// A part of a reply, as it comes in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Streamed<'a> {
    /// Prose, for the user.
    Text(&'a str),
    /// Reasoning of the model.
    Reasoning(&'a str),
    /// The beginning of a call.
    Call {
        /// The tool's name.
        tool: &'a str,
    },
    /// The reply broke off, and the model is asked again: what came of it so
    /// far does not count.
    Restarted,
}

type OnIteration = dyn Fn(&IterationInfo<'_>) -> IterationAction + Send + Sync;
type OnCall = dyn Fn(&CallInfo<'_>) -> CallAction + Send + Sync;
type OnError = dyn Fn(&RunError) -> ErrorAction + Send + Sync;
type OnDuplicate = dyn Fn(&Duplicate<'_>) -> DuplicateAction + Send + Sync;
type OnStreamed = dyn Fn(&Streamed<'_>) + Send + Sync;

/// Hooks, for all runs of a [`Ptk`](crate::Ptk) or for one
/// ([`RunOptions::hooks`](crate::RunOptions::hooks)). Where there is none, the
/// run goes on.
///
/// ```
/// use ptk::{CallAction, Hooks};
///
/// let hooks = Hooks::new().on_tool_call(|call| {
///     println!("{} is called", call.tool);
///     CallAction::Run
/// });
/// # let _ = hooks;
/// ```
#[derive(Clone, Default)]
pub struct Hooks {
    iteration: Option<Arc<OnIteration>>,
    call: Option<Arc<OnCall>>,
    error: Option<Arc<OnError>>,
    duplicate: Option<Arc<OnDuplicate>>,
    streamed: Option<Arc<OnStreamed>>,
}

impl Hooks {
    /// No hooks.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Called when a reply was read.
    #[must_use]
    pub fn on_iteration(
        mut self,
        hook: impl Fn(&IterationInfo<'_>) -> IterationAction + Send + Sync + 'static,
    ) -> Self {
        self.iteration = Some(Arc::new(hook));
        self
    }

    /// Called before a call runs.
    #[must_use]
    pub fn on_tool_call(
        mut self,
        hook: impl Fn(&CallInfo<'_>) -> CallAction + Send + Sync + 'static,
    ) -> Self {
        self.call = Some(Arc::new(hook));
        self
    }

    /// Called when a run comes to no answer.
    #[must_use]
    pub fn on_error(
        mut self,
        hook: impl Fn(&RunError) -> ErrorAction + Send + Sync + 'static,
    ) -> Self {
        self.error = Some(Arc::new(hook));
        self
    }

    /// Called when the model repeats itself.
    #[must_use]
    pub fn on_duplicate(
        mut self,
        hook: impl Fn(&Duplicate<'_>) -> DuplicateAction + Send + Sync + 'static,
    ) -> Self {
        self.duplicate = Some(Arc::new(hook));
        self
    }

    /// Called with what the model says, while it says it.
    #[must_use]
    pub fn on_stream(mut self, hook: impl Fn(&Streamed<'_>) + Send + Sync + 'static) -> Self {
        self.streamed = Some(Arc::new(hook));
        self
    }

    /// These hooks, and the others where one is missing.
    pub(crate) fn or(&self, others: &Self) -> Self {
        Self {
            iteration: self
                .iteration
                .as_ref()
                .or(others.iteration.as_ref())
                .cloned(),
            call: self.call.as_ref().or(others.call.as_ref()).cloned(),
            error: self.error.as_ref().or(others.error.as_ref()).cloned(),
            duplicate: self
                .duplicate
                .as_ref()
                .or(others.duplicate.as_ref())
                .cloned(),
            streamed: self.streamed.as_ref().or(others.streamed.as_ref()).cloned(),
        }
    }

    pub(crate) fn iteration(&self, info: &IterationInfo<'_>) -> IterationAction {
        let hook = self.iteration.as_ref();
        hook.map_or(IterationAction::Continue, |hook| hook(info))
    }

    pub(crate) fn call(&self, info: &CallInfo<'_>) -> CallAction {
        let hook = self.call.as_ref();
        hook.map_or(CallAction::Run, |hook| hook(info))
    }

    pub(crate) fn error(&self, error: &RunError) -> ErrorAction {
        let hook = self.error.as_ref();
        hook.map_or(ErrorAction::Fail, |hook| hook(error))
    }

    pub(crate) fn duplicate(&self, duplicate: &Duplicate<'_>) -> DuplicateAction {
        let hook = self.duplicate.as_ref();
        hook.map_or(DuplicateAction::TellThenStop, |hook| hook(duplicate))
    }

    pub(crate) fn streamed(&self, streamed: &Streamed<'_>) {
        if let Some(hook) = &self.streamed {
            hook(streamed);
        }
    }
}

impl fmt::Debug for Hooks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Hooks")
    }
}
