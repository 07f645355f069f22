//! Servers that are connected.

mod offered;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use anyhow::Result;
use ptk::RunOptions;
use ptk::llm::http::KeyFile;
use ptk_mcp::{McpServers, Offers, Options, ServerSandbox, ServerStatus, TokenStore};
use ptk_sandbox::command::Helper;
use ptk_sandbox::state_folder;
use ptk_tools::form::FormAsker;
use ptk_tools::{Tool as _, ToolManager};
use tokio::sync::OnceCell;

use crate::args::SandboxArgs;
use crate::config::{Settings, Standing, Tools};
use crate::exit;
use crate::permissions;
use crate::view::Screen;
use crate::view::clean::in_line;

/// How long connecting takes until it is told.
const TOLD: Duration = Duration::from_secs(2);
/// Stands between the name of a server and that of its tool.
const SEPARATOR: &str = "__";
/// The folder in the state folder with the homes of servers.
const HOMES: &str = "mcp";

/// The servers of a run.
#[derive(Default)]
pub(crate) struct Servers {
    all: McpServers,
    statuses: Vec<ServerStatus>,
    /// Whether the user has named the tools, so that no others are added.
    is_chosen: bool,
    /// The tools of the servers that are registered.
    registered: Mutex<BTreeSet<String>>,
    /// The prompts and resources of the servers, once they were listed.
    offers: OnceCell<Offers>,
    /// Asks the user what a prompt has to be told.
    asker: Option<Arc<dyn FormAsker>>,
}

/// How the servers of a workspace are connected to.
pub(crate) fn options(
    settings: &Settings,
    sandbox: &SandboxArgs,
    asker: Option<Arc<dyn FormAsker>>,
) -> Result<Options> {
    let rules = permissions::for_tools(settings.permissions()?, None, &Screen::default());
    let workspace = settings.folder();
    let workspace = workspace
        .canonicalize()
        .unwrap_or_else(|_| workspace.to_owned());
    Ok(Options {
        sandbox: ServerSandbox {
            workspace,
            homes: state_folder().map(|folder| folder.join(HOMES)),
            sandbox: settings.sandbox(sandbox)?,
            guarded: rules.guarded().to_vec(),
            helper: Helper::find(),
        },
        asker,
        tokens: tokens(),
    })
}

/// Where the tokens of logins are kept: in the key file, under the addresses of
/// the servers.
pub(crate) fn tokens() -> Option<Arc<dyn TokenStore>> {
    KeyFile::of_user().map(|file| Arc::new(Tokens(file)) as Arc<dyn TokenStore>)
}

/// Tokens in the key file.
struct Tokens(KeyFile);

impl Tokens {
    fn name(url: &str) -> String {
        format!("mcp {url}")
    }
}

impl TokenStore for Tokens {
    fn load(&self, url: &str) -> Result<Option<String>, String> {
        let tokens = self.0.secret(&Self::name(url));
        tokens.map_err(|error| error.to_string())
    }

    fn save(&self, url: &str, tokens: Option<&str>) -> Result<(), String> {
        let saved = self.0.set_secret(&Self::name(url), tokens);
        saved.map_err(|error| error.to_string())
    }

    fn lock(&self) -> Result<Box<dyn Send>, String> {
        let path = self.0.path().with_file_name("mcp-login.lock");
        let lock = ptk_sandbox::create_private(&path).and_then(|file| {
            file.lock()?;
            Ok(file)
        });
        let failed = |error| format!("cannot lock {}: {error}", path.display());
        Ok(Box::new(lock.map_err(failed)?))
    }
}

impl Servers {
    /// Connects to the servers that count, at the same time. With the names of
    /// the tools that are wanted, only to those that have one of them. What they
    /// want to know, the asker asks the user.
    pub(crate) async fn connect(
        settings: &Settings,
        sandbox: &SandboxArgs,
        wanted: Option<&[String]>,
        asker: Option<Arc<dyn FormAsker>>,
    ) -> Result<Self> {
        let is_wanted = |server: &str| {
            let prefix = format!("{server}{SEPARATOR}");
            wanted.is_none_or(|names| names.iter().any(|name| name.starts_with(&prefix)))
        };
        if wanted.is_some_and(|names| !names.iter().any(|name| name.contains(SEPARATOR))) {
            return Ok(Self::default());
        }
        let configured = settings.servers()?.into_iter();
        let used = configured.filter(|it| it.standing == Standing::Used);
        let declarations: BTreeMap<_, _> = used
            .filter(|it| is_wanted(&it.name))
            .map(|it| (it.name, it.declared))
            .collect();
        if declarations.is_empty() {
            return Ok(Self::default());
        }
        let names: Vec<&str> = declarations.keys().map(String::as_str).collect();
        let told = format!("Connecting to MCP servers: {}", names.join(", "));
        let options = options(settings, sandbox, asker.clone())?;
        let connecting = McpServers::connect(declarations, &options);
        tokio::pin!(connecting);
        let soon = tokio::time::timeout(TOLD, &mut connecting).await;
        let (servers, statuses) = if let Ok(connected) = soon {
            connected
        } else {
            exit::note(&told);
            connecting.await
        };
        Ok(Self {
            all: servers,
            statuses,
            is_chosen: wanted.is_some(),
            registered: Mutex::default(),
            offers: OnceCell::new(),
            asker,
        })
    }

    /// Adds the tools of the servers.
    pub(crate) fn add_to(&self, tools: &mut Tools) {
        for tool in self.all.tools() {
            let name = tool.spec().name.clone();
            // The names of servers and tools were checked before.
            if tools.registry.register_shared(tool).is_ok() {
                self.registered().insert(name.clone());
                tools.of_servers.push(name);
            }
        }
    }

    /// What users have to know about the servers.
    pub(crate) fn notes(&self) -> Vec<String> {
        self.statuses.iter().filter_map(note).collect()
    }

    fn registered(&self) -> MutexGuard<'_, BTreeSet<String>> {
        self.registered
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    /// Asks the servers whether their tools have changed, and changes what is
    /// offered accordingly. A tool that the user has left out stays out.
    pub(crate) async fn refresh(&self, manager: &ToolManager, options: &mut RunOptions) {
        let asked = self.all.refresh();
        let is_changed = options.cancel.run_until_cancelled(asked).await;
        if is_changed != Some(true) {
            return;
        }
        let before = std::mem::take(&mut *self.registered());
        for name in &before {
            drop(manager.unregister(name));
        }
        let mut now = BTreeSet::new();
        for tool in self.all.tools() {
            let name = tool.spec().name.clone();
            // One that cannot be registered is not offered.
            if manager.register_shared(tool).is_ok() {
                now.insert(name);
            }
        }
        if let Some(offered) = &mut options.tools {
            offered.retain(|name| !before.contains(name) || now.contains(name));
            if !self.is_chosen {
                offered.extend(now.difference(&before).cloned());
            }
        }
        *self.registered() = now;
    }

    /// Ends the servers.
    pub(crate) async fn close(&self) {
        self.all.close().await;
    }
}

/// What users have to know about a server.
fn note(status: &ServerStatus) -> Option<String> {
    let name = &status.name;
    if let Some(error) = &status.error {
        let told = in_line(&error.to_string());
        let next = match error.login_command(name) {
            Some(command) => format!("`{command}` opens it in your browser."),
            None => format!("`ptk mcp test {name}` tries it."),
        };
        return Some(format!("The MCP server {name} is not used: {told}. {next}"));
    }
    let first = status.quarantined.first()?;
    let (tool, reason) = (in_line(&first.name), in_line(&first.reason));
    let more = match status.quarantined.len() - 1 {
        0 => String::new(),
        more => format!(" {more} more cannot be used; `ptk mcp test {name}` lists them."),
    };
    Some(format!(
        "The tool {tool} of the MCP server {name} cannot be used: {reason}.{more}"
    ))
}
