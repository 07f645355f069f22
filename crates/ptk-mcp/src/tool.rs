//! A tool of a server.

use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;
use ptk_protocol::{Arguments, ToolSpec};
use ptk_tools::{CallContext, Class, Effects, Fields, Plan, Tool, ToolError};
use serde_json::Value;

use crate::listing::ListedTool;
use crate::server::{CallError, Server};
use crate::{McpError, content};

/// How many characters of a hash stand for what is approved.
const DECLARED: usize = 32;

/// A tool of a server, which runs through the pipeline like any other.
pub struct ServerTool {
    server: Arc<Server>,
    listed: ListedTool,
    effects: Effects,
    /// The server and what it says of the tool, in short. What a person allows
    /// for longer is just this.
    declared: String,
}

impl ServerTool {
    pub(crate) fn new(server: Arc<Server>, listed: ListedTool) -> Self {
        let text = format!("{:?}\n{}", server.declared, listed.fingerprint);
        let hash = blake3::hash(text.as_bytes()).to_hex();
        Self {
            effects: server.declared.effects_of(&listed.name),
            declared: hash.chars().take(DECLARED).collect(),
            server,
            listed,
        }
    }

    /// The server, by the user's name for it.
    #[must_use]
    pub fn server(&self) -> &str {
        &self.server.name
    }

    /// The tool's name at the server.
    #[must_use]
    pub fn remote_name(&self) -> &str {
        &self.listed.name
    }

    async fn call(&self, context: &CallContext, args: Arguments) -> Result<Fields, ToolError> {
        let (name, args) = (&self.listed.name, args.as_map().clone());
        let answer = self
            .server
            .call(context, name, &self.listed.fingerprint, args);
        match answer.await {
            Ok(answer) => content::fields(context, &answer),
            Err(error) => Err(self.failure(&error)),
        }
    }

    /// The failure of a call.
    fn failure(&self, error: &CallError) -> ToolError {
        let server = &self.server.name;
        let message = format!("The MCP server {server}: {error}");
        let error = match error {
            CallError::Gone => {
                return ToolError::system(message).suggest("Go on without this tool.");
            }
            CallError::Changed => {
                return ToolError::system(message).suggest(
                    "It was not called. From the next turn on, it is offered as it is now.",
                );
            }
            CallError::Server(error) => error,
        };
        let login_error = |message: String, suggestion: &str| {
            let failed = ToolError::permission(message).suggest(suggestion);
            match error.login_command(server) {
                Some(command) => failed.advise(format!("To log in: {command}")),
                None => failed,
            }
        };
        match error {
            McpError::Refused { .. } => ToolError::user(message)
                .suggest("Read what it says, and call with other arguments."),
            McpError::Unauthorized { .. } => {
                login_error(message, "Tell the user that this server wants a login.")
            }
            McpError::InsufficientScope { .. } => login_error(
                message,
                "Nothing was done. Tell the user that this server wants a login that allows more.",
            ),
            error if error.may_have_run() => {
                let told = ToolError::system(message).suggest(
                    "It may have done what it was asked to. Look at what it left before you call it again.",
                );
                if matches!(error, McpError::Closed { .. }) && self.effects.is_read_only() {
                    told.transient()
                } else {
                    told
                }
            }
            _ => ToolError::system(message)
                .suggest("Nothing was done. Go on without this tool, or try again later.")
                .advise(format!("`ptk mcp test {server}` shows what is wrong.")),
        }
    }
}

impl Tool for ServerTool {
    fn spec(&self) -> &ToolSpec {
        &self.listed.spec
    }

    fn effects(&self) -> Effects {
        self.effects
    }

    fn class(&self) -> Class {
        Class::Background
    }

    fn is_deferrable(&self) -> bool {
        true
    }

    fn timeout(&self, _args: &Arguments) -> Option<Duration> {
        Some(self.server.declared.max_time())
    }

    fn plan(&self, _context: &CallContext, args: &Arguments) -> Result<Plan, ToolError> {
        let (server, tool) = (&self.server.name, &self.listed.name);
        let args = Value::Object(args.as_map().clone());
        let args = serde_json::to_string_pretty(&args).unwrap_or_default();
        let hint = if self.listed.says_read_only {
            "\n\nThe server says that this tool changes nothing."
        } else {
            ""
        };
        Ok(Plan {
            summary: format!("The MCP server {server} runs {tool} with\n{args}{hint}"),
            declared: Some(self.declared.clone()),
            unknown: self.effects.on_files(),
            ..Plan::default()
        })
    }

    fn run<'a>(
        &'a self,
        context: &'a CallContext,
        args: Arguments,
    ) -> BoxFuture<'a, Result<Fields, ToolError>> {
        Box::pin(self.call(context, args))
    }
}

impl std::fmt::Debug for ServerTool {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ServerTool")
            .field("server", &self.server.name)
            .field("tool", &self.listed.name)
            .finish_non_exhaustive()
    }
}
