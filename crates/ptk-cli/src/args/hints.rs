//! Tests that the commands which messages name exist: a hint leads somewhere.

use std::fs;
use std::path::{Path, PathBuf};

use clap::{Command, CommandFactory as _};

use super::Cli;

/// The Rust sources below a folder.
fn sources(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            sources(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            found.push(path);
        }
    }
}

/// The commands between backticks in a source.
fn commands(source: &str) -> Vec<&str> {
    let starts = source.match_indices("`ptk ");
    let commands = starts.filter_map(|(at, _)| source.get(at + 5..)?.split('`').next());
    commands.collect()
}

/// What a command names that there is not.
fn missing<'h>(cli: &Command, hint: &'h str) -> Option<&'h str> {
    // `ptk --session …` is short for `ptk run --session …`.
    let run = cli.find_subcommand("run").filter(|_| hint.starts_with('-'));
    let mut command = run.unwrap_or(cli);
    let mut is_name = run.is_none();
    for word in hint.split_whitespace() {
        let flag = word.split('=').next().unwrap_or(word);
        if let Some(long) = flag.strip_prefix("--") {
            let mut known = command.get_arguments().chain(cli.get_arguments());
            if !known.any(|arg| arg.get_long() == Some(long)) {
                return Some(word);
            }
        } else if let (Some(short), true) = (flag.strip_prefix('-'), flag.len() == 2) {
            let mut known = command.get_arguments();
            if !known.any(|arg| arg.get_short() == short.chars().next()) {
                return Some(word);
            }
        } else if let Some(next) = command.find_subcommand(word).filter(|_| is_name) {
            command = next;
            continue;
        } else if is_name && word.starts_with(|c: char| c.is_ascii_lowercase()) {
            // Without subcommands, it is an argument.
            if command.has_subcommands() {
                return Some(word);
            }
        }
        is_name = false;
    }
    None
}

#[test]
fn commands_that_messages_name_exist() {
    let mut cli = Cli::command();
    cli.build();
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let mut files = Vec::new();
    for entry in fs::read_dir(crates).unwrap() {
        sources(&entry.unwrap().path().join("src"), &mut files);
    }
    let mut hints = 0;
    let mut wrong = Vec::new();
    for path in files {
        let source = fs::read_to_string(&path).unwrap();
        for hint in commands(&source) {
            hints += 1;
            if let Some(word) = missing(&cli, hint) {
                wrong.push(format!("{}: `ptk {hint}`: {word}", path.display()));
            }
        }
    }
    assert!(hints > 100, "{hints} hints");
    assert_eq!(wrong, Vec::<String>::new());
    for (hint, word) in [
        ("models lst", "lst"),
        ("sessions list --al", "--al"),
        ("undoo", "undoo"),
        ("chat -z", "-z"),
    ] {
        assert_eq!(missing(&cli, hint), Some(word));
    }
}
