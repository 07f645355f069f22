//! Trees in the store: the workspace as it was before a command.

use std::fs;
use std::sync::Arc;

use crate::UndoError;
use crate::store::Store;
use crate::tree::Tree;

/// The file that names the tree that was saved last.
const LAST: &str = "trees/last";

impl Store {
    /// Saves a tree; returns its name.
    pub(crate) fn save_tree(&self, tree: &Tree) -> Result<String, UndoError> {
        let failed = |error| self.failed(error);
        let name = crate::new_id("tree");
        let bytes = postcard::to_stdvec(tree)
            .map_err(|error| failed(std::io::Error::other(error.to_string())))?;
        self.write(&format!("trees/{name}"), &bytes)
            .map_err(failed)?;
        ptk_sandbox::write_private(&self.path(LAST), &name).map_err(failed)?;
        self.added(bytes.len() as u64);
        Ok(name)
    }

    pub(crate) fn load_tree(&self, name: &str) -> Result<Tree, UndoError> {
        let failed = |error| self.failed(error);
        let bytes = fs::read(self.path("trees").join(name)).map_err(failed)?;
        postcard::from_bytes(&bytes)
            .map_err(|error| failed(std::io::Error::other(format!("{name} is damaged: {error}"))))
    }

    /// The name of the tree that was saved last.
    pub(crate) fn last_tree_name(&self) -> Option<String> {
        fs::read_to_string(self.path(LAST)).ok()
    }

    /// The tree that was saved last. If it cannot be read, everything is read
    /// again.
    pub(crate) fn last_tree(&self) -> Option<(String, Arc<Tree>)> {
        let name = self.last_tree_name()?;
        let tree = self.load_tree(&name).ok()?;
        Some((name, Arc::new(tree)))
    }
}
