//! Commands that change nothing by themselves. Beside one that a rule allows,
//! they need no rule of their own.

use crate::shell::{Simple, Word};

/// Whatever their words are.
const PROGRAMS: [&str; 9] = [
    "echo", "pwd", "true", "false", ":", "exit", "sleep", "test", "[",
];
/// Variables that change how programs talk, not what they do.
const VARIABLES: [&str; 16] = [
    "CARGO_INCREMENTAL",
    "CARGO_TERM_COLOR",
    "CI",
    "CLICOLOR",
    "COLUMNS",
    "DEBUG",
    "FORCE_COLOR",
    "LANG",
    "LC_ALL",
    "NODE_ENV",
    "NO_COLOR",
    "PYTHONUNBUFFERED",
    "RUST_BACKTRACE",
    "RUST_LOG",
    "TERM",
    "TZ",
];
/// What `set` may be told.
const SETTINGS: [&str; 8] = ["-e", "-u", "-x", "-eu", "-ex", "-euo", "-o", "pipefail"];

/// Whether a command changes nothing, its redirections aside.
pub(super) fn is_neutral(command: &Simple) -> bool {
    // A shell evaluates what stands in the brackets of an array, also quoted.
    let is_evaluated = |word: &Word| word.source().contains("$(") || word.source().contains('`');
    let is_seen = |word: &Word| !word.has_variables();
    match (command.program(), command.args()) {
        _ if !command.words().first().is_none_or(is_seen) => false,
        (None, []) => command.words().is_empty(),
        (Some("cd"), [folder]) => is_seen(folder) && folder.literal().is_some_and(is_below),
        (Some("set"), args) => args.iter().all(|arg| SETTINGS.contains(&arg.start())),
        (Some("test" | "["), args) if args.iter().any(is_evaluated) => false,
        (Some(program), _) => PROGRAMS.contains(&program),
        (None, _) => false,
    }
}

/// Whether its variables change nothing but how it talks.
pub(super) fn has_neutral_variables(command: &Simple) -> bool {
    let mut names = command.assignments.iter();
    names.all(|name| VARIABLES.contains(&name.as_str()))
}

/// Whether a path leads further down, and nowhere else.
fn is_below(path: &str) -> bool {
    let is_plain = !path.is_empty() && !path.starts_with(['/', '-', '~']);
    is_plain && path.split('/').all(|part| part != "..")
}
