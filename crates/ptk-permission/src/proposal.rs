//! The rules that a person is offered, so as not to be asked again. They cover
//! what a person would expect of "the same command", and nothing that could be
//! anything.

use crate::call::Call;
use crate::neutral::{has_neutral_variables, is_neutral};
use crate::open;
use crate::rule::Rule;
use crate::rules::{Rules, is_plain_wrapper};
use crate::shell::{CommandLine, Role, ShellCommand, Word};

/// How many rules are proposed at once.
const MAX_RULES: usize = 4;
/// How long a rule may be, in bytes.
const MAX_LENGTH: usize = 160;

/// Programs for which no rule is proposed.
const NEVER: [&str; 25] = [
    "cd",
    "pushd",
    "popd",
    "rm",
    "rmdir",
    "unlink",
    "dd",
    "shred",
    "truncate",
    "tee",
    "mv",
    "chmod",
    "chown",
    "chgrp",
    "eval",
    "source",
    ".",
    "trap",
    "alias",
    "export",
    "npx",
    "uvx",
    "pipx",
    "osascript",
    "at",
];
/// Programs that run code, and options that give it to them.
const INTERPRETERS: [&str; 12] = [
    "python", "python3", "node", "perl", "ruby", "php", "deno", "lua", "awk", "gawk", "Rscript",
    "sed",
];
const CODE: [&str; 9] = [
    "-c", "-e", "-p", "-r", "-m", "-", "--eval", "--print", "eval",
];

/// The rules that would allow a call. None where it is dangerous, where a part
/// of it is not known, or where a rule would allow too much.
pub(super) fn of(call: &Call<'_>, rules: &Rules) -> Vec<Rule> {
    let has_functions = call
        .plan
        .script
        .as_ref()
        .is_some_and(CommandLine::has_functions);
    if !call.plan.warnings.is_empty() || has_functions {
        return Vec::new();
    }
    let proposed = match &call.plan.script {
        Some(script) => of_script(script, call, rules),
        None => of_paths(call),
    };
    proposed.unwrap_or_default()
}

fn of_paths(call: &Call<'_>) -> Option<Vec<Rule>> {
    let writes = &call.plan.writes;
    if writes.is_empty() || call.plan.declared.is_some() {
        let rule = match &call.plan.declared {
            Some(declared) => Rule::of_declared(call.tool, declared),
            None => Rule::of_tool(call.tool).ok(),
        };
        return Some(vec![rule?]);
    }
    let mut paths = writes.iter().map(|place| call.path_of(place));
    let rules = paths.by_ref().take(MAX_RULES);
    let rules: Option<Vec<Rule>> = rules.map(|path| Rule::of_path(call.tool, &path?)).collect();
    rules.filter(|_| paths.next().is_none())
}

fn of_script(script: &CommandLine, call: &Call<'_>, rules: &Rules) -> Option<Vec<Rule>> {
    let mut proposed: Vec<Rule> = Vec::new();
    for command in script.commands() {
        let is_covered = rules.allow_command(command, call).is_some();
        if is_covered || is_neutral(command) || is_plain_wrapper(command) {
            continue;
        }
        let rule = of_command(command)?;
        if !proposed.contains(&rule) {
            proposed.push(rule);
        }
    }
    let is_allowed = script.is_whole() && proposed.len() <= MAX_RULES;
    // What cannot match in the end is not worth a rule.
    let mut rules = rules.clone();
    rules.allow(&proposed);
    (is_allowed && rules.allowed_script(script, call).is_some()).then_some(proposed)
}

fn of_command(command: &ShellCommand) -> Option<Rule> {
    if command.role != Role::Plain || !has_neutral_variables(command) {
        return None;
    }
    let words: Option<Vec<&str>> = command.words().iter().map(Word::literal).collect();
    let words = words?;
    let (program, args) = words.split_first()?;
    let name = command.name()?;
    if NEVER.contains(&name) {
        return None;
    }
    let is_code = |arg: &&str| CODE.contains(arg);
    if INTERPRETERS.contains(&name) && (args.is_empty() || args.iter().any(is_code)) {
        return None;
    }
    let rule = match open::offered(command) {
        Some(words) if *program == name => Rule::of_words(&words, true),
        _ => Rule::of_words(&words, false),
    };
    rule.filter(|rule| rule.to_string().len() <= MAX_LENGTH)
}
