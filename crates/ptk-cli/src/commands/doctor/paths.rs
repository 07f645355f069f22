//! Where things are kept and whether that can be written, and what this build
//! can do.

use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use anyhow::Result;
use ptk_local::Library;
use serde::Serialize;

use crate::view::clean::in_line;
use crate::view::short_path;

/// What the folder for data holds.
const MODELS: &str = if cfg!(feature = "local") {
    "models in files"
} else {
    "nothing in this build"
};

/// The features of this build.
#[derive(Debug, Clone, Copy, Serialize)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a feature that a build has or has not"
)]
pub(super) struct Features {
    browser: bool,
    keyring: bool,
    local: bool,
    mcp: bool,
    otel: bool,
    search: bool,
}

impl Features {
    pub(super) const HERE: Self = Self {
        browser: cfg!(feature = "browser"),
        keyring: cfg!(feature = "keyring"),
        local: cfg!(feature = "local"),
        mcp: cfg!(feature = "mcp"),
        otel: cfg!(feature = "otel"),
        search: cfg!(feature = "search"),
    };

    pub(super) fn print(self, out: &mut impl Write) -> Result<()> {
        writeln!(out, "\nBuilt in:")?;
        for (is_there, name, means) in [
            (self.browser, "browser", "models behind web pages"),
            (self.keyring, "keyring", "keys in the system's keyring"),
            (self.local, "local", "models in files, run by ptk itself"),
            (self.mcp, "mcp", "tools for MCP clients"),
            (self.otel, "otel", "spans and metrics for OpenTelemetry"),
            (self.search, "search", "the code index"),
        ] {
            let sign = if is_there { "ok" } else { "no" };
            writeln!(out, "  {sign:<8} {name:<26} {means}")?;
        }
        Ok(())
    }
}

/// A folder that ptk keeps things in.
#[derive(Debug, Serialize)]
pub(super) struct Folder {
    what: &'static str,
    path: Option<String>,
    exists: bool,
    /// Whether it can be written, or created where it does not exist.
    writable: bool,
    #[serde(skip)]
    means: &'static str,
    #[serde(skip)]
    shown: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    why: Option<String>,
}

impl Folder {
    /// The folders for configuration, state, what can be made anew, and models.
    pub(super) fn all() -> Vec<Self> {
        let state = ptk_sandbox::state_folder();
        let cache = state.as_ref().map(|state| state.join("index"));
        let library = Library::open_default().ok();
        let data = library.map(|library| library.folder().to_owned());
        vec![
            Self::at(
                "config",
                ptk_sandbox::config_folder(),
                "settings, keys and rules",
            ),
            Self::at(
                "state",
                state,
                "sessions, undo, what was found out about models",
            ),
            Self::at("cache", cache, "the code index, which can be made anew"),
            Self::at("data", data, MODELS),
        ]
    }

    fn at(what: &'static str, path: Option<PathBuf>, means: &'static str) -> Self {
        let tried = match &path {
            Some(path) => can_be_written(path).map_err(|error| error.to_string()),
            None => Err("no variable says where it is; set HOME".to_owned()),
        };
        Self {
            what,
            exists: path.as_ref().is_some_and(|path| path.is_dir()),
            shown: path.as_deref().map(short_path).unwrap_or_default(),
            path: path.map(|path| path.display().to_string()),
            writable: tried.is_ok(),
            means,
            why: tried.err(),
        }
    }

    pub(super) fn print(folders: &[Self], out: &mut impl Write) -> Result<()> {
        writeln!(out, "\nFolders:")?;
        for it in folders {
            let sign = if it.writable { "ok" } else { "UNUSABLE" };
            let note = if it.exists || !it.writable {
                ""
            } else {
                "; is created when it is needed"
            };
            let (what, means) = (it.what, it.means);
            writeln!(out, "  {sign:<8} {what:<26} {means}{note}")?;
            if !it.shown.is_empty() {
                writeln!(out, "{:11}{}", "", in_line(&it.shown))?;
            }
            if let Some(why) = &it.why {
                writeln!(out, "{:11}It cannot be written: {}", "", in_line(why))?;
            }
        }
        Ok(())
    }
}

/// Fails if nothing can be written in a folder or, where it does not exist, in
/// the nearest one above it.
fn can_be_written(path: &Path) -> io::Result<()> {
    let path = std::path::absolute(path)?;
    let there = path.ancestors().find(|it| it.symlink_metadata().is_ok());
    let there = there.unwrap_or(&path);
    // The file has no name, and nothing of it stays.
    tempfile::tempfile_in(there).map(|_: File| ())
}
