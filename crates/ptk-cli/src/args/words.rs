//! From the words of a command line to what they ask for.

use std::ffi::OsString;
use std::io::{self, IsTerminal as _};

use clap::error::ErrorKind;
use clap::{CommandFactory as _, FromArgMatches as _};
use ptk_protocol::schema::suggest;

use super::{Cli, Command};
use crate::printer;

/// Reads the command line. What begins with no command is a prompt: `ptk "…"`
/// is short for `ptk run "…"`. A single word that may be meant as a command is
/// marked, and sent to a model only if that is wanted. Nothing at all opens the chat where there is a
/// person to chat with, and otherwise shows the help.
pub(crate) fn read(words: impl Iterator<Item = OsString>) -> Result<Cli, clap::Error> {
    let mut words: Vec<OsString> = words.collect();
    let mut cli = Cli::command();
    if words.len() == 1 && is_at_terminal() {
        words.push("chat".into());
    }
    let mut may_be_command = false;
    if let Some(first) = words.get(1) {
        let first = first.to_string_lossy().into_owned();
        let is_own = names(&cli).any(|name| name == first)
            || ["-h", "--help", "-V", "--version"].contains(&first.as_str());
        if !is_own {
            // A misspelt command is not for a model. At a terminal, the user is
            // asked later.
            let is_asked = words.len() == 2 && is_at_terminal();
            if let Some(near) = misspelt(&first, &cli).filter(|_| !is_asked) {
                return Err(unknown_command(&mut cli, &first, Some(&near)));
            }
            let session = |word: &OsString| {
                let word = word.to_string_lossy();
                word.starts_with("--session") || word.starts_with("-s")
            };
            may_be_command = !words.iter().any(session);
            words.insert(1, "run".into());
        }
    }
    if words.get(1).is_some_and(|word| word == "run")
        && let Some(run) = cli.find_subcommand("run")
    {
        words = with_prompt_behind(run, words);
    }
    // The same commands are not made a second time.
    let mut matches = cli.try_get_matches_from_mut(words)?;
    let read = Cli::from_arg_matches_mut(&mut matches);
    let mut read = read.map_err(|error| error.format(&mut cli))?;
    if let Command::Run(args) = &mut read.command {
        args.may_be_command = may_be_command;
    }
    Ok(read)
}

/// The names of the commands.
fn names(cli: &clap::Command) -> impl Iterator<Item = &str> {
    let commands = cli.get_subcommands().map(clap::Command::get_name);
    commands.chain(["help"])
}

/// The command that a word is a misspelling of. The first letter must be
/// right: `what` is not `chat`.
fn misspelt(word: &str, cli: &clap::Command) -> Option<String> {
    let is_word = word.starts_with(|c: char| c.is_ascii_lowercase())
        && word.chars().all(|c| c.is_ascii_lowercase() || c == '-');
    let near = suggest::nearest(word, names(cli)).filter(|_| is_word)?;
    (near.as_bytes().first() == word.as_bytes().first()).then(|| near.to_owned())
}

/// What other programs call a command or a flag of ptk.
const ELSEWHERE: [(&str, &str); 12] = [
    ("ask", "run"),
    ("auth", "keys"),
    ("config", "setup"),
    ("configure", "setup"),
    ("history", "sessions"),
    ("init", "setup"),
    ("list", "sessions"),
    ("login", "keys"),
    ("logout", "keys"),
    ("server", "serve"),
    ("status", "doctor"),
    ("version", "--version"),
];

/// Whether a prompt may be meant as a command: commands are written in small
/// letters, and prose hardly ever consists of one such word. A capital letter
/// does not make a word that other programs have as a command a prompt.
pub(super) fn looks_like_command(word: &str) -> bool {
    let is_name = word.starts_with(|c: char| c.is_ascii_alphabetic())
        && (word.bytes()).all(|byte| byte.is_ascii_alphanumeric() || b"-_".contains(&byte));
    let small = word.to_ascii_lowercase();
    let is_known = || {
        let cli = Cli::command();
        names(&cli).any(|name| name == small) || ELSEWHERE.iter().any(|(name, _)| *name == small)
    };
    is_name && (small == word || is_known())
}

/// The command that was most likely meant by one that does not exist.
pub(crate) fn nearest_command(word: &str) -> Option<String> {
    let (cli, small) = (Cli::command(), word.to_ascii_lowercase());
    let elsewhere = ELSEWHERE.iter().find(|(name, _)| *name == small);
    let elsewhere = elsewhere.map(|(_, own)| (*own).to_owned());
    elsewhere.or_else(|| misspelt(&small, &cli))
}

/// The error about a command that does not exist.
pub(crate) fn unknown_command(
    cli: &mut clap::Command,
    word: &str,
    near: Option<&str>,
) -> clap::Error {
    let near = near.map_or_else(String::new, |near| format!("; did you mean `{near}`?"));
    let message =
        format!("unknown command `{word}`{near}\n\n  To send it to a model: ptk run {word}");
    cli.error(ErrorKind::InvalidSubcommand, message)
}

/// Whether a person types and reads here.
fn is_at_terminal() -> bool {
    io::stdin().is_terminal() && printer::is_stdout_terminal() && printer::is_stderr_terminal()
}

/// The words of `ptk run` with a prompt that begins with a dash, such as
/// "- fix this", behind all flags: no flag has a blank in its name.
fn with_prompt_behind(run: &clap::Command, words: Vec<OsString>) -> Vec<OsString> {
    let is_flag = |word: &OsString| word.as_encoded_bytes().starts_with(b"-");
    let is_prompt = |word: &OsString| {
        let text = word.to_string_lossy();
        let name = text.split('=').next().unwrap_or_default();
        is_flag(word) && name.contains(char::is_whitespace)
    };
    if words.iter().any(|word| word == "--") || !words.iter().any(is_prompt) {
        return words;
    }
    let mut run = run.clone();
    run.build();
    let takes_value = |word: &OsString| {
        let text = word.to_string_lossy();
        run.get_arguments().any(|argument| {
            let is_named = match text.strip_prefix("--") {
                Some(long) => argument.get_long() == Some(long),
                None => text.chars().eq("-".chars().chain(argument.get_short())),
            };
            is_named && argument.get_action().takes_values()
        })
    };
    let (mut flags, mut prompt) = (Vec::new(), Vec::new());
    let mut words = words.into_iter();
    flags.extend(words.by_ref().take(2));
    while let Some(word) = words.next() {
        if is_prompt(&word) || !is_flag(&word) {
            prompt.push(word);
        } else {
            let has_value = takes_value(&word);
            flags.push(word);
            flags.extend(has_value.then(|| words.next()).flatten());
        }
    }
    flags.push("--".into());
    flags.extend(prompt);
    flags
}
