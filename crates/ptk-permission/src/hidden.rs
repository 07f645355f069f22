//! Commands that may stand in the arguments of a program: if a program is not
//! known, any of its words may be the program that it runs.

use crate::shell::{CommandLine, ShellCommand, Word};

/// Programs that do not run what their arguments say.
const KNOWN: [&str; 62] = [
    "[", "awk", "base64", "basename", "cargo", "cat", "cd", "chmod", "chown", "cmp", "comm", "cp",
    "curl", "cut", "date", "df", "diff", "dirname", "du", "echo", "egrep", "fgrep", "file", "gh",
    "git", "go", "grep", "head", "help", "jq", "kill", "less", "ln", "ls", "man", "mkdir", "mv",
    "npm", "pip", "pnpm", "printf", "readlink", "realpath", "rg", "rm", "rustc", "rustup", "sed",
    "sort", "stat", "tail", "tar", "tee", "test", "touch", "tr", "type", "uniq", "wc", "wget",
    "which", "yarn",
];
/// How many words of a command are looked at.
const MAX_WORDS: usize = 100;
/// How long a text may be, in bytes, to be looked at. A longer one may be
/// anything.
const MAX_LENGTH: usize = 4096;

/// The commands that a command may run, if its program is not known.
pub(super) fn in_arguments(command: &ShellCommand) -> Vec<Vec<Word>> {
    let name = command.name().unwrap_or_default();
    if KNOWN.contains(&name) {
        return Vec::new();
    }
    let mut found = Vec::new();
    let args = command.args();
    for (at, arg) in args.iter().enumerate().take(MAX_WORDS) {
        let Some(text) = arg.literal() else {
            let rest = args.get(at + 1..).unwrap_or_default();
            let program = std::iter::once(Word::unknown(arg.source()));
            found.push(program.chain(rest.iter().cloned()).collect());
            continue;
        };
        if text.len() > MAX_LENGTH {
            found.push(vec![Word::unknown("…")]);
        } else if text.contains(char::is_whitespace) {
            let line = CommandLine::read(text);
            found.extend(line.commands().iter().map(named));
        } else if let Some(words) = args.get(at..) {
            let words = ShellCommand {
                words: words.to_vec(),
                ..ShellCommand::default()
            };
            found.push(named(&words));
        }
    }
    found
}

/// The words of a command, its program without folders.
fn named(command: &ShellCommand) -> Vec<Word> {
    let name = command.name().unwrap_or_default();
    let program = std::iter::once(Word::plain(name));
    program.chain(command.args().iter().cloned()).collect()
}
