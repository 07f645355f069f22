//! Which tools work on files: rules about their paths hold for every call that
//! does the same to such a path.

use std::collections::BTreeMap;

use crate::{Effect, Effects};

/// Tools by their effects.
#[derive(Debug, Clone, Default)]
pub(super) struct FileTools {
    known: BTreeMap<String, Effects>,
}

impl FileTools {
    pub(super) fn add(&mut self, tool: &str, effects: Effects) {
        self.known.insert(tool.to_owned(), effects);
    }

    /// Whether rules about this tool are about reading. A tool that is not
    /// known may have been meant to read or to write.
    pub(super) fn may_read(&self, tool: &str) -> bool {
        let reads = |it: &Effects| it.has(Effect::Read) && it.is_read_only();
        self.known.get(tool).is_none_or(reads)
    }

    /// Whether rules about this tool are about writing, or may be.
    pub(super) fn may_write(&self, tool: &str) -> bool {
        !self.known.contains_key(tool) || self.writes(tool)
    }

    /// Whether this tool is known to write files, and to do nothing else to
    /// the world.
    pub(super) fn writes(&self, tool: &str) -> bool {
        let more = |it: &Effects| it.has(Effect::Execute) || it.has(Effect::Network);
        let writes = |it: &Effects| it.has(Effect::Write) && !more(it);
        self.known.get(tool).is_some_and(writes)
    }
}
