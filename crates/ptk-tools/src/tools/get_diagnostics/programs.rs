//! The search for programs.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use crate::system;

/// The folders in which programs are looked for.
#[derive(Debug, Clone, Default)]
pub(super) struct SearchPath {
    /// Instead of those of the `PATH`.
    folders: Option<Vec<PathBuf>>,
}

impl SearchPath {
    pub(super) fn only(folders: Vec<PathBuf>) -> Self {
        Self {
            folders: Some(folders),
        }
    }

    /// The program of this name, in one of its own folders before all others.
    /// A name with a slash is a path from the folder in which it runs.
    pub(super) fn find(&self, program: &str, homes: &[PathBuf], folder: &Path) -> Option<OsString> {
        if program.contains('/') {
            let path: PathBuf = folder.join(program).components().collect();
            return is_program(&path).then(|| path.into_os_string());
        }
        let folders = self.folders.clone().unwrap_or_else(path);
        let all = homes.iter().chain(&folders);
        let mut paths = all.map(|folder| folder.join(program));
        paths
            .find(|path| is_program(path))
            .map(PathBuf::into_os_string)
    }
}

/// The folders of the `PATH`. One that is not absolute would mean the folder
/// that PTK runs in.
fn path() -> Vec<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let folders = std::env::split_paths(&path);
    folders.filter(|folder| folder.is_absolute()).collect()
}

fn is_program(path: &Path) -> bool {
    let metadata = path.metadata();
    metadata.is_ok_and(|metadata| metadata.is_file() && system::may_run(&metadata))
}
