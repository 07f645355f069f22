//! The permission rules in force: the user's own and those of the
//! configuration.

use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::Result;
use ptk_permission::{Declaration, Entry, Mode, Rule, RuleStore, UserFile};
use ptk_tools::Permissions;

use crate::config::{self, Config};
use crate::view::Screen;
use crate::view::clean::visible;

/// The permissions of a workspace.
#[derive(Debug)]
pub(crate) struct Gathered {
    /// The workspace, with links resolved.
    pub(crate) workspace: PathBuf,
    /// The user's permissions file, if there can be one.
    pub(crate) file: Option<UserFile>,
    /// The rules in force.
    pub(crate) entries: Vec<Entry>,
    /// The mode for calls that no rule decides, if configured.
    pub(crate) mode: Option<Mode>,
    /// The permissions that the configuration declares, if some are withheld
    /// because it is not trusted.
    pub(crate) untrusted: Option<Declaration>,
    /// Whether the configuration's other settings count.
    pub(crate) is_trusted: bool,
    /// The configuration that the user named, if any.
    named: Option<PathBuf>,
    patience: Option<u64>,
}

/// Gathers the permissions of a workspace. What the configuration allows counts
/// only if the user has trusted this exact content: it may have come with
/// someone else's code.
pub(crate) fn gather(config: &Config, workspace: &Path) -> Result<Gathered> {
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
        config::permissions(declared.clone(), &mut withheld)
    };
    let untrusted = (!withheld.is_empty()).then_some(declared);
    let mode = match (counted.mode, user_mode) {
        (Some(declared), Some(own)) if !is_agreed => Some(declared.stricter(own)),
        (declared, own) => declared.or(own),
    };
    entries.extend(counted.entries(&config.name())?);
    Ok(Gathered {
        workspace,
        file,
        entries,
        mode,
        untrusted,
        is_trusted: is_agreed || config.is_named(),
        named: config.is_named().then(|| config.path().to_owned()),
        patience: counted.patience,
    })
}

impl Gathered {
    /// Converts them for the tool manager, with the mode of a flag if given.
    pub(crate) fn permissions(self, mode: Option<Mode>, screen: &Screen) -> Permissions {
        let mode = mode.or(self.mode).unwrap_or_default();
        let mut permissions = Permissions::new(mode).rules(self.entries);
        if let Some(patience) = self.patience {
            permissions = permissions.patience(Duration::from_secs(patience));
        }
        if let Some(named) = self.named {
            permissions = permissions.guarding(named);
        }
        match self.file {
            // The user's configuration is in the same folder.
            Some(file) => permissions
                .guarding_folder(file.path().parent().unwrap_or(file.path()).to_owned())
                .kept_by(Notebook {
                    file,
                    workspace: self.workspace,
                    screen: screen.clone(),
                }),
            None => permissions,
        }
    }
}

/// Saves rules in the user's file, and reports it.
struct Notebook {
    file: UserFile,
    workspace: PathBuf,
    screen: Screen,
}

impl RuleStore for Notebook {
    fn keep(&self, rules: &[Rule]) {
        match self.file.allow(&self.workspace, rules) {
            Ok(()) => self.screen.print(&format!(
                "Kept in {}; `ptk permissions` shows and removes it.\n",
                self.file.path().display()
            )),
            Err(error) => {
                let error = visible(&error.to_string());
                self.screen
                    .print(&format!("{error}; it holds for this session only\n"));
            }
        }
    }
}
