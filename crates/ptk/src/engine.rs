//! What a run is put together from.

use std::sync::Arc;

use ptk_llm::Provider;
use ptk_protocol::dialects::Registry;
use ptk_protocol::{Formatter, Grammar, Toolset};
use ptk_store::{SessionInfo, Store};
use ptk_tools::ToolManager;

use crate::hooks::Hooks;
use crate::lesson::{Lesson, Lessons, Pupil};
use crate::window::Budget;
use crate::{Mode, ReplyParser, RunError, RunOptions, TokenCounter};

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
    pub(crate) tokens: Arc<dyn TokenCounter>,
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
        let budget = Budget::new(window, options.max_tokens);
        Ok(Terms {
            options,
            tools: lesson.tools,
            grammar: lesson.grammar,
            system: lesson.system,
            is_native,
            budget,
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
        Ok(Lesson {
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
