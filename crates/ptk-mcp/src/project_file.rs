//! `.mcp.json`, the file in which projects name their servers for every client.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::{Map, Value};

use crate::{DeclarationError, ServerDeclaration, check_name};

/// The name of the file, in the root of a project.
pub const PROJECT_FILE: &str = ".mcp.json";

/// Why a file cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ProjectFileError {
    /// It is not JSON of the expected form.
    #[error("{0}")]
    Json(#[from] serde_json::Error),
    /// A server in it cannot be used.
    #[error("the server `{name}`: {error}")]
    Server {
        /// The server.
        name: String,
        /// What is wrong with it.
        error: DeclarationError,
    },
    /// A transport that is not spoken.
    #[error("the server `{name}`: its type is {kind}, and PTK speaks stdio and http")]
    Transport {
        /// The server.
        name: String,
        /// The transport.
        kind: String,
    },
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct ProjectFile {
    #[serde(default)]
    mcp_servers: BTreeMap<String, Value>,
}

/// A server as other clients configure it. What they have besides is ignored.
#[derive(Debug, Deserialize)]
struct ProjectServer {
    #[serde(rename = "type")]
    kind: Option<String>,
    command: Option<String>,
    #[serde(default)]
    args: Vec<String>,
    #[serde(default)]
    env: BTreeMap<String, Value>,
    url: Option<String>,
    #[serde(default)]
    headers: BTreeMap<String, String>,
    #[serde(default)]
    disabled: bool,
    /// What PTK grants, which other clients do not know.
    ptk: Option<Grants>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct Grants {
    network: bool,
    read: Vec<std::path::PathBuf>,
    write: Vec<std::path::PathBuf>,
}

/// Reads the servers of a project's file. Its programs start in the workspace,
/// with the network and the workspace, unless an object `ptk` says what they
/// get: such servers were written for clients without a sandbox. One that cannot
/// be used does not keep the others from being used.
///
/// # Errors
///
/// If it is not of the expected form.
pub fn parse_project_file(text: &str) -> Result<ProjectServers, ProjectFileError> {
    // A struct could be read from a list, too.
    let members: Map<String, Value> = serde_json::from_str(text)?;
    let file: ProjectFile = serde_json::from_value(Value::Object(members))?;
    let servers = file.mcp_servers.into_iter();
    let servers = servers.map(|(name, server)| {
        let declared = ProjectServer::deserialize(&server)
            .map_err(ProjectFileError::from)
            .and_then(|server| declared(&name, server))
            .and_then(|declared| {
                let checked = check_name(&name).and_then(|()| declared.check());
                checked.map(|()| declared).map_err(|error| {
                    let name = name.clone();
                    ProjectFileError::Server { name, error }
                })
            });
        (name, declared)
    });
    Ok(servers.collect())
}

/// The servers of a project's file by name, or why they cannot be used.
pub type ProjectServers = BTreeMap<String, Result<ServerDeclaration, ProjectFileError>>;

fn declared(name: &str, server: ProjectServer) -> Result<ServerDeclaration, ProjectFileError> {
    let is_spoken = |kind: &str| matches!(kind, "stdio" | "http" | "streamable-http");
    if let Some(kind) = server.kind.filter(|kind| !is_spoken(kind)) {
        let name = name.to_owned();
        return Err(ProjectFileError::Transport { name, kind });
    }
    let is_program = server.command.is_some();
    let grants = server.ptk.unwrap_or_else(|| Grants {
        network: is_program,
        read: Vec::new(),
        write: if is_program {
            vec![".".into()]
        } else {
            Vec::new()
        },
    });
    let env = server.env.into_iter().map(|(name, value)| {
        let text = match value {
            Value::String(text) => text,
            value => value.to_string(),
        };
        (name, text)
    });
    Ok(ServerDeclaration {
        command: server.command.into_iter().chain(server.args).collect(),
        in_workspace: is_program.then_some(true),
        env: env.collect(),
        network: grants.network,
        read: grants.read,
        write: grants.write,
        url: server.url,
        headers: server.headers,
        disabled: server.disabled,
        ..ServerDeclaration::default()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn servers_of_other_clients_are_read() {
        let servers = parse_project_file(
            r#"{"mcpServers": {
                "fs": {"command": "npx", "args": ["-y", "x"], "env": {"PORT": 1, "A": "b"}, "alwaysAllow": []},
                "docs": {"type": "http", "url": "https://example.com/mcp", "headers": {"X": "$Y"}},
                "tight": {"command": "x", "ptk": {"read": ["src"]}}
            }, "inputs": []}"#,
        )
        .unwrap();
        let servers: BTreeMap<_, _> = servers
            .into_iter()
            .map(|(name, declared)| (name, declared.unwrap()))
            .collect();
        assert_eq!(servers["fs"].command, ["npx", "-y", "x"]);
        assert_eq!(servers["fs"].env["PORT"], "1");
        assert!(servers["fs"].network);
        assert_eq!(servers["docs"].grants(), "remote, gets $Y");
        assert_eq!(
            servers["tight"].grants(),
            "sandbox, no network, reads src, starts in the workspace"
        );
        assert!(parse_project_file("{}").unwrap().is_empty());
    }

    #[test]
    fn what_cannot_be_used_is_named() {
        for (text, expected) in [
            ("[]", "invalid type"),
            (r#"{"mcpServers": {"a b": {"command": "x"}}}"#, "`a b`"),
            (
                r#"{"mcpServers": {"a": {}}}"#,
                "neither `command` nor `url`",
            ),
            (
                r#"{"mcpServers": {"a": {"type": "sse", "url": "http://x"}}}"#,
                "its type is sse",
            ),
        ] {
            let error = match parse_project_file(text) {
                Err(error) => error,
                Ok(servers) => servers.into_values().find_map(Result::err).unwrap(),
            };
            let error = error.to_string();
            assert!(error.contains(expected), "{text}: {error}");
        }
    }
}
