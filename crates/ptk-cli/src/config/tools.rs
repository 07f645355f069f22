//! The tools that a configuration makes available.

use std::sync::Arc;

use anyhow::{Result, anyhow};
use ptk_permission::Rule;
use ptk_protocol::schema::suggest;
use ptk_tools::{SnippetFormat, tools};

use super::file::ConfigFile;
use super::trust;

/// The available tools.
pub(crate) struct Tools {
    pub(crate) registry: ptk_tools::Registry,
    pub(crate) snippet_format: SnippetFormat,
    /// Names of the declared tools.
    pub(crate) declared: Vec<String>,
    /// Names of the tools of MCP servers.
    pub(crate) of_servers: Vec<String>,
    /// Names of tools that are declared in an untrusted file.
    pub(crate) untrusted: Vec<String>,
}

/// Which tool the name in a rule means.
pub(super) enum Named<'a> {
    Known,
    /// None, but it is like this one.
    Like(&'a str),
    Unknown,
}

/// Tools that a build may leave out.
const LEFT_OUT: [&str; 1] = ["request_code_context"];
/// Stands between the name of a server and that of its tool.
const OF_SERVER: &str = "__";

impl Tools {
    /// Says that a rule names no tool, if so. Tools of servers are not known
    /// before the servers are asked.
    pub(crate) fn unknown_in(&self, rule: &Rule) -> Option<String> {
        let near = match self.named(rule) {
            Named::Known => return None,
            Named::Like(near) => format!("did you mean `{near}`?"),
            Named::Unknown => "`ptk tools list` lists them".to_owned(),
        };
        Some(format!("no tool is called `{}`; {near}", rule.tool()))
    }

    /// What a model would find poor about the declared tools.
    pub(crate) fn remarks(&self) -> Vec<String> {
        let lints = self.registry.lint().into_iter();
        let declared = lints.filter(|lint| self.declared.contains(&lint.tool));
        declared.map(|lint| format!("The tool {lint}")).collect()
    }

    /// Which tool a rule names.
    pub(super) fn named(&self, rule: &Rule) -> Named<'_> {
        let names = self.registry.toolset().names().chain(LEFT_OUT);
        let names = names.chain(self.untrusted.iter().map(String::as_str));
        let names: Vec<&str> = names.collect();
        let name = rule.tool();
        if names.contains(&name) || name.contains(OF_SERVER) {
            return Named::Known;
        }
        suggest::nearest(name, names).map_or(Named::Unknown, Named::Like)
    }
}

/// The built-in tools and those that the file declares, and how they show code.
/// Declared ones count only in a trusted file.
pub(super) fn available(file: &ConfigFile, is_trusted: bool) -> Result<Tools> {
    let mut diagnostics = file.sections.diagnostics.get_or_default()?;
    let snippet_format = file.sections.snippet_format.get_or_default()?;
    let tools = file.sections.tools.get_or_default()?;
    if !is_trusted {
        diagnostics = trust::diagnostics(diagnostics, &mut Vec::new());
    }
    let mut registry = tools::all(diagnostics)?;
    #[cfg(feature = "search")]
    registry.register(code_context(file, is_trusted)?)?;
    let (mut added, mut untrusted) = (Vec::new(), Vec::new());
    for declared in tools {
        let start = declared.span().start;
        let place = || file.place(start);
        let tool = declared.into_inner().into_tool();
        let tool = tool.map_err(|error| anyhow!("{}: {error}", place()))?;
        if !is_trusted {
            untrusted.push(tool.spec().name.clone());
            continue;
        }
        added.push(tool.spec().name.clone());
        let registered = registry.register_shared(Arc::from(tool));
        registered.map_err(|error| anyhow!("{}: {error}", place()))?;
    }
    Ok(Tools {
        registry,
        snippet_format,
        declared: added,
        of_servers: Vec::new(),
        untrusted,
    })
}

/// The tool that gives code from the index.
#[cfg(feature = "search")]
fn code_context(file: &ConfigFile, is_trusted: bool) -> Result<impl ptk_tools::Tool + use<>> {
    let mut settings = file.sections.code_context.get_or_default()?;
    if !is_trusted {
        settings = trust::code_context(&settings, &mut Vec::new());
    }
    Ok(ptk_tools::Typed::new(crate::code::tool(
        settings.token_limit,
    )))
}
