//! A workspace with an index, for tests.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

use ptk_sandbox::Workspace;
use ptk_search::{Hit, Index, Query, Report};
use tempfile::TempDir;

pub(crate) struct Fixture {
    folder: TempDir,
    pub(crate) index: Index,
}

impl Fixture {
    pub(crate) fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().join("project");
        fs::create_dir(&root).unwrap();
        let index = Index::new(folder.path().join("index"), Workspace::open(root).unwrap());
        Self { folder, index }
    }

    pub(crate) fn with(files: &[(&str, &str)]) -> Self {
        let fixture = Self::new();
        for (path, text) in files {
            fixture.write(path, text);
        }
        fixture
    }

    pub(crate) fn root(&self) -> PathBuf {
        self.folder.path().join("project")
    }

    pub(crate) fn index_folder(&self) -> PathBuf {
        self.folder.path().join("index")
    }

    pub(crate) fn write(&self, path: &str, content: impl AsRef<[u8]>) {
        let path = self.root().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    }

    pub(crate) fn remove(&self, path: &str) {
        fs::remove_file(self.root().join(path)).unwrap();
    }

    pub(crate) fn update(&self) -> Report {
        update(&self.index)
    }

    /// A new index of the same files.
    pub(crate) fn fresh(&self) -> Index {
        let index = self.unmade();
        update(&index);
        index
    }

    /// An index of the same files that is not built yet.
    pub(crate) fn unmade(&self) -> Index {
        let folder = self.folder.path().join("fresh");
        if folder.exists() {
            fs::remove_dir_all(&folder).unwrap();
        }
        Index::new(folder, self.index.workspace().clone())
    }

    pub(crate) fn hits(&self, text: &str) -> Vec<Hit> {
        search(&self.index, &Query::new(text))
    }

    pub(crate) fn ids(&self, query: &Query) -> Vec<String> {
        let hits = search(&self.index, query);
        hits.into_iter().map(|hit| hit.id).collect()
    }
}

pub(crate) fn update(index: &Index) -> Report {
    index.update(&AtomicBool::new(false), &mut |_| {}).unwrap()
}

pub(crate) fn search(index: &Index, query: &Query) -> Vec<Hit> {
    index.searcher().unwrap().search(query).unwrap()
}

/// The names of the entries in a folder.
pub(crate) fn names(folder: &Path) -> Vec<String> {
    let mut names: Vec<String> = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}
