//! Where a user's programs keep what is neither configuration nor cache.

use std::path::PathBuf;

/// The folder for what PTK keeps between its runs: the one that `PTK_STATE`
/// names, or `ptk` in the user's folder for state. `None` where the user has
/// none.
#[must_use]
pub fn state_folder() -> Option<PathBuf> {
    let variable = |name: &str| {
        let value = std::env::var_os(name).filter(|value| !value.is_empty());
        value.map(PathBuf::from)
    };
    let home = || Some(variable("HOME")?.join(".local/state"));
    let state = || {
        let folder = variable("XDG_STATE_HOME").filter(|folder| folder.is_absolute());
        Some(folder.or_else(home)?.join("ptk"))
    };
    variable("PTK_STATE").or_else(state)
}
