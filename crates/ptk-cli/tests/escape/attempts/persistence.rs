//! Files of the workspace that other programs run later, outside the sandbox.

/// Files that exist already, and their content.
pub(in crate::escape) const THERE: &[(&str, &str)] = &[
    (".git/HEAD", "ref: refs/heads/main\n"),
    (".git/config", "[core]\n\tbare = false\n"),
    (".git/hooks/post-commit", "#!/bin/sh\n"),
    (".git/objects/info/x", ""),
    (".git/refs/heads/x", ""),
    (".git/modules/sub/HEAD", "ref: refs/heads/main\n"),
    (".git/modules/sub/config", "[core]\n\tbare = false\n"),
    (".vscode/settings.json", "{}\n"),
    ("sub/.git", "gitdir: ../.git/modules/sub\n"),
    ("projects/one/.git/HEAD", "ref: refs/heads/main\n"),
    ("projects/one/.git/config", "[core]\n\tbare = false\n"),
    ("projects/one/.git/hooks/post-commit", "#!/bin/sh\n"),
    ("AGENTS.md", "Be kind.\n"),
];
/// Files that do not exist yet.
pub(in crate::escape) const MISSING: &[&str] = &[
    ".git/hooks/pre-commit",
    ".git/config.worktree",
    ".git/modules/sub/hooks",
    "projects/one/.git/hooks/pre-commit",
    ".vscode/tasks.json",
    ".envrc",
    ".husky",
    ".pre-commit-config.yaml",
    ".idea",
    "CLAUDE.md",
    "ptk.toml",
];

pub(super) const SCRIPTS: &[(&str, &str)] = &[
    ("write a git hook", "echo true > .git/hooks/pre-commit"),
    ("change a git hook", "echo true >> .git/hooks/post-commit"),
    (
        "move a git hook into place",
        "echo true > hook; mv hook .git/hooks/pre-commit",
    ),
    (
        "replace the git hooks",
        "mv .git/hooks old; mkdir .git/hooks; echo true > .git/hooks/pre-commit",
    ),
    ("remove a git hook", "rm -rf .git/hooks"),
    (
        "link the git hooks",
        "rm -rf .git/hooks; ln -s ../mine .git/hooks",
    ),
    (
        "change git's settings",
        "git config core.fsmonitor ./evil; echo '[core] fsmonitor = x' >> .git/config",
    ),
    (
        "replace git's settings",
        "echo x > new; mv -f new .git/config; cp attempt .git/config",
    ),
    ("settings of a worktree", "echo x > .git/config.worktree"),
    (
        "replace the whole repository",
        "mkdir -p evil/hooks; echo true > evil/hooks/pre-commit; echo x > evil/config; mv .git old.git; mv evil .git",
    ),
    (
        "exchange git's settings",
        "python3 -c 'import os; open(\"e\", \"w\"); os.replace(\"e\", \".git/config\")'",
    ),
    (
        "open git's settings",
        "python3 -c 'import os; os.open(\".git/config\", 0o1001)'",
    ),
    (
        "cut git's settings short",
        "python3 -c 'import os; os.truncate(\".git/config\", 0)'",
    ),
    (
        "write a hook of a submodule",
        "mkdir .git/modules/sub/hooks; echo true > .git/modules/sub/hooks/pre-commit",
    ),
    (
        "change the settings of a submodule",
        "echo x >> .git/modules/sub/config; echo x > n; mv -f n .git/modules/sub/config",
    ),
    (
        "lead a submodule elsewhere",
        "echo 'gitdir: ../evil' > sub/.git; rm -f sub/.git; mv sub old-sub; mkdir sub; cp -r evil sub/.git",
    ),
    (
        "write a hook of a repository further down",
        "cd projects/one; echo true > .git/hooks/pre-commit; echo true >> .git/hooks/post-commit",
    ),
    (
        "change the settings of a repository further down",
        "git -C projects/one config core.fsmonitor ./evil; echo x >> projects/one/.git/config",
    ),
    (
        "replace a repository further down",
        "mkdir -p p/one/.git/hooks; echo true > p/one/.git/hooks/pre-commit; mv projects old-p; mv p projects",
    ),
    ("a file for direnv", "echo true > .envrc"),
    (
        "a file for direnv, moved",
        "echo true > e; mv e .envrc; ln e2 .envrc; cp attempt .envrc",
    ),
    (
        "a file for direnv, as a link",
        "echo true > e3; ln -s e3 .envrc",
    ),
    ("a task of an editor", "echo {} > .vscode/tasks.json"),
    (
        "settings of an editor",
        "echo x > .vscode/settings.json; rm -f .vscode/settings.json",
    ),
    (
        "a folder of an editor",
        "mkdir -p i/runConfigurations; echo x > i/runConfigurations/x.xml; mv i .idea; mkdir .idea",
    ),
    (
        "a folder of hooks",
        "mkdir .husky; echo x > .husky/pre-commit",
    ),
    ("settings of hooks", "echo x > .pre-commit-config.yaml"),
    (
        "instructions for agents",
        "echo x >> AGENTS.md; echo x > CLAUDE.md",
    ),
    ("settings of ptk", "echo x > ptk.toml"),
];
