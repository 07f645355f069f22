//! A snapshot of what must stay as it is: files of the system, sockets at which
//! somebody waits, processes.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::PathBuf;

use super::places::PREFIX;

/// Folders of the system that nothing changes by itself.
const FOLDERS: [&str; 8] = [
    "/etc",
    "/usr",
    "/opt",
    "/srv",
    "/boot",
    "/home",
    "/bin",
    "/var/lib/dpkg",
];
/// What the system knows of a file: its mode, its owner, its size, and when it
/// and what is known of it were changed.
type File = (u32, u32, u64, i64, i64);

#[derive(PartialEq, Eq)]
pub(super) struct Machine {
    files: BTreeMap<PathBuf, File>,
    /// The names in `/` and `/dev`.
    names: BTreeSet<PathBuf>,
}

impl Machine {
    pub(super) fn look() -> Self {
        let mut files = BTreeMap::new();
        let mut folders: Vec<PathBuf> = FOLDERS.iter().map(PathBuf::from).collect();
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
                let is_of_another_test = entry.file_name().to_string_lossy().starts_with(PREFIX);
                let Ok(meta) = entry.metadata() else {
                    continue;
                };
                if is_of_another_test {
                    continue;
                }
                if meta.is_dir() {
                    folders.push(entry.path());
                }
                let known = (
                    meta.mode(),
                    meta.uid(),
                    meta.size(),
                    meta.mtime(),
                    meta.ctime(),
                );
                files.insert(entry.path(), known);
            }
        }
        let names = ["/", "/dev"].into_iter().flat_map(|folder| {
            let entries = fs::read_dir(folder).into_iter().flatten().flatten();
            entries.map(|entry| entry.path())
        });
        Self {
            files,
            names: names.collect(),
        }
    }

    /// What is not as it was.
    pub(super) fn changed(&self, later: &Self) -> Vec<PathBuf> {
        let all: BTreeSet<_> = self.files.keys().chain(later.files.keys()).collect();
        let files = all
            .into_iter()
            .filter(|path| self.files.get(*path) != later.files.get(*path));
        let names = self.names.symmetric_difference(&later.names);
        files.chain(names).cloned().collect()
    }
}

/// Processes that were started from a folder, or are named after it.
pub(super) fn processes_of(folder: &str) -> Vec<String> {
    let all = fs::read_dir("/proc").into_iter().flatten().flatten();
    all.filter_map(|entry| {
        let words = fs::read(entry.path().join("cmdline")).ok()?;
        let words = String::from_utf8_lossy(&words).replace('\0', " ");
        let place = fs::read_link(entry.path().join("cwd")).unwrap_or_default();
        let is_of_it = words.contains(folder) || place.starts_with(folder);
        is_of_it.then_some(words)
    })
    .collect()
}
