//! Where a user keeps the configuration of PTK.

use std::path::PathBuf;

/// The folder with the user's own configuration of PTK: `ptk` in the one that
/// `XDG_CONFIG_HOME` names, or in `~/.config`. `None` where the user has none.
#[must_use]
pub fn config_folder() -> Option<PathBuf> {
    let named = std::env::var_os("XDG_CONFIG_HOME").map(PathBuf::from);
    let named = named.filter(|folder| folder.is_absolute());
    let folder = named.or_else(|| Some(std::env::home_dir()?.join(".config")))?;
    // A relative one would lie in the workspace, which grants nothing.
    folder.is_absolute().then(|| folder.join("ptk"))
}

/// The file in which PTK keeps the keys of services, `ptk_llm`'s `KeyFile`.
/// `None` where the user has no folder for it.
#[must_use]
pub fn key_file() -> Option<PathBuf> {
    #[cfg(windows)]
    let folder = std::env::var_os("APPDATA").map(|folder| PathBuf::from(folder).join("ptk"));
    #[cfg(not(windows))]
    let folder = config_folder();
    Some(folder?.join("keys.json"))
}
