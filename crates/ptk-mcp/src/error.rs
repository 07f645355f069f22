//! What can go wrong with a server.

use std::time::Duration;

use ptk_sandbox::command::StartError;

/// How many scopes a command for logging in names.
const MAX_SCOPES: usize = 100;

/// Why a server cannot be used, or did not answer.
#[derive(Debug, Clone, thiserror::Error)]
#[non_exhaustive]
pub enum McpError {
    /// Its program cannot be started.
    #[error("{program} cannot be started: {reason}")]
    Start {
        /// The program.
        program: String,
        /// Why not.
        reason: String,
    },
    /// It did not become ready in time.
    #[error("it was not ready after {} s{}", .after.as_secs(), quoted(.stderr))]
    NotReady {
        /// The time that it had.
        after: Duration,
        /// The end of what it wrote to standard error.
        stderr: String,
    },
    /// The connection could not be made.
    #[error("{reason}{}", quoted(.stderr))]
    Connect {
        /// Why not.
        reason: String,
        /// The end of what it wrote to standard error.
        stderr: String,
    },
    /// It wants a login.
    #[error("it wants a login")]
    Unauthorized {
        /// The header in which it says so.
        challenge: Option<String>,
    },
    /// The login does not allow a request.
    #[error("your login does not allow this")]
    InsufficientScope {
        /// What a login that does has to ask for.
        scopes: Vec<String>,
    },
    /// The login has failed, or its tokens cannot be used.
    #[error("the login has failed: {0}")]
    Login(String),
    /// A setting cannot be used.
    #[error("{0}")]
    Setting(String),
    /// The connection was lost.
    #[error("{reason}{}", quoted(.stderr))]
    Closed {
        /// How.
        reason: String,
        /// The end of what it wrote to standard error.
        stderr: String,
    },
    /// It has failed lately, and is left alone for a while.
    #[error("{reason}; it is tried again in {} s", .again.as_secs().max(1))]
    Resting {
        /// Why it failed.
        reason: String,
        /// When it is tried again.
        again: Duration,
    },
    /// It did not answer a request in time.
    #[error("it did not answer within {} s", .0.as_secs())]
    TimedOut(Duration),
    /// It answered with an error.
    #[error("{message} (code {code})")]
    Refused {
        /// The code of JSON-RPC.
        code: i32,
        /// Its message.
        message: String,
    },
    /// Its answer does not follow the protocol.
    #[error("its answer does not follow the protocol: {0}")]
    Protocol(String),
    /// The call was cancelled.
    #[error("cancelled")]
    Cancelled,
}

impl McpError {
    /// Whether the server may have carried out a request that failed so.
    pub(crate) const fn may_have_run(&self) -> bool {
        matches!(
            self,
            Self::Closed { .. } | Self::TimedOut(_) | Self::Protocol(_) | Self::Cancelled
        )
    }

    /// Whether a login is what is missing.
    pub(crate) const fn is_about_login(&self) -> bool {
        matches!(
            self,
            Self::Unauthorized { .. } | Self::InsufficientScope { .. }
        )
    }

    /// The command that logs in to the server of this name, if a login is what
    /// is missing.
    ///
    /// ```
    /// use ptk_mcp::McpError;
    ///
    /// let error = McpError::InsufficientScope { scopes: vec!["read:org".into(), "repo".into()] };
    /// assert_eq!(
    ///     error.login_command("github").as_deref(),
    ///     Some("ptk mcp login github --scopes read:org,repo")
    /// );
    /// ```
    #[must_use]
    pub fn login_command(&self, server: &str) -> Option<String> {
        match self {
            Self::Unauthorized { .. } => Some(format!("ptk mcp login {server}")),
            Self::InsufficientScope { scopes } => {
                // A server chooses them, and a person pastes the command into a shell.
                let is_plain = |c: char| c.is_ascii_alphanumeric() || ":/._-+".contains(c);
                let plain = scopes
                    .iter()
                    .filter(|scope| !scope.starts_with('-') && scope.chars().all(is_plain));
                let scopes: Vec<&str> = plain.map(String::as_str).take(MAX_SCOPES).collect();
                Some(match scopes.as_slice() {
                    [] => format!("ptk mcp login {server}"),
                    scopes => format!("ptk mcp login {server} --scopes {}", scopes.join(",")),
                })
            }
            _ => None,
        }
    }

    /// The failure of a program that cannot be started.
    pub(crate) fn start(program: &str, error: &StartError) -> Self {
        let reason = match error {
            StartError::System(error) if error.kind() == std::io::ErrorKind::NotFound => {
                "it is not installed, or not in the PATH".to_owned()
            }
            StartError::Unprotected(protections) => {
                format!(
                    "the sandbox would not be complete: {protections}; `ptk doctor` says what is missing"
                )
            }
            error => error.to_string(),
        };
        Self::Start {
            program: program.to_owned(),
            reason,
        }
    }
}

/// What a server wrote to standard error, behind a sentence.
fn quoted(stderr: &str) -> String {
    match stderr.trim() {
        "" => String::new(),
        text => format!("; it wrote: {text}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_writes_nothing_else_into_the_command_for_a_login() {
        let scopes = [
            "repo",
            "$(touch x)",
            "a;b",
            "`id`",
            "--no-browser",
            "a,b",
            "x:y",
        ];
        let scopes = scopes.map(str::to_owned).to_vec();
        let command = McpError::InsufficientScope { scopes }.login_command("s");
        assert_eq!(
            command.as_deref(),
            Some("ptk mcp login s --scopes repo,x:y")
        );
    }
}
