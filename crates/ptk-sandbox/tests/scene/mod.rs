//! A workspace in a folder of its own, with a secret beside it.

#![allow(
    dead_code,
    clippy::unwrap_used,
    reason = "each test file uses a part of it; the lints allow the rest inside tests only"
)]

use std::fs;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use ptk_sandbox::{PathError, Place, Workspace, is_temporary_name};
use tempfile::TempDir;

pub(crate) const SECRET: &str = "secret";

pub(crate) struct Scene {
    folder: TempDir,
    pub(crate) workspace: Workspace,
}

impl Scene {
    /// `space` is the workspace, `outside/secret.txt` must stay untouched.
    pub(crate) fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("space")).unwrap();
        fs::create_dir(folder.path().join("outside")).unwrap();
        fs::write(folder.path().join("outside/secret.txt"), SECRET).unwrap();
        let workspace = Workspace::open(folder.path().join("space")).unwrap();
        Self { folder, workspace }
    }

    /// A path in the workspace.
    pub(crate) fn inside(&self, path: &str) -> PathBuf {
        self.workspace.root().join(path)
    }

    /// A path beside the workspace.
    pub(crate) fn beside(&self, path: &str) -> PathBuf {
        self.folder.path().canonicalize().unwrap().join(path)
    }

    pub(crate) fn place(&self, path: &str) -> Place {
        self.workspace.resolve(path).unwrap()
    }

    pub(crate) fn write(&self, path: &str, content: &str) {
        let path = self.inside(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    }

    pub(crate) fn link(&self, target: impl AsRef<Path>, path: &str) {
        std::os::unix::fs::symlink(target, self.inside(path)).unwrap();
    }

    pub(crate) fn content(&self, path: &str) -> String {
        fs::read_to_string(self.inside(path)).unwrap()
    }

    /// Nothing outside was changed, nothing was left behind.
    pub(crate) fn assert_untouched(&self) {
        let outside = self.beside("outside");
        let names: Vec<_> = fs::read_dir(&outside)
            .unwrap()
            .map(|entry| entry.unwrap().file_name())
            .collect();
        assert_eq!(names, ["secret.txt"]);
        let secret = fs::read_to_string(outside.join("secret.txt")).unwrap();
        assert_eq!(secret, SECRET);
        assert_eq!(
            temporary_files(self.workspace.root()),
            Vec::<PathBuf>::new()
        );
    }
}

pub(crate) fn read(place: &Place) -> Result<String, PathError> {
    let mut content = String::new();
    place.open()?.read_to_string(&mut content).unwrap();
    Ok(content)
}

/// The temporary files in a folder and all beneath it.
pub(crate) fn temporary_files(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).unwrap().map(Result::unwrap) {
        if entry.file_type().unwrap().is_dir() {
            found.extend(temporary_files(&entry.path()));
        } else if is_temporary_name(&entry.file_name()) {
            found.push(entry.path());
        }
    }
    found
}

/// The message and the hint, without what differs from run to run.
pub(crate) fn told(scene: &Scene, error: &PathError) -> String {
    let hint = error.hint().unwrap_or_default();
    format!("{error}\n{hint}").replace(scene.beside("").to_str().unwrap(), "/…/")
}
