//! Lines that do more than they seem to. Bash shows what they do, and no rule
//! for what they seem to do lets them run.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::{Command, Stdio};

use proptest::prelude::*;

use crate::scene::Scene;

/// One below the other.
const LINES: &str = include_str!("hostile.txt");

fn lines() -> impl Iterator<Item = String> {
    let lines = LINES.lines();
    let lines = lines.filter(|line| !line.starts_with('#') && !line.is_empty());
    lines.map(|line| line.replace('⏎', "\n"))
}

fn program(path: &Path, text: &str) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
}

/// Whether a line does more than `git status`, as bash runs it.
fn does_more(line: &str) -> bool {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    program(
        &path("programs/git"),
        "#!/bin/sh\n[ -z \"$GIT_CONFIG_COUNT\" ] || touch pwned\n",
    );
    program(&path("here/bin/git"), "#!/bin/sh\n/usr/bin/touch pwned\n");
    fs::write(path("here/rc"), "touch pwned\n").unwrap();
    let programs = path("programs");
    let mut command = Command::new("/bin/bash");
    command
        .args(["-c", line])
        .current_dir(path("here"))
        .env_clear()
        .env("PATH", format!("{}:/usr/bin:/bin", programs.display()))
        .env("HOME", folder.path())
        .envs([("CI", "1"), ("TERM", "dumb")])
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    command.status().unwrap();
    path("here/pwned").exists()
}

#[tokio::test]
async fn no_line_does_more_than_its_rule_allows() {
    for rules in [
        &["allow bash(git status)"][..],
        &["allow bash(git status *)", "allow bash(git)"],
    ] {
        let scene = Scene::new(rules);
        for line in lines() {
            assert_ne!(scene.verdict(&line).await, "runs", "{line}");
        }
    }
}

#[test]
fn bash_says_that_each_of_them_does_more() {
    let idle: Vec<String> = lines().filter(|line| !does_more(line)).collect();
    assert!(idle.is_empty(), "{idle:#?}");
    assert!(lines().count() > 80);
    assert!(!does_more("git status"));
}

/// Parts of lines, among them some that leave the file.
const PARTS: [&str; 72] = [
    "$(touch pwned)",
    "`touch pwned`",
    "<(touch pwned)",
    ">(touch pwned)",
    "touch pwned",
    "$(touch pwned)",
    "'$(touch pwned)'",
    "\"$(touch pwned)\"",
    "x[$(touch pwned)]",
    "$((",
    "))",
    "${x:-",
    "${CI",
    "${x",
    "}",
    "$[",
    "]",
    "[",
    "((",
    "(",
    ")",
    "{",
    "{1..2}",
    "{a,",
    ",",
    "'",
    "\"",
    "'",
    "\"",
    "`",
    "\\",
    "$'",
    "$\"",
    "$",
    "~",
    "=",
    ":",
    "@P",
    "#",
    "!",
    "*",
    "?",
    "+",
    "-",
    " ",
    " ",
    "\n",
    "; ",
    " && ",
    " || ",
    " | ",
    " & ",
    "\\\n",
    "<<EOF\n",
    "<<'EOF'\n",
    "\nEOF\n",
    "<<< ",
    "> ",
    "2>&1",
    "< ",
    "echo ",
    ": ",
    "git status",
    "; git status",
    "CI=",
    "a",
    "test -n ",
    "[[ -n ",
    " ]]",
    "for i in ",
    "; do ",
    "; done",
];

/// Frames in which something may be taken for harmless.
const FRAMES: [&str; 12] = [
    "echo {}; git status",
    "echo \"{}\"; git status",
    "echo '{}'; git status",
    "git status {}",
    "CI={}; git status",
    "CI={} git status",
    "git status <<EOF\n{}\nEOF\n",
    "for i in {}; do git status; done",
    "case {} in *) git status;; esac",
    "[[ -n {} ]] && git status",
    "echo ${x:-{}}; git status",
    "bash -c 'git status' {}",
];

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]

    #[test]
    fn what_runs_by_its_rule_does_no_more(
        frame in prop::sample::select(&FRAMES[..]),
        parts in prop::collection::vec(prop::sample::select(&PARTS[..]), 1..8),
    ) {
        thread_local! {
            static SCENE: (tokio::runtime::Runtime, Scene) = (
                tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap(),
                Scene::new(&["allow bash(git status *)"]),
            );
        }
        let line = frame.replace("{}", &parts.concat());
        let verdict = SCENE.with(|(runtime, scene)| runtime.block_on(scene.verdict(&line)));
        if verdict == "runs" {
            prop_assert!(!does_more(&line), "{}", line);
        }
    }
}
