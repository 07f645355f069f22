//! `write_file`: a whole file, new or in place of what was read.

use ptk_protocol::{Arguments, ToolResult};
use ptk_sandbox::{Attempt, Expect, Fingerprint, PathError, Place};
use ptk_undo::{added_lines, unified};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::aliases::with_path;
use super::source::{counted, notice, refuse_read_only, whole, writable};
use super::text::{Binary, Encoding, HEAD, MAX_FILE_SIZE, Text, line_count};
use crate::files::Knowledge;
use crate::{CallContext, Effects, Plan, ToolError, TypedTool, preview};

/// How many lines of a diff a person sees.
const MAX_DIFF: usize = 5000;
/// Unchanged lines around a change.
const CONTEXT: usize = 3;

/// Writes a whole file, exactly the content given, in UTF-8.
#[derive(Debug, Clone, Copy, Default)]
pub struct WriteFile;

/// The arguments of [`WriteFile`].
#[derive(Debug, Clone, Deserialize, JsonSchema)]
pub struct WriteFileArgs {
    /// The file, relative to the workspace or absolute, for example "src/main.rs". Missing folders are created
    path: String,
    /// The whole new content of the file, exactly as it is to be, for example "Hello, world"
    content: String,
}

/// The result of [`WriteFile`].
#[derive(Debug, Serialize)]
pub struct WriteFileOutput {
    path: String,
    bytes_written: usize,
    lines: usize,
    created: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    unchanged: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    warning: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    notice: Option<String>,
}

/// A file that is there already.
struct Old {
    fingerprint: Fingerprint,
    bytes: OldBytes,
}

/// What is known of its content.
enum OldBytes {
    Text(Text),
    Binary,
    /// Too large to look at, of so many bytes.
    Large(u64),
}

impl TypedTool for WriteFile {
    type Args = WriteFileArgs;
    type Output = WriteFileOutput;

    const NAME: &'static str = "write_file";
    const DESCRIPTION: &'static str = "Create a file, or replace the whole content of one that \
        was read before. To change a part of a file, use edit.";
    const EFFECTS: Effects = Effects::WRITE;

    fn adapt(&self, args: Arguments) -> Arguments {
        with_path(args)
    }

    fn targets(&self, context: &CallContext, args: &WriteFileArgs) -> Result<Plan, ToolError> {
        Ok(Plan {
            writes: vec![writable(context, &args.path)?],
            ..Plan::default()
        })
    }

    fn plan(&self, context: &CallContext, args: &WriteFileArgs) -> Result<Plan, ToolError> {
        let place = writable(context, &args.path)?;
        let old = Old::of(&place)?;
        context.note_planned(place.clone(), old.as_ref().map(|old| old.fingerprint));
        if let Some(old) = &old {
            old.may_become(&args.content, context, &place)?;
        }
        let real = place.real();
        let is_withheld = context.is_withheld(place.relative())
            || real.is_ok_and(|real| context.is_withheld(real.relative()));
        // Whether a withheld file holds this is not to be told either.
        let is_same = |old: &Old| old.fingerprint == Fingerprint::of(args.content.as_bytes());
        Ok(Plan {
            summary: summary(old.as_ref(), &args.content, is_withheld),
            changes_nothing: !is_withheld && old.as_ref().is_some_and(is_same),
            writes: vec![place],
            ..Plan::default()
        })
    }

    async fn run(
        &self,
        context: &CallContext,
        args: WriteFileArgs,
    ) -> Result<WriteFileOutput, ToolError> {
        let own = context.clone();
        context.blocking(move || write(&own, &args)).await
    }

    fn preview(&self, result: &ToolResult, max_lines: usize) -> Vec<String> {
        let field = |name: &str| result.fields.get(name);
        let (Some(path), Some(lines)) = (
            field("path").and_then(|path| path.as_str()),
            field("lines").and_then(serde_json::Value::as_u64),
        ) else {
            return preview::of(result, max_lines);
        };
        let is = |name: &str| field(name).and_then(serde_json::Value::as_bool) == Some(true);
        let what = match (is("unchanged"), is("created")) {
            (true, _) => "unchanged",
            (_, true) => "new file",
            _ => "overwritten",
        };
        let mut shown = vec![format!("{path}: {what}, lines: {lines}")];
        let text = |name: &str| field(name).and_then(|text| text.as_str());
        shown.extend(text("warning").map(|warning| format!("Warning: {warning}")));
        shown.extend(text("notice").map(|notice| format!("Notice: {notice}")));
        shown.truncate(max_lines);
        shown
    }
}

fn write(context: &CallContext, args: &WriteFileArgs) -> Result<WriteFileOutput, ToolError> {
    let place = writable(context, &args.path)?;
    let bytes = args.content.as_bytes();
    let _writing = context.services().writing();
    let old = Old::of(&place)?;
    if !context.is_as_planned(&place, old.as_ref().map(|old| old.fingerprint)) {
        return Err(ToolError::user(format!(
            "{place} was written by another program before this call could write it"
        ))
        .suggest("Read the file again, then repeat the call if it still makes sense."));
    }
    let mut output = WriteFileOutput {
        path: place.to_string(),
        bytes_written: bytes.len(),
        lines: line_count(&args.content),
        created: old.is_none(),
        unchanged: None,
        warning: None,
        notice: None,
    };
    let expect = match &old {
        None => {
            place.create_parents()?;
            Expect::Missing
        }
        Some(old) if old.fingerprint == Fingerprint::of(bytes) => {
            context.note_write(place, old.fingerprint);
            output.bytes_written = 0;
            output.unchanged = Some(true);
            return Ok(output);
        }
        Some(old) => {
            old.may_become(&args.content, context, &place)?;
            output.warning = old.warning(&args.content);
            Expect::Unchanged(old.fingerprint)
        }
    };
    if context.is_cancelled() {
        return Err(ToolError::system(format!(
            "write_file was cancelled before {place} was written"
        )));
    }
    let written = place.replace(bytes, expect)?;
    output.notice = notice(&place, &written);
    context.note_write(place, written.fingerprint);
    Ok(output)
}

impl Old {
    /// The file that is there, if any.
    fn of(place: &Place) -> Result<Option<Self>, ToolError> {
        let file = match place.open() {
            Ok(file) => file,
            Err(PathError::NotFound { .. }) => return Ok(None),
            Err(error) => return Err(error.while_attempting(Attempt::Write).into()),
        };
        let unreadable = |error| {
            ToolError::system(format!(
                "{place} cannot be read before it is written: {error}"
            ))
        };
        let size = file.metadata().map_err(unreadable)?.len();
        if size > MAX_FILE_SIZE {
            return Ok(Some(Self {
                fingerprint: place.fingerprint()?,
                bytes: OldBytes::Large(size),
            }));
        }
        let bytes = whole(file).map_err(unreadable)?;
        let fingerprint = Fingerprint::of(&bytes);
        let head = bytes.get(..HEAD.min(bytes.len())).unwrap_or_default();
        let bytes = match Binary::detect(head) {
            Some(_) => OldBytes::Binary,
            None => OldBytes::Text(Text::decode(bytes)),
        };
        Ok(Some(Self { fingerprint, bytes }))
    }

    /// Refuses where content would be lost that was never read.
    fn may_become(&self, new: &str, context: &CallContext, place: &Place) -> Result<(), ToolError> {
        if self.fingerprint == Fingerprint::of(new.as_bytes()) {
            return Ok(());
        }
        refuse_read_only(place)?;
        if self.fingerprint.size() == 0 {
            return Ok(());
        }
        let knowledge = context
            .conversation()
            .files()
            .knowledge(place, self.fingerprint);
        match (&self.bytes, &knowledge) {
            (OldBytes::Binary, Knowledge::None) => Err(ToolError::validation(format!(
                "{place} is a binary file; writing text over it would lose what it holds"
            ))
            .suggest("Choose another path, or ask the user to remove the file first.")),
            _ => knowledge.may_overwrite(place),
        }
    }

    /// A warning of what else changes beside the content.
    fn warning(&self, content: &str) -> Option<String> {
        let OldBytes::Text(old) = &self.bytes else {
            return None;
        };
        let mut warnings = Vec::new();
        if old.content.contains("\r\n") && content.contains('\n') && !content.contains("\r\n") {
            warnings.push("The line endings were CRLF and are LF now.".to_owned());
        }
        match old.encoding {
            Encoding::Utf8 => {}
            Encoding::Utf8Mark if content.starts_with('\u{feff}') => {}
            encoding => warnings.push(format!(
                "The encoding was {} and is utf-8 now.",
                encoding.name()
            )),
        }
        (!warnings.is_empty()).then(|| warnings.join(" "))
    }
}

/// What a person sees before the decision: nothing of a file that is withheld.
fn summary(old: Option<&Old>, content: &str, is_withheld: bool) -> String {
    let lines = counted(line_count(content), "line");
    let Some(old) = old else {
        return format!("new file, {lines}\n{}", added_lines(content, MAX_DIFF));
    };
    if !is_withheld && old.fingerprint == Fingerprint::of(content.as_bytes()) {
        return "no change: the file holds exactly this already".to_owned();
    }
    match &old.bytes {
        _ if is_withheld => {
            let size = old.fingerprint.size();
            format!("replaces {size} bytes, which a rule forbids to show, with {lines}")
        }
        OldBytes::Text(text) => unified(&text.content, content, CONTEXT, MAX_DIFF),
        OldBytes::Binary => format!("replaces a binary file with {lines}"),
        OldBytes::Large(size) => format!("replaces {size} bytes with {lines}"),
    }
}
