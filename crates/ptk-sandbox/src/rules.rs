//! Which folders git ignores: what is in them can be built again. Files that it
//! ignores are another thing, since an `.env` cannot.

use std::ffi::OsStr;
use std::fs::File;
use std::io::Read as _;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;
use std::sync::Arc;

use ignore::Match;
use ignore::gitignore::{Gitignore, GitignoreBuilder};

/// The most that is read of a `.gitignore`.
const MAX_RULES: u64 = 1024 * 1024;

/// What a folder's `.gitignore` says, and those above it.
#[derive(Debug)]
pub struct Rules {
    own: Gitignore,
    above: Option<Arc<Self>>,
}

impl Rules {
    /// The rules in a folder whose path is given, by its `.gitignore`; those
    /// above it where there is none, or it cannot be read.
    #[must_use]
    pub fn read(file: Option<File>, path: &[u8], above: Option<Arc<Self>>) -> Option<Arc<Self>> {
        let mut text = Vec::new();
        let read = file.map(|file| file.take(MAX_RULES).read_to_end(&mut text));
        if !matches!(read, Some(Ok(_))) {
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

    /// Whether a folder with this path is ignored. The innermost rule counts.
    #[must_use]
    pub fn ignores(&self, folder: &[u8]) -> bool {
        let path = Path::new(OsStr::from_bytes(folder));
        match self.own.matched(path, true) {
            Match::Ignore(_) => true,
            Match::Whitelist(_) => false,
            Match::None => self.above.as_ref().is_some_and(|it| it.ignores(folder)),
        }
    }
}
