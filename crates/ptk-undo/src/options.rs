//! How much is kept, for how long, and where.

use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::Deserialize;

const MEGABYTE: u64 = 1024 * 1024;

/// The options of undo, `[undo]` in `ptk.toml`.
///
/// ```
/// use ptk_undo::Options;
///
/// let options = Options::default();
/// assert!(options.enabled);
/// assert_eq!(options.max_days, 30);
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Options {
    /// Whether anything is kept at all.
    pub enabled: bool,
    /// Where it is kept, instead of `undo` in the user's folder for state.
    pub folder: Option<PathBuf>,
    /// How much is kept for a workspace, in megabytes.
    pub max_mb: u64,
    /// How long it is kept, in days.
    pub max_days: u64,
    /// The largest file that is kept, in megabytes.
    pub max_file_mb: u64,
    /// How many files a workspace may have, so that commands can be undone
    /// where they cannot be recorded: by looking at it before and after.
    pub max_files: usize,
    /// How much these files may hold together, in megabytes. What git ignores
    /// does not count.
    pub max_workspace_mb: u64,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            enabled: true,
            folder: None,
            max_mb: 1024,
            max_days: 30,
            max_file_mb: 100,
            max_files: 100_000,
            max_workspace_mb: 500,
        }
    }
}

impl Options {
    /// The folder for all workspaces: that of the options, `undo` in the one
    /// that `PTK_STATE` names, or in the user's folder for state. `None` where
    /// the user has none.
    #[must_use]
    pub fn folder(&self) -> Option<PathBuf> {
        let folder = self.folder.clone();
        folder.or_else(|| Some(ptk_sandbox::state_folder()?.join("undo")))
    }

    /// The folder for one workspace.
    pub(crate) fn folder_of(&self, workspace: &Path) -> Option<PathBuf> {
        let hash = blake3::hash(workspace.as_os_str().as_encoded_bytes()).to_hex();
        let name = hash.get(..32)?;
        Some(self.folder()?.join(name))
    }

    pub(crate) const fn largest_file(&self) -> u64 {
        self.max_file_mb.saturating_mul(MEGABYTE)
    }

    pub(crate) const fn largest_tree(&self) -> u64 {
        self.max_workspace_mb.saturating_mul(MEGABYTE)
    }

    pub(crate) const fn most_bytes(&self) -> u64 {
        self.max_mb.saturating_mul(MEGABYTE)
    }

    pub(crate) const fn longest(&self) -> Duration {
        Duration::from_secs(self.max_days.saturating_mul(24 * 60 * 60))
    }
}
