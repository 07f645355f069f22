//! Files of the user's own that no tool reads or writes, even where they lie in
//! a workspace: the keys of services.
//!
//! A file is recognised by what it is, not by its path: whatever links lead to
//! it, and whatever name it is opened by, its number on its disk is the same.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use cap_fs_ext::MetadataExt as _;
use cap_std::fs::Metadata;

use crate::config_folder::key_file;
use crate::system::is_same_name;

/// The files that no tool reads or writes.
#[derive(Debug, Clone)]
pub(crate) struct Secrets {
    paths: Arc<[PathBuf]>,
}

/// Those of them that exist: the numbers of their disks, and their own.
#[derive(Debug, Clone, Default)]
pub(crate) struct SecretFiles {
    paths: Arc<[PathBuf]>,
    numbers: Arc<[(u64, u64)]>,
}

impl Secrets {
    /// The files in which PTK keeps the user's keys.
    pub(crate) fn of_user() -> Self {
        let paths: Vec<PathBuf> = key_file().into_iter().flat_map(with_new).collect();
        Self {
            paths: paths.into(),
        }
    }

    /// These files, and another one.
    pub(crate) fn and(&self, path: &Path) -> Self {
        let path = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
        let paths = self.paths.iter().cloned().chain(with_new(path));
        Self {
            paths: paths.collect(),
        }
    }

    /// The files that exist now.
    pub(crate) fn files(&self) -> SecretFiles {
        SecretFiles {
            paths: Arc::clone(&self.paths),
            numbers: numbers(&self.paths),
        }
    }

    /// Whether one of the files is, or would be, at this path without links.
    pub(crate) fn are_at(&self, path: &Path) -> bool {
        let paths = self.real_paths();
        paths
            .iter()
            .any(|it| is_same_name(it.as_os_str(), path.as_os_str()))
    }

    /// Where the files really are, or would be.
    pub(crate) fn real_paths(&self) -> Vec<PathBuf> {
        self.paths.iter().filter_map(|path| named(path)).collect()
    }
}

impl SecretFiles {
    /// Whether a file is one of them.
    pub(crate) fn hold(&self, metadata: &Metadata) -> bool {
        holds(&self.numbers, metadata)
    }

    /// Whether a file is one of them, or has become one since they were
    /// numbered: a new one always comes under one of their names.
    pub(crate) fn hold_under(&self, name: &OsStr, metadata: &Metadata) -> bool {
        let is_named = |path: &PathBuf| path.file_name().is_some_and(|it| is_same_name(it, name));
        self.hold(metadata)
            || self.paths.iter().any(is_named) && holds(&numbers(&self.paths), metadata)
    }
}

fn numbers(paths: &[PathBuf]) -> Arc<[(u64, u64)]> {
    paths.iter().filter_map(|path| number(path)).collect()
}

fn holds(numbers: &[(u64, u64)], metadata: &Metadata) -> bool {
    !numbers.is_empty() && numbers.contains(&(metadata.dev(), metadata.ino()))
}

/// A key file, and the new one that is about to take its place.
fn with_new(path: PathBuf) -> [PathBuf; 2] {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let new = path.with_file_name(format!(".{name}.ptk-new"));
    [path, new]
}

/// The path, with a folder that no link leads to.
fn named(path: &Path) -> Option<PathBuf> {
    let folder = path.parent()?;
    let folder = folder.canonicalize().unwrap_or_else(|_| folder.to_owned());
    Some(folder.join(path.file_name()?))
}

fn number(path: &Path) -> Option<(u64, u64)> {
    // A pipe in its place is not waited for.
    fs::metadata(path).ok().filter(fs::Metadata::is_file)?;
    let metadata = Metadata::from_file(&File::open(path).ok()?).ok()?;
    Some((metadata.dev(), metadata.ino()))
}

#[cfg(all(test, unix))]
mod tests {
    use std::io;
    use std::os::unix::fs::symlink;

    use super::*;
    use crate::walk::{IgnoreRules, Visitor, Walk, WalkEntry, WalkOptions};
    use crate::{Expect, PathError, Workspace};

    const SECRET: &str = "sk-secret";

    /// What a walk could read, by path.
    struct Contents(Vec<(String, String)>);

    impl Visitor for Contents {
        const IS_WORK: bool = true;

        fn visit(&mut self, found: &WalkEntry<'_>) {
            let path = String::from_utf8_lossy(found.path()).into_owned();
            let text = found.open().and_then(|(file, _)| io::read_to_string(file));
            self.0.extend(text.map(|text| (path, text)));
        }
    }

    fn is_secret<T>(result: &Result<T, PathError>) -> bool {
        matches!(result, Err(PathError::Secret { .. }))
    }

    #[test]
    fn a_secret_is_neither_read_nor_written_by_any_name() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        let workspace = Workspace::open(folder.path()).unwrap();
        let workspace = workspace.hiding(path("config/keys.json"));
        let place = |name: &str| workspace.resolve(name).unwrap();
        fs::create_dir(path("config")).unwrap();
        // Before it exists, nothing else is put in its place.
        let new = place("config/keys.json").replace(b"{}", Expect::Missing);
        assert!(is_secret(&new));

        fs::write(path("config/keys.json"), SECRET).unwrap();
        fs::write(path("config/other.json"), "other").unwrap();
        fs::hard_link(path("config/keys.json"), path("second")).unwrap();
        symlink("config/keys.json", path("link")).unwrap();
        symlink("config", path("folder")).unwrap();
        symlink(path("config/keys.json"), path("absolute")).unwrap();
        for name in [
            "config/keys.json",
            "folder/keys.json",
            "link",
            "second",
            "absolute",
        ] {
            assert!(is_secret(&place(name).open()), "{name}");
            assert!(is_secret(&place(name).fingerprint()), "{name}");
            assert!(
                is_secret(&place(name).replace(b"", Expect::Anything)),
                "{name}"
            );
        }
        let options = WalkOptions {
            hidden: true,
            depth: usize::MAX,
            everything: false,
        };
        let start = place("folder");
        let walk = Walk::new(&start, options, IgnoreRules::above(&start)).unwrap();
        let found = walk.run(|_| true, || Contents(Vec::new())).into_iter();
        let found: Vec<_> = found.flat_map(|it| it.0).collect();
        assert_eq!(found, [("other.json".to_owned(), "other".to_owned())]);

        // Another file under the old name of the secret is closed, even in a
        // folder that was opened before, and so is the new one that is about to
        // replace it.
        let opened = place("config").folder().unwrap();
        fs::write(path("new"), SECRET).unwrap();
        fs::rename(path("new"), path("config/keys.json")).unwrap();
        assert!(opened.open("keys.json".as_ref()).is_err());
        assert!(opened.open("other.json".as_ref()).is_ok());
        fs::write(path("config/.keys.json.ptk-new"), SECRET).unwrap();
        for name in ["folder/keys.json", "config/.keys.json.ptk-new"] {
            assert!(is_secret(&place(name).open()), "{name}");
        }
        assert!(place("config/other.json").open().is_ok());
    }
}
