//! Builds an agent, a model with tools, from flags, variables, configuration
//! and, for a session that is continued, the settings it was started with.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Result, anyhow};
use ptk::events::{Bus, Capacities};
use ptk::llm::{FileMemory, Provider, Sampling};
use ptk::model::Model;
use ptk::protocol::dialects;
use ptk::sandbox::Workspace;
use ptk::store::{EntryKind, HelperTask, Overview, SessionId, SqliteStore, Store, Stretch};
use ptk::tools::form::FormAsker;
use ptk::tools::{Approver, ToolManager, tools};
use ptk::{CallPolicy, Compaction, DeferTools, PROTOCOL_RETRIES, Ptk, RunOptions, SmallModel};
use ptk_permission::Mode;
use ptk_protocol::Toolset;
use ptk_protocol::format::DefinitionStyle;
use ptk_protocol::schema::suggest;
use serde_json::{Map, Value, json};

use crate::args::dialects::check_read;
use crate::args::{
    AgentArgs, Approve, ModeName, ModelArgs, ReplayArgs, SandboxArgs, SessionArgs, listed_names,
};
use crate::config::{
    self, CallsName, CompactionName, MAX_ITERATIONS, MAX_TOOL_CALLS, Run, Settings, Tools,
};
use crate::exit;
use crate::mcp::Servers;
use crate::models::{Chosen, Models, Unchosen, Wanted};
use crate::provider_name::storable;
use crate::view::Screen;
use crate::{dialect_file, instructions, permissions, sessions};

/// The capacity of the event queue.
const CAPACITY: usize = 64 * 1024;
/// How long to wait for running work when ptk exits.
pub(crate) const PATIENCE: Duration = Duration::from_secs(5);
/// The file with what was learned about models, in the state folder.
pub(crate) const MEMORY: &str = "models.json";
/// The note about a model that cannot call tools.
const TOO_SMALL: &str = if cfg!(feature = "local") {
    "This model is too small to call tools, so it only talks; `ptk models pull` gets one that calls them."
} else {
    "This model is too small to call tools, so it only talks."
};
/// How many entries are read at once.
const PAGE: usize = 200;

/// Everything that a run needs.
pub(crate) struct Agent {
    pub(crate) ptk: Ptk,
    pub(crate) options: RunOptions,
    /// The display name of the model.
    pub(crate) model: String,
    /// Notes for the user, shown before the run.
    pub(crate) notes: Vec<String>,
}

/// The user interface of an agent: its screen, and who approves calls.
pub(crate) struct Face<'a> {
    pub(crate) screen: &'a Screen,
    /// Creates the approver for a workspace, with a note that is shown with
    /// each question.
    pub(crate) approver: &'a dyn Fn(PathBuf, Option<String>) -> Arc<dyn Approver>,
    /// Existing tools to reuse, if any.
    pub(crate) tools: Option<ToolManager>,
    /// Servers whose tools are offered, too.
    pub(crate) servers: &'a Servers,
}

/// The session that a run is part of.
pub(crate) struct SessionHandle {
    pub(crate) store: SqliteStore,
    pub(crate) id: SessionId,
    /// Its overview, if it is not new.
    pub(crate) known: Option<Overview>,
    /// The settings of its last turn.
    pub(crate) settings: Map<String, Value>,
    /// How many replies of a script its last turn has used.
    pub(crate) given: usize,
}

impl SessionHandle {
    /// Connects to the MCP servers that a run needs: those with tools that are
    /// named, or all of them.
    pub(crate) async fn servers(
        &self,
        args: &AgentArgs,
        settings: &Settings,
        asker: Option<Arc<dyn FormAsker>>,
    ) -> Result<Servers> {
        let named = args.tools.as_deref().map(listed_names);
        let named = named.or_else(|| listed(&self.settings, "tools"));
        let named = match named {
            None => settings.run()?.tools,
            named => named,
        };
        Servers::connect(settings, &args.sandbox, named.as_deref(), asker).await
    }

    /// The requested session: by its name or id, the last one of the workspace,
    /// or a new one.
    pub(crate) async fn wanted(args: &SessionArgs, workspace: &Path) -> Result<Self> {
        let store = sessions::open()?;
        // An empty variable counts as unset, and a flag takes precedence.
        let named = args.session.as_deref().filter(|text| !text.is_empty());
        let known = match named.filter(|_| !args.go_on) {
            Some(text) => sessions::find(&store, text).await?,
            None if args.go_on => {
                let workspace = sessions::workspace(workspace)?;
                let last = sessions::last(&store, &workspace, false).await?;
                let none =
                    || anyhow!("this workspace has no session to continue; leave out --continue");
                Some(last.ok_or_else(none)?)
            }
            None => None,
        };
        match (known, named) {
            (Some(known), _) => Self::here(store, known, workspace).await,
            (None, named) => Ok(Self {
                id: named.map_or_else(|| Ok(SessionId::new()), str::parse)?,
                store,
                known: None,
                settings: Map::new(),
                given: 0,
            }),
        }
    }

    /// An existing session, which must belong to this workspace.
    pub(crate) async fn here(
        store: SqliteStore,
        known: Overview,
        workspace: &Path,
    ) -> Result<Self> {
        sessions::check_place(&known, workspace)?;
        Self::known(store, known).await
    }

    /// An existing session.
    pub(crate) async fn known(store: SqliteStore, known: Overview) -> Result<Self> {
        let (recorded, given) = last_turn(&store, &known.id).await?;
        // Settings in another user's database were not chosen by this user.
        let settings = if sessions::is_foreign()? {
            Map::new()
        } else {
            recorded
        };
        Ok(Self {
            id: known.id.clone(),
            store,
            known: Some(known),
            settings,
            given,
        })
    }
}

/// The settings of a run, from all sources.
struct Choices {
    provider: Option<String>,
    /// Whether the provider was given by a flag, so that the model is not a
    /// configured name.
    is_plain: bool,
    model: Option<String>,
    mode: Option<ModeName>,
    dialect: Option<String>,
    tools: Option<Vec<String>>,
    /// The tools of the last turn.
    recorded: Option<Vec<String>>,
    /// The tools that the user named, now or for the last turn.
    pinned: Vec<String>,
    run: Run,
}

impl Choices {
    /// Combines flags, then the settings of the last turn, then configuration
    /// files.
    fn of(args: &AgentArgs, settings: &Map<String, Value>, run: Run) -> Self {
        let text = |name: &str| {
            let value = settings.get(name).and_then(Value::as_str);
            value.map(str::to_owned)
        };
        let number = |name: &str| {
            let value = settings.get(name).and_then(Value::as_u64)?;
            u32::try_from(value).ok()
        };
        let given = args.tools.as_deref().map(listed_names);
        let said = |text: &Option<String>| text.clone().filter(|text| !text.is_empty());
        let provider = said(&args.model.provider);
        // The recorded model belongs to another provider.
        let recorded = text("model").filter(|_| provider.is_none());
        Self {
            is_plain: provider.is_some(),
            mode: args.mode,
            provider: provider
                .or_else(|| text("provider"))
                .or_else(|| run.provider.clone()),
            model: said(&args.model.model)
                .or(recorded)
                .or_else(|| run.model.clone()),
            dialect: said(&args.dialect)
                .or_else(|| text("dialect"))
                .or_else(|| run.dialect.clone()),
            pinned: given
                .clone()
                .or_else(|| listed(settings, "pinned_tools"))
                .unwrap_or_default(),
            tools: given,
            recorded: listed(settings, "tools"),
            run: Run {
                temperature: args.temperature.or(run.temperature),
                corrections: args.strict.then_some(0).or(run.corrections),
                max_iterations: args
                    .max_iterations
                    .or_else(|| number("max_iterations"))
                    .or(run.max_iterations),
                max_tool_calls: args
                    .max_tool_calls
                    .or_else(|| number("max_tool_calls"))
                    .or(run.max_tool_calls),
                ..run
            },
        }
    }

    /// The model with the settings of runs that have precedence over its own.
    fn adapted(&self, mut model: Model) -> Model {
        let run = &self.run;
        let own = model.sampling;
        model.sampling = Sampling {
            temperature: run.temperature.or(own.temperature),
            top_p: run.top_p.or(own.top_p),
            top_k: run.top_k.or(own.top_k),
            seed: run.seed.or(own.seed),
        };
        let style = run.prompt_style.map(DefinitionStyle::from);
        model.definitions = style.or(model.definitions);
        model
    }

    /// The settings that are logged with the turn, for those that continue it.
    fn to_record(&self, provider: Option<&str>, options: &RunOptions) -> Map<String, Value> {
        let recorded = json!({
            "provider": provider.map(storable),
            "model": self.model,
            "dialect": self.dialect,
            "tools": options.tools,
            "max_iterations": options.max_iterations,
            "max_tool_calls": options.max_tool_calls,
        });
        let mut recorded = recorded.as_object().cloned().unwrap_or_default();
        if !options.pinned_tools.is_empty() {
            recorded.insert("pinned_tools".to_owned(), json!(options.pinned_tools));
        }
        recorded
    }

    fn options(&self, args: &AgentArgs, tools: Vec<String>) -> RunOptions {
        let run = &self.run;
        RunOptions {
            tools: Some(tools),
            defer_tools: run.defer_tools.map(DeferTools::from).unwrap_or_default(),
            pinned_tools: self.pinned.clone(),
            max_iterations: run.max_iterations.unwrap_or(MAX_ITERATIONS),
            max_tool_calls: run.max_tool_calls.unwrap_or(MAX_TOOL_CALLS),
            timeout: args.timeout.or(run.timeout),
            mode: self.mode.map_or(ptk::Mode::Auto, ptk::Mode::from),
            context_window: run.context_window,
            compaction: match run.compaction {
                Some(CompactionName::Summarise) => Compaction::Summarise,
                Some(CompactionName::Drop) | None => Compaction::Drop,
            },
            calls: match run.calls {
                Some(CallsName::First) => CallPolicy::FirstOnly,
                Some(CallsName::All) | None => CallPolicy::All,
            },
            protocol_retries: run.corrections.unwrap_or(PROTOCOL_RETRIES),
            ..RunOptions::default()
        }
    }
}

/// The settings, tools and dialects of a workspace.
struct WorkspaceContext<'a> {
    settings: &'a Settings,
    tools: Tools,
    dialects: dialects::Registry,
}

impl<'a> WorkspaceContext<'a> {
    fn of(settings: &'a Settings) -> Result<Self> {
        Ok(Self {
            tools: settings.tools()?,
            dialects: settings.dialects_to_run()?,
            settings,
        })
    }

    /// The same, with the tools of MCP servers.
    fn with_servers(mut self, servers: &Servers) -> Self {
        servers.add_to(&mut self.tools);
        self
    }

    /// Adds the dialect of this name, if a model's own file describes it.
    fn add_dialect(&mut self, name: &str) -> Result<()> {
        self.dialects = dialect_file::add(self.dialects.clone(), name)?;
        Ok(())
    }

    /// Adds the dialect that is described beside the model's file, and returns
    /// its name.
    fn add_dialect_beside(
        &mut self,
        chosen: &Chosen,
        model: Option<&str>,
        notes: &mut Vec<String>,
    ) -> Result<Option<String>> {
        let Some(dialect) = dialect_beside(chosen, model) else {
            return Ok(None);
        };
        self.add_dialect(&dialect)?;
        notes.push(format!(
            "Replies are read by {dialect}, which stands beside the model."
        ));
        Ok(Some(dialect))
    }

    /// A note about settings that are ignored, if there are any.
    fn ignored(&self) -> Result<Option<String>> {
        self.settings.note(|_| true)
    }

    /// The helper model, if one is configured.
    fn helper(&self, named: &Models<'_>) -> Result<Option<SmallModel>> {
        let Some(helper) = self.settings.helper()? else {
            return Ok(None);
        };
        let wanted = Wanted {
            provider: None,
            is_plain: false,
            model: Some(&helper.model),
            unchosen: Unchosen::Refuse,
            screen: None,
        };
        let small = named.choose(wanted, 0, None)?;
        Ok(Some(helper.of(small.model)))
    }

    /// Splits tool names into those that exist and those that do not.
    fn still_there(&self, names: &[String]) -> (Vec<String>, Vec<String>) {
        let is_there = |name: &String| self.tools.registry.get(name).is_some();
        names.iter().cloned().partition(is_there)
    }

    /// The names of the tools that a run is offered: the chosen ones, those of
    /// the last turn that are still there, or those of the configuration.
    fn chosen_tools(&self, choices: &Choices, notes: &mut Vec<String>) -> Result<Vec<String>> {
        let recorded = choices.recorded.as_deref();
        let (there, gone) = self.still_there(recorded.unwrap_or_default());
        if !gone.is_empty() && choices.tools.is_none() {
            notes.push(format!(
                "No longer there, and left out: {}.",
                gone.join(", ")
            ));
        }
        let chosen = (choices.tools.as_deref())
            .or(recorded.map(|_| there.as_slice()))
            .or(choices.run.tools.as_deref());
        self.offered(chosen)
    }

    /// The names of the offered tools: the default ones and the declared ones,
    /// unless others are chosen. A tool is offered together with the tools that
    /// belong to it.
    fn offered(&self, chosen: Option<&[String]>) -> Result<Vec<String>> {
        let all: Vec<&str> = self.tools.registry.toolset().names().collect();
        let unknown = chosen.unwrap_or_default();
        if let Some(name) = unknown.iter().find(|name| !all.contains(&name.as_str())) {
            let near = suggest::nearest(name, all.iter().copied());
            let near = near.map_or_else(
                || "see `ptk tools list`".to_owned(),
                |near| format!("did you mean `{near}`?"),
            );
            return Err(exit::wrong_usage(format!("unknown tool `{name}`; {near}")));
        }
        let is_added = |name: &str| {
            let mut added = self.tools.declared.iter().chain(&self.tools.of_servers);
            tools::DEFAULT.contains(&name) || added.any(|it| it == name)
        };
        let is_chosen = |name: &str| {
            chosen.map_or_else(
                || is_added(name),
                |chosen| chosen.iter().any(|it| it == name),
            )
        };
        let is_offered =
            |name: &&str| is_chosen(name) || tools::belongs_to(name).is_some_and(is_chosen);
        let offered = all.into_iter().filter(is_offered);
        Ok(offered.map(str::to_owned).collect())
    }
}

/// The instructions of a run in a workspace, and the tools that it offers.
pub(crate) fn offer(settings: &Settings) -> Result<(String, Toolset)> {
    let ground = WorkspaceContext::of(settings)?;
    let offered = ground.offered(settings.run()?.tools.as_deref())?;
    let registry = &ground.tools.registry;
    let specs = registry.toolset().iter();
    let specs = specs.filter(|spec| offered.contains(&spec.name)).cloned();
    let tools = Toolset::new(specs.collect::<Vec<_>>())?;
    let workspace = Workspace::open(settings.folder())?;
    let subfolder = config::subfolder(workspace.root());
    let has_tools = !tools.is_empty();
    let told = instructions::of(&workspace, has_tools, subfolder.as_deref(), None);
    Ok((told.text, tools))
}

impl Agent {
    /// Builds the agent. The first `given` replies of a script are skipped.
    pub(crate) fn new(
        args: &AgentArgs,
        settings: &Settings,
        handle: &SessionHandle,
        given: usize,
        face: &Face<'_>,
    ) -> Result<Self> {
        let mut ground = WorkspaceContext::of(settings)?.with_servers(face.servers);
        let run = settings.run()?;
        let mut choices = Choices::of(args, &handle.settings, run);
        let mut notes = Vec::new();
        let subfolder = config::subfolder(settings.folder());
        if subfolder.is_some() {
            let root = settings.folder().display();
            notes.push(format!("Working in {root}, the project of this folder."));
        }
        notes.extend(ground.tools.remarks());
        notes.extend(face.servers.notes());
        let mut offered = ground.chosen_tools(&choices, &mut notes)?;
        if let Some(dialect) = &choices.dialect {
            ground.add_dialect(dialect)?;
            check_read(&ground.dialects, dialect)?;
        }
        let named = Models::of(settings)?;
        let ignored = ground.ignored()?;
        notes.extend(ignored.clone());
        let wanted = Wanted {
            provider: choices.provider.as_deref(),
            is_plain: choices.is_plain,
            model: choices.model.as_deref(),
            unchosen: Unchosen::OnlyService,
            screen: Some(face.screen),
        };
        let chosen = named.choose(wanted, given, ignored.as_deref())?;
        let found = chosen.found.as_ref();
        notes.extend(found.map(|found| found.note.clone()));
        let found_name = found.map(|found| found.name.clone());
        if found.is_some_and(|found| found.is_default) {
            choices.model.clone_from(&found_name);
        }
        ground.dialects = chosen.check(ground.dialects)?;
        if choices.dialect.is_none() {
            let model = choices.model.as_deref();
            choices.dialect = ground.add_dialect_beside(&chosen, model, &mut notes)?;
        }
        if chosen.model.is_too_small() && !offered.is_empty() {
            notes.push(TOO_SMALL.to_owned());
            if choices.tools.is_none() {
                offered.clear();
            }
        }
        let small = ground.helper(&named)?;
        let workspace = match &face.tools {
            Some(tools) => tools.workspace().clone(),
            None => Workspace::open(ground.settings.folder())?.with_temp()?,
        };
        let told = instructions::of(
            &workspace,
            !offered.is_empty(),
            subfolder.as_deref(),
            args.system.as_deref(),
        );
        notes.extend(told.note);
        let mut options = choices.options(args, offered);
        options.context_window = chosen.context_window.or(options.context_window);
        let model = choices.model.as_deref().or(found_name.as_deref());
        let model = told_model(chosen.provider.as_deref(), model);
        let manager = if let Some(tools) = face.tools.clone() {
            tools
        } else {
            let terms = ToolTerms {
                sandbox: &args.sandbox,
                approve: args.approve,
                review: args.review,
                session: Some(handle.id.as_str()),
            };
            manager(settings, ground.tools, terms, workspace, face)?
        };
        options.settings = choices.to_record(chosen.provider.as_deref(), &options);
        let mut builder = Ptk::builder()
            .model(choices.adapted(chosen.model))
            .tool_manager(manager)
            .dialects(ground.dialects)
            .store(Arc::new(handle.store.clone()))
            .system(told.text)
            .options(options.clone());
        if let Some(small) = small {
            builder = builder.small_model(small);
        }
        for model in chosen.fallbacks {
            builder = builder.fallback(choices.adapted(model));
        }
        if let Some(folder) = ptk_sandbox::state_folder() {
            builder = builder.memory(Arc::new(FileMemory::new(folder.join(MEMORY))));
        }
        if let Some(dialect) = choices.dialect {
            builder = builder.dialect(dialect);
        }
        Ok(Self {
            ptk: builder.build()?,
            options,
            model,
            notes,
        })
    }

    /// Builds an agent that parses and judges a session again. No model is
    /// asked, nothing is run.
    pub(crate) fn to_replay(
        args: &ReplayArgs,
        settings: &Settings,
        handle: &SessionHandle,
    ) -> Result<Self> {
        let mut ground = WorkspaceContext::of(settings)?;
        // Missing tools are reported where they were called.
        let names = listed(&handle.settings, "tools").map(|names| ground.still_there(&names).0);
        let offered = ground.offered(names.as_deref())?;
        let recorded = handle.settings.get("dialect").and_then(Value::as_str);
        let dialect = args.dialect.clone().or(recorded.map(str::to_owned));
        if let Some(dialect) = &dialect {
            ground.add_dialect(dialect)?;
            check_read(&ground.dialects, dialect)?;
        }
        let workspace = Workspace::open(ground.settings.folder())?.with_temp()?;
        let mode = args.approve.map(Mode::from);
        let permissions = permissions::for_tools(settings.permissions()?, mode, &Screen::default());
        let manager = ToolManager::builder(workspace)
            .tools(ground.tools.registry)
            .permissions(permissions)
            .build();
        let silent: Arc<dyn Provider> = Arc::new(ptk::llm::Script::new(Vec::<String>::new()));
        let options = RunOptions {
            tools: Some(offered),
            ..RunOptions::default()
        };
        let mut builder = Ptk::builder()
            .provider(silent)
            .tool_manager(manager)
            .dialects(ground.dialects)
            .store(Arc::new(handle.store.clone()))
            .options(options.clone());
        if let Some(dialect) = dialect {
            builder = builder.dialect(dialect);
        }
        Ok(Self {
            ptk: builder.build()?,
            options,
            model: String::new(),
            notes: Vec::new(),
        })
    }
}

/// Settings of the tool manager.
#[derive(Clone, Copy)]
struct ToolTerms<'a> {
    sandbox: &'a SandboxArgs,
    approve: Option<Approve>,
    review: bool,
    /// The session that changes are recorded under.
    session: Option<&'a str>,
}

fn manager(
    settings: &Settings,
    tools: Tools,
    terms: ToolTerms<'_>,
    workspace: Workspace,
    face: &Face<'_>,
) -> Result<ToolManager> {
    let here = settings.checked_permissions(&tools)?;
    let note = here.untrusted.as_ref().map(|_| {
        let name = settings.name();
        format!("{name} would allow more; `ptk permissions list` shows it, `ptk permissions trust` asks whether to trust it.")
    });
    let approver = (face.approver)(here.workspace.clone(), note);
    let mode = terms.approve.map(Mode::from);
    let limits = settings.limits()?;
    let mut builder = ToolManager::builder(workspace)
        .tools(tools.registry)
        .snippet_format(tools.snippet_format)
        .undo(settings.undo()?)
        .limits(limits.of_tools())
        .sandbox(settings.sandbox(terms.sandbox)?)
        .approver(approver)
        .review(terms.review)
        .permissions(permissions::for_tools(here, mode, face.screen))
        .bus(Bus::with_capacity(Capacities {
            realtime: CAPACITY,
            ..Capacities::default()
        }));
    if let Some(cache) = limits.cache() {
        builder = builder.layer(cache);
    }
    if let Some(session) = terms.session {
        builder = builder.session(session);
    }
    Ok(builder.build())
}

/// The display name of a model.
fn told_model(provider: Option<&str>, model: Option<&str>) -> String {
    let provider = provider.map(storable);
    // Of a long path, the end is shown.
    let provider = provider.map(|name| match name.rsplit_once('/') {
        Some((start, end)) if start.starts_with("script:") => format!("script:{end}"),
        _ => name,
    });
    match (provider, model) {
        (Some(provider), Some(model)) => format!("{provider}/{model}"),
        (Some(one), None) => one,
        (None, Some(one)) => one.to_owned(),
        (None, None) => String::new(),
    }
}

/// The tool names in a setting of a turn.
fn listed(settings: &Map<String, Value>, setting: &str) -> Option<Vec<String>> {
    let names = settings.get(setting)?.as_array()?.iter();
    Some(names.filter_map(Value::as_str).map(str::to_owned).collect())
}

/// The settings of a session's last turn, and how many replies of a script were
/// used since, successful or not.
async fn last_turn(store: &dyn Store, session: &SessionId) -> Result<(Map<String, Value>, usize)> {
    let mut given = 0;
    let mut before = u64::MAX;
    loop {
        let page = store.read(session, Stretch::before(before, PAGE)).await?;
        let Some(first) = page.first() else {
            return Ok((Map::new(), given));
        };
        before = first.seq;
        for entry in page.iter().rev() {
            match entry.kind() {
                EntryKind::ModelReplied(_) => given += 1,
                // A separate helper model has a script of its own.
                EntryKind::HelperReplied(helped) if helped.task == HelperTask::SumUp => given += 1,
                EntryKind::Failure(failure) if failure.code.is_some() => given += 1,
                EntryKind::TurnBegan(began) => return Ok((began.settings, given)),
                _ => {}
            }
        }
    }
}

/// The dialect that is described beside a local model's file.
#[cfg(feature = "local")]
fn dialect_beside(chosen: &Chosen, model: Option<&str>) -> Option<String> {
    let is_local = chosen.provider.as_deref() == Some("local");
    let file = model
        .filter(|model| is_local && Path::new(model).extension().is_some_and(|it| it == "gguf"));
    dialect_file::beside(file?)
}

/// Without local models, there is none.
#[cfg(not(feature = "local"))]
const fn dialect_beside(_: &Chosen, _: Option<&str>) -> Option<String> {
    None
}

/// The dialects that replies are parsed in.
pub(crate) fn dialects(settings: &Settings) -> Result<dialects::Registry> {
    Ok(WorkspaceContext::of(settings)?.dialects)
}

/// Which tools a server runs for its clients, and on what terms.
pub(crate) struct HostedToolSettings<'a> {
    /// The names of the tools; those that a run is offered if none are named.
    pub(crate) names: Option<&'a [String]>,
    pub(crate) approve: Option<Approve>,
    pub(crate) sandbox: &'a SandboxArgs,
    /// Decides about calls that no rule decides.
    pub(crate) approver: Arc<dyn Approver>,
}

/// The tools that a server runs for its clients, and their names.
pub(crate) fn hosted(
    wanted: &HostedToolSettings<'_>,
    settings: &Settings,
    servers: &Servers,
) -> Result<(ToolManager, Vec<String>)> {
    let ground = WorkspaceContext::of(settings)?.with_servers(servers);
    let offered = ground.offered(wanted.names)?;
    let workspace = Workspace::open(ground.settings.folder())?.with_temp()?;
    let screen = Screen::default();
    let face = Face {
        screen: &screen,
        approver: &|_, _| Arc::clone(&wanted.approver),
        tools: None,
        servers,
    };
    let terms = ToolTerms {
        sandbox: wanted.sandbox,
        approve: wanted.approve,
        review: false,
        session: None,
    };
    let manager = manager(settings, ground.tools, terms, workspace, &face)?;
    Ok((manager, offered))
}

/// The model chosen by flags and configuration, without a session. A note on
/// stderr names a model that PTK chose itself.
pub(crate) fn chosen(args: &ModelArgs, settings: &Settings, unchosen: Unchosen) -> Result<Chosen> {
    let ground = WorkspaceContext::of(settings)?;
    let run = settings.run()?;
    let named = Models::of(settings)?;
    let said = |text: &Option<String>| text.clone().filter(|text| !text.is_empty());
    let provider = said(&args.provider);
    let is_plain = provider.is_some();
    let (provider, model) = (provider.or(run.provider), said(&args.model).or(run.model));
    let wanted = Wanted {
        provider: provider.as_deref(),
        is_plain,
        model: model.as_deref(),
        unchosen,
        screen: None,
    };
    let chosen = named.choose(wanted, 0, ground.ignored()?.as_deref())?;
    if let Some(found) = &chosen.found {
        exit::note(&found.note);
    }
    Ok(chosen)
}
