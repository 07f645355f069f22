//! Which folders are passed over: `.git`, and those that git ignores. Files
//! that git ignores are covered, since an `.env` cannot be built again.

use std::ffi::OsStr;
use std::io::Read as _;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;
use std::sync::Arc;

use ignore::Match;
use ignore::gitignore::{Gitignore, GitignoreBuilder};
use ptk_sandbox::Folder;

/// The most that is read of a `.gitignore`.
const MAX_RULES: u64 = 1024 * 1024;

/// The rules of a folder, and of those above it.
#[derive(Debug)]
pub(crate) struct Rules {
    own: Gitignore,
    above: Option<Arc<Self>>,
}

impl Rules {
    /// The rules in a folder with a `.gitignore`; those above it where that
    /// cannot be read.
    pub(crate) fn read(
        folder: &Folder,
        path: &[u8],
        above: Option<Arc<Self>>,
    ) -> Option<Arc<Self>> {
        let mut text = Vec::new();
        let file = folder.open(OsStr::new(".gitignore"));
        let read = file.and_then(|file| file.take(MAX_RULES).read_to_end(&mut text));
        if read.is_err() {
            return above;
        }
        let mut builder = GitignoreBuilder::new(Path::new(OsStr::from_bytes(path)));
        for line in String::from_utf8_lossy(&text).lines() {
            // As git does: a rule that makes no sense is passed over.
            let _ = builder.add_line(None, line);
        }
        match builder.build() {
            Ok(own) => Some(Arc::new(Self { own, above })),
            Err(_) => above,
        }
    }

    /// Whether a folder is ignored. The innermost rule counts.
    pub(crate) fn ignores(&self, folder: &[u8]) -> bool {
        let path = Path::new(OsStr::from_bytes(folder));
        match self.own.matched(path, true) {
            Match::Ignore(_) => true,
            Match::Whitelist(_) => false,
            Match::None => self.above.as_ref().is_some_and(|it| it.ignores(folder)),
        }
    }
}
