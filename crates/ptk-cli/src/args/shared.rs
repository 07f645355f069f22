//! Flags that several commands have.

use std::path::PathBuf;

use clap::{Args, ValueEnum, ValueHint};
use ptk_permission::Mode;

/// Where the configuration is.
#[derive(Debug, Clone, Default, Args)]
pub(crate) struct ConfigArgs {
    /// Workspace directory [default: .]
    #[arg(long, value_name = "DIR", help_heading = "Configuration", value_hint = ValueHint::DirPath)]
    pub(crate) workspace: Option<PathBuf>,

    /// Configuration file to use instead of the workspace's ptk.toml
    #[arg(long, value_name = "FILE", help_heading = "Configuration", value_hint = ValueHint::FilePath)]
    pub(crate) config: Option<PathBuf>,
}

/// The names in a list that is separated by commas.
pub(crate) fn listed_names(text: &str) -> Vec<String> {
    let names = text.split(',').map(str::trim);
    let names = names.filter(|name| !name.is_empty());
    names.map(str::to_owned).collect()
}

/// What commands may do.
#[derive(Debug, Clone, Args)]
pub(crate) struct SandboxArgs {
    /// Allow commands to use the network, including services on this machine
    #[arg(long)]
    pub(crate) network: bool,

    /// Run commands without a sandbox
    #[arg(long, conflicts_with = "network")]
    pub(crate) no_sandbox: bool,
}

/// What to do before a call that changes something.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Approve {
    /// Ask on the terminal; refuse if there is none
    Ask,
    /// Allow the call
    Auto,
    /// Refuse the call, and calls that rules allow as well
    Deny,
}

impl From<Approve> for Mode {
    fn from(approve: Approve) -> Self {
        match approve {
            Approve::Ask => Self::Ask,
            Approve::Auto => Self::Auto,
            Approve::Deny => Self::Deny,
        }
    }
}
