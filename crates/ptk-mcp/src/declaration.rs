//! How a server is configured.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use globset::Glob;
use ptk_permission::{Effect, Effects};
use serde::{Deserialize, Serialize};

use crate::names::{MAX_SERVER_NAME, SEPARATOR};
use crate::variables::{self, Notation};

/// How long a server has to become ready, in seconds: it may have to be
/// downloaded first.
const DEFAULT_STARTUP: u64 = 60;
/// How long a server may be silent during a call, in seconds.
const DEFAULT_TIMEOUT: u64 = 60;
/// How long a call may take in all, in seconds, however much progress is
/// reported.
const DEFAULT_MAX_TIME: u64 = 600;
/// How long a call may take at most, in seconds.
const MOST_TIME: u64 = 24 * 3_600;

/// A server as it stands in the configuration, under `[mcp.servers.NAME]`.
///
/// ```
/// use ptk_mcp::ServerDeclaration;
///
/// let declared: ServerDeclaration = serde_json::from_str(r#"{
///     "command": ["npx", "-y", "@modelcontextprotocol/server-everything"],
///     "network": true,
///     "read": ["."],
///     "effects": {"get_*": ["network"]}
/// }"#)?;
/// declared.check()?;
/// assert!(declared.effects_of("get_sum").is_read_only() == false);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ServerDeclaration {
    /// The program and its arguments, for a server that speaks on its standard
    /// input and output. `${NAME}` stands for a variable of the environment.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub command: Vec<String>,
    /// Whether the program starts in the workspace, and not in a folder of its
    /// own. What lies in the workspace may then decide what it does.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub in_workspace: Option<bool>,
    /// Variables of its environment, besides a short list of harmless ones.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub env: BTreeMap<String, String>,
    /// Whether the program may reach other machines.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub network: bool,
    /// Folders that the program may read. Relative ones are in the workspace.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub read: Vec<PathBuf>,
    /// Folders that the program may write.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub write: Vec<PathBuf>,
    /// Whether the program runs in the sandbox. Without it, it may do whatever
    /// its user may.
    #[serde(skip_serializing_if = "is_sandboxed")]
    pub sandbox: Option<bool>,
    /// The address of a server that speaks over HTTP.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
    /// Headers of requests to it. `$NAME` stands for a variable of the
    /// environment, so that secrets need not stand in the file.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub headers: BTreeMap<String, String>,
    /// The tools that are used, by name or pattern. Without it, all of them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tools: Option<Vec<String>>,
    /// What tools may do, by name or pattern. A tool that is not named may do
    /// whatever a program can: `execute` and `network`.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub effects: BTreeMap<String, Vec<Effect>>,
    /// How many seconds a server may be silent during a call.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timeout: Option<u64>,
    /// How many seconds a call may take in all.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_time: Option<u64>,
    /// How many seconds the server has to become ready.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub startup_timeout: Option<u64>,
    /// Whether the server is not used for now.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub disabled: bool,
    /// Where the server is configured. Servers of one name that are configured
    /// in different places share nothing.
    #[serde(skip)]
    pub origin: String,
}

#[expect(
    clippy::ref_option,
    clippy::trivially_copy_pass_by_ref,
    reason = "serde passes a reference to the field"
)]
fn is_sandboxed(sandbox: &Option<bool>) -> bool {
    sandbox.unwrap_or(true)
}

/// What is wrong with a declaration.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum DeclarationError {
    /// A name that tools cannot begin with.
    #[error(
        "`{0}` cannot be the name of a server; use up to {MAX_SERVER_NAME} of the letters a to z, digits, `-` and single `_`"
    )]
    Name(String),
    /// There is neither a command nor an address.
    #[error("there is neither `command` nor `url`; give one of them")]
    Nothing,
    /// There are both.
    #[error("there are both `command` and `url`; keep one of them")]
    Both,
    /// A setting for the other kind of server.
    #[error("`{0}` has no meaning for a server with `{1}`")]
    Misplaced(&'static str, &'static str),
    /// An address that cannot be used.
    #[error("`url` has to begin with https:// or http://, and be an address: {0}")]
    Url(String),
    /// A pattern that cannot be used.
    #[error("`{0}` is not a name or pattern of tools")]
    Pattern(String),
    /// A time that cannot be used.
    #[error("`{0}` has to be from 1 to {MOST_TIME} seconds")]
    Time(&'static str),
}

/// Checks the name of a server, with which the names of its tools begin.
///
/// # Errors
///
/// If it cannot be one.
pub fn check_name(name: &str) -> Result<(), DeclarationError> {
    let is_part = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    let fits = !name.is_empty()
        && name.len() <= MAX_SERVER_NAME
        && name.chars().all(is_part)
        && !name.contains(SEPARATOR)
        && !name.starts_with('_')
        && !name.ends_with('_');
    if fits {
        Ok(())
    } else {
        Err(DeclarationError::Name(name.to_owned()))
    }
}

impl ServerDeclaration {
    /// Checks that the settings fit each other.
    ///
    /// # Errors
    ///
    /// The first thing that is wrong.
    pub fn check(&self) -> Result<(), DeclarationError> {
        match (self.command.is_empty(), &self.url) {
            (true, None) => return Err(DeclarationError::Nothing),
            (false, Some(_)) => return Err(DeclarationError::Both),
            (false, None) if !self.headers.is_empty() => {
                return Err(DeclarationError::Misplaced("headers", "command"));
            }
            (false, None) => {}
            (true, Some(url)) => {
                let for_programs = [
                    ("env", self.env.is_empty()),
                    ("in_workspace", self.in_workspace.is_none()),
                    ("network", !self.network),
                    ("read", self.read.is_empty()),
                    ("write", self.write.is_empty()),
                    ("sandbox", self.sandbox.is_none()),
                ];
                if let Some((name, _)) = for_programs.iter().find(|(_, is_unset)| !is_unset) {
                    return Err(DeclarationError::Misplaced(name, "url"));
                }
                check_url(url, !self.headers.is_empty())?;
            }
        }
        let patterns = self.tools.iter().flatten().chain(self.effects.keys());
        for pattern in patterns {
            Glob::new(pattern).map_err(|_| DeclarationError::Pattern(pattern.clone()))?;
        }
        let times = [
            ("timeout", self.timeout),
            ("max_time", self.max_time),
            ("startup_timeout", self.startup_timeout),
        ];
        for (name, time) in times {
            if time.is_some_and(|time| time == 0 || time > MOST_TIME) {
                return Err(DeclarationError::Time(name));
            }
        }
        Ok(())
    }

    /// Whether the user wants a tool of the server.
    pub(crate) fn wants(&self, tool: &str) -> bool {
        let Some(patterns) = &self.tools else {
            return true;
        };
        patterns.iter().any(|pattern| fits(pattern, tool))
    }

    /// What a tool may do: what is declared for its name, or else for any of the
    /// patterns that mean it.
    #[must_use]
    pub fn effects_of(&self, tool: &str) -> Effects {
        if let Some(effects) = self.effects.get(tool) {
            return effects.iter().copied().collect();
        }
        let patterns = self.effects.iter();
        let patterns = patterns.filter(|(pattern, _)| fits(pattern, tool));
        let mut declared = patterns.map(|(_, effects)| effects).peekable();
        if declared.peek().is_none() {
            return Effects::EXECUTE | Effects::NETWORK;
        }
        declared.flatten().copied().collect()
    }

    /// Whether the user's own headers say who asks, so that no login does.
    pub(crate) fn has_own_authorization(&self) -> bool {
        let mut names = self.headers.keys();
        names.any(|name| name.eq_ignore_ascii_case("authorization"))
    }

    /// How long the server has to become ready.
    pub(crate) fn ready(&self) -> Duration {
        Duration::from_secs(self.startup_timeout.unwrap_or(DEFAULT_STARTUP))
    }

    /// How long the server may be silent during a call.
    pub(crate) fn idle(&self) -> Duration {
        Duration::from_secs(self.timeout.unwrap_or(DEFAULT_TIMEOUT))
    }

    /// How long a call may take in all.
    pub(crate) fn max_time(&self) -> Duration {
        let most = Duration::from_secs(self.max_time.unwrap_or(DEFAULT_MAX_TIME));
        most.max(self.idle())
    }

    /// What the server is, in one line: the command, or the address without what
    /// may be secret.
    #[must_use]
    pub fn summary(&self) -> String {
        match &self.url {
            None => format!("runs {}", self.command.join(" ")),
            Some(url) => match reqwest::Url::parse(url) {
                Ok(mut url) => {
                    // They may hold a password.
                    let _ = url.set_username("");
                    let _ = url.set_password(None);
                    url.set_query(None);
                    format!("asks {url}")
                }
                Err(_) => "asks an address that is none".to_owned(),
            },
        }
    }

    /// What is granted to the server, for people: also which of its tools run
    /// without a question.
    #[must_use]
    pub fn grants(&self) -> String {
        let read_only = self.effects.iter().filter(|(_, effects)| {
            let effects: Effects = effects.iter().copied().collect();
            !effects.needs_approval()
        });
        let names: Vec<&str> = read_only.map(|(name, _)| name.as_str()).collect();
        match names.as_slice() {
            [] => self.reach(),
            names => format!("{}; without asking: {}", self.reach(), names.join(", ")),
        }
    }

    /// What the server may reach, and what it gets.
    fn reach(&self) -> String {
        if self.url.is_some() {
            let names = self
                .headers
                .values()
                .flat_map(|it| variables::names(it, Notation::Plain));
            let names: Vec<String> = names.map(|name| format!("${name}")).collect();
            return match names.as_slice() {
                [] => "remote".to_owned(),
                names => format!("remote, gets {}", names.join(", ")),
            };
        }
        if self.sandbox == Some(false) {
            return "no sandbox: it may do whatever you may".to_owned();
        }
        let folders = |what: &str, paths: &[PathBuf]| {
            let paths: Vec<String> = paths.iter().map(|it| it.display().to_string()).collect();
            (!paths.is_empty()).then(|| format!("{what} {}", paths.join(", ")))
        };
        let variables = (!self.env.is_empty()).then(|| {
            let given = self.env.iter().map(|(name, value)| {
                match variables::names(value, Notation::Braces).as_slice() {
                    [] => name.clone(),
                    read => format!("{name} (from your ${})", read.join(", $")),
                }
            });
            format!("gets {}", given.collect::<Vec<_>>().join(", "))
        });
        let parts = [
            Some("sandbox".to_owned()),
            Some(
                if self.network {
                    "network"
                } else {
                    "no network"
                }
                .to_owned(),
            ),
            folders("reads", &self.read),
            folders("writes", &self.write),
            (self.in_workspace == Some(true)).then(|| "starts in the workspace".to_owned()),
            variables,
        ];
        let parts: Vec<String> = parts.into_iter().flatten().collect();
        parts.join(", ")
    }
}

/// Whether a name or pattern means a tool.
fn fits(pattern: &str, tool: &str) -> bool {
    pattern == tool || Glob::new(pattern).is_ok_and(|glob| glob.compile_matcher().is_match(tool))
}

/// Whether requests to an address are encrypted, or stay on this machine.
pub(crate) fn is_private(url: &reqwest::Url) -> bool {
    let host = url.host_str().unwrap_or_default();
    let host = host.trim_start_matches('[').trim_end_matches(']');
    let address = host.parse::<std::net::IpAddr>();
    let is_here = host == "localhost" || address.is_ok_and(|address| address.is_loopback());
    url.scheme() == "https" || (url.scheme() == "http" && is_here)
}

/// Checks the address of a server.
fn check_url(url: &str, has_headers: bool) -> Result<(), DeclarationError> {
    let wrong = |reason: &str| DeclarationError::Url(reason.to_owned());
    let parsed = reqwest::Url::parse(url).map_err(|error| wrong(&error.to_string()))?;
    if !matches!(parsed.scheme(), "http" | "https") {
        return Err(wrong("another scheme"));
    }
    if !parsed.has_host() {
        return Err(wrong("without a host"));
    }
    if has_headers && !is_private(&parsed) {
        return Err(wrong(
            "headers would go over the network without encryption",
        ));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn declared(json: &str) -> ServerDeclaration {
        serde_json::from_str(json).unwrap()
    }

    #[test]
    fn settings_have_to_fit_each_other() {
        for (json, expected) in [
            ("{}", "neither `command` nor `url`"),
            (r#"{"command": ["a"], "url": "http://b"}"#, "both"),
            (
                r#"{"command": ["a"], "headers": {"a": "b"}}"#,
                "`headers` has no meaning",
            ),
            (
                r#"{"url": "http://b", "network": true}"#,
                "`network` has no meaning",
            ),
            (r#"{"url": "ftp://b"}"#, "another scheme"),
            (
                r#"{"url": "http://b", "headers": {"A": "$B"}}"#,
                "without encryption",
            ),
            (r#"{"url": "b"}"#, "has to begin with https://"),
            (
                r#"{"command": ["a"], "tools": ["["]}"#,
                "not a name or pattern",
            ),
            (r#"{"command": ["a"], "timeout": 0}"#, "from 1 to 86400"),
        ] {
            let error = declared(json).check().unwrap_err().to_string();
            assert!(error.contains(expected), "{json}: {error}");
        }
    }

    #[test]
    fn tools_do_what_programs_can_unless_declared_otherwise() {
        let it = declared(r#"{"command": ["a"], "effects": {"get_*": ["network"], "get_x": []}}"#);
        assert_eq!(it.effects_of("put"), Effects::EXECUTE | Effects::NETWORK);
        assert_eq!(it.effects_of("get_y"), Effects::NETWORK);
        assert_eq!(it.effects_of("get_x"), Effects::NONE);
        let it =
            declared(r#"{"command": ["a"], "effects": {"*": ["read"], "delete_*": ["execute"]}}"#);
        assert_eq!(
            it.effects_of("delete_all"),
            Effects::READ | Effects::EXECUTE
        );
        assert!(
            it.grants().ends_with("; without asking: *"),
            "{}",
            it.grants()
        );
    }

    #[test]
    fn summaries_show_no_secrets() {
        let it = declared(
            r#"{"url": "https://user:word@example.com/mcp?key=1", "headers": {"Authorization": "Bearer $TOKEN"}}"#,
        );
        assert_eq!(it.summary(), "asks https://example.com/mcp");
        assert_eq!(it.grants(), "remote, gets $TOKEN");
        let it = declared(r#"{"command": ["a"], "env": {"LANG_X": "${OPENAI_API_KEY}"}}"#);
        assert_eq!(
            it.grants(),
            "sandbox, no network, gets LANG_X (from your $OPENAI_API_KEY)"
        );
    }

    #[test]
    fn names_of_servers_leave_room_for_their_tools() {
        for name in ["git", "my-server_2", "A1"] {
            assert_eq!(check_name(name), Ok(()));
        }
        for name in ["", "a__b", "a b", "_a", "a_", "ü", &"x".repeat(33)] {
            assert!(check_name(name).is_err(), "{name}");
        }
    }
}
