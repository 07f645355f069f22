//! Folders that are opened one after another: those that lie above the next one
//! too are not opened again.

use std::ffi::OsString;
use std::io;
use std::path::Path;

use ptk_sandbox::Folder;

/// A folder, and those on the way to the one below it that was used last.
#[derive(Debug)]
pub(super) struct Opened {
    root: Folder,
    way: Vec<(OsString, Folder)>,
}

impl Opened {
    pub(super) const fn new(root: Folder) -> Self {
        let way = Vec::new();
        Self { root, way }
    }

    /// Forgets the handles: one may stand for a folder that is gone.
    pub(super) fn forget(&mut self) {
        self.way.clear();
    }

    /// Opens the folder at a path, name by name.
    pub(super) fn enter(&mut self, path: &Path) -> io::Result<&Folder> {
        let known = self.way.iter().map(|(name, _)| name.as_os_str());
        let known = known.zip(path).take_while(|(one, two)| one == two).count();
        self.way.truncate(known);
        for name in path.iter().skip(known) {
            let above = self.way.last().map_or(&self.root, |(_, folder)| folder);
            let folder = above.enter(name)?;
            self.way.push((name.to_owned(), folder));
        }
        Ok(self.way.last().map_or(&self.root, |(_, folder)| folder))
    }
}
