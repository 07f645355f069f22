//! Nested git repositories of a workspace: submodules, worktrees, bare
//! repositories and clones in subdirectories.
//!
//! Git runs their hooks too; `git status` in the root even reads the
//! configuration of submodules. The search runs before each command, so it is
//! bounded: breadth first, up to a depth and a number of directories.

use std::collections::VecDeque;
use std::fs;
use std::path::{Path, PathBuf};

use crate::runs_later::git_parts;

/// Directories between the root and a repository.
const MAX_DEPTH: usize = 4;
/// Directories read below each starting point.
const MAX_DIRECTORIES: usize = 256;
/// Repositories protected.
const MAX_REPOSITORIES: usize = 32;
/// Package and build directories, which are large and rarely hold a repository.
const SKIPPED: [&str; 2] = ["node_modules", "target"];

/// The configuration and hooks of nested repositories, relative to the root.
/// They need not exist.
#[must_use]
pub fn nested_git_paths(root: &Path) -> Vec<PathBuf> {
    let mut paths = Vec::new();
    // Submodules and worktrees keep their git directory in that of the root.
    for start in [".git/modules", ".git/worktrees", ""] {
        for repository in repositories(root, Path::new(start)) {
            match repository {
                Repository::GitDir(path) => paths.extend(git_parts().map(|part| path.join(part))),
                Repository::GitFile(path) => paths.push(path),
            }
        }
    }
    paths
}

enum Repository {
    /// Its git directory.
    GitDir(PathBuf),
    /// A `.git` file, which names the git directory.
    GitFile(PathBuf),
}

/// The repositories below a starting point, the nearest first. Links are not
/// followed.
fn repositories(root: &Path, start: &Path) -> Vec<Repository> {
    let mut found = Vec::new();
    let mut queue = VecDeque::from([(start.to_owned(), 0)]);
    for _ in 0..MAX_DIRECTORIES {
        let Some((directory, depth)) = queue.pop_front() else {
            break;
        };
        let Ok(entries) = fs::read_dir(root.join(&directory)) else {
            continue;
        };
        let mut subdirectories = Vec::new();
        let (mut has_head, mut has_objects) = (false, false);
        for entry in entries.flatten() {
            let (name, Ok(kind)) = (entry.file_name(), entry.file_type()) else {
                continue;
            };
            let path = directory.join(&name);
            let is_git = name.eq_ignore_ascii_case(".git");
            has_head |= kind.is_file() && name == "HEAD";
            has_objects |= kind.is_dir() && name == "objects";
            if kind.is_file() && is_git {
                found.push(Repository::GitFile(path));
            } else if kind.is_dir() && is_git && depth > 0 {
                found.push(Repository::GitDir(path));
            } else if kind.is_dir() && !is_git && !SKIPPED.iter().any(|it| name == *it) {
                subdirectories.push((path, depth + 1));
            }
        }
        // The git directory of a worktree has no objects of its own.
        let is_git_dir = has_head && (has_objects || start.starts_with(".git"));
        if is_git_dir && depth > 0 {
            found.push(Repository::GitDir(directory));
        } else if depth < MAX_DEPTH {
            queue.extend(subdirectories);
        }
        if found.len() >= MAX_REPOSITORIES {
            break;
        }
    }
    found.truncate(MAX_REPOSITORIES);
    found
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

    fn config_and_hooks(root: &tempfile::TempDir) -> Vec<String> {
        let parts = nested_git_paths(root.path()).into_iter();
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
            config_and_hooks(&root),
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
        assert_eq!(
            config_and_hooks(&workspace(&[".git/HEAD", "src/a"])),
            [""; 0]
        );
        // A workspace may itself be a git folder, or a worktree.
        assert_eq!(
            config_and_hooks(&workspace(&["HEAD", "objects/x"])),
            [""; 0]
        );
        assert_eq!(config_and_hooks(&workspace(&[".git"])), [".git"]);
    }

    #[test]
    fn a_search_has_an_end() {
        let many: Vec<_> = (0..400).map(|it| format!("{it:03}/a/.git/HEAD")).collect();
        let many: Vec<_> = many.iter().map(String::as_str).collect();
        assert!(config_and_hooks(&workspace(&many)).len() <= 2 * MAX_REPOSITORIES);
        let deep = workspace(&["a/b/c/d/.git/HEAD", "1/2/3/4/5/.git/HEAD"]);
        assert_eq!(
            config_and_hooks(&deep),
            ["a/b/c/d/.git/config", "a/b/c/d/.git/hooks"]
        );
    }

    #[test]
    fn links_are_not_followed() {
        let elsewhere = workspace(&["it/.git/HEAD"]);
        let root = workspace(&["a"]);
        symlink(elsewhere.path(), root.path().join("link")).unwrap();
        assert_eq!(config_and_hooks(&root), [""; 0]);
    }
}
