//! The sandbox of commands, as users configure it.

mod provided;

use std::path::{Path, PathBuf};

use ptk_sandbox::Workspace;
use ptk_sandbox::command::{Limits, Policy};
use serde::Deserialize;

/// Mebibytes, in bytes.
const MIB: u64 = 1 << 20;

/// What to do with a command when the machine cannot protect it in full.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Unprotected {
    /// A person decides, who sees what is missing. Where none can be asked, it
    /// is not run.
    #[default]
    Ask,
    /// It is not run.
    Refuse,
    /// It is run with the protections that there are.
    Allow,
}

/// The sandbox that commands run in, `[sandbox]` in the user's configuration:
/// they write only in the workspace and in a temporary folder of their own,
/// read only what programs need, and reach no network.
///
/// ```
/// use ptk_tools::Sandbox;
///
/// let sandbox = Sandbox {
///     network: true,
///     write: vec!["~/.cache/models".into()],
///     ..Sandbox::default()
/// };
/// assert!(sandbox.enabled);
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Sandbox {
    /// Whether commands are confined. Otherwise they may do whatever their user
    /// may.
    pub enabled: bool,
    /// Whether other machines can be reached, and services of this one.
    pub network: bool,
    /// What commands may read besides. `~` is the user's home.
    pub read: Vec<PathBuf>,
    /// What they may write besides.
    pub write: Vec<PathBuf>,
    /// Mebibytes of memory that a process may fill.
    pub memory_mib: u64,
    /// Processes of a command at a time.
    pub processes: u64,
    /// The size of a file in mebibytes.
    pub file_mib: u64,
    /// What is done where the machine cannot protect in full.
    pub unprotected: Unprotected,
}

impl Default for Sandbox {
    fn default() -> Self {
        let limits = Limits::default();
        Self {
            enabled: true,
            network: false,
            read: Vec::new(),
            write: Vec::new(),
            memory_mib: limits.memory / MIB,
            processes: limits.processes,
            file_mib: limits.file_size / MIB,
            unprotected: Unprotected::default(),
        }
    }
}

impl Sandbox {
    /// No sandbox: commands may do whatever their user may.
    #[must_use]
    pub fn off() -> Self {
        Self {
            enabled: false,
            ..Self::default()
        }
    }

    /// The policy for commands in a workspace; `None` without a sandbox.
    #[must_use]
    pub fn policy(&self, workspace: &Workspace) -> Option<Policy> {
        if !self.enabled {
            return None;
        }
        let mut policy = Policy::new(workspace);
        policy.network = self.network;
        policy.limits = Limits {
            memory: self.memory_mib.saturating_mul(MIB),
            processes: self.processes,
            file_size: self.file_mib.saturating_mul(MIB),
        };
        // First what is written: no link in it decides what is read.
        for path in &self.write {
            policy.allow_writing(expanded_path(path));
        }
        for path in &self.read {
            policy.allow_reading(expanded_path(path));
        }
        if let Some(home) = &policy.home {
            policy.provided = provided::files(home);
        }
        Some(policy)
    }
}

/// The path with the user's home for `~`.
#[must_use]
pub fn expanded_path(path: &Path) -> PathBuf {
    let rest = path.strip_prefix("~").ok();
    let home = rest.and_then(|rest| Some(std::env::home_dir()?.join(rest)));
    home.unwrap_or_else(|| path.to_owned())
}
