//! The file that people read and edit.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use ptk_permission::{Rule, UserFile};

fn rule(text: &str) -> Rule {
    text.parse().unwrap()
}

fn shown(file: &UserFile, workspace: &str) -> Vec<String> {
    let (_, entries) = file.rules(Path::new(workspace)).unwrap();
    let shown = entries
        .iter()
        .map(|it| format!("{} {}", it.action.as_str(), it.rule));
    shown.collect()
}

#[test]
fn rules_are_kept_beside_what_a_person_wrote() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("deep/permissions.toml");
    let file = UserFile::at(&path);
    assert!(shown(&file, "/a").is_empty());
    file.allow(Path::new("/a"), &[rule("bash(ls *)")]).unwrap();
    let mode = fs::metadata(&path).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    let text = fs::read_to_string(&path).unwrap();
    let text = format!("deny = [\n  \"bash(git push *)\", # never\n]\n{text}# mine\n");
    fs::write(&path, text).unwrap();
    file.allow(Path::new("/a"), &[rule("bash(ls *)"), rule("edit(src/**)")])
        .unwrap();
    file.allow(Path::new("/b c"), &[rule("bash(make)")])
        .unwrap();
    insta::assert_snapshot!(fs::read_to_string(&path).unwrap(), @r#"
    deny = [
      "bash(git push *)", # never
    ]
    # What ptk may do without asking. Edit it as you like; `ptk permissions` shows it.
    [workspaces."/a"]
    allow = ["bash(ls *)", "edit(src/**)"]

    [workspaces."/b c"]
    allow = ["bash(make)"]
    # mine
    "#);
    assert_eq!(
        shown(&file, "/a"),
        [
            "deny bash(git push *)",
            "allow bash(ls *)",
            "allow edit(src/**)"
        ]
    );
    assert_eq!(
        shown(&file, "/b c"),
        ["deny bash(git push *)", "allow bash(make)"]
    );
    assert_eq!(file.remove(Path::new("/a"), "bash(git push *)").unwrap(), 1);
    assert_eq!(file.remove(Path::new("/a"), "bash(ls *)").unwrap(), 1);
    assert_eq!(file.remove(Path::new("/a"), "bash(make)").unwrap(), 0);
    assert_eq!(shown(&file, "/a"), ["allow edit(src/**)"]);
}

#[test]
fn a_content_is_trusted_until_it_changes() {
    let folder = tempfile::tempdir().unwrap();
    let file = UserFile::at(folder.path().join("permissions.toml"));
    let here = Path::new("/a");
    assert!(!file.trusts(here, "1").unwrap());
    file.trust(here, "1").unwrap();
    assert!(file.trusts(here, "1").unwrap());
    assert!(!file.trusts(here, "2").unwrap());
    assert!(!file.trusts(Path::new("/b"), "1").unwrap());
}

#[test]
fn several_who_write_lose_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let file = UserFile::at(folder.path().join("permissions.toml"));
    std::thread::scope(|scope| {
        for number in 0..16 {
            let file = &file;
            scope.spawn(move || {
                let rule = rule(&format!("bash(make {number})"));
                file.allow(Path::new("/a"), &[rule]).unwrap();
            });
        }
    });
    assert_eq!(shown(&file, "/a").len(), 16);
}

#[test]
fn a_link_stays_a_link() {
    let folder = tempfile::tempdir().unwrap();
    let real = folder.path().join("real.toml");
    let link = folder.path().join("permissions.toml");
    fs::write(&real, "").unwrap();
    std::os::unix::fs::symlink(&real, &link).unwrap();
    UserFile::at(&link)
        .allow(Path::new("/a"), &[rule("edit")])
        .unwrap();
    assert!(link.is_symlink());
    assert!(fs::read_to_string(real).unwrap().contains("edit"));
}

#[test]
fn mistakes_are_told() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("permissions.toml");
    let told = |text: &str| {
        fs::write(&path, text).unwrap();
        let told = UserFile::at(&path)
            .rules(Path::new("/a"))
            .unwrap_err()
            .to_string();
        told.replace(path.to_str().unwrap(), "FILE")
    };
    insta::assert_snapshot!(told("allow = [1]"), @"FILE: `allow` has to be a list of rules in quotes");
    insta::assert_snapshot!(told("allow = ['bash(']"), @"FILE: `bash(` is not a rule: its bracket is not closed");
    insta::assert_snapshot!(told("alow = []"), @"FILE: unknown key `alow`, expected `allow`, `ask`, `deny`, `mode` or `workspaces`");
    insta::assert_snapshot!(told("mode = 'yes'"), @r#"FILE: `mode` is "ask", "auto" or "deny""#);
}
