//! A client for the scenarios that the conformance suite of the Model Context
//! Protocol plays with clients: PTK's own, with a user who does what PTK says and
//! a model that calls every tool once. `scripts/test conformance` runs it.

#![allow(
    clippy::print_stderr,
    reason = "what it prints stands beside the results"
)]

use std::collections::{BTreeMap, HashMap};
use std::error::Error;
use std::sync::{Arc, Mutex, PoisonError};

use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use ptk_mcp::{
    Login, McpServers, Options, ServerDeclaration, ServerSandbox, ServerTool, TokenStore, login,
};
use ptk_protocol::{Arguments, ToolCall};
use ptk_sandbox::Workspace;
use ptk_tools::form::{Form, FormAnswer, FormAsker};
use ptk_tools::{AllowAll, CallRequest, Registry, Sandbox, Tool as _, ToolManager};
use serde::Deserialize;
use serde_json::{Map, Value, json};

/// The name of the server.
const SERVER: &str = "suite";
/// How often the user logs in before giving up.
const MAX_LOGINS: usize = 3;
/// How many seconds the server has for anything. The suite waits for 30.
const TIMEOUT: u64 = 10;
/// The client that the suite expects where the address of a document is its id.
const DOCUMENT: &str = "https://conformance-test.local/client-metadata.json";

/// What the suite says of a scenario.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Context {
    client_id: Option<String>,
    client_secret: Option<String>,
    #[serde(rename = "toolCalls")]
    calls: Vec<Call>,
}

/// A call that the suite wants.
#[derive(Debug, Clone, Deserialize)]
struct Call {
    name: String,
    arguments: Map<String, Value>,
}

/// A user who accepts what stands in a form.
struct Accepting;

impl FormAsker for Accepting {
    fn ask(&self, form: Form) -> BoxFuture<'_, FormAnswer> {
        let fields = form.fields.into_iter();
        let defaults = fields.filter_map(|field| Some((field.name, field.default?)));
        std::future::ready(FormAnswer::Filled(defaults.collect())).boxed()
    }
}

/// Tokens that are gone when the scenario ends.
#[derive(Default)]
struct Tokens(Mutex<HashMap<String, String>>);

impl TokenStore for Tokens {
    fn load(&self, url: &str) -> Result<Option<String>, String> {
        let tokens = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        Ok(tokens.get(url).cloned())
    }

    fn save(&self, url: &str, given: Option<&str>) -> Result<(), String> {
        let mut tokens = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match given {
            Some(given) => tokens.insert(url.to_owned(), given.to_owned()),
            None => tokens.remove(url),
        };
        Ok(())
    }

    fn lock(&self) -> Result<Box<dyn Send>, String> {
        Ok(Box::new(()))
    }
}

/// One scenario.
struct Scenario {
    declared: ServerDeclaration,
    tokens: Arc<dyn TokenStore>,
    context: Context,
    logins: usize,
}

/// How far a conversation with the server came.
enum Ended {
    /// Everything was called.
    Complete,
    /// PTK says that this command is needed.
    NeedsLogin(String),
}

impl Scenario {
    fn new(url: String) -> Result<Self, Box<dyn Error>> {
        let mut context: Context = match std::env::var("MCP_CONFORMANCE_CONTEXT") {
            Ok(text) => serde_json::from_str(&text)?,
            Err(_) => Context::default(),
        };
        if std::env::var("MCP_CONFORMANCE_SCENARIO").as_deref() == Ok("auth/basic-cimd") {
            context.client_id = Some(DOCUMENT.to_owned());
        }
        let declared = ServerDeclaration {
            url: Some(url),
            timeout: Some(TIMEOUT),
            startup_timeout: Some(TIMEOUT),
            ..ServerDeclaration::default()
        };
        declared.check()?;
        Ok(Self {
            declared,
            tokens: Arc::new(Tokens::default()),
            context,
            logins: 0,
        })
    }

    /// Talks to the server, and logs in where that is needed.
    async fn play(&mut self) -> Result<(), Box<dyn Error>> {
        loop {
            match self.talk().await? {
                Ended::Complete => return Ok(()),
                Ended::NeedsLogin(_) if self.logins == MAX_LOGINS => {
                    return Err("logging in does not help".into());
                }
                Ended::NeedsLogin(command) => self.log_in(&command).await?,
            }
        }
    }

    /// Connects, and calls the tools.
    async fn talk(&self) -> Result<Ended, Box<dyn Error>> {
        let folder = tempfile::tempdir()?;
        let options = Options {
            sandbox: ServerSandbox {
                workspace: folder.path().to_owned(),
                homes: None,
                sandbox: Sandbox::default(),
                guarded: Vec::new(),
                helper: None,
            },
            asker: Some(Arc::new(Accepting)),
            tokens: Some(Arc::clone(&self.tokens)),
        };
        let declared = BTreeMap::from([(SERVER.to_owned(), self.declared.clone())]);
        let (servers, statuses) = McpServers::connect(declared, &options).await;
        if let Some(error) = statuses.iter().find_map(|status| status.error.as_ref()) {
            eprintln!("not connected: {error}");
            return match error.login_command(SERVER) {
                Some(command) => Ok(Ended::NeedsLogin(command)),
                None => Err(error.to_string().into()),
            };
        }
        let tools = servers.tools();
        let mut registry = Registry::new();
        for tool in &tools {
            registry.register_shared(Arc::clone(tool) as Arc<dyn ptk_tools::Tool>)?;
        }
        let manager = ToolManager::builder(Workspace::open(folder.path())?)
            .tools(registry)
            .approver(AllowAll)
            .build();
        for call in self.calls(&tools) {
            let outcome = manager.execute(CallRequest::new(call)).await;
            eprintln!("{}: {:?}", outcome.tool, outcome.result);
            let advice = outcome.failure.and_then(|failure| failure.advice);
            if let Some(command) = advice.and_then(|it| login_command(&it)) {
                servers.close().await;
                return Ok(Ended::NeedsLogin(command));
            }
        }
        servers.close().await;
        Ok(Ended::Complete)
    }

    /// The calls that the suite wants, or one of each tool.
    fn calls(&self, tools: &[Arc<ServerTool>]) -> Vec<ToolCall> {
        let wanted = |name: &str| {
            let wanted = self.context.calls.iter().find(|call| call.name == name);
            wanted.map(|call| call.arguments.clone())
        };
        let calls = tools.iter().filter_map(|tool| {
            let mut args = if self.context.calls.is_empty() {
                sample(tool, tools)
            } else {
                wanted(tool.remote_name())?
            };
            // No tool here takes null: it stands for an argument that is not given.
            args.retain(|_, value| !value.is_null());
            Some(ToolCall::new(
                tool.spec().name.clone(),
                Arguments::from(args),
            ))
        });
        calls.collect()
    }

    /// Does what PTK says, as a user with a browser would.
    async fn log_in(&mut self, command: &str) -> Result<(), Box<dyn Error>> {
        eprintln!("$ {command}");
        self.logins += 1;
        let scopes = command.split_once(" --scopes ").map(|(_, scopes)| scopes);
        let scopes: Vec<String> = scopes
            .into_iter()
            .flat_map(|scopes| scopes.split(','))
            .map(str::to_owned)
            .collect();
        let open = |address: &str| drop(tokio::spawn(browse(address.to_owned())));
        let how = Login {
            client_id: self.context.client_id.as_deref(),
            client_secret: self.context.client_secret.as_deref(),
            scopes: &scopes,
            open: &open,
        };
        let done = login(&self.declared, Arc::clone(&self.tokens), how);
        // The suite never refuses a user silently.
        tokio::time::timeout(std::time::Duration::from_secs(TIMEOUT), done).await??;
        Ok(())
    }
}

/// A user's browser, which comes back at once.
async fn browse(address: String) {
    if let Err(error) = reqwest::get(address).await {
        eprintln!("the browser: {error}");
    }
}

/// The command for a login in a piece of advice.
fn login_command(advice: &str) -> Option<String> {
    let command = advice.strip_prefix("To log in: ")?;
    Some(command.to_owned())
}

/// Arguments for a tool.
fn sample(tool: &ServerTool, tools: &[Arc<ServerTool>]) -> Map<String, Value> {
    let parameters = &tool.spec().parameters;
    let required = parameters.get("required").and_then(Value::as_array);
    let names = required.into_iter().flatten().filter_map(Value::as_str);
    let values = names.map(|name| {
        let kind = parameters
            .get("properties")
            .and_then(|it| it.get(name)?.get("type"));
        let value = match kind.and_then(Value::as_str) {
            Some("integer" | "number") => json!(1),
            Some("boolean") => json!(true),
            // The one tool with such a parameter wants the schema of another.
            Some("object") => tools
                .iter()
                .find(|other| other.remote_name() != tool.remote_name())
                .map_or_else(|| json!({}), |other| other.spec().parameters.clone()),
            _ => json!("test"),
        };
        (name.to_owned(), value)
    });
    values.collect()
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let url = std::env::args().next_back().unwrap_or_default();
    Scenario::new(url)?.play().await
}
