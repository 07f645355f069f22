//! `ptk permissions`: which calls run without asking, and which never run.

use std::io::Write;
use std::sync::atomic::AtomicBool;

use anyhow::{Context as _, Result, anyhow, bail};
use ptk_permission::{Action, Mode, Rule, RuleError, UserFile};
use ptk_protocol::schema::suggest;
use serde_json::json;

use crate::args::{
    AddPermissionArgs, ListPermissionsArgs, PermissionsCommand, RemovePermissionArgs, TrustArgs,
};
use crate::config::{Settings, Withheld, WorkspacePermissions};
use crate::exit::{self, Exit};
use crate::printer;
use crate::terminal::Terminal;
use crate::view::clean::in_line;

pub(crate) fn run(command: &PermissionsCommand, out: &mut impl Write) -> Result<Exit> {
    match command {
        PermissionsCommand::List(args) => list(args, out),
        PermissionsCommand::Allow(args) => add(Action::Allow, args, out),
        PermissionsCommand::Ask(args) => add(Action::Ask, args, out),
        PermissionsCommand::Deny(args) => add(Action::Deny, args, out),
        PermissionsCommand::Remove(args) => remove(args, out),
        PermissionsCommand::Trust(args) => trust(args, out),
    }
}

fn list(args: &ListPermissionsArgs, out: &mut impl Write) -> Result<Exit> {
    let settings = Settings::read(&args.config)?;
    let here = settings.checked_permissions(&settings.tools()?)?;
    let granted = match &here.untrusted {
        Some(declared) => declared.entries(&settings.name())?,
        None => Vec::new(),
    };
    let granted = granted.into_iter().filter(|it| it.action == Action::Allow);
    let all = here.entries.iter().map(|it| (it.clone(), true));
    let all: Vec<_> = all.chain(granted.map(|it| (it, false))).collect();
    if args.json {
        for (entry, in_force) in &all {
            let line = json!({
                "action": entry.action,
                "rule": entry.rule.to_string(),
                "source": entry.source,
                "in_force": in_force,
            });
            writeln!(out, "{line}")?;
        }
        return Ok(Exit::Success);
    }
    let width = all
        .iter()
        .map(|(it, _)| it.rule.to_string().chars().count());
    let width = width.max().unwrap_or_default();
    for (entry, in_force) in &all {
        let mark = if *in_force { ' ' } else { '-' };
        let (action, rule) = (entry.action.as_str(), entry.rule.to_string());
        writeln!(out, "{mark} {action:5}  {rule:width$}  {}", entry.source)?;
    }
    if all.is_empty() {
        writeln!(out, "No rules.")?;
    }
    let withheld = settings.withheld()?;
    let rules = |it: &&Withheld| it.name != "permissions.allow";
    for Withheld { name, value } in withheld.iter().filter(rules) {
        writeln!(
            out,
            "- {}  {}  {}",
            in_line(name),
            in_line(value),
            settings.trusted_name()
        )?;
    }
    let mode = match here.mode.unwrap_or_default() {
        Mode::Ask => "is asked about (ask)",
        Mode::Auto => "runs (auto)",
        Mode::Deny => "is refused (deny)",
    };
    writeln!(out, "\nWhat changes something and fits no rule {mode}.")?;
    if !withheld.is_empty() {
        writeln!(
            out,
            "- does not count: {} may have come with code of others. `ptk permissions trust` lets it.",
            settings.trusted_name()
        )?;
    }
    Ok(Exit::Success)
}

fn add(action: Action, args: &AddPermissionArgs, out: &mut impl Write) -> Result<Exit> {
    let settings = Settings::read(&args.config)?;
    let here = settings.permissions()?;
    let file = own_file(here)?;
    let tools = settings.tools()?;
    let mut rules = Vec::with_capacity(args.rules.len());
    for text in &args.rules {
        let rule: Rule = text.trim().parse().map_err(|error: RuleError| {
            exit::wrong_usage(format!("{error}, such as `edit(src/**)` or `bash(make *)`"))
        })?;
        if let Some(unknown) = tools.unknown_in(&rule) {
            return Err(exit::wrong_usage(unknown));
        }
        rules.push(rule);
    }
    let workspace = Some(here.workspace.as_path()).filter(|_| !args.everywhere);
    file.add(action, workspace, &rules)?;
    let where_ = match workspace {
        Some(workspace) => in_line(&workspace.display().to_string()),
        None => "every workspace".to_owned(),
    };
    for rule in &rules {
        writeln!(out, "{} {rule} in {where_}", action.as_str())?;
    }
    writeln!(printer::stderr(), "Kept in {}.", file.path().display())?;
    Ok(Exit::Success)
}

fn own_file(here: &WorkspacePermissions) -> Result<&UserFile> {
    here.file
        .as_ref()
        .context("no folder for the user's configuration: neither XDG_CONFIG_HOME nor HOME is set")
}

fn remove(args: &RemovePermissionArgs, out: &mut impl Write) -> Result<Exit> {
    let settings = Settings::read(&args.config)?;
    let here = settings.permissions()?;
    let file = own_file(here)?;
    let rule = args.rule.trim();
    if file.remove(&here.workspace, rule)? > 0 {
        writeln!(out, "Removed {rule} from {}.", file.path().display())?;
        return Ok(Exit::Success);
    }
    let rules: Vec<String> = here.entries.iter().map(|it| it.rule.to_string()).collect();
    if rules.iter().any(|known| known == rule) {
        bail!("{rule} stands in {}; edit that file", settings.name());
    }
    let near = suggest::nearest(rule, rules.iter().map(String::as_str));
    let near = near.map_or_else(
        || "`ptk permissions list` shows those that there are".to_owned(),
        |near| format!("did you mean `{near}`?"),
    );
    Err(anyhow!("rule {rule} not found; {near}"))
}

fn trust(args: &TrustArgs, out: &mut impl Write) -> Result<Exit> {
    let settings = Settings::read(&args.config)?;
    let here = settings.permissions()?;
    let name = in_line(&settings.trusted_name());
    let withheld = settings.withheld()?;
    if withheld.is_empty() {
        writeln!(out, "Nothing to trust: {name} grants no permissions.")?;
        return Ok(Exit::Success);
    }
    let file = own_file(here)?;
    writeln!(out, "Once {name} is trusted, this counts:\n")?;
    let width = withheld.iter().map(|it| in_line(&it.name).chars().count());
    let width = width.max().unwrap_or_default();
    for Withheld { name, value } in &withheld {
        writeln!(out, "  {:width$}  {}", in_line(name), in_line(value))?;
    }
    writeln!(out, "\nA change of {name} has to be trusted again.")?;
    out.flush()?;
    if !args.yes && !is_agreed(&name)? {
        return Ok(Exit::Failed);
    }
    file.trust(&here.workspace, &settings.fingerprint())?;
    writeln!(out, "Trusted {name}.")?;
    Ok(Exit::Success)
}

/// Asks whether to trust the file.
fn is_agreed(name: &str) -> Result<bool> {
    let Some(terminal) = Terminal::find() else {
        bail!("{name} was not trusted: there is no terminal to ask on; to trust it, add --yes");
    };
    terminal.forget_typed();
    terminal.say(&format!("Trust {name}? y yes, N no: "))?;
    let answer = terminal.line(&AtomicBool::new(false))?;
    let answer = answer.unwrap_or_default().trim().to_lowercase();
    Ok(matches!(answer.as_str(), "y" | "yes"))
}
