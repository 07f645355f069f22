//! What a run is put together from.

use std::sync::{Arc, OnceLock};

use ptk_llm::Provider;
use ptk_protocol::dialects::Registry;
use ptk_protocol::{Formatter, Grammar, Toolset};
use ptk_store::{SessionInfo, Store};
use ptk_tools::ToolManager;

use crate::hooks::Hooks;
use crate::lesson::{Lesson, Lessons, Pupil};
use crate::window::Budget;
use crate::{Mode, ReplyParser, RunError, RunOptions, SmallModel, TokenCounter, tokens};

/// What a notice about what was left out takes at most, in tokens.
const NOTICE: u64 = 64;

/// The parts, each replaceable.
pub(crate) struct Engine {
    pub(crate) provider: Arc<dyn Provider>,
    pub(crate) tools: ToolManager,
    pub(crate) formatter: Arc<dyn Formatter>,
    pub(crate) parser: Arc<dyn ReplyParser>,
    pub(crate) dialects: Registry,
    /// The only one that is read; all of them if there is none.
    pub(crate) dialect: Option<String>,
    pub(crate) store: Arc<dyn Store>,
    /// What counts tokens, where it was said.
    pub(crate) tokens: Option<Arc<dyn TokenCounter>>,
    /// Helps the one that answers.
    pub(crate) small: Option<SmallModel>,
    pub(crate) hooks: Hooks,
    pub(crate) system: Option<String>,
    pub(crate) options: RunOptions,
    pub(crate) info: SessionInfo,
    pub(crate) lessons: Lessons,
}

impl std::fmt::Debug for Engine {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Engine")
            .field("provider", &self.provider)
            .field("tools", &self.tools)
            .field("options", &self.options)
            .finish_non_exhaustive()
    }
}

/// What holds for one turn.
#[derive(Debug, Clone)]
pub(crate) struct Terms {
    pub(crate) options: RunOptions,
    /// The tools that are offered.
    pub(crate) tools: Toolset,
    pub(crate) grammar: Grammar,
    /// What stands before the conversation.
    pub(crate) system: Arc<str>,
    pub(crate) is_native: bool,
    pub(crate) budget: Budget,
    pub(crate) tokens: Arc<dyn TokenCounter>,
    /// The tools, where they are told beside the messages.
    definitions: Arc<str>,
    base: OnceLock<u64>,
}

impl Terms {
    /// What is told in any case, instructions and tools, in tokens.
    pub(crate) fn base(&self) -> u64 {
        let count = || self.tokens.count(&self.system) + self.tokens.count(&self.definitions);
        NOTICE + *self.base.get_or_init(count)
    }

    /// What that takes at most: no token has less than a byte.
    pub(crate) fn most(&self) -> u64 {
        NOTICE + (self.system.len() + self.definitions.len()) as u64
    }
}

impl Engine {
    /// What holds for a turn with these options.
    pub(crate) fn terms(&self, options: RunOptions) -> Result<Terms, RunError> {
        let can = self.provider.capabilities(options.model.as_deref());
        let is_native = match options.mode {
            Mode::Auto => can.has_native_tools,
            Mode::Native => true,
            Mode::Text => false,
        };
        let pupil = Pupil {
            registry: self.tools.registry(),
            names: options.tools.clone(),
            is_native,
        };
        let lesson = self.lessons.get(pupil, |pupil| self.lesson(pupil))?;
        let window = options.context_window.or(can.context_window);
        let model = options.model.as_deref().or_else(|| self.provider.model());
        let tokens = match &self.tokens {
            Some(tokens) => Arc::clone(tokens),
            None => tokens::of_model(model),
        };
        let budget = Budget::new(window, options.max_tokens, tokens.margin());
        Ok(Terms {
            options,
            tools: lesson.tools,
            grammar: lesson.grammar,
            system: lesson.system,
            is_native,
            budget,
            tokens,
            definitions: lesson.definitions,
            base: OnceLock::new(),
        })
    }

    /// What a model is taught that has these tools.
    fn lesson(&self, pupil: &Pupil) -> Result<Lesson, RunError> {
        let tools = offered(pupil)?;
        let mut grammar = Grammar::builder()
            .registry(self.dialects.clone())
            .tools(tools.clone());
        if let Some(dialect) = &self.dialect {
            grammar = grammar.dialect(dialect);
        }
        // Without tools there is nothing to teach (R59).
        let taught =
            (!pupil.is_native && !tools.is_empty()).then(|| self.formatter.system_prompt(&tools));
        let parts: Vec<&str> = self
            .system
            .iter()
            .chain(&taught)
            .map(String::as_str)
            .collect();
        let definitions = tools.iter().filter(|_| pupil.is_native);
        let definitions = definitions.map(|spec| spec.function_definition().to_string());
        Ok(Lesson {
            definitions: definitions.collect::<String>().into(),
            grammar: grammar.build()?,
            system: parts.join("\n\n").into(),
            tools,
        })
    }

    /// Whether calls of this tool change something.
    pub(crate) fn changes(&self, tool: &str) -> bool {
        let registry = self.tools.registry();
        registry
            .get(tool)
            .is_some_and(|tool| !tool.effects().is_read_only())
    }
}

/// The tools of these names, or all (C6).
fn offered(pupil: &Pupil) -> Result<Toolset, RunError> {
    let all = pupil.registry.toolset();
    let Some(names) = &pupil.names else {
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
