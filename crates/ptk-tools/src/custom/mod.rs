//! Tools from configuration: a command or an HTTP endpoint with a
//! JSON Schema. They run through the same pipeline as the built-in ones.

mod command;
mod http;
mod schema;
mod template;

use std::time::Duration;

use ptk_protocol::ToolSpec;
use serde::Deserialize;
use serde_json::{Value, json};

pub use http::Method;
pub use schema::SchemaFault;

use crate::custom::command::CommandTool;
use crate::custom::http::HttpTool;
use crate::custom::template::Template;
use crate::signature::in_short;
use crate::{Effect, Effects, Tool};

/// How long a tool may take by default, in seconds.
const DEFAULT_TIMEOUT: u64 = 30;
/// How long a tool may take at most, in seconds.
const MAX_TIMEOUT: u64 = 3_600;

/// A tool as it stands in `ptk.toml`, under `[[tools]]`.
///
/// ```
/// use ptk_tools::custom::Declaration;
///
/// let declared: Declaration = serde_json::from_str(r#"{
///     "name": "count_words",
///     "description": "Count the words of a file",
///     "parameters": {"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]},
///     "command": ["wc", "-w", "{path}"],
///     "effects": ["read"]
/// }"#)?;
/// let tool = declared.into_tool()?;
/// assert_eq!(tool.spec().name, "count_words");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Declaration {
    /// The name a call uses.
    pub name: String,
    /// What it does, for the model.
    pub description: String,
    /// The JSON Schema of its arguments.
    #[serde(default = "no_parameters")]
    pub parameters: Value,
    /// A program and its arguments. `{name}` stands for an argument of the
    /// call; an entry whose argument was not given is left out. `{{name}}` is
    /// the text `{name}`.
    #[serde(default)]
    pub command: Vec<String>,
    /// The address of an endpoint. `{name}` stands for an argument of the call.
    pub url: Option<String>,
    /// The HTTP method of the endpoint.
    pub method: Option<Method>,
    /// Headers of the request. `$NAME` stands for a variable of the
    /// environment, so that secrets need not stand in the file.
    #[serde(default)]
    pub headers: Vec<(String, String)>,
    /// What it may do besides running a program or using the network. By
    /// default, a command may do everything. One with only `read`, or nothing,
    /// counts as a tool that reads: it runs in a sandbox in which it can write
    /// nothing.
    pub effects: Option<Vec<Effect>>,
    /// The parameters that are paths of files which the command reads. Without
    /// it, it may read any file.
    pub reads: Option<Vec<String>>,
    /// The parameters that are paths of files which the command writes. Without
    /// it, and unless `effects` leaves out `write`, it may write any file.
    pub writes: Option<Vec<String>>,
    /// How long it may take, in seconds.
    pub timeout: Option<u64>,
}

fn no_parameters() -> Value {
    json!({"type": "object", "properties": {}})
}

/// What is wrong with a declaration.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum DeclarationError {
    /// There is neither a command nor an endpoint.
    #[error("the tool `{0}` has neither `command` nor `url`; give it one of them")]
    Nothing(String),
    /// There are both a command and an endpoint.
    #[error("the tool `{0}` has both `command` and `url`; keep one of them")]
    Both(String),
    /// A placeholder that is not a parameter.
    #[error("the tool `{tool}` uses {{{placeholder}}}, but has no such parameter{known}")]
    Placeholder {
        /// The tool.
        tool: String,
        /// The name between the braces.
        placeholder: String,
        /// The parameters that exist, as a part of the sentence.
        known: String,
    },
    /// A key of endpoints beside a command.
    #[error(
        "the tool `{tool}` has `{key}` beside `command`; `{key}` belongs to a tool with `url`. Take it out"
    )]
    Stray {
        /// The tool.
        tool: String,
        /// The key.
        key: &'static str,
    },
    /// A path that is not a parameter.
    #[error("the tool `{tool}` names `{name}` in `{key}`, but has no such parameter{known}")]
    Path {
        /// The tool.
        tool: String,
        /// `reads` or `writes`.
        key: &'static str,
        /// The name.
        name: String,
        /// The parameters that exist, as a part of the sentence.
        known: String,
    },
    /// A key of commands beside an endpoint.
    #[error(
        "the tool `{tool}` has `{key}` beside `url`; an endpoint is given no files. Take it out"
    )]
    NoFiles {
        /// The tool.
        tool: String,
        /// The key.
        key: &'static str,
    },
    /// A placeholder in the program: a model could choose what is run.
    #[error(
        "the tool `{tool}` has {{{placeholder}}} in its program, the first entry of `command`; a model must not choose what is run. Write the program's name there"
    )]
    Program {
        /// The tool.
        tool: String,
        /// The name between the braces.
        placeholder: String,
    },
    /// Parameters that are not a JSON Schema.
    #[error("the tool `{tool}`: {fault}")]
    Schema {
        /// The tool.
        tool: String,
        /// What is wrong, and where.
        fault: SchemaFault,
    },
    /// An address that is not a valid URL.
    #[error("the `url` of the tool `{tool}` cannot be used: {reason}")]
    Url {
        /// The tool.
        tool: String,
        /// Why it cannot be used.
        reason: String,
    },
    /// A timeout that is out of range.
    #[error("the `timeout` of the tool `{0}` is {1} s; it may be 1 to {MAX_TIMEOUT}")]
    Timeout(String, u64),
}

impl Declaration {
    /// The tool that is declared.
    ///
    /// # Errors
    ///
    /// If the declaration is invalid.
    pub fn into_tool(self) -> Result<Box<dyn Tool>, DeclarationError> {
        let declared = in_short(&self);
        let seconds = self.timeout.unwrap_or(DEFAULT_TIMEOUT);
        if seconds == 0 || seconds > MAX_TIMEOUT {
            return Err(DeclarationError::Timeout(self.name, seconds));
        }
        let timeout = Duration::from_secs(seconds);
        if let Err(fault) = schema::check(&self.parameters) {
            let tool = self.name;
            return Err(DeclarationError::Schema { tool, fault });
        }
        let only_reads = self.only_reads();
        let stray = self.of_endpoints();
        let of_commands = self.of_commands();
        let spec = ToolSpec::new(&self.name, &self.description, self.parameters);
        let reads = paths(&spec, "reads", self.reads)?;
        let writes = paths(&spec, "writes", self.writes)?;
        let effects = self.effects.map(Effects::from_iter);
        let templates = |texts: &[String]| -> Result<Vec<Template>, DeclarationError> {
            texts.iter().map(|text| template(&spec, text)).collect()
        };
        match (self.command.as_slice(), self.url) {
            ([], None) => Err(DeclarationError::Nothing(self.name)),
            ([_, ..], Some(_)) => Err(DeclarationError::Both(self.name)),
            (command, None) => {
                if let Some(key) = stray {
                    let tool = self.name;
                    return Err(DeclarationError::Stray { tool, key });
                }
                let effects = effects.unwrap_or(Effects::ALL);
                // The sandbox holds one that only reads to that.
                let effects = if only_reads {
                    effects
                } else {
                    effects | Effects::EXECUTE
                };
                Ok(Box::new(CommandTool {
                    command: fixed_program(&spec, templates(command)?)?,
                    effects,
                    reads,
                    writes,
                    timeout,
                    declared,
                    spec,
                }))
            }
            ([], Some(url)) => {
                if let Some(key) = of_commands {
                    let tool = self.name;
                    return Err(DeclarationError::NoFiles { tool, key });
                }
                let url = template(&spec, &url)?;
                let effects = effects.unwrap_or_default() | Effects::NETWORK;
                let method = self.method.unwrap_or_default();
                let tool = HttpTool::new(spec, url, method, self.headers, effects, timeout);
                let mut tool = tool.map_err(|reason| DeclarationError::Url {
                    tool: self.name,
                    reason,
                })?;
                tool.declared = declared;
                Ok(Box::new(tool))
            }
        }
    }
}

impl Declaration {
    /// What the tool does, for the user who is to trust it.
    #[must_use]
    pub fn told(&self) -> String {
        if let Some(url) = &self.url {
            let variables = http::variables(&self.headers);
            let sent = if variables.is_empty() { "" } else { ", sends " };
            return format!("asks {url}{sent}{}", variables.join(", "));
        }
        let freely = if self.only_reads() {
            ", without asking"
        } else {
            ""
        };
        format!("runs {}{freely}", self.command.join(" "))
    }

    /// Whether it is a command that is declared to change nothing.
    fn only_reads(&self) -> bool {
        let effects = self.effects.iter().flatten().copied();
        let is_reading = self.effects.is_some() && effects.collect::<Effects>().is_read_only();
        is_reading && self.url.is_none() && self.writes.is_none()
    }

    /// The first key that only a command has.
    fn of_commands(&self) -> Option<&'static str> {
        let writes = self.writes.as_ref().map(|_| "writes");
        self.reads.as_ref().map(|_| "reads").or(writes)
    }

    /// The first key that only an endpoint has.
    fn of_endpoints(&self) -> Option<&'static str> {
        let headers = (!self.headers.is_empty()).then_some("headers");
        self.method.map(|_| "method").or(headers)
    }
}

/// Checks that the declared paths are parameters.
fn paths(
    spec: &ToolSpec,
    key: &'static str,
    names: Option<Vec<String>>,
) -> Result<Option<Vec<String>>, DeclarationError> {
    let parameters = || spec.properties().into_iter().flat_map(|all| all.keys());
    let is_stranger = |name: &&String| parameters().all(|known| known != *name);
    let stranger = names.iter().flatten().find(is_stranger).cloned();
    match stranger {
        None => Ok(names),
        Some(name) => Err(DeclarationError::Path {
            tool: spec.name.clone(),
            key,
            name,
            known: known_parameters(spec),
        }),
    }
}

/// The parameters that there are, as a part of a sentence.
fn known_parameters(spec: &ToolSpec) -> String {
    let names = spec.properties().into_iter().flat_map(|all| all.keys());
    let names: Vec<&str> = names.map(String::as_str).collect();
    match names.as_slice() {
        [] => String::new(),
        names => format!("; it has {}", names.join(", ")),
    }
}

/// The command, unless an argument is a part of its program.
fn fixed_program(
    spec: &ToolSpec,
    command: Vec<Template>,
) -> Result<Vec<Template>, DeclarationError> {
    let chosen = command.first().and_then(|program| program.names().next());
    match chosen.map(str::to_owned) {
        None => Ok(command),
        Some(placeholder) => Err(DeclarationError::Program {
            tool: spec.name.clone(),
            placeholder,
        }),
    }
}

/// Reads a template and checks that its placeholders are parameters.
fn template(spec: &ToolSpec, text: &str) -> Result<Template, DeclarationError> {
    let template = Template::new(text);
    let names = || spec.properties().into_iter().flat_map(|all| all.keys());
    let stranger = template
        .names()
        .find(|name| names().all(|known| known != name));
    if let Some(placeholder) = stranger {
        return Err(DeclarationError::Placeholder {
            tool: spec.name.clone(),
            placeholder: placeholder.to_owned(),
            known: known_parameters(spec),
        });
    }
    Ok(template)
}
