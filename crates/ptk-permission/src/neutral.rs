//! Commands that change nothing by themselves. Beside one that a rule allows,
//! they need no rule of their own.

use crate::shell::{Assigned, ShellCommand, Word};

/// Programs that change nothing, whatever their arguments are.
const PROGRAMS: [&str; 7] = ["echo", "pwd", "true", "false", ":", "exit", "sleep"];
/// Variables that change what programs print, not what they do.
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
/// Variables of shells that are written otherwise than those of programs.
const SPECIAL: [&str; 9] = [
    "cdpath",
    "fignore",
    "fpath",
    "histchars",
    "mailpath",
    "manpath",
    "path",
    "psvar",
    "watch",
];
/// The arguments that `set` may have.
const SETTINGS: [&str; 6] = ["-e", "-u", "-eu", "-euo", "-o", "pipefail"];

/// Whether a command changes nothing, its redirections aside.
pub(super) fn is_neutral(command: &ShellCommand) -> bool {
    let is_setting = |arg: &Word| arg.literal().is_some_and(|it| SETTINGS.contains(&it));
    match (command.program(), command.args()) {
        (None, []) => command.words().is_empty(),
        (Some("cd"), [folder]) => folder.literal().is_some_and(is_below),
        (Some("set"), args) => args.iter().all(is_setting),
        (Some("test" | "["), args) => args.iter().all(is_tested),
        (Some(program), _) => PROGRAMS.contains(&program),
        (None, _) => false,
    }
}

/// Whether a word of a test is only looked at. Behind `-v` stands the name of
/// a variable, and in that an index that is worked out.
fn is_tested(word: &Word) -> bool {
    let is_harmless = |text: &str| !text.contains(['$', '`']) && !matches!(text, "-v" | "-R");
    word.literal().is_some_and(is_harmless)
}

/// Whether its variables change nothing but what it prints.
pub(super) fn has_neutral_variables(command: &ShellCommand) -> bool {
    command.assignments.iter().all(is_neutral_variable)
}

/// Whether a variable that gets a value changes nothing about what runs.
pub(super) fn is_neutral_variable(assigned: &Assigned) -> bool {
    let name = assigned.name.as_str();
    // By custom, those of programs are written in capitals, or with a `_`.
    let is_own = !assigned.is_passed && name.chars().all(|c| c.is_ascii_lowercase());
    let is_own = is_own && !name.is_empty() && !SPECIAL.contains(&name);
    is_own || assigned.is_harmless && VARIABLES.contains(&name)
}

/// Whether a path leads further down, and nowhere else.
fn is_below(path: &str) -> bool {
    let is_plain = !path.is_empty() && !path.starts_with(['/', '-', '~', '+']);
    is_plain && path.split('/').all(|part| part != "..")
}
