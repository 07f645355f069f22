//! Completion of words: files of the workspace after `@`, commands after `/`.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use fuzzy_matcher::FuzzyMatcher as _;
use fuzzy_matcher::skim::SkimMatcherV2;
use ptk_sandbox::walk::{IgnoreRules, Visitor, Walk, WalkEntry, WalkOptions};
use ptk_sandbox::{Kind, Workspace};
use tokio::sync::Notify;

use super::command;
use crate::mcp::Servers;

/// The most files that are considered.
const MAX_FILES: u64 = 50_000;
/// The most completions that are offered.
const MAX_OFFERED: usize = 8;

/// A possible completion of a word.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Candidate {
    /// The text that replaces the word.
    pub(crate) text: String,
    pub(crate) about: String,
}

/// The files of the workspace, by their names.
#[derive(Debug, Clone)]
pub(crate) struct Files {
    root: PathBuf,
    names: Arc<Mutex<Arc<Vec<String>>>>,
    /// Notified when the files were listed.
    found: Arc<Notify>,
}

impl Files {
    pub(crate) fn new(root: PathBuf) -> Self {
        Self {
            root,
            names: Arc::default(),
            found: Arc::default(),
        }
    }

    /// Lists the files again, in the background.
    pub(crate) fn look(&self) {
        let files = self.clone();
        std::thread::spawn(move || {
            let found = walk(&files.root);
            *files.names.lock().unwrap_or_else(PoisonError::into_inner) = Arc::new(found);
            files.found.notify_one();
        });
    }

    /// Waits until the files were listed.
    pub(crate) async fn found(&self) {
        self.found.notified().await;
    }

    fn names(&self) -> Arc<Vec<String>> {
        let names = self.names.lock().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(&names)
    }
}

/// The names of files and folders that the ignore files allow.
fn walk(root: &Path) -> Vec<String> {
    let options = WalkOptions {
        hidden: false,
        depth: usize::MAX,
        everything: true,
    };
    let place = Workspace::open(root).ok();
    let place = place.and_then(|workspace| workspace.place(workspace.root()).ok());
    let walk = place.and_then(|it| Walk::new(&it, options, IgnoreRules::above(&it)).ok());
    let Some(walk) = walk else {
        return Vec::new();
    };
    let visitors = walk.run(|files| files < MAX_FILES, Names::default);
    let mut names: Vec<String> = visitors.into_iter().flat_map(|it| it.0).collect();
    names.sort_unstable();
    names
}

/// Collects names; those of folders end with `/`.
#[derive(Default)]
struct Names(Vec<String>);

impl Visitor for Names {
    const IS_WORK: bool = false;

    fn visit(&mut self, found: &WalkEntry<'_>) {
        let Ok(path) = str::from_utf8(found.path()) else {
            return;
        };
        let end = match found.kind() {
            Kind::Folder => "/",
            _ => "",
        };
        self.0.push(format!("{path}{end}"));
    }
}

/// The completions of a word. Only the first word of a text can be a command.
pub(crate) fn candidates(
    word: &str,
    is_first: bool,
    files: &Files,
    servers: &Servers,
) -> Vec<Candidate> {
    if let Some(part) = word.strip_prefix('@') {
        let mut found = of_files(part, &files.names());
        found.extend(of_resources(part, servers.resources()));
        found.truncate(MAX_OFFERED);
        return found;
    }
    match word.strip_prefix('/') {
        Some(part) if is_first => {
            let mut found = of_commands(part);
            let prompts = servers.prompts().into_iter();
            let fitting = prompts.filter(|(name, _)| name.starts_with(part));
            found.extend(fitting.map(|(name, about)| Candidate {
                text: format!("/{name}"),
                about,
            }));
            found
        }
        _ => Vec::new(),
    }
}

/// The resources of servers whose name or address has the part in it.
fn of_resources(part: &str, resources: Vec<(String, String)>) -> Vec<Candidate> {
    let part = part.to_lowercase();
    let fits = |text: &str| text.to_lowercase().contains(&part);
    let fitting = resources
        .into_iter()
        .filter(|(name, about)| fits(name) || fits(about));
    fitting
        .map(|(name, about)| Candidate {
            text: mentioned(&name),
            about,
        })
        .collect()
}

/// A name behind `@`, in quotes if it has spaces.
fn mentioned(name: &str) -> String {
    if name.contains(char::is_whitespace) {
        format!("@\"{name}\"")
    } else {
        format!("@{name}")
    }
}

fn of_files(part: &str, names: &[String]) -> Vec<Candidate> {
    let matcher = SkimMatcherV2::default().smart_case();
    let fitting = names.iter().filter_map(|name| {
        let score = matcher.fuzzy_match(name, part)?;
        Some((name, score))
    });
    let mut found: Vec<(&String, i64)> = fitting.collect();
    // Of equally good matches, the shorter one comes first.
    found.sort_by_key(|(name, score)| (std::cmp::Reverse(*score), name.len()));
    let found = found.into_iter().take(MAX_OFFERED);
    found
        .map(|(name, _)| Candidate {
            text: mentioned(name),
            about: String::new(),
        })
        .collect()
}

fn of_commands(part: &str) -> Vec<Candidate> {
    let fitting = command::ALL
        .iter()
        .filter(|spec| spec.name.starts_with(part));
    fitting
        .map(|spec| Candidate {
            text: format!("/{}", spec.name),
            about: format!("{} {}", spec.takes, spec.about).trim().to_owned(),
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_found_by_parts_of_their_names() {
        let names: Vec<String> = [
            "src/main.rs",
            "src/",
            "src/view/main.rs",
            "README.md",
            "tệp.txt",
            "my notes.txt",
        ]
        .map(str::to_owned)
        .to_vec();
        let found = |part: &str| {
            let found = of_files(part, &names);
            found.into_iter().map(|it| it.text).collect::<Vec<_>>()
        };
        assert_eq!(found("main")[0], "@src/main.rs");
        assert_eq!(found("readme"), ["@README.md"]);
        assert_eq!(found("tệp"), ["@tệp.txt"]);
        assert_eq!(found("notes"), ["@\"my notes.txt\""]);
        assert_eq!(found("nothing"), [""; 0]);
        assert_eq!(found("").len(), 6);
    }

    #[test]
    fn only_the_first_word_is_a_command() {
        let files = Files::new(PathBuf::from("."));
        let servers = Servers::default();
        assert_eq!(candidates("/mo", true, &files, &servers).len(), 2);
        assert_eq!(candidates("/mo", false, &files, &servers), []);
        assert_eq!(candidates("mo", true, &files, &servers), []);
    }
}
