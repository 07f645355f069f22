//! The token that MCP clients send over HTTP.

use std::path::Path;

use anyhow::{Context as _, Result, anyhow, bail};
use ptk_mcp::serve::AccessToken;

use crate::args::McpServeArgs;
use crate::exit;
use crate::input;

/// The variable with the token.
const VARIABLE: &str = "PTK_MCP_TOKEN";

/// The token of the server. Clients on other machines need one.
pub(super) fn of(args: &McpServeArgs, is_here: bool) -> Result<Option<AccessToken>> {
    if let Some(path) = &args.token_file {
        let name = format!("--token-file {}", path.display());
        check_access(path).with_context(|| name.clone())?;
        let text = input::read_file(path).with_context(|| name.clone())?;
        return AccessToken::new(text.trim()).map(Some).context(name);
    }
    let variable = std::env::var(VARIABLE).ok();
    if let Some(text) = variable.filter(|text| !text.trim().is_empty()) {
        return AccessToken::new(text.trim()).map(Some).context(VARIABLE);
    }
    if is_here {
        return Ok(None);
    }
    bail!(exit::wrong_usage(format!(
        "anybody who reaches this address could run tools; name a file with a token in --token-file, or set one in {VARIABLE}"
    )))
}

/// Rejects a file that others may write, because they could choose the token,
/// and warns if others may read it. Secrets that are mounted into containers
/// are often readable by all, so that alone is not rejected.
#[cfg(unix)]
fn check_access(path: &Path) -> Result<()> {
    use std::os::unix::fs::PermissionsExt as _;
    let mode = std::fs::metadata(path)?.permissions().mode() & 0o777;
    let advice = format!("(mode {mode:03o}); run: chmod 600 {}", path.display());
    if mode & 0o022 != 0 {
        return Err(anyhow!("others than its owner can write it {advice}"));
    }
    if mode & 0o044 != 0 {
        exit::note(&format!(
            "warning: others than its owner can read the token {advice}"
        ));
    }
    Ok(())
}

#[cfg(not(unix))]
fn check_access(path: &Path) -> Result<()> {
    std::fs::metadata(path)?;
    Ok(())
}
