//! The MCP servers of configuration files.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use anyhow::{Result, anyhow};
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
    pub(crate) standing: Standing,
}

/// Whether a configured server is used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Standing {
    Used,
    /// It was switched off.
    Disabled,
    /// Its file is not trusted.
    Untrusted,
    /// The user's own server of this name is used.
    Hidden,
    /// It cannot be used, for this reason.
    Unusable(String),
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

    /// The servers of the file. A mistake in it concerns nothing else.
    fn servers(&self) -> Vec<ConfiguredServer> {
        let origin = self.path.display().to_string();
        let parsed = parse_project_file(&self.text).unwrap_or_else(|error| {
            let name = PROJECT_FILE.to_owned();
            std::iter::once((name, Err(error))).collect()
        });
        let servers = parsed.into_iter().map(|(name, declared)| {
            let (declared, standing) = match declared {
                Ok(declared) => (declared, Standing::Used),
                Err(error) => (
                    ServerDeclaration::default(),
                    Standing::Unusable(error.to_string()),
                ),
            };
            ConfiguredServer {
                name,
                declared: ServerDeclaration {
                    origin: origin.clone(),
                    ..declared
                },
                standing,
            }
        });
        servers.collect()
    }
}

impl ConfigFile {
    /// The servers that the file declares, and the project's file beside it.
    pub(super) fn servers(&self) -> Result<Vec<ConfiguredServer>> {
        let mut servers = self
            .project
            .as_ref()
            .map_or_else(Vec::new, ProjectFile::servers);
        for (name, declared) in self.sections.mcp.get_or_default()?.servers {
            let place = self.place(declared.span().start);
            let declared = ServerDeclaration {
                origin: self.name(),
                ..declared.into_inner()
            };
            check_name(&name)
                .and_then(|()| declared.check())
                .map_err(|error| anyhow!("{place}: the MCP server `{name}`: {error}"))?;
            servers.retain(|known| known.name != name);
            let standing = Standing::Used;
            servers.push(ConfiguredServer {
                name,
                declared,
                standing,
            });
        }
        Ok(servers)
    }
}

impl Settings {
    /// All configured servers, those that are not used included. Of one name,
    /// the user's own is used.
    pub(crate) fn servers(&self) -> Result<Vec<ConfiguredServer>> {
        let is_trusted = self.is_trusted()?;
        let own = match self.origin {
            Origin::Workspace => self.user()?.servers()?,
            Origin::Named => Vec::new(),
        };
        let mut servers = self.file.servers()?;
        for server in &mut servers {
            if server.standing != Standing::Used {
                continue;
            }
            if own.iter().any(|it| it.name == server.name) {
                server.standing = Standing::Hidden;
            } else if !is_trusted {
                server.standing = Standing::Untrusted;
            }
            // Its commands were written for the project.
            let is_program = server.declared.url.is_none();
            let in_workspace = &mut server.declared.in_workspace;
            *in_workspace = in_workspace.or(is_program.then_some(true));
        }
        servers.extend(own);
        for server in &mut servers {
            if server.standing == Standing::Used && server.declared.disabled {
                server.standing = Standing::Disabled;
            }
        }
        servers.sort_by(|a, b| a.name.cmp(&b.name));
        Ok(servers)
    }
}
