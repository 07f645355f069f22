//! Whether a rule stops a call. If it only may, that is enough to ask.

use ptk_sandbox::Place;

use crate::Effect;
use crate::call::{Call, Target};
use crate::file_tools::FileTools;
use crate::rule::{Fit, Rule};
use crate::shell::{CommandLine, Role, ShellCommand};

/// Variables whose values programs run, and starts of their names.
const CODE: [&str; 18] = [
    "BASH_ENV",
    "BASH_FUNC_",
    "EDITOR",
    "ENV",
    "GIT_",
    "JAVA_TOOL_OPTIONS",
    "LD_",
    "MAKEFLAGS",
    "NODE_OPTIONS",
    "PAGER",
    "PERL5OPT",
    "PROMPT_COMMAND",
    "PS",
    "PYTHONSTARTUP",
    "RUBYOPT",
    "SHELL",
    "SSH_ASKPASS",
    "VISUAL",
];

/// Whether a rule stops a call.
pub(super) fn stops(rule: &Rule, tools: &FileTools, call: &Call<'_>) -> Fit {
    match &call.plan.script {
        Some(script) if rule.tool() == call.tool => stops_script(rule, script),
        Some(script) => stops_files(rule, tools, script, call),
        None => stops_places(rule, tools, call),
    }
}

fn stops_script(rule: &Rule, script: &CommandLine) -> Fit {
    let commands = script.commands().iter();
    let fit = commands.clone().map(|command| rule.stops(command)).max();
    let fit = fit.unwrap_or(Fit::No);
    let is_hidden = |role: Role| matches!(role, Role::Blind | Role::File);
    let assigned = commands.clone().flat_map(|it| &it.assignments);
    let mut assigned = assigned.chain(script.assigned());
    // Without a name, it may be any of them.
    let runs = |name: &str| name.is_empty() || CODE.iter().any(|it| name.starts_with(it));
    let is_unseen = !script.is_whole()
        || commands.clone().any(|it| is_hidden(it.role))
        || assigned.any(|it| runs(&it.name));
    let mut suspected = script.suspected().iter();
    if is_unseen || fit == Fit::No && suspected.any(|command| rule.stops(command) > Fit::No) {
        return fit.max(Fit::Maybe);
    }
    fit
}

/// Whether a rule about paths stops a command line.
fn stops_files(rule: &Rule, tools: &FileTools, script: &CommandLine, call: &Call<'_>) -> Fit {
    if rule.is_for_all() {
        return Fit::No;
    }
    let (writes, reads) = (tools.may_write(rule.tool()), tools.may_read(rule.tool()));
    let targets_of = |command: &ShellCommand| {
        let written = writes.then(|| call.written(command));
        let read = reads.then(|| call.read(command));
        written.into_iter().chain(read).flatten()
    };
    let targets = script.commands().iter().flat_map(targets_of);
    let fits = targets.map(|target| match target {
        Target::Path(path) | Target::Outside(path) => Fit::from(rule.fits_in(&path)),
        Target::Unknown => Fit::Maybe,
    });
    let fit = fits.max().unwrap_or(Fit::No);
    let suspected = script.suspected().iter().flat_map(targets_of);
    let mut suspected = suspected.filter_map(|target| match target {
        Target::Path(path) | Target::Outside(path) => Some(path),
        Target::Unknown => None,
    });
    if fit == Fit::No && suspected.any(|path| rule.fits_in(&path)) {
        return Fit::Maybe;
    }
    fit
}

/// Whether a rule stops a call on files. It is about what the call reads or
/// writes, whichever tool that is.
fn stops_places(rule: &Rule, tools: &FileTools, call: &Call<'_>) -> Fit {
    let plan = call.plan;
    if rule.fits_declared(plan.declared.as_deref()) {
        return Fit::from(rule.tool() == call.tool);
    }
    if !rule.is_about_paths() {
        return Fit::No;
    }
    let is_own = rule.tool() == call.tool;
    let (reads, writes) = (tools.may_read(rule.tool()), tools.may_write(rule.tool()));
    let of = |is_meant: bool, effect: Effect, places: &[Place]| {
        if !is_own && !is_meant {
            return Fit::No;
        }
        let fits = places.iter().map(|place| match call.path_of(place) {
            Some(path) if rule.fits_path(&path) => Fit::Yes,
            _ if rule.fits_path(place.relative()) => Fit::Yes,
            Some(_) => Fit::No,
            None => Fit::Maybe,
        });
        let unknown = if plan.unknown.has(effect) {
            Fit::Maybe
        } else {
            Fit::No
        };
        fits.max().unwrap_or(Fit::No).max(unknown)
    };
    of(reads, Effect::Read, &plan.reads).max(of(writes, Effect::Write, &plan.writes))
}
