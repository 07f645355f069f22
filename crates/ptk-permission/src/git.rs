//! Commands of git that change a repository's settings. Git obeys these outside
//! the sandbox, too, and some of them name programs to run.

use std::path::PathBuf;

use crate::shell::{ShellCommand, Word};

/// Options of git itself that are followed by a value.
const WITH_VALUE: [&str; 4] = ["-C", "-c", "--git-dir", "--work-tree"];
/// Options of `git config` that change nothing.
const READS: [&str; 8] = [
    "--get",
    "--get-all",
    "--get-regexp",
    "--get-urlmatch",
    "--list",
    "-l",
    "get",
    "list",
];
/// Subcommands that change a remote.
const REMOTE: [&str; 6] = ["add", "remove", "rm", "rename", "set-url", "set-branches"];
/// Subcommands that change a submodule's settings.
const SUBMODULE: [&str; 6] = ["add", "init", "deinit", "sync", "set-url", "set-branch"];
/// Options of `git branch` and `git push` that note where a branch belongs.
const UPSTREAM: [&str; 4] = [
    "-u",
    "--set-upstream",
    "--set-upstream-to",
    "--unset-upstream",
];

/// The files of a repository that a command changes and that take effect later.
pub(super) fn settings_written(command: &ShellCommand) -> Vec<PathBuf> {
    if command.name() != Some("git") {
        return Vec::new();
    }
    let mut words = command.args().iter().map(Word::start);
    let mut subcommand = None;
    while let Some(word) = words.next() {
        if WITH_VALUE.contains(&word) {
            words.next();
        } else if !word.starts_with('-') {
            subcommand = Some(word);
            break;
        }
    }
    let rest: Vec<&str> = words.collect();
    let has = |known: &[&str]| rest.iter().any(|word| known.contains(word));
    let plain = rest.iter().filter(|word| !word.starts_with('-')).count();
    let written: &[&str] = match subcommand {
        Some("init") => &[".git"],
        Some("config") if !has(&READS) && plain != 1 => &[".git/config"],
        Some("remote") if has(&REMOTE) => &[".git/config"],
        Some("submodule") if has(&SUBMODULE) => &[".git/config", ".gitmodules"],
        Some("branch" | "push") if has(&UPSTREAM) => &[".git/config"],
        _ => &[],
    };
    written.iter().map(PathBuf::from).collect()
}
