//! From the words of a command line to what they ask for.

use std::ffi::OsString;
use std::io::{self, IsTerminal as _};

use clap::error::ErrorKind;
use clap::{CommandFactory as _, FromArgMatches as _};
use ptk_protocol::schema::suggest;

use super::Cli;
use crate::printer;

/// Reads the command line. What begins with no command is a prompt: `ptk "…"`
/// is short for `ptk run "…"`. Nothing at all opens the chat where there is a
/// person to chat with, and otherwise shows the help.
pub(crate) fn read(words: impl Iterator<Item = OsString>) -> Result<Cli, clap::Error> {
    let mut words: Vec<OsString> = words.collect();
    let mut cli = Cli::command();
    if words.len() == 1 && is_at_terminal() {
        words.push("chat".into());
    }
    if let Some(first) = words.get(1) {
        let first = first.to_string_lossy().into_owned();
        let names = || {
            cli.get_subcommands()
                .map(clap::Command::get_name)
                .chain(["help"])
        };
        let is_own = names().any(|name| name == first)
            || ["-h", "--help", "-V", "--version"].contains(&first.as_str());
        if !is_own {
            let is_word = first.starts_with(|c: char| c.is_ascii_lowercase())
                && first.chars().all(|c| c.is_ascii_lowercase() || c == '-');
            // A command misspelt is not for a model. `what` is no `chat`, though:
            // nobody misses the first letter.
            let near = suggest::nearest(&first, names()).filter(|_| is_word);
            if let Some(near) =
                near.filter(|near| near.as_bytes().first() == first.as_bytes().first())
            {
                let near = near.to_owned();
                let message = format!(
                    "unknown command `{first}`; did you mean `{near}`?\n\n  \
                     To send it to a model: ptk run {first}"
                );
                return Err(cli.error(ErrorKind::InvalidSubcommand, message));
            }
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
    Cli::from_arg_matches_mut(&mut matches).map_err(|error| error.format(&mut cli))
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
