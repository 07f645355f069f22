//! The rules in force here: the user's own and those of the configuration.

use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::Result;
use ptk_tools::Permissions;
use ptk_tools::permission::{Declaration, Entry, Keeper, Mode, Rule, UserFile};

use crate::config::{self, Config};
use crate::view::Screen;
use crate::view::clean::visible;

/// What holds in a workspace.
#[derive(Debug)]
pub(crate) struct Gathered {
    /// The workspace, without links.
    pub(crate) workspace: PathBuf,
    /// The user's file, where there can be one.
    pub(crate) file: Option<UserFile>,
    /// The rules that count.
    pub(crate) entries: Vec<Entry>,
    /// What happens where no rule decides, if somebody said it.
    pub(crate) mode: Option<Mode>,
    /// What the configuration grants, but may not: it is not trusted yet.
    pub(crate) untrusted: Option<Declaration>,
    /// Whether what it declares counts.
    pub(crate) is_trusted: bool,
    /// The file that the user named, if so.
    named: Option<PathBuf>,
    patience: Option<u64>,
}

/// Gathers what holds in a workspace. What the configuration grants counts
/// only if the user has said so for this very content: it may have come with
/// a stranger's code.
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
    /// The same for the tools, in the mode of a flag if there is one.
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
            // The user's configuration lies beside it.
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

/// Writes into the user's file, and says so.
struct Notebook {
    file: UserFile,
    workspace: PathBuf,
    screen: Screen,
}

impl Keeper for Notebook {
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
