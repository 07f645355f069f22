//! Options of a run: limits, the model's settings, and how it is stopped.

use std::time::Duration;

use ptk_llm::Sampling;
use ptk_model::{DeferTools, Mode};
use serde_json::{Map, Value};
use tokio_util::sync::CancellationToken;

use crate::{AnswerSchema, Hooks};

/// The default limit of iterations of a run.
pub const MAX_ITERATIONS: u32 = 10;
/// The default limit of calls of a run.
pub const MAX_TOOL_CALLS: u32 = 20;
/// The default limit of unusable replies in a row that are corrected.
pub const PROTOCOL_RETRIES: u32 = 3;
/// How often a failed request is sent again by default.
pub const PROVIDER_RETRIES: u32 = 2;

/// Options of a run.
///
/// ```
/// use std::time::Duration;
///
/// use ptk::RunOptions;
///
/// let options = RunOptions {
///     max_iterations: 3,
///     timeout: Some(Duration::from_secs(60)),
///     ..RunOptions::default()
/// };
/// let stop = options.cancel.clone();
/// stop.cancel(); // From wherever it is to be stopped.
/// ```
#[derive(Debug, Clone)]
pub struct RunOptions {
    /// The tools that the model is offered, by name: all of them if `None`,
    /// none if the list is empty.
    pub tools: Option<Vec<String>>,
    /// When tools that [may be deferred](ptk_tools::Tool::is_deferrable) are:
    /// the prompt only lists them, and the model searches for their
    /// definitions.
    pub defer_tools: DeferTools,
    /// Tools that are never deferred, by name.
    pub pinned_tools: Vec<String>,
    /// How often the model is asked at most. The last time it is asked for an
    /// answer without tools.
    pub max_iterations: u32,
    /// How many calls are run at most. Then the model is asked for an answer,
    /// too.
    pub max_tool_calls: u32,
    /// Which calls of a reply are run.
    pub calls: CallPolicy,
    /// How often in a row the model is sent a correction of an unusable reply.
    pub protocol_retries: u32,
    /// How often a request that failed is sent again, where that may help.
    pub provider_retries: u32,
    /// How long the run may take.
    pub timeout: Option<Duration>,
    /// Stops the run, wherever it is.
    pub cancel: CancellationToken,
    /// Whether a run that is cancelled leaves its turn open, so that it can be
    /// resumed like one that ran out of time. Otherwise the turn has ended.
    pub stay_open: bool,
    /// How the model calls tools.
    pub mode: Mode,
    /// The model, where it is not the provider's own.
    pub model: Option<String>,
    /// How tokens are sampled.
    pub sampling: Sampling,
    /// The most tokens of a reply.
    pub max_tokens: Option<u32>,
    /// How many tokens the model can take, where its provider does not know
    /// or less is wanted.
    pub context_window: Option<u32>,
    /// What is done when the conversation no longer fits.
    pub compaction: Compaction,
    /// The schema of the answer, if it has to be JSON.
    pub answer_schema: Option<AnswerSchema>,
    /// Hooks of this run. Where one is missing, that of the
    /// [`PtkBuilder`](crate::PtkBuilder) is called.
    pub hooks: Hooks,
    /// Settings that are logged with the turn, for callers that resume it.
    pub settings: Map<String, Value>,
    /// The cause of the run, where there is one: the id of a call whose tool
    /// runs a model of its own, for instance. Entries, events and spans of the
    /// run carry it.
    pub parent: Option<String>,
}

impl Default for RunOptions {
    fn default() -> Self {
        Self {
            tools: None,
            defer_tools: DeferTools::Auto,
            pinned_tools: Vec::new(),
            max_iterations: MAX_ITERATIONS,
            max_tool_calls: MAX_TOOL_CALLS,
            calls: CallPolicy::All,
            protocol_retries: PROTOCOL_RETRIES,
            provider_retries: PROVIDER_RETRIES,
            timeout: None,
            cancel: CancellationToken::new(),
            stay_open: false,
            mode: Mode::Auto,
            model: None,
            sampling: Sampling::default(),
            max_tokens: None,
            context_window: None,
            compaction: Compaction::Drop,
            answer_schema: None,
            hooks: Hooks::new(),
            settings: Map::new(),
            parent: None,
        }
    }
}

/// Which calls of a reply are run.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum CallPolicy {
    /// All of them.
    #[default]
    All,
    /// The first; the model gets an error for the others.
    FirstOnly,
}

/// What is done when a conversation no longer fits into the model.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Compaction {
    /// Its oldest turns are left out.
    #[default]
    Drop,
    /// The model is asked to sum them up. If that fails, they are left out.
    Summarise,
}
