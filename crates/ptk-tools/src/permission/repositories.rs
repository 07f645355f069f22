//! The git repositories of a workspace besides the one in its root.
//!
//! Git runs their hooks as well, those of submodules even where only the
//! outer repository is asked for its status. They are looked for before each
//! command, so the search has an end: it goes from the root downwards, and
//! what lies deeper or behind too many folders is not found.

use std::collections::VecDeque;
use std::fs;
use std::path::{Path, PathBuf};

/// How many folders lie between the root and a repository at most.
const DEEPEST: usize = 4;
/// How many folders are looked into.
const MOST_FOLDERS: usize = 256;
/// How many repositories are found.
const MOST_FOUND: usize = 32;
/// Folders of packages, which are many, and rarely hold a repository.
const LEFT_OUT: [&str; 2] = ["node_modules", "target"];
/// What of a git folder takes effect later.
const PARTS: [&str; 4] = ["config", "config.worktree", "hooks", "info/attributes"];

/// What takes effect later in these repositories, relative to the root. It
/// need not be there.
pub(crate) fn later_parts(root: &Path) -> Vec<PathBuf> {
    let mut search = Search {
        root,
        folders_left: MOST_FOLDERS,
        found: Vec::new(),
    };
    // Submodules and worktrees keep theirs in the git folder of the root.
    search.look_into(Path::new(".git/modules"));
    search.look_into(Path::new(".git/worktrees"));
    search.look_into(Path::new(""));
    search.found.iter().flat_map(Found::parts).collect()
}

enum Found {
    /// A folder that git keeps its own in.
    Folder(PathBuf),
    /// A file that says where that folder is.
    Reference(PathBuf),
}

impl Found {
    fn parts(&self) -> Vec<PathBuf> {
        match self {
            Self::Folder(folder) => PARTS.iter().map(|part| folder.join(part)).collect(),
            Self::Reference(file) => vec![file.clone()],
        }
    }
}

struct Search<'a> {
    root: &'a Path,
    folders_left: usize,
    found: Vec<Found>,
}

impl Search<'_> {
    /// Looks into a folder and those below it, the nearest first. Links are
    /// not followed.
    fn look_into(&mut self, first: &Path) {
        let mut waiting = VecDeque::from([(first.to_owned(), 0)]);
        while let Some((folder, depth)) = waiting.pop_front() {
            if self.folders_left == 0 || self.found.len() >= MOST_FOUND {
                return;
            }
            self.folders_left -= 1;
            let Ok(entries) = fs::read_dir(self.root.join(&folder)) else {
                continue;
            };
            let mut folders = Vec::new();
            let (mut has_head, mut has_objects) = (false, false);
            for entry in entries.flatten() {
                let (name, Ok(kind)) = (entry.file_name(), entry.file_type()) else {
                    continue;
                };
                let path = folder.join(&name);
                let is_git = name.eq_ignore_ascii_case(".git");
                has_head |= kind.is_file() && name == "HEAD";
                has_objects |= kind.is_dir() && name == "objects";
                if kind.is_file() && is_git {
                    self.found.push(Found::Reference(path));
                } else if kind.is_dir() && is_git && depth > 0 {
                    self.found.push(Found::Folder(path));
                } else if kind.is_dir() && !is_git && !LEFT_OUT.iter().any(|it| name == *it) {
                    folders.push((path, depth + 1));
                }
            }
            // A worktree has its objects elsewhere.
            let is_gits = has_head && (has_objects || first.starts_with(".git"));
            if is_gits && depth > 0 {
                self.found.push(Found::Folder(folder));
            } else if depth < DEEPEST {
                waiting.extend(folders);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    fn workspace(files: &[&str]) -> tempfile::TempDir {
        let root = tempfile::tempdir().unwrap();
        for file in files {
            let path = root.path().join(file);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, "").unwrap();
        }
        root
    }

    fn found(root: &tempfile::TempDir) -> Vec<String> {
        let parts = later_parts(root.path()).into_iter();
        let mut parts: Vec<_> = parts.map(|it| it.display().to_string()).collect();
        parts.retain(|it| !it.contains("/info/") && !it.ends_with(".worktree"));
        parts.sort();
        parts
    }

    #[test]
    fn repositories_are_found_where_git_keeps_them() {
        let root = workspace(&[
            ".git/HEAD",
            ".git/modules/libs/one/HEAD",
            ".git/worktrees/two/HEAD",
            "libs/one/.git",
            "projects/three/.git/HEAD",
            "bare.git/HEAD",
            "bare.git/objects/x",
            "docs/HEAD",
            "src/main.rs",
        ]);
        assert_eq!(
            found(&root),
            [
                ".git/modules/libs/one/config",
                ".git/modules/libs/one/hooks",
                ".git/worktrees/two/config",
                ".git/worktrees/two/hooks",
                "bare.git/config",
                "bare.git/hooks",
                "libs/one/.git",
                "projects/three/.git/config",
                "projects/three/.git/hooks",
            ]
        );
    }

    #[test]
    fn the_root_alone_has_none_besides_itself() {
        assert_eq!(found(&workspace(&[".git/HEAD", "src/a"])), [""; 0]);
        // A workspace may itself be a git folder, or a worktree.
        assert_eq!(found(&workspace(&["HEAD", "objects/x"])), [""; 0]);
        assert_eq!(found(&workspace(&[".git"])), [".git"]);
    }

    #[test]
    fn a_search_has_an_end() {
        let many: Vec<_> = (0..400).map(|it| format!("{it:03}/a/.git/HEAD")).collect();
        let many: Vec<_> = many.iter().map(String::as_str).collect();
        assert!(found(&workspace(&many)).len() <= 2 * MOST_FOUND);
        let deep = workspace(&["a/b/c/d/.git/HEAD", "1/2/3/4/5/.git/HEAD"]);
        assert_eq!(found(&deep), ["a/b/c/d/.git/config", "a/b/c/d/.git/hooks"]);
    }

    #[test]
    fn links_are_not_followed() {
        let elsewhere = workspace(&["it/.git/HEAD"]);
        let root = workspace(&["a"]);
        symlink(elsewhere.path(), root.path().join("link")).unwrap();
        assert_eq!(found(&root), [""; 0]);
    }
}
