//! The MCP servers of configuration files.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, anyhow};
use ptk_mcp::{PROJECT_FILE, ServerDeclaration, check_name, parse_project_file};
use serde::Deserialize;
use toml::Spanned;

use super::Settings;
use super::file::ConfigFile;
use super::permissions::Origin;
use crate::input;

/// The section `[mcp]`.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Mcp {
    #[serde(default)]
    servers: BTreeMap<String, Spanned<ServerDeclaration>>,
}

/// A project's file with servers for every client. It is trusted together with
/// the project's `ptk.toml`.
#[derive(Debug)]
pub(super) struct ProjectFile {
    path: PathBuf,
    text: String,
}

/// A server, and where it is configured.
#[derive(Debug, Clone)]
pub(crate) struct ConfiguredServer {
    pub(crate) name: String,
    pub(crate) declared: ServerDeclaration,
    /// The file.
    pub(crate) source: String,
    /// Whether it counts.
    pub(crate) is_trusted: bool,
}

impl ProjectFile {
    /// The file of a project, if there is one.
    pub(super) fn find(folder: &Path) -> Result<Option<Self>> {
        let path = folder.join(PROJECT_FILE);
        if !path.is_file() {
            return Ok(None);
        }
        let text = input::read_file(&path)?;
        Ok(Some(Self { path, text }))
    }

    pub(super) fn text(&self) -> &str {
        &self.text
    }

    fn servers(&self) -> Result<BTreeMap<String, ServerDeclaration>> {
        parse_project_file(&self.text).with_context(|| self.path.display().to_string())
    }
}

impl ConfigFile {
    /// The servers that the file declares, and the project's file beside it.
    pub(super) fn servers(&self) -> Result<Vec<ConfiguredServer>> {
        let mut servers = Vec::new();
        if let Some(project) = &self.project {
            let source = project.path.display().to_string();
            let found = project.servers()?.into_iter();
            servers.extend(found.map(|(name, declared)| ConfiguredServer {
                name,
                declared,
                source: source.clone(),
                is_trusted: false,
            }));
        }
        for (name, declared) in self.sections.mcp.get_or_default()?.servers {
            let place = self.place(declared.span().start);
            let declared = declared.into_inner();
            check_name(&name)
                .and_then(|()| declared.check())
                .map_err(|error| anyhow!("{place}: the MCP server `{name}`: {error}"))?;
            servers.retain(|known| known.name != name);
            servers.push(ConfiguredServer {
                name,
                declared,
                source: self.name(),
                is_trusted: false,
            });
        }
        Ok(servers)
    }
}

impl Settings {
    /// All configured servers, those that do not count included. Of one name,
    /// the workspace's goes first, once it is trusted.
    pub(crate) fn servers(&self) -> Result<Vec<ConfiguredServer>> {
        let is_trusted = self.is_trusted()?;
        let mut servers = self.file.servers()?;
        for server in &mut servers {
            server.is_trusted = is_trusted;
        }
        if self.origin == Origin::Workspace {
            for mut own in self.user()?.servers()? {
                own.is_trusted = true;
                let is_hidden = |it: &ConfiguredServer| it.name == own.name && it.is_trusted;
                if !servers.iter().any(is_hidden) {
                    servers.push(own);
                }
            }
        }
        servers.sort_by(|a, b| a.name.cmp(&b.name));
        Ok(servers)
    }
}
