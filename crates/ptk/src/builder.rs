//! Builds a `Ptk` from its parts.

use std::path::PathBuf;
use std::sync::Arc;

use ptk_llm::{InMemory, Memory, Provider};
use ptk_model::{Candidate, Model, PtkParser, ReplyParser, TeachError, Teacher, TokenCounter};
use ptk_protocol::Formatter;
use ptk_protocol::dialects::Registry as Dialects;
use ptk_sandbox::{Workspace, WorkspaceError};
use ptk_store::{MemoryStore, SessionInfo, Store};
use ptk_tools::{Approver, DenyAll, Limits, Registry, RegistryError, Tool, ToolManager};

use crate::engine::Engine;
use crate::hooks::{
    CallAction, CallInfo, Duplicate, DuplicateAction, ErrorAction, Hooks, IterationAction,
    IterationInfo, Streamed,
};
use crate::prompt_cache::PromptCache;
use crate::{Ptk, RunError, RunOptions, SmallModel};

/// Puts a [`Ptk`] together. Only the model has to be given.
pub struct PtkBuilder {
    model: Option<Model>,
    fallbacks: Vec<Model>,
    memory: Option<Arc<dyn Memory>>,
    workspace: Option<PathBuf>,
    registry: Registry,
    manager: Option<ToolManager>,
    approver: Arc<dyn Approver>,
    limits: Limits,
    formatter: Option<Arc<dyn Formatter>>,
    parser: Arc<dyn ReplyParser>,
    dialects: Option<Dialects>,
    dialect: Option<String>,
    store: Option<Arc<dyn Store>>,
    tokens: Option<Arc<dyn TokenCounter>>,
    small: Option<SmallModel>,
    hooks: Hooks,
    system: Option<String>,
    options: RunOptions,
    info: SessionInfo,
    fault: Option<RegistryError>,
}

/// Why the parts do not fit together.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BuildError {
    /// There is no model.
    #[error("No model; set one with `Ptk::model` or `provider`")]
    NoProvider,
    /// A tool cannot be registered.
    #[error(transparent)]
    Tool(#[from] RegistryError),
    /// The folder cannot be worked in.
    #[error(transparent)]
    Workspace(#[from] WorkspaceError),
    /// The current folder is gone.
    #[error("The current folder cannot be found: {0}; name one with `workspace`")]
    NoFolder(std::io::Error),
    /// The model cannot be taught in a dialect.
    #[error(transparent)]
    Dialect(#[from] TeachError),
}

impl std::fmt::Debug for PtkBuilder {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("PtkBuilder").finish_non_exhaustive()
    }
}

impl Default for PtkBuilder {
    fn default() -> Self {
        Self {
            model: None,
            fallbacks: Vec::new(),
            memory: None,
            workspace: None,
            registry: Registry::new(),
            manager: None,
            approver: Arc::new(DenyAll::default()),
            limits: Limits::default(),
            formatter: None,
            parser: Arc::new(PtkParser),
            dialects: None,
            dialect: None,
            store: None,
            tokens: None,
            small: None,
            hooks: Hooks::default(),
            system: None,
            options: RunOptions::default(),
            info: SessionInfo::new(),
            fault: None,
        }
    }
}

impl PtkBuilder {
    /// Sets the provider of the model.
    #[must_use]
    pub fn provider(self, provider: impl Provider + 'static) -> Self {
        self.model(Model::new(provider))
    }

    /// Sets the model, with its settings.
    #[must_use]
    pub fn model(mut self, model: Model) -> Self {
        self.model = Some(model);
        self
    }

    /// A model that is asked where those before it fail. The one that failed
    /// is left alone for a minute.
    #[must_use]
    pub fn fallback(mut self, model: Model) -> Self {
        self.fallbacks.push(model);
        self
    }

    /// Sets where findings about models are remembered; the default forgets
    /// them at the end of the program.
    #[must_use]
    pub fn memory(mut self, memory: Arc<dyn Memory>) -> Self {
        self.memory = Some(memory);
        self
    }

    /// Sets the folder that tools work in (default: the current one).
    #[must_use]
    pub fn workspace(mut self, folder: impl Into<PathBuf>) -> Self {
        self.workspace = Some(folder.into());
        self
    }

    /// Adds a tool.
    #[must_use]
    pub fn tool(mut self, tool: impl Tool + 'static) -> Self {
        if let Err(error) = self.registry.register(tool) {
            self.fault.get_or_insert(error);
        }
        self
    }

    /// Sets the tools, replacing those added so far.
    #[must_use]
    pub fn tools(mut self, registry: Registry) -> Self {
        self.registry = registry;
        self
    }

    /// Sets tools that are put together already, with their workspace,
    /// permissions, layers and approver.
    #[must_use]
    pub fn tool_manager(mut self, manager: ToolManager) -> Self {
        self.manager = Some(manager);
        self
    }

    /// Sets what decides about calls that change something. Without it, none
    /// runs.
    #[must_use]
    pub fn approver(mut self, approver: impl Approver + 'static) -> Self {
        self.approver = Arc::new(approver);
        self
    }

    /// Sets the limits of calls: time, room, tries.
    #[must_use]
    pub const fn limits(mut self, limits: Limits) -> Self {
        self.limits = limits;
        self
    }

    /// Sets what teaches the model its tools.
    #[must_use]
    pub fn formatter(mut self, formatter: impl Formatter + 'static) -> Self {
        self.formatter = Some(Arc::new(formatter));
        self
    }

    /// Sets the parser of the model's replies.
    #[must_use]
    pub fn parser(mut self, parser: impl ReplyParser + 'static) -> Self {
        self.parser = Arc::new(parser);
        self
    }

    /// Sets the dialect that is taught, and the only one that is read. Without
    /// one, `ptk` is taught, and all are read.
    #[must_use]
    pub fn dialect(mut self, name: impl Into<String>) -> Self {
        let name = name.into();
        self.dialect = (name != "auto").then_some(name);
        self
    }

    /// Sets the dialects to choose from.
    #[must_use]
    pub fn dialects(mut self, dialects: Dialects) -> Self {
        self.dialects = Some(dialects);
        self
    }

    /// Sets the store of sessions (default: in memory).
    #[must_use]
    pub fn store(mut self, store: Arc<dyn Store>) -> Self {
        self.store = Some(store);
        self
    }

    /// Sets the token counter. The default is the model's own tokenizer where
    /// it is known ([`tokens_of`](crate::tokens_of)), and an estimate
    /// elsewhere.
    #[must_use]
    pub fn token_counter(mut self, tokens: impl TokenCounter + 'static) -> Self {
        self.tokens = Some(Arc::new(tokens));
        self
    }

    /// Sets a small model that helps the main one.
    #[must_use]
    pub fn small_model(mut self, small: SmallModel) -> Self {
        self.small = Some(small);
        self
    }

    /// Sets the system prompt.
    #[must_use]
    pub fn system(mut self, text: impl Into<String>) -> Self {
        self.system = Some(text.into());
        self
    }

    /// Sets the default options of runs.
    #[must_use]
    pub fn options(mut self, options: RunOptions) -> Self {
        self.options = options;
        self
    }

    /// Sets what is logged of new sessions beside the folder, the model and the
    /// dialect.
    #[must_use]
    pub fn session_info(mut self, info: SessionInfo) -> Self {
        self.info = info;
        self
    }

    /// Called when a reply was read.
    #[must_use]
    pub fn on_iteration(
        mut self,
        hook: impl Fn(&IterationInfo<'_>) -> IterationAction + Send + Sync + 'static,
    ) -> Self {
        self.hooks = self.hooks.on_iteration(hook);
        self
    }

    /// Called before a call runs.
    #[must_use]
    pub fn on_tool_call(
        mut self,
        hook: impl Fn(&CallInfo<'_>) -> CallAction + Send + Sync + 'static,
    ) -> Self {
        self.hooks = self.hooks.on_tool_call(hook);
        self
    }

    /// Called when a run comes to no answer.
    #[must_use]
    pub fn on_error(
        mut self,
        hook: impl Fn(&RunError) -> ErrorAction + Send + Sync + 'static,
    ) -> Self {
        self.hooks = self.hooks.on_error(hook);
        self
    }

    /// Called when the model repeats itself.
    #[must_use]
    pub fn on_duplicate(
        mut self,
        hook: impl Fn(&Duplicate<'_>) -> DuplicateAction + Send + Sync + 'static,
    ) -> Self {
        self.hooks = self.hooks.on_duplicate(hook);
        self
    }

    /// Called with what the model says, while it says it.
    #[must_use]
    pub fn on_stream(mut self, hook: impl Fn(&Streamed<'_>) + Send + Sync + 'static) -> Self {
        self.hooks = self.hooks.on_stream(hook);
        self
    }

    /// Builds the [`Ptk`].
    ///
    /// # Errors
    ///
    /// If there is no model, a tool is not fit for one, or the folder or the
    /// dialect is not there.
    pub fn build(self) -> Result<Ptk, BuildError> {
        if let Some(fault) = self.fault {
            return Err(fault.into());
        }
        let model = self.model.ok_or(BuildError::NoProvider)?;
        let mut teacher = Teacher::new(self.dialects.unwrap_or_default(), self.dialect)?;
        if let Some(formatter) = self.formatter {
            teacher = teacher.with_formatter(formatter);
        }
        let formatter = teacher.default_formatter()?;
        let own = std::iter::once(&model).chain(&self.fallbacks);
        for name in own.flat_map(|model| model.dialect.iter().chain(&model.taught)) {
            teacher.check(name)?;
        }
        let mut info = SessionInfo::new().provider(model.provider.name());
        let tools = if let Some(manager) = self.manager {
            manager
        } else {
            let folder = match self.workspace {
                Some(folder) => folder,
                None => std::env::current_dir().map_err(BuildError::NoFolder)?,
            };
            let workspace = Workspace::open(folder)?;
            ToolManager::builder(workspace)
                .tools(self.registry)
                .approver(self.approver)
                .limits(self.limits)
                .build()
        };
        info = info.workspace(tools.workspace().root().display().to_string());
        let said = self.options.model.as_deref().or(model.name.as_deref());
        if let Some(name) = said.or_else(|| model.provider.model()) {
            info = info.model(name);
        }
        if let Some(dialect) = model.dialect.as_deref().or(teacher.only()) {
            info = info.dialect(dialect);
        }
        info.change(&self.info);
        Ok(Ptk::new(Engine {
            models: std::iter::once(model)
                .chain(self.fallbacks)
                .map(Candidate::new)
                .collect(),
            memory: self.memory.unwrap_or_else(|| Arc::<InMemory>::default()),
            tools,
            teacher,
            formatter,
            parser: self.parser,
            store: self.store.unwrap_or_else(|| Arc::new(MemoryStore::new())),
            tokens: self.tokens,
            small: self.small,
            hooks: self.hooks,
            system: self.system,
            options: self.options,
            info,
            prompt_cache: PromptCache::default(),
        }))
    }
}
