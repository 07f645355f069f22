//! Names of providers: their prefixes, and how they are stored and shown.

use ptk::llm::http::{split_address, without_password};

/// The prefix of a model that replays a script file.
pub(crate) const SCRIPT: &str = "script:";
/// The prefix of a command that acts as a model.
pub(crate) const COMMAND: &str = "cmd:";
/// The name of the provider for local models.
pub(crate) const LOCAL: &str = "local";
/// The prefix of a model behind a page.
pub(crate) const BROWSER: &str = "browser:";

/// The name as it may be stored: independent of the current folder, and without
/// passwords.
pub(crate) fn storable(name: &str) -> String {
    if let Some(file) = name.strip_prefix(SCRIPT) {
        let path = std::path::absolute(file).unwrap_or_else(|_| file.into());
        return format!("{SCRIPT}{}", path.display());
    }
    match split_address(name) {
        Some((service, address)) => format!("{service}:{}", without_password(address)),
        None => without_password(name),
    }
}
