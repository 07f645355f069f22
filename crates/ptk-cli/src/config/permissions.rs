//! The permission rules in force: the user's own and those of the
//! configuration.

use std::path::{Path, PathBuf};

use anyhow::Result;
use ptk_permission::{Declaration, Entry, Mode, UserFile};

use super::file::ConfigFile;
use super::trust::{self, Trust};

/// The permissions of a workspace.
#[derive(Debug)]
pub(crate) struct WorkspacePermissions {
    /// The workspace, with links resolved.
    pub(crate) workspace: PathBuf,
    /// The user's permissions file, if there can be one.
    pub(crate) file: Option<UserFile>,
    /// The rules in force.
    pub(crate) entries: Vec<Entry>,
    /// The mode for calls that no rule decides, if configured.
    pub(crate) mode: Option<Mode>,
    /// How many seconds to wait for an answer, if configured.
    pub(crate) patience: Option<u64>,
    /// The permissions that the configuration declares, if some are withheld
    /// because it is not trusted.
    pub(crate) untrusted: Option<Declaration>,
    /// The configuration that the user named, if any.
    pub(crate) named_config: Option<PathBuf>,
    /// Which settings of the configuration count.
    pub(super) trust: Trust,
}

/// Who chose the configuration file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Origin {
    /// The user named it.
    Named,
    /// It was found in the workspace.
    Workspace,
}

impl WorkspacePermissions {
    /// Gathers the permissions of a workspace. What the configuration allows
    /// counts only if the user has trusted this exact content: it may have come
    /// with someone else's code.
    pub(super) fn gather(config: &ConfigFile, origin: Origin, workspace: &Path) -> Result<Self> {
        let workspace = workspace.canonicalize()?;
        let file = UserFile::find();
        let (user_mode, mut entries) = match &file {
            Some(file) => file.rules(&workspace)?,
            None => (None, Vec::new()),
        };
        let declared = config.permissions()?;
        let is_agreed = match &file {
            Some(file) => file.trusts(&workspace, &config.fingerprint())?,
            None => false,
        };
        let mut withheld = Vec::new();
        let counted = if is_agreed {
            declared.clone()
        } else {
            trust::permissions(declared.clone(), &mut withheld)
        };
        let untrusted = (!withheld.is_empty()).then_some(declared);
        let mode = match (counted.mode, user_mode) {
            (Some(declared), Some(own)) if !is_agreed => Some(declared.stricter(own)),
            (declared, own) => declared.or(own),
        };
        entries.extend(counted.entries(&config.name())?);
        Ok(Self {
            workspace,
            file,
            entries,
            mode,
            patience: counted.patience,
            untrusted,
            named_config: (origin == Origin::Named).then(|| config.path().to_owned()),
            trust: match origin {
                _ if is_agreed => Trust::Full,
                Origin::Named => Trust::AllButPermissions,
                Origin::Workspace => Trust::StricterOnly,
            },
        })
    }
}
