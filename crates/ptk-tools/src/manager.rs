//! [`ToolManager`], which runs the calls of tools.

use std::collections::BTreeMap;
use std::sync::{Arc, PoisonError, RwLock};

use futures_util::future::join_all;
use ptk_events::{Bus, RequestId};
use ptk_protocol::{ToolCall, Toolset};
use ptk_sandbox::Workspace;
use ptk_sandbox::command::Helper;
use ptk_undo::Recorder;
use tokio::sync::Semaphore;

use crate::middleware::Around;
use crate::pipeline;
use crate::retries::Retries;
use crate::services::Services;
use crate::shared::Shared;
use crate::tools::EFFECTS;
use crate::usage::{Statistics, Usage};
use crate::{
    Approver, CallOutcome, CallRequest, Conversation, DenyAll, Foreseen, Limits, Middleware,
    Outputs, Permissions, Registry, RegistryError, Sandbox, SnippetFormat, Tool,
};

/// Runs calls, each through the whole pipeline. Cheap to clone; clones are the
/// same manager.
#[derive(Clone)]
pub struct ToolManager {
    inner: Arc<Shared>,
}

/// Puts a [`ToolManager`] together.
pub struct ToolManagerBuilder {
    workspace: Workspace,
    registry: Registry,
    layers: Vec<Arc<dyn Middleware>>,
    approver: Arc<dyn Approver>,
    permissions: Permissions,
    bus: Bus,
    limits: Limits,
    helper: Option<Helper>,
    sandbox: Sandbox,
    snippet_format: SnippetFormat,
    undo: Option<ptk_undo::Options>,
    session: Option<String>,
    is_reviewed: bool,
}

impl ToolManagerBuilder {
    /// Sets the tools.
    #[must_use]
    pub fn tools(mut self, registry: Registry) -> Self {
        self.registry = registry;
        self
    }

    /// Adds a layer around calls. The first one added is the outermost.
    #[must_use]
    pub fn layer(mut self, layer: impl Middleware + 'static) -> Self {
        self.layers.push(Arc::new(layer));
        self
    }

    /// Sets the approver of calls that change something. Without one, none
    /// runs.
    #[must_use]
    pub fn approver(mut self, approver: impl Approver + 'static) -> Self {
        self.approver = Arc::new(approver);
        self
    }

    /// Sets whether the approver sees what a command has changed before that
    /// comes into the workspace, and may keep it out. Needs
    /// [`ToolManagerBuilder::undo`], and a system with layers: without them,
    /// and in the background, no command is run that could change something.
    #[must_use]
    pub const fn review(mut self, is_reviewed: bool) -> Self {
        self.is_reviewed = is_reviewed;
        self
    }

    /// Sets the rules, and what happens to calls that none decides. Without
    /// any, the approver decides about all of them.
    #[must_use]
    pub fn permissions(mut self, permissions: Permissions) -> Self {
        self.permissions = permissions;
        self
    }

    /// Sets the bus that events go to.
    #[must_use]
    pub fn bus(mut self, bus: Bus) -> Self {
        self.bus = bus;
        self
    }

    /// Sets the limits of calls.
    #[must_use]
    pub const fn limits(mut self, limits: Limits) -> Self {
        self.limits = limits;
        self
    }

    /// Sets what commands may do.
    #[must_use]
    pub fn sandbox(mut self, sandbox: Sandbox) -> Self {
        self.sandbox = sandbox;
        self
    }

    /// Sets the executable that commands are started by. By default it is this
    /// program's own, if it calls [`ptk_sandbox::command::enter`].
    #[must_use]
    pub fn helper(mut self, helper: Helper) -> Self {
        self.helper = Some(helper);
        self
    }

    /// Sets which results have code in the snippet format.
    #[must_use]
    pub const fn snippet_format(mut self, format: SnippetFormat) -> Self {
        self.snippet_format = format;
        self
    }

    /// Keeps what calls are about to change, so that they can be undone.
    #[must_use]
    pub fn undo(mut self, options: ptk_undo::Options) -> Self {
        self.undo = Some(options);
        self
    }

    /// Sets the session that the calls belong to; by default a new one.
    #[must_use]
    pub fn session(mut self, id: impl Into<String>) -> Self {
        self.session = Some(id.into());
        self
    }

    /// Builds the [`ToolManager`].
    #[must_use]
    pub fn build(self) -> ToolManager {
        let (mut around_run, around_call): (Vec<_>, Vec<_>) = self
            .layers
            .into_iter()
            .partition(|layer| layer.around() == Around::Run);
        around_run.push(Arc::new(Retries::new(self.limits.retries)));
        let outputs = Arc::new(Outputs::default());
        let undo = self.undo.filter(|undo| undo.enabled).map(|options| {
            let session = self.session.unwrap_or_else(new_session);
            Recorder::new(self.workspace.clone(), options, session)
        });
        for (name, effects) in EFFECTS {
            self.permissions.know(name, *effects);
        }
        for tool in self.registry.iter() {
            self.permissions.know(&tool.spec().name, tool.effects());
        }
        let services = Services::new(
            self.workspace,
            self.helper,
            &self.sandbox,
            outputs,
            self.snippet_format,
        )
        .reviewed(self.is_reviewed)
        .with_undo(undo)
        .withholding(self.permissions.withheld())
        .guarding(self.permissions.guarded());
        ToolManager {
            inner: Arc::new(Shared {
                registry: RwLock::new(Arc::new(self.registry)),
                around_call,
                around_run,
                approver: self.approver,
                permissions: self.permissions,
                bus: self.bus,
                services: Arc::new(services),
                conversation: Conversation::new(),
                statistics: Statistics::default(),
                running: Semaphore::new(self.limits.concurrency.max(1)),
                limits: self.limits,
            }),
        }
    }
}

impl ToolManager {
    /// A builder for the tools of this workspace.
    #[must_use]
    pub fn builder(workspace: Workspace) -> ToolManagerBuilder {
        ToolManagerBuilder {
            workspace,
            registry: Registry::new(),
            layers: Vec::new(),
            approver: Arc::new(DenyAll::default()),
            permissions: Permissions::default(),
            bus: Bus::new(),
            limits: Limits::default(),
            helper: Helper::find(),
            sandbox: Sandbox::default(),
            snippet_format: SnippetFormat::default(),
            undo: None,
            session: None,
            is_reviewed: false,
        }
    }

    /// The registered tools as they are now.
    #[must_use]
    pub fn registry(&self) -> Arc<Registry> {
        self.inner.registry()
    }

    /// The tools as a model sees them.
    #[must_use]
    pub fn toolset(&self) -> Toolset {
        self.registry().toolset().clone()
    }

    /// Adds a tool while others run.
    ///
    /// # Errors
    ///
    /// If it is not fit for a model, or its name is taken.
    pub fn register(&self, tool: impl Tool + 'static) -> Result<(), RegistryError> {
        self.register_shared(Arc::new(tool))
    }

    /// Adds a tool that is also held elsewhere.
    ///
    /// # Errors
    ///
    /// As for [`register`](Self::register).
    pub fn register_shared(&self, tool: Arc<dyn Tool>) -> Result<(), RegistryError> {
        let mut registry = self
            .inner
            .registry
            .write()
            .unwrap_or_else(PoisonError::into_inner);
        let mut changed = Registry::clone(&registry);
        let (name, effects) = (tool.spec().name.clone(), tool.effects());
        changed.register_shared(tool)?;
        self.inner.permissions.know(&name, effects);
        *registry = Arc::new(changed);
        Ok(())
    }

    /// Takes a tool out. Calls that run already go on.
    #[must_use]
    pub fn unregister(&self, name: &str) -> Option<Arc<dyn Tool>> {
        let mut registry = self
            .inner
            .registry
            .write()
            .unwrap_or_else(PoisonError::into_inner);
        let mut changed = Registry::clone(&registry);
        let tool = changed.unregister(name)?;
        *registry = Arc::new(changed);
        Some(tool)
    }

    /// The workspace that the tools work in.
    #[must_use]
    pub fn workspace(&self) -> &Workspace {
        &self.inner.services.workspace
    }

    /// Checks that a call is one of an existing tool, with arguments that the
    /// tool takes.
    ///
    /// # Errors
    ///
    /// What is wrong with it.
    pub fn check(&self, call: &ToolCall) -> Result<(), String> {
        pipeline::check(&self.inner, call)
    }

    /// What would become of a call, as far as that can be known without running
    /// it and without a question to the approver.
    pub async fn foresee(&self, call: ToolCall) -> Foreseen {
        pipeline::foresee(&self.inner, call).await
    }

    /// Which results have code in the snippet format.
    #[must_use]
    pub fn snippet_format(&self) -> SnippetFormat {
        self.inner.services.snippet_format
    }

    /// The bus that events go to.
    #[must_use]
    pub fn bus(&self) -> &Bus {
        &self.inner.bus
    }

    /// Outputs that were too long for a result.
    #[must_use]
    pub fn outputs(&self) -> &Arc<Outputs> {
        &self.inner.services.outputs
    }

    /// Whether there is a person who can approve calls.
    #[must_use]
    pub fn has_person(&self) -> bool {
        self.inner.approver.is_person()
    }

    /// Runs one call. It never fails: an error is a result, too.
    pub async fn execute(&self, request: CallRequest) -> CallOutcome {
        pipeline::run(&self.inner, request).await
    }

    /// Runs the calls of one reply. Those that only read run side by side, the
    /// others one after the other, each behind those that stand before it. The
    /// outcomes have the order of the calls.
    pub async fn execute_all(&self, requests: Vec<CallRequest>) -> Vec<CallOutcome> {
        let registry = self.registry();
        let is_alone = |request: &CallRequest| {
            let tool = registry.get(&request.call.name);
            tool.is_some_and(|tool| !tool.effects().is_read_only())
        };
        let mut outcomes = Vec::with_capacity(requests.len());
        let mut group = Vec::new();
        for request in requests {
            if is_alone(&request) {
                outcomes.extend(join_all(group.drain(..)).await);
                outcomes.push(self.execute(request).await);
            } else {
                group.push(self.execute(request));
            }
        }
        outcomes.extend(join_all(group).await);
        outcomes
    }

    /// Begins a new turn of the [own conversation](Self::conversation), and of
    /// what can be undone. Another conversation begins its turn
    /// [itself](Conversation::begin_turn).
    pub fn begin_turn(&self) {
        self.inner.conversation.begin_turn();
        if let Some(undo) = &self.inner.services.undo {
            undo.begin_turn();
        }
    }

    /// The conversation of calls that [name none](CallRequest::in_conversation).
    #[must_use]
    pub fn conversation(&self) -> &Conversation {
        &self.inner.conversation
    }

    /// How the tools were used, by name.
    #[must_use]
    pub fn usage(&self) -> BTreeMap<String, Usage> {
        self.inner.statistics.all()
    }
}

fn new_session() -> String {
    format!("session_{}", RequestId::new().as_uuid().simple())
}

impl std::fmt::Debug for ToolManager {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ToolManager")
            .field("tools", &self.registry())
            .field("limits", &self.inner.limits)
            .finish_non_exhaustive()
    }
}
