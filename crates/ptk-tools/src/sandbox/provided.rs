//! Configuration of the user's tools, without what may be secret in it.
//!
//! Git and cargo read settings from the home that commands depend on: who
//! commits, which linker is used. The same files may hold tokens. So a command
//! finds copies of them that hold only settings known to be harmless.

use std::fs;
use std::path::{Path, PathBuf};

use ptk_sandbox::command::Provided;
use toml_edit::{DocumentMut, Item, Table};

/// The largest file that is read.
const LARGEST: u64 = 1 << 20;

/// Settings of git that are passed on, by section and name. None of them holds
/// an address, a header or a command.
const GIT: [(&str, &[&str]); 13] = [
    ("user", &["name", "email", "useconfigonly"]),
    ("author", &["name", "email"]),
    ("committer", &["name", "email"]),
    ("init", &["defaultbranch"]),
    (
        "core",
        &[
            "autocrlf",
            "eol",
            "safecrlf",
            "filemode",
            "ignorecase",
            "precomposeunicode",
            "quotepath",
            "symlinks",
            "whitespace",
            "longpaths",
        ],
    ),
    ("safe", &["directory"]),
    ("pull", &["rebase", "ff"]),
    ("push", &["default", "autosetupremote"]),
    ("merge", &["conflictstyle", "ff"]),
    ("rebase", &["autostash", "autosquash", "updaterefs"]),
    (
        "diff",
        &["algorithm", "renames", "colormoved", "mnemonicprefix"],
    ),
    ("branch", &["autosetuprebase", "autosetupmerge", "sort"]),
    ("log", &["date", "decorate", "abbrevcommit"]),
];

/// Sections of cargo's configuration that are passed on.
const CARGO: [&str; 7] = [
    "alias",
    "build",
    "future-incompat-report",
    "install",
    "patch",
    "profile",
    "target",
];

/// The files that a command finds in the home.
pub(super) fn files(home: &Path) -> Vec<Provided> {
    let git = [".config/git/config", ".gitconfig"].map(|name| read(&home.join(name)));
    let git: String = git.iter().flatten().map(|text| git_config(text)).collect();
    let cargo = std::env::var_os("CARGO_HOME").map_or_else(|| home.join(".cargo"), PathBuf::from);
    let cargo = cargo.join("config.toml");
    let cargo_text = read(&cargo).and_then(|text| cargo_config(&text));
    let git = (!git.is_empty()).then(|| (home.join(".gitconfig"), git));
    let cargo = cargo_text.map(|text| (cargo, text));
    let all = git.into_iter().chain(cargo);
    all.map(|(path, content)| Provided { path, content })
        .collect()
}

fn read(path: &Path) -> Option<String> {
    let is_small = fs::metadata(path).is_ok_and(|it| it.is_file() && it.len() <= LARGEST);
    is_small.then(|| fs::read_to_string(path).ok()).flatten()
}

/// The harmless settings of a configuration of git.
fn git_config(text: &str) -> String {
    let mut kept = String::new();
    let mut section = String::new();
    for line in text.lines().map(str::trim) {
        if let Some(head) = line.strip_prefix('[') {
            // A section with a name in quotes is of another kind.
            section = head
                .split(']')
                .next()
                .unwrap_or_default()
                .to_ascii_lowercase();
            continue;
        }
        // A value that goes on in the next line is left out with all of it.
        if line.ends_with('\\') {
            continue;
        }
        let Some((name, value)) = line.split_once('=') else {
            continue;
        };
        let (name, value) = (name.trim().to_ascii_lowercase(), value.trim());
        let is_known = GIT
            .iter()
            .any(|(of, names)| *of == section && names.contains(&name.as_str()));
        if is_known && !may_be_secret(value) {
            kept.push_str(&format!("[{section}]\n\t{name} = {value}\n"));
        }
    }
    kept
}

/// The harmless settings of a configuration of cargo, if there are any.
fn cargo_config(text: &str) -> Option<String> {
    let mut document: DocumentMut = text.parse().ok()?;
    document.retain(|name, _| CARGO.contains(&name));
    // Comments may hold anything.
    let mut clean = DocumentMut::new();
    for (name, item) in document.iter() {
        clean.insert(name, without_secrets(item));
    }
    (!clean.is_empty()).then(|| clean.to_string())
}

/// The item without comments, and without what may be secret.
fn without_secrets(item: &Item) -> Item {
    match item {
        Item::Table(table) => Item::Table(clean_table(table)),
        Item::ArrayOfTables(_) | Item::None => Item::None,
        Item::Value(value) if may_be_secret(&value.to_string()) => Item::None,
        Item::Value(value) => {
            let mut value = value.clone();
            value.decor_mut().clear();
            Item::Value(value)
        }
    }
}

fn clean_table(table: &Table) -> Table {
    let mut clean = Table::new();
    clean.set_implicit(table.is_implicit());
    for (name, item) in table {
        let item = without_secrets(item);
        if !item.is_none() {
            clean.insert(name, item);
        }
    }
    clean
}

/// Whether a value is an address, which may hold a password, or mentions a
/// secret.
fn may_be_secret(value: &str) -> bool {
    let value = value.to_ascii_lowercase();
    let is_address = value.contains("://");
    is_address
        || ["token", "password", "secret"]
            .iter()
            .any(|word| value.contains(word))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn git_keeps_who_commits_and_no_token() {
        let text = "[user]\n  name = Ada L\n\temail = ada@example.org ; mine\n  signingkey = ABC\n\
            [url \"https://ghp_1@github.com/\"]\n  insteadOf = https://github.com/\n\
            [http]\n  extraHeader = AUTHORIZATION: basic eDpob3Vy\n\
            [credential]\n helper = store\n[Core]\n autoCRLF = input\n sshCommand = ssh -i key\n\
            [alias]\n x = !curl -u a:b\n[user]\n name = two\\\n lines\n";
        let kept = git_config(text);
        assert_eq!(
            kept,
            "[user]\n\tname = Ada L\n[user]\n\temail = ada@example.org ; mine\n\
             [core]\n\tautocrlf = input\n"
        );
    }

    #[test]
    fn cargo_keeps_how_to_build_and_no_token() {
        let text = "# token: hush\n[registry]\ntoken = \"hush\"\n[registries.mine]\n\
            index = \"https://user:hush@host/\"\ntoken = \"hush\"\n[env]\nKEY = \"hush\"\n\
            [build]\njobs = 2 # hush\nrustflags = [\"-Cdebuginfo=0\"]\n\
            [target.x86_64-unknown-linux-gnu]\nlinker = \"clang\"\n[http]\nproxy = \"u:hush@p:1\"\n";
        let kept = cargo_config(text).unwrap();
        assert!(!kept.contains("hush"), "{kept}");
        for line in ["jobs = 2", "-Cdebuginfo=0", "linker = \"clang\""] {
            assert!(kept.contains(line), "{kept}");
        }
        let again: DocumentMut = kept.parse().unwrap();
        assert_eq!(again.len(), 2);
    }

    #[test]
    fn what_cannot_be_read_is_left_out() {
        assert_eq!(cargo_config("not toml ["), None);
        assert_eq!(git_config("no section = 1\n[user"), "");
    }
}
