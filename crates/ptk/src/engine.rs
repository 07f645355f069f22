//! The parts that a run is put together from.

use std::collections::HashSet;
use std::sync::{Arc, OnceLock};

use ptk_llm::{Memory, ResponseFormat, Sampling};
use ptk_model::{
    ASSUMED_WINDOW, Approach, Budget, Candidate, DeferPolicy, DeferredTools, Hold, Models,
    ReplyConstraint, ReplyParser, Teacher, TokenCounter, ToolPrompt, cost, most, tokens_of,
};
use ptk_protocol::schema::suggest;
use ptk_protocol::{ErrorCode, Formatter, ProblemCode, ToolSpec, Toolset, snippet};
use ptk_store::{Call, LoggedCall, LoggedProblem, SessionInfo, Store};
use ptk_tools::{SnippetFormat, ToolManager};

use crate::hooks::Hooks;
use crate::prompt_cache::{CachedPrompt, PromptCache, PromptKey};
use crate::stop::Stop;
use crate::{RunError, RunOptions, SmallModel};

/// The most tokens of a notice about what was left out.
pub(crate) const NOTICE: u64 = 64;

/// The parts of a `Ptk`, each replaceable.
pub(crate) struct Engine {
    /// The models, in the order in which they are asked.
    pub(crate) models: Models,
    /// What was found out about them.
    pub(crate) memory: Arc<dyn Memory>,
    pub(crate) tools: ToolManager,
    /// What teaches models their tools.
    pub(crate) teacher: Teacher,
    /// What is shown to no model in particular goes through this.
    pub(crate) formatter: Arc<dyn Formatter>,
    pub(crate) parser: Arc<dyn ReplyParser>,
    pub(crate) store: Arc<dyn Store>,
    /// The token counter, if one was set.
    pub(crate) tokens: Option<Arc<dyn TokenCounter>>,
    /// The model that helps the main one.
    pub(crate) small: Option<SmallModel>,
    pub(crate) hooks: Hooks,
    pub(crate) system: Option<String>,
    pub(crate) options: RunOptions,
    pub(crate) info: SessionInfo,
    pub(crate) prompt_cache: PromptCache,
}

impl std::fmt::Debug for Engine {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Engine")
            .field("models", &self.models)
            .field("tools", &self.tools)
            .field("options", &self.options)
            .finish_non_exhaustive()
    }
}

/// The configuration of one turn: model, tools, prompt and budget.
#[derive(Debug, Clone)]
pub(crate) struct TurnConfig {
    pub(crate) options: RunOptions,
    /// The model that is asked, and its rank among the models.
    pub(crate) candidate: Arc<Candidate>,
    pub(crate) rank: usize,
    /// How it is asked.
    pub(crate) approach: Approach,
    /// What it is told of its tools.
    pub(crate) prompt: Arc<ToolPrompt>,
    /// What it was told before it found any.
    first_prompt: Arc<ToolPrompt>,
    pub(crate) sampling: Sampling,
    pub(crate) max_tokens: Option<u32>,
    /// The number of the first item whose images are shown.
    pub(crate) images_from: u64,
    /// The system prompt.
    pub(crate) system: Arc<str>,
    /// The system prompt of a model that is not to call tools.
    pub(crate) plain_system: Arc<str>,
    pub(crate) budget: Budget,
    pub(crate) tokens: Arc<dyn TokenCounter>,
    /// The tool definitions, where they are sent beside the messages.
    definitions: Arc<str>,
    base: OnceLock<u64>,
}

impl TurnConfig {
    /// The tool that a call means, if it names one or nearly does.
    pub(crate) fn meant(&self, call: &Call) -> Option<&ToolSpec> {
        let tools = &self.prompt.tools;
        let nearest = || suggest::nearest(&call.name, tools.names());
        tools.get(&call.name).or_else(|| tools.get(nearest()?))
    }

    /// The same configuration after tools of these names were found or called,
    /// in this order.
    pub(crate) fn with_found(&self, names: &[String]) -> Self {
        let names = names.iter().map(String::as_str);
        let prompt = self.first_prompt.with_found(names);
        let definitions = if prompt.is_native {
            CachedPrompt::definitions_of(&prompt.defined).into()
        } else {
            Arc::clone(&self.definitions)
        };
        Self {
            prompt: Arc::new(prompt),
            definitions,
            base: OnceLock::new(),
            ..self.clone()
        }
    }

    /// Whether one of these tools is deferred, and its definition was not given.
    pub(crate) fn lacks(&self, names: &[String]) -> bool {
        self.prompt.deferred.is_some() && names.iter().any(|name| self.prompt.is_unseen(name))
    }

    /// The question of a turn as it is asked last, with the form of its answer.
    pub(crate) fn question(&self, question: &str) -> String {
        match &self.options.answer_schema {
            None => question.to_owned(),
            Some(schema) => format!("{question}\n\n{}", schema.instructions()),
        }
    }

    /// Tokens of instructions and tools, with room for a notice.
    pub(crate) fn base(&self) -> u64 {
        NOTICE + self.told()
    }

    /// Tokens of instructions and tools, which are part of every request.
    pub(crate) fn told(&self) -> u64 {
        let tokens = &*self.tokens;
        let examples = || self.prompt.examples.iter().map(|it| cost(tokens, it));
        let count = || {
            let words = tokens.count(&self.system) + tokens.count(&self.definitions);
            words + examples().sum::<u64>()
        };
        *self.base.get_or_init(count)
    }

    /// Tokens of the tool definitions that are sent beside the messages.
    pub(crate) fn tools_cost(&self) -> u64 {
        self.tokens.count(&self.definitions)
    }

    /// An upper bound of `base`, without counting: no token has less than a
    /// byte.
    pub(crate) fn most(&self) -> u64 {
        let examples: u64 = self.prompt.examples.iter().map(most).sum();
        NOTICE + (self.system.len() + self.definitions.len()) as u64 + examples
    }
}

impl Engine {
    /// Adds what is wrong with the arguments of calls to their problems.
    pub(crate) fn check(&self, config: &TurnConfig, calls: &mut [LoggedCall]) {
        // The search for tools is not registered; the parser has checked it.
        let is_checked =
            |call: &&mut LoggedCall| call.is_runnable() && !config.prompt.is_search(&call.name);
        for call in calls.iter_mut().filter(is_checked) {
            if let Err(message) = self.tools.check(&call.to_call()) {
                call.problems.push(LoggedProblem {
                    code: ProblemCode::InvalidArguments.as_str().to_owned(),
                    message,
                });
            }
        }
    }

    /// The configuration of a turn with these options.
    pub(crate) fn config(&self, options: RunOptions) -> Result<TurnConfig, RunError> {
        let rank = self.models.first();
        self.config_with(options, rank.unwrap_or(0))
    }

    /// The same, after the server was asked once what its model can do.
    pub(crate) async fn learned_config(
        &self,
        options: RunOptions,
        stop: &Stop,
    ) -> Result<TurnConfig, RunError> {
        let config = self.config(options)?;
        if self.learn(&config, stop).await? {
            return self.config_with(config.options, config.rank);
        }
        Ok(config)
    }

    /// Asks a server once what its model can do. Returns whether something new
    /// was learned.
    pub(crate) async fn learn(&self, config: &TurnConfig, stop: &Stop) -> Result<bool, RunError> {
        let candidate = &config.candidate;
        stop.unless(candidate.learn(config.approach.model.as_deref()))
            .await
    }

    /// The configuration of a turn with these options and this model. Model
    /// settings in the options apply only to the first model.
    pub(crate) fn config_with(
        &self,
        options: RunOptions,
        rank: usize,
    ) -> Result<TurnConfig, RunError> {
        let Some(candidate) = self.models.get(rank).map(Arc::clone) else {
            return Err(RunError::failed(
                ErrorCode::LlmCallFailed,
                "There is no model to ask",
            ));
        };
        let model = candidate.model();
        let is_first = rank == 0;
        let name = options.model.as_ref().filter(|_| is_first);
        let mode = Some(options.mode).filter(|_| is_first).unwrap_or_default();
        let mut approach = candidate.approach(name.map(String::as_str), mode, &*self.memory);
        let window = options.context_window.filter(|_| is_first);
        approach.context_window = window.or(approach.context_window);
        let tokens = match &self.tokens {
            Some(tokens) => Arc::clone(tokens),
            None => tokens_of(approach.model.as_deref()),
        };
        let key = PromptKey::new(self.tools.registry(), &options, &approach);
        let make = |key: &PromptKey| self.cached_prompt(key, &approach, &*tokens);
        let cached_prompt = self.prompt_cache.get(key, make)?;
        let max_tokens = options.max_tokens.or(model.max_tokens);
        let window = approach.context_window.unwrap_or(ASSUMED_WINDOW);
        let budget = Budget::new(Some(window), max_tokens, tokens.margin());
        Ok(TurnConfig {
            sampling: if options.sampling == Sampling::default() {
                model.sampling
            } else {
                options.sampling
            },
            max_tokens,
            images_from: 0,
            approach,
            rank,
            prompt: Arc::clone(&cached_prompt.tools),
            first_prompt: cached_prompt.tools,
            system: with_schema(cached_prompt.system, &options),
            plain_system: with_schema(cached_prompt.plain_system, &options),
            budget,
            tokens,
            definitions: cached_prompt.definitions,
            base: OnceLock::new(),
            candidate,
            options,
        })
    }

    /// The constraint on the replies of a model that is taught its tools in
    /// text, if it supports one.
    pub(crate) fn reply_constraint<'t>(
        &self,
        config: &'t TurnConfig,
    ) -> Option<&'t ReplyConstraint> {
        let constraint = config.approach.can.constraint;
        config
            .prompt
            .constraint(constraint, self.teacher.dialects())
    }

    /// The format of the next reply, after so many unusable ones in a row.
    pub(crate) fn format(&self, config: &TurnConfig, unusable: u32) -> ResponseFormat {
        let is_wanted = match config.candidate.model().hold {
            Hold::Always => true,
            Hold::Auto => unusable > 0,
            Hold::Never => false,
        };
        let reply_constraint = is_wanted.then(|| self.reply_constraint(config)).flatten();
        reply_constraint.map_or(ResponseFormat::Text, |reply_constraint| {
            reply_constraint.format().clone()
        })
    }

    /// The display name of a model.
    pub(crate) fn name_of(&self, rank: usize) -> String {
        let Some(candidate) = self.models.get(rank) else {
            return String::new();
        };
        let said = self.options.model.as_deref().filter(|_| rank == 0);
        said.unwrap_or_else(|| candidate.model().display_name())
            .to_owned()
    }

    /// Builds the prompt for these tools.
    fn cached_prompt(
        &self,
        key: &PromptKey,
        approach: &Approach,
        tokens: &dyn TokenCounter,
    ) -> Result<CachedPrompt, RunError> {
        let tools = offered(key)?;
        let prompt = match self.deferred(key, approach, tokens, &tools)? {
            Some((defined, deferred)) => self
                .teacher
                .prompt_with_search(approach, &defined, deferred)?,
            None => self.teacher.prompt(approach, &tools, &tools)?,
        };
        let taught = Some(&*prompt.instructions).filter(|it| !it.is_empty());
        let snippets = self.shows_snippets(key, &tools);
        let snippets = snippets.then_some(snippet::INSTRUCTIONS);
        let system = self.system.as_deref().into_iter();
        let parts: Vec<&str> = system.chain(taught).chain(snippets).collect();
        let definitions = if approach.is_native {
            CachedPrompt::definitions_of(&prompt.defined)
        } else {
            String::new()
        };
        Ok(CachedPrompt {
            definitions: definitions.into(),
            system: parts.join("\n\n").into(),
            plain_system: self.system.clone().unwrap_or_default().into(),
            tools: Arc::new(prompt),
        })
    }

    /// The tools that the prompt defines, and those that it only lists, if
    /// there are any.
    fn deferred(
        &self,
        key: &PromptKey,
        approach: &Approach,
        tokens: &dyn TokenCounter,
        tools: &Toolset,
    ) -> Result<Option<(Toolset, DeferredTools)>, RunError> {
        let deferrable = key.registry.iter().filter(|tool| tool.is_deferrable());
        let names = deferrable.map(|tool| tool.spec().name.as_str());
        let mut names: HashSet<&str> = names.collect();
        for pinned in &key.pinned {
            names.remove(pinned.as_str());
        }
        let formatter = self.teacher.formatter(approach)?;
        let defined = |tools: &Toolset| {
            if approach.is_native {
                CachedPrompt::definitions_of(tools)
            } else {
                formatter.tool_definitions(tools)
            }
        };
        let policy = DeferPolicy {
            when: key.defer_tools,
            window: approach.context_window,
            tokens,
        };
        Ok(policy.split(tools, &names, defined))
    }

    /// Whether tools show code in the snippet format: then the model does so,
    /// too.
    fn shows_snippets(&self, key: &PromptKey, offered: &Toolset) -> bool {
        if offered.is_empty() {
            return false;
        }
        let mut tools = key.registry.iter();
        self.tools.snippet_format() == SnippetFormat::Always
            || tools.any(|tool| tool.gives_snippets() && offered.contains(&tool.spec().name))
    }

    /// Whether the tool accepts the call's parameters under other names.
    pub(crate) fn adapts(&self, call: &Call) -> bool {
        let registry = self.tools.registry();
        let tool = registry.get(&call.name);
        tool.is_some_and(|tool| tool.adapt(call.arguments.clone()) != call.arguments)
    }

    /// Whether calls of this tool change something.
    pub(crate) fn changes(&self, tool: &str) -> bool {
        let registry = self.tools.registry();
        registry
            .get(tool)
            .is_some_and(|tool| !tool.effects().is_read_only())
    }
}

/// The instructions, with those about the form of the answer.
fn with_schema(instructions: Arc<str>, options: &RunOptions) -> Arc<str> {
    match &options.answer_schema {
        None => instructions,
        Some(schema) if instructions.is_empty() => schema.instructions().into(),
        Some(schema) => format!("{instructions}\n\n{}", schema.instructions()).into(),
    }
}

/// The tools of these names, or all.
fn offered(key: &PromptKey) -> Result<Toolset, RunError> {
    let all = key.registry.toolset();
    let Some(names) = &key.names else {
        return Ok(all.clone());
    };
    let unknown = names.iter().find(|name| !all.contains(name));
    if let Some(name) = unknown {
        return Err(RunError::UnknownTool {
            name: name.clone(),
            known: all.names().map(str::to_owned).collect(),
        });
    }
    Ok(all.filtered(|spec| names.contains(&spec.name)))
}
