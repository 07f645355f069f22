//! The parts that a run is put together from.

use std::sync::{Arc, OnceLock};

use ptk_llm::{Constraint, Form, Memory, Message, ResponseFormat, Sampling};
use ptk_protocol::dialects::Registry;
use ptk_protocol::format::DefinitionStyle;
use ptk_protocol::format::guard::Guard;
use ptk_protocol::schema::suggest;
use ptk_protocol::{
    ErrorCode, Formatter, Grammar, ProblemCode, PtkFormatter, ToolSpec, Toolset, snippet,
};
use ptk_store::{Call, LoggedCall, LoggedProblem, SessionInfo, Store};
use ptk_tools::{SnippetFormat, ToolManager};

use crate::constrained::ReplyConstraint;
use crate::hooks::Hooks;
use crate::model::Candidate;
use crate::prompt_cache::{CachedPrompt, PromptCache, PromptKey};
use crate::render::Teaching;
use crate::stop::Stop;
use crate::window::{self, Budget};
use crate::{Hold, ReplyParser, RunError, RunOptions, SmallModel, TokenCounter, tokens};

/// The most tokens of a notice about what was left out.
pub(crate) const NOTICE: u64 = 64;

/// The parts of a `Ptk`, each replaceable.
pub(crate) struct Engine {
    /// The models, in the order in which they are asked: each one after the
    /// first is a fallback for those before it.
    pub(crate) models: Vec<Arc<Candidate>>,
    /// What was found out about them.
    pub(crate) memory: Arc<dyn Memory>,
    pub(crate) tools: ToolManager,
    /// What teaches, unless a model is taught another dialect.
    pub(crate) formatter: Arc<dyn Formatter>,
    /// Whether it teaches every model.
    pub(crate) teaches_all: bool,
    /// What keeps results from being read as calls.
    pub(crate) guard: Guard,
    pub(crate) parser: Arc<dyn ReplyParser>,
    pub(crate) dialects: Registry,
    /// The only dialect that is read; all of them if there is none.
    pub(crate) dialect: Option<String>,
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
    /// The model's name.
    pub(crate) model: Option<String>,
    pub(crate) form: Form,
    pub(crate) sampling: Sampling,
    pub(crate) max_tokens: Option<u32>,
    pub(crate) formatter: Arc<dyn Formatter>,
    /// Whether the way in which the model calls tools may change.
    pub(crate) may_change: bool,
    /// The tools that are offered.
    pub(crate) tools: Toolset,
    pub(crate) grammar: Grammar,
    /// The system prompt.
    pub(crate) system: Arc<str>,
    /// Example turns after it.
    pub(crate) examples: Arc<[Message]>,
    /// The system prompt of a model that is not to call tools.
    pub(crate) plain_system: Arc<str>,
    pub(crate) is_native: bool,
    pub(crate) budget: Budget,
    pub(crate) tokens: Arc<dyn TokenCounter>,
    /// The tool definitions, where they are sent beside the messages.
    definitions: Arc<str>,
    /// The constraints that the model supports, and the one for these tools.
    constraint: Constraint,
    reply_constraint: Arc<OnceLock<Option<ReplyConstraint>>>,
    base: OnceLock<u64>,
}

impl TurnConfig {
    /// The tool that a call means, if it names one or nearly does.
    pub(crate) fn meant(&self, call: &Call) -> Option<&ToolSpec> {
        let nearest = || suggest::nearest(&call.name, self.tools.names());
        let named = self.tools.get(&call.name);
        named.or_else(|| self.tools.get(nearest()?))
    }

    /// Tokens of instructions and tools, with room for a notice.
    pub(crate) fn base(&self) -> u64 {
        NOTICE + self.told()
    }

    /// Tokens of instructions and tools, which are part of every request.
    pub(crate) fn told(&self) -> u64 {
        let tokens = &*self.tokens;
        let examples = || self.examples.iter().map(|it| window::cost(tokens, it));
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
        let examples: u64 = self.examples.iter().map(window::most).sum();
        NOTICE + (self.system.len() + self.definitions.len()) as u64 + examples
    }
}

impl Engine {
    /// Adds what is wrong with the arguments of calls to their problems.
    pub(crate) fn check(&self, calls: &mut [LoggedCall]) {
        for call in calls.iter_mut().filter(|call| call.is_runnable()) {
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
        let rank = self.models.iter().position(|model| !model.is_resting());
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
        stop.unless(candidate.learn(config.model.as_deref())).await
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
        let model = &candidate.model;
        let is_first = rank == 0;
        let name = options.model.as_ref().filter(|_| is_first);
        let mode = Some(options.mode).filter(|_| is_first).unwrap_or_default();
        let approach = candidate.approach(name.map(String::as_str), mode, &*self.memory);
        let (is_native, can) = (approach.is_native, approach.can);
        let key = PromptKey {
            registry: self.tools.registry(),
            names: options.tools.clone(),
            is_native,
            only: approach.only.or_else(|| self.dialect.clone()),
            best: approach.best,
            constraint: can.constraint,
            form: can.form,
            definitions: can.definitions,
        };
        let cached_prompt = self.prompt_cache.get(key, |key| self.cached_prompt(key))?;
        let window = options.context_window.filter(|_| is_first);
        let window = window.or(approach.context_window);
        let name = approach.model;
        let tokens = match &self.tokens {
            Some(tokens) => Arc::clone(tokens),
            None => tokens::of_model(name.as_deref()),
        };
        let max_tokens = options.max_tokens.or(model.max_tokens);
        let budget = Budget::new(window, max_tokens, tokens.margin());
        Ok(TurnConfig {
            form: can.form,
            sampling: if options.sampling == Sampling::default() {
                model.sampling
            } else {
                options.sampling
            },
            max_tokens,
            may_change: approach.may_change,
            model: name,
            formatter: cached_prompt.formatter,
            rank,
            options,
            tools: cached_prompt.tools,
            grammar: cached_prompt.grammar,
            system: cached_prompt.system,
            examples: cached_prompt.examples,
            plain_system: cached_prompt.plain_system,
            is_native,
            budget,
            tokens,
            definitions: cached_prompt.definitions,
            constraint: can.constraint,
            reply_constraint: cached_prompt.reply_constraint,
            base: OnceLock::new(),
            candidate,
        })
    }

    /// The constraint on the replies of a model that is taught its tools in
    /// text, if it supports one.
    pub(crate) fn reply_constraint<'t>(
        &self,
        config: &'t TurnConfig,
    ) -> Option<&'t ReplyConstraint> {
        let is_taught = !config.is_native && !config.tools.is_empty();
        let make = || {
            ReplyConstraint::new(
                config.constraint,
                &*config.formatter,
                &config.tools,
                &self.dialects,
            )
        };
        let reply_constraint = is_taught.then(|| config.reply_constraint.get_or_init(make));
        reply_constraint.and_then(Option::as_ref)
    }

    /// The format of the next reply, after so many unusable ones in a row.
    pub(crate) fn format(&self, config: &TurnConfig, unusable: u32) -> ResponseFormat {
        let is_wanted = match config.candidate.model.hold {
            Hold::Always => true,
            Hold::Auto => unusable > 0,
            Hold::Never => false,
        };
        let reply_constraint = is_wanted.then(|| self.reply_constraint(config)).flatten();
        reply_constraint.map_or(ResponseFormat::Text, |reply_constraint| {
            reply_constraint.format().clone()
        })
    }

    /// The next model to ask after these have failed; resting ones are skipped.
    pub(crate) fn next_model(&self, tried: &[usize]) -> Option<usize> {
        let awake = |rank: &usize| self.models.get(*rank).is_some_and(|it| !it.is_resting());
        self.untried(tried).find(awake)
    }

    /// The models that have not been tried, resting or not.
    pub(crate) fn untried(&self, tried: &[usize]) -> impl Iterator<Item = usize> {
        (0..self.models.len()).filter(|rank| !tried.contains(rank))
    }

    /// Lets a model that failed rest for a while.
    pub(crate) fn rest(&self, rank: usize) {
        if let Some(model) = self.models.get(rank) {
            model.rest();
        }
    }

    /// The display name of a model.
    pub(crate) fn name_of(&self, rank: usize) -> String {
        let Some(candidate) = self.models.get(rank) else {
            return String::new();
        };
        let model = &candidate.model;
        let said = self.options.model.as_deref().filter(|_| rank == 0);
        let name = said.or(model.name.as_deref());
        let name = name.or_else(|| model.provider.model());
        name.unwrap_or_else(|| model.provider.name()).to_owned()
    }

    /// The formatter for the best dialect of this key.
    fn taught(&self, key: &PromptKey) -> Arc<dyn Formatter> {
        let name = key.only.as_ref().or(key.best.as_ref());
        let dialect = match name {
            _ if self.teaches_all => None,
            Some(name) => self.dialects.get(name).ok(),
            None if key.definitions == DefinitionStyle::default() => None,
            None => self.formatter.taught(),
        };
        let other = dialect.and_then(|dialect| PtkFormatter::new(Arc::clone(dialect)).ok());
        match other {
            Some(formatter) => {
                let formatter = formatter.with_style(key.definitions);
                Arc::new(formatter.with_guard(self.guard.clone()))
            }
            None => Arc::clone(&self.formatter),
        }
    }

    /// Builds the prompt for these tools.
    fn cached_prompt(&self, key: &PromptKey) -> Result<CachedPrompt, RunError> {
        let tools = offered(key)?;
        let mut grammar = Grammar::builder()
            .registry(self.dialects.clone())
            .tools(tools.clone());
        if let Some(dialect) = &key.only {
            grammar = grammar.dialect(dialect);
        }
        let mut grammar = grammar.build()?;
        if key.form == Form::Prompt {
            grammar = grammar.for_transcript();
        }
        let formatter = self.taught(key);
        // Without tools there is nothing to teach.
        let is_taught = !key.is_native && !tools.is_empty();
        let teaching = is_taught.then(|| Teaching::new(&*formatter, &tools, key.form));
        let Teaching {
            instructions,
            examples,
        } = teaching.unwrap_or_default();
        let taught = is_taught.then_some(instructions);
        let snippets = self.shows_snippets(key, &tools);
        let snippets = snippets.then_some(snippet::INSTRUCTIONS);
        let parts: Vec<&str> = self
            .system
            .iter()
            .chain(&taught)
            .map(String::as_str)
            .chain(snippets)
            .collect();
        let definitions = tools.iter().filter(|_| key.is_native);
        let definitions = definitions.map(|spec| spec.function_definition().to_string());
        Ok(CachedPrompt {
            definitions: definitions.collect::<String>().into(),
            formatter,
            reply_constraint: Arc::default(),
            grammar,
            system: parts.join("\n\n").into(),
            examples,
            plain_system: self.system.clone().unwrap_or_default().into(),
            tools,
        })
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
    let chosen = all.iter().filter(|spec| names.contains(&spec.name));
    // They have differing names, or they would not stand in one set.
    Ok(Toolset::new(chosen.cloned()).unwrap_or_default())
}
