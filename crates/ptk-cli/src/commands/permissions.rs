//! `ptk permissions`: which calls run without asking, and which never.

use std::io::Write;
use std::path::PathBuf;

use anyhow::{Context as _, Result, anyhow, bail};
use ptk_protocol::schema::suggest;
use ptk_tools::permission::{Action, Mode};
use serde_json::json;

use crate::args::{
    ConfigArgs, ListPermissionsArgs, PermissionsCommand, RemovePermissionArgs, TrustArgs,
};
use crate::config::{self, Config};
use crate::exit::Exit;
use crate::permissions::{Gathered, gather};

pub(crate) fn run(command: &PermissionsCommand, out: &mut impl Write) -> Result<Exit> {
    match command {
        PermissionsCommand::List(args) => list(args, out),
        PermissionsCommand::Remove(args) => remove(args, out),
        PermissionsCommand::Trust(args) => trust(args, out),
    }
}

/// The configuration, and what holds with it.
fn here(args: &ConfigArgs) -> Result<(Config, Gathered)> {
    let config = config::read(args)?;
    let folder = config::workspace(args).unwrap_or_else(|| PathBuf::from("."));
    let gathered = gather(&config, &folder)?;
    Ok((config, gathered))
}

fn list(args: &ListPermissionsArgs, out: &mut impl Write) -> Result<Exit> {
    let (config, here) = here(&args.config)?;
    let granted = match &here.untrusted {
        Some(declared) => declared.entries(&config.name())?,
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
    let declared = if here.is_trusted {
        Vec::new()
    } else {
        config.declared()?
    };
    for line in &declared {
        writeln!(out, "- {line}  {}", config.name())?;
    }
    let mode = match here.mode.unwrap_or_default() {
        Mode::Ask => "is asked about (ask)",
        Mode::Auto => "runs (auto)",
        Mode::Deny => "is refused (deny)",
    };
    writeln!(out, "\nWhat changes something and fits no rule {mode}.")?;
    if here.untrusted.is_some() || !declared.is_empty() {
        writeln!(
            out,
            "- does not count: {} may have come with somebody's code. `ptk permissions trust` lets it.",
            config.name()
        )?;
    }
    Ok(Exit::Success)
}

fn remove(args: &RemovePermissionArgs, out: &mut impl Write) -> Result<Exit> {
    let (config, here) = here(&args.config)?;
    let file = here
        .file
        .context("there is no folder for the user's configuration")?;
    let rule = args.rule.trim();
    if file.remove(&here.workspace, rule)? > 0 {
        writeln!(out, "Removed {rule} from {}.", file.path().display())?;
        return Ok(Exit::Success);
    }
    let rules: Vec<String> = here.entries.iter().map(|it| it.rule.to_string()).collect();
    if rules.iter().any(|known| known == rule) {
        bail!("{rule} stands in {}; edit that file", config.name());
    }
    let near = suggest::nearest(rule, rules.iter().map(String::as_str));
    let near = near.map_or_else(
        || "`ptk permissions list` shows those that there are".to_owned(),
        |near| format!("did you mean `{near}`?"),
    );
    Err(anyhow!("there is no rule {rule}; {near}"))
}

fn trust(args: &TrustArgs, out: &mut impl Write) -> Result<Exit> {
    let (config, here) = here(&args.config)?;
    let more = config.declared()?;
    let has_undo = config.has("undo")?;
    let has_more = !more.is_empty() || has_undo;
    if here.untrusted.is_none() && (here.is_trusted || !has_more) {
        writeln!(
            out,
            "{} grants nothing that does not count already.",
            config.name()
        )?;
        return Ok(Exit::Success);
    }
    let declared = here.untrusted.unwrap_or_default();
    let file = here
        .file
        .context("there is no folder for the user's configuration")?;
    file.trust(&here.workspace, &config.fingerprint())?;
    for rule in &declared.allow {
        writeln!(out, "allow  {rule}")?;
    }
    if declared.mode == Some(Mode::Auto) {
        writeln!(out, "mode = \"auto\": what fits no rule runs")?;
    }
    for line in more {
        writeln!(out, "{line}")?;
    }
    if has_undo {
        writeln!(out, "[undo]: what is kept so that calls can be undone")?;
    }
    writeln!(out, "\nThis counts until {} changes.", config.name())?;
    Ok(Exit::Success)
}
