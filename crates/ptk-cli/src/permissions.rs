//! Passes the permission rules in force to the tools, and saves new ones.

use std::path::PathBuf;
use std::time::Duration;

use ptk_permission::{Mode, Rule, RuleStore, UserFile};
use ptk_tools::Permissions;

use crate::config::WorkspacePermissions;
use crate::view::Screen;
use crate::view::clean::visible;

/// The permissions for the tool manager, with the mode of a flag if given.
pub(crate) fn for_tools(
    here: &WorkspacePermissions,
    mode: Option<Mode>,
    screen: &Screen,
) -> Permissions {
    let mode = mode.or(here.mode).unwrap_or_default();
    let mut permissions = Permissions::new(mode).rules(here.entries.clone());
    if let Some(patience) = here.patience {
        permissions = permissions.patience(Duration::from_secs(patience));
    }
    if let Some(named) = &here.named_config {
        permissions = permissions.guarding(named.clone());
    }
    match here.file.clone() {
        // The user's configuration is in the same folder.
        Some(file) => permissions
            .guarding_folder(file.path().parent().unwrap_or(file.path()).to_owned())
            .kept_by(Notebook {
                file,
                workspace: here.workspace.clone(),
                screen: screen.clone(),
            }),
        None => permissions,
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
