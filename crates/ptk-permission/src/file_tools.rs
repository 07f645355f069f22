//! Which tools work on files: rules about their paths hold for every call that
//! does the same to such a path.

use std::collections::BTreeMap;

use crate::{Effect, Effects};

/// Tools by what they do to files.
#[derive(Debug, Clone, Default)]
pub(super) struct FileTools {
    known: BTreeMap<String, FileUse>,
}

/// What a tool does to files, if it does nothing else to the world.
#[derive(Debug, Clone, Copy, Default)]
struct FileUse {
    reads: bool,
    writes: bool,
}

impl FileTools {
    /// Makes the effects of a tool known. Those of another tool of the same name
    /// still count, so that no rule stops less than before.
    pub(super) fn add(&mut self, tool: &str, effects: Effects) {
        let is_more = effects.has(Effect::Execute) || effects.has(Effect::Network);
        let known = self.known.entry(tool.to_owned()).or_default();
        known.reads |= effects.has(Effect::Read) && effects.is_read_only();
        known.writes |= effects.has(Effect::Write) && !is_more;
    }

    /// Whether rules about this tool are about reading. A tool that is not
    /// known may have been meant to read or to write.
    pub(super) fn may_read(&self, tool: &str) -> bool {
        self.known.get(tool).is_none_or(|known| known.reads)
    }

    /// Whether rules about this tool are about writing, or may be.
    pub(super) fn may_write(&self, tool: &str) -> bool {
        self.known.get(tool).is_none_or(|known| known.writes)
    }
}
