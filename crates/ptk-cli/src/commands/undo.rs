//! `ptk undo`: reverts changes of tools in a workspace.

use std::io::Write;
use std::time::{Duration, UNIX_EPOCH};

use anyhow::{Result, bail};
use ptk_sandbox::Workspace;
use ptk_undo::{
    Change, Conflict, ListedCall, Others, Selection, State, Undo, UndoError, UndoReport,
};
use serde_json::{Value, json};

use crate::args::UndoArgs;
use crate::config::Settings;
use crate::exit::{self, Exit};
use crate::printer;
use crate::view::age;

/// The most paths of a call that a list shows.
const MAX_SHOWN: usize = 5;

pub(crate) fn run(args: &UndoArgs, out: &mut impl Write) -> Result<Exit> {
    let undo = open(&Settings::read(&args.config)?)?;
    if args.list {
        return list(&undo, args.json, out);
    }
    match take_back(&undo, args, out) {
        Ok(exit) => Ok(exit),
        Err(error) => failed(&error, args.json, out),
    }
}

/// Opens the recorded changes of a workspace.
pub(crate) fn open(settings: &Settings) -> Result<Undo> {
    let options = settings.undo()?;
    let note = settings.note(|setting| setting.name == "undo");
    if let Some(note) = note.unwrap_or_default() {
        exit::note(&note);
    }
    if !options.enabled {
        bail!("undo is switched off: ptk.toml has `enabled = false` under `[undo]`");
    }
    let workspace = Workspace::open(settings.folder())?.with_temp()?;
    Ok(Undo::open(workspace, &options)?)
}

fn take_back(undo: &Undo, args: &UndoArgs, out: &mut impl Write) -> Result<Exit> {
    if args.dry_run {
        return dry_run(undo, args, out);
    }
    let selection = selection(args);
    if let Some(done) = undo.finish()? {
        tell("An undo was interrupted; it is finished now.");
        // An explicit selection is still to be undone.
        if selection == Selection::Last {
            return told(&done, args.json, out);
        }
    }
    let plan = undo.plan(&selection, others(args))?;
    told(&undo.apply(plan)?, args.json, out)
}

fn selection(args: &UndoArgs) -> Selection {
    match (&args.call, &args.turn, &args.session) {
        (Some(id), ..) => Selection::Call(id.clone()),
        (_, Some(id), _) => Selection::Turn(Some(id.clone()).filter(|id| !id.is_empty())),
        (_, _, Some(id)) => Selection::Session(id.clone()),
        (None, None, None) => Selection::Last,
    }
}

fn others(args: &UndoArgs) -> Others {
    if args.keep_others {
        Others::Keep
    } else {
        Others::Refuse
    }
}

/// Writes a note to stderr.
fn tell(what: &str) {
    drop(writeln!(printer::stderr(), "{what}"));
}

fn dry_run(undo: &Undo, args: &UndoArgs, out: &mut impl Write) -> Result<Exit> {
    let plan = undo.plan(&selection(args), others(args))?;
    if args.json {
        let value = json!({
            "dry_run": true,
            "calls": plan.calls.iter().map(|call| &call.call).collect::<Vec<_>>(),
            "files": plan.steps.iter().map(file).collect::<Vec<_>>(),
            "left": left(&plan.left),
        });
        writeln!(out, "{value}")?;
        return Ok(Exit::Success);
    }
    for call in &plan.calls {
        tell(&format!("would undo {}", title(call)));
    }
    for step in &plan.steps {
        writeln!(out, "{}", undo.diff(step).trim_end())?;
    }
    tell_left(&plan.left);
    Ok(Exit::Success)
}

fn list(undo: &Undo, json: bool, out: &mut impl Write) -> Result<Exit> {
    let calls = undo.list()?;
    for call in &calls {
        if json {
            writeln!(out, "{}", listed(call))?;
            continue;
        }
        writeln!(out, "{}", title(call))?;
        for change in call.changes.iter().take(MAX_SHOWN) {
            writeln!(out, "    {} {}", verb(change), change.path.display())?;
        }
        if call.changes.len() > MAX_SHOWN {
            writeln!(out, "    and {} more", call.changes.len() - MAX_SHOWN)?;
        }
    }
    if calls.is_empty() && !json {
        tell("Nothing was changed here by tools, as far as it is known.");
    }
    Ok(Exit::Success)
}

/// A call as one line.
fn title(call: &ListedCall) -> String {
    let mut title = format!(
        "{}  {} ago  {}",
        call.call,
        age(UNIX_EPOCH + Duration::from_millis(call.at)),
        call.tool
    );
    let what = call.what.lines().next().unwrap_or_default();
    if !what.is_empty() {
        title.push_str(&format!("  {what}"));
    }
    if call.undone {
        title.push_str("  (undone)");
    }
    if call.interrupted {
        title.push_str("  (interrupted: whatever changed until it was noticed counts as its own)");
    }
    if let Some(why) = &call.blind {
        title.push_str(&format!("  (cannot be undone: {why})"));
    }
    if !call.beside.is_empty() {
        let beside = call.beside.join(", ");
        title.push_str(&format!(
            "  (may hold changes of {beside}, which ran beside it)"
        ));
    }
    title
}

/// The change of a path, as one word.
fn verb(change: &Change) -> &'static str {
    match (&change.before, &change.after) {
        (State::Missing, _) => "created",
        (_, State::Missing) => "removed",
        (
            State::File {
                content: Some(before),
                ..
            },
            State::File {
                content: Some(after),
                ..
            },
        ) if before == after => "permissions of",
        (State::Folder { .. }, State::Folder { .. }) => "permissions of",
        _ => "changed",
    }
}

fn file(change: &Change) -> Value {
    json!({
        "path": change.path.to_string_lossy(),
        "change": match verb(change) {
            "permissions of" => "permissions",
            verb => verb,
        },
    })
}

fn listed(call: &ListedCall) -> Value {
    json!({
        "id": call.call,
        "tool": call.tool,
        "what": call.what,
        "turn": call.turn,
        "session": call.session,
        "time_ms": call.at,
        "undone": call.undone,
        "interrupted": call.interrupted,
        "cannot_be_undone": call.blind,
        "beside": call.beside,
        "not_covered": call.uncovered,
        "files": call.changes.iter().map(file).collect::<Vec<_>>(),
    })
}

fn left(conflicts: &[Conflict]) -> Vec<Value> {
    let left = conflicts.iter();
    left.map(|it| json!({"path": it.path.to_string_lossy(), "why": it.why.to_string()}))
        .collect()
}

fn tell_left(conflicts: &[Conflict]) {
    for conflict in conflicts {
        tell(&left_alone(conflict));
    }
}

/// Reports what was undone.
fn told(done: &UndoReport, json: bool, out: &mut impl Write) -> Result<Exit> {
    if json {
        let value = json!({
            "success": true,
            "id": done.id,
            "calls": done.calls.iter().map(|call| &call.call).collect::<Vec<_>>(),
            "files": done.steps.iter().map(file).collect::<Vec<_>>(),
            "left": left(&done.left),
        });
        writeln!(out, "{value}")?;
        return Ok(Exit::Success);
    }
    for line in done_lines(done) {
        writeln!(out, "{line}")?;
    }
    out.flush()?;
    for line in beside_lines(done) {
        tell(&line);
    }
    tell(&format!("To have it back: ptk undo --call {}", done.id));
    Ok(Exit::Success)
}

/// What was undone, with the change of each path.
pub(crate) fn done_lines(done: &UndoReport) -> Vec<String> {
    let calls = done.calls.iter();
    let calls = calls.map(|call| format!("undone: {}", title(call)));
    let steps = done.steps.iter();
    let steps = steps.map(|step| format!("    {} {}", verb(step), step.path.display()));
    calls.chain(steps).collect()
}

/// What was not undone.
pub(crate) fn beside_lines(done: &UndoReport) -> Vec<String> {
    let mut lines: Vec<String> = done.left.iter().map(left_alone).collect();
    let uncovered = done.calls.iter().flat_map(|call| &call.uncovered);
    let mut uncovered: Vec<&str> = uncovered.map(String::as_str).collect();
    uncovered.sort_unstable();
    uncovered.dedup();
    if !uncovered.is_empty() {
        lines.push(format!("not covered: {}", uncovered.join(", ")));
    }
    lines
}

fn left_alone(conflict: &Conflict) -> String {
    format!("left alone {}: {}", conflict.path.display(), conflict.why)
}

/// Reports why nothing was undone.
fn failed(error: &anyhow::Error, json: bool, out: &mut impl Write) -> Result<Exit> {
    if json {
        let conflicts = match error.downcast_ref::<UndoError>() {
            Some(UndoError::Conflicts(conflicts)) => left(conflicts),
            _ => Vec::new(),
        };
        let value = json!({
            "success": false,
            "error": error.to_string(),
            "conflicts": conflicts,
        });
        writeln!(out, "{value}")?;
        return Ok(Exit::Failed);
    }
    exit::say(&error.to_string());
    if matches!(
        error.downcast_ref(),
        Some(UndoError::NotKept { .. } | UndoError::Unknown { .. })
    ) {
        tell("  `ptk undo --list` shows what can be undone.");
    }
    Ok(Exit::Failed)
}
