//! Instructions, tool definitions and grammar, built once for a set of tools
//! instead of every turn.

use std::sync::{Arc, Mutex, PoisonError};

use ptk_llm::{Constraint, Form};
use ptk_model::{Approach, DeferTools, ToolPrompt};
use ptk_protocol::format::DefinitionStyle;
use ptk_protocol::{Opening, Toolset};
use ptk_tools::Registry;

use crate::RunOptions;

/// Sets of tools that are remembered: most programs have one or two.
const MAX_PROMPTS: usize = 8;

/// The prompt for a set of tools and the way in which they are called.
#[derive(Debug, Clone)]
pub(crate) struct CachedPrompt {
    /// What the model is told of its tools.
    pub(crate) tools: Arc<ToolPrompt>,
    /// The system prompt.
    pub(crate) system: Arc<str>,
    /// The system prompt, without any teaching.
    pub(crate) plain_system: Arc<str>,
    /// The tool definitions, where they are sent beside the messages.
    pub(crate) definitions: Arc<str>,
}

impl CachedPrompt {
    /// The text of definitions that are sent beside the messages.
    pub(crate) fn definitions_of(tools: &Toolset) -> String {
        let definitions = tools.iter();
        definitions
            .map(|spec| spec.function_definition().to_string())
            .collect()
    }
}

/// What a cached prompt depends on.
#[derive(Debug, Clone)]
pub(crate) struct PromptKey {
    /// The tools there are. A changed set is another one.
    pub(crate) registry: Arc<Registry>,
    /// The names of the tools that are offered; all if `None`.
    pub(crate) names: Option<Vec<String>>,
    pub(crate) defer_tools: DeferTools,
    pub(crate) pinned: Vec<String>,
    /// The model and its window, where tools may be deferred: they decide how
    /// many tokens definitions take, and how many may be taken.
    measured_by: Option<(Option<String>, Option<u32>)>,
    is_native: bool,
    /// The dialect that is taught, and the only one that is read.
    only: Option<String>,
    /// The dialect that is taught if `only` is not set.
    best: Option<String>,
    /// What the model's replies begin with.
    opening: Opening,
    /// The constraints that the model supports.
    constraint: Constraint,
    /// The form in which the model takes a conversation.
    form: Form,
    /// How tools are described to the model.
    definitions: DefinitionStyle,
}

impl PromptKey {
    /// The key of these tools, for a model that is asked in this way.
    pub(crate) fn new(registry: Arc<Registry>, options: &RunOptions, approach: &Approach) -> Self {
        let may_defer = options.defer_tools != DeferTools::Never
            && registry.iter().any(|tool| tool.is_deferrable());
        Self {
            names: options.tools.clone(),
            defer_tools: options.defer_tools,
            pinned: options.pinned_tools.clone(),
            measured_by: may_defer.then(|| (approach.model.clone(), approach.context_window)),
            registry,
            is_native: approach.is_native,
            only: approach.only.clone(),
            best: approach.best.clone(),
            opening: approach.opening,
            constraint: approach.can.constraint,
            form: approach.can.form,
            definitions: approach.can.definitions,
        }
    }
}

impl PartialEq for PromptKey {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.registry, &other.registry)
            && self.names == other.names
            && self.defer_tools == other.defer_tools
            && self.pinned == other.pinned
            && self.measured_by == other.measured_by
            && self.is_native == other.is_native
            && self.only == other.only
            && self.best == other.best
            && self.opening == other.opening
            && self.constraint == other.constraint
            && self.form == other.form
            && self.definitions == other.definitions
    }
}

/// The prompts that were built, the newest last.
#[derive(Debug, Default)]
pub(crate) struct PromptCache {
    given: Mutex<Vec<(PromptKey, CachedPrompt)>>,
}

impl PromptCache {
    /// The cached prompt for this key, built if there is none.
    pub(crate) fn get<E>(
        &self,
        key: PromptKey,
        make: impl FnOnce(&PromptKey) -> Result<CachedPrompt, E>,
    ) -> Result<CachedPrompt, E> {
        let known = self.lock().iter().find(|(of, _)| *of == key).cloned();
        if let Some((_, cached_prompt)) = known {
            return Ok(cached_prompt);
        }
        let cached_prompt = make(&key)?;
        let mut given = self.lock();
        if given.len() >= MAX_PROMPTS {
            given.remove(0);
        }
        given.push((key, cached_prompt.clone()));
        Ok(cached_prompt)
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Vec<(PromptKey, CachedPrompt)>> {
        self.given.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
