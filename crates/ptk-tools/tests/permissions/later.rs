//! Files that run, or instruct an agent, after PTK has ended.

use std::fs;
use std::os::unix::fs::symlink;

use ptk_permission::{Mode, RUN_LATER};
use ptk_protocol::ErrorType;
use ptk_tools::Permissions;
use serde_json::{Value, json};

use crate::scene::{Scene, entries};

/// Where something is written that takes effect later.
const LATER: [&str; 14] = [
    ".git/hooks/pre-commit",
    ".git/config",
    ".git/info/attributes",
    ".git/worktrees/x/config.worktree",
    "vendor/lib/.git/config",
    ".envrc",
    "src/.envrc",
    ".vscode/tasks.json",
    ".idea/runConfigurations/a.xml",
    ".husky/pre-commit",
    ".devcontainer/devcontainer.json",
    "AGENTS.md",
    ".mcp.json",
    "ptk.toml",
];

fn write(path: &str) -> Value {
    json!({"path": path, "content": "x"})
}

#[tokio::test]
async fn a_pattern_or_a_bare_tool_does_not_cover_what_runs_later() {
    let scene = Scene::new(&[
        "allow write_file",
        "allow write_file(**)",
        "allow edit(**)",
        "allow bash",
        "allow bash(cp a.txt *)",
    ]);
    for path in LATER {
        scene.call("write_file", &write(path)).await;
        let questions = scene.questions();
        assert_eq!(questions.len(), 1, "{path}");
        let said = questions[0].warnings.join("\n");
        assert!(
            said.contains("later, outside the sandbox"),
            "{path}: {said}"
        );
        assert!(said.contains(path), "{path}: {said}");
        assert!(questions[0].rules.is_empty(), "{path}");
    }
    assert!(scene.call("write_file", &write("src/new.rs")).await.success);
}

#[tokio::test]
async fn in_mode_auto_only_a_rule_that_names_the_file_lets_it_be_written() {
    let rules = entries(&[
        "allow write_file(.envrc)",
        "allow write_file(**)",
        "allow write_file(.husky/*)",
        "allow edit(ptk.toml)",
    ]);
    let scene = Scene::with(Permissions::new(Mode::Auto).rules(rules));
    assert!(scene.call("write_file", &write(".envrc")).await.success);
    for path in LATER.into_iter().filter(|path| *path != ".envrc") {
        let result = scene.call("write_file", &write(path)).await;
        assert_eq!(
            result.error_type,
            Some(ErrorType::PermissionError),
            "{path}"
        );
        assert!(
            result.error.contains("later, outside the sandbox"),
            "{path}"
        );
        assert!(scene.questions().is_empty(), "{path}");
    }
    fs::write(scene.path("ptk.toml"), "one\n").unwrap();
    let edit = json!({"path": "ptk.toml", "edits": [{"old_string": "one", "new_string": "1"}]});
    assert!(scene.call("edit", &edit).await.success);
    fs::write(scene.path("AGENTS.md"), "one\n").unwrap();
    let edit = json!({"path": "AGENTS.md", "edits": [{"old_string": "one", "new_string": "1"}]});
    assert!(!scene.call("edit", &edit).await.success);
}

#[tokio::test]
async fn a_link_is_what_it_leads_to() {
    let scene = Scene::with(Permissions::new(Mode::Auto));
    fs::create_dir_all(scene.path(".git/hooks")).unwrap();
    symlink("../.git/hooks", scene.path("src/tools")).unwrap();
    symlink("../.envrc", scene.path("src/env.txt")).unwrap();
    for path in ["src/tools/pre-push", "src/env.txt"] {
        let result = scene.call("write_file", &write(path)).await;
        assert_eq!(
            result.error_type,
            Some(ErrorType::PermissionError),
            "{path}"
        );
        assert_eq!(scene.verdict(&format!("echo x > {path}")).await, "denied");
    }
}

#[tokio::test]
async fn a_folder_is_known_as_one_of_git_s_by_what_is_in_it() {
    let scene = Scene::with(Permissions::new(Mode::Auto));
    fs::create_dir_all(scene.path("bare/objects")).unwrap();
    fs::create_dir_all(scene.path("bare/refs")).unwrap();
    fs::create_dir_all(scene.path("half/refs")).unwrap();
    fs::write(scene.path("bare/HEAD"), "ref: refs/heads/main\n").unwrap();
    fs::write(scene.path("half/HEAD"), "ref: refs/heads/main\n").unwrap();
    for path in ["bare/config", "bare/hooks/post-checkout", "half/objects/x"] {
        let result = scene.call("write_file", &write(path)).await;
        assert_eq!(
            result.error_type,
            Some(ErrorType::PermissionError),
            "{path}"
        );
    }
    for path in ["bare/notes.txt", "half/config", "src/config"] {
        assert!(
            scene.call("write_file", &write(path)).await.success,
            "{path}"
        );
    }
}

#[tokio::test]
async fn commands_that_name_such_a_file_are_told_apart() {
    let asking = Scene::new(&["allow bash", "allow write_file(**)"]);
    let auto = Scene::with(Permissions::new(Mode::Auto));
    let named = Scene::with(Permissions::new(Mode::Auto).rules(entries(&[
        "allow write_file(.envrc)",
        "allow write_file(src/.envrc)",
    ])));
    for line in [
        "echo x > .envrc",
        "echo x >> .envrc",
        "cp a.txt .envrc",
        "mv a.txt .envrc",
        "echo x | tee .envrc",
        "sed -i s/a/b/ .envrc",
        "cd src && echo x > .envrc",
        "cat > .envrc <<EOF\n$x\nEOF",
    ] {
        asking.bash(line).await;
        let warnings = asking.questions().pop().unwrap().warnings.join("\n");
        assert!(
            warnings.contains("runs later, outside the sandbox"),
            "{line}: {warnings}"
        );
        assert_eq!(auto.verdict(line).await, "denied", "{line}");
        assert_eq!(named.verdict(line).await, "runs", "{line}");
    }
    for line in ["rm .git/index.lock", "cat .envrc", "echo x > env.txt"] {
        assert_eq!(auto.verdict(line).await, "runs", "{line}");
    }
}

#[tokio::test]
async fn commands_that_change_the_settings_of_git_are_told_apart() {
    let asking = Scene::new(&["allow bash"]);
    let auto = Scene::with(Permissions::new(Mode::Auto));
    for line in [
        "git config core.fsmonitor ./x",
        "git -c a.b=c config --add core.pager x",
        "git config --unset core.pager x",
        "git remote add origin ../x",
        "git submodule add ../x",
        "git branch -u origin/main",
        "git init",
    ] {
        asking.bash(line).await;
        let warnings = asking.questions().pop().unwrap().warnings.join("\n");
        assert!(
            warnings.contains("runs later, outside the sandbox"),
            "{line}: {warnings}"
        );
        assert_eq!(auto.verdict(line).await, "denied", "{line}");
    }
    for line in [
        "git config user.name",
        "git config --get user.name",
        "git config --list",
        "git remote -v",
        "git branch",
        "git status",
    ] {
        assert_eq!(auto.verdict(line).await, "runs", "{line}");
    }
}

#[test]
fn the_list_can_be_turned_into_paths() {
    let root = std::path::Path::new("/ws");
    let paths: Vec<_> = RUN_LATER.iter().filter_map(|it| it.in_root(root)).collect();
    assert!(paths.contains(&root.join(".git")));
    assert!(paths.contains(&root.join(".vscode/tasks.json")));
    assert!(
        paths
            .iter()
            .all(|path| !path.display().to_string().contains('*'))
    );
}
