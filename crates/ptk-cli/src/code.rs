//! The code index of a workspace: its folder, its model and its tool.

use std::num::NonZero;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Result, anyhow};
use ptk::{Estimate, TokenCounter as _};
use ptk_local::Library;
use ptk_sandbox::Workspace;
use ptk_search::embed::Table;
use ptk_search::{Index, Meaning, RequestCodeContext, tool};

/// The folder of all indexes, in the state folder.
const FOLDER: &str = "index";
/// The digits of a workspace's folder name there.
const DIGITS: usize = 16;

/// The index of a workspace, also by meaning if an embedding model is
/// installed.
pub(crate) fn index(workspace: &Workspace) -> Result<Index> {
    let index = Index::new(place(workspace.root())?, workspace.clone());
    let files = Library::open_default()?.embeddings()?;
    let Some([weights, tokenizer, ..]) = files.as_deref() else {
        return Ok(index);
    };
    let table = Table::read(weights, tokenizer)?;
    Ok(index.with_embedder(Arc::new(table)))
}

/// The folder for the index of this workspace.
fn place(root: &Path) -> Result<PathBuf> {
    let state = ptk_sandbox::state_folder();
    let state = state
        .ok_or_else(|| anyhow!("no folder for the index: set PTK_STATE to a folder for it"))?;
    let name = blake3::hash(root.as_os_str().as_encoded_bytes()).to_hex();
    let name = name.get(..DIGITS).unwrap_or_default();
    Ok(state.join(FOLDER).join(name))
}

/// A note about what is not found by meaning, if that can be changed: a build
/// without local models does not offer one for that either.
pub(crate) fn note(meaning: Meaning) -> Option<String> {
    match meaning {
        Meaning::Whole => None,
        Meaning::NoModel if cfg!(not(feature = "local")) => None,
        meaning => Some(format!("Not by meaning: {meaning}.")),
    }
}

/// The tool that gives a model code from the index.
pub(crate) fn tool(limit: Option<NonZero<u64>>) -> RequestCodeContext {
    let open = |workspace: &Workspace| index(workspace).map_err(|error| format!("{error:#}"));
    // The count includes the estimate's margin of error.
    let count = |text: &str| Estimate.count(text) * 100 / u64::from(100 - Estimate.margin());
    let tool = RequestCodeContext::new(open, count);
    tool.limit(limit.map_or(tool::TOKEN_LIMIT, NonZero::get))
}
