//! Files that other programs run, or that agents obey, after PTK has ended.
//!
//! The sandbox confines what a command does while it runs. A git hook, a task
//! of an editor or an instruction for an agent is written inside the sandbox
//! and takes effect outside it. No call writes such a file unless a person
//! agrees to just that, or a rule names the file itself.

use std::path::{Component, Path, PathBuf};

/// What becomes of a file later, outside the sandbox.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum LaterEffect {
    /// A program runs its content.
    Runs,
    /// An agent follows its content.
    Instructs,
}

/// Files that take effect later.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct RunsLater {
    /// The path, in the workspace or in any folder of it. It stands for
    /// everything below it, too. A `*` is the beginning of a file's name.
    pub path: &'static str,
    /// What becomes of the files.
    pub later: LaterEffect,
    /// The program or agent.
    pub by: &'static str,
}

const fn run(path: &'static str, by: &'static str) -> RunsLater {
    RunsLater {
        path,
        later: LaterEffect::Runs,
        by,
    }
}

const fn instruct(path: &'static str, by: &'static str) -> RunsLater {
    RunsLater {
        path,
        later: LaterEffect::Instructs,
        by,
    }
}

/// All files that take effect later, outside the sandbox.
pub const RUN_LATER: [RunsLater; 51] = [
    run(".git", "git"),
    run(".gitmodules", "git"),
    run(".hg", "Mercurial"),
    run(".jj", "Jujutsu"),
    run(".husky", "git, as a hook"),
    run(".githooks", "git, as a hook"),
    run(".pre-commit-config.yaml", "git, as a hook"),
    run(".pre-commit-config.yml", "git, as a hook"),
    run("lefthook.yml", "git, as a hook"),
    run(".lefthook.yml", "git, as a hook"),
    run(".envrc", "direnv"),
    run("mise.toml", "mise"),
    run(".mise.toml", "mise"),
    run(".vscode/tasks.json", "VS Code"),
    run(".vscode/settings.json", "VS Code"),
    run(".vscode/launch.json", "VS Code"),
    run(".vscode/mcp.json", "VS Code"),
    run("*.code-workspace", "VS Code"),
    run(".idea", "JetBrains editors"),
    run(".run", "JetBrains editors"),
    run(".fleet", "JetBrains editors"),
    run(".zed", "Zed"),
    run(".exrc", "Vim"),
    run(".nvimrc", "Neovim"),
    run(".nvim.lua", "Neovim"),
    run(".dir-locals.el", "Emacs"),
    run(".devcontainer", "dev containers"),
    run(".devcontainer.json", "dev containers"),
    run(".mcp.json", "agents"),
    run("ptk.toml", "ptk"),
    run(".ptk", "ptk"),
    instruct("AGENTS.md", "agents"),
    instruct("AGENTS.override.md", "agents"),
    instruct("AGENT.md", "agents"),
    instruct("CLAUDE.md", "Claude Code"),
    instruct("CLAUDE.local.md", "Claude Code"),
    instruct(".claude", "Claude Code"),
    instruct("GEMINI.md", "Gemini CLI"),
    instruct(".gemini", "Gemini CLI"),
    instruct(".codex", "Codex"),
    instruct(".cursor", "Cursor"),
    instruct(".cursorrules", "Cursor"),
    instruct(".windsurf", "Windsurf"),
    instruct(".windsurfrules", "Windsurf"),
    instruct(".clinerules", "Cline"),
    instruct(".roo", "Roo Code"),
    instruct(".kiro", "Kiro"),
    instruct(".continue", "Continue"),
    instruct(".aider.conf.yml", "Aider"),
    instruct(".github/copilot-instructions.md", "GitHub Copilot"),
    instruct(".github/instructions", "GitHub Copilot"),
];

/// Folders that programs write all the time, and which parts of them take
/// effect later.
const PARTS: [(&str, &[&str]); 3] = [
    (
        ".git",
        &[
            ".git/config",
            ".git/config.worktree",
            ".git/hooks",
            ".git/info/attributes",
        ],
    ),
    (".hg", &[".hg/hgrc"]),
    (".jj", &[".jj/repo/config.toml"]),
];

/// The parts of a git directory that take effect later, relative to it.
pub(super) fn git_parts() -> impl Iterator<Item = &'static str> {
    let parts = PARTS.iter().filter(|(folder, _)| *folder == ".git");
    let parts = parts.flat_map(|(_, parts)| *parts);
    parts.filter_map(|part| part.strip_prefix(".git/"))
}

/// The files that commands must not write, relative to the workspace: those of
/// [`RUN_LATER`] that stand in its root.
pub fn refused_to_commands() -> impl Iterator<Item = &'static str> {
    RUN_LATER.iter().flat_map(|known| {
        let parts = PARTS.iter().find(|(folder, _)| *folder == known.path);
        let parts = parts.map(|(_, parts)| parts.to_vec());
        parts.unwrap_or_else(|| vec![known.path])
    })
}

/// The entries of a git folder, whatever its own name is.
const OF_GIT: [&str; 7] = [
    "HEAD",
    "config",
    "config.worktree",
    "hooks",
    "info",
    "objects",
    "refs",
];

/// What becomes of a file later, outside the sandbox. The path is relative to
/// the workspace, and without links.
///
/// ```
/// use std::path::Path;
/// use ptk_permission::{LaterEffect, runs_later};
///
/// let hook = runs_later(Path::new("vendor/lib/.git/hooks/pre-commit"));
/// assert_eq!(hook.map(|it| it.later), Some(LaterEffect::Runs));
/// assert_eq!(runs_later(Path::new("src/main.rs")), None);
/// ```
#[must_use]
pub fn runs_later(path: &Path) -> Option<&'static RunsLater> {
    let names: Vec<String> = path
        .components()
        .filter_map(|it| match it {
            Component::Normal(name) => Some(name.to_string_lossy().to_lowercase()),
            _ => None,
        })
        .collect();
    RUN_LATER.iter().find(|known| known.fits(&names))
}

impl RunsLater {
    /// Where these files are in a workspace, if they stand in its root and
    /// their names are known.
    #[must_use]
    pub fn in_root(&self, root: &Path) -> Option<PathBuf> {
        (!self.path.contains('*')).then(|| root.join(self.path))
    }

    /// The warning for a person who is asked about such a file.
    pub(crate) fn warning(&self, file: &str) -> String {
        match self.later {
            LaterEffect::Runs => format!("{file} runs later, outside the sandbox, by {}", self.by),
            LaterEffect::Instructs => {
                format!("{file} instructs {} later, outside the sandbox", self.by)
            }
        }
    }

    fn fits(&self, names: &[String]) -> bool {
        if let Some(end) = self.path.strip_prefix('*') {
            return names.last().is_some_and(|name| name.ends_with(end));
        }
        // Some file systems ignore case.
        let path = self.path.to_lowercase();
        let parts: Vec<&str> = path.split('/').collect();
        names
            .windows(parts.len())
            .any(|names| names.iter().zip(&parts).all(|(name, part)| name == part))
    }
}

/// What becomes of a file later in this workspace, where folders count as git's
/// by what is in them: a bare repository, or one that becomes one by this file.
pub(super) fn in_workspace(root: &Path, path: &Path) -> Option<&'static RunsLater> {
    if let Some(known) = runs_later(path) {
        return Some(known);
    }
    let of_git = |folder: &Path| {
        let rest = path.strip_prefix(folder).ok()?;
        let Some(Component::Normal(first)) = rest.components().next() else {
            return None;
        };
        let first = first.to_str().filter(|name| OF_GIT.contains(name))?;
        let has = |name: &str| first == name || root.join(folder).join(name).exists();
        (has("HEAD") && has("objects") && has("refs")).then_some(&RUN_LATER[0])
    };
    let mut folders = path.ancestors().skip(1);
    folders.find_map(of_git)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_known_in_every_folder() {
        for path in [
            ".git/hooks/pre-commit",
            ".git/config",
            ".git",
            "a/b/.git/info/attributes",
            ".git/worktrees/x/config.worktree",
            ".git/modules/x/config",
            ".GIT/config",
            "sub/.envrc",
            ".vscode/tasks.json",
            ".idea/runConfigurations/x.xml",
            ".husky/pre-commit",
            "x.code-workspace",
            "docs/AGENTS.md",
            "claude.md",
            ".github/copilot-instructions.md",
            "ptk.toml",
        ] {
            assert!(runs_later(Path::new(path)).is_some(), "{path}");
        }
        for path in [
            "src/main.rs",
            ".gitignore",
            ".github/workflows/ci.yml",
            ".vscode/extensions.json",
            "my.envrc",
            "git/config",
            "AGENTS.md.txt",
        ] {
            assert_eq!(runs_later(Path::new(path)), None, "{path}");
        }
    }
}
