//! `edit`: replaces parts of a file, all or none, and never a wrong one.
//!
//! Each text is looked up in the file as it is ([`find`]): exactly, and only
//! if that finds nothing with more and more tolerance for what models get
//! wrong about white space and lookalikes. Where a step finds more than one
//! place, or none does, nothing is written, and the refusal quotes what comes
//! closest ([`refusal`]).

mod apply;
mod carry;
mod change;
mod closest;
mod endings;
mod find;
mod indent;
mod lines;
mod lookalikes;
mod refusal;
mod signs;
mod unclear;
mod view;

use ptk_protocol::{Arguments, ToolResult};
use ptk_sandbox::{Expect, Fingerprint, PathError, Place};
use ptk_undo::unified;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::aliases::with_path;
use super::source::{notice, refuse_read_only, whole, writable};
use super::text::{Binary, Encoding, HEAD, MAX_FILE_SIZE, Text};
use crate::files::Knowledge;
use crate::{CallContext, Effects, Plan, Ranges, ToolError, TypedTool, preview};
use apply::{Applied, AppliedEdit, apply};
use change::Replacement;
use find::{Strictness, Tolerance};
use refusal::Scene;

/// How many edits one call may make.
const MAX_EDITS: usize = 500;
/// How many lines of a diff the model sees, and a person before the decision.
const MAX_DIFF: usize = 200;
/// Unchanged lines around a change.
const CONTEXT: usize = 3;
/// How many places of an edit are reported.
const MAX_LINES: usize = 20;

/// Replaces parts of a file.
#[derive(Debug, Clone, Copy, Default)]
pub struct Edit;

/// The arguments of [`Edit`].
#[derive(Debug, Clone, Deserialize, JsonSchema)]
pub struct EditArgs {
    /// The file, relative to the workspace or absolute, for example "src/main.rs"
    path: String,
    /// The replacements, all made at once on the file as it is now, for example `[{"old_string": "let a = 1;", "new_string": "let a = 2;"}]`
    edits: Vec<Replacement>,
}

/// The result of [`Edit`].
#[derive(Debug, Serialize)]
pub struct EditOutput {
    path: String,
    replacements: usize,
    edits: Vec<Done>,
    diff: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    notice: Option<String>,
}

/// The outcome of one replacement.
#[derive(Debug, Serialize)]
struct Done {
    /// The lines where the new texts begin now.
    lines: Vec<usize>,
    matched: Tolerance,
    #[serde(skip_serializing_if = "Option::is_none")]
    note: Option<&'static str>,
}

/// A file with its edits made, not yet written.
struct Prepared {
    place: Place,
    old: Fingerprint,
    knowledge: Knowledge,
    bytes: Vec<u8>,
    diff: String,
    applied: Applied,
}

impl EditArgs {
    fn check(&self) -> Result<(), ToolError> {
        match self.edits.len() {
            0 => Err(ToolError::validation("edits must be a non-empty array").suggest(
                "For example edits=[{\"old_string\": \"let a = 1;\", \"new_string\": \"let a = 2;\"}].",
            )),
            1..=MAX_EDITS => Ok(()),
            edits => Err(ToolError::validation(format!("{edits} edits are too many for one call"))
                .suggest(format!("Make at most {MAX_EDITS} at once."))),
        }
    }
}

/// A single replacement beside `edits`, as many models write it, put into it.
fn with_edits(args: Arguments) -> Arguments {
    const PARTS: [&str; 3] = ["old_string", "new_string", "replace_all"];
    if args.get(PARTS[0]).is_none() {
        return args;
    }
    let mut map = args.into_map();
    let parts = PARTS.map(|name| Some((name.to_owned(), map.remove(name)?)));
    let edit: Value = Value::Object(parts.into_iter().flatten().collect());
    match map.get_mut("edits") {
        Some(Value::Array(edits)) => edits.push(edit),
        _ => drop(map.insert("edits".to_owned(), Value::Array(vec![edit]))),
    }
    Arguments::from(map)
}

impl TypedTool for Edit {
    type Args = EditArgs;
    type Output = EditOutput;

    const NAME: &'static str = "edit";
    const DESCRIPTION: &'static str = "Replace parts of a file: each old_string by its new_string, \
        all of them or none. Every old_string must be in the file once, unless replace_all is set.";
    const EFFECTS: Effects = Effects::WRITE;

    fn adapt(&self, args: Arguments) -> Arguments {
        with_edits(with_path(args))
    }

    fn targets(&self, context: &CallContext, args: &EditArgs) -> Result<Plan, ToolError> {
        // An edit shows what is in the file.
        let place = writable(context, &args.path)?;
        Ok(Plan {
            reads: vec![place.clone()],
            writes: vec![place],
            ..Plan::default()
        })
    }

    fn plan(&self, context: &CallContext, args: &EditArgs) -> Result<Plan, ToolError> {
        let prepared = Prepared::new(context, args)?;
        context.note_planned(prepared.place.clone(), Some(prepared.old));
        Ok(Plan {
            summary: prepared.diff,
            reads: vec![prepared.place.clone()],
            writes: vec![prepared.place],
            ..Plan::default()
        })
    }

    async fn run(&self, context: &CallContext, args: EditArgs) -> Result<EditOutput, ToolError> {
        let own = context.clone();
        let run = move || {
            let _writing = own.services().writing();
            Prepared::new(&own, &args)?.write(&own)
        };
        context.blocking(run).await
    }

    fn preview(&self, result: &ToolResult, max_lines: usize) -> Vec<String> {
        let diff = result.fields.get("diff").and_then(|diff| diff.as_str());
        let Some(diff) = diff.filter(|_| result.success) else {
            return preview::of(result, max_lines);
        };
        let is_change = |line: &&str| line.starts_with(['+', '-']);
        let changes: Vec<&str> = diff.lines().filter(is_change).collect();
        let shown = ToolResult::success([("content", changes.join("\n").into())]);
        preview::of(&shown, max_lines)
    }
}

impl Prepared {
    /// Reads the file and makes the edits, without writing anything. Blocks.
    fn new(context: &CallContext, args: &EditArgs) -> Result<Self, ToolError> {
        args.check()?;
        let asked = &args.edits;
        let place = writable(context, &args.path)?;
        let name = place.to_string();
        let bytes = read(&place)?;
        let old = Fingerprint::of(&bytes);
        let has_mark = Encoding::by_mark(&bytes).is_some();
        let text = Text::decode(bytes);
        if !text.is_exact {
            return Err(ToolError::user(format!(
                "{name} is broken ({}): an edit would lose bytes",
                text.encoding.name()
            ))
            .suggest("Ask the user to mend the file, or use a program that edits bytes."));
        }
        refuse_bytes(text.encoding, asked, &name)?;
        let knowledge = context.conversation().files().knowledge(&place, old);
        let is_stale = knowledge == Knowledge::Changed || !context.is_as_planned(&place, Some(old));
        let scene = Scene {
            name: &name,
            text: &text.content,
            edits: asked.len(),
            is_stale,
            has_mark,
        };
        let strictness = if is_stale {
            Strictness::ExactOnly
        } else {
            Strictness::Tolerant
        };
        let applied = apply(&scene, asked, strictness)?;
        let bytes = text.encode(&applied.text).map_err(|missing| {
            let encoding = text.encoding.name();
            ToolError::validation(format!(
                "new_string has the character {missing:?}, which {encoding}, the encoding of {name}, does not have"
            ))
            .suggest("Write it with other characters, or the whole file with write_file, in utf-8.")
        })?;
        if Fingerprint::of(&bytes) == old {
            return Err(ToolError::validation(format!(
                "the edits change nothing: {name} is the same after them"
            ))
            .suggest("Leave the call out, or say in new_string what is to be there instead."));
        }
        refuse_read_only(&place)?;
        Ok(Self {
            diff: unified(&text.content, &applied.text, CONTEXT, MAX_DIFF),
            place,
            old,
            knowledge,
            bytes,
            applied,
        })
    }

    fn write(self, context: &CallContext) -> Result<EditOutput, ToolError> {
        if context.is_cancelled() {
            return Err(ToolError::system(format!(
                "edit was cancelled before {} was changed",
                self.place
            )));
        }
        let written = self
            .place
            .replace(&self.bytes, Expect::Unchanged(self.old))?;
        self.note(context, written.fingerprint);
        let edits = &self.applied.edits;
        Ok(EditOutput {
            path: self.place.to_string(),
            replacements: edits.iter().map(|made| made.lines.len()).sum(),
            edits: edits.iter().map(Done::new).collect(),
            diff: self.diff,
            notice: notice(&self.place, &written),
        })
    }

    /// Notes what is known of the file: all of it if it was before, else what
    /// was written.
    fn note(&self, context: &CallContext, fingerprint: Fingerprint) {
        if self.knowledge == Knowledge::Whole {
            return context.note_write(self.place.clone(), fingerprint);
        }
        let mut lines = Ranges::new(self.applied.text.lines().count());
        for (first, last) in self.applied.edits.iter().flat_map(|made| &made.lines) {
            lines.add(*first, *last);
        }
        context.note_read(self.place.clone(), fingerprint, lines);
    }
}

impl Done {
    fn new(made: &AppliedEdit) -> Self {
        Self {
            lines: made
                .lines
                .iter()
                .take(MAX_LINES)
                .map(|(first, _)| *first)
                .collect(),
            matched: made.matched,
            note: made
                .numbers_removed
                .then_some("the line numbers of a listing were removed from it"),
        }
    }
}

/// Refuses characters that stand for invalid bytes in this file, unless the
/// replaced text has them, too.
fn refuse_bytes(encoding: Encoding, asked: &[Replacement], name: &str) -> Result<(), ToolError> {
    let added = asked.iter().find_map(|edit| {
        let byte = encoding.byte_in(&edit.new_string)?;
        (!edit.old_string.contains(byte)).then_some(byte)
    });
    match added {
        None => Ok(()),
        Some(byte) => Err(ToolError::validation(format!(
            "new_string has the character {byte:?}, which stands for an invalid byte of {name}"
        ))
        .suggest("Leave it out, or quote the byte in old_string, too, if it is to stay.")),
    }
}

/// The bytes of a text file.
fn read(place: &Place) -> Result<Vec<u8>, ToolError> {
    let file = place.open().map_err(|error| match error {
        PathError::NotFound { .. } => {
            let error = ToolError::from(error);
            let hint = error.suggestion.clone().unwrap_or_default();
            error.suggest(format!("{hint} To create a file, use write_file."))
        }
        error => error.into(),
    })?;
    let unreadable = |error| ToolError::system(format!("{place} cannot be read: {error}"));
    let size = file.metadata().map_err(unreadable)?.len();
    if size > MAX_FILE_SIZE {
        return Err(ToolError::user(format!(
            "{place} has {size} bytes; edit takes files of up to {MAX_FILE_SIZE}"
        ))
        .suggest("Use a program that edits streams, such as sed, through bash."));
    }
    let bytes = whole(file).map_err(unreadable)?;
    let head = bytes.get(..HEAD.min(bytes.len())).unwrap_or_default();
    match Binary::detect(head) {
        None => Ok(bytes),
        Some(binary) => {
            let kind = binary
                .kind
                .map(|kind| format!(" ({kind})"))
                .unwrap_or_default();
            Err(ToolError::user(format!(
                "{place} is a binary file{kind} and cannot be edited as text"
            ))
            .suggest("Use a program made for such files."))
        }
    }
}
