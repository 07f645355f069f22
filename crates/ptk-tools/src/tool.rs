//! The [`Tool`] trait, and the plan of a call.

use std::time::Duration;

use futures_util::future::BoxFuture;
use ptk_protocol::{Arguments, ToolResult, ToolSpec};

use crate::{CallContext, Effects, Fields, Plan, ToolError, preview};

/// How a tool's events are sent, and whether a subscriber waits for them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Class {
    /// Short; subscribers want to see its events at once.
    #[default]
    Realtime,
    /// Long or costly.
    Background,
}

/// The arguments that a call means, where its own lead nowhere.
#[derive(Debug, Clone)]
pub struct Redirect {
    /// The arguments that the call is run with, and that are decided about.
    pub args: Arguments,
    /// Fields about it for the model, which are added to the result.
    pub told: Fields,
}

/// Something that a model can call.
///
/// A tool holds no state of a call: that is in the [`CallContext`]. Most tools
/// are easier written as a [`TypedTool`](crate::TypedTool) or with
/// [`tool_fn`](crate::tool_fn).
pub trait Tool: Send + Sync {
    /// Name, description and parameters, for the model.
    fn spec(&self) -> &ToolSpec;

    /// What it may do to the world.
    fn effects(&self) -> Effects;

    /// How its events are sent.
    fn class(&self) -> Class {
        Class::Realtime
    }

    /// The arguments under the names of the schema, where models are known to
    /// use others. They are not checked yet.
    fn adapt(&self, args: Arguments) -> Arguments {
        args
    }

    /// The arguments that a call means, if its own lead nowhere and nothing
    /// else can be meant. They are checked, and decided about, as those of any
    /// call. Only for calls that change nothing.
    fn redirect<'a>(
        &'a self,
        _context: &'a CallContext,
        _args: &'a Arguments,
    ) -> BoxFuture<'a, Option<Redirect>> {
        Box::pin(std::future::ready(None))
    }

    /// How long this call may take by its own arguments. If `None`, the
    /// pipeline's deadline holds.
    fn timeout(&self, _args: &Arguments) -> Option<Duration> {
        None
    }

    /// Whether [`plan`](Self::plan) returns anything. If not, it is not called,
    /// which saves the thread for it.
    fn has_plan(&self) -> bool {
        true
    }

    /// The files that the call names, found without reading any of them: in
    /// [`Plan::reads`] those whose content it shows or needs, in
    /// [`Plan::writes`] those that it changes. Rules about them are decided on
    /// before [`plan`](Self::plan) looks inside. Only a tool whose plan reads
    /// files has to implement this.
    ///
    /// # Errors
    ///
    /// If a path leads out of the workspace or cannot be one.
    fn targets(&self, _context: &CallContext, _args: &Arguments) -> Result<Plan, ToolError> {
        Ok(Plan::default())
    }

    /// What the call is about to touch. The arguments are checked already. May
    /// block, such as to read a file: it runs on a thread for blocking work. By
    /// default, a call may touch any file that the tool's effects allow.
    ///
    /// # Errors
    ///
    /// If the call cannot run at all: then no approval is requested.
    fn plan(&self, _context: &CallContext, _args: &Arguments) -> Result<Plan, ToolError> {
        Ok(Plan::unknown(self.effects()))
    }

    /// Runs the call. Cancelled by dropping, or by the context's token where
    /// the tool has to clean up.
    fn run<'a>(
        &'a self,
        context: &'a CallContext,
        args: Arguments,
    ) -> BoxFuture<'a, Result<Fields, ToolError>>;

    /// Whether the tool itself shows a person its progress while it runs, as
    /// one that runs a model of its own does: then no other progress is shown.
    fn shows_itself(&self) -> bool {
        false
    }

    /// Whether its results have code in the [snippet
    /// format](ptk_protocol::snippet), so that the model gets an explanation of
    /// it.
    fn gives_snippets(&self) -> bool {
        false
    }

    /// Whether the tool may be left out of the prompt until the model searches
    /// for it, where there are many tools.
    fn is_deferrable(&self) -> bool {
        false
    }

    /// The preview of a result that a person sees.
    fn preview(&self, result: &ToolResult, max_lines: usize) -> Vec<String> {
        preview::of(result, max_lines)
    }
}
