//! A snapshot of the machine that must not change: system files, listening
//! sockets, processes.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::PathBuf;

use super::places::PREFIX;

/// System folders that do not change by themselves.
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
/// The metadata of a file: its mode, owner and size, and the times of the last
/// changes of content and metadata.
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
        // Where other tests work, which may be in a home.
        let temporary = [
            std::env::temp_dir(),
            PathBuf::from(env!("CARGO_TARGET_TMPDIR")),
        ];
        let mut folders: Vec<PathBuf> = FOLDERS.iter().map(PathBuf::from).collect();
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
                let is_of_another_test = entry.file_name().to_string_lossy().starts_with(PREFIX);
                let Ok(meta) = entry.metadata() else {
                    continue;
                };
                if is_of_another_test || temporary.contains(&entry.path()) {
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

    /// The paths that have changed.
    pub(super) fn changed(&self, later: &Self) -> Vec<PathBuf> {
        let all: BTreeSet<_> = self.files.keys().chain(later.files.keys()).collect();
        let files = all
            .into_iter()
            .filter(|path| self.files.get(*path) != later.files.get(*path));
        let names = self.names.symmetric_difference(&later.names);
        files.chain(names).cloned().collect()
    }
}

/// The processes that were started from a folder, or are named after it.
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
